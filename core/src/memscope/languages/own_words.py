"""Words of a turn that are its speaker's own, and those that they only show: quoted, pasted, forwarded, brought along.

What is shown has the rank of a tool's words: people have to state a fact themselves, or add to it what is not shown
("My sign says ...").
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

MIN_STATED_SHARE = 0.5  # share of a fact's words that people have to say where it rests on the words of others too
MIN_QUOTED_WORDS, MIN_QUOTED_CHARACTERS = 3, 5  # between quotation marks; what is shorter is a name, or a title
MAX_BEFORE_QUOTATION = 120  # characters that are searched for who is quoted
# Code, what stands between tags, a mail's quoted lines, a table, CSV with a head, an indented block, lines of a log or
# of a chat with their time.
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
    """Words of a turn, as they stand in it; ``place``: of the turn among the lines."""

    turn: Turn
    words: str
    context: bool
    place: int


def is_shown(text: str, cited: Sequence[Citation]) -> bool:
    """Return whether a fact stands in what people only show, and not in words of their own."""
    parts = [_parted(one) for one in cited if not one.context]
    spoken, shown = (" ".join(part) for part in zip(*parts, strict=True))
    if not shown.strip():
        return False
    content, words_spoken = form(text).topics, form(spoken).topics
    stated = len(content & words_spoken) > MIN_STATED_SHARE * len(content)
    return not stated and content.isdisjoint(words_spoken - form(shown).topics)


def own_text(text: str) -> str:
    """Return what of a turn its speaker does not only show."""
    return _divided(text, 0, len(text), _shown_spans(text))[0]


def parted(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the sentences of a turn, each with what of it is its speaker's own, and what is shown."""
    spans, at = _shown_spans(text), 0
    for sentence in sentences(text):
        start = max(text.find(sentence, at), at)
        at = start + len(sentence)
        yield sentence, *_divided(text, start, at, spans)


def _parted(one: Citation) -> tuple[str, str]:
    """Return what of a quote is its speaker's own, and what is shown; of several places the one that is own."""
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
@lru_cache(maxsize=1 << 4)  # asked for each fact of a turn
def _shown_spans(text: str) -> list[tuple[int, int]]:
    """Return where a text shows words of others, in order and apart."""
    spans = [match.span() for match in _PASSAGE.finditer(text)]
    spans += [*_json(text), *_bracketed(text), *_quotations(text), *_spoken_lines(text)]
    begun = [match.start() for one in registered() for match in one.requests.shows.finditer(text)]
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
    """Yield the span from the first key to the last brace. One search for each: a pattern would try every key."""
    if (first := _JSON_BEGINS.search(text)) and (last := text.rfind("}", first.end())) >= 0:
        yield first.start(), last + 1


def _bracketed(text: str) -> Iterator[tuple[int, int]]:
    """Yield what stands between "[page ...]" and "[/page]"."""
    ends: dict[str, list[int]] = {}
    for close in _BRACKET_CLOSES.finditer(text):
        ends.setdefault(close[1], []).append(close.end())
    for opened in _BRACKET_OPENS.finditer(text) if ends else ():
        known = ends.get(opened[1], [])
        if (at := bisect_right(known, opened.end())) < len(known):
            yield opened.start(), known[at]


def _quotations(text: str) -> list[tuple[int, int]]:
    """Return the sentences between quotation marks, but for those that the speaker says are their own."""
    spans = []
    for match in _QUOTATION.finditer(text):
        least = MIN_QUOTED_CHARACTERS if has_cjk(match[0]) else MIN_QUOTED_WORDS
        before = text[max(match.start() - MAX_BEFORE_QUOTATION, 0) : match.start()]
        by_speaker = any(one.requests.quotes_oneself.search(before) for one in registered())
        if len(form(match[0]).tokens) >= least and not by_speaker:
            spans.append(match.span())
    return spans


def _spoken_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lines of a chat between several, but for the speaker's: a label comes back, or what is said asks."""
    lines = list(_SPOKEN_LINE.finditer(text))
    labels = [line[1].casefold() for line in lines]
    asks = any(line[0].rstrip().endswith(("?", "？")) for line in lines)
    if len(set(labels)) > 1 and (asks or len(set(labels)) < len(labels)):
        speakers_labels = {word for one in registered() for word in one.statements.first_person}
        yield from (line.span() for line, label in zip(lines, labels, strict=True) if label not in speakers_labels)
