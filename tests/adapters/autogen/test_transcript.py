"""The transcript: whatever a team does, each message is entered once and in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memscope import AsyncMemoryScope
from memscope.adapters.session import to_turn
from memscope_autogen import conversation
from memscope_autogen.conversation import Transcript

WORDS = st.lists(st.sampled_from(["ok", "yes", "no"]), max_size=8)


def entered(*texts: str) -> Transcript:
    transcript = Transcript()
    for text in texts:
        transcript.enter(to_turn("user", text))
    return transcript


def turns(*texts):
    return [to_turn("user", text) for text in texts]


def test_who_joins_is_shown_the_latest():
    assert entered("a", "b").overlap(turns("a", "b")) == (0, 2)
    assert entered("x", "a", "b").overlap(turns("a", "b", "c")) == (0, 2)
    assert entered("b").overlap(turns("a", "b", "c")) == (1, 2)
    assert entered("a", "reply").overlap(turns("a")) == (0, 0)
    assert Transcript().overlap(turns("a")) == (0, 0)


@given(WORDS, WORDS)
def test_an_overlap_is_the_end_of_the_ledger(known, shown):
    start, end = entered(*known).overlap(turns(*shown))
    assert shown[start:end] == known[len(known) - (end - start) :]


def test_a_long_conversation_is_cut_and_positions_stay(monkeypatch):
    monkeypatch.setattr(conversation, "MAX_TRANSCRIPT_ENTRIES", 8)
    transcript = entered(*map(str, range(20)))
    assert transcript.end == 20
    assert transcript.find(to_turn("user", "19"), 0) == 19
    assert transcript.find(to_turn("user", "0"), 0) is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["ok", "yes", "no"])), max_size=12))
async def test_agents_that_hear_each_other_record_each_message_once(script):
    """Each agent hears the user and all others, in batches, before it speaks: as in a team."""
    from autogen_core.model_context import UnboundedChatCompletionContext
    from autogen_core.models import AssistantMessage, UserMessage

    from memscope_autogen import MemoryScopeMemory

    async with AsyncMemoryScope(":memory:", settings={}) as core:
        memory = MemoryScopeMemory(user="alice", memory=core)
        contexts = {name: UnboundedChatCompletionContext() for name in "abc"}
        unheard = {name: [UserMessage(content="ok", source="user")] for name in "abc"}
        for name, text in script:
            for message in unheard[name]:
                await contexts[name].add_message(message)
            unheard[name] = []
            await memory.update_context(contexts[name])
            await contexts[name].add_message(AssistantMessage(content=text, source=name))
            for other in set("abc") - {name}:
                unheard[other].append(UserMessage(content=text, source=name))
        stored = [(turn.speaker, turn.text) for turn in await core.list(user="alice")]
        assert stored == ([("user", "ok"), *script] if script else [])
