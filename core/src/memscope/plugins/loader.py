"""Load plugins, collect their registrations, and call their hooks. ``plugins/hookspecs.py`` lists every hook.

Each memory has its own ``Plugins``. Entry points of the group ``memscope`` are loaded one by one; one that fails does
not affect the others and stays in ``listed()`` with the reason. pluggy stores, checks and orders the hooks. It can
neither await them nor isolate one from the next, so ``before`` and ``after`` call them directly.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import pluggy

from memscope import languages
from memscope.errors import ConfigError, InputError, MemscopeError, PluginError, install_hint, nearest
from memscope.languages import names as recognisers
from memscope.models import caller_is_cancelled
from memscope.plugins import hook_replies, hookspecs
from memscope.plugins.registry import Register, Registry, one_line, register_tool
from memscope.validation import Limits

if TYPE_CHECKING:
    import click

    from memscope.config.settings import PluginSettings, Settings
    from memscope.stores import Store

T = TypeVar("T")
RegistryKind = Literal[
    "languages", "stores", "models", "workers", "adapters", "importers", "features", "recognisers", "tools"
]

ENTRY_POINT_GROUP = "memscope"
HOOK_PREFIX = "memscope_"
DEFAULT_PLUGINS = ("memscope.builtin",)
REGISTRIES: tuple[RegistryKind, ...] = get_args(RegistryKind)
# Registrations that apply to all memories of the process, not only to the one that loaded the plugin.
_PROCESS_WIDE: Mapping[RegistryKind, Callable[[str, object, str], None]] = {
    "languages": languages.register, "recognisers": recognisers.register, "tools": register_tool,
}  # fmt: skip
log = logging.getLogger("memscope")
__all__ = ["DEFAULT_PLUGINS", "Plugin", "Plugins", "Register"]


@dataclass(frozen=True, slots=True)
class Plugin:
    """One line of ``memscope plugins``. ``reason`` explains every state but "loaded"."""

    name: str
    state: Literal["loaded", "blocked", "broken", "missing"]
    distribution: str = ""
    version: str = ""
    file: str = ""
    hooks: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()  # frameworks for which it registered an adapter
    reason: str = ""


class _Hooks(pluggy.PluginManager):
    """Recognise hooks by name: plugins need no import from memscope, and misspelt hooks are detected."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        marked = super().parse_hookimpl_opts(plugin, name)
        if marked is None and name.startswith(HOOK_PREFIX) and inspect.isroutine(getattr(plugin, name, None)):
            return {}
        return marked


class Plugins:
    """The plugins of one memory: built-ins, then entry points, then ``extra`` objects.

    Raise ``PluginError`` for an invalid ``extra`` object and for a required plugin that is missing.
    """

    def __init__(
        self, choice: PluginSettings | None = None, *, extra: Sequence[object] = (), limits: Limits | None = None
    ) -> None:
        from memscope.config.settings import PluginSettings

        self._choice = choice or PluginSettings()
        self._limits = limits or Limits()
        self._hooks = _Hooks(ENTRY_POINT_GROUP)
        self._hooks.add_hookspecs(hookspecs)
        self._registries = {kind: Registry(kind) for kind in REGISTRIES}
        self._listed: dict[str, Plugin] = {}
        self._warned: set[tuple[str, str]] = set()
        for module in DEFAULT_PLUGINS:
            self._add(import_module(module), module)
        installed = entry_points(group=ENTRY_POINT_GROUP)
        for entry in {(entry.name, entry.value): entry for entry in installed}.values():  # listed twice if editable
            self._load(entry)
        for plugin in extra:
            self._add(plugin, _name(plugin))
            if not self._listed[_name(plugin)].hooks:
                hint = "give a module or an object with functions such as memscope_before_add_turns"
                raise PluginError(f"plugin {_name(plugin)!r} has no hooks", hint=hint)
        self._check_required()
        self._list_missing()
        for kind, register in _PROCESS_WIDE.items():
            for name, registration in self._registries[kind].entries.items():
                plugin = self._listed[registration.plugin]
                register(name, registration.what, f"{plugin.file}:{plugin.name}")
        operations = (f"{HOOK_PREFIX}before", f"{HOOK_PREFIX}after")
        self._operations = {name: self._hook_calls(name) for name in vars(hookspecs) if name.startswith(operations)}

    # ---- loading

    def _load(self, entry: EntryPoint) -> None:
        origin = (entry.dist.metadata["Name"], entry.dist.version) if entry.dist else ()
        about = Plugin(entry.name, "loaded", *origin)
        if reason := self._block_reason(entry.name):
            self._listed[entry.name] = replace(about, state="blocked", reason=reason)
            return
        if entry.name in self._listed:
            name, owner = f"{entry.name} ({entry.value})", self._listed[entry.name].distribution
            reason = f"{owner or 'another plugin'} has the name {entry.name!r}"
            self._listed[name] = replace(about, name=name, state="broken", reason=reason)
            return
        try:
            self._add(entry.load(), entry.name, about)
        except (Exception, SystemExit) as error:
            self._listed[entry.name] = replace(about, state="broken", reason=one_line(error))
            log.warning("plugin %r cannot be loaded: %s (memscope plugins shows why)", entry.name, type(error).__name__)

    def _block_reason(self, name: str) -> str:
        if name in self._choice.block:
            return "plugins.block names it"
        if self._choice.allow is not None and name not in self._choice.allow:
            return "plugins.allow does not name it"
        return ""

    def _add(self, plugin: object, name: str, about: Plugin | None = None) -> None:
        """Register all of a plugin, or raise and undo the registration."""
        if name in self._listed:
            raise PluginError(f"two plugins are named {name!r}", hint="give one of them another name")
        try:
            if inspect.isclass(plugin) and any(
                one.startswith(HOOK_PREFIX) and inspect.isfunction(what) for one, what in vars(plugin).items()
            ):  # a method without its object; static methods are fine
                raise PluginError(f"plugin {name!r} is a class", hint=f"give an object of it: {plugin.__name__}()")
            self._hooks.register(plugin, name)
            hooks = self._check_hooks(plugin, name)
            self._collect_registrations(name)
        except (Exception, SystemExit) as error:
            self._remove(name)
            if isinstance(error, pluggy.PluginValidationError):  # such as an unknown argument of a hook
                raise PluginError(f"plugin {name!r}: {one_line(error)}") from error
            raise
        self._listed[name] = replace(about or Plugin(name, "loaded"), file=_file(plugin), hooks=hooks,
                                     adapters=self._registries["adapters"].names_of(name))  # fmt: skip

    def _check_hooks(self, plugin: object, name: str) -> tuple[str, ...]:
        """Return the names of the plugin's hooks. Raise ``PluginError`` if one is unknown or cannot be called."""
        callers = sorted(self._hooks.get_hookcallers(plugin) or (), key=lambda caller: caller.name)
        for caller in callers:
            if not caller.has_spec():
                hint = nearest(caller.name, (known for known in vars(hookspecs) if known.startswith(HOOK_PREFIX)))
                raise PluginError(f"plugin {name!r}: there is no hook {caller.name!r}", hint=hint)
            impl = next(impl for impl in caller.get_hookimpls() if impl.plugin_name == name)
            if impl.wrapper or impl.hookwrapper:
                raise PluginError(f"plugin {name!r}: {caller.name} is a wrapper", hint="use the before and after hooks")
            if caller.name.startswith(f"{HOOK_PREFIX}register") and inspect.iscoroutinefunction(impl.function):
                raise PluginError(f"plugin {name!r}: {caller.name} is async", hint="registration is sync")
        return tuple(caller.name for caller in callers)

    def _collect_registrations(self, plugin: str) -> None:
        for kind, registry in self._registries.items():
            for impl in getattr(self._hooks.hook, f"{HOOK_PREFIX}register_{kind}").get_hookimpls():
                if impl.plugin_name == plugin:
                    _call(impl, {"register": partial(registry.add, plugin=plugin)})

    def _remove(self, plugin: str) -> None:
        if self._hooks.has_plugin(plugin):
            self._hooks.unregister(name=plugin)
        for registry in self._registries.values():
            registry.entries = {name: entry for name, entry in registry.entries.items() if entry.plugin != plugin}

    def _check_required(self) -> None:
        for name in self._choice.require:
            plugin = self._listed.get(name)
            if plugin is None:
                hint = f"{nearest(name, self._listed)}; else install it, or take it out of plugins.require"
                raise PluginError(f"plugin {name!r} is required and not installed", hint=hint)
            if plugin.state != "loaded":
                mend = "update it" if plugin.state == "broken" else "mend that"
                message = f"plugin {name!r} is required and {plugin.state}: {plugin.reason}"
                raise PluginError(message, hint=f"{mend}, or take it out of plugins.require")

    def _list_missing(self) -> None:
        """List the names in ``allow`` and ``block`` that are no plugin: a misspelt one would load what it blocks."""
        known = tuple(self._listed)
        for setting, names in (("allow", self._choice.allow or ()), ("block", self._choice.block)):
            for name in (name for name in names if name not in known):
                reason = f"plugins.{setting} names it, but it is not installed; {nearest(name, known)}"
                self._listed[name] = Plugin(name, "missing", reason=reason)
                log.warning("plugin %r is not there: %s", name, reason)

    # ---- registered objects

    def listed(self) -> list[Plugin]:
        """Return the plugins in the order they were loaded."""
        return list(self._listed.values())

    def registered(self, kind: RegistryKind) -> Mapping[str, Any]:
        return self._registries[kind]

    def workers(self, operation: str) -> Mapping[str, Any]:
        """Return the workers of an operation by name. A lookup imports the worker."""
        return self._registries["workers"].under(f"{operation}.")

    def features(self) -> tuple[Any, ...]:
        """Return the features that plugins add to the ranking."""
        registered = dict(self._registries["features"])
        if registered:
            from memscope.retrieval.features import Feature
        for name, one in registered.items():
            weight: Any = getattr(one, "weight", None)
            if not isinstance(one, Feature) or not isinstance(weight, int | float) or not isfinite(weight):
                raise PluginError(f"the ranking feature {name!r} is no Feature with a finite weight")
        return tuple(registered.values())

    def check_workers(self, pipelines: Mapping[str, Sequence[str]]) -> None:
        """Raise ``ConfigError`` for an unregistered name in ``pipelines``, without importing any worker."""
        for operation, names in pipelines.items():
            known = self.workers(operation)
            for name in (name for name in names if name not in known):
                raise ConfigError(f"{operation} has no worker {name!r}", hint=nearest(name, known))

    def make_store(self, location: Store | str | PathLike[str], settings: Settings) -> Store:
        """Open ``scheme://...`` with the registered store, ":memory:" in memory, any other location with SQLite."""
        from memscope.stores import Store

        hint = "give a path or URL, or an object with all of memscope.stores.Store; settings go into settings="
        if not isinstance(location, str | PathLike):
            _check_parts("store", location, Store, hint)
            return location
        location = str(location)
        if not location.strip():
            raise ConfigError("the store has no name", hint="give a path or a URL, or leave it out for the usual file")
        scheme = location.partition("://")[0] if "://" in location else "sqlite"
        if scheme not in self.registered("stores") and (reason := self._why_missing(scheme)):
            raise ConfigError(f"the store {scheme}:// is not there: {reason[0]}", hint=reason[1])
        factory = self._registries["stores"]["memory" if location == ":memory:" else scheme]
        store: Store = _made(f"{scheme}://", factory, location, settings)
        _check_parts("store", store, Store, hint)
        return store

    def _why_missing(self, scheme: str) -> tuple[str, str] | None:
        from memscope.config.sections import EXTRAS

        name = "postgres" if scheme == "postgresql" else scheme.partition("+")[0]
        if (plugin := self._listed.get(name)) and plugin.state != "loaded":
            return f"plugin {name!r} is {plugin.state}: {plugin.reason}", "memscope plugins shows all of them"
        if name in EXTRAS and name not in self._listed:
            return "its plugin is not installed", install_hint(name)
        return None

    def make_model(self, kind: Literal["chat", "embedding", "rerank"], settings: Settings, model: Any = None) -> Any:
        """Check a model, or create that of the settings; None if their section is unset."""
        from memscope import models

        section = getattr(settings, kind)
        if model is None and section is None:
            return None
        if model is None:
            factory = self._registries["models"].under(f"{kind}.")[section.provider]
            model = _made(f"{kind}.{section.provider}", factory, section, settings)
        protocol = {"chat": models.ChatModel, "embedding": models.Embedder, "rerank": models.Reranker}[kind]
        hint = f"give an object with all of memscope.models.{protocol.__name__}, or set {kind} in the settings"
        _check_parts(f"{kind} model", model, protocol, hint)
        return model

    def add_commands(self, cli: click.Group) -> None:
        """Add the plugins' commands to the command line; log and skip those of a plugin that fails."""
        for impl in _in_order(self._hooks.hook.memscope_register_commands):
            try:
                _call(impl, {"cli": cli})
            except (Exception, SystemExit) as error:
                log.warning("commands of plugin %r are left out: %s", impl.plugin_name, type(error).__name__)

    # ---- operations

    async def before(self, operation: str, value: T, **context: Any) -> T:
        """Pass ``value`` through the hooks in order. Raise ``PluginError`` if one refuses the call."""
        for impl, parameters in self._operations[f"{HOOK_PREFIX}before_{operation}"]:
            try:
                reply = await self._answer(impl, parameters, value, context)
            except (Exception, SystemExit) as error:
                message = f"plugin {impl.plugin_name!r} refused {operation}: {type(error).__name__}"
                raise PluginError(message, hint="nothing was stored", detail=str(error)) from error
            if reply is not None:
                self._check_reply(impl.plugin_name, operation, value, reply)
                value = reply
        return value

    def _check_reply(self, plugin: str, operation: str, value: object, reply: object) -> None:
        try:
            hook_replies.check(operation, value, reply, self._limits)
        except Exception as error:
            reason = str(error) if isinstance(error, InputError) else type(error).__name__
            message = f"plugin {plugin!r} returned an invalid value from before_{operation}: {reason}"
            raise PluginError(message, hint="nothing was stored") from None

    async def after(self, operation: str, value: object, **context: Any) -> None:
        """Call the hooks. Log errors once per plugin and operation, without their text."""
        for impl, parameters in self._operations[f"{HOOK_PREFIX}after_{operation}"]:
            try:
                await self._answer(impl, parameters, value, context)
            except (Exception, SystemExit) as error:
                if (key := (impl.plugin_name, operation)) not in self._warned:
                    self._warned.add(key)
                    log.warning("plugin %r failed after %s: %s", impl.plugin_name, operation, type(error).__name__)

    async def _answer(
        self, impl: pluggy.HookImpl, names: Sequence[str], value: object, context: Mapping[str, Any]
    ) -> Any:
        arguments = {names[0]: value, **context}
        if arguments.keys() != set(names):
            raise TypeError(f"the hook takes {', '.join(names)}, got {', '.join(arguments)}")
        try:
            async with asyncio.timeout(self._choice.deadline_s):
                reply = _call(impl, arguments)
                return await reply if inspect.isawaitable(reply) else reply
        except asyncio.CancelledError:
            if caller_is_cancelled():
                raise
            raise PluginError("the hook awaited what was cancelled") from None

    def _hook_calls(self, hook: str) -> list[tuple[pluggy.HookImpl, tuple[str, ...]]]:
        caller: pluggy.HookCaller = getattr(self._hooks.hook, hook)
        parameters = caller.spec.argnames if caller.spec else ()
        return [(impl, tuple(parameters)) for impl in _in_order(caller)]


def plugin_list(plugins: object) -> Sequence[object]:
    if not isinstance(plugins, list | tuple):
        raise ConfigError(f"plugins must be a list of plugins, got {type(plugins).__name__}", hint="plugins=[plugin]")
    return plugins


def _in_order(caller: pluggy.HookCaller) -> list[pluggy.HookImpl]:
    """Order hooks as pluggy calls them: last registered first, except for tryfirst and trylast."""
    return caller.get_hookimpls()[::-1]


def _call(impl: pluggy.HookImpl, arguments: Mapping[str, Any]) -> Any:
    return impl.function(*(arguments[name] for name in impl.argnames))


def _made(name: str, factory: Callable[..., Any], *arguments: object) -> Any:
    try:
        return factory(*arguments)
    except MemscopeError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"the plugin of {name} failed: {type(error).__name__}", detail=str(error)) from error


def _check_parts(what: str, value: object, protocol: type, hint: str) -> None:
    """Raise ``ConfigError`` unless ``value`` has all parts of the protocol."""
    parts = {*vars(protocol), *protocol.__annotations__}
    if missing := sorted(part for part in parts if not part.startswith("_") and not hasattr(value, part)):
        raise ConfigError(f"{type(value).__name__} is no {what}: it has no {', '.join(missing[:3])}", hint=hint)


def _name(plugin: object) -> str:
    return plugin.__name__ if inspect.ismodule(plugin) or inspect.isclass(plugin) else type(plugin).__name__


def _file(plugin: object) -> str:
    module = plugin if inspect.ismodule(plugin) else sys.modules.get(getattr(type(plugin), "__module__", ""))
    return getattr(module, "__file__", None) or ""
