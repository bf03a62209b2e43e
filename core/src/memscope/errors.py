"""The errors that memscope raises.

    MemscopeError                     code, retryable, hint, detail
    ├── InputError (ValueError)       an invalid value; nothing was changed
    │   ├── LimitError                too large, too many, too deep
    │   └── ScopeError                an invalid user, agent or session
    ├── NotFound (LookupError)        no such id in this scope; the same for ids of other users
    ├── Conflict                      the memory changed since it was read
    ├── ConfigError (ValueError)      a setting that is unknown, missing or wrong
    ├── DeadlineExceeded *            a call took longer than it may
    ├── PluginError                   a plugin that cannot load, or that refused the call
    │   └── WorkerError               a worker that failed or returned an invalid result
    ├── ClosedError (RuntimeError)    used after close, or from its own private loop
    ├── StoreError                    the store of the records
    │   ├── StoreBusy *               overloaded, or locked by another process for too long
    │   ├── StoreUnavailable *        a server that does not answer
    │   ├── StoreFull *               no room left
    │   ├── StoreReadOnly             cannot be written
    │   ├── StoreCorrupt              damaged, or not a memscope store
    │   ├── StoreTooNew               written by a newer memscope
    │   ├── StoreGone                 removed or replaced while it was open
    │   └── LeaseLost                 another worker has the work now; discard the result
    └── ModelError                    a chat, embedding or rerank endpoint
        ├── ModelTimeout *            no answer within the deadline
        ├── ModelUnavailable *        connection lost, 5xx
        ├── ModelRateLimited *        429
        ├── BudgetSpent *             chat.budget is used up until its hour or day is over
        ├── ModelReplyError *         an answer that does not match the request
        │   └── ModelReplyCut *       an answer that was cut at its length limit
        ├── ModelAuthError            the key was refused
        ├── ModelRejected             the request was refused (unknown model, content filter)
        └── EmbeddingError            a vector that cannot be used
            └── EmbeddingMismatch     another model or length than the store holds

A star marks errors that may not recur on a retry (``retryable``).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

C = TypeVar("C")
VERSION = "0.2.0"  # of the package; here, where modules that ``memscope`` imports can read it

MAX_MESSAGE_CHARS = 2_000

# Extras that are separate distributions, with the folders that a checkout installs beside ./core.
DISTRIBUTIONS = {
    "google-adk": "./adapters/google_adk",
    "llama-index": "./adapters/llama_index",
    "openai-agents": "./adapters/openai_agents",
    "pydantic-ai": "./adapters/pydantic_ai",
    "agent-framework": "./adapters/agent_framework",
    "agentscope": "./adapters/agentscope",
    "autogen": "./adapters/autogen",
    "cli": "./cli",
    "elasticsearch": "./stores/elasticsearch",
    "langchain": '"./adapters/langchain[all]"',
    "mcp": "./cli ./adapters/mcp",
    "postgres": "./stores/postgres",
    "server": "./cli ./server",
    "testing": "./testing",
}


def install_hint(extra: str) -> str:
    """Build the commands that install an extra, such as ``mcp``, from a checkout and from built wheels.

    Never use the bare name: a public index has an unrelated package memscope, to which resolvers fall back.
    """
    checkout = f"./core {DISTRIBUTIONS[extra]}" if extra in DISTRIBUTIONS else f'"./core[{extra}]"'
    wheels = f'"memscope[{extra}]=={VERSION}" --find-links DIST'
    return (
        f"run pip install {checkout} in a checkout of memscope, or pip install {wheels} with the folder of its wheels"
    )


class MemscopeError(Exception):
    """Root of the tree.

    ``str(error)`` says what happened (``message``) and what to do (``hint``); it never contains conversation text.
    ``detail`` may contain a server's answer, which is kept out of the message.
    """

    code = "error"
    retryable = False

    def __init__(self, message: str, *, hint: str = "", detail: str = "", retry_after: float | None = None) -> None:
        if len(message) + len(hint) > MAX_MESSAGE_CHARS:  # it shows an argument that is far too long
            message, hint = f"{message[:MAX_MESSAGE_CHARS]} ...", hint[:MAX_MESSAGE_CHARS]
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.hint = hint
        self.detail = detail
        self.retry_after = retry_after

    def set_hint(self, hint: str) -> None:
        self.hint = hint
        self.args = (f"{self.message}; {hint}",)


class InputError(MemscopeError, ValueError):
    code = "input"


class LimitError(InputError):
    """A limit was exceeded; ``limit`` and ``got`` are in the unit that the message names."""

    code = "limit"

    def __init__(self, what: str, *, limit: int, got: int, hint: str = "") -> None:
        super().__init__(f"{what}: at most {limit}, got {got}", hint=hint)
        self.limit = limit
        self.got = got


class ScopeError(InputError):
    code = "scope"


class NotFound(MemscopeError, LookupError):
    code = "not_found"


class Conflict(MemscopeError):
    code = "conflict"


class ConfigError(MemscopeError, ValueError):
    code = "config"


class DeadlineExceeded(MemscopeError):
    code = "deadline"
    retryable = True


class PluginError(MemscopeError):
    code = "plugin"


class WorkerError(PluginError):
    code = "worker"


class ClosedError(MemscopeError, RuntimeError):
    code = "closed"


class StoreError(MemscopeError):
    code = "store"


class StoreBusy(StoreError):
    code = "store_busy"
    retryable = True


class StoreUnavailable(StoreError):
    code = "store_unavailable"
    retryable = True


class StoreFull(StoreError):
    code = "store_full"
    retryable = True


class StoreReadOnly(StoreError):
    code = "store_read_only"


class StoreCorrupt(StoreError):
    code = "store_corrupt"


class StoreTooNew(StoreError):
    code = "store_too_new"


class StoreGone(StoreError):
    code = "store_gone"


class LeaseLost(StoreError):
    code = "lease_lost"


class ModelError(MemscopeError):
    code = "model"


class ModelTimeout(ModelError):
    code = "model_timeout"
    retryable = True


class ModelUnavailable(ModelError):
    code = "model_unavailable"
    retryable = True


class ModelRateLimited(ModelError):
    code = "model_rate_limited"
    retryable = True


class BudgetSpent(ModelError):
    code = "budget_spent"
    retryable = True


class ModelReplyError(ModelError):
    code = "model_reply"
    retryable = True


class ModelReplyCut(ModelReplyError):
    code = "model_reply_cut"


class ModelAuthError(ModelError):
    code = "model_auth"


class ModelRejected(ModelError):
    code = "model_rejected"


class EmbeddingError(ModelError):
    code = "embedding"


class EmbeddingMismatch(EmbeddingError):
    code = "embedding_mismatch"


OUTAGES = (ModelUnavailable, ModelRateLimited, ModelAuthError, BudgetSpent)  # not counted towards parking a batch


def nearest(name: str, known: Iterable[str]) -> str:
    """Write a hint for an unknown name: the one probably meant, else all known names."""
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names) or 'none'}"


def hint_arguments(cls: type[C]) -> type[C]:
    """Make every method suggest the right name for an unknown argument, such as ``user_id``."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(cls, name, _hinting(method))
    return cls


def _hinting(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    async def call(*args: Any, **arguments: Any) -> Any:
        with _naming_arguments(method, arguments):
            return await method(*args, **arguments)

    @functools.wraps(method)
    def call_sync(*args: Any, **arguments: Any) -> Any:
        with _naming_arguments(method, arguments):
            return method(*args, **arguments)

    return call if inspect.iscoroutinefunction(method) else call_sync


@contextmanager
def _naming_arguments(method: Callable[..., Any], arguments: Mapping[str, object]) -> Iterator[None]:
    try:
        yield
    except TypeError:
        known = inspect.signature(method).parameters.keys() - {"self"}
        name = method.__name__ if method.__name__ != "__init__" else method.__qualname__.partition(".")[0]
        for strange in arguments.keys() - known:
            hint = "every call has a user=" if name[0].isupper() and strange[:4] == "user" else nearest(strange, known)
            raise TypeError(f"{name}() has no argument {strange!r}; {hint}") from None
        raise
