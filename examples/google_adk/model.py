"""The chat model of these examples, and the names shared by all examples."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from google.adk.labs.openai import OpenAILlm

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripted import BOAT, CORE_MEMORY, command_line, endpoint

__all__ = ["BOAT", "CORE_MEMORY", "chat_model", "command_line"]


@contextlib.contextmanager
def chat_model(script: list[dict[str, Any]]) -> Iterator[OpenAILlm]:
    with endpoint(script) as (model, key, address):
        named = {"OPENAI_API_KEY": key} | ({"OPENAI_BASE_URL": address} if address else {})
        with mock.patch.dict(os.environ, named):  # ADK 2.0's model has no other settings
            yield OpenAILlm(model=model)
