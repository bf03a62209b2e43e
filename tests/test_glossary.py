"""One thing has one name in Chinese: the program, the inspector and the pages keep to docs/zh/glossary.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import catalogue

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "zh" / "glossary.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in GLOSSARY.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| [a-z]", line)
]
NAMES = {
    english: chinese
    for row in ROWS
    for english, chinese in zip(re.split(", ", row[0]), row[1].split("、"), strict=False)
}
UNUSED = sorted({word for row in ROWS for word in row[3].split("、") if word})
INSPECTOR = json.loads((ROOT / "server/src/memscope_server/phrases.json").read_text(encoding="utf-8"))


def chinese() -> dict[str, str]:
    """Everything said in Chinese, by its place."""
    pages = [page for page in (ROOT / "docs" / "zh").glob("*.md") if page != GLOSSARY]
    found = {page.name: page.read_text(encoding="utf-8") for page in [*pages, ROOT / "README.zh.md"]}
    found |= {f"catalogue: {key[0][:40]}": text for key, text in catalogue.read().items()}
    return found | {f"inspector: {name}": said["zh"] for name, said in INSPECTOR.items()}


@pytest.mark.parametrize("word", UNUSED)
def test_a_word_that_is_not_used_stands_nowhere(word):
    pattern = re.compile({"忘记": "忘记(?!录)"}.get(word, word))  # 被遗忘记录: a record that was forgotten
    assert not [place for place, text in chinese().items() if pattern.search(text)]


def test_a_term_alone_has_its_name():
    said = [(key[0], text) for key, text in catalogue.read().items()]
    said += [(one["en"], one["zh"]) for one in INSPECTOR.values()]
    alone = [
        (NAMES[term], text) for term, text in ((en.lower(), zh) for en, zh in said if not en.isupper()) if term in NAMES
    ]
    assert len(alone) > 15 and not [(name, text) for name, text in alone if name != text]


def test_the_glossary_is_read():
    assert NAMES["turn"] == "消息" and NAMES["place"] == "地点" and "代理" in UNUSED and len(NAMES) > 30
