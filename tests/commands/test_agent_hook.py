"""``memscope agent-hook`` with input and output in the published format of Claude Code's hooks."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from memscope import MemoryScope

pytestmark = pytest.mark.slow

FACT, QUESTION = "My boat is called Aurora.", "What is my boat called?"


def hook(store, event, *more, **variables):
    """Run the command like an agent and return stdout and stderr. The exit code must be 0."""
    text = event if isinstance(event, bytes) else json.dumps(event).encode()
    args = [sys.executable, "-m", "memscope", "--store", str(store), "agent-hook", *more]
    environment = {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(store.parent), "MEMSCOPE_USER": "alice"}
    done = subprocess.run(args, input=text, capture_output=True, env=environment | variables, timeout=120, check=False,
                          cwd=store.parent)  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


def prompt(text, session="one"):
    common = {"session_id": session, "transcript_path": "/nowhere.jsonl", "cwd": "/", "permission_mode": "default"}
    return {**common, "hook_event_name": "UserPromptSubmit", "prompt": text}


def end(reply, session="one"):
    common = {"session_id": session, "transcript_path": "/nowhere.jsonl", "cwd": "/", "permission_mode": "default"}
    return {**common, "hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": reply}


def turns(store, **scope):
    with MemoryScope(store, settings={}) as memory:
        return [(turn.role, turn.text) for turn in memory.list(user="alice", kinds=["turn"], **scope)]


@pytest.fixture
def store(tmp_path):
    return tmp_path / "memory.db"


def test_a_prompt_and_a_reply_are_recorded_and_recalled_in_another_session(store):
    assert hook(store, prompt(FACT), "--deadline", "60") == ("", "")
    assert hook(store, end("Noted."), "--deadline", "60") == ("", "")
    assert turns(store, session="one") == [("user", FACT), ("assistant", "Noted.")]
    out, err = hook(store, prompt(QUESTION, "two"), "--deadline", "60")
    added = json.loads(out)["hookSpecificOutput"]
    assert added["hookEventName"] == "UserPromptSubmit" and FACT in added["additionalContext"] and err == ""
    assert turns(store, session="two") == [("user", QUESTION)]


def test_turns_in_the_agents_own_context_are_not_recalled(store):
    hook(store, prompt(FACT), "--deadline", "60")
    assert hook(store, prompt(QUESTION), "--deadline", "60")[0] == ""


def test_a_reply_is_read_from_the_transcript(store, tmp_path):
    said = [{"type": "user", "message": {"role": "user", "content": FACT}},
            {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]}},
            {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash"}]}}]  # fmt: skip
    assert hook(store, transcript(tmp_path, *map(json.dumps, said)), "--deadline", "60") == ("", "")
    assert turns(store) == [("assistant", "Noted.")]


def transcript(folder, *lines):
    (folder / "t.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    event = {**end(""), "transcript_path": str(folder / "t.jsonl")}
    del event["last_assistant_message"]
    return event


def test_a_transcript_may_hold_odd_characters_and_a_line_that_is_not_complete(store, tmp_path):
    text = "Noted.\u2028Aurora."  # raw in a JSON string, which JavaScript writes so
    reply = json.dumps({"type": "assistant", "message": {"content": text}}, ensure_ascii=False)
    event = transcript(tmp_path, reply, "[]", reply[:-10])
    assert hook(store, event, "--deadline", "60") == ("", "")
    assert turns(store) == [("assistant", text)]


def test_stdin_that_is_not_json_says_so(store):
    assert "not the JSON object" in hook(store, b"{", "--deadline", "60")[1]


@pytest.mark.parametrize("event", [b"no json", b"[]", {"hook_event_name": "PreToolUse"}, {}], ids=str)
def test_anything_else_prints_nothing(store, event):
    assert hook(store, event, "--deadline", "60")[0] == ""


def test_over_its_deadline_it_prints_nothing(store):
    hook(store, prompt(FACT), "--deadline", "60")
    assert hook(store, prompt(QUESTION, "two"), "--deadline", "0") == ("", "")


def test_without_a_user_the_agent_continues_and_the_reason_is_printed(store):
    out, err = hook(store, prompt(FACT), "--deadline", "60", MEMSCOPE_USER="")
    assert out == "" and "--user" in err


def test_a_store_that_cannot_be_opened_does_not_stop_the_agent(tmp_path):
    (tmp_path / "memory.db").mkdir()
    out, err = hook(tmp_path / "memory.db", prompt(FACT), "--deadline", "60")
    assert out == "" and err.startswith("memscope: the agent goes on without memory")
