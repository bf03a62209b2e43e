"""Memory of other systems: what is taken, what is counted as not taken, nothing twice, dates and ids kept."""

from __future__ import annotations

import http.server
import json
import sqlite3
import threading
import zipfile
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from memscope import AsyncMemoryScope
from memscope.errors import ConfigError, InputError, StoreUnavailable
from memscope.records import Insight, Observation, Turn
from memscope.transfer.importers import chatgpt, mem0, memoryscope, messages, time_of, writer
from memscope_cli.app import cli


@pytest.fixture
async def memory():
    async with AsyncMemoryScope(":memory:") as memory:
        yield memory


def write(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return str(path)


# ------------------------------------------------------------------------------------------------------------- messages

MESSAGES = [
    {"role": "developer", "content": "Be brief."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "I live in Berlin."}, {"type": "image_url", "image_url": {}}],
    },
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "12 °C"},
    {"role": "assistant", "content": "It is 12 °C in Berlin."},
    {"role": "assistant", "content": None},
    {"role": "critic", "content": "?"},
]


async def test_messages_with_tool_calls_and_null_contents(memory, tmp_path):
    file = write(tmp_path / "log.json", MESSAGES)
    report = await memory.admin.import_from("openai", file, user="alice")
    assert (report.turns, report.users) == (4, 1)
    assert report.not_taken == {
        "a tool call without words": 1, "a message without words": 1, "a message without a known role": 1,
    }  # fmt: skip
    turns = await memory.list(user="alice")
    assert [turn.role for turn in turns] == ["system", "user", "tool", "assistant"]
    assert "Berlin" in await memory.context("Where do I live?", user="alice")
    again = await memory.admin.import_from("openai", file, user="alice")
    assert (again.turns, again.known) == (0, 4)


async def test_json_lines_of_conversations_are_sessions(memory, tmp_path):
    one = {"messages": [{"role": "user", "content": "我喜欢喝绿茶。"}]}
    file = write(tmp_path / "tuning.jsonl", "\n".join(json.dumps(value) for value in (one, {**one, "id": "second"})))
    assert (await memory.admin.import_from("openai", file, user="小明")).turns == 2
    assert {turn.scope.session for turn in await memory.list(user="小明")} == {"tuning-1", "second"}


async def test_a_dry_run_writes_nothing_and_says_the_same(memory, tmp_path):
    file = write(tmp_path / "log.json", MESSAGES)
    dry = await memory.admin.import_from("openai", file, user="alice", dry_run=True)
    assert dry.dry_run and dry.turns == 4 and not await memory.list(user="alice")
    assert (await memory.admin.import_from("openai", file, user="alice")).not_taken == dry.not_taken


async def test_what_cannot_be_taken_is_counted_and_the_rest_is_taken(memory, tmp_path):
    long = {"role": "user", "content": "x" * 2_000_000}
    file = write(tmp_path / "log.json", [{"role": "user", "content": "Ok."}, long, {"role": "user", "content": "Ok."}])
    report = await memory.admin.import_from("openai", file, user="alice")
    assert report.turns == 2 and list(report.not_taken.values()) == [1] and "xxx" not in str(report)


async def test_equal_messages_of_several_writes_are_all_taken(memory, tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "TURNS_PER_WRITE", 2)
    file = write(tmp_path / "log.json", [{"role": "user", "content": "Ok."}] * 5)
    reports = [await memory.admin.import_from("openai", file, user="alice") for _ in range(2)]
    assert [(one.turns, one.known) for one in reports] == [(5, 0), (0, 5)]


async def test_mistakes_are_typed_and_say_what_to_do(memory, tmp_path):
    file = write(tmp_path / "log.json", MESSAGES)
    with pytest.raises(InputError, match="name the user"):
        await memory.admin.import_from("openai", file)
    with pytest.raises(InputError, match="cannot be read"):
        await memory.admin.import_from("openai", tmp_path / "none.json", user="alice")
    with pytest.raises(InputError, match="line 1 of 'broken'"):
        await memory.admin.import_from("openai", write(tmp_path / "broken", "{"), user="alice")
    with pytest.raises(InputError, match="needs a source"):
        await memory.admin.import_from("openai", user="alice")
    with pytest.raises(ConfigError, match="did you mean 'mem0'"):
        await memory.admin.import_from("mem00", file, user="alice")


# -------------------------------------------------------------------------------------------------------------- ChatGPT


def node(id, parent, role, parts, *, time=1_700_000_000.5, kind="text", **more):
    message = {
        "id": id,
        "author": {"role": role},
        "create_time": time,
        "content": {"content_type": kind, "parts": parts},
    }
    return id, {"id": id, "parent": parent, "message": {**message, **more}}


def conversation(**more):
    nodes = [
        ("root", {"id": "root", "parent": None, "message": None}),
        node("s", "root", "system", [""]),
        node("u1", "s", "user", ["My sister Kim is a nurse."]),
        node("a1", "u1", "assistant", ["An earlier reply."]),
        node("a2", "u1", "assistant", ["Nice!"], time=None),
        node("u2", "a2", "user", [{"asset_pointer": "file"}, "Look at this."], kind="multimodal_text"),
        node("t", "u2", "assistant", [], kind="code", recipient="python"),
        node("a3", "t", "assistant", ["A cat."]),
    ]
    return {"conversation_id": "c1", "create_time": 1_700_000_000, "mapping": dict(nodes), "current_node": "a3", **more}


@pytest.mark.parametrize("zipped", [False, True])
async def test_the_branch_of_a_chatgpt_export_that_was_last_shown(memory, tmp_path, zipped):
    file = write(tmp_path / "conversations.json", [conversation()])
    if zipped:
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            archive.write(file, "conversations.json")
        file = str(tmp_path / "export.zip")
    report = await memory.admin.import_from("chatgpt", file, user="alice")
    assert report.turns == 4
    assert report.not_taken == {
        "a message of another branch": 1, "a message of a tool, or code": 1, "an image or another attachment": 1,
    }  # fmt: skip
    turns = await memory.list(user="alice")
    assert [turn.text for turn in turns] == ["My sister Kim is a nurse.", "Nice!", "Look at this.", "A cat."]
    assert [turn.key for turn in turns] == ["chatgpt:u1", "chatgpt:a2", "chatgpt:u2", "chatgpt:a3"]
    assert turns[0].time == turns[1].time == datetime.fromtimestamp(1_700_000_000.5, UTC)
    assert turns[0].scope.session == "chatgpt:c1"
    assert (await memory.admin.import_from("chatgpt", file, user="alice")).known == 4


def test_a_tree_that_runs_in_a_circle_ends():
    made = conversation(current_node="a3")
    made["mapping"]["u1"]["parent"] = "a3"
    assert list(chatgpt._conversation(made))


async def test_what_is_no_export_is_refused(memory, tmp_path):
    with pytest.raises(InputError, match="ChatGPT"):
        await memory.admin.import_from("chatgpt", write(tmp_path / "x.json", [{"a": 1}]), user="alice")


# ----------------------------------------------------------------------------------------------------------------- mem0

FOUND = {
    "results": [
        {"id": "m1", "memory": "Lives in Lisbon", "user_id": "alice", "created_at": "2026-01-05T10:00:00-08:00",
         "updated_at": "2026-03-01T10:00:00-08:00", "metadata": {"source": "chat"}},
        {"id": "m2", "memory": "喜欢爬山", "user_id": "bob", "created_at": "2026-02-01T10:00:00+00:00"},
        {"id": "m3"},
    ],
    "relations": [{"source": "alice", "relationship": "lives_in", "target": "lisbon"}],
}  # fmt: skip


def history(path):
    """Make the file of mem0's ``SQLiteManager``."""
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, "
            "created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
        )
        rows = [
            ("1", "m1", None, "Lives in Berlin", "ADD", "2026-01-05T10:00:00-08:00", None, 0, None, None),
            ("2", "m1", "Lives in Berlin", "Lives in Lisbon", "UPDATE", "2026-01-05T10:00:00-08:00",
             "2026-03-01T10:00:00-08:00", 0, None, None),
            ("3", "m9", "Has a cat", None, "DELETE", "2026-01-05T10:00:00-08:00", None, 1, None, None),
        ]  # fmt: skip
        db.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return str(path)


async def test_mem0_with_its_history(memory, tmp_path):
    sources = write(tmp_path / "all.json", FOUND), history(tmp_path / "history.db")
    report = await memory.admin.import_from("mem0", *sources)
    assert (report.observations, report.users) == (3, 2)
    assert report.not_taken == {
        "a result without id, memory or created_at": 1, "a relation of mem0's graph": 1,
        "a memory that was deleted in mem0": 1,
    }  # fmt: skip
    (now,) = await memory.list(user="alice", kinds=["observation"])
    assert now.text == "Lives in Lisbon" and now.data["mem0"] == {"id": "m1", "metadata": {"source": "chat"}}
    assert now.said == datetime.fromisoformat("2026-03-01T10:00:00-08:00")
    versions = await memory.history(now.id, user="alice")
    assert [one.text for one in versions] == ["Lives in Berlin", "Lives in Lisbon"]
    assert versions[0].superseded_by == now.id and versions[0].closed == now.said
    assert "Lisbon" in await memory.context("Where does she live? Lisbon?", user="alice")
    assert "爬山" in await memory.context("喜欢什么运动?爬山", user="bob")
    again = await memory.admin.import_from("mem0", *sources)
    assert (again.observations, again.known) == (0, 3)


async def test_what_was_forgotten_here_stays_forgotten(memory, tmp_path):
    file = write(tmp_path / "all.json", FOUND)
    await memory.admin.import_from("mem0", file)
    await memory.forget(user="alice", everything=True)
    again = await memory.admin.import_from("mem0", file)
    assert (again.observations, again.forgotten, again.known) == (0, 1, 1)
    assert not await memory.list(user="alice")


async def test_another_database_is_refused(memory, tmp_path):
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE other (id)")
    with pytest.raises(InputError, match="not a history of mem0"):
        await memory.admin.import_from("mem0", tmp_path / "other.db")


# ---------------------------------------------------------------------------------------------------------- MemoryScope


def document(id, content, kind="observation", *, status="valid", about=None, key="", time=1_721_000_000):
    node = {"memory_id": id, "user_name": "AI", "target_name": "alice", "content": content, "memory_type": kind,
            "key": key, "key_vector": "\x80\x04pickle", "store_status": status, "timestamp": time,
            "meta_data": about or {}}  # fmt: skip
    return {"_index": "memory_index", "_id": id, "_source": {"content": content, "embedding": [0.1], "metadata": node}}


DOCUMENTS = [
    document(
        "o1",
        "alice moved to Berlin (Inference time: May 2022)",
        about={
            "conversation": "I moved to Berlin in May 2022",
            "event_year": "2022",
            "event_month": "May",
            "event_day": "-1",
        },
    ),
    document(
        "o2",
        "用户在阿里工作",
        status="expired",
        about={"conversation": "我在阿里工作", "event_year": "2024", "event_month": "12月", "event_day": "3日"},
    ),
    document("i1", "The home of alice: Berlin", "insight", key="home"),
    document("c1", "likes tea", "obs_customized"),
    document("x1", "hello", "conversation"),
    {"_source": {"content": "nobody's"}},
]


async def check_memoryscope(memory, source):
    report = await memory.admin.import_from("memoryscope", source)
    assert (report.observations, report.insights, report.users) == (3, 1, 1)
    assert report.not_taken == {
        "memory_type conversation": 1, "not a memory of MemoryScope, or one without content or timestamp": 1,
    }  # fmt: skip
    kept = await memory.list(user="alice", superseded=True)
    by_id = {one.data["memoryscope"]["id"]: one for one in kept if isinstance(one, Observation) and one.data}
    turns = {turn.key: turn for turn in kept if isinstance(turn, Turn)}
    berlin, work = by_id["o1"], by_id["o2"]
    assert turns[berlin.sources[0]].text == "I moved to Berlin in May 2022"
    assert (berlin.happened.start.month, berlin.happened.end.month, work.happened.start.day) == (5, 6, 3)
    assert work.closed is not None and berlin.closed is None
    (insight,) = [one for one in kept if isinstance(one, Insight)]
    assert insight.subject == "home" and insight.text == "The home of alice: Berlin"
    assert not (await memory.admin.status(user="alice"))["pending"]["consolidate"]
    assert "Berlin" in await memory.context("Where is Berlin?", user="alice")
    again = await memory.admin.import_from("memoryscope", source)
    assert (again.observations, again.insights, again.known) == (0, 0, 4)


async def test_documents_of_memoryscope_from_a_file(memory, tmp_path):
    await check_memoryscope(memory, write(tmp_path / "dump.jsonl", "\n".join(map(json.dumps, DOCUMENTS))))


class Scroll(http.server.BaseHTTPRequestHandler):
    """Answers a search page by page and wants a password."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.command, self.path, self.headers["Authorization"]))
        first = "scroll_id" not in body
        if first and not self.path.startswith("/memory_index/_search"):
            return self.reply(404, {"error": "no such index"})
        self.server.left = DOCUMENTS[:] if first else self.server.left
        page, self.server.left = self.server.left[:4], self.server.left[4:]
        self.reply(200, {"_scroll_id": "s1", "hits": {"hits": page}})

    do_DELETE = do_POST

    def reply(self, status, value):
        sent = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        pass


@pytest.fixture
def index():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scroll) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def test_an_index_of_memoryscope_is_read_page_by_page(memory, index):
    await check_memoryscope(memory, f"http://elastic:p%40ss@127.0.0.1:{index.server_port}/memory_index")
    assert {login for _, _, login in index.asked} == {"Basic ZWxhc3RpYzpwQHNz"}
    assert index.asked[-1][0] == "DELETE"


async def test_an_index_that_is_not_there_and_a_server_that_is_not(memory, index):
    with pytest.raises(InputError, match="answered 404"):
        await memory.admin.import_from("memoryscope", f"http://127.0.0.1:{index.server_port}/none")
    with pytest.raises(InputError, match="name of the index"):
        await memory.admin.import_from("memoryscope", f"http://127.0.0.1:{index.server_port}")
    with pytest.raises(StoreUnavailable):
        await memory.admin.import_from("memoryscope", "http://127.0.0.1:9/memory_index")


# ------------------------------------------------------------------------------------------------------- what is given

FIELDS = (
    "role content messages mapping message parent results id memory created_at metadata meta_data timestamp _source "
    "target_name memory_id parts author event_year"
).split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5),
    max_leaves=12,
)


@pytest.mark.parametrize("importer", [messages, chatgpt, mem0, memoryscope])
def test_no_json_makes_an_importer_fail_untyped(importer, tmp_path_factory):
    file = tmp_path_factory.mktemp("any") / "any.json"

    @given(JSON)
    def any_json(value):
        file.write_text(json.dumps(value), encoding="utf-8")
        try:
            assert all(type(item).__module__ == "memscope.transfer.importers" for item in importer.read([str(file)]))
        except InputError:
            pass

    any_json()


@pytest.mark.parametrize(
    ("given", "year"),
    [
        (1_700_000_000, 2023),
        (1_700_000_000_000, 2023),
        ("2026-01-01", 2026),
        ("soon", None),
        (True, None),
        (1e300, None),
    ],
)
def test_times_of_other_systems(given, year):
    found = time_of(given)
    assert (found and found.year) == year and (found is None or found.tzinfo is not None)


# -------------------------------------------------------------------------------------------------------------- command


def test_the_command_says_what_was_taken_and_what_was_not(tmp_path):
    file = write(tmp_path / "log.json", MESSAGES)
    store = ["--store", str(tmp_path / "memory.db"), "--user", "alice"]
    dry = CliRunner().invoke(cli, [*store, "import", "--from", "openai", "--dry-run", file])
    assert dry.exit_code == 0 and "4 turns, 0 observations, 0 insights would be taken for 1 user" in dry.stdout
    done = CliRunner().invoke(cli, [*store, "import", "--from", "openai", file])
    assert done.exit_code == 0 and "not taken: 1 × a tool call without words" in done.stdout
    again = CliRunner().invoke(cli, [*store, "--json", "import", "--from", "openai", file])
    assert json.loads(again.stdout)["known"] == 4
    wrong = CliRunner().invoke(cli, [*store, "import", "--dry-run", file])
    assert wrong.exit_code == 2 and "--from NAME" in wrong.stderr
