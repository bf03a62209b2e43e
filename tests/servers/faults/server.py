"""The server: takes a request, asks the plan for a fault, answers or breaks off."""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import json
import random
import re
import threading
import time
import weakref
from pathlib import Path
from typing import Any

from . import payloads
from .plan import ENDPOINTS, Plan, Rule, sample_latency
from .replies import Reply, Script, default_reply, dump, prompt_parts, text_of
from .spoil import spoil_reply
from .wire import BadRequest, Request, Wire, send_json, send_stream

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class FaultServer:
    """The server. ``with`` runs it on a thread of its own, ``async with`` in the running loop.

    script    replies, a list or a mapping (see ``Script``)
    faults    a list of fault rules (see ``Plan``)
    latency   a latency specification (see ``sample_latency``)
    seed      every random draw derives from it
    draw      "order" (the n-th request) or "content" (what it says, whenever it comes)
    record    a path: one JSON line is appended per request
    bodies    put request bodies and reply texts in the record too
    dimensions, models, require_key   what the pretend provider offers
    """

    def __init__(
        self,
        *,
        script: Script | dict[str, Any] | list[Any] | None = None,
        faults: list[Rule] | None = None,
        latency: dict[str, Any] | None = None,
        seed: int = 0,
        draw: str = "order",
        record: str | Path | None = None,
        bodies: bool = False,
        dimensions: int = 256,
        models: tuple[str, ...] = ("test-chat", "test-embed"),
        require_key: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        if host not in LOOPBACK:
            raise ValueError(f"loopback only: host must be one of {', '.join(LOOPBACK)}")
        sample_latency(latency, random.Random(0))  # a bad specification fails here
        self.host, self.port, self.seed, self.draw = host, port, seed, draw
        self.latency, self.record_path, self.bodies = latency, record, bodies
        self.dimensions, self.models, self.require_key = dimensions, models, require_key
        self.script, self.plan = (
            script if isinstance(script, Script) else Script(script),
            Plan(faults or [], seed, draw),
        )
        self.requests: list[dict[str, Any]] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self.in_flight = self.max_in_flight = 0
        self._started = time.monotonic()
        self._server: asyncio.AbstractServer | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._writers: weakref.WeakSet[asyncio.StreamWriter] = weakref.WeakSet()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    # -- life

    @property
    def base_url(self) -> str:
        return f"http://{'[::1]' if self.host == '::1' else self.host}:{self.port}/v1"

    async def __aenter__(self) -> FaultServer:
        self._server = await asyncio.start_server(self._serve, self.host, self.port, limit=1 << 20, backlog=4096)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:  # a client that reads no more would keep its connection open
            writer.transport.abort()
        await asyncio.sleep(0)  # they are closed in the next round of the loop

    def __enter__(self) -> FaultServer:
        started: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._loop = loop = asyncio.new_event_loop()

        def work() -> None:
            try:
                loop.run_until_complete(self.__aenter__())
            except BaseException as error:
                started.set_exception(error)
            else:
                started.set_result(None)
                loop.run_forever()
                loop.run_until_complete(self.__aexit__())
            loop.close()

        self._thread = threading.Thread(target=work, name="fault-server", daemon=True)
        self._thread.start()
        started.result()
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._loop and self._thread
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=60)

    def stats(self) -> dict[str, Any]:
        """Totals since the start or the last reset."""
        rows = list(self.requests)
        ends: dict[str, dict[str, int]] = {}
        for row in rows:
            end = ends.setdefault(row["endpoint"], {"requests": 0, "prompt_chars": 0, "reply_chars": 0})
            end["requests"] += 1
            end["prompt_chars"] += row["prompt_chars"]
            end["reply_chars"] += row["reply_chars"]
        return {
            "requests": len(rows),
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "by_endpoint": ends,
            "by_fault": dict(collections.Counter(row["fault"] for row in rows if row["fault"])),
        }

    def reset(self) -> None:
        """Forget what was seen; counts, schedules and script sequences begin again."""
        self.requests.clear()
        self.counts.clear()
        self.max_in_flight = self.in_flight
        self.plan = Plan(self.plan.rules, self.seed, self.draw)
        self.script.used.clear()

    # -- requests

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self._writers.add(writer)
        task.add_done_callback(self._tasks.discard)
        wire = Wire(reader, writer)
        try:
            while (request := await wire.read()) and await self._answer(request, wire):
                pass
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client left, or the server is being stopped
        finally:
            writer.close()

    async def _answer(self, request: Request, wire: Wire) -> bool:
        """Answer one request; true when the connection can be used again."""
        keep = request.headers.get("connection", "").lower() != "close"
        endpoint = ENDPOINTS.get(request.path.removeprefix("/v1"))
        if endpoint is None or request.method != "POST":
            await self._side_door(request, wire)
            return keep
        begin = time.monotonic()
        row = self._open_row(endpoint, begin)
        try:
            return await self._work(endpoint, request, row, wire) and keep
        except (BadRequest, TypeError, AttributeError, LookupError) as error:
            bad = error if isinstance(error, BadRequest) else BadRequest(f"malformed request: {error!r}")
            row["status"] = bad.status
            await wire.fail(bad.status, str(bad), "invalid_request_error", bad.code)
            return keep
        finally:
            self._close_row(row, begin)

    def _open_row(self, endpoint: str, begin: float) -> dict[str, Any]:
        self.counts[endpoint] += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        row: dict[str, Any] = {"n": self.counts[endpoint], "endpoint": endpoint, "at": round(begin - self._started, 4)}
        row.update(model=None, items=0, prompt_chars=0, stream=False, fault=None, status=None, reply_chars=0)
        self.requests.append(row)
        return row

    def _close_row(self, row: dict[str, Any], begin: float) -> None:
        self.in_flight -= 1
        row["seconds"] = round(time.monotonic() - begin, 4)
        if self.record_path:
            with open(self.record_path, "a", encoding="utf-8") as sink:
                sink.write(dump(row) + "\n")

    async def _work(self, endpoint: str, request: Request, row: dict[str, Any], wire: Wire) -> bool:
        body = self._read_body(request)
        prompt = self._measure(endpoint, body, row)
        key = self.plan.key(endpoint, row["n"], request.raw)
        rule = self.plan.choose(endpoint, row["n"], prompt, key) or {}
        rng = random.Random(f"{self.seed}/payload/{key}")
        row.update(fault=rule.get("fault"), status=200)
        if self.bodies:
            row["body"] = body
        await asyncio.sleep(sample_latency(self.latency, rng))
        if (refused := await self._refuse(rule, row, wire)) is not None:
            return refused
        if endpoint == "chat":
            return await self._chat(body, rule, rng, row, wire)
        if endpoint == "embeddings":
            size, model = body.get("dimensions") or self.dimensions, body.get("model") or self.models[-1]
            payload = payloads.embeddings(body, model, size, rule, rng, row)
        else:
            payload = payloads.rerank(body, rule, rng)
        return await send_json(wire, payload, rule)

    def _read_body(self, request: Request) -> dict[str, Any]:
        if self.require_key is not None and request.headers.get("authorization") != f"Bearer {self.require_key}":
            raise BadRequest("Incorrect API key provided.", 401, "invalid_api_key")
        try:
            body = json.loads(request.raw)
        except (ValueError, RecursionError):
            raise BadRequest("the request body is not JSON") from None
        if not isinstance(body, dict):
            raise BadRequest("the request body is not an object")
        return body

    def _measure(self, endpoint: str, body: dict[str, Any], row: dict[str, Any]) -> str:
        """Fill in the record; returns the text that rules may match."""
        row["model"], row["stream"] = body.get("model"), bool(body.get("stream"))
        if endpoint == "chat":
            if not isinstance(body.get("messages"), list) or not body["messages"]:
                raise BadRequest("'messages' must be a non-empty array")
            parts = prompt_parts(body)
            row["items"], row["prompt_chars"] = len(body["messages"]), len(parts["all"])
            return parts["system"] + "\n" + parts["user"]
        if endpoint == "embeddings":
            texts = payloads.inputs(body)
        elif isinstance(body.get("documents"), list):
            texts = [str(body.get("query", "")), *(text_of([document]) for document in body["documents"])]
        else:
            raise BadRequest("'documents' must be an array")
        row["items"], row["prompt_chars"] = len(texts), sum(map(len, texts))
        return "\n".join(texts)

    async def _refuse(self, rule: Rule, row: dict[str, Any], wire: Wire) -> bool | None:
        """The faults that leave no reply to spoil; None when it is not one of them."""
        fault = rule.get("fault")
        if fault == "rate_limit":
            row["status"] = 429
            names = "Rate limit reached.", "rate_limit_error", "rate_limit_exceeded"
            await wire.fail(429, *names, Retry_After=rule.get("retry_after", 1))
        elif fault == "server_error":
            row["status"] = rule.get("status", 500)
            message = rule.get("message", "The server had an error.")
            await wire.fail(row["status"], message, "server_error", rule.get("code"))
        elif fault == "html":
            await wire.send(rule.get("status", 200), "<html><h1>502 Bad Gateway</h1></html>", "text/html")
        elif fault in ("hang", "disconnect"):
            row["status"] = None
            await wire.wait_gone(rule.get("seconds", 30.0) if fault == "hang" else 0.0)
            return False
        else:
            return None
        return True

    async def _chat(
        self, body: dict[str, Any], rule: Rule, rng: random.Random, row: dict[str, Any], wire: Wire
    ) -> bool:
        reply: Reply = spoil_reply(self.script.answer(body) or default_reply(body), rule, rng)
        row["reply_chars"] = len(reply.content or "") + len(dump(reply.tool_calls)) - 2
        if self.bodies:
            row["reply"] = reply.content
        model, nothing = body.get("model") or self.models[0], rule.get("fault") == "no_choices"
        if body.get("stream"):
            return await send_stream(wire, [] if nothing else list(payloads.chunks(body, model, reply, row)), rule)
        payload = payloads.completion(model, reply, row)
        return await send_json(wire, {**payload, "choices": []} if nothing else payload, rule)

    async def _side_door(self, request: Request, wire: Wire) -> None:
        """The model list and the control routes, which no fault strikes."""
        route = f"{request.method} {request.path}"
        try:
            given = json.loads(request.raw) if request.raw else None
            reply = self._control(route, given)
        except (ValueError, TypeError, AttributeError, re.error) as error:
            return await wire.fail(400, str(error), "invalid_request_error")
        if reply is None:
            return await wire.fail(404, f"no route {route}", "invalid_request_error")
        await wire.send(200, dump(reply))

    def _control(self, route: str, given: Any) -> Any:
        if route == "GET /v1/models":
            models = [{"id": name, "object": "model", "owned_by": "test"} for name in self.models]
            return {"object": "list", "data": models}
        if route == "GET /control/stats":
            return self.stats()
        if route == "GET /control/requests":
            return self.requests
        if route == "POST /control/reset":
            self.reset()
            return {}
        if route == "POST /control/faults":
            self.plan = Plan(given or [], self.seed, self.draw)
            return {"rules": len(self.plan.rules)}
        if route == "POST /control/script":
            self.script = Script(given)
            return {"rules": len(self.script.rules)}
        return None
