"""Convert AutoGen's ``MemoryContent`` to statements, and hits to ``MemoryContent``."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from autogen_core import Image
from autogen_core.memory import MemoryContent, MemoryMimeType

from memscope.errors import InputError
from memscope.records import Hit, Json, Observation

AUTOGEN_KEY = "autogen"  # key in a memory's data for what its text lacks
CAPTIONS = ("caption", "description", "title", "name")


def text_of(content: MemoryContent) -> str:
    """Return the searchable text: plain text, JSON, or for bytes and images a caption from the metadata."""
    value = content.content
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        try:
            return json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise InputError(f"the content is not JSON: {error}", hint="write times and the like as text") from None
    called = [str((content.metadata or {}).get(name) or "") for name in CAPTIONS]
    return next(filter(None, called), f"({mime_type(content)} without a caption)")


def data_of(content: MemoryContent) -> dict[str, Json]:
    fields: dict[str, Json] = {"mime_type": mime_type(content), "metadata": _json(content.metadata or {})}
    if isinstance(content.content, dict):
        fields["json"] = True
    elif isinstance(content.content, Image):
        fields["image"] = content.content.to_base64()
    elif isinstance(content.content, bytes):
        fields["base64"] = base64.b64encode(content.content).decode()
    return {AUTOGEN_KEY: fields}


def mime_type(content: MemoryContent) -> str:
    named = content.mime_type
    return named.value if isinstance(named, MemoryMimeType) else named


def _json(value: Mapping[str, Any]) -> dict[str, Json]:
    copied: dict[str, Json] = json.loads(json.dumps(value, default=str))
    return copied


def line(hit: Hit) -> MemoryContent:
    """Convert a hit to the text shown to the model."""
    return MemoryContent(content=hit.text, mime_type=MemoryMimeType.TEXT, metadata=_about(hit))


def original(hit: Hit) -> MemoryContent:
    """Restore the content that was added, else return the text. Added metadata overrides the hit's."""
    statement = next((memory for memory in hit.observations if AUTOGEN_KEY in memory.data), None)
    return line(hit) if statement is None else _restored(statement, hit)


def _restored(statement: Observation, hit: Hit) -> MemoryContent:
    fields = statement.data[AUTOGEN_KEY]
    value: Any = statement.text
    if "json" in fields:
        value = json.loads(statement.text)
    elif "image" in fields:
        value = Image.from_base64(fields["image"])
    elif "base64" in fields:
        value = base64.b64decode(fields["base64"])
    return MemoryContent(
        content=value, mime_type=_named(fields["mime_type"]), metadata={**_about(hit), **fields["metadata"]}
    )


def _named(mime_type: str) -> MemoryMimeType | str:
    return next((known for known in MemoryMimeType if known.value == mime_type), mime_type)


def _about(hit: Hit) -> dict[str, Json]:
    about: dict[str, Json] = {"id": hit.id, "time": hit.time.isoformat(), "score": float(hit.score)}
    if hit.turn is not None:
        about["speaker"] = hit.turn.speaker
    return about
