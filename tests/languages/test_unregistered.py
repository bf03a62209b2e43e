"""Text in a language that nobody registered: read by its script alone, and never as English."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memscope import MemoryScope, languages
from memscope.dates import mentions
from memscope.languages.flags import Flag, flags
from memscope.languages.requests import need
from memscope.languages.statements import asks
from memscope.text.tokens import fold, pieces, words

NOW = datetime(2026, 2, 18, 12, tzinfo=UTC)
TEXTS = {
    "Ich habe das Haus mit meiner Schwester am Montag in der Stadt gesehen.": "de",
    "Завтра я еду в Москву.": "",
    "आज मैं दिल्ली जा रहा हूँ।": "",
}


@pytest.mark.parametrize("text", TEXTS)
def test_it_has_no_language(text):
    assert languages.main(text) is languages.NEUTRAL
    assert not languages.of(text)


@pytest.mark.parametrize("text", TEXTS)
def test_its_words_are_whole_and_name_no_day_and_nobody(text):
    folded = pieces(fold(text))
    assert words(text) == folded  # neither stems nor stop words
    assert not mentions(text, NOW)
    assert not flags(text, folded, "user") & (Flag.FIRST_PERSON | Flag.INSTRUCTION | Flag.GREETING)
    assert not asks(text) and need(text) == "user"


def test_what_was_said_is_found_by_its_words_and_the_reason_says_so():
    with MemoryScope(":memory:") as memory:
        for text in TEXTS:
            memory.add_turns([{"role": "user", "content": text}], user="anna")
        answer = memory.retrieve("еду в Москву", user="anna")
        assert answer[0].text.startswith("Завтра")
        assert "not registered" in answer.reason
        assert "not registered" not in memory.retrieve("Where is the house?", user="anna").reason
