"""A loopback OpenAI-compatible server that answers on purpose badly.

It serves chat completions (plain and streaming, tools, ``response_format``), embeddings, rerank and a model list, and
injects faults that follow a seeded plan, so that a failing test can be run again. Standard library only::

    with FaultServer(seed=7, faults=[{"fault": "reset", "at": [2]}]) as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="test")

``README.md`` lists every fault, rule field and control route.
"""

from __future__ import annotations

from .plan import CHAT, EMBED, FAULTS, RERANK, Plan
from .replies import Script, embed
from .server import FaultServer
from .spoil import MALFORMED

__all__ = ["CHAT", "EMBED", "FAULTS", "MALFORMED", "RERANK", "FaultServer", "Plan", "Script", "embed"]
