"""The commands entities, entity, timeline, graph and reindex."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from memscope import MemoryScope
from memscope_cli.app import cli
from memscope_cli.commands.entities import BAR_COLUMNS, bar


@pytest.fixture
def run(tmp_path):
    place = str(tmp_path / "m.db")
    with MemoryScope(place) as memory:
        memory.add_turns([{"role": "user", "content": "My sister Kim moved to Lisbon."}], user="u")
        memory.add_turns([{"role": "user", "content": "我妹妹小芳住在上海。"}], user="u")

    def call(*words: str) -> str:
        done = CliRunner().invoke(cli, [*words, "--user", "u", "--store", place], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return call


def test_entities(run):
    lines = run("entities").splitlines()
    assert len(lines) == 4 and any(line.startswith("Kim (my sister)  person  1 turn") for line in lines)
    found = [json.loads(line) for line in run("entities", "--json", "--kind", "place").splitlines()]
    assert {one["name"]: one["count"] for one in found} == {"Lisbon": 1, "上海": 1}


def test_entity(run):
    shown = run("entity", "我妹妹")
    assert shown.startswith("小芳 (我妹妹)  person") and "user: 我妹妹小芳住在上海。" in shown
    found = json.loads(run("entity", "Kim", "--json"))
    assert found["entity"]["aliases"] == ["my sister"] and [one["name"] for one in found["neighbours"]] == ["Lisbon"]


def test_timeline(run):
    assert "Kim *" in run("timeline", "--by", "day")
    assert json.loads(run("timeline", "Kim", "--json"))["buckets"][0]["count"] == 1


@pytest.mark.parametrize("command", [["entities"], ["entity", "Kim"], ["timeline"], ["graph", "Kim"]])
def test_a_date_without_a_zone_is_in_the_systems_zone(run, command):
    assert "Kim" in run(*command, "--as-of", "2999-12-31")


def test_entities_since_a_date(run):
    assert "Kim" in run("entities", "--since", "2020-01-01")


def test_a_bar_has_a_resolution_of_an_eighth():
    assert [len(bar(value, 8)) for value in (0, 1, 4, 8)] == [0, BAR_COLUMNS // 8, BAR_COLUMNS // 2, BAR_COLUMNS]
    assert bar(1, 1000) == "▏"


def test_graph(run):
    assert run("graph") == "Kim - Lisbon  1 turn\n上海 - 小芳  1 turn\n"
    assert run("graph", "Kim", "--svg").startswith("<svg ")
    assert '"Kim" -- "Lisbon"' in run("graph", "Kim", "--dot")
    assert run("graph", "--graphml").startswith("<?xml")
    assert [node["name"] for node in json.loads(run("graph", "小芳", "--json"))["nodes"]] == ["小芳", "上海"]


def test_a_person_merges_and_splits(run):
    assert run("entity", "Kim", "--merge", "小芳").startswith("Kim (小芳, my sister, 我妹妹)  person  2 turns")
    assert run("entity", "Kim", "--split", "小芳").startswith("Kim (my sister)  person  1 turn")


def test_a_person_dismisses_a_name(run):
    assert run("entity", "Kim", "--dismiss") == "Kim is no longer listed\n"
    assert "Kim" not in run("entities")
    assert json.loads(run("entity", "小芳", "--dismiss", "--json")) == {"dismissed": "小芳"}


def test_reindex_extracts_names_again(run):
    assert run("reindex", "--entities") == "u  4 names  4 mentions\n"
    assert json.loads(run("reindex", "--entities", "--json")) == {"user": "u", "entities": 4, "mentions": 4}
