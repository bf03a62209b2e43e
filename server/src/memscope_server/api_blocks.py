"""HTTP API for core memory: the operations of ``AsyncBlocks``."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from memscope.blocks import AsyncBlocks
from memscope.records import Block
from memscope_server import schemas
from memscope_server.access import Anyone, Caller
from memscope_server.api import memory_of

router = APIRouter(prefix="/api/v1/users/{user:name}/blocks", tags=["core memory"])


def blocks_of(request: Request, caller: Caller, user: str, agent: str | None) -> AsyncBlocks:
    return memory_of(request).blocks(**caller.scope(user, agent))


@router.get("")
async def blocks(request: Request, caller: Anyone, user: str, agent: str | None = None) -> list[Block]:
    """List all blocks, including empty ones, in the order in which the context shows them."""
    return await blocks_of(request, caller, user, agent).list()


@router.post("")
async def create(request: Request, caller: Anyone, user: str, body: schemas.BlockIn) -> Block:
    """Create a block: with ``agent`` for that agent alone, else shared by all agents of the user."""
    return await blocks_of(request, caller, user, body.agent).create(**body.model_dump(exclude={"agent"}))


@router.get("/{label:segment}")
async def block(request: Request, caller: Anyone, user: str, label: str, agent: str | None = None) -> Block:
    """Get the block with this label."""
    return await blocks_of(request, caller, user, agent).get(label)


@router.patch("/{label:segment}")
async def configure(request: Request, caller: Anyone, user: str, label: str, body: schemas.BlockChange) -> Block:
    """Change a block's limit, description, order or read-only flag, but not its text."""
    values: dict[str, Any] = body.model_dump(exclude={"agent"}, exclude_none=True)
    return await blocks_of(request, caller, user, body.agent).configure(label, **values)


@router.get("/{label:segment}/history")
async def history(request: Request, caller: Anyone, user: str, label: str, agent: str | None = None) -> list[Block]:
    """List all versions of a block, oldest first."""
    return await blocks_of(request, caller, user, agent).history(label)


@router.post("/{label:segment}/edits")
async def edit(request: Request, caller: Anyone, user: str, label: str, body: schemas.BlockEdit) -> Block:
    """Append, replace, remove or insert text, or rewrite the whole block; refused if ``version`` is outdated."""
    blocks = blocks_of(request, caller, user, body.agent)
    more: dict[str, Any] = body.model_dump(include={"reason", "author", "sources", "version"})
    if body.operation == "replace":
        return await blocks.replace(label, body.old, body.text, **more)
    if body.operation == "insert":
        return await blocks.insert(label, body.text, body.line, **more)
    plain = {"append": blocks.append, "remove": blocks.remove, "rethink": blocks.rethink}
    return await plain[body.operation](label, body.text, **more)


@router.post("/{label:segment}/revert")
async def revert(request: Request, caller: Anyone, user: str, label: str, body: schemas.BlockRevert) -> Block:
    """Restore an earlier version as a new one."""
    return await blocks_of(request, caller, user, body.agent).revert(label, body.version, reason=body.reason)
