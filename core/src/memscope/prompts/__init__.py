"""System prompts and the block of memories shown to a model."""

from memscope.prompts.loader import Prompts, enclose, visible

__all__ = ["Prompts", "enclose", "visible"]
