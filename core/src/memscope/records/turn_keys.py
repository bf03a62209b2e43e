"""The keys of a turn that is given as a dict, and what a misspelt one was meant to be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from memscope.errors import InputError

TURN_KEYS: Mapping[str, str] = {  # each with the field that it sets
    "role": "role", "content": "content", "text": "content", "speaker": "speaker", "name": "speaker", "time": "time",
    "timestamp": "time", "created_at": "time", "createdAt": "time", "id": "id", "session": "session",
    "metadata": "metadata",
}  # fmt: skip
TIME_KEYS = tuple(key for key, field in TURN_KEYS.items() if field == "time")
MAX_KEY_CHARS = 20  # of an unknown key that may be a misspelt one
TIME_LIKE = re.compile(
    r"(?i)((sent|created?|posted|said|received|updated?|message)_?)?(at|on|date|time|datetime|timestamp|ts)"
    r"(_?(s|ms|ns|utc|iso|sec|seconds|millis))?|when|created"
)


def check_other_keys(place: str, message: Mapping[Any, Any], user: str) -> None:
    """Refuse another user, and an unknown key that resembles one without a value; ignore those of frameworks."""
    if isinstance(message.get("user"), str) and message["user"] != user:
        raise InputError(f"{place} is of another user than the call", hint="make one call for each user")
    has = {TURN_KEYS[key] for key in message.keys() & TURN_KEYS.keys() if message[key] is not None}
    missing = tuple(key for key, field in TURN_KEYS.items() if field not in has)
    for key in (key for key, value in message.items() if isinstance(key, str) and value is not None):
        if key not in TURN_KEYS and len(key) <= MAX_KEY_CHARS and (meant := _meant_key(key, missing)):
            reason = f"{place} has no {TURN_KEYS[meant]}, but the unknown key {key!r}"
            raise InputError(reason, hint=f"did you mean {meant!r}?")


@lru_cache
def _meant_key(key: str, missing: tuple[str, ...]) -> str | None:
    if "time" in missing and TIME_LIKE.fullmatch(key):
        return "time"
    from difflib import get_close_matches  # rarely needed

    names = [name for name in missing if name != "id" or len(key) == 2]  # "uid" and "_id" are other keys
    return next(iter(get_close_matches(key.casefold(), names, 1, 0.75)), None)
