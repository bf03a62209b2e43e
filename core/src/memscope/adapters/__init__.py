"""The kit of every adapter; ``memscope.adapters.NAME`` is ``memscope_NAME``."""

from memscope.adapters import finder

finder.install()
