"""Operations on one user's blocks, as one agent sees them. Every edit is a compare-and-swap on the block's version."""

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
from memscope.blocks.rendering import render
from memscope.blocks.visible import View, at_time, labelled, same_content, visible
from memscope.errors import Conflict, InputError, LimitError, NotFound
from memscope.records import AUTHORS, BLOCK_LABEL, BLOCK_LIMIT, BLOCK_ORDERS, Author, Block, ForgetReport, Select
from memscope.stores.block_rules import check_limit

if TYPE_CHECKING:
    from memscope.pipeline import Host

TRIES, PAUSE_S = 100, 0.01  # of an edit that others overtake
LARGEST = 100_000
TEXT = 1000  # bytes of a reason or a description
CHARACTERS_PER_TOKEN = 4  # as text.tokens estimates


class EditOptions(TypedDict, total=False):
    """``sources``: turns and memories the edit rests on; ``version``: the one it was made for."""

    reason: str
    author: Author
    sources: Sequence[str]
    version: int | None


class AsyncBlocks:
    """The blocks of ``user`` as ``agent`` sees them. ``memory.blocks(user, agent=...)`` makes one.

    An edit goes to the block that is seen: the agent's own, else the one that all agents of the user share. ``author``
    is "person", "model" or "backend". ``version``: the one the edit was made for; ``Conflict`` if it is outdated.
    """

    def __init__(self, host: Host, user: str, agent: str | None = None) -> None:
        self._host, self._where = host, validation.scope(user, agent)

    # ---- reading

    async def list(self, *, as_of: datetime | str | None = None) -> builtins.list[Block]:
        """The blocks in the order of the context, empty ones too. Reads write nothing."""
        when = None if as_of is None else validation.when("as_of", as_of, self._host.zone)
        async with self._host.operation("blocks"):
            return await self._seen(when)

    async def get(self, label: str, *, as_of: datetime | str | None = None) -> Block:
        """The block with this label. ``NotFound`` names those there are."""
        return labelled(await self.list(as_of=as_of), label)

    async def history(self, label: str) -> builtins.list[Block]:
        """All versions of a block, oldest first; none of one that nobody wrote."""
        async with self._host.operation("blocks"):
            key = labelled(await self._seen(), label).key
            versions = await self._host.store.blocks(self._where.user, versions=True)
            return [block for block in versions if block.key == key]

    async def text(self, *, as_of: datetime | str | None = None) -> str:
        """The blocks as ``context`` shows them, within ``blocks.tokens`` of the settings; "" when all are empty."""
        return render(await self.list(as_of=as_of), self._host.settings.blocks.tokens)

    # ---- making

    async def create(
        self,
        label: str,
        value: str = "",
        *,
        limit: int = BLOCK_LIMIT,
        description: str = "",
        read_only: bool = False,
        order: int = 0,
        reason: str = "",
        author: Author = "person",
    ) -> Block:
        """Make a block: the agent's own where this has an agent, else one that all agents of the user share.

        ``LimitError`` when all limits together, at four characters a token, exceed ``blocks.tokens``.
        """
        _check_label(label)
        made = Block(
            scope=self._where, label=label, recorded=self._host.clock(), version=1, order=order, read_only=read_only,
            limit=limit, description=description, value=await self._cleaned(value, author),
        )  # fmt: skip
        async with self._host.operation("blocks"):
            _check_shape(made)
            await self._check_free(made)
            return await self._put(made, reason, author, ())

    async def configure(
        self,
        label: str,
        *,
        limit: int | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        order: int | None = None,
        reason: str = "",
        author: Author = "person",
    ) -> Block:
        """Change what is given; the value stays. A read-only block can be opened for edits by this alone."""
        given = {"limit": limit, "description": description, "read_only": read_only, "order": order}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}

        def change(old: Block) -> Block:
            new = replace(old, **changes)
            _check_shape(new)
            return new

        return await self._edit(label, change, reason, author, locked=False)

    # ---- editing

    async def append(self, label: str, text: str, **more: Unpack[EditOptions]) -> Block:
        """Add a text as new lines at the end."""
        return await self._rewrite(label, lambda value, text: edits.append(value, text), text, **more)

    async def replace(self, label: str, old: str, new: str, **more: Unpack[EditOptions]) -> Block:
        """Replace the one place where ``old`` stands; ``InputError`` with their number where it is not one."""
        return await self._rewrite(label, lambda value, new: edits.replace(value, old, new), new, **more)

    async def remove(self, label: str, text: str, **more: Unpack[EditOptions]) -> Block:
        """Remove the one place where the text stands."""
        return await self._rewrite(label, lambda value, _: edits.remove(value, text), "", **more)

    async def insert(self, label: str, text: str, line: int = -1, **more: Unpack[EditOptions]) -> Block:
        """Insert a text so that it begins at this line, from 1; -1 is the end."""
        return await self._rewrite(label, lambda value, text: edits.insert(value, text, line), text, **more)

    async def rethink(self, label: str, value: str, **more: Unpack[EditOptions]) -> Block:
        """Replace the whole value. ``Conflict`` when somebody else edits the block at the same time."""
        return await self._rewrite(label, lambda _, text: text, value, retry=False, **more)

    async def revert(self, label: str, version: int, *, reason: str = "", author: Author = "person") -> Block:
        """Bring back an earlier version, as a new one. ``NotFound`` for a version there is not."""
        wanted = next((block for block in await self.history(label) if block.version == version), None)
        if wanted is None:
            raise NotFound(f"block {label!r} has no version {version!r}", hint="history lists them")
        told = reason or f"back to version {version}"
        return await self._edit(label, lambda old: replace(wanted, version=old.version), told, author)

    async def erase(self, label: str, *, dry_run: bool = False) -> ForgetReport:
        """Remove the block that is seen and its whole history, for good; a receipt without content.

        ``NotFound`` for a block that nobody wrote. A read-only one has to be opened by ``configure`` before.
        """
        async with self._host.operation("forget") as runtime:
            found = labelled(await self._seen(), label)
            _check_open(found, None, locked=True)
            if not found.version:
                raise NotFound(f"nobody wrote block {label!r} yet")
            select = Select(self._where.user, found.scope.agent, block=label)
            return await runtime.forget(select, self._where, dry_run=dry_run)  # type: ignore[no-any-return]

    # ---- inside

    async def _seen(self, when: datetime | None = None) -> builtins.list[Block]:
        host, user = self._host, self._where.user
        stored = await host.store.blocks(user, versions=when is not None)
        view = View(user, self._where.agent, host.clock())
        return visible(view, at_time(stored, when) if when else stored, host.settings.blocks.shared)

    async def _rewrite(
        self,
        label: str,
        change: Callable[[str, str], str],
        text: str,
        *,
        reason: str = "",
        author: Author = "person",
        sources: Sequence[str] = (),
        version: int | None = None,
        retry: bool = True,
    ) -> Block:
        cleaned = await self._cleaned(text, author)
        return await self._edit(
            label, lambda old: replace(old, value=change(old.value, cleaned)), reason, author,
            sources=validation.ids("sources", sources), version=version, retry=retry,
        )  # fmt: skip

    async def _edit(
        self,
        label: str,
        change: Callable[[Block], Block],
        reason: str,
        author: Author,
        *,
        sources: tuple[str, ...] = (),
        version: int | None = None,
        retry: bool = True,
        locked: bool = True,
    ) -> Block:
        """Change the block as it is now; an edit that another overtakes is made again on the newer version."""
        validation.choice("author", author, *AUTHORS[:3])
        async with self._host.operation("blocks"):
            for left in reversed(range(TRIES)):
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
                    await asyncio.sleep(PAUSE_S * os.urandom(1)[0] / 255)
        raise AssertionError("unreachable")

    async def _put(self, block: Block, reason: str, author: Author, sources: tuple[str, ...]) -> Block:
        validation.choice("author", author, *AUTHORS[:3])
        told = await self._cleaned(validation.text("reason", reason, TEXT), author)
        made = replace(block, recorded=self._host.clock(), author=author, reason=told, sources=sources)
        check_limit(made)
        await self._host.store.put_blocks(self._where.user, [made])
        return made

    async def _cleaned(self, text: str, author: Author) -> str:
        """Pass a text through the hooks that turns pass through, so that a redactor sees it."""
        if not isinstance(text, str):
            raise InputError(f"text must be text, got {type(text).__name__}")
        if not text:
            return ""
        role = "user" if author == "person" else "assistant"
        turn, _ = await self._host.check_statement({"role": role, "content": text}, self._where)
        return turn.text

    async def _check_free(self, made: Block) -> None:
        """``Conflict`` for a label that is taken, ``LimitError`` for more than the budget of all blocks."""
        seen = await self._seen()
        for old in seen:
            if old.label == made.label and ((old.version and old.key == made.key) or old.author == "operator"):
                raise Conflict(f"there is a block {made.label!r}", hint="edit it, or choose another label")
        characters = made.limit + sum(block.limit for block in seen if block.label != made.label)
        budget = self._host.settings.blocks.tokens * CHARACTERS_PER_TOKEN
        if characters > budget:
            raise LimitError(
                "characters of all blocks together", limit=budget, got=characters,
                hint="choose a smaller limit, or raise blocks.tokens in the settings",
            )  # fmt: skip


def _check_shape(block: Block) -> None:
    validation.count("limit", block.limit, LARGEST)
    validation.text("description", block.description, TEXT)
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
        raise InputError(
            f"block {block.label!r} is read-only",
            hint="a person can open it: memscope block set --editable",
        )
    if version is not None and version != block.version:
        raise Conflict(f"block {block.label!r} is at version {block.version}", hint="read it again and repeat the edit")
