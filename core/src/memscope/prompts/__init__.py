"""System prompts and the block of memories that a model is shown."""

from memscope.prompts.loader import Prompts, enclose, visible

__all__ = ["Prompts", "enclose", "visible"]
