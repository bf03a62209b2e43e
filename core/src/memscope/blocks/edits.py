"""Edits of a block's text. All other characters are preserved: tabs, blanks, line ends."""

from __future__ import annotations

from memscope.errors import InputError

NEWLINE = "\n"


def append(value: str, text: str) -> str:
    """Add the text as new lines at the end."""
    _check_not_empty("text", text)
    return f"{value}{'' if not value or value.endswith(NEWLINE) else NEWLINE}{text}"


def replace(value: str, old: str, new: str) -> str:
    """Replace the only occurrence of ``old``; raise ``InputError`` with the count if there is not exactly one."""
    _check_not_empty("the text to replace", old)
    at = _only_place(value, old)
    return value[:at] + new + value[at + len(old) :]


def remove(value: str, text: str) -> str:
    """Remove the only occurrence of a text; for whole lines, also their line end."""
    _check_not_empty("the text to remove", text)
    at = _only_place(value, text)
    before, after = value[:at], value[at + len(text) :]
    if not before or before.endswith(NEWLINE):
        if after.startswith(NEWLINE):
            after = after[1:]
        elif not after:
            before = before.removesuffix(NEWLINE)
    return before + after


def insert(value: str, text: str, line: int) -> str:
    """Insert the text before this line, counted from 1; -1 appends it."""
    _check_not_empty("text", text)
    check_whole_number("line", line)
    if line == -1 or not value:
        return append(value, text)
    lines = value.split(NEWLINE)
    if not 1 <= line <= len(lines) + 1:
        raise InputError(f"there is no line {line}", hint=f"lines go from 1 to {len(lines) + 1}, -1 is the end")
    return NEWLINE.join([*lines[: line - 1], text, *lines[line - 1 :]])


def check_whole_number(what: str, value: object) -> None:
    if type(value) is not int:
        raise InputError(f"{what} must be a whole number, got {value!r}")


def _check_not_empty(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise InputError(f"{what} must be text, got {type(text).__name__}")
    if not text:
        raise InputError(f"{what} is empty", hint="to empty the whole block, rewrite it with an empty text")


def _only_place(value: str, text: str) -> int:
    """Return the position of the only match; overlapping matches count separately."""
    places = [at for at in range(len(value) - len(text) + 1) if value.startswith(text, at)]
    if not places:
        raise InputError("the text is not in the block (0 matches)", hint="copy it exactly, blanks and case included")
    if len(places) > 1:
        lines = ", ".join(str(value.count(NEWLINE, 0, at) + 1) for at in places[:5])
        hint = f"on lines {lines}; give more of the text around the place that is meant"
        raise InputError(f"the text is in the block {len(places)} times", hint=hint)
    return places[0]
