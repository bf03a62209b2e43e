"""Build the units that are searched: fixed-size columns and terms for a store, flags told at writing."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from enum import IntFlag
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from memscope.records import ROLES, Insight, Observation, Record, Turn

if TYPE_CHECKING:
    pass

from memscope.text.language import Language, language
from memscope.text.terms import name_key, terms


class Flag(IntFlag):
    """What a unit is, told at writing."""

    QUESTION = 1
    FIRST_PERSON = 2
    DIGIT = 4
    INSTRUCTION = 8
    GREETING = 16
    CLOSED = 32  # a superseded memory
    PROPOSED = 64
    PRIMARY = 128  # the one of an insight's units that stands for it
    STATEMENT = 256
    CJK = 512  # the text is in Chinese, Japanese or Korean


_FLAGS = (
    (Flag.QUESTION, re.compile(r"[?？][\s\"'”’)」』]*$")),
    (Flag.FIRST_PERSON, re.compile(r"(?i)\b(?:i|my|me|we|our)\b|我")),
    (Flag.DIGIT, re.compile(r"\d")),
    (
        Flag.INSTRUCTION,
        re.compile(
            r"(?i)^\W*(?:please\s+)?(?:always|never|from now on)\b"
            r"|^\W*(?:请)?(?:以后|总是|从现在起|从今以后|永远不要)"
        ),
    ),
    (Flag.GREETING, re.compile(r"(?i)^\W*(?:(?:hey|hi|hello|thanks|thank you|wow|great)\b|你好|您好|谢谢)")),
)


_WISH = re.compile(
    r"(?i)\bi(?:['’]d| would)?(?: \w+ly)? (?:prefer|rather)\b|\bi(?:['’]d| would) like you to\b"
    r"|我(?:更|比较)?(?:喜欢|希望)你"
)


def flags(text: str) -> Flag:
    found = Flag(0) if language(text) == "en" else Flag.CJK
    for flag, pattern in _FLAGS:
        if pattern.search(text):
            found |= flag
    if found & Flag.FIRST_PERSON and _WISH.search(text):  # as each wish names who has it
        found |= Flag.INSTRUCTION
    return found


# In characters: turns over LONG are cut into pieces of up to PIECE; a last one under REST joins the one before.
LONG, PIECE, REST = 1000, 800, 200


_BOUNDARIES = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"(?<=[.!?])\s|(?<=[。！？；])", r"\s")))


def chunks(text: str) -> list[str]:
    """A text of up to ``LONG`` characters whole; a longer one cut at paragraphs, else sentences, else words."""
    return [text[start:end] for start, end in _spans(text)] if len(text) > LONG else [text]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start >= PIECE + REST:
        end = start + _cut(text[start : start + PIECE])
        yield start, end
        start = end
    yield start, len(text)


def _cut(piece: str) -> int:
    """The last boundary in the second half of the piece, of the best kind there is."""
    for boundary in _BOUNDARIES:
        ends = [match.end() for match in boundary.finditer(piece, len(piece) // 2)]
        if ends:
            return ends[-1]
    return len(piece)


class Unit(NamedTuple):
    """What is searched: a turn, a part of a long one, or a memory as it stands to one of its turns or sessions.

    ``columns`` is one ``COLUMNS`` record; ``terms`` are uint32 hashes: ``n_header`` of date and speaker, then
    ``n_terms`` of the body in order. Both are opaque to a store. ``text`` is what an embedder gets.
    """

    seq: int
    columns: bytes
    terms: bytes
    text: str


# Little endian, packed. target: number of the record whose hit this unit is; times in microseconds since 1970.
COLUMNS = (
    ("seq", "q"), ("number", "q"), ("target", "q"), ("time", "q"), ("closed", "q"), ("start", "q"), ("end", "q"),
    ("expires", "q"), ("agent", "Q"), ("session", "Q"), ("speaker", "I"), ("n_header", "H"), ("n_terms", "I"),
    ("flags", "H"), ("part", "H"), ("kind", "B"), ("role", "B"),
)  # fmt: skip


PACKED = struct.Struct("<" + "".join(code for _, code in COLUMNS))


NEVER = (1 << 63) - 1


_MOST = 0xFFFF


TURN, OBSERVATION, INSIGHT = 0, 1, 2  # Unit columns' kind


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_MICROSECOND = timedelta(microseconds=1)


_MONTHS = "January February March April May June July August September October November December".split()


def microseconds(when: datetime) -> int:
    return (when - _EPOCH) // _MICROSECOND


def scope_key(name: str | None) -> int:
    """An agent or session as 64 bits, 0 for none."""
    if not name:
        return 0
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def date_text(when: datetime, lang: Language) -> str:
    """The date as a question would name it."""
    if lang in ("zh", "ja"):
        return f"{when.year}年{when.month}月{when.day}日"
    return f"{when.day} {_MONTHS[when.month - 1]} {when.year}"


def make_units(record: Record, *, number: int, seq: int, turns: Sequence[tuple[int, Turn]] = ()) -> list[Unit]:
    """The units of one record, numbered from ``seq``.

    ``number``: the record's number in the user's memory. ``turns``: numbers and turns that an observation rests on (one
    unit each: it lends them its words), or that an insight goes back to (one unit a session).
    """
    if isinstance(record, Turn):
        return _turn_units(record, number, seq)
    if isinstance(record, Observation):
        return [_memory_unit(record, number, seq + i, n, turn) for i, (n, turn) in enumerate(turns)]
    sessions = list({turn.scope.session: turn for _, turn in turns}.values())
    return [_memory_unit(record, number, seq + i, number, turn, i == 0) for i, turn in enumerate(sessions or [None])]


def _turn_units(turn: Turn, number: int, seq: int) -> list[Unit]:
    time = microseconds(turn.time)
    shared = {
        "number": number, "target": number, "time": time, "closed": NEVER, "start": time, "end": time + 1,
        "expires": NEVER, "agent": scope_key(turn.scope.agent), "session": scope_key(turn.scope.session),
        "speaker": name_key(turn.speaker), "kind": TURN, "role": ROLES.index(turn.role),
    }  # fmt: skip
    always = Flag.STATEMENT if turn.statement else Flag(0)
    date = date_text(turn.time, language(turn.text))
    return [
        _unit(piece, date, turn.speaker, {**shared, "seq": seq + part, "part": part, "flags": flags(piece) | always})
        for part, piece in enumerate(chunks(turn.text))
    ]


def _memory_unit(
    memory: Observation | Insight, number: int, seq: int, target: int, turn: Turn | None, primary: bool = False
) -> Unit:
    happened = memory.happened
    who = memory.subject if isinstance(memory, Insight) else turn.speaker if turn else memory.about
    found = flags(memory.text)
    found |= Flag.CLOSED if memory.closed_said else Flag(0)
    found |= Flag.PROPOSED if memory.proposed else Flag(0)
    found |= Flag.PRIMARY if primary else Flag(0)
    columns = {
        "seq": seq, "number": number, "target": target, "time": microseconds(memory.said),
        "part": _part(memory, turn) if turn and isinstance(memory, Observation) else 0,
        "closed": microseconds(memory.closed_said) if memory.closed_said else NEVER,
        "start": microseconds(happened.start) if happened else 0,
        "end": microseconds(happened.end) if happened else 0,
        "expires": microseconds(memory.expires) if memory.expires else NEVER,
        "agent": scope_key(memory.scope.agent), "session": scope_key(turn.scope.session if turn else None),
        "speaker": name_key(who), "flags": found, "kind": INSIGHT if isinstance(memory, Insight) else OBSERVATION,
        "role": ROLES.index(turn.role if turn else "person"),
    }  # fmt: skip
    return _unit(memory.text, date_text(memory.said, language(memory.text)), who, columns)


def _part(memory: Observation, turn: Turn) -> int:
    """Which part of the turn the memory quotes; the first for want of a quote."""
    quotes = [quote.text for quote in memory.quotes if quote.turn == turn.key]
    parts = enumerate(chunks(turn.text)) if len(turn.text) > LONG else ()
    return next((i for i, part in parts if any(quote in part for quote in quotes)), 0)


@lru_cache(maxsize=1 << 12)
def _header(said: str) -> tuple[int, ...]:
    """Many units have the same: one speaker, on one day."""
    return tuple(terms(said)[:_MOST])


def _unit(body: str, date: str, speaker: str, columns: dict[str, int]) -> Unit:
    header, content = _header(f"{date} {speaker}"), terms(body)
    columns = {**columns, "part": min(columns["part"], _MOST), "n_header": len(header), "n_terms": len(content)}
    packed = PACKED.pack(*(columns[name] for name, _ in COLUMNS))
    hashes = struct.pack(f"<{len(header) + len(content)}I", *header, *content)
    return Unit(columns["seq"], packed, hashes, f"({date}) {speaker}: {body}")
