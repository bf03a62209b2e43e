"""HTTP API and web inspector of memscope. ``create_app`` builds the application that ``memscope serve`` runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memscope_server.app import create_app

__version__ = "0.2.0"
__all__ = ["__version__", "create_app"]


def __getattr__(name: str) -> Any:
    if name == "create_app":
        from memscope_server.app import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
