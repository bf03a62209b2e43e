"""``memscope chat``: through a pipe, with --json, and at a terminal."""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from memscope import MemoryScope
from memscope_cli.app import cli
from memscope_cli.commands.input import QUOTES, Pipe, read_message
from memscope_cli.commands.output import visible_text
from memscope_cli.commands.slash import COMMANDS

from servers.faults import FaultServer, Plan, Script

pytestmark = pytest.mark.slow

COLOURS = re.compile(r"\x1b\[[\d;]*m")
PAGE = Path(__file__).parents[2] / "docs" / "chat.md"
EXTRACTED = {
    "turns": [{"turn": 1, "level": 3}],
    "facts": [{"text": "The user moved to Berlin.", "about": "user", "when": "", "keywords": ["Berlin"],
               "quotes": [{"turn": 1, "words": "I moved to Berlin"}]}],
}  # fmt: skip
SCRIPT = [
    {"in": "user", "match": '"by":', "reply": EXTRACTED},
    {"in": "user", "match": '"earlier":', "reply": {"sentences": [], "alone": [1], "relations": []}},
    {"in": "user", "match": "tabs", "reply": "one\ttwo\n\x1b[31mthree"},
    {"in": "user", "match": "moved", "reply": "Nice!"},
    {"in": "user", "match": "Where", "reply": "In Berlin."},
]


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    with FaultServer(script=SCRIPT) as server:
        monkeypatch.setenv("MEMSCOPE_CHAT__BASE_URL", server.base_url)
        monkeypatch.setenv("MEMSCOPE_CHAT__MODEL", "test-chat")
        monkeypatch.setenv("MEMSCOPE_CHAT__FIRST_PAUSE_S", "0.01")
        yield server


def piped(*lines, args=(), user="alice"):
    return CliRunner().invoke(cli, ["chat", "--user", user, *args], input="\n".join(lines) + "\n")


def turns(user="alice"):
    with MemoryScope() as memory:
        return [turn.text for turn in memory.list(user=user, kinds=["turn"])]


# --------------------------------------------------------------------------------------------------------------- a pipe


def test_each_line_is_a_message_and_the_answers_are_all_of_stdout(server):
    done = piped("I moved to Berlin.", "", "Where do I live?")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "Nice!\nIn Berlin.\n", "")
    assert turns() == ["I moved to Berlin.", "Nice!", "Where do I live?", "In Berlin."]


def test_a_later_conversation_is_another_session_that_remembers(server):
    piped("I moved to Berlin.", args=["--session", "one"])
    done = piped("Where did I move?", "/memories", args=["--session", "two"])
    assert "user: I moved to Berlin." in done.stdout and "found by text" in done.stdout


def test_json_prints_one_object_per_message(server):
    done = piped("I moved to Berlin.", "Where do I live?", "/status", args=["--json"])
    one, two, status = map(json.loads, done.stdout.splitlines())
    assert (one["text"], two["text"], two["notes"]) == ("Nice!", "In Berlin.", [])
    assert status["turns"] == 4


def test_add_list_forget_by_id(server):
    done = piped("/add  I Like  TEA ", "/list", args=["--json"])
    added, turn, memory = map(json.loads, done.stdout.splitlines())
    assert turn["text"] == memory["text"] == "I Like  TEA" and memory["id"] == added["id"]
    done = piped(f"/forget {added['id']}", "/list 5")
    assert "1 turn, 1 observation removed" in done.stdout and turns() == []


def test_consolidate_and_reflect_tell_what_they_did(server):
    done = piped("I moved to Berlin.", "/consolidate", "/reflect")
    assert "new         observation  The user moved to Berlin." in done.stdout
    assert "consolidate: 2 turns read, 1 new" in done.stdout and "reflect: " in done.stdout


def test_a_report_of_consolidate_is_not_repeated_as_news(server):
    """Print the report once, although the background news has it as well."""
    done = piped("I moved to Berlin.", "/consolidate")
    assert done.stdout.count("The user moved to Berlin.") == 1 and "[memory]" not in done.output


def test_a_list_that_grows_needs_a_terminal_and_a_number(server):
    assert "refresh_time needs a terminal" in piped("/list 3 refresh_time=1").stderr
    assert "'many'" in piped("/list many").stderr


def test_user_and_session_are_switched(server):
    done = piped("I moved to Berlin.", "/user bob", "/list", "/session s", "/user", "/user  bad\u200b")
    assert "talking as bob, session s" in done.stdout and "Berlin" not in done.stdout
    assert "invisible character" in done.stderr and done.exit_code == 2


def test_command_prefixes_and_memoryscope_names_are_accepted(server):
    done = piped("/retrieve_memory tea", "/mem", "/re", "/nonsense", "/retrieve", "/exit", "Where do I live?")
    assert done.stdout == ""
    nothing, early, short, unknown, bare = done.stderr.splitlines()
    assert "/add" in nothing and "no answer" in early and bare.endswith("/retrieve needs QUERY")
    assert "'/re'" in short and short.endswith("/reflect, /retrieve")
    assert "'/nonsense'" in unknown and unknown.endswith(", ".join(sorted(COMMANDS)))


def test_an_unknown_slash_command_is_reported_in_chinese(server):
    assert piped("/nonsense", "/konsolidate", args=["--language", "zh"]).stderr.splitlines() == [
        f"memscope: 没有 '/nonsense'；已知：{', '.join(sorted(COMMANDS))}",
        "memscope: 没有 '/konsolidate'；是不是 '/consolidate'？",
    ]


def test_help_names_every_command_in_both_languages(server):
    for language, about in (("en", "update the insights"), ("zh", "更新洞察")):
        told = piped("/help", args=["--language", language]).stdout
        assert all(name in told for name in COMMANDS) and about in told


def test_a_model_error_is_one_line_and_the_chat_continues(server):
    server.plan = Plan([{"fault": "server_error", "at": [1, 2, 3]}])
    done = piped("I moved to Berlin.", "Where do I live?")
    assert done.stdout == "\nNice!\n" and done.stderr.startswith("memscope: the endpoint of 'test-chat'")
    assert done.exit_code == 5
    assert turns()[:2] == ["I moved to Berlin.", "Where do I live?"]


def test_without_a_working_embedder_the_chat_continues_with_a_note(server, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_EMBEDDING__BASE_URL", server.base_url)
    monkeypatch.setenv("MEMSCOPE_EMBEDDING__MODEL", "e")
    monkeypatch.setenv("MEMSCOPE_EMBEDDING__ATTEMPTS", "1")
    server.plan = Plan([{"fault": "server_error", "endpoint": "embeddings"}])
    done = piped("Where do I live?")
    assert done.stdout == "In Berlin.\n" and "(without vectors: model_unavailable)" in done.stderr


def test_a_pasted_megabyte_is_refused_politely(server):
    done = piped("x" * 5_000_000, "I moved to Berlin.")
    assert done.stdout == "Nice!\n" and "1,048,576" in done.stderr
    assert done.exit_code == 2 and turns() == ["I moved to Berlin.", "Nice!"]


def test_invisible_characters_of_an_answer_are_shown(server):
    assert piped("tabs?").stdout == "one two\n\\x1b[31mthree\n"


def test_without_a_model_it_says_what_to_set_and_offers_the_demo(server, monkeypatch):
    monkeypatch.delenv("MEMSCOPE_CHAT__BASE_URL")
    monkeypatch.delenv("MEMSCOPE_CHAT__MODEL")
    monkeypatch.delenv("MEMSCOPE_CHAT__FIRST_PAUSE_S")
    done = piped("hello")
    assert done.exit_code == 3 and done.stdout == ""
    assert "MEMSCOPE_CHAT__MODEL=" in done.stderr
    assert "没有可对话的模型" in piped("hello", args=["--language", "zh"]).stderr


# ----------------------------------------------------------------------------------------------------------- the pieces


class Lines:
    asks = True

    def __init__(self, *lines):
        self.lines = list(lines)

    def line(self, prompt):
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)


def test_a_message_of_several_lines_is_read():
    assert read_message(Lines("one"), "> ") == "one"
    assert read_message(Lines("one \\", "two\\", "three"), "> ") == "one \ntwo\nthree"
    assert read_message(Lines(QUOTES, "one", "", "  two", QUOTES, "rest"), "> ") == "one\n\n  two"


def test_long_lines_from_a_pipe_are_cut_off(monkeypatch):
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfone\r\n" + b"y" * 9_000_000 + b"\nz\xff"))
    )
    pipe = Pipe()
    assert pipe.line("") == "one" and len(pipe.line("")) == 1 << 22
    assert pipe.line("") == "z\ufffd"
    with pytest.raises(EOFError):
        pipe.line("")


@given(st.text())
def test_control_characters_do_not_reach_the_terminal(text):
    shown = visible_text(text)
    assert all(char == "\n" or char.isprintable() or not char.isascii() for char in shown)
    assert "\x1b" not in shown and "\u202e" not in shown and "\r" not in shown


# ----------------------------------------------------------------------------------------------------------- a terminal


class Screen:
    """The program in a pseudo-terminal."""

    def __init__(self, *args):
        import pty

        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.execv(sys.executable, [sys.executable, "-m", "memscope", "chat", *args])
        self.seen = ""

    def until(self, text, seconds=60):
        """Read until the text appears after the end of the last match."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0], self.seen
            self.seen = COLOURS.sub("", self.seen + os.read(self.terminal, 65536).decode(errors="replace"))
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def type(self, text):
        os.write(self.terminal, text.encode())

    def ends(self):
        try:
            while os.read(self.terminal, 65536):
                pass
        except OSError:
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])


@pytest.fixture
def screen(server):
    pytest.importorskip("pty")
    open_ = []

    def screen(*args):
        open_.append(Screen(*args))
        return open_[-1]

    yield screen
    for one in open_:
        os.close(one.terminal)


def test_at_a_terminal(screen, monkeypatch):
    monkeypatch.setenv("MEMSCOPE_IDLE_S", "1")
    talk = screen("--user", "alice")
    talk.until("Talking with test-chat as alice")
    talk.until("alice> ")
    talk.type("I moved to Berlin.\r")
    talk.until("assistant> Nice!")
    talk.until("alice> ")
    talk.type("half ")
    told = talk.until("alice> half ")  # news from the background is printed above the line being typed
    assert "[memory]" in told and "The user moved to Berlin." in told
    talk.type("\x15/forg\t")  # Ctrl-U, then completion
    talk.until("/forget ")
    talk.type("Berlin\r")
    talk.until("Go on? [y/N] ")
    talk.type("n\r")
    talk.until("nothing was changed")
    talk.until("alice> ")
    talk.type("\x04")
    assert talk.ends() == 0
    assert turns() == ["I moved to Berlin.", "Nice!"]


def test_the_chat_in_the_docs_happens(screen, server, monkeypatch):
    """Type or expect each line of the conversation in docs/chat.md, in order; only ids differ."""
    monkeypatch.setenv("MEMSCOPE_IDLE_S", "1")
    monkeypatch.setenv("COLUMNS", "200")
    lines = re.search(r"^```\n(alice> .*?)^```$", PAGE.read_text("utf-8"), re.S | re.M)[1].splitlines()
    said = [(one, two) for one, two in pairwise(lines) if two.startswith("assistant> ")]
    answers = [{"in": "user", "match": re.escape(one[7:]), "reply": two[11:]} for one, two in reversed(said)]
    server.script = Script([*SCRIPT[:2], *answers])
    talk = screen("--user", "alice")
    for line in lines:
        talk.until("alice> " if line.startswith("alice> ") else re.sub("[0-9a-f]{32}$", "", line))
        if line.startswith("alice> "):
            talk.type(f"{line[7:]}\r")
    talk.until("alice> ")
    talk.type("\x04")
    assert talk.ends() == 0


def test_a_list_refreshes_until_it_is_stopped(screen):
    talk = screen("--user", "alice")
    talk.until("alice> ")
    talk.type("/list_memory refresh_time=1\r")
    talk.until("no records")
    with MemoryScope() as memory:
        memory.add_turns([{"role": "user", "content": "I moved to Berlin."}], user="alice")
    assert talk.until("I moved to Berlin.").count("turn") == 1
    os.kill(talk.child, signal.SIGINT)
    talk.until("(stopped)")
    talk.until("alice> ")
    talk.type("/exit\r")
    assert talk.ends() == 0


def test_ctrl_c_stops_the_answer_but_not_the_chat(screen, server):
    server.script = Script([{"match": ".", "reply": "word " * 40}])
    server.plan = Plan([{"fault": "stall", "seconds": 60, "at": [1]}])
    talk = screen("--user", "alice")
    talk.until("alice> ")
    talk.type("Tell me a story.\r")
    talk.until("word word")
    os.kill(talk.child, signal.SIGINT)
    talk.until("(stopped)")
    talk.until("alice> ")
    talk.type("/exit\r")
    assert talk.ends() == 0
    assert turns() == ["Tell me a story."]


def test_a_paste_of_several_lines_is_one_message(screen):
    talk = screen("--user", "alice")
    talk.until("alice> ")
    talk.type("\x1b[200~I moved\nto Berlin.\x1b[201~")
    talk.until("to Berlin.")
    talk.type("\r")
    talk.until("Nice!")
    talk.until("alice> ")
    talk.type("/exit\r")
    assert talk.ends() == 0
    assert turns()[0] == "I moved\nto Berlin."
