"""doctor's advice on indices: each is carried out here as it is said, and the finding is gone."""

from __future__ import annotations

import re

import pytest

from memscope_elasticsearch import Options
from stores.elasticsearch.node import needs_node, opened


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "wrong", "finding"),
    [
        ("index.refresh_interval", "30s", "other processes find new turns late"),
        ("index.translog.durability", "async", "a crash loses acknowledged writes"),
        ("index.blocks.write", True, "is blocked: write"),
    ],
)
async def test_advice_on_an_index_mends_it(place: Options, setting: str, wrong: object, finding: str) -> None:
    async with opened(place) as store:
        alias, settings = store._session.names.memory, f"/{store._session.names.memory}/_settings"
        await store.cluster.request("PUT", settings, body={setting: wrong})
        state, said, advice = next(one for one in await store.examine() if one[2])
        assert state in ("warn", "fail") and alias in said and finding in said
        named = re.fullmatch(r"set (\S+) of (\S+) to (\S+)", advice)
        name, index, value = named.groups() if named else ("index.blocks.write", alias, None)
        assert named or advice == "lift the block"
        await store.cluster.request("PUT", f"/{index}/_settings", body={name: value})
        assert {one[2] for one in await store.examine()} == {""}
