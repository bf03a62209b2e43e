"""``AssistantAgent(memory=MemoryScopeMemory(user=...))``: record both sides, recall before the model is called."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, NoReturn, Self, TypeVar
from weakref import WeakValueDictionary

from autogen_core import CancellationToken, Component
from autogen_core.memory import Memory, MemoryContent, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import UserMessage
from autogen_core.tools import BaseTool

from memscope.adapters.instances import MemoryLike, identity, to_config
from memscope.adapters.memory_tools import ToolSet, tool_set
from memscope.adapters.session import MemorySession, RecallFrom, RecordWho
from memscope.prompts.memory_block import choose_query
from memscope.records import ForgetReport, Kind
from memscope_autogen import content as contents
from memscope_autogen.config import MemoryScopeMemoryConfig
from memscope_autogen.conversation import ContextRecorder, Transcript, role_of
from memscope_autogen.tools import CoreMemoryTool, ForgetTool, RememberTool, SearchMemoryTool

R = TypeVar("R")
SOURCE = "memory"  # source name of the message with recalled memories


class MemoryScopeMemory(Memory, Component[MemoryScopeMemoryConfig], list[Memory]):
    """Long-term memory of one user for AutoGen agents.

    ``user`` is required. Turns are stored under ``agent`` and ``session``. Recall is limited to ``agent``, and with
    ``recall="session"`` to the session. ``memory``: settings, the path or URL of a store, an ``AsyncMemoryScope`` or
    ``MemoryScope``; by default the settings of the environment, else one SQLite file. At most ``k`` hits and ``tokens``
    tokens are shown, of all ``kinds`` ("turn", "observation", "insight") by default. ``zone``: name of the user's time
    zone, by default that of the settings. ``people``: message sources that are people other than the user, such as the
    name of a ``UserProxyAgent``; other sources are agents. ``record``: "both", "user", "assistant" or "none". If memory
    fails, the agent answers without it and one warning is logged; ``strict=True`` raises.

    ``AssistantAgent`` only accepts a list of memories. This class is a list with itself as the only element, so that
    ``memory=m`` and ``memory=[m]`` are the same.
    """

    component_type = "memory"
    component_provider_override = "memscope_autogen.MemoryScopeMemory"
    component_config_schema = MemoryScopeMemoryConfig

    def __init__(
        self,
        *,
        user: str,
        agent: str | None = None,
        session: str | None = None,
        memory: MemoryLike = None,
        recall: RecallFrom = "user",
        k: int = 10,
        tokens: int = 1000,
        record: RecordWho = "both",
        strict: bool = False,
        kinds: Sequence[Kind] | None = None,
        zone: str | None = None,
        people: Sequence[str] = (),
    ) -> None:
        list.append(self, self)
        self.people = (people,) if isinstance(people, str) else tuple(people)
        self._session = MemorySession(
            user=user, agent=agent, session=session, memory=memory, recall_from=recall, k=k, tokens=tokens,
            record_who=record, strict=strict, kinds=kinds, zone=zone,
        )  # fmt: skip
        self._transcript = self._conversation()

    # ---- called by the agent

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Record new messages, and insert related memories as one message before the newest."""
        recorder = await ContextRecorder.on(model_context, self._session, self._transcript, self.people)
        view = await model_context.get_messages()
        shown = recorder.turns(view)
        texts = {turn["content"] for turn in shown}
        recalled = await self._session.recall(choose_query(shown), exclude=recorder.keys(view), shown=texts)
        await recorder.show(UserMessage(content=recalled.text, source=SOURCE) if recalled.text else None)
        return UpdateContextResult(memories=MemoryQueryResult(results=[contents.line(hit) for hit in recalled.hits]))

    def _conversation(self) -> Transcript:
        """Return the transcript that all memories of the same session share."""
        session = self._session
        if session.session is None:
            return Transcript()
        return _transcripts.setdefault(
            (identity(session.memory), session.user, session.agent, session.session),
            Transcript(),
        )

    # ---- called by the program

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **kwargs: Any
    ) -> MemoryQueryResult:
        """Search for ``query`` and return memories best first, in the form in which they were added.

        ``kwargs``: k, kinds, as_of, filter, zone.
        """
        words = query if isinstance(query, str) else contents.text_of(query)
        hits = await _linked(self._session.search(words, **kwargs), cancellation_token)
        return MemoryQueryResult(results=[contents.original(hit) for hit in hits])

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Store a statement of the user, or of the ``source`` in its metadata (an indexed web page, for example).

        Bytes and images are searchable by the caption, description, title or name in their metadata.
        """
        source = str((content.metadata or {}).get("source") or "user")
        role = role_of(source, self._session, self.people, other="tool")
        speaker = None if role == "user" else source
        work = self._session.remember(
            contents.text_of(content), data=contents.data_of(content), role=role, speaker=speaker
        )
        await _linked(work, cancellation_token)

    async def clear(self) -> ForgetReport:  # type: ignore[override]  # AutoGen's returns None
        """Permanently forget all records of this scope, with a session only that session's. Return the receipt."""
        return await self._session.clear()

    async def close(self) -> None:
        """Release the memory; the last release closes it. The next use reopens it."""
        await self._session.close()

    def tools(self, which: ToolSet | None = None) -> list[BaseTool[Any, Any]]:
        """Create ``search_memory``, ``remember`` and ``forget`` for ``AssistantAgent(tools=...)``, besides recall.

        "core": tools that edit core memory instead; "archival": archival memory and the conversation; "all": both.
        """
        if which is not None:
            return [CoreMemoryTool(self, name) for name in tool_set(which)]
        return [SearchMemoryTool(self), RememberTool(self), ForgetTool(self)]

    async def seen(self) -> set[str]:
        """Return the keys of the turns in the contexts of all agents that share this memory's session."""
        keys: set[str] = set()
        for recorder in list(self._transcript.recorders):
            keys |= recorder.keys(await recorder.context.get_messages())
        return keys

    @property
    def memory_session(self) -> MemorySession:
        return self._session

    # ---- serialisation and copies

    def _to_config(self) -> MemoryScopeMemoryConfig:
        return self.config()

    def config(self) -> MemoryScopeMemoryConfig:
        return MemoryScopeMemoryConfig(**self._options(), memory=to_config(self._session.memory))

    def _options(self) -> dict[str, Any]:
        session = self._session
        return {
            "user": session.user, "agent": session.agent, "session": session.session, "recall": session.recall_from,
            "k": session.k, "tokens": session.tokens, "record": session.record_who, "strict": session.strict,
            "kinds": session.kinds, "zone": session.zone, "people": self.people,
        }  # fmt: skip

    @classmethod
    def _from_config(cls, config: MemoryScopeMemoryConfig) -> Self:
        return cls(**dict(config))

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (type(self), self.config().model_dump())

    def __copy__(self) -> Self:
        """Create another object for the same memory session."""
        other = type(self)(**self._options(), memory=self._session.memory)
        other._session = self._session
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    # ---- an immutable list of itself

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:  # type: ignore[override]  # by identity, so it can be a key
        return id(self)

    def __repr__(self) -> str:
        session = self._session
        return f"MemoryScopeMemory(user={session.user!r}, agent={session.agent!r}, session={session.session!r})"

    def _fixed(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a MemoryScopeMemory holds itself only; for several memories write memory=[a, b]")

    append = extend = insert = remove = pop = sort = reverse = _fixed
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _fixed


_transcripts: WeakValueDictionary[tuple[Any, ...], Transcript] = WeakValueDictionary()


def _load(cls: type[MemoryScopeMemory], config: dict[str, Any]) -> MemoryScopeMemory:
    return cls._from_config(MemoryScopeMemoryConfig(**config))


async def _linked(work: Coroutine[Any, Any, R], token: CancellationToken | None) -> R:
    """Await ``work``, which the token may cancel."""
    task = asyncio.ensure_future(work)
    if token is not None:
        token.link_future(task)
    return await task
