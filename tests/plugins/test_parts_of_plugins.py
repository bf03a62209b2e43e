"""Features of the ranking, recognisers of names and tools for models, each by a stranger's plugin."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from memscope import AsyncMemoryScope
from memscope.errors import PluginError
from memscope.retrieval.features import Feature, FeatureInputs

SAID = ["We painted the fence green.", "The fence in the yard is broken.", "Bo likes the fence."]


def newest(inputs: FeatureInputs) -> Any:
    return inputs.candidates.time / max(inputs.candidates.time.max(), 1) == 1


class Newest:
    def memscope_register_features(self, register):
        register("newest", Feature("newest", newest, "the newest of all", 50.0))


async def test_a_feature_of_a_plugin_decides_and_explain_sums_to_the_score():
    async with AsyncMemoryScope(":memory:", plugins=[Newest()]) as memory:
        for text in SAID:
            await memory.add_turns([{"role": "user", "content": text}], user="alice")
        answer = await memory.retrieve("Who painted the fence?", user="alice", explain=True)
    assert answer[0].text == SAID[-1]
    assert answer[0].features and {one.name for one in answer[0].features} >= {"newest", "window"}
    assert "newest: the newest of all" in answer.explanation
    shown = re.split(r"^\d+\. ", answer.explanation, flags=re.M)[1:]
    for hit, lines in zip(answer.hits, shown, strict=True):
        assert sum(one.contribution for one in hit.features) == pytest.approx(hit.score, abs=1e-3)
        printed = [float(number) for number in re.findall(r"^ +([+-]\d+\.\d\d) = ", lines, re.M)]
        assert sum(printed) == pytest.approx(hit.score, abs=0.005 * (len(printed) + 1))


async def test_without_the_plugin_the_words_decide():
    async with AsyncMemoryScope(":memory:") as memory:
        for text in SAID:
            await memory.add_turns([{"role": "user", "content": text}], user="alice")
        assert (await memory.retrieve("Who painted the fence?", user="alice"))[0].text == SAID[0]


@pytest.mark.parametrize(
    "value",
    [lambda inputs: 1 / 0, lambda inputs: np.ones(1), lambda inputs: np.full(len(inputs.candidates.unit), np.nan)],
)
async def test_a_feature_that_makes_no_sense_is_named(value):
    class Bad:
        def memscope_register_features(self, register):
            register("bad", Feature("bad", value, "nothing", 1.0))

    async with AsyncMemoryScope(":memory:", plugins=[Bad()]) as memory:
        await memory.add_turns([{"role": "user", "content": text} for text in SAID], user="alice")
        with pytest.raises(PluginError, match="ranking feature 'bad'"):
            await memory.retrieve("fence", user="alice")


# Recognisers and tools hold for the whole process, so these plugins have one of their own.
PLUGIN = '''
import asyncio, json, re
from memscope import AsyncMemoryScope
from memscope.adapters.memory_tools import arguments, bound, choose_tools, described, schema, tool_answer, tool_set
from memscope.languages import FoundName

def tickets(text):
    return [FoundName(one[0], "thing", one.start(), 3) for one in re.finditer(r"[A-Z]{2,5}-[0-9]+", text)]

def broken(text):
    raise ValueError(text)

async def count_memories(session, word: str, most: int = 5) -> str:
    """Count what is remembered with a word."""
    return str(min(most, len(await session.search(word, k=most))))

class Tickets:
    def memscope_register_recognisers(self, register):
        register("broken", broken)
        register("tickets", tickets)

    def memscope_register_tools(self, register):
        register("count_memories", count_memories)

'''


def run(code: str) -> Any:
    done = subprocess.run([sys.executable, "-c", PLUGIN + code], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_a_recogniser_of_a_plugin_finds_entities_and_a_broken_one_is_left_out():
    entities, warnings = run("""
async def main():
    async with AsyncMemoryScope(":memory:", plugins=[Tickets()]) as memory:
        said = ["OPS-123 is down again.", "Anna closed OPS-123 and CRM-7."]
        await memory.add_turns([{"role": "user", "content": text} for text in said], user="alice")
        print(json.dumps([[one.name, one.kind, one.count] for one in await memory.entities("alice").list()]))
asyncio.run(main())
""")
    assert ["OPS-123", "thing", 2] in entities and ["CRM-7", "thing", 1] in entities
    assert warnings.count("recogniser 'broken' failed: ValueError") == 1 and "OPS" not in warnings


def test_a_plugin_that_is_defined_anew_takes_its_own_place():
    """The cell of a notebook that is run again does that; a class of another name is another plugin."""
    (entities, about, refused), _ = run("""
from memscope.errors import ConfigError

async def names(plugin):
    async with AsyncMemoryScope(":memory:", plugins=[plugin]) as memory:
        await memory.add_turns([{"role": "user", "content": "ops/123 is down again."}], user="alice")
        return [one.name for one in await memory.entities("alice").list()]

asyncio.run(names(Tickets()))

def tickets(text):
    return [FoundName(one[0], "thing", one.start(), 3) for one in re.finditer(r"[a-z]+/[0-9]+", text)]

async def count_memories(session, word: str) -> str:
    "Count anew."

class Others:
    def memscope_register_recognisers(self, register):
        register("tickets", lambda text: [])

found = asyncio.run(names(Tickets()))
refused = []
try:
    asyncio.run(names(Others()))
except ConfigError as error:
    refused.append(error.code)
print(json.dumps([found, described(tool_set("all")["count_memories"]), refused]))
""")
    assert "ops/123" in entities and about == "Count anew." and refused == ["config"]


LANGUAGE = """
class Esperanto:
    def memscope_register_languages(self, register):
        file = Path(folder, "dates.txt")
        file.write_text(f"reldate 1 {tomorrow}", encoding="utf-8")
        rules = WordRules(code="eo", script="latin", function_words=frozenset({"la", "mi", "estas"}),
                          time_words=frozenset({tomorrow}), stem=lambda word: word.removesuffix(ending))
        register("eo", Language(words=rules, dates=DateWords(file)))
"""


def test_a_language_that_is_defined_anew_takes_its_own_place(tmp_path):
    (first, second, stranger), _ = run(f"""
from datetime import UTC, datetime
from pathlib import Path
from memscope.dates import event_time, mentions
from memscope.errors import ConfigError
from memscope.languages import DateWords, Language, WordRules
from memscope.text.tokens import words

folder, cell = {str(tmp_path)!r}, {LANGUAGE!r}

async def read():
    text, now = "Mi estas en la domoj morgau kaj postmorgau.", datetime(2026, 2, 18, 12, tzinfo=UTC)
    async with AsyncMemoryScope(":memory:", plugins=[Esperanto()]):
        return words(text), [event_time(one, now).start.day for one in mentions(text, now)]

ending, tomorrow = "j", "morgau"
exec(cell)
answers = [asyncio.run(read())]
ending, tomorrow = "oj", "postmorgau"
exec(cell)
answers.append(asyncio.run(read()))
Esperanto.__qualname__ = Esperanto.__name__ = "Stranger"
try:
    asyncio.run(read())
except ConfigError as error:
    answers.append(error.code)
print(json.dumps(answers))
""")
    assert "domo" in first[0] and "dom" in second[0]
    assert (first[1], second[1], stranger) == ([19], [19], "config")


def test_a_tool_of_a_plugin_that_fails_ends_no_run():
    (answer, strict, missing), _ = run("""
from memscope.adapters.session import MemorySession
from memscope.errors import MemscopeError, PluginError

async def careless(session, word: str) -> str:
    \"\"\"Divide by it.\"\"\"
    return str(1 // (len(word) - len(word)))

class Careless:
    def memscope_register_tools(self, register):
        register("careless", careless)

class Missing:
    def memscope_register_tools(self, register):
        register("missing", "no_such_module:tool")

async def main():
    async with AsyncMemoryScope(":memory:", plugins=[Careless()]) as memory:
        session, (tool,) = MemorySession(user="alice", memory=memory), choose_tools("careless")
        answer = await tool_answer(tool, session, {"word": "tea"})
        try:
            await bound(tool, session)(word="tea")
        except MemscopeError as error:
            strict = type(error.__cause__).__name__
    async with AsyncMemoryScope(":memory:", plugins=[Missing()]):
        try:
            tool_set("missing")
        except PluginError as error:
            print(json.dumps([answer, strict, str(error)]))
asyncio.run(main())
""")
    assert answer == "Error: the tool 'careless' failed: ZeroDivisionError" and strict == "ZeroDivisionError"
    assert missing.startswith("the tool 'missing' cannot be imported: ModuleNotFoundError")


def test_a_tool_of_a_plugin_is_offered_and_answers():
    (names, alone, about, given, answer), _ = run("""
from memscope.adapters.session import MemorySession

async def main():
    async with AsyncMemoryScope(":memory:", plugins=[Tickets()]) as memory:
        await memory.add_turns([{"role": "user", "content": "I like tea."}], user="alice")
        tool = tool_set("all")["count_memories"]
        session = MemorySession(user="alice", memory=memory)
        print(json.dumps([list(tool_set("all")), [one.__name__ for one in choose_tools("count_memories")],
                          described(tool), schema(tool), await tool_answer(tool, session, {"word": "tea"})]))
asyncio.run(main())
""")
    assert "count_memories" in names and "memory_append" in names and alone == ["count_memories"]
    assert about == "Count what is remembered with a word."
    assert given["required"] == ["word"] and given["properties"]["most"] == {"type": "integer"}
    assert answer == "1"


@pytest.mark.parametrize("place", ["nowhere.to.be.seen:FRENCH", "json:FRENCH", ":"])
def test_a_language_that_cannot_be_imported_says_what_to_do(place):
    answer, _ = run(f"""
from memscope.errors import PluginError

class Misspelt:
    def memscope_register_languages(self, register):
        register("fr", {place!r})

try:
    AsyncMemoryScope(":memory:", plugins=[Misspelt()])
except PluginError as error:
    print(json.dumps([str(error)]))
""")
    assert "'fr'" in answer[0] and repr(place) in answer[0] and "plugins.block" in answer[0]
