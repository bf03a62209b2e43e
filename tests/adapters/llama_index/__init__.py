"""Older clients of LlamaIndex import transformers, which writes advice to stderr unless told not to."""

import os

os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
