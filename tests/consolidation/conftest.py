"""The fixtures of the back end."""

from workbench import clock, world

__all__ = ["clock", "world"]
