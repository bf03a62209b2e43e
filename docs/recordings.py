"""Record the demo and the chat in a terminal, as moving pictures for the README: ``python docs/recordings.py``.

Each is a real run of the program in a pseudo-terminal. The pictures show its output, line by line at a reader's pace.
The chat talks with the scripted model of the tests, which has nothing but what memory shows it.
"""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

DOCS = Path(__file__).parent
ROWS, COLUMNS, CHARACTER, LINE = 24, 92, 12.2, 24.4  # of the picture; rich's width and height of a character
PACE_S, REST_S = 0.35, 4.0  # a line, and the end before it begins anew
QUIET_S, LONGEST_S = 1.0, 120.0
CONTROL = re.compile(r"\x1b\[\?[\d;]*[a-z]|\x1b\[[\d;]*[A-HJKSTfnsu]|\x1b[=>]|\r")
ERASED = re.compile(r"[^\n]*\n\x1b\[1A\x1b\[2K|[^\n]*\x1b\[2K")  # a bar of progress that went, or was drawn anew
FRAME = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 WIDTH HEIGHT">
<style>
.{unique_id}-matrix {{ font: 20px "Fira Code", Menlo, Consolas, "Noto Sans Mono CJK SC", monospace }}
{styles}
MOTION
</style>
<defs>{lines}</defs>
<rect width="WIDTH" height="HEIGHT" rx="8" fill="#0c0c0c"/>
<svg x="16" y="16" width="{terminal_width}" height="VIEW"><g class="{unique_id}-matrix">{backgrounds}{matrix}</g></svg>
</svg>
"""
VOLATILE = re.compile(r"\d+\.\d+ (s|秒)|\d:\d\d:\d\d|/\S*/memory.db|[0-9a-f]{32}|\b20\d\d-\d\d-\d\d [\d:]+( \w+)?")
BOAT = (r"(?=.*What is my boat called).*boat is called (\w+)", r"Your boat is called \1.", "I will keep that in mind.")
船 = (r"(?=.*我的船叫什么).*我的船叫(\w+?)[，。]", r"你的船叫\1。", "好的，我记住了。")


@dataclass(frozen=True)
class Recording:
    """A command, and what is typed while it runs: each line once it asks."""

    arguments: Sequence[str]
    prompt: str = ""
    typed: Sequence[str] = ()
    rule: Sequence[str] = field(
        default=("", "", "")
    )  # of the scripted model: what it must see, its reply, and any other


RECORDINGS: Mapping[str, Recording] = {
    "demo": Recording(["demo", "--language", "en"]),
    "demo-zh": Recording(["demo", "--lang", "zh"]),
    "chat": Recording(
        ["chat", "--user", "alice"],
        "alice> ",
        [
            "My boat is called Merle, she lies in Kiel.",
            "/session tomorrow",
            "What is my boat called?",
            "/memories",
            "/exit",
        ],
        BOAT,
    ),
    "chat-zh": Recording(
        ["chat", "--user", "小明", "--lang", "zh"],
        "小明> ",
        ["我的船叫海鸥，停在青岛。", "/session 明天", "我的船叫什么？", "/memories", "/exit"],
        船,
    ),
}


def run(recording: Recording) -> list[str]:
    """Return the lines that a terminal shows, with their colours, the command first."""
    sys.path.insert(0, str(DOCS.parent / "tests"))
    from servers.faults import FaultServer

    seen, reply, other = recording.rule
    script = [{"match": seen, "in": "all", "reply": reply, "expand": True}, {"match": "", "reply": other}]
    with FaultServer(script=script) as server, tempfile.TemporaryDirectory() as folder:
        chat = (
            {"MEMSCOPE_CHAT__BASE_URL": server.base_url, "MEMSCOPE_CHAT__MODEL": "a-model"} if recording.typed else {}
        )
        place = {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder}
        environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
        command = [sys.executable, "-m", "memscope", *recording.arguments]
        output = _played(command, recording, {**environ, **place, **chat}, folder)
    shown = CONTROL.sub("", ERASED.sub("", output.decode().replace("\r", ""))).rstrip("\n").split("\n")
    return [f"$ memscope {' '.join(recording.arguments)}", *shown]


def _played(command: Sequence[str], recording: Recording, environ: Mapping[str, str], folder: str) -> bytes:
    """Return what the program wrote; a line is typed when it has been waiting at a prompt."""
    ours, theirs = pty.openpty()
    output, waiting = b"", list(recording.typed)
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(environ), cwd=folder)
    os.close(theirs)
    try:
        while select.select([ours], [], [], LONGEST_S)[0] and (read := _read(ours)):
            output += read
            if waiting and output.endswith(recording.prompt.encode()) and not select.select([ours], [], [], QUIET_S)[0]:
                os.write(ours, waiting.pop(0).encode() + b"\n")
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return output


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux's end of a terminal without a process
        return b""


def picture(name: str, lines: Sequence[str]) -> str:
    """Return an SVG of the lines, which come one after another and scroll as in a terminal, again and again."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor")
    for line in lines:
        console.print(Text.from_ansi(line))
    rows = len(console.export_text(clear=False).splitlines())
    whole = rows * PACE_S + REST_S
    shares = [100 * row * PACE_S / whole for row in range(rows)]
    roll = " ".join(
        f"{share:.1f}% {{ transform: translateY({-LINE * (row + 1 - ROWS):.1f}px) }}"
        for row, share in enumerate(shares)
        if row >= ROWS
    )
    play = f"{whole:.1f}s step-end {REST_S - whole:.1f}s infinite"  # begin with the end: the picture is never empty
    rules = [f"@keyframes {name}-roll {{ {roll} }}", f".{name}-matrix {{ animation: {name}-roll {play} }}"]
    for row, share in enumerate(shares):
        rules.append(
            f"@keyframes {name}-{row} {{ 0% {{ visibility: hidden }} {share:.1f}% {{ visibility: visible }} }}"
        )
        rules.append(f"[clip-path='url(#{name}-line-{row})'] {{ animation: {name}-{row} {play} }}")
    rules.append("@media (prefers-reduced-motion: reduce) { * { animation: none !important } }")
    motion = "\n".join(rules).replace("{", "{{").replace("}", "}}")
    height = min(rows, ROWS) * LINE
    width = f"{console.width * CHARACTER + 32:.0f}"
    frame = (
        FRAME.replace("MOTION", motion)
        .replace("WIDTH", width)
        .replace("VIEW", f"{height:.0f}")
        .replace("HEIGHT", f"{height + 32:.0f}")
    )
    return set_widths(console.export_svg(theme=MONOKAI, unique_id=name, code_format=frame))


def set_widths(svg: str) -> str:
    """Give each text the width of its cells: rich counts a Chinese character as one, so that they overlap."""

    def widen(part: re.Match[str]) -> str:
        return f'textLength="{cell_len(unescape(part[2])) * CHARACTER:.5g}"{part[1]}>{part[2]}</text>'

    return re.sub(r'textLength="[\d.]+"([^>]*)>([^<]*)</text>', widen, svg)


def words(svg: str) -> list[str]:
    """Return the lines of a picture as text."""
    found: dict[int, str] = {}
    for row, part in re.findall(r"line-(\d+)\)\">([^<]*)</text>", svg):
        found[int(row)] = found.get(int(row), "") + unescape(part)
    return [found[row].replace("\xa0", " ").rstrip() for row in sorted(found)]


def without_times(line: str) -> str:
    """Return a line without what differs from run to run: durations, today's dates, ids, places of files."""
    return VOLATILE.sub("...", line)


if __name__ == "__main__":
    for name in sys.argv[1:] or RECORDINGS:
        (DOCS / f"{name}.svg").write_text(picture(name, run(RECORDINGS[name])), encoding="utf-8")
