"""The hooks of plugins. A hook is a function of a plugin whose name begins with ``memscope_``.

``register(name, what)`` takes an object or "module:Object", imported on use. Operation hooks may be async. ``before``:
return a replacement of the first argument, or None to keep it; an exception refuses the call and nothing is stored.
``after``: an exception is logged once and changes nothing. Arguments that are not needed may be left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import pluggy

if TYPE_CHECKING:
    import click

    from memscope.plugins.registry import Register
    from memscope.records import AddReport, ForgetReport, Observation, Retrieval, Scope, Select, Turn, WorkReport
    from memscope.retrieval import Query

T = TypeVar("T")
Maybe: TypeAlias = T | Awaitable[T | None] | None

hookspec = pluggy.HookspecMarker("memscope")
hookimpl = pluggy.HookimplMarker("memscope")  # for tryfirst and trylast; the name alone makes a hook


# fmt: off
@hookspec
def memscope_register_stores(register: Register) -> None:
    """name: the scheme of ``store``; what: ``(location, settings) -> Store``."""
@hookspec
def memscope_register_models(register: Register) -> None:
    """name: "chat.NAME", "embedding.NAME", "rerank.NAME", see ``provider``; what: ``(section, settings) -> model``."""
@hookspec
def memscope_register_workers(register: Register) -> None:
    """name: "OPERATION.NAME" as in ``pipelines``; what: a ``Worker``."""
@hookspec
def memscope_register_adapters(register: Register) -> None:
    """name: the framework; what: the class or function that its users import first."""
@hookspec
def memscope_register_importers(register: Register) -> None:
    """name: of the other system, as in ``import_from``; what: ``(sources) -> items`` of ``transfer.importers``."""
@hookspec
def memscope_register_commands(cli: click.Group) -> None:
    """Add commands to the command line."""

@hookspec
def memscope_before_add_turns(turns: Sequence[Turn], scope: Scope) -> Maybe[Sequence[Turn]]:
    """Validated turns, before they get keys."""
@hookspec
def memscope_after_add_turns(report: AddReport, scope: Scope) -> Maybe[object]:
    """The turns are durable."""
@hookspec
def memscope_before_consolidate(turns: Sequence[Turn], scope: Scope) -> Maybe[Sequence[Turn]]:
    """Turns of a batch, before the model is asked."""
@hookspec
def memscope_after_consolidate(report: WorkReport, scope: Scope) -> Maybe[object]:
    """The observations are stored."""
@hookspec
def memscope_before_reflect(observations: Sequence[Observation], scope: Scope) -> Maybe[Sequence[Observation]]:
    """Observations of a batch, before the model is asked."""
@hookspec
def memscope_after_reflect(report: WorkReport, scope: Scope) -> Maybe[object]:
    """The insights are stored."""
@hookspec
def memscope_before_retrieve(question: Query, scope: Scope) -> Maybe[Query]:
    """The query, before the search."""
@hookspec
def memscope_after_retrieve(retrieval: Retrieval, scope: Scope) -> Maybe[object]:
    """The result for the caller."""
@hookspec
def memscope_before_forget(select: Select, scope: Scope) -> Maybe[Select]:
    """The selection, before anything is removed."""
@hookspec
def memscope_after_forget(report: ForgetReport, scope: Scope) -> Maybe[object]:
    """The receipt."""
