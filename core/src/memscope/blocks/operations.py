"""Operations on one user's blocks as one agent sees them. Edits are compare-and-swap on the block's version."""

from __future__ import annotations

import asyncio
import builtins
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from memscope import validation
from memscope.blocks import edits
from memscope.blocks.visible import labelled, render, same_content, visible
from memscope.errors import Conflict, InputError, LimitError, NotFound
from memscope.records import AUTHORS, BLOCK_LABEL, BLOCK_LIMIT, BLOCK_ORDERS, Author, Block, ForgetReport, Select
from memscope.stores.block_rules import check_limit, current

if TYPE_CHECKING:
    from memscope.services import MemoryOperations

MAX_EDIT_ATTEMPTS, EDIT_PAUSE_S = 100, 0.01  # retries of an edit after conflicts, with a random pause up to this
MAX_BLOCK_CHARS = 100_000
MAX_REASON_BYTES = 1000  # of a reason or a description
CHARACTERS_PER_TOKEN = 4  # as text.tokens estimates


class EditOptions(TypedDict, total=False):
    """``sources``: turns and memories that the edit rests on; ``version``: the one that it expects."""

    reason: str
    author: Author
    sources: Sequence[str]
    version: int | None


class AsyncBlocks:
    """The blocks of ``user`` as ``agent`` sees them, created by ``memory.blocks(user, agent=...)``.

    An edit applies to the visible block: the agent's own, else the one that all agents of the user share. ``author``
    is "person", "model" or "backend". ``version``: the one that the edit expects; ``Conflict`` if it is outdated.
    """

    def __init__(self, runtime: MemoryOperations, user: str, agent: str | None = None) -> None:
        self._runtime, self._services, self._where = runtime, runtime.services, validation.scope(user, agent)

    # ---- reading

    async def list(self, *, as_of: datetime | str | None = None) -> builtins.list[Block]:
        """List the blocks in the order of the context, including empty ones.

        Args:
            as_of: show them as they were at this time.

        Returns:
            The blocks.

        Raises:
            StoreError: the store cannot be read.
        """
        when = None if as_of is None else validation.when("as_of", as_of, self._services.zone)
        from memscope.blocks.corrections import as_read  # lazy: keeps `import memscope` small

        async with self._runtime.operation("blocks"):
            at = when or self._services.clock()
            return await as_read(self._services, self._where.user, await self._seen(when), at)

    async def get(self, label: str, *, as_of: datetime | str | None = None) -> Block:
        """Get one block.

        Args:
            label: its name.
            as_of: show it as it was at this time.

        Returns:
            The block.

        Raises:
            NotFound: there is no such block; the message lists the known ones.
        """
        return labelled(await self.list(as_of=as_of), label)

    async def history(self, label: str) -> builtins.list[Block]:
        """List all versions of a block.

        Args:
            label: its name.

        Returns:
            The versions, oldest first; none for a block that was never written.

        Raises:
            NotFound: there is no such block.
        """
        async with self._runtime.operation("blocks"):
            key = labelled(await self._seen(), label).key
            versions = await self._services.store.blocks(self._where.user, versions=True)
            return [block for block in versions if block.key == key]

    async def text(self, *, as_of: datetime | str | None = None) -> str:
        """Render the blocks as ``context`` shows them, within ``blocks.tokens`` of the settings.

        Args:
            as_of: show them as they were at this time.

        Returns:
            The text; "" if all are empty.

        Raises:
            StoreError: the store cannot be read.
        """
        return render(await self.list(as_of=as_of), self._services.settings.blocks.tokens)

    # ---- making

    async def create(
        self, label: str, value: str = "", *, limit: int = BLOCK_LIMIT, description: str = "", read_only: bool = False,
        order: int = 0, reason: str = "", author: Author = "person",
    ) -> Block:  # fmt: skip
        """Create a block: the agent's own if this view has an agent, else one that all agents of the user share.

        Args:
            label: its name, 1 to 64 letters, digits, ``_``, ``-`` or ``.``.
            value: its text.
            limit: maximum length of its text in characters.
            description: its purpose, for the model.
            read_only: if True, only ``configure`` can change it.
            order: its position in the context, smallest first.
            reason: a note for its history.
            author: "person", "model" or "backend".

        Returns:
            The block.

        Raises:
            Conflict: the label is taken.
            LimitError: all limits together, at four characters per token, exceed ``blocks.tokens``.
        """
        _check_label(label)
        block = Block(
            scope=self._where, label=label, recorded=self._services.clock(), version=1, order=order,
            read_only=read_only, limit=limit, description=description, value=await self._cleaned(value, author),
        )  # fmt: skip
        async with self._runtime.operation("blocks"):
            _check_shape(block)
            await self._check_free(block)
            return await self._put(block, reason, author, ())

    async def configure(
        self, label: str, *, limit: int | None = None, description: str | None = None, read_only: bool | None = None,
        order: int | None = None, reason: str = "", author: Author = "person",
    ) -> Block:  # fmt: skip
        """Change the given properties of a block; its text stays.

        Args:
            label: its name.
            limit: maximum length of its text in characters.
            description: its purpose, for the model.
            read_only: False opens it for edits again.
            order: its position in the context, smallest first.
            reason: a note for its history.
            author: "person", "model" or "backend".

        Returns:
            The block in its new version.

        Raises:
            NotFound: there is no such block.
        """
        properties = {"limit": limit, "description": description, "read_only": read_only, "order": order}
        changes: dict[str, Any] = {name: value for name, value in properties.items() if value is not None}

        def change(old: Block) -> Block:
            new = replace(old, **changes)
            _check_shape(new)
            return new

        return await self._edit(label, change, reason, author, locked=False)

    # ---- editing

    async def append(self, label: str, text: str, **more: Unpack[EditOptions]) -> Block:
        """Add a text as new lines at the end.

        Args:
            label: the name of the block.
            text: the lines.
            more: options of the edit, see ``EditOptions``.

        Returns:
            The block in its new version.

        Raises:
            LimitError: the text would be too long.
            Conflict: ``version`` is outdated.
        """
        return await self._rewrite(label, edits.append, text, **more)

    async def replace(self, label: str, old: str, new: str, **more: Unpack[EditOptions]) -> Block:
        """Replace the only occurrence of a text.

        Args:
            label: the name of the block.
            old: the text, which must occur exactly once.
            new: its replacement.
            more: options of the edit, see ``EditOptions``.

        Returns:
            The block in its new version.

        Raises:
            InputError: ``old`` occurs not at all or more than once.
            Conflict: ``version`` is outdated.
        """
        return await self._rewrite(label, lambda value, new: edits.replace(value, old, new), new, **more)

    async def remove(self, label: str, text: str, **more: Unpack[EditOptions]) -> Block:
        """Remove the only occurrence of a text.

        Args:
            label: the name of the block.
            text: the text, which must occur exactly once.
            more: options of the edit, see ``EditOptions``.

        Returns:
            The block in its new version.

        Raises:
            InputError: the text occurs not at all or more than once.
            Conflict: ``version`` is outdated.
        """
        return await self._rewrite(label, lambda value, _: edits.remove(value, text), "", **more)

    async def insert(self, label: str, text: str, line: int = -1, **more: Unpack[EditOptions]) -> Block:
        """Insert a text so that it begins at a line.

        Args:
            label: the name of the block.
            text: the lines.
            line: counted from 1; -1 is the end.
            more: options of the edit, see ``EditOptions``.

        Returns:
            The block in its new version.

        Raises:
            LimitError: the text would be too long.
            Conflict: ``version`` is outdated.
        """
        return await self._rewrite(label, lambda value, text: edits.insert(value, text, line), text, **more)

    async def rethink(self, label: str, value: str, **more: Unpack[EditOptions]) -> Block:
        """Replace the whole text.

        Args:
            label: the name of the block.
            value: the new text.
            more: options of the edit, see ``EditOptions``.

        Returns:
            The block in its new version.

        Raises:
            LimitError: the text is too long.
            Conflict: somebody else edited the block at the same time, or ``version`` is outdated.
        """
        return await self._rewrite(label, lambda _, text: text, value, retry=False, **more)

    async def revert(self, label: str, version: int, *, reason: str = "", author: Author = "person") -> Block:
        """Restore an earlier version as a new one.

        Args:
            label: the name of the block.
            version: the one to bring back.
            reason: a note for its history.
            author: "person", "model" or "backend".

        Returns:
            The block in its new version.

        Raises:
            NotFound: there is no such version.
        """
        wanted = next((block for block in await self.history(label) if block.version == version), None)
        if wanted is None:
            raise NotFound(f"block {label!r} has no version {version!r}", hint="history lists them")
        note = reason or f"back to version {version}"
        return await self._edit(label, lambda old: replace(wanted, version=old.version), note, author)

    async def erase(self, label: str, *, dry_run: bool = False) -> ForgetReport:
        """Remove the visible block and its whole history for good.

        Args:
            label: the name of the block.
            dry_run: count only; remove nothing.

        Returns:
            A receipt without content.

        Raises:
            NotFound: the block was never written.
            InputError: it is read-only; ``configure`` opens it.
        """
        validation.choice("dry_run", dry_run, True, False)
        async with self._runtime.operation("forget"):
            block = labelled(await self._seen(), label)
            _check_open(block, None, locked=True)
            if not block.version:
                raise NotFound(f"nobody wrote block {label!r} yet")
            select = Select(self._where.user, block.scope.agent, block=label)
            return await self._runtime.forget(select, self._where, dry_run=dry_run)

    # ---- inside

    async def _seen(self, when: datetime | None = None) -> builtins.list[Block]:
        services = self._services
        stored = await services.store.blocks(self._where.user, versions=when is not None)
        if when is not None:
            stored = current(block for block in stored if block.recorded <= when)
        return visible(self._where, services.clock(), stored, services.settings.blocks.shared)

    async def _rewrite(
        self, label: str, change: Callable[[str, str], str], text: str, *, reason: str = "", author: Author = "person",
        sources: Sequence[str] = (), version: int | None = None, retry: bool = True,
    ) -> Block:  # fmt: skip
        cleaned = await self._cleaned(text, author)
        return await self._edit(
            label, lambda old: replace(old, value=change(old.value, cleaned)), reason, author,
            sources=validation.ids("sources", sources), version=version, retry=retry,
        )  # fmt: skip

    async def _edit(
        self, label: str, change: Callable[[Block], Block], reason: str, author: Author, *,
        sources: tuple[str, ...] = (), version: int | None = None, retry: bool = True, locked: bool = True,
    ) -> Block:  # fmt: skip
        """Apply the change to the current block; after a conflict, repeat it on the newer version."""
        validation.choice("author", author, *AUTHORS[:3])
        async with self._runtime.operation("blocks"):
            for left in reversed(range(MAX_EDIT_ATTEMPTS)):
                old = labelled(await self._seen(), label)
                _check_open(old, version, locked=locked)
                new = change(old)
                if same_content(old, new):
                    raise InputError(f"nothing would change in block {label!r}")
                try:
                    return await self._put(replace(new, version=old.version + 1), reason, author, sources)
                except Conflict:
                    if version is not None or sources or not retry or not left:
                        raise
                    await asyncio.sleep(EDIT_PAUSE_S * os.urandom(1)[0] / 255)
        raise AssertionError("unreachable")

    async def _put(self, block: Block, reason: str, author: Author, sources: tuple[str, ...]) -> Block:
        validation.choice("author", author, *AUTHORS[:3])
        note = await self._cleaned(validation.text("reason", reason, MAX_REASON_BYTES), author)
        new = replace(block, recorded=self._services.clock(), author=author, reason=note, sources=sources)
        redacted: Block = self._services.redact(new)
        check_limit(redacted)
        await self._services.store.put_blocks(self._where.user, [redacted])
        return redacted

    async def _cleaned(self, text: str, author: Author) -> str:
        """Pass a text through the hooks for turns, so that redactors see it."""
        if not isinstance(text, str):
            raise InputError(f"text must be text, got {type(text).__name__}")
        if not text:
            return ""
        role = "user" if author == "person" else "assistant"
        turn, _ = await self._runtime.check_statement({"role": role, "content": text}, self._where)
        return turn.text

    async def _check_free(self, block: Block) -> None:
        """Raise ``Conflict`` if the label is taken, ``LimitError`` if all blocks together exceed the budget."""
        seen = await self._seen()
        for old in seen:
            if old.label == block.label and ((old.version and old.key == block.key) or old.author == "operator"):
                raise Conflict(f"there is a block {block.label!r}", hint="edit it, or choose another label")
        characters = block.limit + sum(other.limit for other in seen if other.label != block.label)
        budget = self._services.settings.blocks.tokens * CHARACTERS_PER_TOKEN
        if characters > budget:
            raise LimitError(
                "characters of all blocks together", limit=budget, got=characters,
                hint="choose a smaller limit, or raise blocks.tokens in the settings",
            )  # fmt: skip


def _check_shape(block: Block) -> None:
    validation.count("limit", block.limit, MAX_BLOCK_CHARS)
    validation.text("description", block.description, MAX_REASON_BYTES)
    validation.choice("read_only", block.read_only, True, False)
    order: object = block.order
    if isinstance(order, bool) or not isinstance(order, int) or order not in BLOCK_ORDERS:
        raise InputError(f"order must be a whole number from {BLOCK_ORDERS[0]} to {BLOCK_ORDERS[-1]}, got {order!r}")


def _check_label(label: object) -> None:
    if not isinstance(label, str) or not re.fullmatch(BLOCK_LABEL, label):
        raise InputError(f"a label is 1 to 64 letters, digits, '_', '-' or '.', got {str(label)[:70]!r}")


def _check_open(block: Block, version: int | None, *, locked: bool) -> None:
    if block.author == "operator" and not block.version:
        raise InputError(f"block {block.label!r} is of the settings", hint="whoever runs memscope changes it there")
    if locked and block.read_only:
        hint = "a person can open it: memscope block set --editable"
        raise InputError(f"block {block.label!r} is read-only", hint=hint)
    if version is None:
        return
    edits.check_whole_number("version", version)
    if version != block.version:
        raise Conflict(f"block {block.label!r} is at version {block.version}", hint="read it again and repeat the edit")
