"""Access tokens: who may call the server, and as whom. Only their digests are kept.

The file is a JSON list, replaced as a whole (mode 0600); a server reads it again when it changed, so that revoking a
token takes effect with the next request.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal

from memscope import validation
from memscope.config.paths import folder
from memscope.errors import ConfigError, InputError, NotFound

Role = Literal["user", "operator"]
PREFIX = "memscope_"
ROLES: tuple[Role, ...] = ("user", "operator")


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
        self._read: tuple[int, int] = (0, 0)
        self._tokens: tuple[Token, ...] = ()
        self._temporary: tuple[Token, ...] = ()

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, revoked ones too, as the file has them now."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return ()
        state = (status.st_mtime_ns, status.st_ino)
        if state != self._read:
            self._tokens, self._read = self._load(), state
        return self._tokens

    def add_temporary(self) -> str:
        """Add an operator's token that lives as long as this object; returns its secret."""
        secret = PREFIX + secrets.token_urlsafe(32)
        self._temporary += (Token(secrets.token_hex(4), digest_of(secret), "operator", name="temporary"),)
        return secret

    def find(self, secret: str) -> Token | None:
        """Return the token that is valid for ``secret``."""
        digest = digest_of(secret)
        return next((one for one in self._valid() if secrets.compare_digest(one.digest, digest)), None)

    def valid(self, id: str) -> Token | None:
        return next((one for one in self._valid() if one.id == id), None)

    def _valid(self) -> list[Token]:
        return [one for one in (*self.tokens(), *self._temporary) if not one.revoked]

    def add(self, role: Role, user: str | None, agent: str | None = None, name: str = "") -> tuple[Token, str]:
        """Add a token; returns it with its secret, which is shown once and kept nowhere."""
        if role == "user" and user is None:
            raise InputError("a token of the role user needs the user", hint="give --user NAME, or --role operator")
        if role == "operator" and (user or agent):
            raise InputError("an operator's token is for all users", hint="leave the user out")
        if user is not None:
            validation.scope(user, agent)
        secret = PREFIX + secrets.token_urlsafe(32)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        token = Token(secrets.token_hex(4), digest_of(secret), role, user, agent, name[:100], now)
        self._save([*self.tokens(), token])
        return token, secret

    def revoke(self, id: str) -> Token:
        """Revoke a token; ``NotFound`` for one that is not there."""
        token = self.valid(id)
        if token is None:
            raise NotFound(f"there is no valid token {id!r}", hint="memscope token list shows them")
        revoked = replace(token, revoked=datetime.now(UTC).isoformat(timespec="seconds"))
        self._save([revoked if one.id == id else one for one in self.tokens()])
        return revoked

    def _load(self) -> tuple[Token, ...]:
        try:
            return tuple(Token(**one) for one in json.loads(self.path.read_bytes()))
        except (ValueError, TypeError) as error:
            raise ConfigError(
                f"{str(self.path)!r} is no file of tokens", hint="move it away and add tokens anew"
            ) from error

    def _save(self, tokens: Sequence[Token]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump([asdict(token) for token in tokens], file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.path)
