"""Damaged and hostile files: one typed error that names the file and the place, bounded memory, nothing half unsaid."""

from __future__ import annotations

import io
import json
import os
import random
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from memscope import AsyncMemoryScope
from memscope.errors import InputError, LimitError
from memscope.transfer.importers import ImportedTurn, files
from memscope.transfer.importers.writer import MAX_COUNTED_REASONS
from memscope_cli.app import cli
from transfer import damage
from transfer.damage import dumped, zipped
from transfer.samples import CANARY, FOUND, TIME, conversations, exported, history, samples
from transfer.verdict import verdict

MB = 1 << 20
TEA = {"role": "user", "content": "Tea."}
SEEDS = range(32)  # for each of ten files
PEAK_KB, SPACE_BYTES = 450_000, 2 << 30
POSIX = pytest.mark.skipif(os.name == "nt", reason="resource limits, files without a name")


@pytest.fixture
async def memory():
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        yield memory


def write(path: Path, *content: bytes | str) -> str:
    with path.open("wb") as file:
        for part in content:
            file.write(part.encode() if isinstance(part, str) else part)
    return str(path)


# ---------------------------------------------------------------------------------------------------------------- fuzz


async def test_the_samples_are_taken_wholly(tmp_path):
    for sample in await samples(tmp_path):
        assert await verdict(sample, sample.content, tmp_path, tmp_path / f"{sample.name}.db") == ""
        async with AsyncMemoryScope(tmp_path / f"{sample.name}.db", settings={}) as memory:
            shown = str([await memory.list(user=user, superseded=True) for user in await memory.admin.users()])
            assert (CANARY in shown and CANARY in str(sample.content.decode(errors="replace"))) or ".zip" in sample.name


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_damaged_file_is_taken_or_refused_by_a_typed_error(tmp_path, seed):
    found = {}
    for sample in await samples(tmp_path):
        content = damage.mutated(sample, random.Random(f"{seed} {sample.name}"))
        place = tmp_path / f"{sample.name}.db" if seed % 4 == 0 else ":memory:"
        found[sample.name] = await verdict(sample, content, tmp_path, place)
    assert not {name: reason for name, reason in found.items() if reason}


# ---------------------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "'x.json' is empty"),
        ("[1, 2", "line 1 of 'x.json' is not JSON: the file ends in the middle"),
        ('{"a": "b\\u4e', "line 1 of 'x.json' is not JSON: the file ends in the middle"),
        ('[true, {"a": fal', "line 1 of 'x.json' is not JSON: the file ends in the middle"),
        ('{"a": 1}\n{"a": }', "line 2 of 'x.json' is not JSON at character 7"),
        ("[\n1,\n2 3]", "line 3 of 'x.json' is not JSON at character 3"),
        (b'{"a": "\xd6\xd0"}', "line 1 of 'x.json' is not UTF-8"),
        ("[1]\n".encode("utf-16"), "'x.json' is UTF-16, not JSON"),
        (b"\x1f\x8b\x08\0", "'x.json' is compressed by gzip, not JSON"),
        (zipped([("a", b"")]), "'x.json' is a zip, not JSON"),
        ('["a", ' + "[" * 100_000, "item 2 of 'x.json' is nested too deeply"),
        ("[0, " + "9" * 5_000 + "]", "item 2 of 'x.json' has a number of too many digits"),
    ],
)
async def test_the_error_names_the_file_and_the_place(memory, tmp_path, content, said):
    path = write(tmp_path / "x.json", content)
    for system in ("openai", "mem0", "memoryscope"):
        with pytest.raises(InputError) as refused:
            await memory.admin.import_from(system, path, user="alice")
        assert refused.value.message == said and refused.value.hint


@pytest.mark.parametrize("source", ["a\0b", 5, {"role": "user"}, "~nobody-of-that-name/x", "x" * 300, "."])
async def test_a_source_that_is_no_file_is_refused(memory, source):
    for system in ("openai", "chatgpt", "mem0", "letta", "memoryscope"):
        with pytest.raises(InputError):
            await memory.admin.import_from(system, source, user="alice")


def read(content: bytes, name="'x'"):
    return [value for _, value in files.values(io.BytesIO(content), name)]


def test_values_are_read_whatever_their_size_and_wherever_a_chunk_ends(monkeypatch):
    values = [
        {"n": n, "text": "茶😀" * n, "deep": [[n], {}], "number": -1.5e-7 * n, "flags": [True, None]} for n in range(60)
    ]
    written = {
        "list": json.dumps(values, ensure_ascii=False, indent=1).encode(),
        "lines": b"".join(json.dumps(value).encode() + b"\r\n" for value in values),
        "after one another": "".join(map(json.dumps, values)).encode(),
        "lists": b"\xef\xbb\xbf" + b"\n".join(json.dumps(values[at : at + 20]).encode() for at in (0, 20, 40)),
    }
    for size in (1, 2, 7, 64, 1000, 1 << 20):
        monkeypatch.setattr(files, "CHUNK_BYTES", size)
        for form, content in written.items():
            assert read(content) == values, (form, size)
        assert read(b"12345 -0.5 true") == [12345, -0.5, True]
        assert read(b"[]") == read(b" [ ]\n[]") == []


@pytest.mark.parametrize(
    "content", ["[1,]", "[,1]", "[1", "[1 2]", "{]", "[1}", "nul", '"a', '["\n"]', "]", "[1],", "+1"]
)
def test_what_is_no_json_is_refused_wherever_a_chunk_ends(monkeypatch, content):
    for size in (1, 3, 1 << 20):
        monkeypatch.setattr(files, "CHUNK_BYTES", size)
        with pytest.raises(InputError, match=r"line [12] of 'x'"):
            read(content.encode())


def test_a_value_has_a_limit_and_a_file_has_none(monkeypatch):
    monkeypatch.setattr(files, "CHUNK_BYTES", 100)
    monkeypatch.setattr(files, "MAX_JSON_VALUE_CHARS", 1000)
    monkeypatch.setattr(files, "MAX_VALUE_ITEMS", 200)
    assert len(read(b"[" + b",".join([b'"' + b"x" * 900 + b'"'] * 50) + b"]")) == 50
    with pytest.raises(LimitError, match="item 2 of 'x'"):
        read(b'[1, "' + b"x" * 1100 + b'"]')
    with pytest.raises(LimitError, match="line 3 of 'x'"):
        read(b'1\n2\n{"a": [' + b"0," * 300 + b"0]}")
    prose = json.dumps("He said, no, and so on, and on, 茶, and on. " * 18).encode()
    assert read(b"[" + prose + b"]") == [json.loads(prose)]  # commas of prose are no values


# --------------------------------------------------------------------------------------------------------------- items


async def test_lone_surrogates_are_replaced_in_texts_and_refused_in_ids(memory, tmp_path):
    result = {"id": "m1", "memory": "a\ud800b", "user_id": "alice", "created_at": TIME}
    results = [result, {**result, "id": "\udfff"}, {**result, "id": "m3", "user_id": "\ud800"}]
    report = await memory.admin.import_from("mem0", write(tmp_path / "all.json", dumped(results)))
    (kept,) = await memory.list(user="alice", kinds=["observation"])
    assert kept.text == "a\ufffdb" and report.observations == 1
    assert sum(report.not_taken.values()) == 2 and "\ud800" not in str(report.not_taken)


async def test_times_that_no_store_can_keep_are_not_taken(memory, tmp_path):
    first, last = "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"
    result = {"id": "m1", "memory": "Tea", "user_id": "alice", "created_at": TIME}
    results = [{**result, "expiration_date": last}, {**result, "created_at": first}, {**result, "id": "m2"}]
    report = await memory.admin.import_from("mem0", write(tmp_path / "all.json", json.dumps(results)))
    assert report.observations == 1 and sum(report.not_taken.values()) == 2
    await memory.admin.export(tmp_path / "out.jsonl")


async def test_whatever_is_imported_can_be_exported_and_imported_again(memory, tmp_path):
    """A memory that is too long for an import is not taken; nor is an insight on a subject too long."""
    node = {"memory_id": "1", "target_name": "a", "content": "Tea", "timestamp": 1, "memory_type": "observation"}
    long = {"content": "x" * 300_000, "meta_data": {"conversation": "I like tea."}, "memory_id": "2"}
    subject = {"memory_type": "insight", "key": "x" * 300_000, "memory_id": "3"}
    path = write(tmp_path / "dump.jsonl", "\n".join(json.dumps({**node, **more}) for more in ({}, long, subject)))
    report = await memory.admin.import_from("memoryscope", path)
    assert (report.observations, report.insights, sum(report.not_taken.values())) == (1, 0, 2)
    await memory.admin.export(tmp_path / "out.jsonl")
    async with AsyncMemoryScope(":memory:", settings={}) as other:
        assert (await other.admin.import_(tmp_path / "out.jsonl"))["observation"] == 1


async def test_reasons_are_few_and_short_whatever_the_file_has(memory, tmp_path):
    messages = [{"role": f"\x1b[31m{n}" + "x" * 5_000, "created_at": TIME} for n in range(1_000)]
    path = write(tmp_path / "agent.af", json.dumps({"core_memory": [], "messages": messages}))
    report = await memory.admin.import_from("letta", path, user="alice")
    assert sum(report.not_taken.values()) == 1_000 and len(report.not_taken) == MAX_COUNTED_REASONS + 1
    assert max(map(len, report.not_taken)) < 100


def test_a_reason_cannot_speak_to_the_terminal(tmp_path):
    node = {"memory_id": "1", "target_name": "a", "content": "x", "timestamp": 1, "memory_type": "\x1b[2J\u202e"}
    path = write(tmp_path / "dump.jsonl", json.dumps({"metadata": node}))
    told = CliRunner().invoke(cli, ["--store", str(tmp_path / "a.db"), "import", "--from", "memoryscope", path]).output
    assert "1 × memory_type \\x1b[2J\\u202e" in told and "\x1b" not in told


async def test_messages_of_chatgpt_without_ids_are_all_taken(memory, tmp_path):
    (talk,) = conversations(1)
    for node in talk["mapping"].values():
        del node["message"]["id"]
    path = write(tmp_path / "conversations.json", json.dumps([talk]))
    assert (await memory.admin.import_from("chatgpt", path, user="alice")).turns == 3
    assert (await memory.admin.import_from("chatgpt", path, user="alice")).known == 3


# ------------------------------------------------------------------------------------------------ said and resumed


async def test_what_stands_before_the_damage_is_stored_and_said_and_the_import_goes_on(memory, tmp_path):
    said = [json.dumps({"role": "user", "content": f"tea {n}", "id": f"m{n}"}) for n in range(1200)]
    path = write(tmp_path / "log.jsonl", "\n".join([*said[:700], said[700][:20], *said[701:]]))
    with pytest.raises(InputError, match=r"line 701 of 'log.jsonl' .*700"):
        await memory.admin.import_from("openai", path, user="alice")
    assert len(await memory.list(user="alice", limit=2000)) == 700
    report = await memory.admin.import_from("openai", write(tmp_path / "log.jsonl", "\n".join(said)), user="alice")
    assert (report.known, report.turns) == (700, 500)


async def test_nothing_is_said_to_be_stored_where_nothing_is(memory, tmp_path):
    path = write(tmp_path / "log.jsonl", '{"role": "user", "content": "tea"}\n{')
    for options in ({"dry_run": True}, {}):
        with pytest.raises(InputError) as refused:
            await memory.admin.import_from("openai", path, user="alice", **options)
        assert ("stored" in str(refused.value)) == (not options)


async def test_an_importer_that_fails_is_a_typed_error(tmp_path):
    class Diary:
        def memscope_register_importers(self, register):
            register("diary", lambda sources: [json.loads(Path(one).read_text()) for one in sources])
            register("lazy", lambda sources: (ImportedTurn(TEA) if one else one["x"] for one in (1, 0)))

    async with AsyncMemoryScope(":memory:", settings={}, plugins=[Diary()]) as memory:
        with pytest.raises(InputError, match=r"'diary'.*'.*x.json'.*JSONDecodeError"):
            await memory.admin.import_from("diary", write(tmp_path / "x.json", CANARY), user="alice")
        with pytest.raises(InputError, match=r"'diary'.*'.*x.json'.*TypeError"):
            await memory.admin.import_from("diary", write(tmp_path / "x.json", "5"), user="alice")
        with pytest.raises(InputError, match=r"importer 'lazy' .*records stored before it: 1;"):
            await memory.admin.import_from("lazy", "a", user="alice")


@pytest.mark.parametrize("cut", ["a line", "the end", "in the middle"])
async def test_an_export_that_was_cut_between_two_lines_is_not_whole(memory, tmp_path, cut):
    await exported(path := tmp_path / "out.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    write(path, *(lines[:2] + lines[3:] if cut == "a line" else lines[:-1] if cut == "the end" else lines[:4]))
    with pytest.raises(InputError, match=r"line \d+ of 'out.jsonl' .* (the file has \d+|ends before the last line)"):
        await memory.admin.import_(path)
    assert await memory.admin.users() == []
    counts = await memory.admin.import_(path, strict=False)
    assert counts["broken"] == 1 and counts["first_broken_line"] > 1
    write(path, *lines)
    await memory.admin.import_(path)
    assert len(await memory.list(user="alice", superseded=True)) == 7


async def test_bytes_of_another_encoding_are_a_broken_line(memory, tmp_path):
    await exported(path := tmp_path / "out.jsonl")
    write(path, path.read_bytes().replace("茶".encode(), "茶".encode("gbk")))
    with pytest.raises(InputError, match=r"line \d+ of 'out.jsonl' .*UTF-8"):
        await memory.admin.import_(path)
    assert (await memory.admin.import_(path, strict=False))["broken"] == 1


# ---------------------------------------------------------------------------------------------------------- zip, SQLite


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (zipped([("a.json", b"[]")]), "has no file conversations"),
        (zipped([("conversations/", b""), ("conversations.txt", b"")]), "has no file conversations"),
        (zipped([("conversations.json", b"[]")], zipfile.ZIP_BZIP2), "compressed by method 12; unpack it first"),
        (zipped([("conversations.json", b"[]")], zipfile.ZIP_LZMA), "compressed by method 14; unpack it first"),
        (zipped([("conversations.json", b"[]")]).replace(b"\0\0\x08\0", b"\1\0\x08\0"), "encrypted; unpack it first"),
        (zipped([("conversations.json", b"[]")])[:-8], "'x.zip' is damaged: BadZipFile; export or download it again"),
        (zipped([("../../etc/conversations\x1b.json", b"[1]")]),
         r"item 1 of '../../etc/conversations\\x1b.json' in 'x.zip' is not a conversation"),
    ],
)  # fmt: skip
async def test_a_zip_that_cannot_be_read_says_what_to_do(memory, tmp_path, content, said):
    with pytest.raises(InputError, match=said):
        await memory.admin.import_from("chatgpt", write(tmp_path / "x.zip", content), user="alice")
    assert [path.name for path in tmp_path.iterdir()] == ["x.zip"]


async def test_a_history_that_never_ends_is_refused(memory, tmp_path):
    """A view with rows without end, and rows that are computed."""
    said = {"view": "it has no such table", "generated": "damaged", "header": "damaged"}
    for name, reason in said.items():
        path = tmp_path / f"{name}.db"
        history(path)
        with closing(sqlite3.connect(path)) as db:
            db.executescript({"view": damage.SCHEMAS[-2], "generated": damage.SCHEMAS[-1]}.get(name, ""))
        if name == "header":
            write(path, b"SQLite format 3\0" + b"x" * 5000)
        with pytest.raises(InputError, match=f"{name}.db'.*mem0.*{reason}"):
            await memory.admin.import_from("mem0", path)


async def test_a_history_whose_name_has_marks_of_a_url(memory, tmp_path):
    history(tmp_path / "a?b#c%20.db")
    path = write(tmp_path / "all.json", json.dumps(FOUND))
    report = await memory.admin.import_from("mem0", path, tmp_path / "a?b#c%20.db")
    assert report.observations == 2 + 9


# ------------------------------------------------------------------------------------------------------- bounded memory

LIMITED = """
import resource, sys
from memscope import MemoryScope
from memscope.errors import MemscopeError
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
with MemoryScope(":memory:", settings={}) as memory:
    try:
        if sys.argv[2]:
            print(memory.admin.import_from(sys.argv[2], sys.argv[3], user="alice"))
        else:
            print(memory.admin.import_(sys.argv[3], strict=False))
    except MemscopeError as error:
        print(type(error).__name__, error)
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def spread(folder: Path, name: str) -> tuple[str, Path]:
    """Write a file that is small, or harmless to look at, and large in memory; return its importer and its path."""
    blanks, empty, long = b" " * MB, b"[]," * (MB // 3), b"x" * MB
    parts: dict[str, tuple[str, list[bytes]]] = {
        "blanks.zip": ("chatgpt", [blanks] * 200),
        "one value.zip": ("chatgpt", [b'[{"mapping":[', *[empty] * 60]),
        "one text.zip": ("chatgpt", ['["😀'.encode(), *[long] * 60]),
        "one text.json": ("openai", ['[{"role": "user", "content": "😀'.encode(), *[long] * 30, b'"}]']),
        "keys.json": ("openai", [b"{", *(f'"{n:x}":0,'.encode() for n in range(2_000_000)), b'"x":1}']),
        "long items.json": ("openai", [b"[", *[b'{"role":"user","content":"', long * 6, b'"},'] * 40, b"{}]"]),
        "line.jsonl": ("", [b'{"memscope": 4}\n{"turn":"', *[long] * 200]),
    }
    system, content = parts[name]
    if name.endswith(".zip"):
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("conversations.json", "w") as member:
                for part in content:
                    member.write(part)
    else:
        write(folder / name, *content)
    return system, folder / name


@POSIX
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="where a process reads its peak")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("blanks.zip", "LimitError unpacked bytes of 'blanks.zip'"),
        ("one value.zip", "LimitError values in item 1 of 'conversations.json' in 'one value.zip'"),
        ("one text.zip", "LimitError characters in item 1 of 'conversations.json' in 'one text.zip'"),
        ("one text.json", "at most 1048576, got"),
        ("keys.json", "LimitError values in line 1 of 'keys.json'"),
        ("long items.json", "not_taken="),
        ("line.jsonl", "'broken': 2, 'first_broken_line': 2"),
    ],
)
@pytest.mark.slow
def test_no_file_takes_much_memory(tmp_path, name, said):
    system, path = spread(tmp_path, name)
    command = [sys.executable, "-c", LIMITED, str(SPACE_BYTES), system, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    *told, peak = done.stdout.splitlines()
    assert said in " ".join(told) and int(peak) < PEAK_KB, (told, peak)


def test_a_zip_with_too_many_files_is_refused_before_it_is_listed(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_DIRECTORY_BYTES", 5_000)
    path = write(tmp_path / "x.zip", zipped([(f"image{n}.png", b"") for n in range(200)]))
    with pytest.raises(InputError, match=r"'x.zip'.*unpack"):
        list(files.unzipped(path, "conversations"))
