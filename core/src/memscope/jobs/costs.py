"""Costs of the back end and its budget, counted in the store after each call: no process has to end well for them.

Counters hold numbers only: per user and operation under a keyed digest of the user, and for the whole store, with the
running hour and day of the budget and the facts of each model. A store without counters is counted in this process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from memscope.errors import BudgetSpent, StoreError
from memscope.models import Message, Reply, Usage
from memscope.records import Json, refusals
from memscope.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from pydantic import BaseModel

    from memscope.pipeline import WorkerContext

WHOLE = "whole"
KEPT = timedelta(days=2)  # that windows are kept: processes may differ in their zones
Counts = dict[str, Json]


@runtime_checkable
class CounterStore(Protocol):
    """A store that keeps counters by name. They hold no text and are not exported."""

    async def counters(self, name: str) -> Counts: ...

    async def change_counters(self, name: str, change: Callable[[Counts], None]) -> None:
        """Change them by a function, which may run again on newer ones; durable on return."""


class MeteredChat:
    """The chat model of one claim: refuses to call beyond the budget, and counts what each call cost."""

    def __init__(self, ctx: WorkerContext, user: str, operation: str) -> None:
        assert ctx.chat is not None
        self.ctx, self.user, self.operation = ctx, user, operation
        self.chat_model = ctx.chat
        self.name = ctx.chat.name

    async def chat(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, deadline_s: float | None = None
    ) -> Reply:
        await check_budget(self.ctx)
        spent, text = Usage(), ""
        try:
            with spent.counting():
                reply = await self.chat_model.chat(messages, schema=schema, deadline_s=deadline_s)
            text = reply.text
            return reply
        finally:
            with suppress(StoreError):  # a reply that was paid for is worth more than its cost's count
                await self._charge(spent, messages, text)

    async def stream(self, messages: Sequence[Message], *, deadline_s: float | None = None) -> AsyncIterator[str]:
        yield (await self.chat(messages, deadline_s=deadline_s)).text

    async def _charge(self, spent: Usage, messages: Sequence[Message], reply: str) -> None:
        tokens = spent.prompt_tokens + spent.reply_tokens
        tokens = tokens or sum(estimate_tokens(text) for text in (*(one["content"] for one in messages), reply))
        characters = spent.prompt_characters or sum(len(one["content"]) for one in messages)
        amounts = {"calls": max(spent.calls, 1), "characters": characters + len(reply), "tokens": tokens}

        def charge(counts: Counts) -> None:
            _add(counts.setdefault("costs", {}).setdefault(self.operation, {}), amounts)

        def charge_whole(counts: Counts) -> None:
            charge(counts)
            over = (self.ctx.clock() - KEPT).astimezone(UTC).isoformat()
            kept = {name: one for name, one in counts.get("windows", {}).items() if name.partition(" ")[2] > over}
            counts["windows"] = kept
            for name, (start, _) in _windows(self.ctx).items():
                _add(kept.setdefault(_key(name, start), {}), {"calls": amounts["calls"], "tokens": tokens})

        await change_counters(self.ctx, WHOLE, charge_whole)
        await change_counters(self.ctx, await user_counters(self.ctx, self.user), charge)


async def check_budget(ctx: WorkerContext) -> None:
    """Raises ``BudgetSpent`` with the seconds until its hour or day is over."""
    for one in await budget(ctx):
        if one["spent"] >= one["most"]:
            left = (datetime.fromisoformat(one["until"]) - ctx.clock()).total_seconds()
            said = f"chat.budget.{one['name']} is used up: {one['spent']:,} of {one['most']:,}"
            raise BudgetSpent(said, hint=f"work goes on at {one['until']}", retry_after=max(left, 1.0))


async def budget(ctx: WorkerContext) -> list[dict[str, Any]]:
    """Returns what is spent of each limit of ``chat.budget``, and when its hour or day is over."""
    limits = ctx.settings.chat and ctx.settings.chat.budget
    if not limits:
        return []
    counted, windows = (await read_counters(ctx, WHOLE)).get("windows", {}), _windows(ctx)
    found = []
    for name, most in limits.model_dump(exclude_none=True).items():
        unit, _, window = name.split("_")
        start, end = windows[window]
        spent = counted.get(_key(window, start), {}).get(unit, 0)
        found.append({"name": name, "most": most, "spent": spent, "until": end.isoformat(timespec="minutes")})
    return found


async def costs(ctx: WorkerContext, user: str | None = None) -> Mapping[str, Any]:
    """Returns calls, characters and tokens by operation, of one user or of all."""
    name = WHOLE if user is None else await user_counters(ctx, user)
    return dict((await read_counters(ctx, name)).get("costs", {}))


async def count_facts(ctx: WorkerContext, amounts: Mapping[str, int]) -> None:
    """Count facts of the chat model: those kept, and the rejected ones by reason."""
    assert ctx.chat is not None
    name = ctx.chat.name

    def add(counts: Counts) -> None:
        _add(counts.setdefault("facts", {}).setdefault(name, {}), amounts)

    with suppress(StoreError):
        await change_counters(ctx, WHOLE, add)


async def facts(ctx: WorkerContext) -> tuple[Mapping[str, int], str]:
    """Returns the counts of the chat model's facts, and a sentence where many of them were refused."""
    found = (await read_counters(ctx, WHOLE)).get("facts", {}).get(ctx.chat.name, {}) if ctx.chat else {}
    return found, refusals(found.get("kept", 0), found)


def _windows(ctx: WorkerContext) -> dict[str, tuple[datetime, datetime]]:
    """Returns start and end of the running hour, and of the running day in the zone of the settings."""
    now = ctx.clock().astimezone(ctx.zone)
    hour = now.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    return {"hour": (hour, hour + timedelta(hours=1)), "day": (day, day + timedelta(days=1))}


def _key(window: str, start: datetime) -> str:
    return f"{window} {start.astimezone(UTC).isoformat()}"


def _add(counts: Counts, amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        counts[name] = counts.get(name, 0) + amount


async def user_counters(ctx: WorkerContext, user: str) -> str:
    """Returns the name of a user's counters, which does not tell who the user is."""
    digest = blake2b(user.encode("utf-8", "surrogatepass"), key=(await ctx.store.secret())[:64], digest_size=16)
    return f"user {digest.hexdigest()}"


async def read_counters(ctx: WorkerContext, name: str) -> Counts:
    if isinstance(ctx.store, CounterStore):
        return await ctx.store.counters(name)
    return ctx.counters.get(name, {})


async def change_counters(ctx: WorkerContext, name: str, change: Callable[[Counts], None]) -> None:
    if isinstance(ctx.store, CounterStore):
        await ctx.store.change_counters(name, change)
    else:
        change(ctx.counters.setdefault(name, {}))
