"""The hooks of plugins. A hook is a function of a plugin whose name begins with ``memscope_``.

Registration hooks call ``register(name, what)``; ``what`` is an object or "module:Object", imported on use. If a hook
raises, the whole plugin is skipped with a warning; memscope does not start if ``plugins.require`` names it.

Operation hooks may be async and may omit parameters. A ``before`` hook returns a replacement for its first argument, or
None to keep it. If it raises, the call is refused and nothing is stored. The result of an ``after`` hook is ignored,
and its first exception is logged.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import pluggy

if TYPE_CHECKING:
    import click

    from memscope.plugins.registry import Register
    from memscope.records import AddReport, ForgetReport, Observation, Retrieval, Scope, Select, Turn, WorkReport
    from memscope.retrieval import Request

T = TypeVar("T")
Maybe: TypeAlias = T | Awaitable[T | None] | None

hookspec = pluggy.HookspecMarker("memscope")
hookimpl = pluggy.HookimplMarker("memscope")  # for tryfirst and trylast; the name alone makes a hook


# fmt: off
@hookspec
def memscope_register_languages(register: Register) -> None:
    """Register languages for every memory of the process.

    Args:
        register: Takes an ISO 639-1 code and a ``memscope.languages.Language``.
    """
@hookspec
def memscope_register_stores(register: Register) -> None:
    """Register stores.

    Args:
        register: Takes a scheme of the setting ``store`` and a function ``(location, settings) -> Store``.
    """
@hookspec
def memscope_register_models(register: Register) -> None:
    """Register models.

    Args:
        register: Takes "chat.NAME", "embedding.NAME" or "rerank.NAME" (setting ``provider``) and a function
            ``(section, settings) -> model``.
    """
@hookspec
def memscope_register_workers(register: Register) -> None:
    """Register workers.

    Args:
        register: Takes "OPERATION.NAME" (setting ``pipelines``) and a ``Worker``.
    """
@hookspec
def memscope_register_features(register: Register) -> None:
    """Register features of the ranking; ``explain`` shows them, and they count towards every score.

    Args:
        register: Takes the feature's name and a ``retrieval.features.Feature`` of this name.
    """
@hookspec
def memscope_register_recognisers(register: Register) -> None:
    """Register recognisers of names, for every memory of the process.

    Args:
        register: Takes a name and a function from a text to ``memscope.languages.FoundName`` tuples.
    """
@hookspec
def memscope_register_tools(register: Register) -> None:
    """Register tools for models, for the adapters of every memory of the process.

    Args:
        register: Takes the tool's name and an async function ``(session, ...) -> str`` of this name; its docstring and
            annotations are what the model sees.
    """
@hookspec
def memscope_register_adapters(register: Register) -> None:
    """Register adapters.

    Args:
        register: Takes the framework's name and the class or function that its users import first.
    """
@hookspec
def memscope_register_importers(register: Register) -> None:
    """Register importers.

    Args:
        register: Takes the other system's name, as for ``import_from``, and a ``transfer.importers.Importer``.
    """
@hookspec
def memscope_register_commands(cli: click.Group) -> None:
    """Add commands to the command line.

    Args:
        cli: The group of all commands.

    Raises:
        Exception: Skips the plugin's commands, with a warning.
    """

@hookspec
def memscope_before_add_turns(turns: Sequence[Turn], scope: Scope) -> Maybe[Sequence[Turn]]:
    """Replace or reject turns before they get keys.

    Args:
        turns: Validated turns.
        scope: User, agent and session of the call.

    Returns:
        Turns instead of these, or None.

    Raises:
        Exception: Refuses the call.
    """
@hookspec
def memscope_after_add_turns(report: AddReport, scope: Scope) -> Maybe[object]:
    """Run after turns became durable.

    Args:
        report: The result for the caller.
        scope: User, agent and session of the call.

    Raises:
        Exception: Logged once; the call succeeds.
    """
@hookspec
def memscope_before_consolidate(turns: Sequence[Turn], scope: Scope) -> Maybe[Sequence[Turn]]:
    """Replace or reject a batch of turns before the model is called.

    Args:
        turns: The batch.
        scope: The user.

    Returns:
        Turns instead of these, or None.

    Raises:
        Exception: Refuses the call.
    """
@hookspec
def memscope_after_consolidate(report: WorkReport, scope: Scope) -> Maybe[object]:
    """Run after observations were stored.

    Args:
        report: The result for the caller.
        scope: The user.

    Raises:
        Exception: Logged once; the call succeeds.
    """
@hookspec
def memscope_before_reflect(observations: Sequence[Observation], scope: Scope) -> Maybe[Sequence[Observation]]:
    """Replace or reject a batch of observations before the model is called.

    Args:
        observations: The batch.
        scope: The user.

    Returns:
        Observations instead of these, or None.

    Raises:
        Exception: Refuses the call.
    """
@hookspec
def memscope_after_reflect(report: WorkReport, scope: Scope) -> Maybe[object]:
    """Run after insights were stored.

    Args:
        report: The result for the caller.
        scope: The user.

    Raises:
        Exception: Logged once; the call succeeds.
    """
@hookspec
def memscope_before_retrieve(query: Request, scope: Scope) -> Maybe[Request]:
    """Replace or reject a query before the search.

    Args:
        query: The caller's request.
        scope: User, agent and session of the query.

    Returns:
        A request instead, or None. It may narrow the scope, not widen it.

    Raises:
        Exception: Refuses the call.
    """
@hookspec
def memscope_after_retrieve(retrieval: Retrieval, scope: Scope) -> Maybe[object]:
    """Run after a search.

    Args:
        retrieval: The result for the caller.
        scope: User, agent and session of the query.

    Raises:
        Exception: Logged once; the call succeeds.
    """
@hookspec
def memscope_before_forget(select: Select, scope: Scope) -> Maybe[Select]:
    """Replace or reject a selection before anything is deleted.

    Args:
        select: The caller's selection.
        scope: User, agent and session of the selection.

    Returns:
        A selection instead, or None. It may narrow the scope, not widen it.

    Raises:
        Exception: Refuses the call.
    """
@hookspec
def memscope_after_forget(report: ForgetReport, scope: Scope) -> Maybe[object]:
    """Run after records were deleted.

    Args:
        report: The receipt.
        scope: User, agent and session of the selection.

    Raises:
        Exception: Logged once; the call succeeds.
    """
