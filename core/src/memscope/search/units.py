"""Build the units that are searched: fixed-size columns, terms and flags, computed when a record is written."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from typing import NamedTuple

from memscope import languages
from memscope.languages.durable_facts import DURABLE_TERM, IMPORTANT_TERM, MAX_DURABILITY, WISH_TERMS, durable_terms
from memscope.languages.flags import DURABILITY_SHIFT, Flag, flags, wishes
from memscope.languages.repetitions import repeated_days
from memscope.records import CORRECTIONS, INJECTED, ROLES, SUMMARY_NAMESPACE, Insight, Observation, Record, Turn
from memscope.text.analysis import Analysis, analyse, analyse_statement
from memscope.text.language import depends_on_languages
from memscope.text.periods import named_periods
from memscope.text.terms import TERM_BYTES, name_key, packed_terms, terms, terms_version
from memscope.text.tokens import fold_variants
from memscope.text.vectors import DIMENSIONS, VECTORS_VERSION

# Longer turns are cut into pieces of up to PIECE_CHARS; a last one under MIN_REST_CHARS joins the previous one.
MAX_WHOLE_CHARS, PIECE_CHARS, MIN_REST_CHARS = 1000, 800, 200


_BOUNDARIES = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"(?<=[.!?])\s|(?<=[。！？；])", r"\s")))


def chunks(text: str) -> list[str]:
    """Cut a text over ``MAX_WHOLE_CHARS`` at paragraphs, else sentences, else words."""
    return [text[start:end] for start, end in _spans(text)] if len(text) > MAX_WHOLE_CHARS else [text]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start >= PIECE_CHARS + MIN_REST_CHARS:
        end = start + _cut(text[start : start + PIECE_CHARS])
        yield start, end
        start = end
    yield start, len(text)


def _cut(piece: str) -> int:
    """Return the last boundary of the best kind in the second half of the piece."""
    for boundary in _BOUNDARIES:
        ends = [match.end() for match in boundary.finditer(piece, len(piece) // 2)]
        if ends:
            return ends[-1]
    return len(piece)


class Unit(NamedTuple):
    """An indexed piece: a turn, a part of a long turn, or a memory in relation to one of its turns or sessions.

    ``columns`` is one ``UNIT_COLUMNS`` record. ``terms`` are uint32 hashes: ``n_header`` of date and speaker, then
    ``n_terms`` of the body in order. Both are opaque to a store. ``text`` is the embedder's input.
    """

    seq: int
    columns: bytes
    terms: bytes
    text: str


# Little endian, packed. target: number of the record that a hit returns. Times: microseconds since 1970.
# start, end: the interval of a memory, or the first that a turn mentions; later_*: the second.
# topics: bits 0-63 and 64-127. meaning: the text's built-in vector as int8; zeros for none.
UNIT_COLUMNS = (
    ("seq", "q"), ("number", "q"), ("target", "q"), ("time", "q"), ("closed", "q"), ("start", "q"), ("end", "q"),
    ("later_start", "q"), ("later_end", "q"), ("expires", "q"), ("agent", "Q"), ("session", "Q"), ("topics", "Q"),
    ("more_topics", "Q"), ("speaker", "I"), ("n_header", "H"), ("n_terms", "I"), ("flags", "H"), ("part", "H"),
    ("kind", "B"), ("role", "B"), ("meaning", f"{DIMENSIONS}s"),
)  # fmt: skip
UNIT_STRUCT = struct.Struct("<" + "".join(code for _, code in UNIT_COLUMNS))
_in_order = itemgetter(*(name for name, _ in UNIT_COLUMNS[:-1]))
_NUMBERS_STRUCT = struct.Struct("<3q")  # seq, number, target
# Bump on any change of derived columns; stores rebuild units of another version.
units_version = f"{terms_version}.{VECTORS_VERSION}.56"
NEVER_US = (1 << 63) - 1
IMPORTANT_LEVEL = 3  # level of observations that a profile takes first


_MAX_COUNT = 0xFFFF
_LOW_64_BITS = (1 << 64) - 1


TURN, OBSERVATION, INSIGHT = 0, 1, 2  # values of the column kind
ASSISTANT_ROLE, USER_ROLE = ROLES.index("assistant"), ROLES.index("user")
_PERSONAL, _INSTRUCTION = int(Flag.PERSONAL), int(Flag.INSTRUCTION)  # looking up an enum member is slow


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_MICROSECOND = timedelta(microseconds=1)


def microseconds(when: datetime) -> int:
    return (when - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=1 << 10)
def scope_key(name: str | None) -> int:
    """Hash an agent or session to 64 bits; 0 for none."""
    if not name:
        return 0
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def date_text(when: datetime, text: str) -> str:
    """Spell a date with the words a query may use."""
    phrases = languages.main(text).phrases
    return phrases.date.format(day=when.day, month=phrases.months[when.month - 1], year=when.year)


def make_units(record: Record, *, number: int, seq: int, turns: Sequence[tuple[int, Turn]] = ()) -> list[Unit]:
    """Make the units of one record, numbered from ``seq``.

    ``number``: the record's number in the user's memory. ``turns``: numbered turns of an observation (one unit each,
    whose terms are credited to that turn) or of an insight (one unit per session).
    """
    if isinstance(record, Turn):
        return list(turn_units(record, number, seq))
    if isinstance(record, Observation):
        return [_memory_unit(record, number, seq + i, n, turn) for i, (n, turn) in enumerate(turns)]
    sessions = list({turn.scope.session: turn for _, turn in turns}.values())
    return [_memory_unit(record, number, seq + i, number, turn, i == 0) for i, turn in enumerate(sessions or [None])]


def unit_texts(record: Record, turns: Sequence[tuple[int, Turn]] = ()) -> list[str]:
    """Return the texts of a record's units without computing their terms, which takes a thousand times as long."""
    if isinstance(record, Turn):
        date = date_text(record.time, record.text)
        return [_text(date, record.speaker, piece) for piece in chunks(record.text)]
    return [unit.text for unit in make_units(record, number=0, seq=0, turns=turns)]


def numbered(units: Sequence[Unit], number: int, seq: int) -> list[Unit]:
    """Assign numbers to the units of ``turn_units``."""
    rest = _NUMBERS_STRUCT.size
    return [
        Unit(seq, _NUMBERS_STRUCT.pack(seq, number, number) + unit.columns[rest:], unit.terms, unit.text)
        for seq, unit in enumerate(units, seq)
    ]


def turn_units(turn: Turn, number: int = 0, seq: int = 0) -> Iterator[Unit]:
    """Yield the units of a turn one by one, to be numbered by ``numbered``."""
    time = microseconds(turn.time)
    # a statement without session is a session of its own, without neighbours
    session = turn.scope.session or (turn.text[:MAX_WHOLE_CHARS] if turn.statement else None)
    shared = {
        "number": number, "target": number, "time": time, "closed": NEVER_US,
        "expires": NEVER_US, "agent": scope_key(turn.scope.agent), "session": scope_key(session),
        "speaker": name_key(turn.speaker), "kind": TURN, "role": ROLES.index(turn.role),
    }  # fmt: skip
    hidden = turn.statement and INJECTED in turn.metadata  # a person's correction of an entity
    state = Flag.STATEMENT * turn.statement | Flag.PROPOSED * hidden
    date = date_text(turn.time, turn.text)
    tells = (
        turn.role != "assistant" or len(turn.text) <= MAX_WHOLE_CHARS
    )  # long answers of the assistant report no events
    for part, piece in enumerate(chunks(turn.text)):
        read = analyse(piece) if turn.role == "assistant" else analyse_statement(piece)
        named = _named(read.text, turn, read.timed) if tells else _UNDATED
        columns = {**shared, **named, "seq": seq + part, "part": part}
        days = repeated_days(read.text, turn.time) if turn.role != "assistant" else ()
        yield _unit(piece, read, date, turn.speaker, columns, state, further=days)


_UNDATED = {"start": 0, "end": 0, "later_start": 0, "later_end": 0}


def _named(text: str, turn: Turn, timed: bool) -> dict[str, int]:
    """Return the first two periods that a statement mentions, in microseconds."""
    periods = named_periods(text, turn.time, timed=timed)
    if not periods:
        return _UNDATED
    named = [(microseconds(period.start), microseconds(period.end)) for period in periods]
    (start, end), (later_start, later_end) = (*named, (0, 0))[:2]
    return {"start": start, "end": end, "later_start": later_start, "later_end": later_end}


def _memory_unit(
    memory: Observation | Insight, number: int, seq: int, target: int, turn: Turn | None, primary: bool = False
) -> Unit:
    happened = memory.happened
    who = memory.subject if isinstance(memory, Insight) else turn.speaker if turn else memory.about
    hidden = memory.proposed or memory.namespace in (CORRECTIONS, SUMMARY_NAMESPACE)
    state = Flag.CLOSED * bool(memory.closed_said) | Flag.PROPOSED * hidden | Flag.PRIMARY * primary
    columns = {
        "seq": seq, "number": number, "target": target, "time": microseconds(memory.said),
        "part": _part(memory, turn) if turn and isinstance(memory, Observation) else 0,
        "closed": microseconds(memory.closed_said) if memory.closed_said else NEVER_US,
        "start": microseconds(happened.start) if happened else 0,
        "end": microseconds(happened.end) if happened else 0,
        "later_start": 0, "later_end": 0,
        "expires": microseconds(memory.expires) if memory.expires else NEVER_US,
        "agent": scope_key(memory.scope.agent), "session": scope_key(turn.scope.session if turn else None),
        "speaker": name_key(who), "kind": INSIGHT if isinstance(memory, Insight) else OBSERVATION,
        "role": ROLES.index(turn.role if turn else "person"),
    }  # fmt: skip
    date = date_text(memory.said, memory.text)
    durable, further = _profile_terms(memory), (*repeated_days(memory.text, memory.said), *_keyword_terms(memory))
    return _unit(memory.text, analyse(memory.text), date, who, columns, state, durable=durable, further=further)


def _keyword_terms(memory: Observation | Insight) -> list[int]:
    """Return the terms of a fact's keywords that its text lacks, such as "pets" for a fact about a gecko."""
    words = "\n".join(memory.keywords) if isinstance(memory, Observation) else ""
    known = set(terms(memory.text)) if words else ()
    return [term for term in dict.fromkeys(terms(words)) if term not in known]


def _profile_terms(memory: Observation | Insight) -> tuple[int, ...]:
    """Return the terms by which the profile finds a memory; for an observation also those of the user's words."""
    if isinstance(memory, Insight):
        return (IMPORTANT_TERM, DURABLE_TERM)
    serious = memory.level >= IMPORTANT_LEVEL and not memory.fiction
    words = fold_variants("\n".join(quote.text for quote in memory.quotes))
    quoted = durable_terms(words)[0] if memory.about == "user" else ()
    return (*dict.fromkeys((*quoted, IMPORTANT_TERM, DURABLE_TERM)),) if serious else quoted


def _part(memory: Observation, turn: Turn) -> int:
    """Return the part of the turn that a memory quotes; the first without a quote."""
    quotes = [quote.text for quote in memory.quotes if quote.turn == turn.key]
    parts = enumerate(chunks(turn.text)) if len(turn.text) > MAX_WHOLE_CHARS else ()
    return next((i for i, part in parts if any(quote in part for quote in quotes)), 0)


@depends_on_languages
@lru_cache(maxsize=1 << 12)
def _header(text: str) -> bytes:
    """Return the packed terms of a header, cached because many units share speaker and day."""
    return packed_terms(terms(text)[:_MAX_COUNT])


def _unit(
    body: str, read: Analysis, date: str, speaker: str, columns: dict[str, int], state: int,
    *, durable: Sequence[int] | None = None, further: Sequence[int] = (),
) -> Unit:  # fmt: skip
    """Complete ``columns``. ``durable``: profile terms of a memory; None for a turn, whose body is read for them.

    ``further``: terms of recurring days and a fact's keywords; a turn's go into its header, a memory's into its body.
    """
    role = columns["role"]
    unit_flags = flags(read.text, read.pieces, ROLES[role]) | state
    is_statement = durable is None and role != ASSISTANT_ROLE
    profile, durability = durable_terms(read.text) if is_statement else (durable or (), MAX_DURABILITY * bool(durable))
    header, content = _header(f"{date} {speaker}"), read.terms
    if durable is None:
        wished = (
            [WISH_TERMS[one] for one in wishes(read.text, read.pieces, read.topics)]
            if unit_flags & _INSTRUCTION
            else ()
        )
        header += packed_terms((*((*profile, *wished) if role == USER_ROLE else ()), *further))
    else:
        content += packed_terms((*durable, *further))
    columns["part"] = min(columns["part"], _MAX_COUNT)
    columns["n_header"], columns["n_terms"] = len(header) // TERM_BYTES, len(content) // TERM_BYTES
    columns["flags"] = unit_flags | _PERSONAL * bool(profile) | durability << DURABILITY_SHIFT
    columns["topics"], columns["more_topics"] = read.topics & _LOW_64_BITS, read.topics >> 64
    packed = UNIT_STRUCT.pack(*_in_order(columns), read.meaning)
    return Unit(columns["seq"], packed, header + content, _text(date, speaker, body))


def _text(date: str, speaker: str, body: str) -> str:
    return f"({date}) {speaker}: {body}"
