"""Facts are made without a call: what every adapter's ``test_background.py`` asks, over a scripted model behind HTTP.

Run as a program it is an agent's process: ``python -m adapters.background MODULE STORE URL {ends,forks}``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from memscope import AsyncMemoryScope, MemoryScope
from memscope_testing.models import IdealChat
from memscope_testing.scripted import ScriptedModel

from servers.faults import FaultServer, Script
from servers.faults.replies import Reply

TOLD = ("My boat is called Aurora.", "I moved to Berlin.", "I play the cello.", "My sister is called Nora.")
OTHERS = "I collect stamps."
SECONDS = 60.0


def ideal_chat(*texts: str) -> IdealChat:
    facts = [
        {"turns": [at], "text": f"The user said: {text}", "about": "user", "when": "", "keywords": ["said"]}
        | {"level": 3, "quote": text}
        for at, text in enumerate(texts)
    ]
    return IdealChat([{"text": text} for text in texts], facts)


class ModelScript(Script):
    """Answers as an ideal model does, for whom each of ``texts`` is a fact; ``asked`` has the prompts."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.chat, self.asked = ideal_chat(*texts), []

    def answer(self, body: dict[str, Any]) -> Reply | None:
        self.asked.append(json.dumps(body["messages"]))
        try:
            self.chat.chat(body["messages"]).send(None)
        except StopIteration as done:
            return Reply(done.value.text)
        raise RuntimeError("an ideal model never waits")


def settings(store: Path | str, url: str, **more: Any) -> dict[str, Any]:
    chat = {"model": "test-chat", "base_url": url, "key": "none"}
    return {"store": str(store), "chat": chat, "idle_s": 0.1, "poll_s": 0.2, "retry_s": 0.1, **more}


def facts(store: Path | str, user: str) -> set[str]:
    with MemoryScope(store, settings={}) as memory:
        return {one.text.removeprefix("The user said: ") for one in memory.list(user=user, kinds=["observation"])}


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def run(module: str, *args: object) -> subprocess.CompletedProcess[str]:
    """An agent's process; it must end by itself and warn of nothing."""
    tests = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "adapters.background", module, *map(str, args)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3 * SECONDS, check=False)


@pytest.mark.slow
class BackgroundSuite:
    """``module`` is the adapter's ``talking``; its ``talk_with(memory, script, user)`` is a real agent with memory."""

    module: str

    @pytest.fixture
    def script(self, fault_server: FaultServer) -> ModelScript:
        fault_server.script = ModelScript(*TOLD, OTHERS)
        return fault_server.script

    def talk(self, memory: Any, user: str = "alice") -> Any:
        return import_module(self.module).talk_with(memory, ScriptedModel(), user)

    async def test_facts_are_there_without_a_further_call(self, tmp_path, fault_server, script):
        talk = self.talk(settings(tmp_path / "m.db", fault_server.base_url))
        for text in TOLD[:2]:
            await talk.say(text)
        await asyncio.to_thread(wait_until, lambda: facts(tmp_path / "m.db", "alice") == set(TOLD[:2]))
        await talk.close()

    async def test_one_line_in_the_log_says_so(self, tmp_path, fault_server, script, caplog):
        caplog.set_level(logging.INFO)
        talk = self.talk(settings(tmp_path / "m.db", fault_server.base_url))
        for text in TOLD[:2]:
            await talk.say(text)
            await asyncio.to_thread(wait_until, lambda text=text: text in facts(tmp_path / "m.db", "alice"))
        await talk.close()
        assert len([one for one in caplog.records if "memories are made in the background" in one.getMessage()]) == 1

    async def test_it_can_be_turned_off(self, tmp_path, fault_server, script):
        talk = self.talk(settings(tmp_path / "m.db", fault_server.base_url, background=False, batch_turns=1))
        await talk.say(TOLD[0])
        await talk.close()
        assert script.asked == []

    async def test_a_callers_own_instance_is_left_alone(self, tmp_path, fault_server, script):
        given = settings(tmp_path / "m.db", fault_server.base_url, batch_turns=1)
        async with AsyncMemoryScope(settings=given) as memory:
            await self.talk(memory).say(TOLD[0])
            assert memory.admin.runtime.work.background is None
        assert script.asked == []

    async def test_nobody_elses_users_are_worked_on(self, tmp_path, fault_server, script):
        with MemoryScope(tmp_path / "m.db", settings={}) as memory:
            await asyncio.to_thread(memory.add_turns, [{"role": "user", "content": OTHERS}], user="bob")
        talk = self.talk(settings(tmp_path / "m.db", fault_server.base_url, poll_s=0.05))
        for text in TOLD[:2]:
            await talk.say(text)
            await asyncio.to_thread(wait_until, lambda text=text: text in facts(tmp_path / "m.db", "alice"))
        await talk.close()
        assert facts(tmp_path / "m.db", "bob") == set()
        assert not any(OTHERS in prompt for prompt in script.asked)

    def test_a_loop_per_request(self, tmp_path, fault_server, script):
        given = settings(tmp_path / "m.db", fault_server.base_url)
        talks = [self.talk(given, user) for user in ("alice", "carol")]
        for text in TOLD:
            for talk in talks:
                asyncio.run(talk.say(text))
        for user in ("alice", "carol"):
            wait_until(lambda user=user: facts(tmp_path / "m.db", user) == set(TOLD))
        for talk in talks:
            asyncio.run(talk.close())

    def test_a_short_run_ends_at_once_and_the_next_one_has_its_facts(self, tmp_path, fault_server, script):
        fault_server.latency = {"seconds": 4 * SECONDS}
        done = run(self.module, tmp_path / "m.db", fault_server.base_url, "ends")
        fault_server.latency = None
        assert (done.returncode, done.stderr) == (0, "")
        assert facts(tmp_path / "m.db", "alice") == set()
        talk = self.talk(settings(tmp_path / "m.db", fault_server.base_url))
        asyncio.run(talk.say("ok"))
        wait_until(lambda: facts(tmp_path / "m.db", "alice") == {*TOLD})
        asyncio.run(talk.close())

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
    def test_a_server_that_forks_its_workers(self, tmp_path, fault_server, script):
        done = run(self.module, tmp_path / "m.db", fault_server.base_url, "forks")
        assert (done.returncode, done.stderr) == (0, "")
        assert facts(tmp_path / "m.db", "alice") == {TOLD[0], TOLD[1], TOLD[3]}
        assert facts(tmp_path / "m.db", "carol") == {TOLD[2]}


# ------------------------------------------------------------------------------------------------------ the program


def program(module: str, store: str, url: str, what: str) -> None:
    talk_with = import_module(module).talk_with
    given = settings(store, url, **({"batch_turns": 2, "lease_s": 2.0} if what == "ends" else {}))
    alice = talk_with(given, ScriptedModel(), "alice")
    if what == "ends":
        for text in TOLD:
            asyncio.run(alice.say(text))
    else:
        asyncio.run(alice.say(TOLD[0]))
        wait_until(lambda: TOLD[0] in facts(store, "alice"))
        asyncio.run(alice.say(TOLD[3]))
        children = [fork(lambda: alice, TOLD[1], "alice", store)]
        children += [fork(lambda: talk_with(given, ScriptedModel(), "carol"), TOLD[2], "carol", store)]
        wait_until(lambda: TOLD[3] in facts(store, "alice"))
        for child in children:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def fork(talk: Callable[[], Any], text: str, user: str, store: str) -> int:
    """A worker of the server that says ``text``: to what its parent opened, or to what it opens itself."""
    child = os.fork()
    if child == 0:
        asyncio.run(talk().say(text))
        wait_until(lambda: text in facts(store, user))
        sys.exit()
    return child


if __name__ == "__main__":
    program(*sys.argv[1:])
