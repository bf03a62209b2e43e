"""The verdict whether what was done with a damaged file ended as promised."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from memscope import AsyncMemoryScope
from memscope.errors import MemscopeError
from memscope.stores.sqlite import SQLiteStore
from memscope.transfer import copy
from memscope_cli.sqlite_recovery import recover, restore
from transfer.samples import CANARY, FOUND, Sample, as_json


async def verdict(sample: Sample, content: bytes, folder: Path, place: str | Path = ":memory:") -> str:
    """Import damaged content into the memory at ``place``; return "" or why the outcome is not as promised."""
    path = folder / sample.name
    path.write_bytes(content)
    async with AsyncMemoryScope(place, settings={}) as memory:
        try:
            if sample.system:
                sources = [path] if sample.name != "history.db" else [path, _beside(folder)]
                await memory.admin.import_from(
                    sample.system, *sources, user=None if sample.system == "mem0" else "alice"
                )
            else:
                await memory.admin.import_(path, strict=len(content) % 2 == 0)
        except MemscopeError as error:
            if reason := _faulty(error, sample.name):
                return reason
        except Exception as error:
            return f"untyped: {type(error).__name__}: {str(error)[:80]}"
        return await _unusable(memory, folder)


def _beside(folder: Path) -> Path:
    path = folder / "beside.json"
    path.write_bytes(as_json(FOUND))
    return path


def _faulty(error: MemscopeError, name: str) -> str:
    said = f"{error} {error.detail}"
    if CANARY in said:
        return f"quotes what was said: {said[:80]}"
    if "name the user" in said:  # a user who is missing is no damage
        return ""
    return "" if name in error.message and error.hint else f"no file or no hint: {type(error).__name__}: {said[:160]}"


async def _unusable(memory: AsyncMemoryScope, folder: Path) -> str:
    """Why the memory cannot be read, searched or exported after the import."""
    try:
        for user in await memory.admin.users():
            await memory.list(user=user, superseded=True)
            await memory.context("Where do I live?", user=user)
        await memory.admin.export(folder / "after.jsonl")
    except Exception as error:
        return f"unusable afterwards: {type(error).__name__}: {str(error)[:80]}"
    return ""


# -------------------------------------------------------------------------------------------------------------- stores


async def filled(path: Path) -> bytes:
    """Write a store that has records of every kind, long ones too."""
    async with AsyncMemoryScope(path, settings={}) as memory:
        long = ["x" * 20_000 if n % 20 == 0 else "" for n in range(60)]
        said = [{"role": "user", "content": f"{CANARY} tea {n} {more}", "id": f"k{n}"} for n, more in enumerate(long)]
        await memory.add_turns(said, user="alice", session="s")
        fact = await memory.add_memory(f"Likes {CANARY}", user="alice")
        await memory.update(fact.id, user="alice", text=f"Likes {CANARY} a lot")
        gone = await memory.add_memory("gone", user="bob")
        await memory.forget(user="bob", ids=[gone.id])
        await memory.blocks("alice").append("human", "sails")
    return path.read_bytes()


async def store_verdicts(content: bytes, sound: bytes, folder: Path) -> dict[str, str]:
    """Return what is wrong with each operation on a damaged store, "" for nothing."""
    return {name: await _store_verdict(name, content, sound, folder) for name in OPERATIONS}


async def _store_verdict(name: str, content: bytes, sound: bytes, folder: Path) -> str:
    damaged, other = folder / f"{name}-damaged.db", folder / f"{name}-other.db"
    damaged.write_bytes(content)
    if name == "restore":
        other.write_bytes(sound)
    try:
        await OPERATIONS[name](damaged, other)
    except MemscopeError as error:
        said = f"{error} {error.detail}"
        if CANARY in said or not error.hint:
            return f"quotes what was said, or has no hint: {said[:160]}"
        if name == "restore" and other.read_bytes() != sound:
            return "the store was changed"
    except Exception as error:
        return f"untyped: {type(error).__name__}: {str(error)[:80]}"
    left = [path.name for path in folder.iterdir() if "part" in path.name]
    return f"left behind: {left}" if left else ""


async def _backup(damaged: Path, other: Path) -> None:
    async with AsyncMemoryScope(damaged, settings={}) as memory:
        await memory.admin.backup(other)


async def _export(damaged: Path, other: Path) -> None:
    async with AsyncMemoryScope(damaged, settings={}) as memory:
        await memory.admin.export(other)


async def _copy(damaged: Path, other: Path) -> None:
    stores = SQLiteStore(damaged), SQLiteStore(other)
    try:
        for store in stores:
            await store.open()
        await copy.copy(*stores)
    finally:
        for store in stores:
            await store.close()


OPERATIONS: dict[str, Callable[[Path, Path], Awaitable[object]]] = {
    "restore": restore, "recover": recover, "backup": _backup, "export": _export, "copy": _copy,
}  # fmt: skip
