"""Elasticsearch against SQLite on the same data: an entry point for ``measuring/elasticsearch_speed.py``.

Since Python imports from a script's folder first, this file shadows the client package. So it drops out of the path.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

HERE = str(Path(__file__).parent)
OTHERS = [path for path in sys.path if str(Path(path or ".").resolve()) != HERE]

if __name__ == "__main__":
    sys.path[:] = [*OTHERS, HERE]
    importlib.import_module("measuring.elasticsearch_speed").main()
else:  # imported by another benchmark that needs the client package
    del sys.modules[__name__]
    whole, sys.path[:] = sys.path[:], OTHERS
    try:
        sys.modules[__name__] = importlib.import_module(__name__)
    finally:
        sys.path[:] = whole
