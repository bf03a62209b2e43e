"""AutoGen 0.2 and AG2 are tested where one of them is installed: `.ci/adapters.sh autogen_02`."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

SPEC = find_spec("autogen")
collect_ignore_glob = [] if SPEC and SPEC.origin else ["test_*.py"]  # a folder of that name is none
if not collect_ignore_glob:
    with warnings.catch_warnings(action="ignore"):  # the package's own
        import autogen  # noqa: F401
