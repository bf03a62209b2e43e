"""Access tokens for the server, stored as digests only.

The file is a JSON list (mode 0600), written under a lock and replaced atomically. A running server reloads it whenever
it has changed, so that a revoked token is refused from the next request on.
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
SETTLED_NS = 2 * 10**9  # from this age on, a later write is sure to get another modification time


@dataclass(frozen=True, slots=True)
class Token:
    """An access token. Role ``user`` grants one user's memory; with ``agent``, only the records of that agent."""

    id: str
    digest: str
    role: Role
    user: str | None = None
    agent: str | None = None
    name: str = ""
    created: str = ""
    revoked: str | None = None


def digest_of(secret: str) -> str:
    """Hash a token for storage. Its 256 random bits cannot be guessed, so a slow password hash is not needed."""
    return sha256(secret.encode()).hexdigest()


class TokenFile:
    """The tokens in one file, cached in memory until the file changes."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or folder("config") / "tokens.json"
        self._file_state: tuple[int, int, int] | None = None
        self._tokens: tuple[Token, ...] = ()
        self._valid: dict[str, Token] = {}  # by digest and by id
        self._temporary: dict[str, Token] = {}

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, including revoked ones; reload the file if it has changed."""
        try:
            status = self.path.stat()
            state = (status.st_mtime_ns, status.st_ino, status.st_size)
            if state != self._file_state:
                self._index(self._load())
                # A write within the same tick of the file system's clock would go unnoticed: read again next time.
                self._file_state = state if time.time_ns() - status.st_mtime_ns > SETTLED_NS else None
        except FileNotFoundError:
            self._index(())
            self._file_state = None
        return self._tokens

    def add_temporary(self) -> str:
        """Create an operator token that is valid for the lifetime of this object, and return its secret."""
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = Token(secrets.token_hex(8), digest_of(secret), "operator", name="temporary")
        self._temporary |= {token.id: token, token.digest: token}
        return secret

    def find(self, secret: str) -> Token | None:
        """Return the valid token with this secret, or None."""
        return self._find(digest_of(secret))

    def valid(self, id: str) -> Token | None:
        return self._find(id)

    def _find(self, key: str) -> Token | None:
        self.tokens()
        return self._valid.get(key) or self._temporary.get(key)

    def _index(self, tokens: tuple[Token, ...]) -> None:
        valid = [one for one in tokens if not one.revoked]
        self._tokens, self._valid = tokens, {key: one for one in valid for key in (one.id, one.digest)}

    def add(self, role: Role, user: str | None, agent: str | None = None, name: str = "") -> tuple[Token, str]:
        """Add a token and return it with its secret, which is stored nowhere."""
        if role == "user" and user is None:
            raise InputError("a token of the role user needs the user", hint="give --user NAME, or --role operator")
        if role == "operator" and (user or agent):
            raise InputError("an operator's token is for all users", hint="leave the user out")
        if user is not None:
            validation.scope(user, agent)
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = Token("", digest_of(secret), role, user, agent, name[:100], _now())
        with self._locked() as tokens:
            token = replace(token, id=_free_id({one.id for one in tokens}))
            tokens.append(token)
        return token, secret

    def revoke(self, id: str) -> Token:
        """Revoke a token. Raise ``NotFound`` if the id is unknown or already revoked."""
        with self._locked() as tokens:
            place = next((place for place, one in enumerate(tokens) if one.id == id and not one.revoked), None)
            if place is None:
                raise NotFound(f"there is no valid token {id!r}", hint="memscope token list shows them")
            tokens[place] = revoked = replace(tokens[place], revoked=_now())
        return revoked

    @contextmanager
    def _locked(self) -> Iterator[list[Token]]:
        """Yield the list of tokens for changes under the file's lock, then save it; after an error nothing is saved."""
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
                f"{str(self.path)!r} is not a token file", hint="move it away and add new tokens"
            ) from error


def _token(fields: Mapping[str, Any]) -> Token:
    """Parse one entry of the file. Raise ``TypeError`` if it is not a token."""
    token = Token(**fields)
    texts = (token.id, token.digest, token.role, token.name, token.created)
    optional = (token.user, token.agent, token.revoked)
    if not all(isinstance(one, str) for one in (*texts, *(one for one in optional if one is not None))):
        raise TypeError("a field of a token is not text")
    return token


def _free_id(taken: Set[str]) -> str:
    while (id := secrets.token_hex(4)) in taken:
        pass
    return id


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
