"""Demo conversations over several weeks, written for this project in English and Chinese, and their file format.

A file has one conversation per line, as a JSON object (UTF-8):

    id, lang, speakers[],
    sessions[]   id, date_time (ISO, by default UTC), turns[] {id, speaker, text, image_caption?}
    questions[]  id, question, answer, category, category_name, evidence[] (ids of the turns that answer it)

Other fields are preserved. Sessions are in chronological order, and ids are unique within a conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

from memscope.errors import InputError

DEMO_LANGUAGES = ("en", "zh")

_STRING_FIELD, _LIST_FIELD, _STRING_OR_INTEGER = (str,), (list,), (str, int)
_FIELD_TYPE_NAMES: dict[tuple[type, ...], str] = {
    _STRING_FIELD: "text",
    _LIST_FIELD: "a list",
    _STRING_OR_INTEGER: "text or a number",
}
_LINE_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "conversation": {"id": _STRING_FIELD, "speakers": _LIST_FIELD, "sessions": _LIST_FIELD, "questions": _LIST_FIELD},
    "session": {"id": _STRING_OR_INTEGER, "date_time": _STRING_FIELD, "turns": _LIST_FIELD},
    "turn": {"id": _STRING_FIELD, "speaker": _STRING_FIELD, "text": _STRING_FIELD},
    "question": {"id": _STRING_FIELD, "question": _STRING_FIELD, "evidence": _LIST_FIELD},
}


def load(language: str) -> dict[str, Any]:
    """Load the built-in conversation in ``language``, one of ``DEMO_LANGUAGES``."""
    if language not in DEMO_LANGUAGES:
        raise InputError(
            f"no demo conversation in {language!r}", hint=f"there is one in {' and in '.join(DEMO_LANGUAGES)}"
        )
    [conversation] = conversations(Path(__file__).with_name(f"conversation_{language}.jsonl"))
    return conversation


def conversations(path: str | PathLike[str]) -> Iterator[dict[str, Any]]:
    """Read and validate the conversations of a file one by one.

    Raise ``InputError`` with the file, the line and the id of an invalid entry.
    """
    seen: set[str] = set()
    for number, line in _lines(Path(path)):
        where = f"{str(path)!r} line {number}"
        try:
            conversation = _conversation(json.loads(line))
            _check_unique("conversation", conversation["id"], seen)
        except InputError as error:
            raise InputError(f"{where}: {error}", hint="memscope_cli.demo describes the format") from None
        except (ValueError, RecursionError):  # json's own message would quote the line
            raise InputError(f"{where} is not JSON", hint="one conversation per line, as a JSON object") from None
        yield conversation


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from ((number, line) for number, line in enumerate(file, 1) if line.strip())
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}", hint="check the path") from error
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not UTF-8", hint="save it as UTF-8") from None


def _conversation(value: object) -> dict[str, Any]:
    conversation = _check_record("conversation", value)
    turns: set[str] = set()
    _check_sessions(conversation["sessions"], turns, conversation["speakers"])
    _check_questions(conversation["questions"], turns)
    return conversation


def _check_sessions(values: Iterable[object], turns: set[str], speakers: list[object]) -> None:
    seen: set[str] = set()
    last = datetime.min.replace(tzinfo=UTC)
    for session in (_check_record("session", value) for value in values):
        _check_unique("session", session["id"], seen)
        time = said_at(session)
        if time < last:
            raise InputError(f"session {session['id']!r} is earlier than the one before it")
        last = time
        for turn in session["turns"]:
            _check_turn(_check_record("turn", turn), turns, speakers)


def _check_turn(turn: dict[str, Any], seen: set[str], speakers: list[object]) -> None:
    _check_unique("turn", turn["id"], seen)
    if turn["speaker"] not in speakers:
        raise InputError(f"the speaker of turn {turn['id']!r} is not among 'speakers'")
    if not turn["text"] and not turn.get("image_caption"):
        raise InputError(f"turn {turn['id']!r} is empty")


def _check_questions(values: Iterable[object], turns: set[str]) -> None:
    seen: set[str] = set()
    for question in (_check_record("question", value) for value in values):
        _check_unique("question", question["id"], seen)
        for turn in question["evidence"]:
            if not isinstance(turn, str) or turn not in turns:
                raise InputError(f"question {question['id']!r} names a missing turn as its evidence")


def _check_record(kind: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"a {kind} is not a JSON object")
    for field, types in _LINE_FIELDS[kind].items():
        if not isinstance(value.get(field), types):
            of = f"{kind} {value['id']!r}" if field != "id" else f"a {kind}"
            raise InputError(f"{field!r} of {of} must be {_FIELD_TYPE_NAMES[types]}")
    return value


def _check_unique(kind: str, key: Any, seen: set[Any]) -> None:
    if key in seen:
        raise InputError(f"two {kind}s have the id {key!r}")
    seen.add(key)


def said_at(session: Mapping[str, Any]) -> datetime:
    try:
        time = datetime.fromisoformat(session["date_time"])
    except ValueError:
        raise InputError(f"'date_time' of session {session['id']!r} is not an ISO time") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
