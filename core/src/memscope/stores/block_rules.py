"""Rules for blocks, shared by all stores: pure functions over versions of blocks, without I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from memscope.errors import Conflict, InputError, LimitError
from memscope.records import Block, BlockKey, Select

FORGOTTEN_REASON = "a source was forgotten"
MIN_LINE_SIMILARITY = 0.5  # minimum share of equal characters of a line and its alteration
MAX_PRODUCTS = 20_000_000  # sum of products of line lengths compared by character: about a second
MAX_SHINGLES = 10_000_000  # shingles looked up in all pairs of lines

# ---- writing


def check_next(user: str, versions: Sequence[Block], stored: Mapping[BlockKey, int], forgotten: Set[str]) -> None:
    """Raise unless each version is the stored one plus 1. ``stored``: current version by key."""
    have = dict(stored)
    for block in versions:
        if block.scope.user != user:
            raise InputError(f"block {block.label!r} belongs to user {block.scope.user!r}, not {user!r}")
        check_limit(block)
        stored_version = have.get(block.key, 0)
        if block.version != stored_version + 1:
            hint = "read it again and repeat the edit"
            raise Conflict(f"block {block.label!r} is at version {stored_version}", hint=hint)
        if not forgotten.isdisjoint(block.sources):
            raise Conflict(f"a source of this edit of {block.label!r} was forgotten", hint="nothing was written")
        have[block.key] = block.version


def check_limit(block: Block) -> None:
    """Raise ``LimitError`` for a value above the limit, naming the excess and the longest line."""
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
    """Return the latest version of each block."""
    return [history[-1] for history in by_key(versions).values()]


def by_key(versions: Iterable[Block]) -> dict[BlockKey, list[Block]]:
    """Group versions by block, oldest first."""
    histories: defaultdict[BlockKey, list[Block]] = defaultdict(list)
    for block in sorted(versions, key=lambda block: (block.scope.agent or "", block.label, block.version)):
        histories[block.key].append(block)
    return dict(histories)


def edits(history: Iterable[Block]) -> list[Block]:
    """Leave out the versions that record only that a source was forgotten: each store makes its own."""
    return [block for block in history if (block.author, block.reason) != ("backend", FORGOTTEN_REASON)]


# ---- forgetting


@dataclass(frozen=True, slots=True)
class BlockRemoval:
    """Effect of a forget on blocks.

    ``dropped`` and ``rewritten`` are old versions, ``replacements`` the new ones. ``may_hold`` lists labels of blocks
    with lines of unknown source, which may still contain forgotten content.
    """

    dropped: tuple[Block, ...] = ()
    rewritten: tuple[Block, ...] = ()
    replacements: tuple[Block, ...] = ()
    may_hold: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len({block.key for block in (*self.dropped, *self.rewritten)})

    @property
    def texts(self) -> list[str]:
        gone = (*self.dropped, *self.rewritten)
        return [text for block in gone for text in (block.value, block.reason, block.description)]


def selects_blocks(select: Select) -> bool:
    """True if a selection includes blocks: one block by label, or everything of a user or agent."""
    return select.block is not None or select == Select(select.user, select.agent)


def plan_removal(select: Select, gone: Collection[str], versions: Sequence[Block], now: datetime) -> BlockRemoval:
    """Plan the effect on a user's blocks when the records ``gone`` are forgotten."""
    dropped, remaining = list[Block](), list[Block]()
    takes_blocks = selects_blocks(select)
    for block in versions:
        (dropped if takes_blocks and selected(select, block) else remaining).append(block)
    rewritten: list[Block] = []
    replacements: list[Block] = []
    may_hold: list[str] = []
    for history in by_key(remaining).values() if gone else ():
        after = without_sources(history, gone, now)
        changed = [(old, new) for old, new in zip(history, after, strict=False) if old != new]
        rewritten += [old for old, _ in changed]
        replacements += [new for _, new in changed] + after[len(history) :]
        if after[-1].value and any(block.author != "backend" and not block.sources for block in history):
            may_hold.append(after[-1].label)
    return BlockRemoval(tuple(dropped), tuple(rewritten), tuple(replacements), tuple(sorted(set(may_hold))))


def selected(select: Select, block: Block) -> bool:
    if select.block is not None:
        return block.key == (select.agent, select.block)
    return select.agent in (None, block.scope.agent)


def without_sources(history: Sequence[Block], gone: Collection[str], now: datetime) -> list[Block]:
    """Remove the lines that were written from forgotten sources, and later alterations of them, from every version.

    If the current value loses a line, a new version records it, so that an edit of the old value raises ``Conflict``.
    """
    tainted: set[str] = set()
    before: set[str] = set()
    cleaned: list[Block] = []
    alterations = _Alterations()
    for block in history:
        lines = block.value.split("\n")
        named = any(source in gone for source in block.sources)
        fresh, left = set(lines) - before - {""}, tainted & (before - set(lines))
        tainted |= fresh if named else alterations.among(fresh, left)
        before = set(lines)
        value = "\n".join(line for line in lines if line not in tainted) if tainted else block.value
        sources = tuple(source for source in block.sources if source not in gone)
        cleaned.append(replace(block, value=value, sources=sources, reason="" if named else block.reason))
    if cleaned and cleaned[-1].value != history[-1].value:
        cleaned.append(next_version(cleaned[-1], cleaned[-1].value, FORGOTTEN_REASON, now))
    return cleaned


def next_version(last: Block, value: str, reason: str, now: datetime, sources: tuple[str, ...] = ()) -> Block:
    """Build the back end's version of a block after the last one."""
    return replace(
        last, value=value, version=last.version + 1, recorded=now, author="backend", reason=reason, sources=sources
    )


class _Alterations:
    """Find the lines that are alterations of removed lines, at a bounded cost.

    Lines are compared by character up to ``MAX_PRODUCTS``, then by shared shingles up to ``MAX_SHINGLES``; beyond that
    every new line counts as an alteration, since forgotten content must not survive.
    """

    def __init__(self) -> None:
        self._products = self._looked_up = 0
        self._shingles: dict[tuple[str, int], frozenset[str]] = {}

    def among(self, lines: Set[str], old: Set[str]) -> set[str]:
        self._products += sum(map(len, lines)) * sum(map(len, old))
        if self._products <= MAX_PRODUCTS:
            return {line for line in lines if any(_ratio(line, other) > MIN_LINE_SIMILARITY for other in old)}
        self._looked_up += len(old) * sum(map(len, lines))
        if self._looked_up <= MAX_SHINGLES:
            return {line for line in lines if any(self._share(line, other) > MIN_LINE_SIMILARITY for other in old)}
        return set(lines) if old else set()

    def _share(self, line: str, old: str) -> float:
        """Dice coefficient of shingles; longer ones for long lines, since these share most short ones by chance."""
        length = min(len(line), len(old))
        size = 2 if length < 100 else 3 if length < 400 else 6
        first, second = (self._shingles_of(text, size) for text in (line, old))
        return 2 * len(first & second) / max(1, len(first) + len(second))

    def _shingles_of(self, line: str, size: int) -> frozenset[str]:
        if (line, size) not in self._shingles:
            places = range(max(1, len(line) - size + 1))
            self._shingles[line, size] = frozenset(line[place : place + size] for place in places)
        return self._shingles[line, size]


def _ratio(line: str, old: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, line, old, autojunk=False).ratio()
