"""Tell a speaker's own words in a turn from words they only show: quoted, pasted, forwarded or attached text.

Shown words count no more than a tool's output: a fact rests on a person only if they state it themselves, or add words
of their own to it ("My sign says ...").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

from memscope.languages.registry import registered
from memscope.languages.requests import brought_along
from memscope.languages.similarity import form
from memscope.languages.statements import sentences
from memscope.records import Turn
from memscope.text.language import depends_on_languages, has_cjk

MIN_STATED_SHARE = 0.5  # share of a fact's words that people must say themselves if shown text has them too
MIN_QUOTED_WORDS, MIN_QUOTED_CHARACTERS = 3, 5  # shorter quotations are names or titles
MAX_BEFORE_QUOTATION = 120  # characters searched for the person who is quoted
# Code, text between tags, quoted lines of a mail, tables, CSV with a header, indented blocks, lines of a log or chat
# with timestamps.
_PASSAGE = re.compile(
    r"(```|\"\"\").*?(?:\1|\Z)|<([a-z][\w-]*)(?: [^<>\n]*)?>.*?(?:</\2>|\Z)|^[ \t]*>[^\n]*|^[ \t]*\|[^\n]*\|[ \t]*$"
    r"|^(?:[^\s,;]+(?:[,;][^\s,;]+)+|[^\t\n]+(?:\t[^\t\n]+)+)\n(?:[^\n]*[,;\t][^\n]*(?:\n|\Z))+"
    r"|(?:\A|(?<=\n))[ \t]*\n(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+"
    r"|^\W?(?:\d{4}[-/.]\d\d?[-/.]\d\d?[T ,]+)?\d\d?:\d\d:\d\d\b[^\n]*"
    r"|^\W?\d{1,4}[-/.]\d\d?[-/.]\d{1,4}[T ,]+\d\d?:\d\d(?: ?[AaPp][Mm])?\W{1,4}[^\n:：]{1,40}[:：][^\n]*",
    re.DOTALL | re.MULTILINE,
)
_JSON_BEGINS = re.compile(r"\{\s*\"[^\"\n]{1,60}\"\s*:")
_BRACKET_OPENS = re.compile(r"\[([a-z][\w-]{0,40})\b[^\]\n]{0,200}\]")
_BRACKET_CLOSES = re.compile(r"\[/([a-z][\w-]{0,40})\]")
_QUOTATION = re.compile(
    r"(?<![\w\"])\"(?=[^\s\"])[^\"]{1,1500}\"(?!\w)|[“„][^“”„]{1,1500}[”“]|«[^»]{1,1500}»|「[^」]{1,1500}」|『[^』]{1,1500}』"
    r"|(?<!\w)['‘](?=[^\Wa-z])(?:[^'‘’\n]|['’](?=\w)){1,600}['’](?!\w)"
)
_SPOKEN_LINE = re.compile(r"^[ \t]*([^\W\d_][\w .'-]{0,24})(?: \([^)\n]*\))?[:：][ \t]*\S[^\n]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Citation:
    """Verbatim words of a turn; ``context``: the turn is only context; ``place``: its position among the lines."""

    turn: Turn
    words: str
    context: bool
    place: int


def is_shown(text: str, cited: Sequence[Citation]) -> bool:
    """Test whether a fact rests on shown words, and people neither state it nor add words of their own to it."""
    parts = [_parted(line) for line in cited if not line.context]
    spoken, shown = (" ".join(part) for part in zip(*parts, strict=True))
    if not shown.strip():
        return False
    content, words_spoken = form(text).topics, form(spoken).topics
    stated = len(content & words_spoken) > MIN_STATED_SHARE * len(content)
    return not stated and content.isdisjoint(words_spoken - form(shown).topics)


def own_text(text: str) -> str:
    """Return the text of a turn without the words that its speaker only shows."""
    return _divided(text, 0, len(text), _shown_spans(text))[0]


def parted(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each sentence of a turn with its part in the speaker's own words, and its shown part."""
    spans, at = _shown_spans(text), 0
    for sentence in sentences(text):
        start = max(text.find(sentence, at), at)
        at = start + len(sentence)
        yield sentence, *_divided(text, start, at, spans)


def _parted(one: Citation) -> tuple[str, str]:
    """Split a quote into own and shown words; if it occurs several times, at the place with the fewest shown words."""
    spans, text = _shown_spans(one.turn.text), one.turn.text
    places = [match.start() for match in re.finditer(re.escape(one.words), text)]
    parted = [_divided(text, start, start + len(one.words), spans) for start in places]
    return min(parted, key=lambda part: len(part[1].strip()), default=(one.words, ""))


def _divided(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> tuple[str, str]:
    inside = [(max(start, first), min(end, last)) for first, last in spans if first < end and start < last]
    between = pairwise([start, *chain.from_iterable(inside), end])
    outside = [text[first:last] for first, last in list(between)[::2]]
    return " ".join(outside), " ".join(text[first:last] for first, last in inside)


@depends_on_languages
@lru_cache(maxsize=1 << 4)  # called for each fact of a turn
def _shown_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of a text that show other people's words, sorted and merged."""
    spans = [match.span() for match in _PASSAGE.finditer(text)]
    spans += [*_json(text), *_bracketed(text), *_quotations(text), *_spoken_lines(text)]
    begun = [match.start() for language in registered() for match in language.requests.shows.finditer(text)]
    if brought := brought_along(text):
        begun.append(len(text) - len(brought))
    starts = {start for start, _ in spans}
    spans += [(start, len(text)) for start in begun if start not in starts]
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _json(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span from the first key to the last brace; two searches, as one pattern would be tried at each key."""
    if (first := _JSON_BEGINS.search(text)) and (last := text.rfind("}", first.end())) >= 0:
        yield first.start(), last + 1


def _bracketed(text: str) -> Iterator[tuple[int, int]]:
    """Yield spans from a bracket such as "[page ...]" to its "[/page]"."""
    ends: dict[str, list[int]] = {}
    for close in _BRACKET_CLOSES.finditer(text):
        ends.setdefault(close[1], []).append(close.end())
    for opened in _BRACKET_OPENS.finditer(text) if ends else ():
        known = ends.get(opened[1], [])
        if (at := bisect_right(known, opened.end())) < len(known):
            yield opened.start(), known[at]


def _quotations(text: str) -> list[tuple[int, int]]:
    """Return spans between quotation marks, without words that speakers quote from themselves (I said "...")."""
    spans = []
    for match in _QUOTATION.finditer(text):
        least = MIN_QUOTED_CHARACTERS if has_cjk(match[0]) else MIN_QUOTED_WORDS
        before = text[max(match.start() - MAX_BEFORE_QUOTATION, 0) : match.start()]
        by_speaker = any(language.requests.quotes_oneself.search(before) for language in registered())
        if len(form(match[0]).tokens) >= least and not by_speaker:
            spans.append(match.span())
    return spans


def _spoken_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield other people's lines of a pasted chat ("Ann: ..."), in which a label repeats or a line asks."""
    lines = list(_SPOKEN_LINE.finditer(text))
    labels = [line[1].casefold() for line in lines]
    asks = any(line[0].rstrip().endswith(("?", "？")) for line in lines)
    if len(set(labels)) > 1 and (asks or len(set(labels)) < len(labels)):
        speakers_labels = {word for language in registered() for word in language.statements.first_person}
        yield from (line.span() for line, label in zip(lines, labels, strict=True) if label not in speakers_labels)
