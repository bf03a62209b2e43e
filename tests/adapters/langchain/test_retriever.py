"""``MemoryScopeRetriever``: LangChain's own tests for retrievers, and ours."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnablePassthrough
from langchain_tests.integration_tests import RetrieversIntegrationTests

from memscope import AsyncMemoryScope, MemoryScope
from memscope.errors import InputError, MemscopeError, ScopeError
from memscope_langchain import MemoryScopeRetriever
from memscope_testing.scripted import FickleStore, ScriptedModel

from .talking import ScriptedChat

FACTS = ("My boat is called Aurora.", "The boat is green.", "I keep the boat in Kiel.", "A boat costs money.")


@pytest.fixture(autouse=True, scope="module")
def filled(tmp_path_factory):
    place = tmp_path_factory.mktemp("retriever") / "memory.db"
    with MemoryScope(place, settings={}) as memory:
        memory.add_turns([{"role": "user", "content": fact} for fact in FACTS], user="alice", session="one")
        memory.add_turns([{"role": "user", "content": "My boat is called Borealis."}], user="bob")
        TestStandard.place = place
        yield memory


class TestStandard(RetrieversIntegrationTests):
    place = None

    @property
    def retriever_constructor(self):
        return MemoryScopeRetriever

    @property
    def retriever_constructor_params(self):
        return {"user": "alice", "memory": self.place}

    @property
    def retriever_query_example(self):
        return "boat"


@pytest.fixture
def retriever(filled):
    return MemoryScopeRetriever(user="alice", memory=filled)


def test_a_document(retriever, filled):
    first, *_ = retriever.invoke("What is my boat called?")
    (turn,) = filled.list(user="alice", text="Aurora")
    assert isinstance(first, Document)
    assert (first.id, first.page_content) == (turn.key, FACTS[0])
    assert first.metadata["score"] > 0
    assert {name: value for name, value in first.metadata.items() if name not in ("score", "found_by")} == {
        "id": turn.key, "kind": "turn", "time": turn.time.isoformat(), "sources": [turn.key], "speaker": "user",
        "session": "one", "said": FACTS[0],
    }  # fmt: skip


async def test_what_a_call_may_ask(retriever):
    assert len(await retriever.ainvoke("boat", k=2)) == 2
    (other,) = await retriever.ainvoke("boat", user="bob")
    assert "Borealis" in other.page_content
    assert await retriever.ainvoke("boat", kinds=["insight"]) == []
    assert await retriever.ainvoke("boat", as_of="2000-01-01T00:00:00+00:00") == []


def test_a_configurable_user(retriever):
    anybody = retriever.configurable_fields(user=ConfigurableField(id="user_id"))
    (found,) = anybody.invoke("boat", {"configurable": {"user_id": "bob"}})
    assert "Borealis" in found.page_content


def test_a_session(filled):
    here = MemoryScopeRetriever(user="alice", memory=filled, recall="session", session="two")
    assert here.invoke("boat") == []
    assert len(here.invoke("boat", session="one")) == 4


def test_in_a_chain(retriever):
    script = ScriptedModel()
    prompt = ChatPromptTemplate.from_template("{memories}\n{question}")
    chain = (
        {"memories": retriever, "question": RunnablePassthrough()}
        | prompt
        | ScriptedChat(script=script)
        | StrOutputParser()
    )
    assert chain.invoke("What is my boat called?") == "Understood by model, number 1."
    assert "Aurora" in script.latest


def test_no_user(filled):
    for missing in (None, "", " "):
        with pytest.raises((ScopeError, ValueError)):
            MemoryScopeRetriever(user=missing, memory=filled)
    with pytest.raises(InputError, match="session"):
        MemoryScopeRetriever(user="alice", memory=filled, recall="session")


async def test_what_fails_is_told():
    store = FickleStore()
    async with AsyncMemoryScope(store, settings={}) as memory:
        retriever, store.broken = MemoryScopeRetriever(user="alice", memory=memory), True
        with pytest.raises(MemscopeError, match="out of order"):
            await retriever.ainvoke("boat")
