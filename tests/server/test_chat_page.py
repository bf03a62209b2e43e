"""The chat page: the answer as events with the memories it is based on, which can be corrected or forgotten."""

from __future__ import annotations

import json
import re

import pytest

from memscope_server.tokens import TokenFile

from .conftest import Served, fill, serving
from servers.faults import FaultServer

SCRIPT = [{"match": "When|Which home", "reply": "In March."}, {"match": ".", "reply": "Noted."}]


@pytest.fixture
async def talking(tmp_path):
    """Serve Alice's memory with a chat model."""
    home = await fill(tmp_path / "memory.db")
    tokens = TokenFile(tmp_path / "tokens.json")
    _, secret = tokens.add("user", "alice")
    with FaultServer(script=SCRIPT) as model:
        chat = {"base_url": model.base_url, "model": "test-chat", "attempts": 1}
        with serving(tmp_path / "memory.db", tokens, {"chat": chat, "background": False}) as root:
            served = Served(root, "", secret, "", home, "", tokens)
            with served.client(secret) as client:
                yield client, model


def events(text: str) -> list[tuple[str, dict]]:
    return [(name, json.loads(data)) for name, data in re.findall(r"event: (\w+)\ndata: (.*)\n\n", text)]


async def test_an_answer_is_streamed_with_its_memories(talking):
    client, _ = talking
    page = client.get("/u/alice/chat").text
    session = re.search(r'name="session" value="([^"]+)"', page)[1]
    said = {"text": "Which home did I move to?", "session": session}
    pieces = events(client.post("/u/alice/chat", data=said).text)
    assert "".join(value["text"] for name, value in pieces if name == "piece") == "In March."
    name, last = pieces[-1]
    assert name == "done" and "I moved to Lisbon two weeks ago." in last["html"] and "found by" in last["html"]
    assert 'action="/u/alice/records/fact-lisbon/correct"' in last["html"] and 'value="insight-home"' in last["html"]
    again = client.get("/u/alice/chat", params={"session": session}).text
    assert "Which home did I move to?" in again and "In March." in again


async def test_hostile_words_are_shown_as_text(talking):
    client, _ = talking
    pieces = events(client.post("/u/alice/chat", data={"text": "What does my homepage say?"}).text)
    assert "document.title" in pieces[-1][1]["html"] and "<script" not in pieces[-1][1]["html"]


async def test_a_model_that_fails_ends_the_answer_with_its_error(talking):
    client, model = talking
    model.plan = model.plan.__class__([{"fault": "server_error", "status": 500, "endpoint": "chat"}])
    name, value = events(client.post("/u/alice/chat", data={"text": "Hello"}).text)[-1]
    assert name == "error" and value["code"] == "model_unavailable"


async def test_an_empty_message_is_refused(talking):
    client, _ = talking
    assert client.post("/u/alice/chat", data={"text": " "}).status_code == 422


def test_without_a_model_the_page_says_what_to_set(alice):
    page = alice.get("/u/alice/chat").text
    assert "preset: ollama" in page and "<textarea" not in page
    assert "还没有可以聊天的模型" in alice.get("/u/alice/chat", headers={"Accept-Language": "zh-CN"}).text


def test_another_users_chat_is_not_found(served):
    with served.client(served.bob) as bob:
        assert bob.get("/u/alice/chat").status_code == 404
        assert bob.post("/u/alice/chat", data={"text": "Hello"}).status_code == 404


def test_a_statement_is_remembered_by_the_form(alice):
    shown = alice.post("/u/alice/remember", data={"text": "I keep bees."}, follow_redirects=True)
    assert shown.status_code == 200 and "I keep bees." in shown.text
    assert "I keep bees." in alice.get("/u/alice/ask", params={"q": "Do I keep bees?"}).text
    assert alice.post("/u/alice/remember", data={"text": ""}).status_code == 422


@pytest.mark.parametrize("page", ["", "records", "timeline", "entities", "review", "blocks", "ask"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_empty_page_says_how_to_begin(operator, page, language):
    shown = operator.get(f"/u/nobody/{page}", headers={"Accept-Language": language}).text
    begins = {"en": "Nothing is remembered yet", "zh": "还没有任何记忆"}[language]
    assert (begins in shown) == (page in ("", "records", "timeline"))
    assert "None" not in re.sub(r"<[^>]+>", "", shown) and shown.count('class="soft"') + shown.count("begin") >= 1


def test_a_reason_is_in_the_readers_language(alice, operator):
    asked = {"q": "zebra quantum"}
    assert "说过的话里" in alice.get("/u/alice/ask", params=asked, headers={"Accept-Language": "zh-CN"}).text
    assert (
        "这个用户还没有任何内容"
        in operator.get("/u/nobody/ask", params=asked, headers={"Accept-Language": "zh-CN"}).text
    )
