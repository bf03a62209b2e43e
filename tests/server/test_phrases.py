"""The inspector's phrases: every text that pages use exists in both languages, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

import memscope.retrieval
import memscope_server
from memscope.blocks.visible import DESCRIPTIONS
from memscope.entities.operations import ENTITY_KINDS
from memscope.records import AUTHORS, FeatureValue, FoundBy, LeftOut
from memscope.retrieval.features import FEATURES
from memscope_server.pages.charts import FEATURE_GROUPS, GROUP_OF_FEATURE, reasons
from memscope_server.translations import PAGE_LANGUAGES, Translation, phrases

TEMPLATES = Path(memscope_server.__file__).parent / "templates"
FAMILIES = {
    "feature_": [column.name for column in FEATURES], "channel_": get_args(FoundBy), "author_": AUTHORS,
    "": ENTITY_KINDS, "no_": ENTITY_KINDS,
    "stage_": ("embed", "consolidate", "reflect"), "step_": ("day", "week", "month"), "rank_": ("new", "up", "down"),
    "role_": ("user", "assistant", "system", "tool"), "out_": get_args(get_type_hints(LeftOut)["why"]),
    "about_": DESCRIPTIONS, "group_": FEATURE_GROUPS, "usage_": ("calls", "characters", "tokens"),
}  # fmt: skip


def test_every_phrase_has_both_languages():
    assert [name for name, said in phrases().items() if not all(said.get(code) for code in PAGE_LANGUAGES)] == []


def test_computed_phrase_names_exist():
    assert [
        prefix + name for prefix, names in FAMILIES.items() for name in names if prefix + name not in phrases()
    ] == []


def test_english_block_descriptions_equal_the_cores():
    assert {name: phrases()[f"about_{name}"]["en"] for name in DESCRIPTIONS} == DESCRIPTIONS


def test_no_phrase_is_unused():
    text = "\n".join(path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.html"))
    said = set(re.findall(r"[\"']([a-z_]+)[\"']", text)) | {f"{kind}s" for kind in ("turn", "observation", "insight")}
    said |= {prefix + name for prefix, names in FAMILIES.items() for name in names}
    said |= {name for name in phrases() if name.startswith("core_")}
    computed = {"turn", "observation", "insight", "day", "week", "month", "wiped", "none"}
    assert computed <= phrases().keys() and phrases().keys() - said - computed == set()


def test_english_reasons_equal_the_cores():
    """Compare with the sentences of ``Retrieval.reason``, with or without the hint at their end."""
    folder = Path(memscope.retrieval.__file__).parent
    core = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    sentences = [said["en"] for name, said in phrases().items() if name.startswith("core_")]
    assert len(sentences) > 10
    assert not [one for one in sentences for clause in re.split("[;,] |{}", one) if clause not in core]


def test_a_sentence_is_translated_with_its_names():
    chinese = Translation("zh")
    assert "session" in chinese.translate("nothing is stored within session; leave one out to search more")
    assert chinese.translate("a sentence that nobody knows") == "a sentence that nobody knows"


def test_related_features_are_one_reason():
    assert set(GROUP_OF_FEATURE) <= {column.name for column in FEATURES}
    values = [FeatureValue("short", 0.87, -4.0), FeatureValue("length", 0.3, -5.0), FeatureValue("mine", 1.0, 2.0)]
    (first, second) = reasons([*values, FeatureValue("rare", 0.0, 1.0)])
    assert (first.name, second.name, len(second.parts)) == ("mine", "size", 2)
    assert round(second.contribution, 2) == round(0.87 * -4.0 + 0.3 * -5.0, 2)
