"""Compare memscope with alternatives: same turns, same vectors, same machine, in one run.

    python benchmarks/peers.py [DATA --embedder URL] [--systems memscope,mem0,langgraph,chroma] > RUN
    python benchmarks/peers.py --table RUN    a table of that run, as multiples of memscope's figures
    python benchmarks/peers.py --table RUN --picture FILE.svg    a chart of its times over the number of turns

``memscope-fast`` has the extra ``fast``. ``memscope-postgres``, ``mem0-postgres`` (pgvector) and ``langgraph-postgres``
(PostgresStore) start a server. They need PostgreSQL's package, and the last two its extension pgvector.

Each system gets its own environment (``uv``) with the newest installable versions, or memscope from this checkout, and
a fresh process per measurement; the systems alternate. Prints one row per system and one JSON object:

    recall_at_10      DATA's questions over its turns, with the embedder's vectors, no chat model; needs DATA
    add_one_ms        one turn per call, with its vector from an HTTP server (derived from the text's hash, cached)
    ingest_s          the same turns in batches of 200, if the system supports batches
    requests_per_turn embedding requests while adding turns one by one
    retrieve_ms_p50   by size: one user with that many turns, plus 99 others with OTHERS each; CPU in retrieve_cpu_ms
    shared_ms_p50     by size: that many turns shared among 100 users
    disk_mb, rss_mb, open_cpu_ms    in ``retrieve`` of the first size
    acknowledged_lost turns that were acknowledged before ``kill -9`` and are missing, over five kills
    import_ms, install_mb
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import click
import numpy as np
from comparing.picture import picture
from measuring.datasets import ADVERSARIAL, conversations

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from servers.postgres import PostgresServer

CORE = Path(__file__).resolve().parents[1] / "core"
PACKAGES: Mapping[str, Sequence[str]] = {
    "memscope": ("memscope",),
    "memscope-fast": ("memscope", "simsimd"),
    "mem0": ("mem0ai", "qdrant-client"),
    "langgraph": ("langgraph", "langgraph-checkpoint-sqlite", "sqlite-vec"),
    "chroma": ("autogen-ext[chromadb]", "autogen-core", "chromadb"),
    "memscope-postgres": ("memscope", "memscope-postgres"),
    "mem0-postgres": ("mem0ai", "psycopg[binary,pool]"),
    "langgraph-postgres": ("langgraph", "langgraph-checkpoint-postgres", "psycopg[binary]"),
}
MODULES = {
    "memscope": "memscope",
    "memscope-fast": "memscope",
    "mem0": "mem0",
    "langgraph": "langgraph.store.sqlite",
    "chroma": "chromadb",
    "memscope-postgres": "memscope_postgres.store",
    "mem0-postgres": "mem0",
    "langgraph-postgres": "langgraph.store.postgres",
}
DIMS = 384
KILLS = 5
OTHERS = 20
ONE_AT_A_TIME = ("mem0", "mem0-postgres", "chroma")
ROWS = (  # label, figure, and whether to print it as a multiple of memscope's
    ("recall@10, percent", "recall_at_10", False),
    ("CPU of adding one turn", "add_one_cpu_ms", True),
    ("embedding requests per turn", "requests_per_turn", False),
    ("turns added in batches, time", "ingest_s", True),
    ("CPU of a retrieve, turns of one user", "retrieve_cpu_ms", True),
    ("CPU of a retrieve, turns of 100 users", "shared_cpu_ms", True),
    ("disk", "disk_mb", True),
    ("memory", "rss_mb", True),
    ("CPU of opening it", "open_cpu_ms", True),
    ("CPU of the import", "import_ms", True),
    ("installed, MB", "install_mb", False),
    ("acknowledged turns lost in five kills", "acknowledged_lost", False),
)


class Vectors(BaseHTTPRequestHandler):
    """Embedding server: ``/real/v1`` caches the embedder's vectors, ``/made/v1`` hashes the text, for timing only."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else clients with persistent connections wait 40 ms for each answer
    embedder = ""
    requests = 0
    lock = threading.Lock()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        with self.lock:
            type(self).requests += 1
        rows = [real(self.embedder, text) if self.path.startswith("/real") else made(text) for text in texts]
        plain = body.get("encoding_format") != "base64"
        coded: list[Any] = [row.tolist() if plain else base64.b64encode(row.tobytes()).decode() for row in rows]
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(coded)]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        reply = json.dumps({"object": "list", "model": body["model"], "data": data, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None: ...


@cache
def made(text: str) -> Any:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    row = np.random.default_rng(seed).standard_normal(DIMS)
    return (row / np.linalg.norm(row)).astype("<f4")


@cache
def real(embedder: str, text: str) -> Any:
    body = json.dumps({"input": [text], "model": "embedder", "encoding_format": "float"}).encode()
    request = urllib.request.Request(f"{embedder}/embeddings", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return np.asarray(json.load(answer)["data"][0]["embedding"], dtype="<f4")


@contextmanager
def served(embedder: str) -> Iterator[str]:
    Vectors.embedder = embedder
    server = ThreadingHTTPServer(("127.0.0.1", 0), Vectors)
    server.handle_error = lambda request, address: None  # type: ignore[method-assign]  # clients that were killed
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def environment(system: str, folder: Path, base: str) -> tuple[str, dict[str, Any]]:
    """Create the system's environment, and return its Python and its versions, size and import time."""
    place = folder / system
    python = str(place / "bin" / "python")
    installs = ["uv", "pip", "install", "--quiet", "--python", python]
    if not (made := place.exists()):
        subprocess.run(["uv", "venv", "--quiet", "--python", base, place], check=True)
    if system.startswith("memscope"):
        beside = [str(CORE.parent / "stores" / "postgres")] if system == "memscope-postgres" else []
        again = ["--reinstall-package", "memscope", "--reinstall-package", "memscope-postgres"]
        extras = "openai,fast" if system == "memscope-fast" else "openai"
        subprocess.run([*installs, *again, f"{CORE}[{extras}]", *beside], check=True)
    elif not made:
        subprocess.run([*installs, *PACKAGES[system]], check=True)
    names = [name.partition("[")[0] for name in PACKAGES[system]]
    asked = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names}}}))"
    versions = json.loads(subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout)
    known: dict[str, Any] = {"versions": versions, "import_ms": _import_ms(python, MODULES[system])}
    known["install_mb"] = round(sum(f.stat().st_size for f in place.rglob("*") if f.is_file()) / 1e6)
    return python, known


def _import_ms(python: str, module: str) -> int:
    asked = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    runs = [subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout for _ in range(4)]
    return round(1000 * statistics.median(float(run) for run in runs[1:]))


class Runner:
    """Runs each phase of a system in a new process and folder."""

    def __init__(self, pythons: Mapping[str, str], url: str, work: Path, postgres: PostgresServer | None) -> None:
        self.pythons, self.url, self.work, self.postgres, self.made = pythons, url, work, postgres, 0

    def command(self, system: str, phase: str, given: Any, folder: Path, vectors: str = "made") -> list[str]:
        source = self.work / f"given-{phase}.json"
        source.write_text(json.dumps(given))
        worker = str(Path(__file__).with_name("comparing") / "worker.py")
        return [self.pythons[system], worker, system, phase, str(source), str(folder), f"{self.url}/{vectors}/v1"]

    def folder(self) -> Path:
        self.made += 1
        (folder := self.work / f"data_{self.made}").mkdir()
        if self.postgres is not None:
            self.postgres.sql(f"CREATE DATABASE {folder.name} OWNER memscope")
            extension = "DO $$ BEGIN CREATE EXTENSION vector; EXCEPTION WHEN OTHERS THEN END $$"
            self.postgres.sql(extension, database=folder.name)
            (folder / "postgres").write_text(self.postgres.url(database=folder.name))
        return folder

    def run(self, system: str, phase: str, given: Any, folder: Path | None = None, vectors: str = "made") -> Any:
        command = self.command(system, phase, given, folder or self.folder(), vectors)
        ended = subprocess.run(command, capture_output=True, text=True, cwd=self.work)
        if ended.returncode:
            raise click.ClickException(f"{system} failed in {phase}:\n{ended.stderr[-2000:]}")
        return json.loads(ended.stdout.strip().splitlines()[-1])

    def kill(self, system: str, turns: Sequence[Any], after: int) -> int:
        """Kill the process after ``after`` acknowledged adds, and return how many of these are missing."""
        folder = self.folder()
        command = self.command(system, "acknowledge", turns, folder)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=self.work)
        assert process.stdout is not None
        known = {turn["key"] for turn in turns}
        acknowledged = []
        for line in process.stdout:
            if (key := line.strip()) in known:
                acknowledged.append(key)
            if len(acknowledged) == after:
                os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return int(self.run(system, "keys", acknowledged, folder)["lost"])


def turns_of(conversation: Any) -> list[dict[str, str]]:
    return [
        {"key": turn["id"], "number": str(number), "speaker": turn["speaker"], "text": turn["content"]}
        for number, turn in enumerate(conversation.turns)
    ]


def with_questions(conversation: Any) -> dict[str, Any]:
    questions = [
        {"text": question.text, "evidence": sorted(question.evidence)}
        for question in conversation.questions
        if question.category != ADVERSARIAL
    ]
    return {"id": conversation.id.replace("_", "-"), "turns": turns_of(conversation), "questions": questions}


def writing(runner: Runner, name: str, turns: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    before = Vectors.requests
    one = runner.run(name, "ingest", {"one": many(turns, 300), "many": []})
    requests = (Vectors.requests - before) / 301
    batches = runner.run(name, "ingest", {"one": many(turns, 1), "many": turns})
    return {**one, "requests_per_turn": round(requests, 2), "ingest_s": batches["ingest_s"]}


def reading(runner: Runner, name: str, turns: Sequence[Any], queries: Sequence[str], result: dict[str, Any]) -> None:
    """Measure with this number of turns, and add the figures to the system's ``result``."""
    given = {"size": len(turns), "turns": turns, "queries": queries, "users": 100, "others": OTHERS}
    for key, share in (("retrieve", False), ("shared", True)):
        measured = runner.run(name, "retrieve", {**given, "share": share})
        for figure in ("ms_p50", "cpu_ms"):
            result.setdefault(f"{key}_{figure}", {})[len(turns)] = measured[f"retrieve_{figure}"]
        for figure in ("disk_mb", "rss_mb", "open_cpu_ms"):
            result.setdefault(figure, measured[figure])


def many(turns: Sequence[Mapping[str, str]], size: int) -> list[dict[str, str]]:
    """Repeat turns up to ``size``, with a number in each text, so that no two are equal."""
    return [
        {**turn, "key": f"t{number}", "number": str(number), "text": f"{turn['text']} ({number})"}
        for number, turn in enumerate(islice(cycle(turns), size))
    ]


def invented(number: int) -> list[dict[str, str]]:
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9))) for _ in range(3000)]
    texts = [" ".join(chance.choices(words, k=chance.randint(8, 40))) for _ in range(number)]
    return [{"key": str(i), "number": str(i), "speaker": "user", "text": text} for i, text in enumerate(texts)]


def table(result: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table with a column per system, memscope first."""
    names = sorted(result, key=lambda name: name != "memscope")
    heads = ["<br>".join(f"{package} {version}" for package, version in result[n]["versions"].items()) for n in names]
    yield "| | " + " | ".join(heads) + " |"
    yield "|---" * (len(names) + 1) + "|"
    for label, figure, multiple in ROWS:
        found = [result[name].get(figure) for name in names]
        for size in found[0] if isinstance(found[0], dict) else [None]:
            values = [one.get(size) if isinstance(one, dict) else one for one in found]
            if any(value is not None for value in values):
                shown = " | ".join(_shown(value, values[0] if multiple else None) for value in values)
                yield f"| {label}{f', {int(size):,}' if size else ''} | {shown} |"


def _shown(value: float | None, whole: float | None) -> str:
    if value is None:
        return "–"
    if whole is None:
        return f"{value:g}"
    share = value / max(whole, 1e-9)
    return f"{share:.1f} ×" if share < 10 else f"{share:.0f} ×"


@click.command()
@click.argument("data", required=False)
@click.option("--embedder", help="URL of an OpenAI-compatible endpoint (…/v1)")
@click.option("--systems", default="memscope,mem0,langgraph,chroma", show_default=True)
@click.option("--sizes", default="1000,10000,100000", show_default=True)
@click.option("--slow", default=10_000, show_default=True, help="most turns for a system that adds one at a time")
@click.option(
    "--python", "base", default=sys.executable, help="for the environments: langgraph's store loads extensions"
)
@click.option("--environments", help="folder of the environments, kept; by default one that goes away")
@click.option(
    "--table", "run", type=click.Path(exists=True, path_type=Path), help="what a run printed; measure nothing"
)
@click.option("--picture", "drawing", type=click.Path(path_type=Path), help="with --table: an SVG of the times")
def main(
    data: str | None,
    embedder: str | None,
    systems: str,
    sizes: str,
    slow: int,
    base: str,
    environments: str | None,
    run: Path | None,
    drawing: Path | None,
) -> None:
    if run is not None:
        result = json.loads(run.read_text().splitlines()[-1])
        if drawing is not None:
            drawing.write_text(picture({name: one["retrieve_cpu_ms"] for name, one in result.items()}))
        return print(*table(result), sep="\n")
    names = systems.split(",")
    with tempfile.TemporaryDirectory() as work, served(embedder or "") as url, ExitStack() as servers:
        places = Path(environments or f"{work}/environments").resolve()
        places.mkdir(exist_ok=True)
        prepared = {name: environment(name, places, base) for name in names}
        postgres = (
            servers.enter_context(PostgresServer()) if any(name.endswith("-postgres") for name in names) else None
        )
        runner = Runner({name: python for name, (python, _) in prepared.items()}, url, Path(work), postgres)
        result = {name: known for name, (_, known) in prepared.items()}
        everything = list(conversations(data)) if data else []
        if everything and embedder:
            asked = [with_questions(conversation) for conversation in everything]
            for name in names:
                result[name] |= runner.run(name, "recall", asked, vectors="real")
        turns = [turn for conversation in everything for turn in turns_of(conversation)] or invented(1000)
        questions = [question.text for conversation in everything for question in conversation.questions]
        queries = (questions or [turn["text"][:40] for turn in turns])[::17][:50]
        for name in names:
            result[name] |= writing(runner, name, turns)
        for size in map(int, sizes.split(",")):
            for name in names:
                if size <= slow or name not in ONE_AT_A_TIME:
                    reading(runner, name, many(turns, max(size, OTHERS)), queries, result[name])
        for name in names:
            lost = [runner.kill(name, many(turns, 120), after) for after in range(20, 20 + 20 * KILLS, 20)]
            result[name]["acknowledged_lost"] = sum(lost)
    for name in names:
        print(name, json.dumps(result[name]))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
