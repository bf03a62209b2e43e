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
    before = [line for turn in batch.before if (line := _as_context(_line(turn))).text]
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


def _line(turn: Turn) -> TranscriptLine:
    return TranscriptLine(turn, spoken_text(turn), context=False)


def _unread(turn: Turn, batch: FactBatch) -> TranscriptLine:
    """Return the unread rest of the turn, or the turn as context if nothing is left."""
    line, read = _line(turn), batch.read.get(turn.key, 0)
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
    data: list[dict[str, Json]] = []
    for number, line in enumerate(lines, 1):
        turn, text = line.turn, line.text
        name = visible(turn.speaker)  # "Anna" among people, "Anna (user)" before an assistant, "user" without a name
        speaker = name if turn.role == "person" or name == turn.role else f"{name} ({turn.role})"
        entry: dict[str, Json] = {"n": number, "at": f"{turn.time:%Y-%m-%d %a %H:%M}", "by": speaker}
        if len(sessions) > 1:
            entry["conversation"] = sessions.index(turn.scope.session) + 1
        short = {name: full for name, full in names.items() if has_name(text, name)}
        meant = {name: full for name, full in short.items() if not has_name(text, full)}
        marks: dict[str, Json] = {"continued": line.continued, "context": line.context, "names": meant}
        data.append({**entry, "text": text, **{name: mark for name, mark in marks.items() if mark}})
    return data
