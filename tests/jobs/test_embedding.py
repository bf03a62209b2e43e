"""Vectors in the background: whatever the embedder does, turns are kept and found, and nothing waits for ever."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial

import numpy as np
import pytest

from memscope import AsyncMemoryScope
from memscope.errors import EmbeddingError, EmbeddingMismatch, ModelUnavailable
from memscope.jobs import embedding
from memscope.records import VectorSpace
from memscope.stores import MAX_ATTEMPTS

TEA = {"role": "user", "content": "I drink tea, CANARY."}


class Moody:
    """An embedder that does what ``does`` says."""

    languages = None

    def __init__(self, does=np.ones, dims=4):
        self.space = VectorSpace("moody", dims)
        self.does = does

    async def measure(self):
        return self.space

    async def embed(self, texts, *, deadline_s=None):
        return self.does((len(texts), self.space.dims))

    async def embed_query(self, text, *, deadline_s=None):
        return (await self.embed([text]))[0]


def raises(error):
    def does(shape):
        raise error

    return does


@pytest.fixture(params=["memory", "sqlite"])
def place(request, tmp_path):
    return ":memory:" if request.param == "memory" else tmp_path / "memory.db"


@pytest.mark.parametrize(
    "does",
    [
        raises(RuntimeError("CANARY")), lambda shape: np.full(shape, np.nan), np.zeros, lambda shape: np.ones(3),
        lambda shape: np.ones((shape[0] + 1, shape[1])), lambda shape: None, lambda shape: [["x"] * 4] * shape[0],
    ],
)  # fmt: skip
async def test_an_embedder_that_answers_nonsense_costs_the_vectors_only(place, does, caplog):
    async with AsyncMemoryScope(place, settings={}, embedder=Moody(does)) as memory:
        await memory.add_turns([TEA], user="u")
        with pytest.raises(EmbeddingError):
            await memory.flush()
        found = await memory.retrieve("tea", user="u")
        status = await memory.admin.status()
    assert (len(found), status["vectors"], status["failed"]["embed"]) == (1, 0, 1)
    assert status["embedding_error"].startswith("embedding")
    assert "CANARY" not in caplog.text


async def test_an_error_is_there_until_the_vectors_are(place):
    async with AsyncMemoryScope(place, settings={}, embedder=Moody(raises(ModelUnavailable("down")))) as memory:
        await memory.add_turns([TEA], user="u")
        for _ in range(2):
            with pytest.raises(ModelUnavailable):
                await memory.flush()
        assert (await memory.admin.status())["embedding_error"] == "model_unavailable"


async def test_another_length_is_a_mismatch_until_reembedded(place, tmp_path):
    file = tmp_path / "lengths.db"
    async with AsyncMemoryScope(file, settings={}, embedder=Moody()) as memory:
        await memory.add_turns([TEA], user="u")
        assert await memory.flush()
    async with AsyncMemoryScope(file, settings={}, embedder=Moody(dims=8)) as memory:
        assert (await memory.add_turns([TEA], user="u")).stored == 1
        with pytest.raises(EmbeddingMismatch):
            await memory.flush()
        assert len(await memory.retrieve("tea", user="u")) == 1  # of equal turns the newest is shown
        assert await memory.admin.reembed() == 2
        assert await memory.flush()


class Stopped(Exception):
    pass


async def test_a_reembed_that_is_stopped_goes_on_where_it_was(place):
    def stop(done, total):
        assert (done, total) == (128, 200)
        raise Stopped

    turns = [{"role": "user", "content": f"I drank tea number {number}."} for number in range(200)]
    embedder = Moody()
    async with AsyncMemoryScope(place, settings={}, embedder=embedder) as memory:
        await memory.add_turns(turns, user="u")
        assert await memory.flush()
        embedder.space = VectorSpace("another", 8)
        with pytest.raises(Stopped):
            await memory.admin.reembed(progress=stop)
        shapes = []
        embedder.does = lambda shape: shapes.append(shape) or np.ones(shape)
        assert await memory.admin.reembed() == 72
        assert sum(number for number, _ in shapes) == 72 and (await memory.admin.status())["vectors"] == 200


async def test_a_reembed_soon_after_a_failure_says_that_units_wait_instead_of_doing_nothing(place):
    embedder = Moody()
    async with AsyncMemoryScope(place, settings={}, embedder=embedder) as memory:
        await memory.add_turns([TEA], user="u")
        assert await memory.flush()
        embedder.space, embedder.does = VectorSpace("another", 8), raises(ModelUnavailable("down", retry_after=60))
        with pytest.raises(ModelUnavailable):
            await memory.admin.reembed()
        with pytest.raises(EmbeddingError, match="still wait: 1"):
            await memory.admin.reembed()


async def test_a_reembed_tries_parked_units_again(place):
    embedder = Moody()
    async with AsyncMemoryScope(place, settings={}, embedder=embedder) as memory:
        await memory.add_turns([TEA], user="u")
        assert await memory.flush()
        embedder.space, store = VectorSpace("another", 8), memory.admin.runtime.services.store
        await store.set_vector_space(embedder.space, replace=True)
        for _ in range(MAX_ATTEMPTS):
            (claim,) = await store.claim("embed", 9, 60)
            await store.fail(claim, "embedding", datetime.fromtimestamp(0, UTC))
        assert (await memory.admin.status())["parked"]["embed"] == 1
        assert await memory.admin.reembed() == 1


async def test_a_text_that_the_embedder_refuses_holds_up_no_other_user(place):
    class Picky(Moody):
        async def embed(self, texts, *, deadline_s=None):
            if any("refused" in text for text in texts):
                raise EmbeddingError("no")
            return await super().embed(texts)

    async with AsyncMemoryScope(place, settings={}, embedder=Picky()) as memory:
        refused = {"role": "user", "content": "I am refused."}
        await asyncio.gather(memory.add_turns([refused], user="alice"), memory.add_turns([TEA], user="bob"))
        with pytest.raises(EmbeddingError):
            await memory.flush()
        assert (await memory.admin.status(user="bob"))["vectors"] == 1


class Refusing(Moody):
    """Refuses every call with a text that names one of ``words``."""

    def __init__(self, *words, dims=8):
        super().__init__(dims=dims)
        self.words, self.calls = words, 0

    async def embed(self, texts, *, deadline_s=None):
        self.calls += 1
        if any(word in text for text in texts for word in self.words):
            raise EmbeddingError("no")
        return await super().embed(texts)


async def test_a_text_that_is_always_refused_keeps_no_store_on_its_old_vectors(place):
    turns = [{"role": "user", "content": f"I drank tea number {number}."} for number in range(100)]
    embedder = Moody()
    async with AsyncMemoryScope(place, settings={}, embedder=embedder) as memory:
        await memory.add_turns(turns, user="u")
        await memory.add_turns([TEA], user="v")
        assert await memory.flush()
        services, refusing = memory.admin.runtime.services, Refusing("number 77.", "CANARY")
        object.__setattr__(services, "embedder", refusing)
        assert await memory.admin.reembed() == 99
        status = await memory.admin.status()
        assert (status["vectors"], status["parked"]["embed"]) == (99, 2)
        assert status["errors"] == {"embedding": 2} and refusing.calls < 30
        assert (await services.store.stats()).space == refusing.space
        assert len(await memory.retrieve("tea CANARY", user="v")) == 1  # by its words
        refusing.words = ()
        assert await memory.admin.reembed() == 2


async def test_an_embedder_that_refuses_all_texts_leaves_the_old_vectors(place):
    embedder = Moody()
    async with AsyncMemoryScope(place, settings={}, embedder=embedder) as memory:
        await memory.add_turns([TEA, {**TEA, "content": "I like tea, CANARY."}], user="u")
        assert await memory.flush()
        services = memory.admin.runtime.services
        object.__setattr__(services, "embedder", Refusing("CANARY"))
        assert await memory.admin.reembed() == 0
        status = await memory.admin.status()
        assert (status["vectors"], status["parked"]["embed"]) == (2, 2)
        assert (await services.store.stats()).space == embedder.space


async def test_an_outage_parks_no_vectors_and_the_background_fills_them(tmp_path):
    embedder = Moody(raises(ModelUnavailable("down", retry_after=0.001)))
    async with AsyncMemoryScope(tmp_path / "m.db", settings={"poll_s": 0.02}, embedder=embedder) as memory:
        await memory.add_turns([TEA], user="u")
        for _ in range(10):
            with pytest.raises(ModelUnavailable):
                await memory.flush()
            await asyncio.sleep(0.002)
        assert (await memory.admin.status())["parked"]["embed"] == 0
        filled = asyncio.Event()

        def mends(shape):
            filled.set()
            return np.ones(shape)

        embedder.does = mends
        await memory.admin.start()
        await asyncio.wait_for(filled.wait(), 60)
        assert await memory.flush()
        assert (await memory.admin.status())["vectors"] == 1


async def test_a_server_that_asks_for_years_is_left_alone_all_the_same(place):
    """A time further ahead than any retry is void in a store."""
    asked = []

    def does(shape):
        asked.append(shape)
        raise ModelUnavailable("down", retry_after=1e9)

    async with AsyncMemoryScope(place, settings={}, embedder=Moody(does)) as memory:
        await memory.add_turns([TEA], user="u")
        for _ in range(2):
            with pytest.raises(ModelUnavailable):
                await memory.flush()
    assert len(asked) == 1


async def test_an_embedder_that_cannot_even_be_measured(place, caplog):
    embedder = Moody()
    embedder.measure = partial(raises(RuntimeError("CANARY")), None)
    async with AsyncMemoryScope(place, settings={}, embedder=embedder) as memory:
        await memory.add_turns([TEA], user="u")
        with pytest.raises(EmbeddingError):
            await memory.flush()
    assert "CANARY" not in caplog.text


async def test_turns_said_one_after_the_other_are_embedded_together(place, monkeypatch):
    monkeypatch.setattr(embedding, "COALESCE_S", 600)
    asked = []
    embedder = Moody(lambda shape: asked.append(shape[0]) or np.ones(shape))
    async with asyncio.timeout(120):  # neither flush nor the end waits for more turns
        async with AsyncMemoryScope(place, settings={}, embedder=embedder) as memory:
            for number in range(12):
                await memory.add_turns([TEA | {"content": f"I drink tea {number}."}], user="u")
                await asyncio.sleep(0)
            assert await memory.flush()
            assert asked == [12]
            await memory.add_turns([TEA], user="u")
        assert asked == [12, 1]
