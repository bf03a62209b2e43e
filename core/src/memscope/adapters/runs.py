"""One run of an agent whose model is sent a list of messages: record what is new, recall once.

messages ──▶ turns ──▶ begin_run ──▶ history, replayed; new turns, recorded; one block for the query
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memscope.adapters.session import MemorySession
from memscope.prompts.memory_block import TurnInput, choose_query

MAX_REPLAYED_TURNS = 500  # of a history that is compared with what is stored


@dataclass(frozen=True, slots=True)
class RunMemory:
    """Memory for one run: the block to show, the ids in it, and the keys of the turns that the model sees anyway."""

    text: str = ""
    shown: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


async def begin_run(
    session: MemorySession,
    turns: Sequence[TurnInput],
    *,
    new: int | None = None,
    exclude: Collection[str] = (),
    permanent: bool = False,
) -> RunMemory:
    """Record the turns of a run and recall for the newest.

    Args:
        session: The memory of the run's user.
        turns: All turns that the model is about to see, oldest first.
        new: Index of the first turn said in this run; those before it are history shown again. By default
            ``first_unanswered(turns)``.
        exclude: Ids and keys of what the model sees beside ``turns``.
        permanent: Whether the block stays in the conversation.
    """
    start = first_unanswered(turns) if new is None else new
    history, fresh = turns[:start][-MAX_REPLAYED_TURNS:], turns[start:]
    keys = (*await session.record(history, replay=True), *await session.record(fresh))
    texts = {turn["content"] for turn in (*history, *fresh)}
    recalled = await session.recall(
        choose_query(fresh or history), exclude={*exclude, *filter(None, keys)}, shown=texts, permanent=permanent
    )
    return RunMemory(recalled.text, tuple(hit.id for hit in recalled.hits), keys)


def first_unanswered(turns: Sequence[TurnInput]) -> int:
    """Index of the user's newest turn if nobody has replied to it, else the number of turns.

    A caller that shows the whole history again says nothing else about what is new.
    """
    last = {turn["role"]: place for place, turn in enumerate(turns)}
    user, assistant = last.get("user", -1), last.get("assistant", -1)
    return user if user > assistant else len(turns)
