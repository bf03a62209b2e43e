"""Embedding models of this machine, by fastembed: a tiny ONNX model that the test writes stands for a real one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading

import numpy as np
import pytest

from memscope import AsyncMemoryScope
from memscope.errors import ConfigError, ModelRejected, ModelTimeout, ModelUnavailable
from memscope.models import Usage
from memscope.models.local import FastEmbedder

tokenizers = pytest.importorskip("tokenizers")
pytest.importorskip("fastembed")

NAME, FILE = "BAAI/bge-small-en-v1.5", "model_optimized.onnx"  # a name that fastembed knows, and its file
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "pet", "house", "home", "tea", "drink"]
DIMS = 8


# ------------------------------------------------------------------------------------ ONNX, as far as it is needed here


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def put(field, value):
    """A field of protobuf: a number, or bytes with their length."""
    if isinstance(value, int):
        return varint(field << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name, array):
    kind = {"float32": 1, "int64": 7}[array.dtype.name]
    dims = b"".join(put(1, size) for size in array.shape)
    return put(5, dims + put(2, kind) + put(8, name) + put(9, array.tobytes()))


def value(field, name, kind, dims):
    shape = b"".join(put(1, put(2, size) if isinstance(size, str) else put(1, size)) for size in dims)
    return put(field, put(1, name) + put(2, put(1, put(1, kind) + put(2, shape))))


def write_model(folder):
    """Token embeddings, and for every place the mean over the sentence: related words have near vectors."""
    folder.mkdir(exist_ok=True)
    rows = np.random.default_rng(0).normal(size=(len(WORDS), DIMS)).astype(np.float32)
    rows[[5, 7, 9]] = rows[[4, 6, 8]] + 0.1  # cat, pet; house, home; tea, drink
    rows[:4] = 0.01
    gather = put(1, put(1, "table") + put(1, "input_ids") + put(2, "tokens") + put(4, "Gather"))
    mean = put(1, put(1, "tokens") + put(1, "axes") + put(2, "last_hidden_state") + put(4, "ReduceMean"))
    shapes = [value(11, name, 7, ["batch", "length"]) for name in ("input_ids", "attention_mask", "token_type_ids")]
    output = value(12, "last_hidden_state", 1, ["batch", 1, DIMS])
    graph = gather + mean + put(2, "tiny") + tensor("table", rows) + tensor("axes", np.array([1], np.int64))
    model = put(1, 8) + put(7, graph + b"".join(shapes) + output) + put(8, put(2, 18))
    (folder / FILE).write_bytes(model)
    vocabulary = tokenizers.models.WordLevel({word: n for n, word in enumerate(WORDS)}, "[UNK]")
    tokenizer = tokenizers.Tokenizer(vocabulary)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    texts = {"config.json": {"pad_token_id": 0}, "special_tokens_map.json": {"pad_token": "[PAD]"}}
    texts["tokenizer_config.json"] = {"model_max_length": 64, "pad_token": "[PAD]"}
    for name, content in texts.items():
        (folder / name).write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model") / "tiny")


def settings(folder, **more):
    section = {"provider": "fastembed", "model": NAME, "parameters": {"specific_model_path": str(folder)}, **more}
    return {"embedding": section}


# ------------------------------------------------------------------------------------------------------------ the model


async def test_what_means_the_same_is_found_with_a_model_of_this_machine(folder, tmp_path):
    given = {**settings(folder), "builtin_vectors": False}
    async with AsyncMemoryScope(tmp_path / "m.db", settings=given) as memory:
        await memory.add_turns([{"role": "user", "content": text} for text in ("cat", "house", "tea")], user="alice")
        await memory.flush()
        found = await memory.retrieve("pet", user="alice", k=1)
        assert [hit.turn.text for hit in found] == ["cat"]
        assert "vector" in found[0].found_by
        status = await memory.admin.status()
    assert (status["space"]["model"], status["space"]["dims"], status["vectors"]) == (NAME, DIMS, 3)
    assert status["usage"]["calls"] >= 2


async def test_rows_are_normalised_counted_and_cached(folder):
    embedder = FastEmbedder(NAME, parameters={"specific_model_path": str(folder)})
    assert (await embedder.measure()).dims == DIMS
    usage = Usage()
    with usage.counting():
        rows = await embedder.embed(["cat", "tea"])
        first = await embedder.embed_query("pet")
        again = await embedder.embed_query("pet")
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert (usage.calls, usage.prompt_characters) == (2, 9)
    assert np.array_equal(again, first)
    assert first @ rows[0] > first @ rows[1]


async def test_loading_is_told_in_the_log_and_happens_once(folder, caplog):
    embedder = FastEmbedder(NAME, parameters={"specific_model_path": str(folder)})
    with caplog.at_level(logging.INFO, "memscope"):
        await asyncio.gather(*(embedder.embed(["cat"]) for _ in range(5)))
    assert caplog.text.count("loading the local model") == 1
    assert f"the local model {NAME} is loaded" in caplog.text


async def test_a_model_that_is_not_there_is_a_clear_error_and_words_are_searched_all_the_same(tmp_path):
    async with AsyncMemoryScope(tmp_path / "m.db", settings=settings(tmp_path / "nowhere")) as memory:
        await memory.add_turns([{"role": "user", "content": "I live in Graz"}], user="alice")
        found = await memory.retrieve("Where do I live?", user="alice")
        assert len(found) == 1
        assert "without vectors: model_unavailable" in found.notes
        with pytest.raises(ModelUnavailable, match="specific_model_path"):
            await memory.flush()


async def test_names_and_parameters_are_checked():
    with pytest.raises(ModelRejected, match=r"'BAAI/bge-small-en-v1\.5'"):
        await FastEmbedder("bge-small-en-v1.5").embed(["cat"])
    with pytest.raises(ModelRejected, match=r"'x'.*for example"):
        await FastEmbedder("x").embed(["cat"])


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"base_url": "http://127.0.0.1:1/v1"}, "embedding.base_url means nothing to fastembed"),
        ({"key": "secret"}, "embedding.key means nothing"),
        ({"model": None}, "needs the name of its model"),
    ],
)
def test_settings_of_a_server_are_refused(section, said):
    with pytest.raises(ConfigError, match=said) as error:
        AsyncMemoryScope(":memory:", settings={"embedding": {"provider": "fastembed", "model": NAME, **section}})
    assert "secret" not in str(error.value)


async def test_a_query_does_not_wait_for_a_model_that_is_being_loaded(folder, monkeypatch):
    from memscope.models import local

    loaded, was_asked = local._create_model, threading.Event()

    def slow(*given):
        was_asked.wait(60)
        return loaded(*given)

    monkeypatch.setattr(local, "_create_model", slow)
    embedder = FastEmbedder(NAME, parameters={"specific_model_path": str(folder)}, query_deadline_s=0.05)
    with pytest.raises(ModelUnavailable):
        await embedder.embed_query("pet")
    with pytest.raises(ModelTimeout):
        await embedder.embed(["cat"], deadline_s=0.05)
    was_asked.set()
    assert (await embedder.embed(["cat"])).shape == (1, DIMS)
    embedder = FastEmbedder(NAME, parameters={"specific_model_path": str(folder)})
    assert len(await embedder.embed_query("pet")) == DIMS


def test_a_forked_process_loads_the_model_anew(folder):
    embedder = FastEmbedder(NAME, parameters={"specific_model_path": str(folder)})
    embedder._pid = os.getpid() - 1
    assert asyncio.run(embedder.embed(["cat"])).shape == (1, DIMS)
    assert embedder._pid == os.getpid()


def test_without_fastembed_the_error_says_what_to_install(monkeypatch):
    from memscope.models import local

    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"core\[local\]"):
        FastEmbedder(NAME)


async def test_while_texts_are_embedded_the_event_loop_goes_on(folder):
    embedder = FastEmbedder(NAME, parameters={"specific_model_path": str(folder)})
    await embedder.measure()
    began, go, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(texts, **_):
        began.set()
        go.wait(120)
        ended.set()
        return [np.ones(DIMS, np.float32) for _ in texts]

    embedder._load().result().passage_embed = slow
    embedding = asyncio.create_task(embedder.embed(["cat"]))
    await asyncio.to_thread(began.wait, 60)
    await embedder.prepare()
    assert not ended.is_set()
    go.set()
    assert (await embedding).shape == (1, DIMS)
