"""Audit: what is found without a model, and what is left in peace."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from memscope import MemoryScope
from memscope.prompts.memory_block import block
from memscope.reconciliation.audit import audit
from memscope.records import Insight, Interval, Observation, Scope, Turn
from memscope_cli.app import cli

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ALICE = Scope("alice")


def turn(key, text, hours=0, **more):
    time = NOW + timedelta(hours=hours)
    return Turn(key, ALICE, more.pop("role", "user"), "alice", text, time, time, **more)


def fact(id, text, *sources, hours=0, **more):
    time = NOW + timedelta(hours=hours)
    return Observation(id=id, scope=ALICE, text=text, sources=sources or ("t",), said=time, recorded=time, **more)


SAID = turn("t", "hello")


def found(*records):
    return [(finding.kind, finding.ids) for finding in audit([SAID, *records])]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user likes green tea with honey.", "The user really likes green tea with honey."),
        ("The user's sister Anna plays the cello in Berlin.", "User's sister Anna plays cello in Berlin."),
        ("用户喜欢喝绿茶。", "用户很喜欢喝绿茶。"),
        ("The user's sister Anna plays the cello in Berlin.", "The user's sister Anna plays jazz cello in Berlin."),
    ],
)
def test_near_doubles(one, other):
    assert found(fact("a", one), fact("b", other, hours=1)) == [("doubled", ("a", "b"))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user lives in Berlin.", "The user lives in Lisbon."),
        ("The user works at Google.", "The user works for a bakery in Porto."),
        ("The user is 41 years old.", "The user is 42 years old."),
        ("The user eats meat.", "The user does not eat meat."),
        ("用户住在北京。", "用户住在上海。"),
        ("用户吃肉。", "用户不吃肉。"),
    ],
)
def test_contradictions(one, other):
    assert found(fact("a", one), fact("b", other, hours=1)) == [("contradiction", ("a", "b"))]
    assert found(fact("a", one), fact("b", other, hours=1, about="Tom")) == []
    written = fact("a", one, about="Katherine"), fact("b", other, hours=1, about="Catherine")
    assert found(*written) == [("contradiction", ("a", "b"))]
    assert found(fact("a", one, closed=NOW), fact("b", other)) == []
    assert found(fact("a", one, valid_to=NOW), fact("b", other)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user likes green tea.", "The user likes coffee."),
        ("The user lives in Berlin.", "The user lives in Berlin, near the park."),
        ("The user lives in Berlin, near the park.", "The user lives in Berlin."),
        ("The user ran 5 km on Monday.", "The user ran 8 km on Monday."),
        ("The user has a dog.", "The user does not eat meat."),
        ("用户喜欢茶。", "用户喜欢咖啡。"),
    ],
)
def test_what_goes_together_is_left_in_peace(one, other):
    assert found(fact("a", one), fact("b", other, hours=1)) == []


def test_insights_are_doubled_only_of_one_subject():
    home, again = (
        Insight(
            id=id,
            scope=ALICE,
            text="The user lives in Berlin.",
            sources=("t",),
            said=NOW,
            recorded=NOW,
            subject=subject,
        )
        for id, subject in (("a", "home"), ("b", "home"))
    )
    assert found(home, again) == [("doubled", ("a", "b"))]
    assert found(home, replace(again, subject="travel")) == []


def test_the_same_event_on_two_days_is_two():
    days = [Interval(NOW + timedelta(days=day), NOW + timedelta(days=day + 1)) for day in (1, 8)]
    text = "The user went swimming in the lake."
    assert found(*(fact(str(n), text, happened=day) for n, day in enumerate(days))) == []


def test_memories_without_a_living_source():
    insight = Insight(id="i", scope=ALICE, text="x", sources=("gone",), said=NOW, recorded=NOW, subject="work")
    assert found(fact("a", "The user has a dog.", "gone"), insight) == [("unsourced", ("a",)), ("unsourced", ("i",))]
    assert found(fact("a", "The user has a dog.", "gone", "t"), replace(insight, sources=("a",))) == []


def test_loops():
    known = fact("a", "The user has a dog named Rex.")
    back = turn("u", "As I recall, the user has a dog named Rex.", 1, role="assistant")
    learned = fact("b", "Rex is a dog.", "u", hours=2)
    assert found(known, back, learned) == [("loop", ("u", "b"))]
    assert found(known, back) == [], "nothing was learned from it"
    pasted = turn("u", f"{block('2026-01-01 user: I like tea')} thanks", 1)
    assert found(pasted, fact("b", "The user is thankful.", "u", hours=2)) == [("loop", ("u", "b"))]
    assert found(fact("b", "The user has a dog named Rex.", "u", hours=2), back) == []


def test_a_thousand_memories_with_common_words_are_looked_at():
    many = [fact(str(n), f"The user visited museum {n} in the city.") for n in range(1000)]
    assert found(*many, fact("x", "The user likes oolong."), fact("y", "The user really likes oolong.", hours=1)) == [
        ("doubled", ("x", "y"))
    ]


def test_the_command_names_what_mends_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def run(*args):
        return CliRunner().invoke(cli, ["--store", "memory.db", "--user", "alice b", *args])

    with MemoryScope("memory.db", settings={}) as memory:
        old = memory.add_memory("The user lives in Berlin.", user="alice b")
    assert run("audit").exit_code == 0
    with MemoryScope("memory.db", settings={}) as memory:
        memory.add_memory("The user lives in Lisbon.", user="alice b")
        (finding,) = memory.admin.audit(user="alice b")
    done = run("audit")
    assert done.exit_code == 6 and "Berlin" in done.stdout and "Lisbon" in done.stdout
    told = json.loads(run("audit", "--json").stdout)
    assert (told["kind"], tuple(told["ids"])) == (finding.kind, finding.ids)
    mend = f"memscope --store memory.db forget --id {old.id} --user 'alice b'"
    assert told["mend"] == mend and mend in " ".join(done.stdout.split())
    assert run(*told["mend"].split()[3:6]).exit_code == 0
    assert run("audit").exit_code == 0


def test_the_command_asks_only_where_there_is_a_model(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with MemoryScope("memory.db", settings={}) as memory:
        memory.add_memory("The user lives in Berlin.", user="alice")

    def run(*args):
        return CliRunner().invoke(cli, ["--store", "memory.db", "--user", "alice", "audit", *args])

    asked = run("--ask", "1")
    assert asked.exit_code == 3 and "set chat" in " ".join(asked.output.split())
    assert run("--ask", "0").exit_code == 2 and run("--preview").exit_code != 0
    assert run().exit_code == 0
