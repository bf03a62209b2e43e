"""The chat model of these examples, and the names shared by all examples."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripted import BOAT, CORE_MEMORY, command_line, endpoint

__all__ = ["BOAT", "CORE_MEMORY", "chat_model", "chat_model_v1", "command_line"]


@contextlib.contextmanager
def chat_model(script: list[dict[str, Any]]) -> Iterator[Any]:
    """Yield a chat model for AgentScope 2.x."""
    from agentscope.credential import OpenAICredential
    from agentscope.model import OpenAIChatModel

    with endpoint(script) as (model, key, address):
        yield OpenAIChatModel(OpenAICredential(api_key=key, base_url=address), model)


@contextlib.contextmanager
def chat_model_v1(script: list[dict[str, Any]]) -> Iterator[Any]:
    """Yield a chat model for AgentScope 1.x."""
    from agentscope.model import OpenAIChatModel

    with endpoint(script) as (model, key, address):
        yield OpenAIChatModel(model, key, client_kwargs={"base_url": address} if address else None)
