"""Rules for blocks that every store applies alike: pure functions over versions of blocks, without I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from memscope.errors import Conflict, InputError, LimitError
from memscope.records import Block, BlockKey, Select

FORGOTTEN = "a source was forgotten"
ALIKE = 0.5  # share of equal characters from which a line counts as an alteration of another

# ---- writing


def check_next(user: str, versions: Sequence[Block], stored: Mapping[BlockKey, int], buried: Set[str]) -> None:
    """Refuse the whole call unless every version follows the one before it. ``stored``: present version by key."""
    have = dict(stored)
    for block in versions:
        if block.scope.user != user:
            raise InputError(f"block {block.label!r} of user {block.scope.user!r} among those of {user!r}")
        check_limit(block)
        if block.version != have.get(block.key, 0) + 1:
            found = have.get(block.key, 0)
            raise Conflict(f"block {block.label!r} is at version {found}", hint="read it again and repeat the edit")
        if not buried.isdisjoint(block.sources):
            raise Conflict(f"a source of this edit of {block.label!r} was forgotten", hint="nothing was written")
        have[block.key] = block.version


def check_limit(block: Block) -> None:
    """``LimitError`` for a value above the limit: by how much, and which line is the longest."""
    excess = len(block.value) - block.limit
    if excess > 0:
        lengths = [len(line) for line in block.value.split("\n")]
        longest = max(range(len(lengths)), key=lengths.__getitem__)
        raise LimitError(
            f"characters in block {block.label!r}", limit=block.limit, got=len(block.value),
            hint=f"shorten it by {excess}: remove what no longer matters, or rewrite the block more briefly; "
            f"its longest line is line {longest + 1} with {lengths[longest]} characters",
        )  # fmt: skip


def current(versions: Iterable[Block]) -> list[Block]:
    """Returns the last version of each block."""
    return [history[-1] for history in by_key(versions).values()]


def by_key(versions: Iterable[Block]) -> dict[BlockKey, list[Block]]:
    """Returns the versions of each block, oldest first."""
    found: defaultdict[BlockKey, list[Block]] = defaultdict(list)
    for block in sorted(versions, key=lambda block: (block.scope.agent or "", block.label, block.version)):
        found[block.key].append(block)
    return dict(found)


# ---- forgetting


@dataclass(frozen=True, slots=True)
class BlockRemoval:
    """Effect of a forget on blocks: ``dropped`` and ``rewritten`` versions as they were, ``made`` in their place."""

    dropped: tuple[Block, ...] = ()
    rewritten: tuple[Block, ...] = ()
    made: tuple[Block, ...] = ()
    may_hold: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len({block.key for block in (*self.dropped, *self.rewritten)})

    @property
    def texts(self) -> list[str]:
        """Returns all text that goes."""
        return [
            text
            for block in (*self.dropped, *self.rewritten)
            for text in (block.value, block.reason, block.description)
        ]


def selects_blocks(select: Select) -> bool:
    """Returns whether one block is selected, or everything of a user or of one agent, which includes their blocks."""
    return select.block is not None or select == Select(select.user, select.agent)


def plan_removal(select: Select, gone: Collection[str], versions: Sequence[Block], now: datetime) -> BlockRemoval:
    """Returns what happens to a user's blocks when the records ``gone`` are forgotten."""
    if selects_blocks(select):
        return BlockRemoval(dropped=tuple(block for block in versions if _selected(select, block)))
    rewritten: list[Block] = []
    made: list[Block] = []
    may_hold: list[str] = []
    for history in by_key(versions).values() if gone else ():
        after = without_sources(history, gone, now)
        changed = [(old, new) for old, new in zip(history, after, strict=False) if old != new]
        rewritten += [old for old, _ in changed]
        made += [new for _, new in changed] + after[len(history) :]
        if after[-1].value and any(block.author != "backend" and not block.sources for block in history):
            may_hold.append(after[-1].label)
    return BlockRemoval(rewritten=tuple(rewritten), made=tuple(made), may_hold=tuple(sorted(set(may_hold))))


def _selected(select: Select, block: Block) -> bool:
    if select.block is not None:
        return block.key == (select.agent, select.block)
    return select.agent in (None, block.scope.agent)


def without_sources(history: Sequence[Block], gone: Collection[str], now: datetime) -> list[Block]:
    """Returns the versions without the lines that edits from forgotten sources brought in.

    A line that only alters such a line goes with it. If the present value loses a line, one more version says so, and
    an edit of the old value meets a ``Conflict``.
    """
    tainted: set[str] = set()
    before: set[str] = set()
    kept: list[Block] = []
    for block in history:
        lines = block.value.split("\n")
        named = any(source in gone for source in block.sources)
        fresh, left = set(lines) - before - {""}, tainted & (before - set(lines))
        tainted |= fresh if named else {line for line in fresh if any(_alike(line, old) for old in left)}
        before = set(lines)
        value = "\n".join(line for line in lines if line not in tainted) if tainted else block.value
        sources = tuple(source for source in block.sources if source not in gone)
        kept.append(replace(block, value=value, sources=sources, reason="" if named else block.reason))
    if kept and kept[-1].value != history[-1].value:
        last = replace(kept[-1], version=kept[-1].version + 1, recorded=now, author="backend", reason=FORGOTTEN)
        kept.append(replace(last, sources=()))
    return kept


def _alike(line: str, old: str) -> bool:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, line, old, autojunk=False).ratio() > ALIKE
