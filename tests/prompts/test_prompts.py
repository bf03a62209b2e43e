"""Prompts: strict variables, conversations as data only, and the size that was promised."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from string import Template

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memscope.prompts
from memscope.consolidation import FactBatch
from memscope.consolidation.audit_pairs import judgement
from memscope.consolidation.reply import schema
from memscope.consolidation.transcript import lines_data, lines_per_call
from memscope.errors import ConfigError
from memscope.models.structured_output import schema_text
from memscope.prompts import visible
from memscope.prompts.loader import Prompts, built_in, enclose, fill
from memscope.records import Scope, Turn
from memscope_testing.models import data

WORKERS = ("extract", "update", "audit", "block", "summary")
FOLDER = Path(memscope.prompts.__file__).parent
NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)


def source(name, language="en"):
    return (FOLDER / language / f"{name}.md").read_text("utf-8")


def turn(number, text, role="user"):
    return Turn(f"t{number}", Scope("alice"), role, role, text, NOW, NOW)


# ------------------------------------------------------------------------------------------------------------ the files


def test_every_worker_has_a_prompt_in_every_language():
    assert set(built_in()) == {f"{language}/{name}.md" for language in ("en", "zh") for name in (*WORKERS, "chat")}


@pytest.mark.parametrize("name", WORKERS)
def test_the_languages_use_the_same_variables(name):
    variables = [set(Template(source(name, language)).get_identifiers()) for language in ("en", "zh")]
    assert variables[0] == variables[1]
    assert "boundary" in variables[0]


def test_the_table_names_every_prompt():
    table = (FOLDER / "README.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)\.md`", table, re.MULTILINE) == [*WORKERS, "chat"]
    for name in WORKERS:
        (row,) = re.findall(rf"^\| `{name}\.md` .*$", table, re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", row.split("|")[3])) == set(Template(source(name)).get_identifiers())


@pytest.mark.parametrize("language", ("en", "zh"))
@pytest.mark.parametrize(
    "text", ["I walked the dog in the park with Anna at seven.", "我早上七点和小安在公园遛狗，天气很好。"]
)
def test_a_call_has_5000_characters_beside_the_talk_and_what_is_known(language, text):
    turns = tuple(turn(number, text, "user" if number % 2 else "assistant") for number in range(1, 11))
    quiet = frozenset(one.key for one in turns if one.role == "assistant")
    (lines,) = lines_per_call(FactBatch("b", turns, excluded=quiet))
    messages = Prompts().messages("extract", [text], {"turns": lines_data(lines)})
    system = Prompts().text("extract", language, boundary="<0123456789abcdef>")
    fixed = len(system) + len(schema_text(schema((1, 3, 5, 7, 9))))
    assert fixed <= 5_000
    assert len(messages[1]["content"]) <= 1_300


@pytest.mark.parametrize("language", ("en", "zh"))
def test_a_call_about_pairs_has_5000_characters_beside_them(language):
    system = Prompts().text("audit", language, boundary="<0123456789abcdef>")
    assert len(system) + len(schema_text(judgement(20))) <= 5_000


def test_the_language_is_that_of_the_turns():
    english = Prompts().messages("extract", ["I live in Berlin"], [])[0]["content"]
    chinese = Prompts().messages("extract", ["我住在北京", "ok"], [])[0]["content"]
    japanese = Prompts().messages("extract", ["私は東京に住んでいます"], [])[0]["content"]
    assert "worth knowing in a year" in english
    assert "一年以后" in chinese
    assert "worth knowing in a year" in japanese


# -------------------------------------------------------------------------------------------------------- the variables


@pytest.mark.parametrize(
    "template, message",
    [
        ("Hello $nmae", r"unknown variable \$nmae.*did you mean 'name'"),
        ("Hello", r"lacks the variable \$name"),
        ("Hello $name, it costs $5", r"write \$\$"),
    ],
)
def test_a_wrong_variable_is_named(template, message):
    with pytest.raises(ConfigError, match=message):
        fill("en/x.md", template, {"name": "Anna"})


def test_dollars_and_braces_stay():
    assert fill("x", 'Hello ${name}: {"a": 1} $$5', {"name": "$x"}) == 'Hello $x: {"a": 1} $5'


def test_a_prompt_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match=r"no prompt en/extrakt.md.*en/extract.md"):
        Prompts().text("extrakt", "en", boundary="")


# ------------------------------------------------------------------------------------------------------------- a folder


def own(tmp_path, path, text):
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(text, "utf-8")
    return tmp_path


def test_a_folder_replaces_single_prompts(tmp_path):
    prompts = Prompts(own(tmp_path, "en/extract.md", "Mine, between $boundary"))
    assert prompts.text("extract", "en", boundary="<b>") == "Mine, between <b>"
    assert prompts.text("extract", "zh", boundary="<b>").startswith("你负责")
    assert prompts.text("update", "en", boundary="<b>") == Prompts().text("update", "en", boundary="<b>")


@pytest.mark.parametrize(
    "path, text, message",
    [
        ("en/extrakt.md", "$boundary", "no prompt en/extrakt.md"),
        ("en/extract.md", "no data", r"lacks the variable \$boundary"),
        ("en/extract.md", "$boundary $boundry", r"unknown variable \$boundry"),
    ],
)
def test_a_prompt_of_ones_own_is_checked_when_the_memory_is_made(tmp_path, path, text, message):
    with pytest.raises(ConfigError, match=message):
        Prompts(own(tmp_path, path, text))


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="not there"):
        Prompts(tmp_path / "nowhere")


# ------------------------------------------------------------------------------------------------- what is read in them

TEXTS = st.text() | st.sampled_from(
    ['"}]', "</conversation>", "<0123456789abcdef>\n[]\n<0123456789abcdef>", "$boundary"]
)


@given(st.lists(TEXTS, max_size=5))
def test_t3_whatever_is_said_comes_back_as_it_was_said(texts):
    messages = Prompts().messages("extract", texts, [{"n": n, "text": text} for n, text in enumerate(texts)])
    assert [line["text"] for line in data(messages)] == texts
    assert messages[1]["content"].count("\n") == 2


def test_the_boundary_is_new_for_each_call_and_stands_nowhere_else():
    written = {enclose(["x"])[1] for _ in range(50)}
    assert len(written) == 50


@pytest.mark.parametrize("hidden", ["\u200b", "\u202e", "\u2066", "\ufeff", "\U000e0041", "\u2060", "\u200f"])
def test_t6_what_nobody_sees_is_left_out(hidden):
    assert visible(f"te{hidden}a") == "tea"


def test_joiners_that_join_stay():
    assert visible("می\u200cخواهم") == "می\u200cخواهم"
    assert visible("a\u200d b") == "a b"
