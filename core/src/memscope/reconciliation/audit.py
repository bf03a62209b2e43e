"""Audit a user's memories by rules: near duplicates, contradictions, lost sources, loops.

doubled        two current memories that say the same in nearly the same words
contradiction  two current facts of one subject that cannot both hold: another home, job, age, or one denies the other
unsourced      a memory none of whose sources is in the store
loop           a turn that quotes a memory back, and a fact based on it: memory learned from itself
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from memscope.languages.similarity import form, same
from memscope.languages.wording import worded, wordings
from memscope.prompts.memory_block import strip_memory
from memscope.reconciliation.subjects import may_meet
from memscope.records import Insight, Memory, Observation, Record, Turn, WorkReport
from memscope.text.tokens import fold

MIN_SHARED_WORDS = 0.8  # of the distinct words of both
MIN_QUOTED_CHARS = 12  # shorter memories may occur in a turn by chance
MAX_GROUP_SIZE = 50  # memories that share a word; more common words are not compared


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """``ids``: the records concerned, older first; ``mend``: the command that helps, without ``--user``."""

    kind: Literal["doubled", "contradiction", "unsourced", "loop"]
    ids: tuple[str, ...]
    said: str
    mend: str


@dataclass(frozen=True, slots=True)
class AuditReport:
    """``findings`` of the rules, and ``work``: what the model was asked, what was applied or refused, and its cost.

    ``work.done`` counts the pairs that were judged, ``work.pending`` those left to ask about.
    """

    findings: tuple[AuditFinding, ...]
    work: WorkReport


def audit(records: Sequence[Record]) -> list[AuditFinding]:
    turns = {record.key: record for record in records if isinstance(record, Turn)}
    memories = [record for record in records if not isinstance(record, Turn)]
    current = sorted((memory for memory in memories if memory.current), key=lambda one: (one.said, one.id))
    known = turns.keys() | {memory.id for memory in memories}
    return [*_pairs(current), *_unsourced(current, known), *_loops(current, turns)]


# ------------------------------------------------------------------------------------------- doubles, contradictions


def _pairs(current: Sequence[Memory]) -> Iterator[AuditFinding]:
    for old, new in _related(current):
        ids = (old.id, new.id)
        if _is_double(old, new):
            reason = "say the same in nearly the same words"
            yield AuditFinding("doubled", ids, reason, f"memscope forget --id {new.id}")
        elif isinstance(old, Observation) and isinstance(new, Observation) and may_contradict(old, new):
            reason = "cannot both hold now; the newer one may have ended the older"
            yield AuditFinding("contradiction", ids, reason, f"memscope forget --id {old.id}")


def _related(current: Sequence[Memory]) -> Iterator[tuple[Memory, Memory]]:
    """Yield pairs, older first, of one kind and agent that share a content word or a fact pattern."""
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, one in enumerate(current):
        words = form(one.text).topics
        kinds = {form for form, _ in _unique_properties(one.text)}
        for word in words | kinds:
            groups[type(one), one.scope.agent, one.name, word].append(index)
    pairs = {pair for group in groups.values() if len(group) <= MAX_GROUP_SIZE for pair in combinations(group, 2)}
    return ((current[old], current[new]) for old, new in sorted(pairs))


def _is_double(old: Memory, new: Memory) -> bool:
    if old.happened != new.happened or _denied(old.text) != _denied(new.text):
        return False
    if isinstance(old, Insight) and isinstance(new, Insight) and old.subject != new.subject:
        return False
    a, b = form(old.text).topics, form(new.text).topics
    numbers = {word for word in a ^ b if any(map(str.isdigit, word))}
    return same(old.text, new.text) or (not numbers and bool(a) and len(a & b) >= MIN_SHARED_WORDS * len(a | b))


def may_contradict(old: Observation, new: Observation) -> bool:
    ends = old.valid_to is not None or new.valid_to is not None
    if not may_meet(old, new) or ends or old.happened is not None or new.happened is not None:
        return False
    forms = dict(_unique_properties(old.text))
    if any(kind in forms and _differ(forms[kind], rest) for kind, rest in _unique_properties(new.text)):
        return _denied(old.text) == _denied(new.text)
    a, b = _undenied(old.text), _undenied(new.text)
    return _denied(old.text) != _denied(new.text) and bool(a) and a == b


def _unique_properties(text: str) -> Iterator[tuple[str, str]]:
    """Yield each pattern of a unique property (home, job, age) that the text matches, and its value.

    Two current facts with the same pattern and different values contradict each other.
    """
    folded = fold(text)
    for pattern in (pattern for wording in wordings(folded) for pattern in wording.single):
        if match := pattern.search(folded):
            yield f"form {pattern.pattern}", match["rest"]


def _differ(one: str, other: str) -> bool:
    """Return whether neither text is a more precise form of the other ("Berlin", "Berlin, near the park")."""
    a, b = (frozenset(form(text).tokens) for text in (one, other))
    return not (a <= b or b <= a)


def _denied(text: str) -> bool:
    return worded("denies", fold(text))


def _undenied(text: str) -> frozenset[str]:
    folded = fold(text)
    for one in wordings(folded):
        folded = one.denies.sub(" ", folded)
    return form(folded).topics


# ---------------------------------------------------------------------------------------------------- sources, loops


def _unsourced(current: Iterable[Memory], known: Iterable[str]) -> Iterator[AuditFinding]:
    for one in current:
        if not set(one.sources).intersection(known):
            reason = "rests on nothing that is still in the store"
            yield AuditFinding("unsourced", (one.id,), reason, f"memscope forget --id {one.id}")


def _loops(current: Sequence[Memory], turns: Mapping[str, Turn]) -> Iterator[AuditFinding]:
    learned: dict[str, list[Memory]] = defaultdict(list)
    for one in current:
        for source in one.sources if isinstance(one, Observation) else ():
            learned[source].append(one)
    for key, resting in learned.items():
        if key in turns and not turns[key].statement and _quotes_memory(turns[key], current):
            ids = (key, *(memory.id for memory in resting))
            reason = "a turn that quotes memory back, and what was learned from it"
            yield AuditFinding("loop", ids, reason, f"memscope forget --id {key}")


def _quotes_memory(turn: Turn, current: Sequence[Memory]) -> bool:
    if strip_memory(turn.text) != turn.text:
        return True
    words = fold(turn.text)
    earlier = (memory for memory in current if memory.recorded < turn.recorded and turn.key not in memory.sources)
    return any(len(memory.text) >= MIN_QUOTED_CHARS and fold(memory.text).rstrip(".。") in words for memory in earlier)
