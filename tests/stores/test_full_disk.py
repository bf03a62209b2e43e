"""A disk with no byte free: a file system of its own, filled to the last, on which memory is forgotten."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SIZE = "32m"
MOUNT = ("unshare", "--mount", "--map-root-user", "sh", "-c")


def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*MOUNT, "mount -t tmpfs tmpfs /mnt"], capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _can_mount(), reason="needs the right to mount a file system of its own"),
]

BEGIN = """
import asyncio, os, sys
from pathlib import Path
from memscope.errors import StoreFull
from memscope.records import Select, TurnInsert
from memscope.stores.sqlite import SQLiteStore
from memscope_testing.records import block, ids, inserts, turn

PATH = Path(sys.argv[1], "memory.db")

def fill():
    with open(PATH.with_name("other"), "ab", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 512)
        except OSError:
            pass
    found = os.statvfs(PATH.parent)
    assert found.f_bavail == 0

async def stored(turns):
    store = SQLiteStore(PATH)
    for number in range(0, turns, 20):
        given = [TurnInsert(turn(f"k{n}", f"words {n} " * 60)) for n in range(number, number + 20)]
        await store.append("alice", given)
    await store.put_blocks("alice", [block("human", "likes tea")])
    return store

async def forgotten(store, *keys):
    receipt = await store.forget(Select("alice", ids=frozenset(keys)))
    return receipt.turns, receipt.physical

def left_in_file(*numbers):
    data = b"".join(path.read_bytes() for path in PATH.parent.glob("memory.db*"))
    return [number for number in numbers if f"words {number} words".encode() in data]

async def refused(store):
    try:
        await store.append("alice", [TurnInsert(turn("more", "much more " * 5000))])
    except StoreFull:
        return True

"""


def run(tmp_path: Path, body: str) -> list[str]:
    script = tmp_path / "script.py"
    main = f"async def main():\n{textwrap.indent(textwrap.dedent(body), '    ')}\nasyncio.run(main())\n"
    script.write_text(BEGIN + main)
    disk = tmp_path / "disk"
    disk.mkdir()
    shell = f"mount -t tmpfs -o size={SIZE} tmpfs '{disk}' && exec '{sys.executable}' '{script}' '{disk}'"
    done = subprocess.run([*MOUNT, shell], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_process_that_opens_the_store_on_a_full_disk_forgets(tmp_path: Path) -> None:
    body = """
        await (await stored(200)).close()
        fill()
        store = SQLiteStore(PATH)
        print(await refused(store))
        receipt = await store.forget(Select("alice", ids=frozenset({"k7"})))
        print(receipt.turns, receipt.physical, len(await ids(store)), b"words 7 words" in PATH.read_bytes())
        print(await refused(store))
        receipt = await store.forget(Select("alice", ids=frozenset({"k8"})))
        print(receipt.turns, receipt.physical, len(await ids(store)))
        await store.close()
    """
    assert run(tmp_path, body) == ["True", "1 wiped 199 False", "True", "1 wiped 198"]


def test_more_than_fits_at_once_is_forgotten_in_parts(tmp_path: Path) -> None:
    body = """
        store = await stored(1500)
        await store.compact()
        fill()
        print(PATH.stat().st_size > 2_000_000)
        receipt = await store.forget(Select("alice"))
        print(receipt.turns, receipt.blocks, receipt.physical, await ids(store), await store.blocks("alice"))
        print(b"words 77" in PATH.read_bytes(), [(kept.turns, kept.ids) for kept in await store.receipts("alice")])
        await store.close()
    """
    assert run(tmp_path, body) == ["True", "1500 1 wiped [] []", "False [(1500, ())]"]


def test_the_store_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    body = """
        store = await stored(40)
        await store.compact()
        fill()
        receipt = await store.forget(Select("alice", ids=frozenset({"k7"})))
        PATH.with_name("other").unlink()
        await store.append("alice", inserts("later"))
        print(receipt.physical, len(await ids(store)))
        await store.close()
    """
    assert run(tmp_path, body) == ["wiped 40"]


@pytest.mark.parametrize("turns", [20, 200, 1500])
def test_one_forget_after_the_other_while_others_fill_the_disk(tmp_path: Path, turns: int) -> None:
    """The first one took the room that was kept for it, and left none to the next."""
    body = f"""
        store = await stored({turns})
        fill()
        done = []
        for number in range(10):
            done.append((await forgotten(store, f"k{{number}}"))[0])
            fill()
        print(done, len(await ids(store)) == {turns} - 10)
        PATH.with_name("other").unlink()
        print((await store.compact()).physical, left_in_file(*range(10)))
        await store.close()
    """
    assert run(tmp_path, body) == [f"{[1] * 10} True", "wiped []"]


def test_processes_that_open_the_store_leave_room_to_forget(tmp_path: Path) -> None:
    """Opening a store takes room, also to read: it is given back to the next one."""
    body = """
        await (await stored(40)).close()
        for number in range(10):
            fill()
            store = SQLiteStore(PATH)
            print(len(await ids(store)), end=" ")
            fill()
            if number > 6:
                print(await forgotten(store, f"k{number}"), end=" ")
            await store.close()
        print(left_in_file(7, 8, 9))
    """
    forgotten = " ".join(f"{count} (1, 'wiped')" for count in (40, 39, 38))
    assert run(tmp_path, body) == [f"{'40 ' * 7}{forgotten} []"]


def test_what_is_too_long_for_the_room_left_is_named_and_the_others_are_forgotten(tmp_path: Path) -> None:
    body = """
        store = await stored(200)
        await store.append("alice", [TurnInsert(turn("long", "words 999 " * 150_000))])
        await store.compact()
        fill()
        for _ in range(2):
            try:
                await store.forget(Select("alice"))
            except StoreFull as error:
                print(str(error).partition("memory.db'")[2], await ids(store), left_in_file(0, 199))
            print([kept.turns for kept in await store.receipts("alice")])
        PATH.with_name("other").unlink()
        receipt = await store.forget(Select("alice"))
        print(receipt.turns, receipt.blocks, receipt.physical, await store.blocks("alice"), left_in_file(0, 199, 999))
        await store.close()
    """
    first, one, second, two, last = run(tmp_path, body)
    assert "1 of 201 records" in first and first.endswith(" ['long'] []")
    assert "make room" in second and second.endswith(" ['long'] []")
    assert (one, two, last) == ("[200]", "[200]", "1 1 wiped [] []")
