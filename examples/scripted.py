"""Code shared by the examples of all frameworks: their command line, and a scripted model that needs no key.

The first rule of the script that matches the model's input gives its reply.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# The model knows the boat's name only if memory has shown it.
BOAT = [
    {
        "match": r"(?=.*What is my boat called).*boat is called (\w+)",
        "in": "all",
        "reply": r"It is called \1.",
        "expand": True,
    },
    {"match": "What is my boat called", "reply": "You have not told me."},
    {"match": "", "reply": "I will keep that in mind."},
]

# The model writes the block ``human`` when the user introduces herself, and answers from the block alone.
EDIT = {"name": "memory_append", "arguments": {"label": "human", "text": "Alice sails.", "reason": "she said so"}}
CORE_MEMORY = [
    {
        "match": r"(?=.*What do you know about me)(?=.*<block label=\"human\"[^>]*>\s+Alice sails)",
        "in": "all",
        "reply": "You are Alice. You sail.",
    },
    {"match": "What do you know about me", "in": "all", "reply": "Nothing yet."},
    {"match": "Block 'human' is at version", "in": "all", "reply": "I will keep that in mind."},
    {"match": "I am Alice, and I sail", "in": "all", "tool_calls": [EDIT]},
    {"match": "", "reply": "I will keep that in mind."},
]


@contextlib.contextmanager
def endpoint(script: list[dict[str, Any]]) -> Iterator[tuple[str, str, str | None]]:
    """Yield model, key and base URL, from OPENAI_MODEL, OPENAI_API_KEY and OPENAI_BASE_URL or of a scripted server."""
    if key := os.environ.get("OPENAI_API_KEY"):
        yield os.environ.get("OPENAI_MODEL", "gpt-4.1-mini"), key, os.environ.get("OPENAI_BASE_URL")
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from servers.faults import FaultServer

    with FaultServer(script=script) as server:
        yield "scripted", "none", server.base_url


def command_line(about: str | None, **options: Any) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", **{"nargs": "+", "help": "what the user says, one message each", **options})
    parser.add_argument("--user", default="alice")
    parser.add_argument("--store", help="a file, or a store's URL")
    return parser
