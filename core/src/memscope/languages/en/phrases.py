"""Phrases that memscope prints around English text: the defaults of ``Phrases``."""

from memscope.languages.phrases import Phrases

PHRASES = Phrases()
