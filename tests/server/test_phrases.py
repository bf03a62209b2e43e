"""The inspector's words: all that pages can say is there in both languages, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

import memscope_server
from memscope.blocks.visible import DESCRIPTIONS
from memscope.entities.operations import ENTITY_KINDS
from memscope.records import AUTHORS, FoundBy, LeftOut
from memscope.retrieval.features import FEATURES
from memscope_server.translations import PAGE_LANGUAGES, phrases

TEMPLATES = Path(memscope_server.__file__).parent / "templates"
FAMILIES = {
    "feature_": [column.name for column in FEATURES], "leg_": get_args(FoundBy), "author_": AUTHORS, "": ENTITY_KINDS,
    "stage_": ("embed", "consolidate", "reflect"), "step_": ("day", "week", "month"), "rank_": ("new", "up", "down"),
    "role_": ("user", "assistant", "system", "tool"), "out_": get_args(get_type_hints(LeftOut)["why"]),
    "about_": DESCRIPTIONS, "usage_": ("calls", "characters", "tokens"),
}  # fmt: skip


def test_every_phrase_has_both_languages():
    assert [name for name, said in phrases().items() if not all(said.get(code) for code in PAGE_LANGUAGES)] == []


def test_what_pages_compute_can_be_said():
    assert [
        prefix + name for prefix, names in FAMILIES.items() for name in names if prefix + name not in phrases()
    ] == []


def test_descriptions_of_blocks_are_the_cores_in_english():
    assert {name: phrases()[f"about_{name}"]["en"] for name in DESCRIPTIONS} == DESCRIPTIONS


def test_no_phrase_is_left_over():
    text = "\n".join(path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.html"))
    said = set(re.findall(r"[\"']([a-z_]+)[\"']", text)) | {f"{kind}s" for kind in ("turn", "observation", "insight")}
    said |= {prefix + name for prefix, names in FAMILIES.items() for name in names}
    computed = {"turn", "observation", "insight", "day", "week", "month", "wiped", "none"}
    assert computed <= phrases().keys() and phrases().keys() - said - computed == set()
