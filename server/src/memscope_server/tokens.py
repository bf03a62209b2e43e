"""Access tokens: who may call the server, and as whom. Only their digests are kept.

The file is a JSON list (mode 0600), changed under a lock and replaced as a whole; a server reads it again when it
changed, so that revoking a token takes effect with the next request.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from memscope import shared_file, validation
from memscope.config.paths import folder
from memscope.errors import ConfigError, InputError, NotFound

Role = Literal["user", "operator"]
TOKEN_PREFIX = "memscope_"
TOKEN_ROLES: tuple[Role, ...] = ("user", "operator")
SETTLED_NS = 2 * 10**9  # age of a file from which its time tells it apart from its next version


@dataclass(frozen=True, slots=True)
class Token:
    """One token by its ``id``. A ``user`` token sees that user, with an ``agent`` only what that agent was told."""

    id: str
    digest: str
    role: Role
    user: str | None = None
    agent: str | None = None
    name: str = ""
    created: str = ""
    revoked: str | None = None


def digest_of(secret: str) -> str:
    """Return what is kept of a token: 256 random bits need no slow hash."""
    return sha256(secret.encode()).hexdigest()


class TokenFile:
    """The tokens of one file."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or folder("config") / "tokens.json"
        self._read: tuple[int, int, int] | None = None
        self._tokens: tuple[Token, ...] = ()
        self._valid: dict[str, Token] = {}  # by digest and by id
        self._temporary: dict[str, Token] = {}

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, revoked ones too, as the file has them now."""
        try:
            status = self.path.stat()
            state = (status.st_mtime_ns, status.st_ino, status.st_size)
            if state != self._read:
                self._keep(self._load())
                # Within a tick of the file system's clock another change may look like this one: read again.
                self._read = state if time.time_ns() - status.st_mtime_ns > SETTLED_NS else None
        except FileNotFoundError:
            self._keep(())
            self._read = None
        return self._tokens

    def add_temporary(self) -> str:
        """Add an operator's token that lives as long as this object; returns its secret."""
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = Token(secrets.token_hex(8), digest_of(secret), "operator", name="temporary")
        self._temporary |= {token.id: token, token.digest: token}
        return secret

    def find(self, secret: str) -> Token | None:
        """Return the token that is valid for ``secret``."""
        return self._find(digest_of(secret))

    def valid(self, id: str) -> Token | None:
        return self._find(id)

    def _find(self, key: str) -> Token | None:
        self.tokens()
        return self._valid.get(key) or self._temporary.get(key)

    def _keep(self, tokens: tuple[Token, ...]) -> None:
        valid = [one for one in tokens if not one.revoked]
        self._tokens, self._valid = tokens, {key: one for one in valid for key in (one.id, one.digest)}

    def add(self, role: Role, user: str | None, agent: str | None = None, name: str = "") -> tuple[Token, str]:
        """Add a token; returns it with its secret, which is shown once and kept nowhere."""
        if role == "user" and user is None:
            raise InputError("a token of the role user needs the user", hint="give --user NAME, or --role operator")
        if role == "operator" and (user or agent):
            raise InputError("an operator's token is for all users", hint="leave the user out")
        if user is not None:
            validation.scope(user, agent)
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = Token("", digest_of(secret), role, user, agent, name[:100], _now())
        with self._changing() as tokens:
            token = replace(token, id=_free_id({one.id for one in tokens}))
            tokens.append(token)
        return token, secret

    def revoke(self, id: str) -> Token:
        """Revoke a token; ``NotFound`` for one that is not there."""
        with self._changing() as tokens:
            place = next((place for place, one in enumerate(tokens) if one.id == id and not one.revoked), None)
            if place is None:
                raise NotFound(f"there is no valid token {id!r}", hint="memscope token list shows them")
            tokens[place] = revoked = replace(tokens[place], revoked=_now())
        return revoked

    @contextmanager
    def _changing(self) -> Iterator[list[Token]]:
        """Change the list of tokens while no other process can; an error leaves the file as it was."""
        try:
            with shared_file.locked(self.path):
                tokens = list(self._load()) if self.path.exists() else []
                yield tokens
                content = json.dumps([asdict(token) for token in tokens], indent=1)
                shared_file.replace(self.path, content.encode())
        except OSError as error:
            raise ConfigError(
                f"cannot write the tokens to {str(self.path)!r}: {error.strerror}", hint="see its disk and permissions"
            ) from error

    def _load(self) -> tuple[Token, ...]:
        try:
            tokens = json.loads(self.path.read_bytes())
            if not isinstance(tokens, list):
                raise TypeError("tokens are a list")
            return tuple(map(_token, tokens))
        except FileNotFoundError:
            raise
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise ConfigError(
                f"{str(self.path)!r} is no file of tokens", hint="move it away and add tokens anew"
            ) from error


def _token(fields: Mapping[str, Any]) -> Token:
    """Return a token of the file; ``TypeError`` for what is none."""
    token = Token(**fields)
    texts = (token.id, token.digest, token.role, token.name, token.created)
    optional = (token.user, token.agent, token.revoked)
    if not all(isinstance(one, str) for one in (*texts, *(one for one in optional if one is not None))):
        raise TypeError("a field of a token is no text")
    return token


def _free_id(taken: Set[str]) -> str:
    while (id := secrets.token_hex(4)) in taken:
        pass
    return id


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
