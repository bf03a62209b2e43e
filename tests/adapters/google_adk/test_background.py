"""ADK's agents have facts made by themselves."""

from __future__ import annotations

from adapters.background import BackgroundSuite


class TestBackground(BackgroundSuite):
    module = "adapters.google_adk.talking"
