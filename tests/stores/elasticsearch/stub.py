"""A server on loopback that answers as a script says, for what a real node does not do on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memscope_elasticsearch import mapping

Answer = tuple[int, Any]  # bytes are sent as a page of HTML that some proxy made
Script = Callable[[str, str, bytes], Answer]
SECRET = "pa55w0rd-canary"
PAGE = b"<html><body>We will be back soon</body></html>"


class Stub:
    """Remembers what it was asked. Its script may wait for events: each request has a thread."""

    def __init__(self, script: Script) -> None:
        self.asked: list[tuple[str, str, bytes]] = []
        self.headers: list[dict[str, str]] = []
        self.product = "Elasticsearch"
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def reply(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                path = self.path.partition("?")[0]
                stub.asked.append((self.command, path, body))
                stub.headers.append(dict(self.headers))
                status, answer = script(self.command, path, body)
                page = isinstance(answer, bytes)
                data = answer if page else json.dumps(answer).encode()
                self.send_response(status)
                if stub.product and not page:
                    self.send_header("X-Elastic-Product", stub.product)
                self.send_header("content-type", "text/html" if page else "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = reply

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def place(self) -> str:
        return f"elasticsearch://elastic:{SECRET}@127.0.0.1:{self.server.server_address[1]}/stub"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def refused(status: int, kind: str, reason: str = "") -> Answer:
    return status, {"error": {"type": kind, "reason": reason}, "status": status}


def described(fields: Any = mapping.WORK_FIELDS, **changed: Any) -> dict[str, Any]:
    """A server's description of an index that memscope made, with changes."""
    about = {"version": mapping.MAPPING_VERSION, "terms": mapping.DERIVED_VERSION}
    mappings = {"dynamic": "false", "_routing": {"required": True}, "_meta": {mapping.META: about},
                "properties": {name: dict(field) for name, field in fields.items()}}  # fmt: skip
    mappings |= changed.pop("mappings", {})
    return {changed.pop("index", "x-work-000001"): {"mappings": mappings, "settings": {"index": changed}}}


def opened(script: Script) -> Script:
    """A script that lets a store open, and leaves the rest to another."""
    meta = {"secret": "00" * 32, "spaces": []}

    def answer(method: str, path: str, body: bytes) -> Answer:
        if path in ("/stub-mem", "/stub-work") and method == "GET":
            return 200, described(mapping.MEMORY_FIELDS if path.endswith("mem") else mapping.WORK_FIELDS)
        if path.endswith("/_settings/index.uuid"):
            return 200, {}
        if path.endswith(f"/_create/{mapping.META_ID}"):
            return refused(409, "version_conflict_engine_exception")
        if path == "/_mget" and json.loads(body)["docs"][0]["_id"] == mapping.META_ID:
            return 200, {"docs": [{"found": True, "_source": {"state": meta}, "_seq_no": 1, "_primary_term": 1}]}
        if path == "/stub-mem/_search" and mapping.DERIVED_VERSION.encode() in body:  # asks for units of other versions
            return 200, {"hits": {"hits": []}}
        return script(method, path, body)

    return answer
