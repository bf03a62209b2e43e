"""Turns as the model reads them: numbered JSON lines, without injected memory blocks and invisible characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from memscope.consolidation.batch import FactBatch
from memscope.prompts import visible
from memscope.prompts.memory_block import MARKED_BLOCK
from memscope.records import Json, Turn
from memscope.records.filters import has_name
from memscope.search.units import chunks

MAX_TRANSCRIPT_CHARS = 8_000  # per call; longer turns are split over several
MAX_CONTEXT_CHARS = 400  # of a turn that is shown only as context
MAX_CONTEXT_TURNS = 4  # of a batch's first half, shown with its second half
MIN_PART_CHARS = 1_000  # turns up to this length are not split further


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A turn, or a part of a long one. ``context``: no fact may rest on this line alone."""

    turn: Turn
    text: str
    context: bool
    continued: bool = False  # an earlier part was read in another call


def spoken_text(turn: Turn) -> str:
    return visible(MARKED_BLOCK.sub(" ", turn.text)).strip()


def lines_per_call(batch: FactBatch) -> list[list[TranscriptLine]]:
    """Group the lines into calls: usually a single one; each part of an overlong turn gets its own."""
    before = [line for turn in batch.before if (line := _line(turn, context=True)).text]
    calls: list[list[TranscriptLine]] = [[]]
    for line in (_unread(turn, batch) for turn in batch.turns):
        if len(line.text) > MAX_TRANSCRIPT_CHARS:
            calls += [[part] for part in _parts(line, MAX_TRANSCRIPT_CHARS)] + [[]]
        elif line.text:
            calls[-1].append(line)
    return [[*before, *call] for call in calls if citable_lines(call)]


def halves(lines: Sequence[TranscriptLine]) -> list[list[TranscriptLine]]:
    """Split a call in two: half of the turns each, or half of a single long turn. Empty if that turn is too short."""
    places = [number - 1 for number in citable_lines(lines)]
    if len(places) > 1:
        middle = places[len(places) // 2]
        before = [_as_context(line) for line in lines[:middle]][-MAX_CONTEXT_TURNS:]
        return [list(lines[:middle]), [*before, *lines[middle:]]]
    line = lines[places[0]]
    size = max(len(line.text) // 2 + 1, MIN_PART_CHARS)
    parts = _parts(line, size) if len(line.text) > size else []
    return [[*lines[: places[0]], part] for part in parts]


def citable_lines(lines: Sequence[TranscriptLine]) -> dict[int, TranscriptLine]:
    """Map line numbers of the call to the lines that facts may cite."""
    return {number: line for number, line in enumerate(lines, 1) if not line.context}


def _line(turn: Turn, *, context: bool) -> TranscriptLine:
    line = TranscriptLine(turn, spoken_text(turn), False)
    return _as_context(line) if context else line


def _unread(turn: Turn, batch: FactBatch) -> TranscriptLine:
    """Return the unread rest of the turn, or the turn as context if nothing is left."""
    line, read = _line(turn, context=False), batch.read.get(turn.key, 0)
    if turn.key in batch.excluded | batch.unread or 0 < len(line.text) <= read:
        return _as_context(line)
    return replace(line, text=line.text[read:], continued=read > 0)


def _as_context(line: TranscriptLine) -> TranscriptLine:
    text = line.text
    short = text if len(text) <= MAX_CONTEXT_CHARS else f"{text[: MAX_CONTEXT_CHARS - 120]} … {text[-100:]}"
    return replace(line, text=short, context=True)


def _parts(line: TranscriptLine, size: int) -> list[TranscriptLine]:
    """Split into pieces of up to ``size`` characters where paragraphs or sentences end."""
    parts = [""]
    for piece in chunks(line.text):
        if len(parts[-1]) + len(piece) > size and parts[-1]:
            parts.append("")
        parts[-1] += piece
    return [replace(line, text=part, continued=line.continued or place > 0) for place, part in enumerate(parts)]


# ------------------------------------------------------------------------------------------------------------- as JSON


def lines_data(
    lines: Sequence[TranscriptLine], names: Mapping[str, str] = MappingProxyType({})
) -> list[dict[str, Json]]:
    """List the lines as JSON, each with the number of its conversation if there are several.

    ``names``: full names by short name; each line gets those of the names that its text uses.
    """
    sessions = list(dict.fromkeys(line.turn.scope.session for line in lines))
    numbers = {session: number for number, session in enumerate(sessions, 1)} if len(sessions) > 1 else {}
    return [
        _line_data(number, line, numbers.get(line.turn.scope.session), names) for number, line in enumerate(lines, 1)
    ]


def _line_data(
    number: int, line: TranscriptLine, conversation: int | None, names: Mapping[str, str]
) -> dict[str, Json]:
    entry: dict[str, Json] = {"n": number, "at": f"{line.turn.time:%Y-%m-%d %a %H:%M}", "by": _speaker(line.turn)}
    if conversation is not None:
        entry["conversation"] = conversation
    short = {name: full for name, full in names.items() if has_name(line.text, name)}
    meant = {name: full for name, full in short.items() if not has_name(line.text, full)}
    marks: dict[str, Json] = {"continued": line.continued, "context": line.context, "names": meant}
    return {**entry, "text": line.text, **{name: mark for name, mark in marks.items() if mark}}


def _speaker(turn: Turn) -> str:
    """ "Anna" among people, "Anna (user)" before an assistant, "user" without a name."""
    name = visible(turn.speaker)
    return name if turn.role == "person" or name == turn.role else f"{name} ({turn.role})"
