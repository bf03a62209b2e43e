"""A loopback OpenAI-compatible embedding server: real all-MiniLM-L6-v2 vectors with numpy alone, no torch.

For tests and benchmarks that need vectors with a meaning; README.md says how to install the weights.
"""

from __future__ import annotations

from .server import EmbeddingServer, Missing, find_model

__all__ = ["EmbeddingServer", "Missing", "find_model"]
