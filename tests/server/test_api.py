"""The HTTP API: all operations, errors as problem documents, and no access to other users' memory."""

from __future__ import annotations

import json
import random
import re
from datetime import UTC, datetime

import httpx2
import pytest

from memscope import AsyncMemoryScope
from memscope.stores.checksummed import decode
from memscope.stores.sqlite import SQLiteStore, user
from memscope_server import create_app
from memscope_server.listing import Listings
from memscope_server.tokens import TokenFile

from .conftest import fill, serving
from servers.faults.replies import Script

ALICE = "/api/v1/users/alice"
TURN = {"role": "user", "content": "x"}


# ----------------------------------------------------------------------------------------------------------- operations


def test_turns_are_added_found_corrected_and_forgotten(alice):
    added = alice.post(f"{ALICE}/turns", json={"turns": [{"role": "user", "content": "My dog is called Momo."}]}).json()
    assert added["stored"] == 1
    asked = {"query": "What is my dog called?", "explain": True}
    found = alice.post(f"{ALICE}/retrieve", json=asked).json()
    assert found["hits"][0]["id"] == added["keys"][0] and found["hits"][0]["features"] and found["explanation"]
    assert "Momo" in alice.post(f"{ALICE}/context", json={"query": "What is my dog called?"}).json()["text"]
    memory = alice.post(f"{ALICE}/memories", json={"text": "Likes jazz", "name": "music"}).json()
    changed = alice.patch(f"{ALICE}/memories/{memory['id']}", json={"text": "Likes blues", "version": 1}).json()
    assert changed["text"] == "Likes blues" and changed["version"] == 2
    assert [one["text"] for one in alice.get(f"{ALICE}/memories/{memory['id']}/history").json()] == [
        "Likes jazz", "Likes blues",
    ]  # fmt: skip
    dry = alice.post(f"{ALICE}/forget", json={"ids": [added["keys"][0]], "dry_run": True}).json()
    assert dry["turns"] == 1 and dry["dry_run"]
    assert alice.post(f"{ALICE}/forget", json={"ids": [added["keys"][0]]}).json()["physical"] in ("wiped", "pending")
    assert "Momo" not in alice.get(f"{ALICE}/records").text


def test_a_memory_comes_with_its_sources_quotes_and_successor(alice, served):
    berlin = alice.get(f"{ALICE}/records/fact-berlin").json()
    assert berlin["sources"] == [served.home] and berlin["quotes"] == [
        {"turn": served.home, "text": "I live in Berlin"}
    ]
    assert berlin["superseded_by"] == "fact-lisbon" and not berlin["current"]
    assert alice.get(f"{ALICE}/records/fact-lisbon").json()["happened"]["start"].startswith("2026-02-18")
    insight = alice.get(f"{ALICE}/records", params={"kind": "insight"}).json()["records"]
    assert [one["subject"] for one in insight] == ["home"]
    whole = alice.get(f"{ALICE}/records/insight-home").json()
    assert whole["sentences"] == [{"text": "Lisbon", "sources": ["fact-lisbon"]}]


def test_records_come_newest_first_page_by_page(alice):
    whole = [one["id"] for one in alice.get(f"{ALICE}/records").json()["records"]]
    pages, after = [], ""
    while after is not None:
        page = alice.get(f"{ALICE}/records", params={"limit": 3, "after": after}).json()
        pages, after = pages + [one["id"] for one in page["records"]], page["next"]
    assert pages == whole and len(set(whole)) == len(whole) > 6


def test_later_pages_continue_the_list_of_the_first(alice):
    page = {"limit": 4, "kind": "turn"}
    first = alice.get(f"{ALICE}/records", params=page).json()
    alice.post(f"{ALICE}/turns", json={"turns": [TURN]})
    second = alice.get(f"{ALICE}/records", params={**page, "after": first["next"]}).json()["records"]
    assert not {one["id"] for one in first["records"]} & {one["id"] for one in second} and second
    assert alice.get(f"{ALICE}/records", params=page).json()["records"][0]["text"] == TURN["content"]


def test_proposals_are_accepted_and_rejected(alice):
    assert [one["id"] for one in alice.get(f"{ALICE}/proposals").json()] == ["proposal"]
    assert alice.post(f"{ALICE}/proposals/accept", json={"ids": ["proposal"]}).json() == {"count": 1}
    assert alice.get(f"{ALICE}/proposals").json() == []
    assert alice.get(f"{ALICE}/records/proposal").json()["current"]


def test_core_memory_is_edited_and_reverted(alice):
    place = f"{ALICE}/blocks"
    made = alice.post(place, json={"label": "project", "value": "A shop.", "limit": 50}).json()
    assert made["version"] == 1 and "project" in [one["label"] for one in alice.get(place).json()]
    edits = [
        {"operation": "append", "text": "Opens in May."}, {"operation": "replace", "old": "May", "text": "June"},
        {"operation": "insert", "text": "Bread.", "line": 1}, {"operation": "remove", "text": "Opens in June."},
    ]  # fmt: skip
    for edit in edits:
        edited = alice.post(f"{place}/project/edits", json=edit).json()
    assert (edited["value"], edited["version"]) == ("Bread.\nA shop.", 5)
    for edit, status in (({"version": 1}, 409), ({"text": "x" * 60}, 413), ({"old": "x", "operation": "drop"}, 422)):
        refused = alice.post(f"{place}/project/edits", json={"operation": "rethink", "text": "x", **edit})
        assert refused.status_code == status
    assert alice.post(f"{place}/project/revert", json={"version": 2}).json()["value"] == "A shop.\nOpens in May."
    assert alice.patch(f"{place}/project", json={"read_only": True}).json()["read_only"]
    assert [one["version"] for one in alice.get(f"{place}/project/history").json()] == [1, 2, 3, 4, 5, 6, 7]
    assert alice.get(f"{place}/none").status_code == 404


def test_entities_timeline_stream_and_graph(alice, served):
    names = {one["name"]: one["kind"] for one in alice.get(f"{ALICE}/entities", params={"top": 9}).json()}
    assert names["Kim"] == "person" and names["Lisbon"] == "place"
    kim = alice.get(f"{ALICE}/entities/my sister").json()
    assert kim["entity"]["name"] == "Kim" and [one["id"] for one in kim["turns"]] == [served.home]
    assert alice.get(f"{ALICE}/timeline", params={"by": "month"}).json()["buckets"][0]["count"] == 5
    assert "Lisbon" in [one["name"] for one in alice.get(f"{ALICE}/stream").json()]
    nodes = alice.get(f"{ALICE}/graph", params={"name": "Kim", "depth": 1}).json()["nodes"]
    assert {"Kim", "Berlin"} <= {one["name"] for one in nodes}
    assert "Lissabon" not in alice.get(f"{ALICE}/entities").text
    alice.post(f"{ALICE}/turns", json={"turns": [{"role": "user", "content": "I like Lissabon, in Portugal."}]})
    merged = alice.post(f"{ALICE}/entities/Lisbon/merge", json={"other": "Lissabon"}).json()
    assert merged["name"] == "Lisbon" and "Lissabon" in merged["aliases"]
    assert "Lissabon" not in alice.post(f"{ALICE}/entities/Lisbon/split", json={"other": "Lissabon"}).json()["aliases"]
    assert alice.post(f"{ALICE}/entities/Lissabon/dismiss").status_code == 204
    assert "Lissabon" not in alice.get(f"{ALICE}/entities").text
    assert alice.post(f"{ALICE}/entities/Nobody/dismiss").status_code == 404
    assert alice.get(f"{ALICE}/entities/Nobody").status_code == 404
    assert alice.get(f"{ALICE}/timeline", params={"by": "year"}).status_code == 422


def test_an_omitted_record_has_its_reason(alice):
    found = alice.post(f"{ALICE}/retrieve", json={"query": "Where do I live?"}).json()
    assert {"id": "fact-berlin", "why": "superseded"} in found["left_out"]


def test_openapi_describes_errors_and_the_token(alice):
    described = alice.get("/api/v1/openapi.json").json()
    operation = described["paths"]["/api/v1/users/{user}/turns"]["post"]
    for status in ("422", "default"):
        shape = operation["responses"][status]["content"]["application/problem+json"]["schema"]
        assert {"code", "detail", "hint"} <= set(shape["required"])
    assert operation["security"] and described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"


def test_what_an_operator_sees(operator):
    assert operator.get("/api/v1/users").json() == {"users": ["alice", "bob"]}
    status = operator.get("/api/v1/status").json()
    assert status["users"] == 2 and status["models"]["chat"] == "none"
    metrics = operator.get("/metrics").text
    assert "memscope_turns 7" in metrics and 'memscope_pending{stage="consolidate"}' in metrics
    assert "alice" not in metrics and "bob" not in metrics
    assert operator.post(f"{ALICE}/reflect").json()["model"] == "none"
    assert operator.get(f"{ALICE}/audit").json() == [] and operator.post(f"{ALICE}/unpark").json() == {"count": 0}
    assert operator.post(f"{ALICE}/sweep").json()["turns"] == 0


def test_only_an_operator_may_audit_with_a_model(operator, alice):
    asked = {"ask": 1, "preview": True}
    refused = operator.post(f"{ALICE}/audit", json=asked).json()
    assert (refused["code"], "chat" in refused["detail"]) == ("config", True)
    assert operator.post(f"{ALICE}/audit", json={"ask": 0}).json()["code"] == "input"
    assert alice.post(f"{ALICE}/audit", json=asked).status_code == 404


def test_a_memory_of_the_assistant_has_its_origin(alice):
    made = alice.post(f"{ALICE}/memories", json={"text": "Alice has a kayak.", "role": "assistant"}).json()
    assert made["origin"] == "assistant"
    assert alice.post(f"{ALICE}/memories", json={"text": "x", "role": "robot"}).status_code == 422


def test_an_insight_is_added_with_its_subject(alice):
    made = alice.post(f"{ALICE}/memories", json={"text": "Vegan.", "kind": "insight", "subject": "diet"}).json()
    assert (made["kind"], made["subject"]) == ("insight", "diet")
    assert alice.post(f"{ALICE}/memories", json={"text": "Vegan.", "kind": "insight"}).status_code == 422


async def test_later_pages_fetch_only_their_own_records(tmp_path):
    class NoMoreScans(SQLiteStore):
        scans = 0

        def scan(self, select):
            self.scans += 1
            return super().scan(select)

    store, tokens = NoMoreScans(tmp_path / "memory.db"), TokenFile(tmp_path / "tokens.json")
    async with AsyncMemoryScope(store, settings={}) as memory:
        await memory.add_turns([{"role": "user", "content": f"Remark {number}."} for number in range(350)], user="u")
        headers = {"Authorization": f"Bearer {tokens.add('user', 'u')[1]}"}
        transport = httpx2.ASGITransport(create_app(memory, tokens=tokens, hosts={"served"}))
        async with httpx2.AsyncClient(transport=transport, base_url="http://served", headers=headers) as user:
            for path in ("/u/u/records", "/api/v1/users/u/records"):
                store.scans = 0
                pages = [(await user.get(path)).text]
                while after := re.search(r'(?:after=|"next":")([\d.]+)', pages[-1]):
                    pages.append((await user.get(path, params={"after": after[1]})).text)
                assert store.scans == 0 and "Remark 349." in pages[0] and "Remark 0." in pages[3]


async def test_a_filtered_list_reads_only_candidate_records(tmp_path, monkeypatch):
    decoded, now = [], [datetime(2029, 1, 1, tzinfo=UTC)]
    monkeypatch.setattr(user, "decode", lambda body: decoded.append(body) or decode(body))
    day, word = datetime(2030, 1, 1, tzinfo=UTC), 'the "Ärger" Café'
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}, clock=lambda: now[-1]) as memory:
        said = [f"Remark {number}." for number in range(350)] + ['We met in THE "ÄRGER" café.', "So\nlate."]
        await memory.add_turns([{"role": "user", "content": text} for text in said], user="u")
        await memory.add_memory("The boat is green.", user="u", name="boat")
        now.append(datetime(2031, 1, 1, tzinfo=UTC))
        await memory.add_memory("The boat is blue.", user="u", name="boat")
        for asked, found, most in (
            ({"text": word}, ['We met in THE "ÄRGER" café.'], 5),
            ({"text": "o\nL"}, ["So\nlate."], 5),
            ({"text": "remark 34"}, [f"Remark {number}." for number in (*range(349, 339, -1), 34)], 25),
            ({"as_of": day}, ["The boat is green.", "The boat is green.", "So\nlate."], 15),
        ):
            decoded.clear()
            page = (await Listings().page(memory, None, 11, user="u", agent=None, **asked)).records
            assert [one.text for one in page][: len(found)] == found and len(decoded) <= most, asked
        known = await Listings().page(memory, None, 400, user="u", agent=None, as_of=day, kinds=["observation"])
        assert [one.text for one in known.records] == ["The boat is green."]


def test_chat_streams_pieces_and_remembers_both_sides(served, tmp_path, fault_server):
    fault_server.script = Script({"boat": "The boat is green."})
    settings = {"chat": {"base_url": fault_server.base_url, "model": "scripted"}}
    with serving(tmp_path / "talk.db", served.tokens, settings) as root, served.client(served.alice, root) as talking:
        with talking.stream(
            "POST", f"{ALICE}/chat", json={"text": "Which colour is the boat?", "session": "s"}
        ) as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            events = [event.split("\n") for event in "".join(reply.iter_text()).split("\n\n") if event]
        assert [event[0] for event in events][-1] == "event: done" and len(events) > 2
        pieces = [json.loads(event[1].removeprefix("data: "))["text"] for event in events[:-1]]
        assert "".join(pieces) == "The boat is green."
        said = talking.get(f"{ALICE}/records", params={"session": "s"}).json()["records"]
        assert [one["text"] for one in said] == ["The boat is green.", "Which colour is the boat?"]


def test_chat_without_a_model_is_an_error_event_or_a_problem(alice):
    reply = alice.post(f"{ALICE}/chat", json={"text": "hello"})
    assert "config" in reply.text and "chat" in reply.text


def test_users_and_ids_of_any_characters(operator):
    user = "团队/а лиса?#%"
    place = "/api/v1/users/" + "".join(f"%{byte:02X}" for byte in user.encode())
    turn = {"role": "user", "content": "Rides a motorbike.", "id": "chat/1 2"}
    assert operator.post(f"{place}/turns", json={"turns": [turn]}).json()["keys"] == ["chat/1 2"]
    assert operator.get(f"{place}/records/chat%2F1%202").json()["user"] == user
    assert operator.post(f"{place}/context", json={"query": "motorbike"}).json()["text"]


# --------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("method", "path", "given", "status", "code"),
    [
        ("GET", f"{ALICE}/records/none", None, 404, "not_found"),
        ("POST", f"{ALICE}/retrieve", {"query": 1}, 422, "input"),
        ("POST", f"{ALICE}/retrieve", {"query": "x", "limit": 3}, 422, "input"),
        ("POST", f"{ALICE}/retrieve", {"query": "x", "filter": {"a": {"$like": 1}}}, 422, "input"),
        ("POST", f"{ALICE}/forget", {}, 422, "input"),
        ("POST", f"{ALICE}/turns", {"turns": []}, 422, "input"),
        ("PATCH", f"{ALICE}/memories/fact-lisbon", {"text": "x", "version": 9}, 409, "conflict"),
        ("PUT", f"{ALICE}/turns", {}, 405, "method_not_allowed"),
        ("GET", "/api/v1/nothing", None, 404, "not_found"),
    ],
)
def test_errors_are_problems_with_a_code_and_a_hint(alice, method, path, given, status, code):
    reply = alice.request(method, path, json=given)
    problem = reply.json()
    assert (reply.status_code, problem["code"]) == (status, code), problem
    assert reply.headers["content-type"] == "application/problem+json" and "hint" in problem


def test_a_body_without_end_is_refused(alice):
    long = {"turns": [{"role": "user", "content": "x" * 9_000_000}]}
    reply = alice.post(f"{ALICE}/turns", json=long)
    assert (reply.status_code, reply.json()["code"]) == (413, "limit")


# --------------------------------------------------------------------------------------------------------------- access


def test_without_a_token_only_health_answers(served):
    with served.client(None) as nobody:
        assert nobody.get("/health").json()["status"] == "ok"
        for path in ("/api/v1/me", "/api/v1/users", f"{ALICE}/records", "/metrics", "/api/v1/status"):
            assert nobody.get(path).status_code == 401
        assert nobody.get("/", follow_redirects=False).headers.get("location", "/login") == "/login"
    with served.client("memscope_wrong") as wrong:
        assert wrong.get("/api/v1/me").status_code == 401


def test_what_a_user_may_not_see_is_not_found(alice):
    for path in ("/api/v1/users", "/api/v1/status", "/metrics", "/jobs"):
        assert alice.get(path).status_code == 404
    assert alice.post(f"{ALICE}/reflect").status_code == 404


def test_a_token_for_an_agent_sees_only_that_agents_records(served, alice):
    with served.client(served.assistant) as helper:
        assert helper.get(f"{ALICE}/proposals").json() == [] and "绿茶" not in helper.get("/u/alice/review").text
        for verdict in ("accept", "reject"):
            assert helper.post(f"{ALICE}/proposals/{verdict}", json={"ids": ["proposal"]}).status_code == 404
        assert [one["id"] for one in alice.get(f"{ALICE}/proposals").json()] == ["proposal"]
        assert {one["agent"] for one in helper.get(f"{ALICE}/records").json()["records"]} == {"helper"}
        assert helper.get(f"{ALICE}/records/{served.home}").status_code == 404
        assert helper.get(f"{ALICE}/records", params={"agent": "other"}).status_code == 404


@pytest.mark.slow
async def test_5000_requests_for_another_user_answer_as_for_a_missing_one(tmp_path):
    """Call every operation as Bob with other users' names and ids: the response is that for a missing user."""
    home, tokens, rng = await fill(tmp_path / "memory.db"), TokenFile(tmp_path / "tokens.json"), random.Random(19)
    ids = [home, "fact-berlin", "fact-lisbon", "insight-home", "proposal"]
    bodies = [
        {"query": "Berlin"}, {"ids": ids}, {"everything": True}, {"text": "Berlin"}, {"turns": [TURN]},
        {"operation": "append", "text": "x"}, {"version": 1}, {"label": "new"},
    ]  # fmt: skip
    names = {"{label}": "human", "{name}": "Berlin"}
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={}) as memory:
        app = create_app(memory, tokens=tokens, hosts={"served"})
        paths = app.openapi()["paths"]
        operations = [(method, path) for path, methods in paths.items() if "{user}" in path for method in methods]
        headers = {"Authorization": f"Bearer {tokens.add('user', 'bob')[1]}"}
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://served", headers=headers) as bob:

            async def ask(user, operation, id, body):
                method, path = operations[operation]
                given = None if method == "get" else bodies[body]
                for mark, name in {"{user}": user, "{id}": id, **names}.items():
                    path = path.replace(mark, name)
                reply = await bob.request(method, path, json=given)
                return reply.status_code, reply.text.replace(user, "WHO")

            missing, leaked = {}, 0
            for _ in range(5000):
                tried = rng.randrange(len(operations)), rng.choice(ids), rng.randrange(len(bodies))
                if tried not in missing:
                    missing[tried] = await ask("nobody", *tried)
                status, text = await ask("alice", *tried)
                leaked += (status, text) != missing[tried] or status not in (404, 422) or "Berlin" in text
        assert leaked == 0 and len(operations) > 30
        assert len(await memory.list(user="alice", superseded=True)) > 8


def test_a_revoked_token_is_refused_at_once(served, alice):
    assert alice.get("/api/v1/me").json() == {"role": "user", "user": "alice", "agent": None}
    id = next(token.id for token in served.tokens.tokens() if token.user == "alice" and token.agent is None)
    TokenFile(served.tokens.path).revoke(id)  # as another process would
    assert alice.get("/api/v1/me").status_code == 401


def test_tokens_are_stored_as_digests_in_a_private_file(served):
    kept = served.tokens.path.read_text()
    assert served.alice not in kept and served.operator not in kept
    assert served.tokens.path.stat().st_mode & 0o777 == 0o600
    assert len(json.loads(kept)) == 4


# ---------------------------------------------------------------------------------------------------------- other sites


def test_another_host_name_is_refused(served):
    with served.client(served.operator) as client:
        assert client.get("/health", headers={"Host": "evil.example"}).status_code == 421


def test_another_site_changes_nothing(served):
    with served.client(served.operator) as client:
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
            reply = client.post(f"{ALICE}/forget", json={"everything": True}, headers={"Origin": origin})
            assert reply.status_code == 403
        assert client.get(f"{ALICE}/records/fact-lisbon").status_code == 200


def test_a_browser_must_send_its_csrf_secret(served):
    with served.client(None) as browser:
        signed = browser.post("/login", data={"token": served.alice}, follow_redirects=False)
        cookie = signed.headers["set-cookie"]
        assert signed.status_code == 303 and "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
        assert served.alice not in cookie
        assert "Lisbon" in browser.get("/u/alice/").text
        assert browser.post("/u/alice/forget", data={"everything": "alice"}).status_code == 403
        assert browser.post("/u/alice/forget", data={"everything": "alice", "csrf": "x"}).status_code == 403
        assert browser.get("/u/bob/", headers={"Accept": "text/html"}).status_code == 404
        assert "Lisbon" in browser.get("/u/alice/").text


def test_a_sign_in_link_redirects_to_an_address_without_the_token(served):
    with served.client(None) as browser:
        reply = browser.get("/login", params={"token": served.alice}, follow_redirects=False)
        assert reply.status_code == 303 and reply.headers["location"] == "/"


def test_every_response_has_security_headers(served):
    with served.client(served.operator) as client:
        for path in ("/login", "/api/v1/me", "/nothing", "/static/style.css"):
            headers = client.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"] and headers["x-frame-options"] == "DENY"
            assert (headers.get("cache-control") == "no-store") == (not path.startswith("/static"))
