"""Code shared by all adapters, and an import hook that makes ``memscope_autogen`` importable as
``memscope.adapters.autogen``.

Each adapter is a separate distribution. A namespace package would break as soon as one of them is installed editable.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from memscope.errors import DISTRIBUTIONS, install_hint

SHARED_MODULES = frozenset(path.stem for path in Path(__file__).parent.glob("*.py"))


class _Alias(Loader, MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.removeprefix(f"{__name__}.")
        if name == fullname or name in SHARED_MODULES:
            return None
        if find_spec(f"memscope_{name.partition('.')[0]}") is None:
            adapter = name.partition(".")[0]
            extra = adapter.replace("_", "-")
            advice = install_hint(extra) if extra in DISTRIBUTIONS else "memscope plugins lists those that are there"
            raise ModuleNotFoundError(f"there is no adapter {adapter!r} installed; {advice}", name=fullname)
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(f"memscope_{spec.name.removeprefix(f'{__name__}.')}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the spec that ``create_module`` saved; the module has already run under its real name."""
        module.__spec__ = module.__spec__ and module.__spec__.loader_state


if not any(isinstance(finder, _Alias) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Alias())
