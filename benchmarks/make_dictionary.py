"""Make ``dictionary.txt`` of English from SCOWL (wordlist.aspell.net), the word lists by Kevin Atkinson.

    python benchmarks/make_dictionary.py SCOWL [--output FOLDER]

SCOWL is a folder with files such as ``english-words.10`` (``final`` in its archive). Words of all spellings up to size
60 are kept, one of each stem, unless a word with a built-in vector has the same stem; then only the word without an
ending, such as "shorten" for "shortened".
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click
from make_vectors import DATA

from memscope import languages
from memscope.builtin import memscope_register_languages
from memscope.languages.en.words import WORDS
from memscope.text.spelling import is_word, may_be_misspelt

MAX_SIZE = 60  # of SCOWL's sizes: larger ones add words that are rarer than typos of others
memscope_register_languages(languages.register)  # before words are read
_WORD = re.compile(r"[a-z]{4,16}")


@click.command()
@click.argument("scowl", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--output", default=DATA, type=click.Path(path_type=Path))
def main(scowl: Path, output: Path) -> None:
    with_vector = replace(WORDS, dictionary=None)
    every: set[str] = set()
    for file in scowl.glob("*-words.*"):
        if int(file.suffix[1:]) <= MAX_SIZE:
            every.update(filter(_WORD.fullmatch, file.read_text(encoding="latin-1").split()))
    by_stem: dict[str, str] = {}
    for word in sorted(every, key=lambda one: (len(one), one)):
        if may_be_misspelt(word, with_vector):
            by_stem.setdefault(WORDS.stem(word), word)
    bare = {word for word in every if WORDS.stem(word) == word.removesuffix("e") and not is_word(word, with_vector)}
    words = sorted(bare.union(by_stem.values()))
    (output / "dictionary.txt").write_text("\n".join([*words, ""]), encoding="utf-8")
    print(len(words), "words")


if __name__ == "__main__":
    main()
