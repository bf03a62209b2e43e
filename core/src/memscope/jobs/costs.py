"""Costs and budget of the back end, counted in the store after each call, so that a crash loses no count.

Counters contain only numbers: per user (under a keyed digest) and operation, and for the whole store, which adds the
current hour and day of the budget and the facts per model. If the store has no counters, this process counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from memscope.errors import BudgetSpent, ModelError, ModelReplyError, StoreError
from memscope.jobs.claims import extend
from memscope.models import Message, Reply, Usage, caller_is_cancelled
from memscope.records import Json, weaknesses
from memscope.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from pydantic import BaseModel

    from memscope.records import Claim, Stats
    from memscope.services import Services

WHOLE_STORE = "whole"
KEEP_WINDOWS = timedelta(days=2)  # more than a day, since processes may use different time zones
Counts = dict[str, Json]


@runtime_checkable
class CounterStore(Protocol):
    """A store that keeps named counters, which contain no text and are not exported."""

    async def counters(self, name: str) -> Counts:
        """Read counters.

        Args:
            name: Name of the counters.

        Returns:
            The counters, empty for an unknown name.

        Raises:
            StoreError: If the store cannot be read.
        """
        ...

    async def change_counters(self, name: str, change: Callable[[Counts], None]) -> None:
        """Change counters; durable on return.

        Args:
            name: Name of the counters.
            change: Changes them in place; may run again after a lost race.

        Raises:
            StoreError: If the store cannot be written.
        """


class MeteredChat:
    """Chat model of one claim that enforces the budget and counts the cost of each call.

    Before each call it extends the lease of ``claim``: ``LeaseLost`` says that what the call would show may be
    forgotten by now.
    """

    def __init__(self, ctx: Services, user: str, operation: str, claim: Claim | None = None) -> None:
        assert ctx.chat is not None
        self.ctx, self.user, self.operation, self.claim = ctx, user, operation, claim
        self.chat_model = ctx.chat
        self.name = ctx.chat.name

    async def chat(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, deadline_s: float | None = None
    ) -> Reply:
        from memscope.models.structured_output import parse

        await check_budget(self.ctx)
        if self.claim is not None:
            await extend(self.ctx, self.claim)
        spent, text, replies = Usage(), "", {"replies": 1}
        try:
            with spent.counting():
                reply = await self.chat_model.chat(messages, schema=schema, deadline_s=deadline_s)
            text = reply.text
            if schema is None or isinstance(reply.parsed, schema):
                return reply
            return replace(reply, parsed=parse(text, schema))
        except asyncio.CancelledError:
            replies = {}
            if caller_is_cancelled():
                raise
            raise ModelError(f"the chat model {self.name!r} awaited what was cancelled") from None
        except ModelReplyError:
            replies["unusable_replies"] = 1
            raise
        except ModelError:
            replies = {}  # the call failed without a reply
            raise
        finally:
            with suppress(StoreError):  # a failed count must not lose a paid reply
                await self._charge(spent, messages, text, replies)

    async def stream(self, messages: Sequence[Message], *, deadline_s: float | None = None) -> AsyncIterator[str]:
        yield (await self.chat(messages, deadline_s=deadline_s)).text

    async def _charge(self, spent: Usage, messages: Sequence[Message], reply: str, replies: Mapping[str, int]) -> None:
        tokens = spent.prompt_tokens + spent.reply_tokens
        texts = [message["content"] for message in messages]
        tokens = tokens or sum(map(estimate_tokens, [*texts, reply]))
        characters = spent.prompt_characters or sum(map(len, texts))
        amounts = {"calls": max(spent.calls, 1), "characters": characters + len(reply), "tokens": tokens}

        def charge(counts: Counts, *, whole: bool) -> None:
            _add(counts, amounts, "costs", self.operation)
            if not whole:
                return
            _add(counts, replies, "facts", self.name)
            over = (self.ctx.clock() - KEEP_WINDOWS).astimezone(UTC).isoformat()
            windows = counts.get("windows", {}).items()
            counts["windows"] = {key: spent for key, spent in windows if key.partition(" ")[2] > over}
            for key, _ in _windows(self.ctx).values():
                _add(counts, {"calls": amounts["calls"], "tokens": tokens}, "windows", key)

        await change_counters(self.ctx, WHOLE_STORE, partial(charge, whole=True))
        await change_counters(self.ctx, await user_counters(self.ctx, self.user), partial(charge, whole=False))


async def check_budget(ctx: Services) -> None:
    """Raise ``BudgetSpent``, with the seconds until the hour or day ends, if a limit is reached."""
    for limit in await budget(ctx):
        if limit["spent"] >= limit["most"]:
            left = (datetime.fromisoformat(limit["until"]) - ctx.clock()).total_seconds()
            message = f"chat.budget.{limit['name']} is used up: {limit['spent']:,} of {limit['most']:,}"
            raise BudgetSpent(message, hint=f"work goes on at {limit['until']}", retry_after=max(left, 1.0))


async def budget(ctx: Services) -> list[dict[str, Any]]:
    """Report the spending per limit of ``chat.budget``, and the end of its hour or day."""
    limits = ctx.settings.chat and ctx.settings.chat.budget
    if not limits:
        return []
    counted, windows = (await read_counters(ctx, WHOLE_STORE)).get("windows", {}), _windows(ctx)
    spending = []
    for name, most in limits.model_dump(exclude_none=True).items():
        unit, _, window = name.split("_")
        key, end = windows[window]
        spent = counted.get(key, {}).get(unit, 0)
        spending.append({"name": name, "most": most, "spent": spent, "until": end.isoformat(timespec="minutes")})
    return spending


async def costs(ctx: Services, user: str | None = None) -> Mapping[str, Any]:
    """Report calls, characters and tokens by operation, of one user or of all."""
    name = WHOLE_STORE if user is None else await user_counters(ctx, user)
    return dict((await read_counters(ctx, name)).get("costs", {}))


def per_1000_turns(spent: Mapping[str, Mapping[str, int]], stats: Stats) -> Mapping[str, int]:
    """Compute calls and tokens of the back end per 1,000 turns read; {} if it has read none."""
    waiting = sum(states["consolidate"] for states in (stats.pending, stats.failed, stats.parked))
    read = stats.turns - waiting
    if not spent or read <= 0:
        return {}
    return {unit: round(1000 * sum(one[unit] for one in spent.values()) / read) for unit in ("calls", "tokens")}


async def count_facts(ctx: Services, amounts: Mapping[str, int]) -> None:
    """Count the chat model's accepted facts, rejected ones by reason, and other output (``weaknesses``)."""
    assert ctx.chat is not None
    name = ctx.chat.name
    with suppress(StoreError):
        await change_counters(ctx, WHOLE_STORE, lambda counts: _add(counts, amounts, "facts", name))


async def facts(ctx: Services) -> tuple[Mapping[str, int], str]:
    """Report the counts of the chat model's facts, and a sentence per kind with many refusals."""
    counts = (await read_counters(ctx, WHOLE_STORE)).get("facts", {}).get(ctx.chat.name, {}) if ctx.chat else {}
    return counts, "; ".join(weaknesses(counts).values())


def _windows(ctx: Services) -> dict[str, tuple[str, datetime]]:
    """Compute key and end of the current hour, and of the current day in the settings' zone."""
    now = ctx.clock().astimezone(ctx.zone)
    hour = now.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    return {
        "hour": (f"hour {hour.astimezone(UTC).isoformat()}", hour + timedelta(hours=1)),
        "day": (f"day {day.astimezone(UTC).isoformat()}", day + timedelta(days=1)),
    }


def _add(counts: Counts, amounts: Mapping[str, int], *path: str) -> None:
    """Add amounts to the counters at ``path``."""
    for name in path:
        counts = counts.setdefault(name, {})
    for name, amount in amounts.items():
        counts[name] = counts.get(name, 0) + amount


async def user_counters(ctx: Services, user: str) -> str:
    """Name a user's counters by a keyed digest."""
    digest = blake2b(user.encode("utf-8", "surrogatepass"), key=(await ctx.store.secret())[:64], digest_size=16)
    return f"user {digest.hexdigest()}"


async def read_counters(ctx: Services, name: str) -> Counts:
    if isinstance(ctx.store, CounterStore):
        return await ctx.store.counters(name)
    return ctx.counters.get(name, {})


async def change_counters(ctx: Services, name: str, change: Callable[[Counts], None]) -> None:
    if isinstance(ctx.store, CounterStore):
        await ctx.store.change_counters(name, change)
    else:
        change(ctx.counters.setdefault(name, {}))
