"""Parts that all adapters share; ``memscope.adapters.NAME`` is ``memscope_NAME``."""

from memscope.adapters import finder

finder.install()
