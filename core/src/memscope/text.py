"""What a text is made of: language, tokens, terms, flags, and the units that are searched. Pure functions, no I/O.

    text ──words──▶ "moved", "berlin", "北", "北京"  ──term──▶ CRC-32  ──units──▶ fixed-size columns + terms for a store

A **term** is the CRC-32 of a word's UTF-8. English words are stemmed and stop words left out; scripts written without
spaces, and Korean, give each character and each adjacent pair; other scripts give their words, case and accents folded.
"""

from __future__ import annotations

import math
import re
import struct
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from enum import IntFlag
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from zlib import crc32

from memscope.records import ROLES, Insight, Observation, Record, Turn
from memscope.stemmer import stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Language: TypeAlias = Literal["en", "zh", "ja", "ko"]

# --------------------------------------------------------------------------------------------------------- characters

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_KANA = "\u3041-\u3096\u30a1-\u30ff\uff66-\uff9f"
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_CJK = _HAN + _KANA + _HANGUL
_UNSPACED = _CJK + "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ede\u1000-\u103f\u1780-\u17d3"  # and Thai, Lao, Burmese, Khmer
_LETTER = f"[^\\W_{_UNSPACED}]|[\u0900-\u0963\u0966-\u0dff]"  # Indic vowel signs are no \w for Python

_CJK_CHARACTER = re.compile(f"[{_CJK}]")
_KANA_CHARACTER = re.compile(f"[{_KANA}]")
_HANGUL_CHARACTER = re.compile(f"[{_HANGUL}]")
_LATIN_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_WORD = re.compile(f"[{_UNSPACED}]+|(?:{_LETTER})+(?:'[a-z]+)?")
_UNSPACED_START = re.compile(f"[{_UNSPACED}]")


def has_cjk(text: str) -> bool:
    return not text.isascii() and _CJK_CHARACTER.search(text) is not None


def language(text: str) -> Language:
    """Guess by code points: kana is Japanese, Hangul Korean, else Chinese or English by which says more here.

    A CJK character counts for two letters. Text in any other script is treated as English is.
    """
    if text.isascii():
        return "en"
    cjk = len(_CJK_CHARACTER.findall(text))
    if 2 * cjk < sum(map(str.isalpha, text)) - cjk or not cjk:
        return "en"
    if len(_HANGUL_CHARACTER.findall(text)) * 2 > cjk:
        return "ko"
    return "ja" if len(_KANA_CHARACTER.findall(text)) * 10 > cjk else "zh"


def estimate_tokens(text: str) -> int:
    """Characters / 4, a CJK character for one: 7-14 % over what o200k counts, on chats in English and Chinese."""
    cjk = 0 if text.isascii() else len(_CJK_CHARACTER.findall(text))
    return math.ceil((len(text) - cjk) / 4) + cjk


# -------------------------------------------------------------------------------------------------------------- terms

# Names tokenizer, stemmer and stop list: other terms, other version, and a store derives its units anew.
terms_version = "1"

STOP_WORDS = frozenset(
    """a about above after again against all also am an and another any anybody anyone anything are aren't as at be
    because been before being below between both but by can cannot cant could did do does doing done dont down during
    each either else ever every everybody everyone everything few for from further get gets getting go goes going gonna
    got had has have having he her here hers herself him himself his how however i if ill im in into is isnt it its
    itself ive just let lets like lot lots many me more most much must my myself neither no nobody nor not nothing now
    of off oh ok okay on once one only onto or other others our ours ourselves out over own quite rather really same
    shall she should since so some somebody someone something such than that thats the their theirs them themselves
    then there these they thing things this those though through thru to too toward towards under until up upon us
    very was we well were what whatever when whenever where wherever whether which whichever while who whoever whom
    whose why will with within without would yeah yes yet you your youre yours yourself yourselves""".split()
)


def fold(text: str) -> str:
    """One spelling of the same words: compatibility forms, case and accents folded, the voicing of kana kept."""
    text = text.replace("’", "'")
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(c for c in decomposed if unicodedata.combining(c) < 10)
    return unicodedata.normalize("NFKC", bare).casefold()


def term(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))


def words(text: str) -> list[str]:
    """The words a text is found by, in order; a text of stop words only is found by these."""
    found = _split(fold(text))
    return [word for piece in found for word in _content(piece)] or [word for piece in found for word in _any(piece)]


def terms(text: str) -> list[int]:
    """``words`` as term hashes."""
    found = _split(fold(text))
    return [t for piece in found for t in _content_terms(piece)] or [term(w) for piece in found for w in _any(piece)]


def _split(folded: str) -> list[str]:
    return (_LATIN_WORD if folded.isascii() else _WORD).findall(folded)


@lru_cache(maxsize=1 << 16)
def _content_terms(piece: str) -> tuple[int, ...]:
    return tuple(map(term, _content(piece)))


@lru_cache(maxsize=1 << 12)
def _content(piece: str) -> Sequence[str]:
    return () if piece.endswith("n't") or _head(piece) in STOP_WORDS else _any(piece)


def _any(piece: str) -> Sequence[str]:
    if _UNSPACED_START.match(piece):
        return _grams(piece)
    head = _head(piece)
    return (stem(head) if head.isascii() and not head.isdigit() else head,)


def _head(piece: str) -> str:
    """What stands before the apostrophe, or after it where that is an elided article or a prefix: l'école, o'neill."""
    head, _, tail = piece.partition("'")
    return tail if len(head) == 1 and len(tail) > 2 else head


def _grams(run: str) -> list[str]:
    """Each character, and each pair after its first character."""
    grams = [gram for i in range(len(run) - 1) for gram in (run[i], run[i : i + 2])]
    return [*grams, run[-1]]


@lru_cache(maxsize=1 << 12)
def name_key(name: str) -> int:
    """The term by which a question names a speaker: the first name, or a whole name in CJK; 0 for none."""
    pieces = _split(fold(name))
    if not pieces:
        return 0
    return term(pieces[0] if _UNSPACED_START.match(pieces[0]) else _any(pieces[0])[0])


def names(text: str) -> frozenset[int]:
    """Every ``name_key`` that the text may mention."""
    pieces = _split(fold(text))
    runs = {piece for piece in pieces if _UNSPACED_START.match(piece)}
    latin = {t for piece in pieces if piece not in runs for t in _content_terms(piece)}
    return frozenset(latin | {term(run[i:j]) for run in runs for i in range(len(run)) for j in range(i + 2, i + 9)})


# ------------------------------------------------------------------------------------------------------------ scoring

K1, B = 1.2, 0.75  # BM25's usual constants


def rarity(units: int, document_frequency: NDArray[np.float32]) -> NDArray[np.float32]:
    """BM25's idf, never negative; 0 for a term that no unit has."""
    import numpy as np

    idf = np.log1p((units - document_frequency + 0.5) / (document_frequency + 0.5))
    known: NDArray[np.bool_] = document_frequency > 0
    return (idf * known).astype(np.float32)


def bm25(
    tf: NDArray[np.float32], length: NDArray[np.float32], average: float, weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Okapi BM25 of rows: ``tf`` [n, q], ``length`` [n], ``weights`` [q] (rarity, or rarity times an opinion)."""
    norm = K1 * (1 - B + B * length / max(average, 1e-9))
    scores: NDArray[Any] = (tf * (K1 + 1) / (tf + norm[:, None])) @ weights
    return scores


# -------------------------------------------------------------------------------------------------------------- units


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


def units(record: Record, *, number: int, seq: int, turns: Sequence[tuple[int, Turn]] = ()) -> list[Unit]:
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
