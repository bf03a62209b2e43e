"""date: when a fact happened, by the rules of ``memscope.dates`` and the time of the turn that says so.

The model proposes, the rules confirm or correct: an expression in the quoted words decides; one elsewhere in the turn
can only confirm. A proposal that the words of the turn contradict goes: no date is better than a wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memscope.consolidation.batch import Batch
from memscope.dates import Mention, mentions, recurrences
from memscope.pipeline import WorkerContext, worker
from memscope.records import Interval, Observation


@worker(reads=["facts", "turns", "before"], writes=["facts"], name="date")
async def by_rules(batch: Batch, ctx: WorkerContext) -> Batch:
    """``happened`` confirmed, corrected or dropped; and from when on the fact holds."""
    return replace(batch, facts=tuple(dated(fact, batch) for fact in batch.facts))


def dated(fact: Observation, batch: Batch) -> Observation:
    happened = decide(fact, batch)
    return replace(fact, happened=happened, valid_from=happened.start if happened else fact.said)


def decide(fact: Observation, batch: Batch) -> Interval | None:
    proposed = fact.happened
    quoted = [one for quote in fact.quotes for one in mentions(quote.text, batch.turn(quote.turn).time)]
    if quoted:
        return confirmed(quoted, proposed) or _only(quoted)
    around = [one for key in fact.sources for one in mentions(batch.turn(key).text, batch.turn(key).time)]
    return confirmed(around, proposed) if around else proposed


def confirmed(found: Sequence[Mention], proposed: Interval | None) -> Interval | None:
    """Of what was named the narrowest that overlaps the proposal. "Since May" confirms, but does not say until when."""
    if proposed is None:
        return None
    fitting = [interval for one in found for interval in _readings(one, proposed) if interval.overlaps(proposed)]
    return min(fitting, key=lambda interval: interval.end - interval.start, default=None)


def _readings(mention: Mention, proposed: Interval) -> list[Interval]:
    """ "In May" may be the May of the year that was proposed."""
    if mention.shape not in ("point", "range"):
        return [proposed] if mention.interval.overlaps(proposed) else []
    return [mention.interval, *recurrences(mention, proposed.start, proposed.end)]


def _only(found: Sequence[Mention]) -> Interval | None:
    """What the words name, where they name one day or stretch."""
    plain = [one.interval for one in found if one.shape in ("point", "range") and not one.dayless]
    return plain[0] if len(plain) == 1 else None
