"""Build backend of the root, which is a workspace and no distribution: says what to install instead of a traceback."""

from __future__ import annotations

from typing import Any, NoReturn

ADVICE = """
The root of this repository is a workspace; nothing is installed from it. Install the parts you want:
    pip install ./core                             the library and the command memscope
    pip install ./core ./adapters/autogen          and an adapter, a folder of ./adapters
    pip install ./core ./stores/elasticsearch      and the Elasticsearch store
"""


def refuse(*_: Any, **__: Any) -> NoReturn:
    raise SystemExit(ADVICE)


build_wheel = build_sdist = build_editable = refuse
