"""Parts of the back end's tests: a store, a clock, a user who talks, and a model that says what the test scripts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from memscope import consolidation
from memscope.config.settings import Settings
from memscope.jobs.runner import StageJob, run_until_idle
from memscope.models import Usage
from memscope.prompts.loader import Prompts
from memscope.records import Scope, Select, Turn, TurnInsert
from memscope.services import Services
from memscope.stores.memory import InMemoryStore
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.models import ScriptedChat, data, last_words

NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)
STEPS = consolidation.CONSOLIDATION_STEPS


class NoHooks:
    """In the place of plugins that have no part in an operation."""

    async def before(self, operation, value, **context):
        return value

    async def after(self, operation, value, **context):
        return None


def job(ctx, steps=STEPS, hooks=None) -> StageJob:
    return consolidation.job(ctx, steps, hooks or NoHooks())


async def consolidate(ctx, user="alice", steps=STEPS, hooks=None, *, preview=False):
    return await run_until_idle(ctx, job(ctx, steps, hooks), user=user, preview=preview)


@dataclass
class Clock:
    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


@dataclass
class World:
    """Says things as a user, lets a scripted model consolidate them, looks at what came of it."""

    store: object
    clock: Clock
    settings: dict = field(default_factory=dict)
    said: int = 0
    chat: ScriptedChat | None = None

    def ctx(self, *replies, chat=None) -> Services:
        self.chat = chat or ScriptedChat(replies)
        consolidation = {"context_turns": 0, **self.settings.get("consolidation", {})}
        settings = Settings(**{"retry_s": 1.0, **self.settings, "consolidation": consolidation})
        return Services(self.store, settings, self.clock, Usage(), chat=self.chat, prompts=Prompts())

    async def say(self, *texts, user="alice", agent=None, session="s", at=NOW, **fields) -> tuple[str, ...]:
        inserts = []
        for text in texts:
            self.said += 1
            given = {"role": "user", "speaker": fields.get("role", "user"), "time": at, "recorded": NOW, **fields}
            inserts.append(TurnInsert(Turn(key=f"t{self.said}", scope=Scope(user, agent, session), text=text, **given)))
        return (await self.store.append(user, inserts)).keys

    async def consolidate(self, *replies, user="alice", preview=False, steps=None, chat=None):
        return await consolidate(self.ctx(*replies, chat=chat), user, steps or STEPS, preview=preview)

    def scope(self, user="alice") -> Scope:
        return Scope(user)

    async def memories(self, user="alice", current=True):
        select = Select(user, kinds=frozenset({"observation", "insight"}), current=current)
        return [memory async for page in self.store.scan(select) for memory in page]

    async def texts(self, user="alice", current=True):
        return [memory.text for memory in await self.memories(user, current)]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
async def world(request, tmp_path, clock):
    store = (
        InMemoryStore(clock=clock) if request.param == "memory" else SQLiteStore(tmp_path / "memory.db", clock=clock)
    )
    await store.open()
    yield World(store, clock)
    await store.close()


def fact(text, *quotes, about="user", when="", keywords=(), **more):
    """A fact as the model writes it; a quote is (turn, words), or words of turn 1."""
    pairs = [quote if isinstance(quote, tuple) else (1, quote) for quote in quotes]
    cited = [{"turn": turn, "words": words} for turn, words in pairs]
    return {"text": text, "about": about, "when": when, "keywords": list(keywords), "quotes": cited, **more}


def noted(*facts, levels=(3,)):
    """A whole reply; ``levels`` in the order of the turns, or a mapping."""
    judged = levels.items() if isinstance(levels, dict) else enumerate(levels, 1)
    return {"turns": [{"turn": turn, "level": level} for turn, level in judged], "facts": list(facts)}


def answering(*replies, relations=None):
    """A model that gives the replies, with ``relations[text of a new fact]`` to each known fact where it has one."""
    rest = iter(replies)

    def answer(messages):
        shown = data(messages)
        reply = next(rest)
        reply = reply(messages) if callable(reply) else reply
        if not relations or not isinstance(reply, dict) or "facts" not in reply:
            return reply
        before = [(one["k"], one["text"]) for one in shown.get("known", ())]
        facts = []
        for one in reply["facts"]:
            told = relations.get(one["text"])
            facts.append({**one, "known": [told_of(*old, told) for old in before] if told else []})
            before.append((0, one["text"]))
        return {**reply, "facts": facts}

    return ScriptedChat(answer)


def told_of(number, text, relation, rest=""):
    """Write the relation of a fact to a known one as the model does."""
    return {"k": number, "words": last_words(text), "relation": relation, "rest": rest}


def turns_in(messages):
    """The turns of a prompt of extract."""
    return data(messages)["turns"]


def heard(messages):
    """Every turn is a fact."""
    lines = [line for line in turns_in(messages) if not line.get("context")]
    facts = [fact(f"The user said {line['text']}.", (line["n"], line["text"])) for line in lines]
    return noted(*facts, levels={line["n"]: 3 for line in lines})


def listening():
    """A model that takes every turn for a fact."""
    return ScriptedChat(heard)


class Gate:
    """A model that answers when it is let."""

    def __init__(self):
        self.asked, self.open = asyncio.Event(), asyncio.Event()

    def chat(self, reply=heard):
        async def answer(messages):
            self.asked.set()
            await self.open.wait()
            return reply(messages)

        return ScriptedChat(answer)


async def pending(world, stage="consolidate"):
    stats = await world.store.stats("alice")
    return stats.pending[stage], stats.failed[stage], stats.parked[stage]
