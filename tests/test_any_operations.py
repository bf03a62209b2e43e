"""Any order of operations of two users: nothing is lost, stored twice, shown to the other, or left once forgotten."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import tempfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from memscope import MemoryScope
from memscope.errors import Conflict, InputError, NotFound
from memscope.records import Turn
from memscope_cli.sqlite_recovery import restore
from memscope_testing.models import ScriptedChat, data
from reflecting import Placing

from workbench import heard, told_of

USERS = st.sampled_from(("alice", "bob"))
SESSIONS = st.sampled_from((None, "monday", "tuesday"))
AGENTS = st.sampled_from((None, "coach"))
VERDICTS = ("", "contradicts", "ends", "repeats")
WORD = re.compile(r"zorb[a-z]+q")
OPTIONS = {"background": False, "consolidation": {"context_turns": 0}, "timezone": "UTC"}


def _model(messages):
    """Take each turn for a fact that repeats, ends or contradicts a known one, or none, by the letters of its word."""
    shown = data(messages)
    if "turns" not in shown:
        return Placing({"things": ["zorb"]})(messages)
    reply, known = heard(messages), shown.get("known", ())
    for fact in reply["facts"]:
        verdict = VERDICTS[ord(WORD.search(fact["text"])[0][4]) % len(VERDICTS)]
        fact["known"] = [told_of(one["k"], one["text"], verdict) for one in known[:1] if verdict]
    return reply


def _words(text: str) -> set[str]:
    return set(WORD.findall(text))


class Operations(RuleBasedStateMachine):
    """By user, ``turns``: the word of each; ``stated``: the words of each statement; ``gone``: forgotten words."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.now, self.numbers = datetime(2026, 11, 5, 12, tzinfo=UTC), itertools.count()
        self.turns: dict[str, dict[str, str]] = {"alice": {}, "bob": {}}
        self.stated: dict[str, dict[str, set[str]]] = {"alice": {}, "bob": {}}
        self.gone: dict[str, set[str]] = {"alice": set(), "bob": set()}
        self.expiring = {"alice": {}, "bob": {}}
        self.open()

    def path(self, name: str) -> Path:
        return Path(self.folder.name, name)

    def tick(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now

    def open(self) -> None:
        self.memory = MemoryScope(
            self.path("memory.db"), chat=ScriptedChat(_model), clock=lambda: self.now, settings=OPTIONS
        )

    def teardown(self) -> None:
        self.memory.close()
        self.folder.cleanup()

    def word(self) -> str:
        number = next(self.numbers)
        return "zorb" + "".join(chr(97 + number // 26**place % 26) for place in range(3)) + "q"

    def records(self, user: str):
        return self.memory.list(user=user, superseded=True)

    # ---- writing

    @rule(user=USERS, session=SESSIONS, agent=AGENTS, count=st.integers(1, 3))
    def add(self, user, session, agent, count) -> None:
        words = [self.word() for _ in range(count)]
        turns = [{"role": "user", "content": f"I own a {word}.", "time": self.tick()} for word in words]
        for _ in range(2):  # added twice, each is stored once
            report = self.memory.add_turns(turns, user=user, agent=agent, session=session)
        assert report.stored == 0
        self.turns[user] |= dict(zip(report.keys, words, strict=True))

    @rule(user=USERS, agent=AGENTS, name=st.sampled_from((None, "note")))
    def state(self, user, agent, name) -> None:
        word = self.word()
        memory = self.memory.add_memory(f"I sold my {word}.", user=user, agent=agent, name=name, time=self.tick())
        self.stated[user][memory.id] = {word}

    @rule(user=USERS)
    def state_insight(self, user) -> None:
        word = self.word()
        memory = self.memory.add_memory(
            f"The user likes {word}.", user=user, kind="insight", subject="things", time=self.tick()
        )
        self.stated[user][memory.id] = {word}

    @rule(user=USERS, chosen=st.integers(0, 1000))
    def correct(self, user, chosen) -> None:
        if ids := list(self.stated[user]):
            word, id = self.word(), ids[chosen % len(ids)]
            self.tick()
            self.memory.update(id, user=user, text=f"I sold my {word}.")
            self.stated[user][id].add(word)

    @rule(user=USERS)
    def consolidate(self, user) -> None:
        self.tick()
        report = self.memory.consolidate(user=user)
        assert not report.errors

    @rule(user=USERS)
    def reflect(self, user) -> None:
        self.tick()
        assert not self.memory.reflect(user=user).errors

    @rule(user=USERS, chosen=st.integers(0, 1000), how=st.sampled_from(("append", "rethink", "erase")))
    def edit_block(self, user, chosen, how) -> None:
        self.tick()
        blocks = self.memory.blocks(user)
        if how == "erase":
            with suppress(NotFound):
                blocks.erase("human")
        elif sources := list(self.turns[user]):
            key = sources[chosen % len(sources)]
            with suppress(InputError):  # nothing would change
                getattr(blocks, how)("human", f"Owns {self.turns[user][key]}.", sources=[key])

    @rule(user=USERS, how=st.sampled_from(("merge", "split")), chosen=st.integers(0, 1000))
    def join_names(self, user, how, chosen) -> None:
        self.tick()
        if len(names := [entity.name for entity in self.memory.entities(user).list()]) > 1:
            with suppress(NotFound, Conflict):
                getattr(self.memory.entities(user), how)(names[chosen % len(names)], names[(chosen + 1) % len(names)])

    # ---- passing

    @rule(user=USERS, kind=st.sampled_from(("observation", "insight")))
    def state_for_a_while(self, user, kind) -> None:
        word = self.word()
        more = {"kind": kind, "subject": word} if kind == "insight" else {}
        expires = self.tick() + timedelta(minutes=4)
        memory = self.memory.add_memory(f"I rent a {word}.", user=user, expires=expires, time=self.now, **more)
        self.stated[user][memory.id] = {word}
        self.expiring[user][memory.id] = (word, expires)

    @rule(user=USERS)
    def sweep(self, user) -> None:
        self.memory.admin.sweep(user=user)
        for id, (_, expires) in list(self.expiring[user].items()):
            if expires <= self.now and id in self.stated[user]:
                self.gone[user] |= self.stated[user].pop(id)

    @invariant()
    def what_expired_is_hidden(self) -> None:
        for user, expiring in self.expiring.items():
            listed = str([record.text for record in self.records(user)])
            for id, (word, expires) in expiring.items():
                if id in self.stated[user]:
                    assert (word in listed) == (expires > self.now)

    # ---- forgetting

    def forgotten(self, user: str, **what) -> None:
        counted = self.memory.forget(user=user, dry_run=True, **what)
        report = self.memory.forget(user=user, **what)
        ids = set(counted.ids)
        assert (counted.turns, counted.observations, counted.insights) == (
            report.turns, report.observations, report.insights
        )  # fmt: skip
        assert report.physical in ("wiped", "none")
        before = set(self.turns[user].values()).union(*self.stated[user].values())
        left = {record.key if isinstance(record, Turn) else record.id for record in self.records(user)}
        self.turns[user] = {key: word for key, word in self.turns[user].items() if key not in ids}
        self.stated[user] = {id: words for id, words in self.stated[user].items() if id not in ids}
        assert not left.intersection(ids)
        self.gone[user] |= before - set(self.turns[user].values()).union(*self.stated[user].values())

    @rule(user=USERS, chosen=st.integers(0, 1000))
    def forget_record(self, user, chosen) -> None:
        if records := self.records(user):
            record = records[chosen % len(records)]
            id = record.key if isinstance(record, Turn) else record.id
            self.forgotten(user, ids=[id])
            assert id not in self.turns[user] and id not in self.stated[user]

    @rule(user=USERS, chosen=st.integers(0, 1000))
    def forget_word(self, user, chosen) -> None:
        if words := list(self.turns[user].values()):
            word = words[chosen % len(words)]
            self.forgotten(user, text=word)
            assert word in self.gone[user]

    @rule(user=USERS, session=SESSIONS)
    def forget_session(self, user, session) -> None:
        if session:
            self.forgotten(user, session=session)

    @rule(user=USERS)
    def forget_document(self, user) -> None:
        self.forgotten(user, name="note")

    @rule(user=USERS)
    def forget_everything(self, user) -> None:
        self.forgotten(user, everything=True)
        assert not self.turns[user] and not self.stated[user]

    # ---- moving

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.open()

    @rule()
    def copy(self) -> None:
        assert not self.memory.admin.copy(self.path("copy.db")).unequal
        copied = self.path("copy.db").read_bytes()
        assert not [word for gone in self.gone.values() for word in gone if word.encode() in copied]

    @rule()
    def back_up_and_restore(self) -> None:
        self.path("backup.db").unlink(missing_ok=True)
        self.memory.admin.backup(self.path("backup.db"))
        self.memory.close()
        assert not asyncio.run(restore(self.path("backup.db"), self.path("memory.db")))["returned"]
        self.open()

    @rule()
    def export_over_itself(self) -> None:
        self.memory.admin.export(self.path("export.jsonl"))
        before = [self.memory.list(user=user, superseded=True) for user in ("alice", "bob")]
        self.memory.admin.import_(self.path("export.jsonl"))
        assert [self.memory.list(user=user, superseded=True) for user in ("alice", "bob")] == before

    @rule()
    def move(self) -> None:
        """Go on in an import of an export."""
        self.memory.admin.export(self.path("export.jsonl"))
        before = [self.memory.list(user=user, superseded=True) for user in ("alice", "bob")]
        self.memory.close()
        for file in self.path("memory.db").parent.glob("memory.db*"):
            file.unlink()
        self.open()
        self.memory.admin.import_(self.path("export.jsonl"))
        after = [self.memory.list(user=user, superseded=True) for user in ("alice", "bob")]
        for old, new in zip(before, after, strict=True):
            assert sorted(record.text for record in old) == sorted(record.text for record in new)

    # ---- what holds after each

    @invariant()
    def each_turn_is_listed_once(self) -> None:
        for user, turns in self.turns.items():
            listed = [turn.key for turn in self.memory.list(user=user, kinds=["turn"]) if not turn.statement]
            assert sorted(listed) == sorted(turns)

    @invariant()
    def each_turn_is_found(self) -> None:
        for user, turns in self.turns.items():
            for key, word in list(turns.items())[-3:]:
                assert word in self.memory.retrieve(word, user=user, k=1)[0].text, key

    @invariant()
    def nothing_forgotten_is_anywhere(self) -> None:
        self.memory.admin.export(self.path("look.jsonl"))
        exported = self.path("look.jsonl").read_text()
        shown = {user: self.memory.context("zorb things", user=user, k=20) for user in self.turns}
        bytes_left = self.path("memory.db").read_bytes()
        for user, gone in self.gone.items():
            for word in gone:
                assert word not in exported
                assert word not in shown[user]
                assert word.encode() not in bytes_left

    @invariant()
    def nobody_sees_anothers(self) -> None:
        for user, other in (("alice", "bob"), ("bob", "alice")):
            foreign = set(self.turns[other].values()).union(*self.stated[other].values())
            seen = json.dumps([record.text for record in self.records(user)]) + self.memory.context("zorb", user=user)
            assert not foreign & _words(seen)

    @invariant()
    def sources_live(self) -> None:
        for user in self.turns:
            for id in {id for record in self.records(user) if not isinstance(record, Turn) for id in record.sources}:
                self.memory.get(id, user=user)


@pytest.mark.slow
def test_any_order_of_operations():
    """To look for longer, raise ``max_examples``; without shrinking, a failure is shown at once and in full."""
    run_state_machine_as_test(
        Operations, settings=settings(max_examples=12, stateful_step_count=25, phases=[Phase.generate])
    )
