"""Turns as the model reads them: numbered lines of JSON, without what memory put there or what nobody sees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memscope.consolidation.batch import FactBatch
from memscope.prompts import visible
from memscope.records import Json, Turn
from memscope.text.units import chunks

CHARACTERS = 8_000  # of turns in one call; a longer turn is read in several
CONTEXT = 400  # characters of a turn that is only context
_BLOCK = re.compile(r'<memory source="memscope">.*?</memory>', re.DOTALL)  # what an adapter shows to a model


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A turn, or a part of a long one. ``context``: nothing is noted from it alone."""

    turn: Turn
    text: str
    context: bool


def spoken_text(turn: Turn) -> str:
    return visible(_BLOCK.sub(" ", turn.text)).strip()


def lines_per_call(batch: FactBatch) -> Iterator[list[TranscriptLine]]:
    """The lines of each call: one call, but for a turn that is longer than a call may be."""
    lines = [_line(turn, context=True) for turn in batch.before]
    lines += [_line(turn, context=turn.key in batch.quiet) for turn in batch.turns]
    long = next((line for line in lines if len(line.text) > CHARACTERS), None)
    if long is None:
        yield [line for line in lines if line.text]
    else:
        yield from ([replace(long, text=part)] for part in _parts(long.text))


def _line(turn: Turn, *, context: bool) -> TranscriptLine:
    text = spoken_text(turn)
    return TranscriptLine(turn, _shortened(text) if context else text, context)


def _shortened(text: str) -> str:
    return text if len(text) <= CONTEXT else f"{text[: CONTEXT - 120]} … {text[-100:]}"


def _parts(text: str) -> list[str]:
    """Pieces of up to ``CHARACTERS``, cut where paragraphs or sentences end."""
    parts = [""]
    for piece in chunks(text):
        if len(parts[-1]) + len(piece) > CHARACTERS and parts[-1]:
            parts.append("")
        parts[-1] += piece
    return parts


def lines_data(lines: Sequence[TranscriptLine]) -> list[dict[str, Json]]:
    return [_line_data(number, line) for number, line in enumerate(lines, 1)]


def _line_data(number: int, line: TranscriptLine) -> dict[str, Json]:
    told = {"n": number, "at": f"{line.turn.time:%Y-%m-%d %a %H:%M}", "by": _speaker(line.turn), "text": line.text}
    return {**told, "context": True} if line.context else told


def _speaker(turn: Turn) -> str:
    """ "Anna" among people, "Anna (user)" before an assistant, "user" without a name."""
    name = visible(turn.speaker)
    return name if turn.role == "person" or name == turn.role else f"{name} ({turn.role})"
