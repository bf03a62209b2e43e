"""An agent of the SDK has facts made by itself."""

from __future__ import annotations

from adapters.background import BackgroundSuite


class TestBackground(BackgroundSuite):
    module = "adapters.openai_agents.talking"
