"""Memory for one run of an agent that sends its model a list of messages: record the new turns, recall once.

messages ──▶ turns ──▶ begin_run ──▶ replayed history, recorded new turns, one block of memories for the query
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from memscope.adapters.session import MemorySession, to_turn
from memscope.prompts.memory_block import TurnInput, choose_query

MAX_REPLAYED_TURNS = 500  # newest turns of the history that are checked against the store


@dataclass(frozen=True, slots=True)
class RunMemory:
    """The block to show in a run, the ids of its hits, and the keys of the turns that the model sees anyway."""

    text: str = ""
    shown: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The turns with which a run began, their keys ("" for those not recorded), and the query for its recall."""

    turns: tuple[TurnInput, ...]
    keys: tuple[str, ...]
    query: str


@dataclass(frozen=True, slots=True)
class _ToolCall:
    agent: str | None
    texts: frozenset[str]


_tool_call: ContextVar[_ToolCall | None] = ContextVar("memscope_tool_call", default=None)


def begin_tool_call(agent: str | None, arguments: Mapping[str, Any]) -> None:
    """Note what an agent passes to a tool, until ``end_tool_call``.

    An agent that the tool runs gets it as the user's message; ``record_run`` records it as the words of ``agent``.
    """
    _tool_call.set(_ToolCall(agent, frozenset(value for value in arguments.values() if isinstance(value, str))))


def end_tool_call() -> None:
    _tool_call.set(None)


def _as_said(turn: TurnInput) -> TurnInput:
    call = _tool_call.get()
    if call is None or turn["role"] != "user" or turn["content"] not in call.texts:
        return turn
    return {**turn, **to_turn("assistant", turn["content"], speaker=call.agent)}


async def begin_run(
    session: MemorySession, turns: Sequence[TurnInput], *, new: int | None = None, exclude: Collection[str] = (),
    permanent: bool = False,
) -> RunMemory:  # fmt: skip
    """Record the turns of a run and recall memories for the newest one.

    Args:
        session: The memory of the run's user.
        turns: All turns that the model is about to see, oldest first.
        new: Index of the first turn of this run; earlier ones are replayed history. By default
            ``first_unanswered(turns)``.
        exclude: Ids and keys of records that the model sees in addition to ``turns``.
        permanent: Whether the block stays in the conversation.
    """
    return await recall_run(session, await record_run(session, turns, new=new), exclude=exclude, permanent=permanent)


async def record_run(session: MemorySession, turns: Sequence[TurnInput], *, new: int | None = None) -> RecordedRun:
    """Record the turns of a run, for a framework that says only later which of them the model sees.

    The arguments are those of ``begin_run``; ``recall_run`` takes the result.
    """
    start = first_unanswered(turns) if new is None else new
    history, fresh = turns[:start][-MAX_REPLAYED_TURNS:], [_as_said(turn) for turn in turns[start:]]
    keys = (*await session.record(history, replay=True), *await session.record(fresh))
    return RecordedRun((*history, *fresh), keys, choose_query(fresh or history))


async def recall_run(
    session: MemorySession, run: RecordedRun, *, hidden: Collection[int] = (), exclude: Collection[str] = (),
    permanent: bool = False,
) -> RunMemory:  # fmt: skip
    """Recall memories for a recorded run.

    Args:
        session: The memory of the run's user.
        run: The recorded turns.
        hidden: Indexes of ``run.turns`` that the model does not see, such as compacted ones. They may be recalled.
        exclude: Ids and keys of records that the model sees in addition.
        permanent: Whether the block stays in the conversation.
    """
    seen = [place for place in range(len(run.turns)) if place not in hidden]
    keys, texts = tuple(run.keys[place] for place in seen), {run.turns[place]["content"] for place in seen}
    recalled = await session.recall(
        run.query, exclude={*exclude, *filter(None, keys)}, shown=texts, permanent=permanent
    )
    return RunMemory(recalled.text, tuple(hit.id for hit in recalled.hits), keys)


def first_unanswered(turns: Sequence[TurnInput]) -> int:
    """Return the index of the user's newest turn if it has no reply yet, else the number of turns.

    Frameworks that resend the whole history give no other clue to which turns are new.
    """
    last = {turn["role"]: place for place, turn in enumerate(turns)}
    user, assistant = last.get("user", -1), last.get("assistant", -1)
    return user if user > assistant else len(turns)
