"""Make the units of many turns in subprocesses, since Python threads share one core.

A subprocess starts when there is work and ends after a few idle seconds, or when its input closes as this process ends.
It knows the languages registered by name; if it cannot run, the units are made in this process.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from io import BytesIO
from queue import Empty, SimpleQueue
from typing import IO, Any, TypeAlias, cast
from zoneinfo import ZoneInfo

from memscope.languages.registry import named_places, register
from memscope.records import INJECTED, Role, Scope, Turn
from memscope.search.units import Unit, turn_units

MAX_PROCESSES = 4
IDLE_S = 5.0
NICENESS = 10  # of a subprocess: other users' calls go before an import
SLICE_S, PAUSE_S = 0.003, 0.001
_LENGTHS = struct.Struct("<2Q")
_COMMAND = (sys.executable, "-P", "-c", "from memscope.search.unit_processes import serve; serve()")

TurnsToMake: TypeAlias = Sequence[Turn | None]
Made: TypeAlias = list[list[Unit]]
Places: TypeAlias = list[tuple[str, str]]


def make(turns: TurnsToMake) -> Made:
    """Make units, pausing 1 ms every 3 ms so that the event loop gets its turn."""
    units: Made = []
    paused = time.monotonic()
    for turn in turns:
        units.append([])
        for unit in turn_units(turn) if turn is not None else ():
            units[-1].append(unit)
            if time.monotonic() - paused > SLICE_S:
                time.sleep(PAUSE_S)
                paused = time.monotonic()
    return units


class Makers:
    """The subprocesses of one store, each served by a thread of this process."""

    def __init__(self) -> None:
        self._work: SimpleQueue[tuple[TurnsToMake, Future[Made]]] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._most = min(os.cpu_count() or 1, MAX_PROCESSES)

    def submit(self, turns: TurnsToMake) -> Future[Made]:
        future: Future[Made] = Future()
        with self._lock:
            self._work.put((turns, future))
            self._threads = [thread for thread in self._threads if thread.is_alive()]  # a fork keeps no threads
            if len(self._threads) < self._most:
                self._threads.append(threading.Thread(target=self._serve, name="memscope-make", daemon=True))
                self._threads[-1].start()
        return future

    def _serve(self) -> None:
        process = _Process.start() if self._most > 1 else None
        while (work := self._next()) is not None:
            turns, future = work
            if not future.set_running_or_notify_cancel():  # the import was stopped
                continue
            try:
                future.set_result((process and process.make(turns)) or make(turns))
            except Exception as error:
                future.set_exception(error)
        if process is not None:
            process.end()

    def _next(self) -> tuple[TurnsToMake, Future[Made]] | None:
        """Wait for work; after an idle time return None, which ends this thread."""
        with suppress(Empty):
            return self._work.get(timeout=IDLE_S)
        with self._lock:
            with suppress(Empty):
                return self._work.get_nowait()
            self._threads.remove(threading.current_thread())
        return None


class _Process:
    """A subprocess that makes units until it fails, with the languages registered when it started."""

    def __init__(self, process: subprocess.Popen[bytes], languages: Places) -> None:
        self._process, self._languages = process, languages
        self._input, self._output = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        _send(self._input, languages)

    @classmethod
    def start(cls) -> _Process | None:
        """Start a subprocess that ignores Ctrl-C; return None if that is impossible."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        languages = named_places()
        if languages is None:
            return None
        try:
            process = subprocess.Popen(
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
            )
            return cls(process, languages)
        except OSError:
            return None

    def make(self, turns: TurnsToMake) -> Made | None:
        """Return the units of turns; None if this subprocess cannot make them."""
        try:
            if named_places() != self._languages or self._process.poll() is not None:
                return None
            _send(self._input, [turn and _to_plain(turn) for turn in turns])
            return _unpack_units(*_receive(self._output))
        except (OSError, EOFError, ValueError):
            self.end()
            return None

    def end(self) -> None:
        self._process.kill()
        with suppress(OSError), self._process:
            pass


# in the subprocess


def serve() -> None:
    """Answer turns on standard input with their units until it closes."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        for name, place in _receive(source)[0]:
            register(name, place)
        while True:
            turns = [plain and _from_plain(*plain) for plain in _receive(source)[0]]
            _send(target, *_pack_units([list(turn_units(turn)) if turn else [] for turn in turns]))


def _send(pipe: IO[bytes], what: Any, data: bytes = b"") -> None:
    head = json.dumps(what).encode()
    pipe.write(_LENGTHS.pack(len(head), len(data)) + head + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> tuple[Any, bytes]:
    lengths = pipe.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        raise EOFError
    head, data = map(pipe.read, _LENGTHS.unpack(lengths))
    return json.loads(head), data


def _pack_units(turns: Made) -> tuple[Any, bytes]:
    shapes = [[(unit.seq, len(unit.columns), len(unit.terms), unit.text) for unit in units] for units in turns]
    return shapes, b"".join(part for units in turns for unit in units for part in (unit.columns, unit.terms))


def _unpack_units(shapes: Any, data: bytes) -> Made:
    source = BytesIO(data)
    return [[Unit(seq, source.read(c), source.read(t), text) for seq, c, t, text in units] for units in shapes]


def _to_plain(turn: Turn) -> tuple[Any, ...]:
    """Return everything that a turn's units depend on."""
    scope, zone = turn.scope, getattr(turn.time.tzinfo, "key", None)
    words = (turn.role, turn.speaker, turn.text, turn.time.isoformat(), zone)
    return (*words, scope.agent, scope.session, turn.statement, INJECTED in turn.metadata)


def _from_plain(
    role: Role, speaker: str, text: str, time: str, zone: str | None, agent: str | None, session: str | None,
    statement: bool, injected: bool,
) -> Turn:  # fmt: skip
    when = datetime.fromisoformat(time)
    when = when.astimezone(ZoneInfo(zone)) if zone else when
    metadata = {INJECTED: True} if injected else {}
    return Turn("", Scope("user", agent, session), role, speaker, text, when, when, metadata, statement)
