"""Pages of core memory: the blocks, their versions, edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import ndiff
from itertools import pairwise

from fastapi import APIRouter, Request
from fastapi.responses import Response

from memscope.errors import InputError
from memscope.records import Block
from memscope_server.api import memory_of
from memscope_server.pages.rendering import Here, back, show

router = APIRouter()


@router.get("/u/{user:path}/blocks")
async def blocks(request: Request, here: Here) -> Response:
    return show(request, "blocks.html", here, blocks=await memory_of(request).blocks(**here.scope).list())


@router.get("/u/{user:path}/blocks/{label}")
async def history(request: Request, here: Here, label: str) -> Response:
    """Show all versions of a block, newest first, each with what changed."""
    versions = await memory_of(request).blocks(**here.scope).history(label)
    shown = list(zip(versions, changes(versions), strict=True))
    return show(request, "block.html", here, label=label, versions=shown[::-1])


def changes(versions: Sequence[Block]) -> list[list[tuple[str, str]]]:
    """Return per version its lines, each with "+" or "-" where the version before has it not, or had it."""
    texts = [[], *(one.value.splitlines() for one in versions)]
    return [[(line[0], line[2:]) for line in ndiff(old, new) if line[0] != "?"] for old, new in pairwise(texts)]


@router.post("/u/{user:path}/blocks")
async def create(request: Request, here: Here) -> Response:
    form: Mapping[str, str] = request.state.form
    made = memory_of(request).blocks(**here.scope)
    await made.create(form.get("label", ""), _lines(form, "value"), description=form.get("description", ""))
    return back(here, "blocks")


@router.post("/u/{user:path}/blocks/{label}")
async def rethink(request: Request, here: Here, label: str) -> Response:
    """Write a block anew, if it is still at the version that was shown."""
    form: Mapping[str, str] = request.state.form
    edited = memory_of(request).blocks(**here.scope)
    await edited.rethink(label, _lines(form, "value"), reason=form.get("reason", ""), version=_version(form))
    return back(here, "blocks")


@router.post("/u/{user:path}/blocks/{label}/revert")
async def revert(request: Request, here: Here, label: str) -> Response:
    await memory_of(request).blocks(**here.scope).revert(label, _version(request.state.form))
    return back(here, "blocks", label)


def _lines(form: Mapping[str, str], name: str) -> str:
    """Return a text as it was typed: a browser sends line ends as CR LF."""
    return form.get(name, "").replace("\r\n", "\n")


def _version(form: Mapping[str, str]) -> int:
    try:
        return int(form.get("version", ""))
    except ValueError:
        raise InputError("version is not a number", hint="load the page again") from None
