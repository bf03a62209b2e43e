"""The chat model of these examples, and the names shared by all examples."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llama_index.llms.openai_like import OpenAILike

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripted import BOAT, CORE_MEMORY, command_line, endpoint

__all__ = ["BOAT", "CORE_MEMORY", "chat_model", "command_line"]


@contextlib.contextmanager
def chat_model(script: list[dict[str, Any]]) -> Iterator[OpenAILike]:
    with endpoint(script) as (model, key, address):
        yield OpenAILike(model=model, api_base=address, api_key=key, is_chat_model=True, is_function_calling_model=True)
