"""Elasticsearch against SQLite on the same data: ``measuring/elasticsearch_speed.py`` under the name it is looked for.

A script's folder is where Python imports from first, and the client has this file's name: so it makes way for it.
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
else:  # a benchmark beside this file wants the client
    del sys.modules[__name__]
    whole, sys.path[:] = sys.path[:], OTHERS
    try:
        sys.modules[__name__] = importlib.import_module(__name__)
    finally:
        sys.path[:] = whole
