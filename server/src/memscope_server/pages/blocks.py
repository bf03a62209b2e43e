"""Pages of core memory: the blocks, their versions, edits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from memscope.records import Block
from memscope_server.api import memory_of
from memscope_server.pages.comparison import compare
from memscope_server.pages.rendering import Here, back, show, version_of

MAX_VERSIONS_PER_PAGE = 20
MAX_DIFF_LINES = 500
router = APIRouter()


@router.get("/u/{user:name}/blocks")
async def blocks(request: Request, here: Here) -> Response:
    return show(request, "blocks.html", here, blocks=await memory_of(request).blocks(**here.scope).list())


@router.get("/u/{user:name}/blocks/{label:segment}")
async def history(request: Request, here: Here, label: str, offset: int = 0) -> Response:
    """Show a page of a block's versions, newest first, each as a diff to its predecessor."""
    versions, offset = await memory_of(request).blocks(**here.scope).history(label), max(0, offset)
    end = max(0, len(versions) - offset)
    begin = max(0, end - MAX_VERSIONS_PER_PAGE)
    shown = await asyncio.to_thread(changes, versions[max(0, begin - 1) : end], begin == 0)
    return show(
        request, "block.html", here, label=label, versions=shown[::-1], newest=versions[-1].version if versions else 0,
        following=offset + MAX_VERSIONS_PER_PAGE if begin else None,
    )  # fmt: skip


class BlockVersion(NamedTuple):
    """A version as the first lines of its diff, as pairs ("+", "-" or " ", line), and the number of omitted lines."""

    block: Block
    lines: Sequence[tuple[str, str]]
    further: int


def changes(versions: Sequence[Block], from_the_first: bool) -> list[BlockVersion]:
    """Diff consecutive versions. Unless ``from_the_first``, the first one only serves as the base of the second."""
    texts = [[] if from_the_first else None, *(version.value.splitlines() for version in versions)]
    pairs = zip(versions, pairwise(texts), strict=True)
    diffs = [(one, compare(old, new or [])) for one, (old, new) in pairs if old is not None]
    return [BlockVersion(one, lines[:MAX_DIFF_LINES], max(0, len(lines) - MAX_DIFF_LINES)) for one, lines in diffs]


@router.post("/u/{user:name}/blocks")
async def create(request: Request, here: Here) -> Response:
    form: Mapping[str, str] = request.state.form
    editor = memory_of(request).blocks(**here.scope)
    await editor.create(form.get("label", ""), _lines(form, "value"), description=form.get("description", ""))
    return back(here, "blocks")


@router.post("/u/{user:name}/blocks/{label:segment}")
async def rethink(request: Request, here: Here, label: str) -> Response:
    """Rewrite a block, unless it has changed since the form was loaded."""
    form: Mapping[str, str] = request.state.form
    edited = memory_of(request).blocks(**here.scope)
    await edited.rethink(label, _lines(form, "value"), reason=form.get("reason", ""), version=version_of(form))
    return back(here, "blocks")


@router.post("/u/{user:name}/blocks/{label:segment}/revert")
async def revert(request: Request, here: Here, label: str) -> Response:
    await memory_of(request).blocks(**here.scope).revert(label, version_of(request.state.form))
    return back(here, "blocks", label)


def _lines(form: Mapping[str, str], name: str) -> str:
    """Return a form field with LF line ends; browsers send CR LF."""
    return form.get(name, "").replace("\r\n", "\n")
