"""One source among three hundred changes: no surface tells what it said before, but as what no longer holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope_testing.models import ScriptedChat, data

from workbench import fact as noted_fact
from workbench import told_of

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
THINGS, HOME, SUBJECTS = 300, 137, 30
SAID = {
    "en": ("I own {} number {}.", "I live in Zanzibar.", "I moved to Reykjavik yesterday.", "Zanzibar",
           "The user {}", "The user lives in Zanzibar.", "The user lives in Reykjavik.", "Where does the user live?"),
    "zh": ("我有{}第{}号。", "我住在桑给巴尔。", "我昨天搬到了雷克雅未克。", "桑给巴尔",
           "用户{}", "用户住在桑给巴尔。", "用户住在雷克雅未克。", "用户住在哪里？"),
}  # fmt: skip
NAMES = {"en": "kayak globe easel lute loom kiln".split(), "zh": ["皮艇", "地球仪", "画架", "琵琶", "织机", "瓷窑"]}


class Model:
    """Notes each turn, ends the old home by the new one, places facts in turn under subjects, and keeps up a block."""

    def __init__(self, language):
        self.said, self.subjects = (
            SAID[language],
            [f"{'things' if language == 'en' else '东西'} {n}" for n in range(30)],
        )
        self.home = "living situation" if language == "en" else "居住情况"

    def __call__(self, messages):
        shown = data(messages)
        if "turns" in shown:
            return self.facts(shown["turns"], shown.get("known", ()))
        return self.lines(shown) if "block" in shown else self.sentences(shown)

    def facts(self, lines, known):
        old = [told_of(one["k"], one["text"], "ends") for one in known if one["text"] == self.said[5]]
        facts = [
            noted_fact(self.text(line["text"]), (line["n"], line["text"]),
                 keywords=["home" if line["text"] in self.said[1:3] else "things"],
                 known=old if line["text"] == self.said[2] else [])
            for line in lines if not line.get("context")
        ]  # fmt: skip
        return {"nothing": [], "facts": facts}

    def text(self, turn):
        homes = {self.said[1]: self.said[5], self.said[2]: self.said[6]}
        return homes.get(turn) or self.said[4].format(turn.removeprefix("I ").removeprefix("我").replace("own", "owns"))

    def sentences(self, shown):
        known = {one["subject"]: one["n"] for one in shown["insights"]}
        told = []
        for fact in shown["facts"]:
            at_home = fact["text"] in self.said[5:7]
            subject = self.home if at_home else self.subjects[sum(map(ord, fact["text"])) % SUBJECTS]
            basics = "basics" if self.said[0].isascii() else "基本情况"
            subject = f"{subject} {basics}"
            told.append({"insight": known.get(subject, 0), "subject": subject, "text": fact["text"],
                         "facts": [fact["n"]], "replaces": []})  # fmt: skip
        return {"sentences": told, "alone": [], "relations": []}

    def lines(self, shown):
        told = [(one["n"], one["text"].replace("：", ": ").partition(": ")[2]) for one in shown["insights"]]
        return {"lines": [{"text": text, "insights": [n]} for n, text in told if text in self.said[5:7]]}


@pytest.fixture(params=["en", "zh"])
async def memory(request, tmp_path):
    now = [START]
    settings = {"blocks": {"maintain": ["human"]}, "background": False}
    chat = ScriptedChat(Model(request.param))
    async with AsyncMemoryScope(tmp_path / "memory.db", settings=settings, chat=chat, clock=lambda: now[0]) as memory:
        memory.said, memory.path, memory.now = SAID[request.param], tmp_path, now
        thing, home = memory.said[:2]
        names = NAMES[request.param]
        texts = [home if n == HOME else thing.format(names[n % len(names)], n) for n in range(THINGS)]
        await memory.add_turns([turn(text, n) for n, text in enumerate(texts)], user="alice", session="s")
        now[0] += timedelta(days=1)
        report = await memory.reflect(user="alice")
        assert report.pending == 0, report
        assert any(memory.said[3] in one.text for one in await memory.list(user="alice", kinds=["insight"]))
        assert memory.said[3] in await memory.blocks("alice").text()
        yield memory


def turn(text, n):
    return {"role": "user", "content": text, "id": f"t{n}", "time": START - timedelta(days=300 - n)}


async def tells(memory):
    """Return each place that tells the old value as one that holds."""
    old, told = memory.said[3], {}
    ask = {"user": "alice"}
    for query in (memory.said[7], memory.said[5], old):
        found = await memory.retrieve(query, **ask)
        for hit in found:
            told[f"retrieve {query!r}: {hit.id}"] = old in hit.text and not hit.changed
            told[f"facts {query!r}: {hit.id}"] = any(old in one.text for one in (*hit.observations, *hit.matched))
        lines = (await memory.context(query, **ask)).splitlines()
        told |= {f"context {query!r}: {n}": old in line and not marked(line) for n, line in enumerate(lines)}
    told["profile"] = any(old in line and not marked(line) for line in (await memory.profile(**ask)).splitlines())
    memories = await memory.list(**ask, kinds=["observation", "insight"])
    told |= {f"list {one.id}": old in one.text for one in memories}
    for one in memories:
        again = await memory.get(one.id, **ask)
        sentences = getattr(again, "sentences", ())
        told[f"get {one.id}"] = old in again.text or any(old in sentence.text for sentence in sentences)
    for entity in await memory.entities("alice").list(top=40):
        details = await memory.entities("alice").get(entity.name)
        told[f"entity {entity.name}"] = any(old in one.text for one in (*details.facts, *details.insights))
    told["blocks"] = old in await memory.blocks("alice").text()
    return [place for place, wrong in told.items() if wrong]


def marked(line):
    return "changed later" in line or "后来有变" in line


async def exported(memory):
    """Return the current memories and blocks of an export, and all of its lines, that have the old value."""
    path = memory.path / "export.jsonl"
    await memory.admin.export(path, user="alice")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    have = [line for line in lines if memory.said[3] in json.dumps(line, ensure_ascii=False)]
    path.unlink()
    return [line for line in have if current(line)], have


def current(line):
    record = line.get("record", line)
    kind = record.get("kind") or line.get("kind")
    return kind in ("observation", "insight") and not record.get("closed") and line.get("current", True)


async def edges(memory):
    graph = await memory.entities("alice").graph()
    return [edge for edge in json.dumps(graph, default=str, ensure_ascii=False).split("}") if memory.said[3] in edge]


@pytest.mark.slow
async def test_a_turn_that_ends_a_fact_reaches_all_that_was_derived(memory):
    assert await tells(memory)
    await memory.add_turns([{**turn(memory.said[2], 300), "time": memory.now[0]}], user="alice", session="later")
    report = await memory.consolidate(user="alice")
    assert report.superseded, report
    assert await tells(memory) == []
    assert (await exported(memory))[0] == []
    await memory.reflect(user="alice")
    assert await tells(memory) == []
    (home,) = [one for one in await memory.list(user="alice", kinds=["insight"]) if memory.said[6] in one.text]
    assert [sentence.text for sentence in home.sentences] == [memory.said[6]]


@pytest.mark.slow
async def test_a_correction_reaches_all_that_was_derived(memory):
    (fact,) = [one for one in await memory.list(user="alice", kinds=["observation"]) if memory.said[3] in one.text]
    await memory.update(fact.id, user="alice", text=memory.said[6])
    assert await tells(memory) == []
    (home,) = [one for one in await memory.list(user="alice", kinds=["insight"]) if memory.said[6] in one.text]
    assert [(one.text, one.sources) for one in home.sentences] == [(memory.said[6], (fact.id,))]
    await memory.reflect(user="alice")
    assert await tells(memory) == []


@pytest.mark.slow
async def test_what_is_forgotten_is_nowhere(memory):
    await memory.forget(ids=[f"t{HOME}"], user="alice")
    assert await tells(memory) == []
    assert (await exported(memory))[1] == []
    assert await edges(memory) == []
    await memory.reflect(user="alice")
    assert await tells(memory) == []
    assert (await exported(memory))[1] == []
