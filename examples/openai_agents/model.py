"""The chat model of these examples, and the names shared by all examples."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agents import OpenAIChatCompletionsModel, set_tracing_disabled
from openai import AsyncOpenAI

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripted import BOAT, CORE_MEMORY, command_line, endpoint

__all__ = ["BOAT", "CORE_MEMORY", "chat_model", "command_line"]

set_tracing_disabled(True)  # traces would be sent to OpenAI


@contextlib.contextmanager
def chat_model(script: list[dict[str, Any]]) -> Iterator[OpenAIChatCompletionsModel]:
    with endpoint(script) as (model, key, address):
        yield OpenAIChatCompletionsModel(model, AsyncOpenAI(api_key=key, base_url=address))
