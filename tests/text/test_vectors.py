"""The built-in word vectors: what is near to what, texts without a word it knows, and how the table is shipped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memscope.text import vectors
from memscope.text.vectors import DIMENSIONS, sentence_vector, synonyms, word_pieces

ROOT = Path(__file__).parents[2]
# A text, one that is about the same in other words, one that is not.
NEARER = """
vegetarian | meat | engine                       nurse | doctor | carpet
puppy | dog | invoice                            violin | music | gasoline
landlord | rent | swimming                       mother | father | keyboard
flight | airport | cheese                        marathon | running | mortgage
dentist | teeth | airplane                       snow | winter | salary
wine | alcohol | bicycle                         novel | book | allergy
daughter | child | engine oil                    insomnia | sleep | football
Berlin | Germany | guitar                        wedding | marriage | printer
I'm vegetarian. | What should I cook for dinner? | When does my train leave?
I play the cello. | Which instrument do I practise? | Who is my dentist?
Peanuts make my throat swell. | Am I allergic to a food? | Which car do I drive?
We adopted a golden retriever. | Do I have a pet? | What is my salary?
I quit my position at the bank. | Am I still employed? | What is the weather like?
I'm terrified of flying. | Should I book a plane ticket? | Which novel am I reading?
My flat is on the fourth floor. | Where is my home? | What is my favourite film?
I speak Portuguese with my grandmother. | Which languages do I know? | When is the meeting?
I was promoted to team lead. | What is my role at the company? | Which vegetables do I grow?
I take insulin before meals. | Do I have a chronic disease? | Which sport do I do?
I love horror films. | Which movie should we watch? | Where do my parents live?
Our wedding is in June. | When am I getting married? | What colour is my car?
surgeon | hospital | paint                       kayak | river | invoice
lease | apartment | trumpet                      pharmacy | medicine | tennis
bakery | bread | lawyer                          thunderstorm | rain | violin
My boss is Mrs Tanaka. | Who is my manager? | Which herbs do I grow?
I drive an old Volvo. | What car have I got? | Who teaches me the piano?
I broke my wrist. | Do I have an injury? | Which books have I read?
We're expecting our first baby. | When do we become parents? | Where did I park?
I'm saving for a trip to Iceland. | Where would I like to travel? | Which tooth hurts?
I have two sons. | How many children are there? | What do I drink in the morning?
I gave up alcohol. | Would a glass of wine suit me? | Which bus goes to the office?
My passport runs out. | What do I need before I travel abroad? | How did the choir sing?
"""
TRIPLES = [row.split(" | ") for line in NEARER.strip().splitlines() for row in line.split("   ") if row.strip()]


def nearness(one: str, other: str) -> float:
    a, b = sentence_vector(one.strip()), sentence_vector(other.strip())
    return 0.0 if a is None or b is None else float(a @ b)


def test_what_is_about_the_same_is_nearer_than_what_is_not():
    near = [nearness(said, related) > nearness(said, unrelated) for said, related, unrelated in TRIPLES]
    assert len(near) >= 40
    assert sum(near) >= 0.9 * len(near)


def test_a_vector_has_length_one_and_no_words_have_none():
    vector = sentence_vector("I moved to Berlin.")
    assert vector.shape == (DIMENSIONS,) and vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    assert sentence_vector("") is None


@pytest.mark.parametrize(
    "text",
    ["", "  ", "and then what?", "I don't", "42", "Москва", "さくら", "🙂", "\ud800", "嗯", "我用 Python 写代码"],
)
def test_a_text_without_a_known_word_has_no_vector(text):
    assert sentence_vector(text) is None


def test_case_accents_and_punctuation_make_no_difference():
    assert np.array_equal(sentence_vector("CAFÉ, Zürich!"), sentence_vector("cafe zurich"))


def test_the_longest_piece_wins_and_a_word_with_an_unknown_piece_is_left_out():
    known = {"un": 0, "##aff": 1, "##able": 2, "##a": 3}
    assert word_pieces("unaffable", known) == [0, 1, 2]
    assert not word_pieces("unaffected", known) and not word_pieces("affable", known)


def test_synonyms_are_other_words_of_a_close_meaning():
    assert "bicycle" in synonyms("bike") and "bikes" not in synonyms("bike")
    assert not synonyms("the") and not synonyms("blorfen")


def test_a_word_outside_the_table_changes_nothing():
    assert np.array_equal(sentence_vector("green tea"), sentence_vector(f"green чай tea {'x' * 10_000} 2026"))


def test_words_of_every_day_are_known_whole():
    table = set(np.load(vectors.VECTOR_FOLDER / "word_vectors.npz")["tokens"].tobytes().decode().split("\n"))
    assert {"vegetarian", "cilantro", "kayak", "insomnia", "landlord", "cello"} <= table


def test_the_table_fits_into_the_wheel_and_has_its_licence():
    assert sum(table.stat().st_size for table in vectors.VECTOR_FOLDER.glob("*.npz")) <= 4_000_000
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert "all-MiniLM-L6-v2" in notice and "Apache License, Version 2.0" in notice
    assert (ROOT / "core" / "NOTICE").read_text(encoding="utf-8") == notice
    assert '"NOTICE"' in (ROOT / "core" / "pyproject.toml").read_text(encoding="utf-8")


def test_two_processes_load_the_same_and_importing_loads_nothing():
    code = (
        "import sys, memscope.text.vectors as v, memscope.text.topics as t; assert 'numpy' not in sys.modules;"
        "import memscope.languages as l, memscope.builtin as b; b.memscope_register_languages(l.register);"
        "print(v.sentence_vector('I moved to Berlin and adopted a kitten').tobytes().hex())"
    )
    seen = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    assert seen[0].stdout == seen[1].stdout != ""
