"""Requests for ``serve.py`` and the tests: hostile values on every route, and requests for other users' data."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import click
import httpx2
from fastapi import FastAPI

from memscope import AsyncMemoryScope
from memscope_server import create_app, pages
from memscope_server.tokens import TokenFile

MARK = "Zanzibar"  # in the user's turns and memories, but in no request
SHARED = "Kerguelen"  # in blocks, which all agents of the user share
ALICE = "/api/v1/users/alice"
TEXTS = [
    "", " ", "\0", "\ud83d", "\udc00x", "\ufeff", "\u202eabc", "😀" * 50, "中文", "é" * 300, "x" * 257, "x" * 5000,
    "a\r\nb", "..", "../../etc/passwd", "/", "//", "?", "#", "%", "%00", "%zz", "{0}", "{user}", "%(x)s", "' OR 1=1 --",
    "<b>", "${x}", "null", "NaN", "-1", "0", "1e999", "٣", "2" * 40, "9999-12-31", "0001-01-01", "2026-02-30",
    "2026-13", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00+14:00", "9999-12-31T24:00:00-14:00", "Mars/Base",
    "localtime", "$eq", "on 31 December 9999", "before 0001-01-02", "last week next year every Tuesday",
    "999999999999 years ago", "去年的每周三",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, 0, -1, 2**31, 2**63, -(2**63) - 1, 10**40, 0.5, 1e308, float("inf"), float("nan"), [], {}, [[]], [None],
    {"": ""}, {"$eq": 1}, {"a": {"$gt": []}}, {"a": {"$in": [1, {}]}}, {"a.b": {"$not": {"$not": 1}}}, [{}] * 70,
    {str(number): number for number in range(70)}, json.loads("[" * 60 + "]" * 60),
]  # fmt: skip
GOOD: Mapping[str, Sequence[Any]] = {
    "user": ["alice"], "agent": ["helper", None], "session": ["one", None], "id": ["home", "boat"],
    "label": ["human", "notes"], "name": ["Kim", "boat"], "verdict": ["accept", "reject"], "step": ["merge", "split"],
    "language": ["en", "zh"], "query": ["Where do I live?"], "text": ["I like tea."], "zone": ["Asia/Tokyo"],
    "role": ["user"], "content": ["I like tea."], "turns": [[{"role": "user", "content": "I like tea."}]],
    "operation": ["append", "replace", "insert", "remove"], "k": [3], "limit": [5], "offset": [0, 3],
    "by": ["day", "week", "month"], "kind": ["turn", "person"], "q": ["tea"], "version": [1, "1"], "other": ["Kimmy"],
    "as_of": ["2026-03-03", "2026-03-03T10:00:00Z"], "author": ["person"], "ids": [["home"]], "order": [1], "line": [1],
    "expires": ["2030-01-01T00:00:00Z"], "kinds": [["turn"]],
    "time": ["2026-03-01T10:00:00Z", "9999-12-31T23:30:00Z", "0001-01-01T00:30:00Z"],
}  # fmt: skip
FIELDS = (
    "q as_of since until session kind closed offset agent by id text user token value version reason label description "
    "other everything csrf"
).split()
TURN = ["role", "content", "speaker", "time", "id", "session", "metadata"]
FORM = b"application/x-www-form-urlencoded"
HEADERS = (
    "Accept Accept-Language Cookie Content-Type Origin Range If-None-Match Referer X-CSRF-Token X-Rows X-Forwarded-For"
).split()
HEADER_VALUES = (
    "", "text/html", "zh;q=x,,", "lang=\xe9; a", "text/html\xff", "http://[", "bytes=9-1", "a=b; =; c", "\xff" * 80,
)  # fmt: skip
HOST = "served"
TOKENS: Mapping[str, tuple[Any, ...]] = {
    "operator": ("operator", None), "alice": ("user", "alice"), "helper": ("user", "alice", "helper"),
    "bob": ("user", "bob"),
}  # fmt: skip


@dataclass
class Sent:
    """A request, with query and body as sent."""

    method: str
    path: str
    query: str = ""
    content: bytes | None = None
    headers: dict[str, bytes] = field(default_factory=dict)

    async def to(self, client: httpx2.AsyncClient) -> httpx2.Response:
        address = f"{self.path}?{self.query}" if self.query else self.path
        return await client.request(self.method, address, content=self.content, headers=self.headers)


def routes(app: FastAPI) -> list[tuple[str, str]]:
    """Return method and path of every API operation and every inspector page."""
    described = {(method.upper(), path) for path, methods in app.openapi()["paths"].items() for method in methods}
    parts = [part.router for part in vars(pages).values() if isinstance(part, ModuleType) and hasattr(part, "router")]
    shown = {(method, one.path.replace(":path", "")) for part in parts for one in part.routes for method in one.methods}
    return sorted(described | shown | {("GET", "/metrics"), ("GET", "/static/{name}"), ("GET", "/api/v1/openapi.json")})


# ----------------------------------------------------------------------------------------------------------- hostile


def hostile(app: FastAPI, rng: random.Random) -> Iterator[Sent]:
    """Yield endless requests with valid and hostile values."""
    described, known = app.openapi(), routes(app)
    while True:
        method, path = rng.choice(known)
        operation = described["paths"].get(path, {}).get(method.lower())
        sent = Sent(method, _filled(path, rng), headers=_headers(rng))
        names = [one["name"] for one in operation.get("parameters", [])] if operation else FIELDS
        sent.query = _pairs(rng.sample(names, rng.randint(0, min(3, len(names)))), rng)
        if method != "GET":
            sent.content = _json(_body(described, operation, rng)) if operation else _form(rng)
            sent.headers.setdefault("Content-Type", b"application/json" if operation else FORM)
        yield sent


def _form(rng: random.Random) -> bytes:
    return _pairs(rng.sample(FIELDS, rng.randint(0, 6)), rng).encode()


def _pairs(names: Sequence[str], rng: random.Random) -> str:
    return "&".join(f"{name}={_quoted(_value(name, rng))}" for name in names)


def _quoted(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _filled(path: str, rng: random.Random) -> str:
    for name in ("user", "id", "label", "name", "verdict", "step", "language"):
        value = rng.choice(TEXTS) if rng.random() < 0.2 else rng.choice(GOOD[name])
        path = path.replace(f"{{{name}}}", _quoted(value))
    return path


def _headers(rng: random.Random) -> dict[str, bytes]:
    chosen = rng.sample(HEADERS, rng.choice((0, 0, 0, 1, 2)))
    return {name: rng.choice(HEADER_VALUES).encode("latin-1") for name in chosen}


def _value(name: str, rng: random.Random) -> Any:
    draw = rng.random()
    if draw < 0.5 and name in GOOD:
        return rng.choice(GOOD[name])
    return rng.choice(TEXTS) if draw < 0.8 else rng.choice(VALUES)


def _body(described: Mapping[str, Any], operation: Mapping[str, Any], rng: random.Random) -> Any:
    if rng.random() < 0.05:
        return rng.choice([*VALUES, *TEXTS])
    shape = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    model = described["components"]["schemas"].get(shape.get("$ref", "").rpartition("/")[2], {})
    given = {}
    for name in model.get("properties", {}):
        if name in model.get("required", []) or rng.random() < 0.25:
            given[name] = _value(name, rng)
    if "turns" in given and rng.random() < 0.6:
        turn = {"role": "user", "content": "Tea.", **{one: _value(one, rng) for one in rng.sample(TURN, 2)}}
        given["turns"] = [turn]
    return given | ({rng.choice(TEXTS): 1} if rng.random() < 0.03 else {})


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def fault(sent: Sent, reply: httpx2.Response) -> str:
    """Return "failed" for a 5xx, "untyped" for an error that is neither a problem with a code nor a page; else ""."""
    if reply.status_code >= 500:
        return "failed"
    if reply.status_code < 400 or sent.method == "HEAD":
        return ""
    kind = reply.headers.get("content-type", "")
    if kind.startswith("application/problem+json"):
        return "" if reply.json().get("code") and "hint" in reply.json() else "untyped"
    return "" if kind.startswith("text/html") and "memscope</title>" in reply.text else "untyped"


# ----------------------------------------------------------------------------------------------------------- foreign


async def fill(alice: httpx2.AsyncClient) -> None:
    """Create the user's turns, corrections and blocks, which nobody else may see."""
    turns = [
        {"role": "user", "content": f"I live in {MARK} with my sister Kim.", "id": "home", "session": "one"},
        {"role": "user", "content": "I moved from Berlin two weeks ago.", "session": "one", "speaker": f"Ann {MARK}"},
        {"role": "assistant", "content": f"{MARK} it is, then."},
    ]
    for path, given in (
        ("turns", {"turns": turns}), ("memories", {"text": f"Has a boat in {MARK}.", "name": "boat"}),
        ("memories", {"text": f"Sails in {MARK}.", "name": "boat"}),
        ("blocks", {"label": "notes", "value": SHARED, "limit": 100}),
        ("blocks/human/edits", {"operation": "append", "text": f"From {SHARED}."}),
    ):  # fmt: skip
        (await alice.post(f"{ALICE}/{path}", json=given)).raise_for_status()


BODIES: list[dict[str, Any]] = [
    {"query": "Where do I live?"}, {"ids": ["home"]}, {"everything": True}, {"text": "live"}, {"label": "new"},
    {"turns": [{"role": "user", "content": "x", "id": "home"}]}, {"operation": "append", "text": "x"}, {"version": 1},
    {"other": "Kim"}, {"limit": 50}, {"text": "x", "name": "boat"}, {},
]  # fmt: skip


async def foreign(
    app: FastAPI, clients: Mapping[str, httpx2.AsyncClient], requests: int, seed: int = 1
) -> Counter[str]:
    """Request data of the user ``alice`` as other users, and as an agent of hers without data. Count wrong answers.

    leaked    contains the user's words, or differs from the answer about an unknown user
    changed   not refused
    failed    5xx
    """
    rng, wrong = random.Random(seed), Counter[str]()
    known = [one for one in routes(app) if "{user}" in one[1]]
    for number in range(requests):
        method, path = known[number % len(known)]
        who, body = rng.choice(sorted(clients)), _json(rng.choice(BODIES))
        answer, nobodys = [await _answer(clients[who], method, path, body, user) for user in ("alice", "nobody")]
        wrong["failed"] += answer[0] >= 500
        wrong["leaked"] += MARK in answer[1]
        if who != "helper":
            wrong["leaked"] += answer != nobodys or SHARED in answer[1]
            wrong["changed"] += answer[0] < 400
    return wrong


async def _answer(client: httpx2.AsyncClient, method: str, path: str, body: bytes, user: str) -> tuple[int, str]:
    page = not path.startswith("/api/")
    names = {"user": user, "id": "home", "label": "human", "name": "Kim", "verdict": "accept", "step": "merge"}
    for name, value in names.items():
        path = path.replace(f"{{{name}}}", value)
    form = b"text=live&everything=alice&version=1&value=x&other=Kim&label=new"
    sent = Sent(method, path, content=None if method == "GET" else form if page else body)
    sent.headers["Content-Type"] = FORM if page else b"application/json"
    reply = await sent.to(client)
    return reply.status_code, reply.text.replace(user, "WHO")


# --------------------------------------------------------------------------------------------------------------- ask


async def ask(folder: Path, settings: Mapping[str, Any], requests: int, seed: int = 1) -> dict[str, int]:
    """Send equal numbers of foreign and hostile requests, and count wrong answers."""
    tokens = TokenFile(folder / "tokens.json")
    secrets = {name: tokens.add(*one)[1] for name, one in TOKENS.items()} | {"nobody": ""}
    async with AsyncMemoryScope(folder / "memory.db", settings=settings) as memory, AsyncExitStack() as stack:
        app = create_app(memory, tokens=tokens, hosts={HOST})
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        clients = {}
        for name, secret in secrets.items():
            headers = {"Authorization": f"Bearer {secret}"} if secret else {}
            client = httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}", headers=headers, timeout=60)
            clients[name] = await stack.enter_async_context(client)
        await fill(clients["alice"])
        found = await foreign(app, {name: clients[name] for name in ("bob", "helper", "nobody")}, requests, seed)
        wrong, rng = Counter[str](), random.Random(seed)
        for sent, _ in zip(hostile(app, rng), range(requests), strict=False):
            client = clients[rng.choice(("operator", "operator", "alice", "helper", "nobody"))]
            wrong[fault(sent, await sent.to(client))] += 1
    failed = found["failed"] + wrong["failed"]
    return {"leaked": found["leaked"], "changed": found["changed"], "failed": failed, "untyped": wrong["untyped"]}


def ask_by_schema(root: str, secret: str, examples: int) -> int:
    """Return the number of wrong answers to requests that schemathesis derives from a server's OpenAPI document."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings

    headers, rng, wrong = {"Authorization": f"Bearer {secret}"}, random.Random(1), list[str]()

    def check(case: Any) -> None:
        if "user" in case.path_parameters:
            case.path_parameters["user"] = rng.choice(("alice", case.path_parameters["user"]))
        reply = case.call(headers=headers)
        kind = reply.headers.get("content-type", [""])[0]
        if reply.status_code >= 500 or (reply.status_code >= 400 and kind != "application/problem+json"):
            wrong.append(f"{case.operation.label}: {reply.status_code}")

    limits = settings(
        max_examples=examples, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    for found in schemathesis.openapi.from_url(f"{root}/api/v1/openapi.json").get_all_operations():
        limits(given(case=found.ok().as_strategy())(check))()
    for line in sorted(set(wrong)):
        click.echo(line, err=True)
    return len(wrong)
