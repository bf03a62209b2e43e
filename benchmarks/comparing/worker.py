"""Run one system of ``peers.py`` in its own environment, which has memscope only for memscope itself.

    python comparing/worker.py SYSTEM PHASE INPUT FOLDER URL

INPUT is the phase's JSON, FOLDER holds the data, URL is an OpenAI-compatible embedding endpoint (…/v1). Prints one JSON
object; phase ``acknowledge`` prints one line per add instead, until it is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

DIMS = 384
K = 10
START = datetime(2025, 1, 1, tzinfo=UTC)

Turn = Mapping[str, str]  # key, speaker, text


def embed(url: str, texts: Sequence[str]) -> list[list[float]]:
    """Embed texts for systems that take an embedding function; the others have their own client."""
    body = json.dumps({"input": list(texts), "model": "embedder", "encoding_format": "float"}).encode()
    request = urllib.request.Request(f"{url}/embeddings", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return [item["embedding"] for item in json.load(answer)["data"]]


def database(folder: Path) -> str:
    """Return the URL of the PostgreSQL database that belongs to the folder."""
    return (folder / "postgres").read_text()


def spoken(turn: Turn) -> str:
    return f"{turn['speaker']}: {turn['text']}"


class Memscope:
    plugins: Sequence[str] = ()

    def store(self, folder: Path) -> str:
        return str(folder / "memory.db")

    def __init__(self, folder: Path, url: str) -> None:
        from memscope import AsyncMemoryScope

        embedding = {"base_url": url, "model": "embedder", "key": "none", "languages": ["en"]}
        settings = {"embedding": embedding, "plugins": {"allow": list(self.plugins)}}
        self.memory = AsyncMemoryScope(self.store(folder), settings=settings)

    async def open(self) -> None:
        await self.memory.__aenter__()

    async def add(self, user: str, turns: Sequence[Turn]) -> None:
        await self.memory.add_turns([_message(turn) for turn in turns], user=user)

    async def settle(self) -> None:
        while not await self.memory.flush():
            pass

    async def search(self, user: str, query: str) -> list[str]:
        hits = await self.memory.retrieve(query, user=user, k=K)
        return [hit.turn.key for hit in hits if hit.turn]

    async def keys(self, user: str) -> set[str]:
        return {record.key for record in await self.memory.list(user=user, kinds=["turn"], limit=1_000_000)}

    async def close(self) -> None:
        await self.memory.close()


class MemscopePostgres(Memscope):
    plugins = ("postgres",)

    def store(self, folder: Path) -> str:
        return database(folder)


def _message(turn: Turn) -> dict[str, Any]:
    when = START + timedelta(minutes=int(turn["number"]))
    role = turn["speaker"] if turn["speaker"] in ("user", "assistant") else "person"
    return {"id": turn["key"], "role": role, "speaker": turn["speaker"], "content": turn["text"], "time": when}


class Mem0:
    """mem0 as in its quick start, but with ``infer=False``: no system here uses a chat model."""

    def store(self, folder: Path) -> dict[str, Any]:
        config = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIMS}
        return {"provider": "qdrant", "config": config}

    def __init__(self, folder: Path, url: str) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0")}
        from mem0 import Memory

        self.memory = Memory.from_config(
            {
                "vector_store": self.store(folder),
                "embedder": {
                    "provider": "openai",
                    "config": {"model": "e", "openai_base_url": url, "api_key": "none", "embedding_dims": DIMS},
                },
                "llm": {"provider": "openai", "config": {"api_key": "none", "openai_base_url": url}},
                "history_db_path": str(folder / "history.db"),
            }
        )

    async def open(self) -> None: ...

    async def add(self, user: str, turns: Sequence[Turn]) -> None:
        for turn in turns:  # a list of messages would share one key
            self.memory.add(spoken(turn), user_id=user, metadata={"key": turn["key"]}, infer=False)

    async def settle(self) -> None: ...

    async def search(self, user: str, query: str) -> list[str]:
        found = self.memory.search(query, filters={"user_id": user}, top_k=K, threshold=0)
        return [hit["metadata"]["key"] for hit in found["results"]]

    async def keys(self, user: str) -> set[str]:
        found = self.memory.get_all(filters={"user_id": user}, top_k=1_000_000)
        return {hit["metadata"]["key"] for hit in found["results"]}

    async def close(self) -> None: ...


class Mem0Postgres(Mem0):
    """mem0 with its pgvector store."""

    def store(self, folder: Path) -> dict[str, Any]:
        config = {"connection_string": database(folder), "embedding_model_dims": DIMS}
        return {"provider": "pgvector", "config": config}


class LangGraph:
    """LangGraph's ``SqliteStore`` with its vector index."""

    def make(self, folder: Path, index: Any) -> Any:
        from langgraph.store.sqlite import SqliteStore

        return SqliteStore.from_conn_string(str(folder / "store.db"), index=index)

    def __init__(self, folder: Path, url: str) -> None:
        index: Any = {"dims": DIMS, "embed": lambda texts: embed(url, texts), "fields": ["text"]}
        self.opened = self.make(folder, index)

    async def open(self) -> None:
        self.store = self.opened.__enter__()
        self.store.setup()

    async def add(self, user: str, turns: Sequence[Turn]) -> None:
        from langgraph.store.base import PutOp

        self.store.batch([PutOp((user,), turn["key"], {"text": spoken(turn)}) for turn in turns])

    async def settle(self) -> None: ...

    async def search(self, user: str, query: str) -> list[str]:
        return [item.key for item in self.store.search((user,), query=query, limit=K)]

    async def keys(self, user: str) -> set[str]:
        return {item.key for item in self.store.search((user,), limit=1_000_000)}

    async def close(self) -> None:
        self.opened.__exit__(None, None, None)


class LangGraphPostgres(LangGraph):
    """LangGraph's ``PostgresStore``, whose index is pgvector's HNSW."""

    def make(self, folder: Path, index: Any) -> Any:
        from langgraph.store.postgres import PostgresStore

        return PostgresStore.from_conn_string(database(folder), index=index)


class Chroma:
    """AutoGen's ``ChromaDBVectorMemory``. Its queries take no filter, so each user has a collection."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url, self.opened = folder, url, {}

    async def open(self) -> None: ...

    def of(self, user: str) -> Any:
        if user not in self.opened:
            from autogen_ext.memory.chromadb import (
                ChromaDBVectorMemory,
                CustomEmbeddingFunctionConfig,
                PersistentChromaDBVectorMemoryConfig,
            )

            functions = CustomEmbeddingFunctionConfig(function=_chroma_function, params={"url": self.url})
            config = PersistentChromaDBVectorMemoryConfig(
                collection_name=f"user-{user}",
                persistence_path=str(self.folder / "chroma"),
                k=K,
                score_threshold=None,
                embedding_function_config=functions,
            )
            self.opened[user] = ChromaDBVectorMemory(config=config)
        return self.opened[user]

    async def add(self, user: str, turns: Sequence[Turn]) -> None:
        from autogen_core.memory import MemoryContent, MemoryMimeType

        for turn in turns:  # it has no batches
            content = MemoryContent(content=spoken(turn), mime_type=MemoryMimeType.TEXT, metadata={"key": turn["key"]})
            await self.of(user).add(content)

    async def settle(self) -> None: ...

    async def search(self, user: str, query: str) -> list[str]:
        return [item.metadata["key"] for item in (await self.of(user).query(query)).results]

    async def keys(self, user: str) -> set[str]:
        import chromadb

        client = chromadb.PersistentClient(str(self.folder / "chroma"))
        return {item["key"] for item in client.get_collection(f"user-{user}").get()["metadatas"]}

    async def close(self) -> None:
        for memory in self.opened.values():
            await memory.close()


def _chroma_function(url: str) -> Any:
    from chromadb import EmbeddingFunction

    class Function(EmbeddingFunction):  # type: ignore[misc]
        def __init__(self) -> None: ...

        def __call__(self, input: list[str]) -> Any:
            return embed(url, input)

    return Function()


SYSTEMS: dict[str, Any] = {
    "memscope": Memscope,
    "memscope-fast": Memscope,
    "mem0": Mem0,
    "langgraph": LangGraph,
    "chroma": Chroma,
    "memscope-postgres": MemscopePostgres,
    "mem0-postgres": Mem0Postgres,
    "langgraph-postgres": LangGraphPostgres,
}


async def recall(system: Any, given: Any, folder: Path) -> dict[str, Any]:
    """Measure recall@10 in percent over the questions of all conversations."""
    shares = []
    for conversation in given:
        for start in range(0, len(conversation["turns"]), 200):
            await system.add(conversation["id"], conversation["turns"][start : start + 200])
        await system.settle()
        for question in conversation["questions"]:
            found = set(await system.search(conversation["id"], question["text"]))
            shares.append(len(found & set(question["evidence"])) / len(question["evidence"]))
    return {"recall_at_10": round(100 * statistics.mean(shares), 1)}


async def ingest(system: Any, given: Any, folder: Path) -> dict[str, Any]:
    """Time adds of one turn, then of batches of 200."""
    one, many = given["one"], given["many"]
    await system.add("warm", one[:1])
    wall, cpu = time.perf_counter(), time.process_time()
    for turn in one:
        await system.add("one", [turn])
    await system.settle()
    single = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    wall = time.perf_counter()
    for start in range(0, len(many), 200):
        await system.add("many", many[start : start + 200])
    await system.settle()
    return {
        "ingest_s": round(time.perf_counter() - wall, 2),
        "add_one_ms": round(1000 * single["wall"] / len(one), 2),
        "add_one_cpu_ms": round(1000 * single["cpu"] / len(one), 2),
    }


async def retrieve(system: Any, given: Any, folder: Path) -> dict[str, Any]:
    """Time searches of the first user, who has all turns; with ``share`` the turns are divided among all users."""
    users = [f"user{number}" for number in range(given["users"])]
    turns = given["turns"]
    for number, user in enumerate(users):
        own = (
            turns[number :: len(users)]
            if given["share"]
            else turns[: given["size"] if number == 0 else given["others"]]
        )
        for start in range(0, len(own), 1000):
            await system.add(user, own[start : start + 1000])
    await system.settle()
    queries = given["queries"]
    cpu, times = 0.0, []
    for number, query in enumerate([*queries[:5], *queries]):
        begun, used = time.perf_counter(), time.process_time()
        await system.search(users[0], query)
        if number >= 5:
            times.append(time.perf_counter() - begun)
            cpu += time.process_time() - used
    return {
        "retrieve_ms_p50": round(1000 * statistics.median(times), 2),
        "retrieve_cpu_ms": round(1000 * cpu / len(queries), 2),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "disk_mb": round(disk_bytes(type(system).__name__, folder) / 1e6, 1),
    }


def disk_bytes(system: str, folder: Path) -> int:
    if not system.endswith("Postgres"):
        return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    import psycopg

    with psycopg.connect(database(folder)) as db:
        own = "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE relkind = 'r' AND relowner != 10"
        return int(db.execute(own).fetchone()[0])


async def acknowledge(system: Any, given: Any, folder: Path) -> None:
    for turn in given:
        await system.add("user", [turn])
        print(turn["key"], flush=True)


async def keys(system: Any, given: Any, folder: Path) -> dict[str, Any]:
    return {"lost": len(set(given) - await system.keys("user"))}


async def main() -> None:
    name, phase, source, place, url = sys.argv[1:]
    given, folder = json.loads(Path(source).read_text()), Path(place)
    used = time.process_time()
    system = SYSTEMS[name](folder, url)
    await system.open()
    opened = time.process_time() - used
    result = await {one.__name__: one for one in (recall, ingest, retrieve, acknowledge, keys)}[phase](
        system, given, folder
    )
    if result is not None:
        print(json.dumps({**result, "open_cpu_ms": round(1000 * opened)}), flush=True)
    await system.close()


if __name__ == "__main__":
    asyncio.run(main())
