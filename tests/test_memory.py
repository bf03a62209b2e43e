"""The operations, on both local stores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ConfigError, Conflict, InputError, LimitError, NotFound, PluginError, ScopeError

NOW = datetime(2026, 11, 5, 12, tzinfo=UTC)
BERLIN = {"role": "user", "content": "I moved to Berlin last May."}


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(params=["memory", "sqlite"])
async def memory(request, tmp_path):
    place = ":memory:" if request.param == "memory" else tmp_path / "memory.db"
    async with AsyncMemoryScope(place, settings={}, clock=Clock()) as opened:
        yield opened


async def texts(memory, query, **scope):
    return [hit.text for hit in await memory.retrieve(query, **scope)]


@pytest.mark.parametrize("wrong", [{"store": {"timezone": "UTC"}}, {"store": 5}, {"settings": ["memory.db"]}], ids=str)
def test_what_is_no_store_or_settings_is_refused(wrong):
    with pytest.raises(ConfigError, match=type(*wrong.values()).__name__):
        AsyncMemoryScope(**wrong)


async def test_a_turn_is_found_the_moment_it_is_added(memory):
    report = await memory.add_turns([BERLIN], user="alice")
    assert (report.stored, report.duplicates) == (1, 0)
    (hit,) = await memory.retrieve("Where did she move?", user="alice")
    assert hit.turn.text == "I moved to Berlin last May."
    assert hit.turn.key == report.keys[0]
    assert "text" in hit.found_by


async def test_text_is_kept_as_it_was_said(memory):
    said = "  Ich WOHNE in São Paulo\r\n\tund 北京 😀 "
    report = await memory.add_turns([{"role": "user", "content": said}], user="alice")
    assert (await memory.get(report.keys[0], user="alice")).text == said


async def test_a_memory_of_data_alone_is_kept(memory):
    kept = await memory.add_memory("", user="alice", name="settings", data={"theme": "dark"})
    assert (await memory.get(kept.id, user="alice")).data == {"theme": "dark"}
    with pytest.raises(InputError, match="the text is empty"):
        await memory.add_memory(" ", user="alice")


async def test_versions_stay_in_order_when_the_clock_goes_back(tmp_path):
    clock = Clock()
    async with AsyncMemoryScope(tmp_path / "back.db", settings={}, clock=clock) as memory:
        kept = await memory.add_memory("Likes tea.", user="alice")
        clock.now = NOW - timedelta(days=30)
        await memory.update(kept.id, user="alice", text="Likes coffee.")
        assert [one.text for one in await memory.history(kept.id, user="alice")] == ["Likes tea.", "Likes coffee."]


async def test_the_data_of_a_memory_without_text_can_be_corrected(memory):
    kept = await memory.add_memory("", user="alice", data={"theme": "dark"})
    assert (await memory.update(kept.id, user="alice", data={"theme": "light"})).data == {"theme": "light"}
    with pytest.raises(InputError, match="the text is empty"):
        await memory.update(kept.id, user="alice", text=" ")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"time": "soon"}, "time is"), ({"role": "boss"}, "role must"), ({"text": "x" * 300_000}, "bytes in text"),
     ({"text": 5}, "text must be text"),
     ({"subject": 7}, "subject must be text"), ({"zone": (1, 2)}, "unknown time zone")],
)  # fmt: skip
async def test_an_error_of_a_statement_names_its_argument(memory, wrong, named):
    with pytest.raises((InputError, LimitError), match=f"^{named}"):
        await memory.add_memory(**{"text": "Alice likes tea.", "user": "alice"} | wrong)


async def test_a_statement_without_a_subject_may_say_so(memory):
    assert (await memory.add_memory("Alice likes tea.", user="alice", subject=None)).text == "Alice likes tea."


@pytest.mark.parametrize("empty", [{"text": ""}, {"text": " \t"}, {"filter": {}}])
@pytest.mark.parametrize("rest", [{}, {"session": "s"}, {"everything": True}])
async def test_an_empty_condition_forgets_nothing(memory, empty, rest):
    await memory.add_turns([BERLIN], user="alice", session="s")
    with pytest.raises(InputError):
        await memory.forget(user="alice", **empty, **rest)
    assert len(await memory.list(user="alice")) == 1


async def test_ok_said_twice_is_two_turns_and_a_replay_adds_none(memory):
    ok = {"role": "user", "content": "ok"}
    first = await memory.add_turns([ok], user="alice", session="s")
    second = await memory.add_turns([ok], user="alice", session="s")
    assert first.keys != second.keys
    shown = await memory.add_turns([ok, ok], user="alice", session="s", replay=True)
    assert (shown.stored, shown.duplicates) == (0, 2)
    assert (await memory.add_turns([ok, ok, ok], user="alice", session="s", replay=True)).stored == 1


@pytest.mark.parametrize("extra", [{"id": "m1"}, {"time": "2026-01-01T10:00:00+00:00"}])
async def test_an_id_or_a_time_makes_a_repeated_add_a_no_op(memory, extra):
    turn = BERLIN | extra
    assert (await memory.add_turns([turn], user="alice")).stored == 1
    again = await memory.add_turns([turn], user="alice")
    assert (again.stored, again.duplicates) == (0, 1)
    assert (await memory.add_turns([turn], user="bob")).stored == 1


async def test_adding_nothing_is_no_error(memory):
    assert await memory.add_turns([], user="alice") == (await memory.add_turns([], user="alice"))


async def test_users_never_see_each_other(memory):
    report = await memory.add_turns([BERLIN], user="alice")
    assert not await memory.retrieve("Berlin", user="bob")
    assert await memory.list(user="bob") == []
    messages = []
    for id in (report.keys[0], "nothing"):
        with pytest.raises(NotFound) as missing:
            await memory.get(id, user="bob")
        messages.append(str(missing.value).replace(repr(id), ""))
    assert messages[0] == messages[1]


async def test_agent_and_session_narrow_a_read(memory):
    await memory.add_turns([BERLIN], user="alice", agent="a", session="1")
    assert await texts(memory, "Berlin", user="alice")
    assert await texts(memory, "Berlin", user="alice", agent="a", session="1")
    assert not await texts(memory, "Berlin", user="alice", agent="b")
    assert not await texts(memory, "Berlin", user="alice", session="2")


@pytest.mark.parametrize("query", ["", "   ", "?!。", "😀"])
async def test_a_query_without_words_finds_nothing_and_says_so(memory, query):
    await memory.add_turns([BERLIN], user="alice")
    found = await memory.retrieve(query, user="alice")
    assert (len(found), found.why) == (0, "not_searched")


@pytest.mark.parametrize(
    "query", ["multi-agent owner:bob \"NEAR( * ' ;--", "Berlin' OR 1=1 --", "{body owner}:bob Berlin"]
)
async def test_a_query_is_words_and_no_syntax(memory, query):
    await memory.add_turns([BERLIN], user="alice")
    await memory.add_turns([{"role": "user", "content": "bob owns a multi-agent body"}], user="bob")
    assert all(hit.turn.scope.user == "alice" for hit in await memory.retrieve(query, user="alice"))


async def test_hostile_arguments_are_refused_and_nothing_changes(memory):
    with pytest.raises(LimitError):
        await memory.retrieve("x" * 40_000, user="alice")
    for k in (0, -1, 10**9, "5", True):
        with pytest.raises(InputError):
            await memory.retrieve("Berlin", user="alice", k=k)
    for filter in ({"$eq": 1}, {"a": {"$near": 1}}):
        with pytest.raises(InputError):
            await memory.retrieve("Berlin", user="alice", filter=filter)
    with pytest.raises(ScopeError):
        await memory.add_turns([BERLIN], user="")
    with pytest.raises(InputError):
        await memory.add_turns([BERLIN, {"role": "root", "content": "x"}], user="alice")
    assert (await memory.admin.status())["turns"] == 0


async def test_metadata_filters_have_no_syntax_to_break(memory):
    odd = {"a') or 1=1 --": "x", "lc": {"type": "constructor"}, "$where": 1, 'we"ird': 2}
    await memory.add_turns([BERLIN | {"metadata": odd}, {"role": "user", "content": "Berlin is grey"}], user="alice")
    for key in ("a') or 1=1 --", 'we"ird'):
        assert await texts(memory, "Berlin", user="alice", filter={key: odd[key]}) == [BERLIN["content"]]
    assert not await texts(memory, "Berlin", user="alice", filter={"a') or 1=1 --": "y"})


async def test_context_is_dated_lines_within_the_budget(memory):
    turns = [
        {"role": "user", "content": "I moved to Berlin.", "time": "2026-05-04T09:30:00+00:00"},
        {"role": "user", "content": "我下周去柏林出差。", "time": "2026-05-05T09:30:00+00:00"},
    ]
    await memory.add_turns(turns, user="alice")
    text = await memory.context("Berlin 柏林", user="alice")
    assert "[2026-05-04 09:30 Monday] user: I moved to Berlin." in text
    assert "[2026-05-05 09:30 星期二] user: 我下周去柏林出差（2026-05-11至2026-05-17）。" in text
    assert await memory.context("Berlin", user="alice", tokens=1) == ""
    assert await memory.context("Berlin", user="bob") == ""


async def test_excluded_turns_are_left_out(memory):
    report = await memory.add_turns([BERLIN], user="alice")
    assert not await texts(memory, "Berlin", user="alice", exclude=report.keys)


async def test_explain_prints_features_weights_and_contributions(memory):
    await memory.add_turns([BERLIN], user="alice")
    found = await memory.retrieve("Berlin", user="alice", explain=True)
    assert found[0].features
    assert sum(feature.contribution for feature in found[0].features) == pytest.approx(found[0].score, abs=1e-3)
    assert all(feature.name in found.explanation for feature in found[0].features if feature.contribution)


async def test_as_of_answers_from_what_had_been_said_by_then(memory):
    old, new = "2026-01-01T10:00:00+00:00", "2026-06-01T10:00:00+00:00"
    await memory.add_turns([{"role": "user", "content": "I live in Paris", "time": old}], user="alice")
    await memory.add_turns([{"role": "user", "content": "I live in Rome", "time": new}], user="alice")
    assert await texts(memory, "where do I live", user="alice", as_of="2026-03-01T00:00:00+00:00") == [
        "I live in Paris"
    ]


# ---- memories


async def test_a_statement_is_a_memory_with_a_source(memory):
    made = await memory.add_memory("Alice is allergic to nuts.", user="alice", data={"kind": "health"})
    assert await memory.get(made.id, user="alice") == made
    (hit,) = await memory.retrieve("allergic", user="alice")
    assert hit.turn.statement and hit.observations == (made,)
    assert hit.text == "Alice is allergic to nuts."
    assert (await memory.get(made.sources[0], user="alice")).text == made.quotes[0].text


async def test_a_second_statement_under_a_name_supersedes_the_first(memory):
    first = await memory.add_memory("Tea.", user="alice", name="drink", namespace="likes")
    second = await memory.add_memory("Coffee.", user="alice", name="drink", namespace="likes")
    assert await memory.list(user="alice", name="drink", kinds=["observation"]) == [second]
    assert [memory.id for memory in await memory.history(second.id, user="alice")] == [first.id, second.id]
    (old, _) = await memory.history(second.id, user="alice")
    assert (old.superseded_by, old.current) == (second.id, False)


@pytest.mark.parametrize("namespace", ["memscope.entities", "memscope.summary"])
async def test_a_namespace_whose_records_no_search_returns_is_refused(memory, namespace):
    with pytest.raises(InputError, match=namespace):
        await memory.add_memory("Tea.", user="alice", name="drink", namespace=namespace)
    assert await memory.list(user="alice") == []


async def test_an_update_keeps_the_old_version(memory):
    made = await memory.add_memory("Allergic to nuts.", user="alice")
    changed = await memory.update(made.id, user="alice", text="Allergic to peanuts.", version=1)
    assert (changed.id, changed.version, changed.text) == (made.id, 2, "Allergic to peanuts.")
    assert [old.text for old in await memory.history(made.id, user="alice")] == [
        "Allergic to nuts.",
        "Allergic to peanuts.",
    ]
    with pytest.raises(Conflict):
        await memory.update(made.id, user="alice", text="x", version=1)
    with pytest.raises(NotFound):
        await memory.update(made.id, user="bob", text="x")


async def test_an_update_of_nothing_is_refused_and_makes_no_version(memory):
    made = await memory.add_memory("Allergic to nuts.", user="alice")
    for nothing in ({}, {"version": 1}, {"text": None}):
        with pytest.raises(InputError, match="give text, data or expires"):
            await memory.update(made.id, user="alice", **nothing)
    assert len(await memory.history(made.id, user="alice")) == 1


async def test_a_turn_of_348_kilobytes_is_taken_with_its_call_and_found_by_any_part(memory):
    filler = "We went on talking about the weather and the neighbours for a good while. " * 2400
    long = f"{filler}The vault opens with heliotrope. {filler}"
    assert len(long) > 348_000
    report = await memory.add_turns([{"role": "user", "content": text} for text in ("Hello.", long)], user="alice")
    await memory.add_turns([{"role": "user", "content": f"I like tea number {n}."} for n in range(30)], user="alice")
    found = await memory.retrieve("What opens the vault?", user="alice", k=1)
    assert report.stored == 2 and found[0].turn is not None and found[0].turn.text == long
    assert "heliotrope" in await memory.context("What opens the vault?", user="alice", k=1)


async def test_turns_are_never_altered(memory):
    report = await memory.add_turns([BERLIN], user="alice")
    with pytest.raises(InputError, match="never altered"):
        await memory.update(report.keys[0], user="alice", text="x")


async def test_an_expired_memory_is_out_of_sight_at_once_and_swept_for_good(memory):
    clock = memory.admin.runtime.services.clock
    made = await memory.add_memory("The code is 1234.", user="alice", expires=NOW + timedelta(hours=1))
    assert await texts(memory, "code", user="alice")
    clock.now += timedelta(hours=2)
    assert not await texts(memory, "code", user="alice")
    assert made not in await memory.list(user="alice")
    swept = await memory.admin.sweep(user="alice")
    assert (swept.observations, swept.turns) == (1, 1)
    assert (await memory.admin.status())["turns"] == 0


# ---- forgetting


async def test_forget_needs_to_know_what(memory):
    with pytest.raises(InputError, match="everything=True"):
        await memory.forget(user="alice")
    with pytest.raises(InputError, match="everything=True"):
        await memory.forget(user="alice", agent="a")


async def test_what_is_forgotten_is_gone_everywhere_and_a_replay_does_not_bring_it_back(memory, tmp_path):
    said = {"role": "user", "content": "My locker code is 4471-K."}
    await memory.add_turns([said, BERLIN], user="alice", session="s")
    preview = await memory.forget(user="alice", text="locker", dry_run=True)
    assert (preview.turns, preview.dry_run, len(preview.ids)) == (1, True, 1)
    assert await texts(memory, "locker code", user="alice")
    receipt = await memory.forget(user="alice", text="LOCKER")
    assert (receipt.turns, receipt.remaining, receipt.physical) == (1, 0, "wiped")
    assert not [text for text in await texts(memory, "locker code", user="alice") if "4471-K" in text]
    assert [record.text for record in await memory.list(user="alice")] == [BERLIN["content"]]
    shown = await memory.add_turns([said, BERLIN], user="alice", session="s", replay=True)
    assert (shown.stored, shown.duplicates, shown.forgotten) == (0, 1, 1)
    await memory.admin.export(tmp_path / "all.jsonl")
    assert "4471-K" not in (tmp_path / "all.jsonl").read_text()
    assert (await memory.add_turns([said], user="alice", session="s")).stored == 1


async def test_forgetting_a_turn_takes_what_rests_on_it(memory):
    made = await memory.add_memory("Allergic to nuts.", user="alice")
    receipt = await memory.forget(user="alice", ids=[made.sources[0]])
    assert (receipt.turns, receipt.observations) == (1, 1)
    with pytest.raises(NotFound):
        await memory.get(made.id, user="alice")


async def test_forgetting_a_statements_memory_takes_the_statement(memory):
    made = await memory.add_memory("Allergic to nuts.", user="alice")
    await memory.forget(user="alice", ids=[made.id])
    assert not await memory.list(user="alice", superseded=True)


async def test_forgetting_what_superseded_a_memory_makes_it_current_again(memory):
    first = await memory.add_memory("Tea.", user="alice", name="drink")
    second = await memory.add_memory("Coffee.", user="alice", name="drink")
    await memory.forget(user="alice", ids=[second.id])
    restored = await memory.get(first.id, user="alice")
    assert restored.current and restored.superseded_by is None


async def test_foreign_and_missing_ids_are_not_found_and_nothing_goes(memory):
    report = await memory.add_turns([BERLIN], user="alice")
    for ids in ([report.keys[0]], ["'; drop"], [report.keys[0], "x"]):
        with pytest.raises(NotFound):
            await memory.forget(user="bob", ids=ids)
    with pytest.raises(NotFound):
        await memory.forget(user="alice", ids=[report.keys[0], "x"])
    assert (await memory.admin.status())["turns"] == 1


async def test_a_period_a_session_and_everything(memory):
    for day, session in ((1, "a"), (2, "a"), (3, "b")):
        turn = {"role": "user", "content": f"day {day}", "time": f"2026-03-0{day}T10:00:00+00:00"}
        await memory.add_turns([turn], user="alice", session=session)
    assert (await memory.forget(user="alice", period=("2026-03-01", "2026-03-01"))).turns == 1
    assert (await memory.forget(user="alice", session="b")).turns == 1
    assert (await memory.forget(user="alice", everything=True)).turns == 1
    assert (await memory.admin.status())["turns"] == 0


class LeavesOut:
    """A plugin that keeps nothing with a number in it."""

    def memscope_before_add_turns(self, turns):
        return [turn for turn in turns if not any(char.isdigit() for char in turn.text)]


async def test_a_plugin_may_leave_turns_out_but_not_half_of_a_statement():
    async with AsyncMemoryScope(":memory:", settings={}, plugins=[LeavesOut()]) as memory:
        turns = [{"role": "user", "content": text} for text in ("one", "2", "three")]
        report = await memory.add_turns(turns, user="alice")
        assert (report.stored, [bool(key) for key in report.keys]) == (2, [True, False, True])
        timed = [turn | {"time": "2026-01-01T10:00:00+00:00"} for turn in turns]
        assert (await memory.add_turns(timed, user="alice")).stored == 2
        assert (await memory.add_turns(timed, user="alice")).duplicates == 2
        with pytest.raises(PluginError):
            await memory.add_memory("The code is 1234.", user="alice")
        assert [record.text for record in await memory.list(user="alice")] == ["one", "three", "one", "three"]
