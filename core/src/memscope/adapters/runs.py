"""Memory for one run of an agent that sends its model a list of messages: record the new turns, recall once.

messages ──▶ turns ──▶ begin_run ──▶ replayed history, recorded new turns, one block of memories for the query
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memscope.adapters.session import MemorySession
from memscope.prompts.memory_block import TurnInput, choose_query

MAX_REPLAYED_TURNS = 500  # newest turns of the history that are checked against the store


@dataclass(frozen=True, slots=True)
class RunMemory:
    """The block to show in a run, the ids of its hits, and the keys of the turns that the model sees anyway."""

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
    """Record the turns of a run and recall memories for the newest one.

    Args:
        session: The memory of the run's user.
        turns: All turns that the model is about to see, oldest first.
        new: Index of the first turn of this run; earlier ones are replayed history. By default
            ``first_unanswered(turns)``.
        exclude: Ids and keys of records that the model sees in addition to ``turns``.
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
    """Return the index of the user's newest turn if it has no reply yet, else the number of turns.

    Frameworks that resend the whole history give no other clue to which turns are new.
    """
    last = {turn["role"]: place for place, turn in enumerate(turns)}
    user, assistant = last.get("user", -1), last.get("assistant", -1)
    return user if user > assistant else len(turns)
