"""Words, patterns and codes of one language stand in ``languages/`` alone: the core asks, and holds none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import memscope
from memscope import languages

SOURCE = Path(memscope.__file__).parent
EXEMPT = {
    "builtin.py": "registers the built-in languages by their codes",
    "dates/": "the tables of English and Chinese dates share kinds and rows, so that a sentence may mix both",
    "text/language.py": "the code of the language that is usual in a script",
    "records/turn_keys.py": "names of fields that hold a time in the metadata of other systems",
}
CJK_LETTER = re.compile("[\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]")
CODES = {one.code for one in languages.registered()}
OF_ENGLISH = languages.get("en").words
ENGLISH = {word for word in OF_ENGLISH.stop_words | OF_ENGLISH.contraction_parts if len(word) > 1}
ENGLISH |= {"monday", "january", "today"}
WORD = re.compile(r"(?<![\w<])[A-Za-z]{2,}(?!\w)")  # no part of an identifier, no tag
ESCAPE = re.compile(r"\\[A-Za-z]")


def documentation(tree: ast.AST) -> set[int]:
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def is_pattern_or_list(node: ast.Call) -> bool:
    called = ast.unparse(node.func)
    return called == "pattern" or called.startswith("re.") or called.endswith((".split", "frozenset"))


def knowledge(source: str) -> Iterator[str]:
    """Yield what a file knows of a language: letters of CJK, a language's code, English words in a pattern or list.

    Letters that are written as escapes are limits of a script.
    """
    tree = ast.parse(source)
    documented = documentation(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            if node.value in CODES:
                yield f"{node.lineno}: code {node.value!r}"
            if CJK_LETTER.search(node.value) and CJK_LETTER.search(ast.get_source_segment(source, node) or ""):
                yield f"{node.lineno}: {node.value[:40]!r}"
        elif isinstance(node, ast.Call) and is_pattern_or_list(node):
            written = " ".join(one.value for one in ast.walk(node)
                               if isinstance(one, ast.Constant) and isinstance(one.value, str))  # fmt: skip
            if words := ENGLISH.intersection(WORD.findall(ESCAPE.sub(" ", written))):
                yield f"{node.lineno}: English {sorted(words)}"


def knowledge_of_data(text: str) -> Iterator[str]:
    """Yield the lines of a data file with letters of CJK, a language's code before a colon, or mostly English words."""
    for number, line in enumerate(text.splitlines(), start=1):
        name, _, listed = line.rpartition(": ")
        words = listed.split()
        if name in CODES or CJK_LETTER.search(line) or 2 * len(ENGLISH.intersection(words)) > len(words):
            yield f"{number}: {line[:40]!r}"


@pytest.mark.parametrize(
    "path", [path for path in sorted(SOURCE.rglob("*.txt")) if "languages" not in path.parts], ids=str
)
def test_no_list_outside_is_of_a_registered_language(path):
    if not path.relative_to(SOURCE).as_posix().startswith(tuple(EXEMPT)):
        assert not list(knowledge_of_data(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("text", ["en: the and is\n", "nl: het een\nzh: de le\n", "of\nthe\n", "food: 菜 茶\n"])
def test_knowledge_in_data_is_seen(text):
    assert list(knowledge_of_data(text))


@pytest.mark.parametrize(
    "path", [path for path in sorted(SOURCE.rglob("*.py")) if "languages" not in path.parts], ids=str
)
def test_no_file_outside_knows_a_language(path):
    place = path.relative_to(SOURCE).as_posix()
    if not place.startswith(tuple(EXEMPT)):
        assert not list(knowledge(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("place", EXEMPT)
def test_what_is_exempt_needs_it(place):
    files = [SOURCE / place] if place.endswith(".py") else sorted((SOURCE / place).rglob("*.py"))
    assert [line for path in files for line in knowledge(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    "source",
    ['x = "zh"', 'x = {"年": 1}', 'x = pattern(r"\\b(?:the|a) user")', 'X = frozenset("and or not".split())',
     'X = frozenset("ain ll shouldn".split())', 'if language(text) == "en": pass'],
)  # fmt: skip
def test_knowledge_is_seen(source):
    assert list(knowledge(source))


def test_the_built_in_languages_are_alike_file_by_file():
    """So that one can be read beside the other. English alone has a stemmer."""
    only_english = {"stemmer.py"}
    folders = [{path.name for path in (SOURCE / "languages" / code).glob("*.py")} for code in ("en", "zh")]
    assert folders[0] - only_english == folders[1]
