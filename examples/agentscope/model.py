"""The model of these examples: a real endpoint with OPENAI_API_KEY and OPENAI_BASE_URL, else a scripted one, no key."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def endpoint(script: list[dict[str, Any]]) -> Iterator[tuple[str, str, str | None]]:
    """Model, key, address. Without OPENAI_API_KEY a server with scripted replies runs meanwhile."""
    if key := os.environ.get("OPENAI_API_KEY"):
        yield os.environ.get("OPENAI_MODEL", "gpt-4.1-mini"), key, os.environ.get("OPENAI_BASE_URL")
        return
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    from servers.faults import FaultServer

    with FaultServer(script=script) as server:
        yield "scripted", "none", server.base_url


@contextlib.contextmanager
def chat_model(script: list[dict[str, Any]]) -> Iterator[Any]:
    """For AgentScope 2.x."""
    from agentscope.credential import OpenAICredential
    from agentscope.model import OpenAIChatModel

    with endpoint(script) as (model, key, address):
        yield OpenAIChatModel(OpenAICredential(api_key=key, base_url=address), model)


@contextlib.contextmanager
def chat_model_v1(script: list[dict[str, Any]]) -> Iterator[Any]:
    """For AgentScope 1.x."""
    from agentscope.model import OpenAIChatModel

    with endpoint(script) as (model, key, address):
        yield OpenAIChatModel(model, key, client_kwargs={"base_url": address} if address else None)
