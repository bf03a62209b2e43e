"""Settlement of pairwise verdicts, applied in sequence: which facts are merged, superseded or revised.

A fact takes part in as many verdicts as are true. What was merged acts in the name of the fact that it was merged
into; what is over takes part in no further verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from memscope.reconciliation.rest import remainder, with_details
from memscope.reconciliation.subjects import NOBODY
from memscope.reconciliation.supersession import SOURCES, Verdict, by_saying, ended, joined, past, replaced
from memscope.records import Json, Observation, Revision, Supersession

_ORDER = ("repeats", "refines", "ends", "was")


@dataclass(frozen=True, slots=True)
class FactRelation:
    """A verdict on two facts: how ``new`` stands to ``old``. ``rest``: what of ``old`` still holds beside ``new``."""

    new: Observation
    old: Observation
    verdict: Verdict
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """A line of the report: "merged" into, or "superseded" by, another memory."""

    name: str
    memory: Observation
    more: Mapping[str, Json]


@dataclass
class Settlement:
    """Facts of a batch and stored facts, as the verdicts applied so far leave them.

    ``fresh`` are facts not stored yet, by id. ``recaps`` are ids of those that only restate what was said before: they
    end nothing, and what they repeat gains no source. ``propose``: facts wait for a person's word, until when nothing
    that is stored ends. ``own`` are names of the user.
    """

    fresh: dict[str, Observation]
    now: datetime
    recaps: frozenset[str] = frozenset()
    propose: bool = False
    own: frozenset[str] = NOBODY
    revised: dict[str, Revision] = field(default_factory=dict)
    closed: dict[str, Supersession] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    _heirs: dict[str, Observation] = field(default_factory=dict)

    def settle(self, judged: Iterable[FactRelation]) -> None:
        """Apply the verdicts, merges first: the surviving fact then ends whatever the merged one would have ended."""
        told = [one for one in judged if one.verdict != "unrelated"]
        for one in sorted(told, key=lambda one: _ORDER.index(one.verdict)):
            new, old = self.latest(one.new), self.latest(one.old)
            if new.id != old.id and old.id not in self.closed:
                self._apply(one, new, old)

    def latest(self, memory: Observation) -> Observation:
        """Returns the memory as it will be written, or the one that it was merged into."""
        while memory.id in self._heirs:
            memory = self._heirs[memory.id]
        if revision := self.revised.get(memory.id):
            assert isinstance(revision.memory, Observation)
            return revision.memory
        return self.fresh.get(memory.id, memory)

    def merge(self, gone: Observation, kept: Observation, *, recap: bool = False) -> None:
        """Merge ``gone`` into ``kept``, which gains its sources; a recap adds none."""
        whole = kept if recap else joined(kept, gone)
        if len(kept.sources) >= SOURCES:
            whole = replace(whole, sources=kept.sources, quotes=kept.quotes)
        self._take_over(gone, whole, changed=whole != kept)
        self.actions.append(Action("merged", gone, {"into": kept.id}))

    # ---- inside

    def _apply(self, told: FactRelation, new: Observation, old: Observation) -> None:
        recap = told.new.id in self.recaps
        if told.verdict == "ends" and not recap:
            self._end(new if new.id == told.new.id else told.new, new.id, old, told.rest)
        elif told.verdict == "was" and past(new) != new:
            self._revise(past(new))
        elif new.id in self.closed:
            return
        elif told.verdict == "refines":
            self._refine(new, old, told.rest)
        elif told.verdict == "repeats" and old.id in self.fresh and new.id not in self.fresh:
            self._refine(old, new)  # an earlier conversation that is learned of later
        elif told.verdict == "repeats":
            self.merge(new, old, recap=recap)

    def _refine(self, whole: Observation, part: Observation, rest: str = "") -> None:
        """``whole`` takes the place of ``part``; the details that only ``part`` had are added to its text."""
        text = with_details(whole.text, part.text, rest)
        if text is None:
            return
        stored = part.id not in self.fresh
        self._take_over(part, replace(joined(whole, part), text=text), changed=True)
        name, key = ("superseded", "by") if stored else ("merged", "into")
        self.actions.append(Action(name, part, {key: whole.id}))

    def _end(self, told: Observation, by: str, old: Observation, rest: str) -> None:
        """End ``old`` in favour of ``by``: ``told`` itself, or the fact that it was merged into."""
        outcome = ended(told, old, self.now, self.own)
        if isinstance(outcome, Supersession):
            self._close(replace(outcome, by=by))
            self.actions.append(Action("superseded", old, {"by": by}))
            if not self.propose and (kept := remainder(old, rest, self.now)):
                self.fresh[kept.id] = kept
            return
        for memory in outcome:
            stored = memory.id not in self.fresh
            if memory not in (told, old) and memory.id not in self._heirs and not (stored and self.propose):
                self._revise(memory)

    def _take_over(self, gone: Observation, kept: Observation, *, changed: bool) -> None:
        if gone.id in self.fresh:
            del self.fresh[gone.id]
        else:
            self._close(replaced(gone, kept, self.now))
        if changed:
            self._revise(kept)
        self._heirs[gone.id] = kept

    def _revise(self, memory: Observation) -> None:
        if memory.id in self.fresh:
            self.fresh[memory.id] = memory
        else:
            self.revised[memory.id] = Revision(memory, memory.version)

    def _close(self, closing: Supersession) -> None:
        """Close a memory, and drop its pending revision."""
        self.revised.pop(closing.id, None)
        self.closed[closing.id] = closing


def relation_of(one: Observation, other: Observation, verdict: Verdict) -> FactRelation:
    """Returns the verdict with the later fact as the new one."""
    old, new = by_saying(one, other)
    return FactRelation(new, old, verdict)
