"""For the tests of reflect: observations that nobody reflected on, and a model that gives them subjects."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memscope.errors import ModelReplyError
from memscope.jobs.runner import run_until_idle
from memscope.records import ChangeSet, Insight, Observation, Scope, Turn, TurnInsert
from memscope.reflection import job
from memscope.testing.models import ScriptedChat, data

from workbench import NOW

JANUARY, JUNE = datetime(2026, 1, 10, tzinfo=UTC), datetime(2026, 6, 10, tzinfo=UTC)
BERLIN, MUNICH, FLAT = "The user lives in Berlin.", "The user moved to Munich.", "The user shares a flat with Bo."


async def know(world, *texts, said=NOW, agent=None, about="user", user="alice"):
    """Observations with a turn each, that nobody reflected on; their ids."""
    ids = []
    for text in texts:
        world.said += 1
        scope = Scope(user, agent)
        turn = Turn(f"t{world.said}", scope, "user", "user", text, said, NOW, statement=True)
        memory = Observation(
            id=f"o{world.said}", scope=scope, text=text, sources=(turn.key,), said=said, recorded=NOW, about=about
        )
        await world.store.append(user, [TurnInsert(turn)], ChangeSet(new=(memory,)))
        ids.append(memory.id)
    return ids


class Placing:
    """A model that places facts by a word in them, and tells the facts of a subject one after the other."""

    def __init__(self, subjects, relations=(), fail=()):
        self.subjects, self.relations, self.fail = subjects, relations, set(fail)

    def __call__(self, messages):
        shown = data(messages)
        return self.place(shown) if "earlier" in shown else self.tell(shown)

    def place(self, shown):
        known = {subject["subject"]: subject["n"] for subject in shown["subjects"]}
        return {"places": [self.at(one, known) for one in [*shown["facts"], *shown["earlier"]]]}

    def at(self, one, known):
        name = next((name for name, words in self.subjects.items() if any(w in one["text"] for w in words)), "")
        return {"fact": one["n"], "subject": known.get(name, 0), "name": "" if name in known else name}

    def tell(self, shown):
        if shown["subject"] in self.fail:
            return ModelReplyError("no")
        numbers = {one["text"]: one["n"] for one in shown["facts"]}
        told = [(older, newer, how) for older, newer, how in self.relations if {older, newer} <= numbers.keys()]
        relations = [{"older": numbers[o], "newer": numbers[n], "relation": how} for o, n, how in told]
        return {"value": " ".join(numbers), "facts": list(numbers.values()), "relations": relations}


HOME = {"living situation": ["Berlin", "Munich", "flat"]}


async def reflected(world, model, user="alice", preview=False):
    world.clock.now += timedelta(minutes=10)
    ctx = world.ctx(chat=model if isinstance(model, ScriptedChat) else ScriptedChat(model))
    return await run_until_idle(ctx, job(ctx), user, preview=preview)


async def insights(world, current=True):
    return [memory for memory in await world.memories(current=current) if isinstance(memory, Insight)]


async def unseen(world):
    stats = await world.store.stats("alice")
    return stats.pending["reflect"] + stats.failed["reflect"] + stats.parked["reflect"]
