"""The examples of docs/models.md work: each block of settings, and the two models of one's own."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pydantic import BaseModel

from memscope.config.settings import load
from memscope.errors import ModelReplyError
from memscope.models import Message
from memscope.models.endpoint import presets
from memscope.models.structured_output import ask
from memscope.plugins.loader import Plugins

from servers.faults import FaultServer, embed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples" / "models").glob("*.yaml"))}
SECTIONS = ("chat", "embedding", "rerank")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


async def asked(kind: str, model: Any) -> None:
    if kind == "chat":
        assert (await model.chat([Message(role="user", content="hello")])).text == "echo: hello"
    elif kind == "embedding":
        assert (await model.embed(["a", "b"])).shape == (2, 256)
    else:
        assert len(await model.rerank("a", ["a", "b"])) == 2


SHOWN = {f"page {n}": block for n, block in enumerate(blocks("yaml")) if "provider" not in block}
SHOWN |= {name: path.read_text(encoding="utf-8") for name, path in EXAMPLES.items()}


@pytest.mark.parametrize("block", SHOWN.values(), ids=SHOWN)
async def test_each_block_of_settings_reaches_its_models(block: str, fault_server: FaultServer) -> None:
    """By settings alone; only where the servers are is changed."""
    given = yaml.safe_load(block)
    for section in given.values():
        section["base_url"] = fault_server.base_url
    if given.get("rerank", {}).get("preset") == "dashscope":
        given["rerank"] |= {"shape": "flat", "path": "/rerank"}  # its own shape has a test of its own
    settings = load(given, environ={})
    plugins = Plugins(settings.plugins)
    for kind in SECTIONS:
        model = plugins.make_model(kind, settings)  # type: ignore[arg-type]
        assert (model is None) == (kind not in given)
        if model is not None:
            await asked(kind, model)
            await model.close()
    assert [row["model"] for row in fault_server.requests] == [
        given[kind]["model"] for kind in SECTIONS if kind in given
    ]


def test_every_preset_is_described_and_those_that_chat_have_an_example() -> None:
    assert {name for name, preset in presets().items() if "chat" in preset} == EXAMPLES.keys()
    described = {
        name for row in re.findall(r"^\| (`[a-z`, ]+`) \|", PAGE, re.M) for name in re.findall(r"`(\w+)`", row)
    }
    assert presets().keys() <= described


@pytest.fixture
def sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The part of that library that the page uses, with hashed words for weights."""

    class SentenceTransformer:
        def __init__(self, name: str) -> None:
            assert name == "BAAI/bge-small-en-v1.5"

        def get_sentence_embedding_dimension(self) -> int:
            return 64

        def encode(self, texts: list[str], *, normalize_embeddings: bool) -> Any:
            assert normalize_embeddings
            return np.array([embed(text, 64) for text in texts])

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


async def test_an_embedder_of_ones_own_is_twenty_lines(sentence_transformers: None) -> None:
    code = next(block for block in blocks("python") if "memscope_local" in block)
    assert (
        len([line for line in code.splitlines() if line.strip() and not line.startswith(("import", "from", "#"))]) <= 20
    )
    plugin = types.ModuleType("memscope_local")
    exec(code, plugin.__dict__)
    settings = load(yaml.safe_load(next(block for block in blocks("yaml") if "provider: local" in block)), environ={})
    model = Plugins(settings.plugins, extra=[plugin]).make_model("embedding", settings)
    assert (await model.measure()).dims == 64
    assert (await model.embed(["tea", "coffee"])).dtype == np.float32
    assert (await model.embed_query("tea")) @ (await model.embed(["tea"]))[0] == pytest.approx(1, abs=1e-5)


class Facts(BaseModel):
    facts: list[str]


async def test_a_chat_model_of_ones_own_gets_schemas_in_words() -> None:
    page: dict[str, Any] = {}
    exec(next(block for block in blocks("python") if "MyChat" in block), page)
    replies = [('Sure: {"facts": ["tea"]}', "stop"), ('{"facts": ["te', "length")]

    async def generate(messages: list[Message]) -> tuple[str, str]:
        assert "JSON schema" in messages[0]["content"]
        return replies.pop(0) if len(replies) > 1 else replies[0]

    model = page["MyChat"](generate)
    assert await ask(model, [Message(role="user", content="facts?")], Facts) == Facts(facts=["tea"])
    with pytest.raises(ModelReplyError):
        await ask(model, [Message(role="user", content="facts?")], Facts)
