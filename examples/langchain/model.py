"""The chat model of these examples, and the names shared by all examples."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain_openai import ChatOpenAI

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripted import BOAT, CORE_MEMORY, command_line, endpoint

__all__ = ["BOAT", "CORE_MEMORY", "chat_model", "command_line"]


@contextlib.contextmanager
def chat_model(script: list[dict[str, Any]]) -> Iterator[ChatOpenAI]:
    with endpoint(script) as (model, key, address):
        yield ChatOpenAI(model=model, api_key=key, base_url=address)
