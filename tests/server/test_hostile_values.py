"""Invalid values in requests get a typed 4xx error, and unusual values in a store are shown."""

from __future__ import annotations

import json
import random

import httpx2
import pytest

from memscope import AsyncMemoryScope, errors
from memscope.errors import MemscopeError
from memscope_server import create_app, problems
from memscope_server.access import MAX_SESSIONS_PER_TOKEN
from memscope_server.pages.comparison import compare
from memscope_server.tokens import TokenFile
from memscope_server.translations import phrases

ALICE = "/api/v1/users/alice"
HTML = {"Accept": "text/html"}
PAGES = ("", "records", "ask?q=Where+do+I+live%3F", "entities", "entities/Lisbon", "timeline", "timeline?by=day",
         "timeline?by=month", "blocks", "blocks/human", "review", "forget", "forget?text=tea")  # fmt: skip


def kinds_of(root: type) -> set[type]:
    return {root}.union(*map(kinds_of, root.__subclasses__()))


# -------------------------------------------------------------------------------------------------------------- errors


def test_every_error_has_a_status_and_refusals_are_4xx():
    own = {kind for kind in kinds_of(MemscopeError) if kind.__module__ in (errors.__name__, problems.__name__)}
    assert own == problems.HTTP_STATUS.keys()
    assert problems.HTTP_STATUS[errors.Conflict] == 409 and set(problems.HTTP_STATUS.values()) & {501} == set()
    refusals = (errors.InputError, errors.NotFound, errors.Conflict, errors.ConfigError, problems.Forbidden)
    assert all(400 <= problems.HTTP_STATUS[kind] < 500 for root in refusals for kind in kinds_of(root) & own)
    assert all(problems.HTTP_STATUS[kind] >= 500 for kind in own if kind.retryable)


def test_an_error_of_a_plugin_has_the_status_of_its_nearest_ancestor():
    class TooBusy(errors.StoreBusy):
        pass

    reply = problems.problem_of(TooBusy("half \ud83d", hint="wait", retry_after=2.4), operator=True)
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "3")
    assert json.loads(bytes(reply.body))["detail"] == "half \ufffd"


@pytest.mark.parametrize("path", ["/api/v1/users/alice/profile", "/u/alice/"])
@pytest.mark.parametrize("error", [errors.StoreUnavailable, errors.ModelUnavailable])
def test_only_an_operator_reads_where_the_store_and_the_models_are(served, monkeypatch, path, error):
    async def fails(*args, **more):
        raise error("https://10.0.0.7:9200 cannot be reached", hint="see /srv/memory.yaml")

    monkeypatch.setattr(AsyncMemoryScope, "profile", fails)
    with served.client(served.alice) as alice, served.client(served.operator) as operator:
        seen, whole = (one.get(path, headers={"Accept": "*/*"}) for one in (alice, operator))
    assert (seen.status_code, whole.status_code) == (503, 503)
    assert error.code in seen.text and "10.0.0.7" not in seen.text and "/srv" not in seen.text
    assert "10.0.0.7" in whole.text and "/srv" in whole.text


@pytest.mark.parametrize(
    ("method", "path", "given"),
    [
        ("POST", "/turns", {"turns": [{"role": "user", "content": "x"}], "zone": "Mars/Base"}),
        ("POST", "/memories", {"text": "x", "zone": "../../etc/passwd"}),
        ("POST", "/context", {"query": "x", "zone": "\ud800"}),
        ("POST", "/retrieve", {"query": "x", "zone": "A" * 5000}),
        ("GET", "/timeline?zone=Mars/Base", None),
        ("POST", "/blocks", {"label": "human", "limit": 100_000}),
        ("POST", "/blocks", {"label": "notes", "limit": 99_999}),
        ("POST", "/blocks/human/edits", {"operation": "rethink", "text": "x", "version": 10**30}),
        ("POST", "/blocks/human/edits", {"operation": "rethink", "text": "x", "version": 2**63 - 1}),
        ("PATCH", "/memories/fact-lisbon", {"text": "x", "version": 10**30}),
        ("POST", "/chat", {"text": "hello"}),
        ("POST", "/retrieve", {"query": "x", "\ud83d": 1}),
        ("POST", "/forget", {"ids": ["\ud83d"]}),
        ("POST", "/entities/Lisbon/merge", {"other": "\ud83d"}),
        ("POST", "/forget", {"everything": 1}),
        ("POST", "/forget", {"everything": "yes"}),
    ],
)  # fmt: skip
def test_a_bad_value_is_a_typed_refusal(alice, method, path, given):
    content = None if given is None else json.dumps(given)
    reply = alice.request(method, ALICE + path, content=content, headers={"Content-Type": "application/json"})
    assert 400 <= reply.status_code < 500 and reply.json()["code"] != "http", reply.text


def test_half_an_emoji_is_repaired_as_in_python(alice):
    """JavaScript's slice() cuts emoji in two, and JSON.stringify writes the half as an escape."""
    sent = [("/turns", {"turns": [{"role": "user", "content": "Half \ud83d", "session": "cut"}]}),
            ("/memories", {"text": "Alice likes half \ud83d."}), ("/context", {"query": "half \ud83d"})]  # fmt: skip
    for path, body in sent:
        reply = alice.post(ALICE + path, content=json.dumps(body), headers={"Content-Type": "application/json"})
        assert reply.is_success, reply.text
    (turn,) = alice.get(f"{ALICE}/records?session=cut&kind=turn").json()["records"]
    assert turn["text"] == "Half \ufffd"


# ------------------------------------------------------------------------------------------------------------- headers


@pytest.mark.parametrize("declared", ["application/x-www-form-urlencoded", "text/plain", None])
def test_a_body_that_is_not_declared_as_json_is_refused_with_the_header_it_needs(alice, declared):
    headers = {"Content-Type": declared} if declared else {}
    reply = alice.post(f"{ALICE}/context", content=b'{"query": "tea"}', headers=headers)
    assert reply.status_code == 415 and "Content-Type: application/json" in reply.json()["hint"]


@pytest.mark.parametrize(
    "origin", ["http://[", "http://]", "http://[::1", "//", "\xe9", "null", "http://[v1.x]:99999999"]
)
def test_an_unusual_origin_is_another_site(alice, origin):
    sent = {"Origin": origin.encode("latin-1")}
    assert alice.post(f"{ALICE}/forget", json={"everything": True}, headers=sent).status_code == 403


@pytest.mark.parametrize("asked", ["bytes=0-1", "bytes=9-1", "byt\xe9s=0", "bytes=" + "0-1," * 5000])
def test_a_range_header_is_ignored(alice, asked):
    whole = alice.get("/static/style.css")
    part = alice.get("/static/style.css", headers={"Range": asked.encode("latin-1")})
    assert (part.status_code, part.content) == (200, whole.content)


def test_a_csrf_secret_of_any_characters_is_refused(served):
    with served.client(None) as browser:
        browser.post("/login", data={"token": served.alice})
        for sent in ({"headers": {"X-CSRF-Token": "\xe9".encode("latin-1")}}, {"data": {"csrf": "秘密"}}):
            assert browser.post("/u/alice/forget", **sent).status_code == 403


def test_tokens_that_cannot_be_read_refuse_everybody_without_naming_the_file(served):
    served.tokens.path.write_text("{")
    with served.client(served.operator) as operator:
        reply = operator.get("/api/v1/users")
    assert (reply.status_code, reply.json()["code"]) == (503, "tokens")
    assert str(served.tokens.path) not in reply.text and "retry-after" in reply.headers


# ------------------------------------------------------------------------------------------------------------ sign-ins


async def test_many_sign_ins_with_one_token_sign_no_other_token_out(tmp_path):
    tokens = TokenFile(tmp_path / "tokens.json")
    operator, alice = tokens.add("operator", None)[1], tokens.add("user", "alice")[1]
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}) as memory:
        app = create_app(memory, tokens=tokens, hosts={"served"})

        def browser():
            return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://served")

        async with browser() as signed, browser() as first, browser() as many:
            await signed.post("/login", data={"token": operator})
            await first.post("/login", data={"token": alice})
            for _ in range(MAX_SESSIONS_PER_TOKEN - 1):
                await many.post("/login", data={"token": alice})
            assert (await first.get("/api/v1/me")).status_code == 200
            for _ in range(500):
                await many.post("/login", data={"token": alice})
            assert (await first.get("/api/v1/me")).status_code == 401  # the oldest session of the token
            assert (await many.get("/api/v1/me")).status_code == 200
            assert (await signed.get("/api/v1/me")).json()["role"] == "operator"


# --------------------------------------------------------------------------------------------------------------- pages


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59Z", "9999-12-31T00:00:00+14:00", "0001-01-01T00:00:00Z"])
def test_pages_show_the_ends_of_the_calendar(alice, time):
    turn = {"role": "user", "content": "In Lisbon I like tea.", "time": time}
    alice.post(f"{ALICE}/turns", json={"turns": [turn]}).raise_for_status()
    alice.post(f"{ALICE}/memories", json={"text": "Tea.", "time": time}).raise_for_status()
    for language in ("en", "zh"):
        for page in PAGES:
            reply = alice.get(f"/u/alice/{page}", headers={**HTML, "Accept-Language": language})
            assert reply.status_code == 200, (page, reply.text)
    for path in ("/records", "/timeline", "/stream", "/graph", "/entities", "/profile"):
        assert alice.get(ALICE + path).status_code == 200, path


@pytest.mark.parametrize("asked", ["records?since=0001-01-01", "records?until=9999-12-31", "ask?q=tea&as_of=9999-12-31",
                                   "records?as_of=0001-01-01", "forget?until=9999-12-31"])  # fmt: skip
def test_pages_take_the_ends_of_the_calendar(alice, asked):
    assert alice.get(f"/u/alice/{asked}", headers=HTML).status_code == 200


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_name_without_a_translation_is_shown_unchanged(alice, monkeypatch, language):
    families = ("channel_", "feature_", "author_", "role_", "stage_", "step_", "out_", "about_", "rank_")
    for phrase in [one for one in phrases() if one.startswith(families) or one in ("person", "place", "turn")]:
        monkeypatch.delitem(phrases(), phrase)
    for page in PAGES:
        reply = alice.get(f"/u/alice/{page}", headers={**HTML, "Accept-Language": language})
        assert reply.status_code == 200, (page, reply.text)
    shown = alice.get("/u/alice/ask?q=Where+do+I+live%3F", headers={"Accept-Language": language}).text
    assert 'class="part">window ' in shown


def test_the_history_of_a_block_is_paginated(alice):
    words, rng = [f"word{number}" for number in range(400)], random.Random(1)
    alice.post(f"{ALICE}/blocks", json={"label": "notes", "limit": 11_900}).raise_for_status()
    for number in range(22):
        lines = [" ".join(rng.choices(words, k=3)) for _ in range(540)]
        edit = {"operation": "rethink", "text": f"edit {number}\n" + "\n".join(lines)[:11_500]}
        alice.post(f"{ALICE}/blocks/notes/edits", json=edit).raise_for_status()
    page = alice.get("/u/alice/blocks/notes").text
    assert "<ins>edit 21</ins>" in page and "<del>edit 20</del>" in page and "<ins>edit 1</ins>" not in page
    assert "and " in page and "more" in page and 'href="/u/alice/blocks/notes?offset=20"' in page
    older = alice.get("/u/alice/blocks/notes?offset=20").text
    assert "<ins>edit 1</ins>" in older and "<del>edit 0</del>" in older and "Bring this back" in older
    assert alice.get("/u/alice/blocks/notes?offset=999").status_code == 200


def test_a_comparison_shows_both_texts():
    rng = random.Random(5)
    for _ in range(300):
        old, new = ([rng.choice("abcdefgh") for _ in range(rng.randrange(12))] for _ in range(2))
        found = compare(old, new)
        assert [line for sign, line in found if sign != "+"] == old
        assert [line for sign, line in found if sign != "-"] == new
    assert compare("a b c d e".split(), "a x c e y".split()) == [
        (" ", "a"), ("-", "b"), ("+", "x"), (" ", "c"), ("-", "d"), (" ", "e"), ("+", "y"),
    ]  # fmt: skip


def test_comparing_many_equal_lines_takes_linear_time():
    class Line(str):
        compared = 0

        def __eq__(self, other):
            Line.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    rng = random.Random(7)
    old, new = ([Line(rng.choice(["", "a", f"line {rng.random()}"])) for _ in range(3000)] for _ in range(2))
    assert len(compare(old, new)) >= 3000 and Line.compared < 100 * 3000


# ---------------------------------------------------------------------------------------------------------------- chat


class Halves:
    """A chat model whose pieces end in the middle of a character, and that may fail after them."""

    name = "halves"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    async def chat(self, messages, *, schema=None, deadline_s=None):
        raise NotImplementedError

    async def stream(self, messages, *, deadline_s=None):
        for piece in ("Tea ", "\ud83c", "\udf75", " and half \ud83d"):
            yield piece
        if self.error:
            raise self.error


async def events(path, chat):
    tokens = TokenFile(path / "tokens.json")
    headers = {"Authorization": f"Bearer {tokens.add('user', 'alice')[1]}"}
    async with AsyncMemoryScope(path / "memory.db", settings={}, chat=chat) as memory:
        transport = httpx2.ASGITransport(create_app(memory, tokens=tokens, hosts={"served"}))
        async with httpx2.AsyncClient(transport=transport, base_url="http://served", headers=headers) as client:
            reply = await client.post(f"{ALICE}/chat", json={"text": "Hi"})
        pairs = [event.split("\ndata: ") for event in reply.text.split("\n\n") if event]
        return [(name.removeprefix("event: "), json.loads(data)) for name, data in pairs], await memory.list(
            user="alice"
        )


async def test_half_an_emoji_of_the_model_does_not_end_the_stream(tmp_path):
    pieces, records = await events(tmp_path, Halves())
    assert "".join(data["text"] for name, data in pieces if name == "piece") == "Tea 🍵 and half \ufffd"
    assert pieces[-1][0] == "done" and records[-1].text == "Tea 🍵 and half \ufffd"


async def test_a_stream_ends_with_an_event_whatever_fails(tmp_path, caplog):
    pieces, _ = await events(tmp_path, Halves(KeyError("the boat is green")))
    name, problem = pieces[-1]
    assert (name, problem["code"]) == ("error", "model")
    assert problem["detail"] == "the server's model failed" and "boat" not in str(problem)
    assert "boat" not in caplog.text


def test_the_last_day_of_a_period_is_included(alice):
    added = alice.post(
        f"{ALICE}/turns", json={"turns": [{"role": "user", "content": "x"} | {"time": "2024-03-31T18:00"}]}
    ).json()
    days = {"since": "2024-03-31", "until": "2024-03-31"}
    assert [one["id"] for one in alice.get(f"{ALICE}/records", params=days).json()["records"]] == added["keys"]
    assert alice.post(f"{ALICE}/forget", json=days).json()["turns"] == 1


@pytest.mark.parametrize("text", ["2024", "1711900000", "20240331", "nan"])
def test_a_number_as_text_is_no_time(alice, text):
    assert alice.post(f"{ALICE}/retrieve", json={"query": "tea", "as_of": text}).status_code == 422
    for name in ("since", "until"):
        assert alice.get(f"{ALICE}/records", params={name: text}).status_code == 422


def test_a_query_parameter_that_there_is_not_is_refused_with_the_known_ones(alice, operator):
    reply = alice.get(f"{ALICE}/records", params={"limt": 3})
    assert (reply.status_code, reply.json()["code"]) == (422, "input")
    assert "'limt'" in reply.json()["detail"] and "'limit'" in reply.json()["hint"]
    asked = operator.post(f"{ALICE}/consolidate", params={"preview": "true"}).json()
    assert (asked["code"], asked["hint"]) == ("input", "known: none")
    assert alice.get(f"{ALICE}/records", params={"kind": ["turn", "insight"], "limit": 3}).status_code == 200


def test_a_body_for_an_operation_without_one_is_refused(operator):
    for body in ({"preview": True}, [1], "x"):
        refused = operator.post(f"{ALICE}/sweep", json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "input")
    for body in ({}, None):
        assert operator.post(f"{ALICE}/sweep", json=body).status_code == 200
    assert operator.post(f"{ALICE}/sweep").status_code == 200


def test_a_change_of_nothing_is_refused(operator):
    memory = operator.post(f"{ALICE}/memories", json={"text": "Likes tea."}).json()
    refused = operator.patch(f"{ALICE}/memories/{memory['id']}", json={})
    assert (refused.status_code, refused.json()["hint"]) == (422, "give text, data or expires")
    assert operator.get(f"{ALICE}/memories/{memory['id']}/history").json()[-1]["version"] == 1
