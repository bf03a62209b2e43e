"""Authentication by bearer token or session cookie. Memory beyond a token's scope is "not found", never "forbidden"."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from memscope import AsyncMemoryScope
from memscope.errors import InputError, NotFound, nearest
from memscope.records import ForgetReport, Insight, Observation
from memscope_server import paths as paths  # registers how routes read names
from memscope_server.problems import Forbidden, Unauthorized
from memscope_server.tokens import Token, TokenFile

SESSION_COOKIE = "memscope_session"
MAX_SESSIONS_PER_TOKEN = 32
SIGN_IN_PATH = "/login"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(slots=True)
class Session:
    """A signed-in browser. Every form carries ``csrf`` and must send it back."""

    token_id: str
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24))


class Sessions:
    """Signed-in browsers, kept in memory: a restart signs them out."""

    def __init__(self, tokens: TokenFile) -> None:
        self.tokens = tokens
        self._sessions: dict[str, Session] = {}
        self._keys: dict[str, list[str]] = {}  # session keys by token id, oldest first

    def open(self, token: Token) -> str:
        """Sign a browser in and return its cookie value. Beyond the limit, the token's oldest session is closed."""
        key = secrets.token_urlsafe(32)
        self._sessions[key] = Session(token.id)
        keys = self._keys.setdefault(token.id, [])
        keys.append(key)
        for old in keys[:-MAX_SESSIONS_PER_TOKEN]:
            self.close(old)
        return key

    def close(self, key: str) -> None:
        session = self._sessions.pop(key, None)
        if session is None:
            return
        keys = self._keys[session.token_id]
        keys.remove(key)
        if not keys:
            del self._keys[session.token_id]

    def find(self, key: str) -> tuple[Token, Session] | None:
        """Return the token and session of a cookie, or None; close the session if its token was revoked."""
        session = self._sessions.get(key)
        token = session and self.tokens.valid(session.token_id)
        if session and not token:
            self.close(key)
        return (token, session) if session and token else None

    def caller(self, connection: HTTPConnection) -> Caller | None:
        """Identify the caller by bearer token or cookie; None without a valid one. The header takes precedence."""
        scheme, _, secret = connection.headers.get("authorization", "").partition(" ")
        if scheme:
            token = self.tokens.find(secret.strip()) if scheme.lower() == "bearer" else None
            return Caller(token) if token else None
        caller = self.find(connection.cookies.get(SESSION_COOKIE, ""))
        return Caller(caller[0], caller[1].csrf) if caller else None


@dataclass(frozen=True, slots=True)
class Caller:
    """The token of a request and, for browsers, the CSRF secret of their forms."""

    token: Token
    csrf: str = ""

    @property
    def operator(self) -> bool:
        return self.token.role == "operator"

    def scope(self, user: str, agent: str | None = None) -> dict[str, Any]:
        """Return ``user`` and ``agent`` as keyword arguments. Raise ``NotFound`` for a scope beyond the token."""
        if self.operator:
            return {"user": user, "agent": agent}
        foreign_agent = self.token.agent is not None and agent not in (None, self.token.agent)
        if user != self.token.user or foreign_agent:
            raise NotFound(f"there is no user {user!r} here")
        return {"user": user, "agent": self.token.agent if self.token.agent is not None else agent}


def caller(request: Request) -> Caller:
    """Require a valid token (``Unauthorized``) and, for changes from a browser, its CSRF secret (``Forbidden``)."""
    caller: Caller | None = request.state.caller
    if caller is None:
        raise Unauthorized("a valid token is needed", hint="Authorization: Bearer TOKEN; memscope token add makes one")
    if caller.csrf and request.method not in SAFE_METHODS:
        csrf_token = request.headers.get("x-csrf-token") or request.state.form.get("csrf", "")
        if not secrets.compare_digest(csrf_token.encode(), caller.csrf.encode()):
            raise Forbidden(
                "this form was not made for you, or you have signed in again since", hint="load the page again"
            )
    return caller


def operator(signed_in: Annotated[Caller, Depends(caller)]) -> Caller:
    """Require an operator; anyone else gets ``NotFound``, as if the page did not exist."""
    if not signed_in.operator:
        raise NotFound("there is nothing here", hint="this needs the token of an operator")
    return signed_in


Anyone = Annotated[Caller, Depends(caller)]
Operator = Annotated[Caller, Depends(operator)]


async def check_parameters(request: Request, signed_in: Anyone) -> None:
    """Refuse query parameters that the operation does not have, and a body where it takes none."""
    dependant = request.scope["route"].dependant
    known = _query_names(dependant)
    unknown = sorted({*request.query_params} - known)
    if unknown:
        raise InputError(f"there is no query parameter {unknown[0][:100]!r}", hint=nearest(unknown[0], known))
    if not dependant.body_params and (await request.body()).strip() not in (b"", b"{}", b"null"):
        raise InputError("this operation takes no body")


def _query_names(dependant: Any) -> set[str]:
    """List the query parameters of an operation and of what it depends on."""
    names = {field.alias for field in dependant.query_params}
    return names.union(*(_query_names(part) for part in dependant.dependencies))


async def proposals_for(memory: AsyncMemoryScope, scope: Mapping[str, Any]) -> list[Observation | Insight]:
    """List the proposals of a user, or only those of the scope's agent."""
    waiting = await memory.admin.proposals(user=scope["user"])
    return [one for one in waiting if scope["agent"] in (None, one.scope.agent)]


async def decide(memory: AsyncMemoryScope, scope: Mapping[str, Any], ids: Sequence[str], *, accept: bool) -> int:
    """Accept or reject proposals and return their number. Raise ``NotFound`` if one lies outside the scope."""
    for id in ids:
        await memory.get(id, **scope)
    return await (memory.admin.accept if accept else memory.admin.reject)(ids, user=scope["user"])


async def forget(memory: AsyncMemoryScope, caller: Caller, scope: Mapping[str, Any], **selected: Any) -> ForgetReport:
    """Forget within a scope of the caller. An agent's token does not learn the labels of other agents' blocks."""
    report = await memory.forget(**scope, **selected)
    if caller.token.agent is None or not report.may_hold:
        return report
    seen = {block.label for block in await memory.blocks(**scope).list()}
    return replace(report, may_hold=tuple(label for label in report.may_hold if label in seen))
