"""The inspector without a browser: hostile names, a selected agent, errors."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from memscope_server.tokens import TokenFile

from .conftest import Served, serving


def test_names_of_any_kind_are_shown_as_text(operator):
    hostile = "\"><script>document.title='owned'</script>"
    place = "/" + "".join(f"%{byte:02X}" for byte in hostile.encode())
    turn = {"role": "user", "content": f"My sister {hostile} met Kim in Rome.", "id": hostile, "speaker": hostile}
    given = {"turns": [turn], "agent": hostile, "session": hostile}
    operator.post(f"/api/v1/users{place}/turns", json=given).raise_for_status()
    operator.post(f"/api/v1/users{place}/memories", json={"text": hostile, "name": hostile}).raise_for_status()
    asked = {"q": hostile, "session": hostile, "agent": hostile}
    for page in (
        "/",
        "/records",
        f"/records{place}",
        "/ask",
        "/entities",
        "/timeline",
        "/blocks",
        "/review",
        "/forget",
    ):
        for query in ({}, asked):
            reply = operator.get(f"/u{place}{page}", params=query, headers={"Accept": "text/html"})
            assert reply.status_code == 200 and "<script>document" not in reply.text, page
    assert "<script>document" not in operator.get("/", params={"q": hostile}).text


def test_blocks_are_described_in_the_readers_language(operator):
    described = {"label": "boat", "value": "Green.", "description": "What I sail."}
    operator.post("/api/v1/users/alice/blocks", json=described).raise_for_status()
    page = operator.get("/u/alice/blocks", headers={"Accept-Language": "zh-CN"}).text
    assert "用户：每次回答都应知道的事" in page and "助手自己" in page and "What I sail." in page
    assert "The user: what" not in page and "You, the assistant" not in page
    assert "The user: what every answer" in operator.get("/u/alice/blocks").text


def test_links_keep_the_agent_that_an_operator_chose(operator):
    page = operator.get("/u/alice/records", params={"agent": "helper"}).text
    assert "Prefers short answers." in page and "Lisbon" not in page
    assert 'href="/u/alice/timeline?agent=helper"' in page and 'name="agent" value="helper"' in page


def test_channels_are_listed_with_the_comma_of_the_language(alice):
    asked = {"q": "Where do I live?"}
    assert "词语、" in alice.get("/u/alice/ask", params=asked, headers={"Accept-Language": "zh-CN"}).text
    assert "words, " in alice.get("/u/alice/ask", params=asked).text


def test_a_correction_undoes_none_of_another_tab(alice):
    version = re.search(r'name="version" value="(\d+)"', alice.get("/u/alice/records/fact-lisbon").text)
    for text, status in (("Lives in Porto.", 303), ("Lives in Faro.", 409)):
        form = {"text": text, "version": version[1]}
        assert alice.post("/u/alice/records/fact-lisbon/correct", data=form).status_code == status
    assert alice.get("/api/v1/users/alice/records/fact-lisbon").json()["text"] == "Lives in Porto."


def test_a_form_keeps_the_line_end_that_a_text_begins_with(alice):
    added = alice.post("/api/v1/users/alice/memories", json={"text": "\nA poem."}).json()
    assert ">\n\nA poem.</textarea>" in alice.get(f"/u/alice/records/{added['id']}").text  # browsers drop the first


@pytest.mark.parametrize("user", ["team/records/one", "team/blocks", "team/entities/Kim", "a%2Fb", "/a", "a/"])
def test_a_slash_in_a_name_leads_to_no_other_user(operator, user):
    place, id = quote(user, safe=""), "chat/records/1 ?#%2F"
    turn = {"role": "user", "content": "My sister Kim met Anna in Rome.", "id": id}
    operator.post(f"/api/v1/users/{place}/turns", json={"turns": [turn]}).raise_for_status()
    for path in ("profile", "proposals", "entities", "timeline", "stream", "graph", "blocks", "records"):
        assert operator.get(f"/api/v1/users/{place}/{path}").status_code == 200, path
    for path in ("", "records", "ask", "chat", "entities", "timeline", "blocks", "review", "forget"):
        page = operator.get(f"/u/{place}/{path}")
        assert page.status_code == 200 and f'href="/u/{place}/{path}" aria-current="page"' in page.text, path
    assert f"/u/{place}/records/{quote(id, safe='')}" in operator.get(f"/u/{place}/records").text
    assert operator.get(f"/u/{place}/records/{quote(id, safe='')}").status_code == 200
    read = operator.get(f"/api/v1/users/{place}/records/{quote(id, safe='')}").json()
    assert (read["user"], read["id"]) == (user, id)


def test_the_list_of_users_says_how_many_more_match(operator, monkeypatch):
    monkeypatch.setattr("memscope_server.pages.operators.MAX_LISTED_USERS", 2)
    for name in ("anna", "anton", "antje"):
        turn = {"role": "user", "content": "Hi."}
        operator.post(f"/api/v1/users/{name}/turns", json={"turns": [turn]}).raise_for_status()
    assert "and 1 more" in operator.get("/", params={"q": "an"}).text
    assert " more" not in operator.get("/", params={"q": "bob"}).text


def test_a_corrected_memory_is_shown_on_the_ask_page(alice):
    """Show a hit that only a correction, and no search channel, brought up."""
    new = {"text": "The user lives in Potsdam."}
    alice.patch("/api/v1/users/alice/memories/fact-lisbon", json=new).raise_for_status()
    asked = {"q": "What did I say about Lisbon?"}
    shown = alice.get("/u/alice/ask", params=asked)
    assert shown.status_code == 200 and "The user lives in Potsdam." in shown.text
    assert "in place of a changed one" in shown.text
    assert "取代了已改变的内容" in alice.get("/u/alice/ask", params=asked, headers={"Accept-Language": "zh-CN"}).text


@pytest.mark.parametrize(
    ("page", "status"),
    [("/u/alice/records?as_of=soon", 422), ("/nothing", 404), ("/u/alice/records?after=x", 422),
     ("/u/alice/entities/Nobody", 404), ("/u/alice/blocks/none", 404), ("/u/alice/forget?id=none", 404)],
)  # fmt: skip
def test_a_browser_gets_a_page_about_an_error(alice, page, status):
    reply = alice.get(page, headers={"Accept": "text/html"})
    assert reply.status_code == status and reply.headers["content-type"].startswith("text/html")
    assert 'role="alert"' in reply.text


def test_an_insight_shows_where_each_sentence_comes_from(alice):
    page = alice.get("/u/alice/records/insight-home").text
    part = page.partition("each with what it rests on")[2].partition("</section>")[0]
    assert ">Lisbon<" in part and 'href="/u/alice/records/fact-lisbon"' in part
    assert "逐句及其来源" in alice.get("/u/alice/records/insight-home", headers={"Accept-Language": "zh-CN"}).text


def test_jobs_and_metrics_show_what_the_back_end_cost(tmp_path, fault_server):
    tokens = TokenFile(tmp_path / "tokens.json")
    _, secret = tokens.add("operator", None)
    settings = {"chat": {"base_url": fault_server.base_url, "model": "scripted"}}
    with serving(tmp_path / "memory.db", tokens, settings) as root:
        with Served(root, secret, "", "", "", "", tokens).client(secret) as operator:
            turns = {"turns": [{"role": "user", "content": "I moved to Berlin last May."}]}
            operator.post("/api/v1/users/alice/turns", json=turns)
            calls = operator.post("/api/v1/users/alice/consolidate").json()["calls"]
            audit = operator.post("/api/v1/users/alice/audit", json={"ask": 1, "preview": True}).json()
            assert (audit["findings"], audit["work"]["operation"], audit["work"]["pending"]) == ([], "audit", 0)
            assert "Per 1,000 turns" not in operator.get("/jobs").text  # the model has read no turns
            for page in ("/jobs", "/jobs?user=alice"):
                shown = operator.get(page).text
                assert "Tokens" in shown and re.search(
                    rf'row">consolidate</th><td class="number"[^>]*>{calls}</td>', shown
                )
            assert "Tokens" not in operator.get("/jobs?user=bob").text
            assert f'memscope_chat_calls_total{{operation="consolidate"}} {calls}' in operator.get("/metrics").text
