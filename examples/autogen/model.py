"""The model of these examples: a real endpoint with OPENAI_API_KEY and OPENAI_BASE_URL, else a scripted one, no key."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autogen_core.models import ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient

INFO = ModelInfo(vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False)


@contextlib.contextmanager
def endpoint(script: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Arguments of a model client. Without OPENAI_API_KEY a server with scripted replies runs meanwhile."""
    if os.environ.get("OPENAI_API_KEY"):
        yield {"model": os.environ.get("OPENAI_MODEL", "gpt-4.1-mini")}
        return
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    from servers.faults import FaultServer

    with FaultServer(script=script) as server:
        yield {"model": "scripted", "base_url": server.base_url, "api_key": "none"}


@contextlib.contextmanager
def model_client(script: list[dict[str, Any]]) -> Iterator[OpenAIChatCompletionClient]:
    with endpoint(script) as options:
        yield OpenAIChatCompletionClient(model_info=INFO, **options)
