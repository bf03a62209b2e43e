"""The chat model of these examples, and the names shared by all examples."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripted import BOAT, CORE_MEMORY, command_line, endpoint

__all__ = ["BOAT", "CORE_MEMORY", "chat_model", "command_line"]


@contextlib.contextmanager
def chat_model(script: list[dict[str, Any]]) -> Iterator[OpenAIChatModel]:
    with endpoint(script) as (model, key, address):
        yield OpenAIChatModel(model, provider=OpenAIProvider(base_url=address, api_key=key))
