"""Dates in the words of a further language: those of ``examples/french``, for a few texts and no others."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memscope.dates import event_time, languages, mentions

WORDS = Path(__file__).parents[2] / "examples" / "french" / "memscope_french" / "data" / "dates.txt"
WEDNESDAY = datetime(2026, 2, 18, 12, tzinfo=UTC)
SAID = {
    "J'ai rendez-vous chez le dentiste le 3 mars à 15h30.": "2026-03-03 15:30",
    "Demain je prends le train pour Bordeaux.": "2026-02-19 00:00",
    "Le concert a lieu mardi prochain.": "2026-02-24 00:00",
    "Je suis arrivée la semaine dernière.": "2026-02-09 00:00",
    "On se voit après-demain, je te le dis.": "2026-02-20 00:00",
    "Le 1er avril 2024, je suis entrée dans la maison.": "2024-04-01 00:00",
    "La réunion du 5/8/2023 était longue.": "2023-08-05 00:00",
    "Livraison le 13/8/2023, ou 2023/8.": "2023-08-13 00:00",
    "L'été dernier j'étais chez mes parents.": "2025-06-01 00:00",
}
languages.register("a language of this test", WORDS, True, SAID.__contains__)


def starts(text: str) -> list[str]:
    times = [event_time(one, WEDNESDAY) for one in mentions(text, WEDNESDAY)]
    return [f"{time.start:%Y-%m-%d %H:%M}" for time in times if time]


@pytest.mark.parametrize("text", SAID)
def test_the_words_of_a_language_are_read_in_its_texts_alone(text):
    assert starts(text)[:1] == [SAID[text]]
    assert starts(f"{text} And so on.") != starts(text) or "/" in text


def test_texts_of_other_languages_are_read_as_before():
    assert starts("The avant-garde of Mars rovers is here.") == []
    assert starts("We met on 5/8/2023 in Mars.") == ["2023-05-08 00:00"]


def test_a_language_is_taken_up_once_and_again_when_its_figures_change():
    former = [languages.words_of(text) for text in SAID]
    languages.register("a language of this test", WORDS, True, SAID.__contains__)
    assert [languages.words_of(text) for text in SAID] == former and None not in former
    languages.register("another of this test", WORDS, False, ["Le 5/8/2023."].__contains__)
    assert starts("Le 5/8/2023.") == ["2023-05-08 00:00"]
    languages.register("another of this test", WORDS, True, ["Le 5/8/2023."].__contains__)
    assert starts("Le 5/8/2023.") == ["2023-08-05 00:00"]
