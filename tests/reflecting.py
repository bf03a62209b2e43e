"""Parts of the tests of reflect: observations that nobody reflected on, and a model that gives them subjects."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memscope.jobs.runner import run_until_idle
from memscope.records import ChangeSet, Insight, Observation, Scope, Turn, TurnInsert
from memscope.reflection import REFLECTION_STEPS
from memscope.reflection import job as reflection_job
from memscope_testing.models import ScriptedChat, data

from workbench import NOW, NoHooks
from workbench import job as consolidation_job

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
    """A model that places facts by a word in them, and adds them to what is known of their subject."""

    def __init__(self, subjects, relations=()):
        self.subjects, self.relations = subjects, relations

    def __call__(self, messages):
        return self.tell(data(messages))

    def tell(self, shown):
        new, facts = shown["facts"], [*shown["facts"], *shown["earlier"]]
        numbers = {one["text"]: one["n"] for one in facts}
        entries = [one for name in self.subjects for one in self.entries(name, shown, facts)]
        pairs = [(older, newer, how) for older, newer, how in self.relations if {older, newer} <= numbers.keys()]
        return {
            "sentences": entries,
            "alone": [one["n"] for one in new if not self.home_of(one)],
            "relations": [{"older": numbers[o], "newer": numbers[n], "relation": how} for o, n, how in pairs],
        }

    def home_of(self, one):
        return next((name for name, words in self.subjects.items() if any(w in one["text"] for w in words)), None)

    def entries(self, name, shown, facts):
        """A sentence per fact that still holds; those of a known subject that a new fact says take its place."""
        known = next((one for one in shown["insights"] if one["subject"] == name), {})
        own = [one for one in facts if self.home_of(one) == name and "until" not in one]
        if not {one["n"] for one in own} & {one["n"] for one in shown["facts"]}:
            return []
        old = {text: [number] for number, text in known.get("sentences", ())}
        return [
            told(one["text"], one["n"], insight=known.get("n", 0), subject=name, replaces=old.get(one["text"], ()))
            for one in own
        ]


def told(text, *facts, insight=1, subject="", replaces=()):
    """A sentence of a reply."""
    return {"insight": insight, "subject": subject, "text": text, "facts": [*facts], "replaces": [*replaces]}


def answer(*sentences, alone=(), relations=()):
    return {"sentences": [*sentences], "alone": [*alone], "relations": [*relations]}


HOME = {"living situation": ["Berlin", "Munich", "flat"]}


def job(ctx):
    return reflection_job(ctx, REFLECTION_STEPS, NoHooks())


async def reflect(ctx):
    """Consolidate and reflect, as an operation does."""
    return await run_until_idle(ctx, consolidation_job(ctx), job(ctx), user="alice")


async def reflected(world, model, user="alice", preview=False):
    world.clock.now += timedelta(minutes=10)
    ctx = world.ctx(chat=model if isinstance(model, ScriptedChat) else ScriptedChat(model))
    return await run_until_idle(ctx, job(ctx), user=user, preview=preview)


async def insights(world, current=True):
    return [memory for memory in await world.memories(current=current) if isinstance(memory, Insight)]


async def unseen(world):
    stats = await world.store.stats("alice")
    return stats.pending["reflect"] + stats.failed["reflect"] + stats.parked["reflect"]
