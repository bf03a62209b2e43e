"""Agent Framework's agent has facts made by itself."""

from __future__ import annotations

from adapters.background import BackgroundSuite


class TestBackground(BackgroundSuite):
    module = "adapters.agent_framework.talking"
