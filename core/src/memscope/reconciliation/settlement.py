"""Apply verdicts on pairs of facts in sequence: merge, supersede or revise them.

A fact may take part in several verdicts. A merged fact ends others in the name of the fact it was merged into; an ended
fact takes part in no further verdict. Merging is not transitive: "C repeats A" and "C repeats B" do not merge A and B.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self

from memscope.dates import mentions
from memscope.languages.similarity import closeness, form
from memscope.reconciliation.subjects import NOBODY, People
from memscope.reconciliation.supersession import MAX_SOURCES, Verdict, apply_ends, as_past, in_order, join, supersede
from memscope.reconciliation.vetoes import allowed_verdict, has_more_details
from memscope.records import Insight, Json, Memory, Observation, Revision, Supersession
from memscope.records.identity import memory_id
from memscope.text.language import has_cjk

MAX_ENDED_FACTS = 3  # facts that the verdicts of one reply may end
_ORDER = ("refines", "ends", "was")
MAX_MERGED_FACT_CHARS = 600  # of a fact including the details added to it
MIN_REST_WORD_SHARE = 0.75  # share of the rest's words that its original fact must have


@dataclass(frozen=True, slots=True)
class FactRelation:
    """A verdict on how ``new`` relates to ``old``. ``rest``: what of ``old`` still holds beside ``new``."""

    new: Observation
    old: Observation
    verdict: Verdict
    rest: str = ""


def action(name: str, memory: Memory, **more: Json) -> dict[str, Json]:
    """Build a report line in MemoryScope's manner: "new", "merged" into or "superseded" by another memory, ..."""
    kind = "insight" if isinstance(memory, Insight) else "observation"
    return {"action": name, "kind": kind, "id": memory.id, "text": memory.text, **more}


def rejection(text: str, why: str, words: Sequence[str]) -> dict[str, Json]:
    """Build the report line of a refused fact or verdict, with the words that it was meant to rest on."""
    return {"action": "rejected", "kind": "observation", "text": text, "why": why, "quotes": list(words)}


@dataclass
class Settlement:
    """New and stored facts, in the state that the verdicts applied so far leave them in.

    ``fresh``: facts not stored yet, by id. ``recaps``: ids of facts that only restate earlier words; they end nothing
    and add no source to what they repeat. ``propose``: new facts wait for approval, so no stored fact ends.
    ``refused``: verdicts that the rules rejected; ``over_limit``: those over the limit of facts that one reply may end.
    """

    fresh: dict[str, Observation]
    now: datetime
    recaps: frozenset[str] = frozenset()
    propose: bool = False
    people: People = NOBODY
    revised: dict[str, Revision] = field(default_factory=dict)
    closed: dict[str, Supersession] = field(default_factory=dict)
    actions: list[Mapping[str, Json]] = field(default_factory=list)
    refused: list[FactRelation] = field(default_factory=list)
    over_limit: list[FactRelation] = field(default_factory=list)
    _survivors: dict[str, Observation] = field(default_factory=dict)
    _ended: int = 0

    def settle(self, judged: Iterable[FactRelation]) -> None:
        """Apply the verdicts, merges first: the surviving fact then ends what the merged one would have ended.

        No more than ``MAX_ENDED_FACTS`` end, since a model that ends more is unreliable. Chains of merges collapse from
        the end whose fact disappears: repeats from the latest said, refinements from the earliest.
        """
        allowed = (self._allowed(relation) for relation in judged if relation.verdict != "unrelated")
        relations = sorted((one for one in allowed if one.verdict != "unrelated"), key=lambda one: one.new.said)
        repeats = [relation for relation in reversed(relations) if relation.verdict == "repeats"]
        others = (relation for relation in relations if relation.verdict != "repeats")
        for one in (*repeats, *sorted(others, key=lambda one: _ORDER.index(one.verdict))):
            new, old = self.latest(one.new), self.latest(one.old)
            if new.id != old.id and old.id not in self.closed:
                self._apply(one, new, old)

    def latest(self, memory: Observation) -> Observation:
        """Return the memory with its pending changes, or the one it was merged into."""
        while memory.id in self._survivors:
            memory = self._survivors[memory.id]
        if revision := self.revised.get(memory.id):
            assert isinstance(revision.memory, Observation)
            return revision.memory
        return self.fresh.get(memory.id, memory)

    def merge(self, gone: Observation, survivor: Observation, *, recap: bool = False) -> None:
        """Merge ``gone`` into ``survivor``, which gains its sources unless ``gone`` is a recap.

        The earliest source comes first. A machine's note always gives way to a person's fact.
        """
        if gone.by_machine != survivor.by_machine:
            note, stated = (survivor, gone) if survivor.by_machine else (gone, survivor)
            return self._replace(note, stated, changed=False)  # nothing is adopted from a machine's note
        is_full = len(survivor.sources) >= MAX_SOURCES  # then no words of a source that it does not name
        whole = survivor if recap or is_full else join(survivor, gone)
        if gone.said < survivor.said and not is_full:
            whole = replace(whole, sources=tuple(dict.fromkeys((*gone.sources, *whole.sources))))
        self._take_over(gone, whole, changed=whole != survivor)
        self.actions.append(action("merged", gone, into=survivor.id))

    # ---- inside

    def _allowed(self, relation: FactRelation) -> FactRelation:
        verdict = allowed_verdict(relation.verdict, relation.new, relation.old, self.people)
        if verdict == "unrelated":
            self.refused.append(relation)
        if relation.verdict == "repeats" and verdict == "refines":  # each says something that the other lacks
            return replace(relation, verdict=verdict, rest=relation.old.text)
        return replace(relation, verdict=verdict)

    def _apply(self, relation: FactRelation, new: Observation, old: Observation) -> None:
        recap = relation.new.id in self.recaps
        if relation.verdict == "ends" and not recap:
            self._end(new if new.id == relation.new.id else relation.new, new.id, old, relation)
        elif relation.verdict == "was" and as_past(new) != new:
            self._revise(as_past(new))
        elif new.id in self.closed or (new.id, old.id) != (relation.new.id, relation.old.id):
            return
        elif relation.verdict == "refines":
            self._refine(new, old, relation.rest)
        elif relation.verdict == "repeats" and old.id in self.fresh and new.id not in self.fresh:
            self._refine(old, new)  # an earlier conversation that is read late
        elif relation.verdict == "repeats":
            self.merge(new, old, recap=recap)

    def _refine(self, whole: Observation, part: Observation, rest: str = "") -> None:
        """Let ``whole`` replace ``part``, adding the details that only ``part`` has to its text.

        Details of a machine's note are not added to a person's fact.
        """
        if part.by_machine != whole.by_machine:
            return self.merge(part, whole)
        text = with_details(whole.text, part.text, rest)
        if text is not None:
            self._replace(part, replace(join(whole, part), text=text), changed=True)

    def _replace(self, gone: Observation, survivor: Observation, *, changed: bool) -> None:
        name, key = ("merged", "into") if gone.id in self.fresh else ("superseded", "by")
        self._take_over(gone, survivor, changed=changed)
        self.actions.append(action(name, gone, **{key: survivor.id}))

    def _end(self, new: Observation, by: str, old: Observation, relation: FactRelation) -> None:
        """End ``old`` in favour of ``by``: ``new`` itself, or the fact it was merged into."""
        outcome = apply_ends(new, old, self.now, self.people)
        if not outcome:
            self.refused.append(relation)
        if isinstance(outcome, Supersession):
            if self._ended >= MAX_ENDED_FACTS:
                self.over_limit.append(relation)
                return
            self._ended += 1
            self._close(replace(outcome, by=by))
            self.actions.append(action("superseded", old, by=by))
            if not self.propose and (rest := remainder(old, relation.rest, self.now)):
                self.fresh[rest.id] = replace(rest, said=outcome.said)  # until then the old fact covers it
            return
        for memory in outcome:
            stored = memory.id not in self.fresh
            if memory not in (new, old) and memory.id not in self._survivors and not (stored and self.propose):
                if memory.id == old.id:
                    news = self.latest(new)
                    self._revise(replace(news, announces=tuple(dict.fromkeys((*news.announces, old.id)))))
                    memory = replace(memory, announced_by=news.id)
                self._revise(memory)

    def _take_over(self, gone: Observation, survivor: Observation, *, changed: bool) -> None:
        if self.fresh.pop(gone.id, None):
            self._transfer_supersessions(gone.id, survivor.id)
        else:
            self._close(supersede(gone, survivor, self.now))
        if changed:
            self._revise(survivor)
        self._survivors[gone.id] = survivor

    def _transfer_supersessions(self, gone: str, survivor: str) -> None:
        """Make ``survivor`` the successor of what ``gone``, which will not be stored, had superseded."""
        self.closed = {id: replace(one, by=survivor) if one.by == gone else one for id, one in self.closed.items()}
        self.actions = [
            {name: survivor if name in ("by", "into") and value == gone else value for name, value in line.items()}
            for line in self.actions
        ]

    def _revise(self, memory: Observation) -> None:
        if memory.id in self.fresh:
            self.fresh[memory.id] = memory
        else:
            self.revised[memory.id] = Revision(memory, memory.version)

    def _close(self, closing: Supersession) -> None:
        self.revised.pop(closing.id, None)
        self.closed[closing.id] = closing


def relation_of(one: Observation, other: Observation, verdict: Verdict) -> FactRelation:
    """Build the relation with the later fact as the new one."""
    old, new = in_order(one, other)
    return FactRelation(new, old, verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkBatch:
    """``revised`` and ``closed`` concern stored records. ``rejected`` counts refused facts by reason.

    ``judged`` counts the model's dates and verdicts, and those that the rules refused (``records.weaknesses``).
    """

    revised: tuple[Revision, ...] = ()
    closed: tuple[Supersession, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)
    judged: Mapping[str, int] = field(default_factory=dict)
    actions: tuple[Mapping[str, Json], ...] = ()

    def judge(self, counts: Mapping[str, int]) -> Self:
        return replace(self, judged=dict(Counter(self.judged) + Counter(counts)))

    def reject(self, reasons: Mapping[str, int]) -> Self:
        return replace(self, rejected=dict(Counter(self.rejected) + Counter(reasons)))

    def act(self, name: str, memory: Memory, **more: Json) -> Self:
        return replace(self, actions=(*self.actions, action(name, memory, **more)))

    def added(self, memories: Sequence[Memory], *, propose: bool) -> Self:
        """Report the new memories. Proposals supersede nothing yet, so their "superseded" lines are dropped."""
        ids = {memory.id for memory in memories} if propose else set()
        lines = [line for line in self.actions if not (line["action"] == "superseded" and line["by"] in ids)]
        added_lines = [action("proposed" if propose else "new", memory) for memory in memories]
        return replace(self, actions=(*lines, *added_lines))

    def settled(self, settlement: Settlement) -> Self:
        return replace(
            self,
            revised=(*self.revised, *settlement.revised.values()),
            closed=(*self.closed, *settlement.closed.values()),
            actions=(*self.actions, *settlement.actions),
        )

    def report(self) -> dict[str, Json]:
        return {"actions": list(self.actions), "rejected": dict(self.rejected), "judged": dict(self.judged)}


# details that only the replaced fact has


def remainder(old: Observation, rest: str, now: datetime) -> Observation | None:
    """Build a fact from what still holds of an ended one; None if nothing is left.

    The id is derived from the old one, so that a repeated run makes the same record. A date that only the other half
    names is dropped: "The rent is 1,150" remains of "The rent is 1,150, and 1,290 from October on".
    """
    text = " ".join(rest.split())
    if not is_part(text, old.text):
        return None
    id = memory_id(f"{old.id}/{old.version}", "rest")
    remaining = replace(old, id=id, text=text, recorded=now, version=1, closed=None, superseded_by=None, valid_to=None)
    remaining = replace(remaining, announces=(), announced_by=None)
    dated = not mentions(old.text, old.said) or mentions(text, old.said)
    return remaining if dated else replace(remaining, happened=None, valid_from=None)


def is_part(text: str, whole: str) -> bool:
    """Return whether ``text`` says less than ``whole``, in its words."""
    return bool(text) and form(text).tokens != form(whole).tokens and closeness(text, whole) >= MIN_REST_WORD_SHARE


def with_details(text: str, part: str, rest: str = "") -> str | None:
    """Return ``text`` with what only ``part`` says; None if it would become too long.

    ``rest``: the missing part according to the model. Without it, ``part`` is added whole if ``text`` lacks one of its
    numbers, names or titles.
    """
    more = " ".join(rest.split()) if rest == part or is_part(rest, part) else ""
    if not more and has_more_details(part, text):
        more = part
    if not more or closeness(more, text) >= 1:
        return text
    whole = f"{text}{'' if has_cjk(text) else ' '}{more}"
    return whole if len(whole) <= MAX_MERGED_FACT_CHARS else None
