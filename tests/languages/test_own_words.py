"""Words of a turn that are its speaker's own, beside those that they only show."""

from __future__ import annotations

import pytest

from memscope.languages.own_words import Citation, is_shown, own_text, parted
from memscope_testing.records import turn

SHOWN = [
    # a turn, and what of it is the speaker's own
    ("I moved. ```I live in Rome.``` Nice?", "I moved. Nice?"),
    ("I moved. <mail>I live in Rome.</mail> Nice?", "I moved. Nice?"),
    ("Look:\n> I live in Rome.\nNice?", "Look: Nice?"),
    ("Look:\nname,town\nBo,Rome\nAnn,Oslo\n", "Look:"),
    ("Look:\n| Bo | Rome |\nNice?", "Look: Nice?"),
    ("Look:\n\n    I live in Rome.\nNice?", "Look: Nice?"),
    ("12:03:11 I live in Rome.\nNice?", "Nice?"),
    ('It says {"town": "Rome", "of": {"name": "Bo"}} here.', "It says here."),
    ("I moved. [page 1] I live in Rome. [/page] Nice?", "I moved. Nice?"),
    ("I moved. [page 1] I live in Rome. Nice?", "I moved. [page 1] I live in Rome. Nice?"),  # nothing ends it
    ("[a] One. [/a] I moved. [a] Two. [/a] Nice?", "I moved. Nice?"),
    ("[a] One [b] two [/b] three [/a] Nice?", "Nice?"),
    ('She wrote "I live in Rome now" and left.', "She wrote and left."),
    ('I read "The Road" in May.', 'I read "The Road" in May.'),  # a title
    ('I said "I live in Rome now" to her.', 'I said "I live in Rome now" to her.'),
    ("她写道“我现在住在罗马”就走了。", "她写道 就走了。"),
    ("我读了“活着”。", "我读了“活着”。"),
    ("Bo: I live in Rome.\nMe: I moved.\nBo: Really?", "Me: I moved."),
    ("Bo: I live in Rome.\nMe: I moved.", "Bo: I live in Rome. Me: I moved."),  # no talk: nobody asks or comes again
    ("Summarise this letter: I live in Rome. I have a cat.", "Summarise this letter:"),
    ("Look at [the letter: I live in Rome]", "Look at [the letter: I live in Rome]"),  # the colon of a caption
    ("To do: milk.\nNote: I moved.", "To do: milk. Note: I moved."),
    ('"I live in Rome now" <b>and "I moved to Oslo" too</b> Nice?', "Nice?"),  # one within the other
]


@pytest.mark.parametrize(("text", "own"), SHOWN)
def test_what_is_shown_is_not_ones_own(text, own):
    assert " ".join(own_text(text).split()) == own


def test_each_sentence_is_parted():
    text = "I moved. I live in <b>Rome. I moved. No. </b>Yes. I moved."
    assert [(own.strip(), shown) for _, own, shown in parted(text)] == [
        ("I moved.", ""), ("I live in", "<b>Rome."), ("", "I moved."), ("", "No."), ("Yes.", "</b>"), ("I moved.", ""),
    ]  # fmt: skip


FACT = "The user lives in Rome by the river."
SEES, SEES_ZH = "The user sees the dentist on Tuesday.", "用户周二下午看牙医。"


@pytest.mark.parametrize(
    ("text", "words", "fact", "shown"),
    [
        ("> I live in Rome by the river.", "I live in Rome by the river.", FACT, True),
        ("I live in Rome by the river.", "I live in Rome by the river.", FACT, False),
        ("> I live in Rome by the river.\nI live in Rome by the river.", "I live in Rome by the river.", FACT, False),
        ("My sign says ```Rome by the river```.", "My sign says ```Rome by the river```.", FACT, True),
        ("My sign says ```Rome```.", "My sign says ```Rome```.", "The user has a sign that says Rome.", False),
        ("> I live in Rome.", "I have a cat.", FACT, False),  # the words are not in the turn
    ],
)
def test_a_fact_of_what_is_shown_alone_is_nobodys(text, words, fact, shown):
    assert is_shown(fact, [Citation(turn(text=text), words, False, 0)]) is shown
    context = Citation(turn(text="I live in Rome by the river."), "I live in Rome by the river.", True, 1)
    assert is_shown(fact, [Citation(turn(text=text), words, False, 0), context]) is shown


@pytest.mark.parametrize(
    ("text", "fact", "shown"),
    [
        ("> Your dentist appointment has moved to Tuesday.\nThe dentist on Tuesday, then.", SEES, False),
        ("> Your dentist appointment has moved to Tuesday.\nTuesday, then.", SEES, True),
        ("妈妈写道“你周二下午看牙医”。对，周二下午看牙医。", SEES_ZH, False),
        ("妈妈写道“你周二下午看牙医”。周二啊。", SEES_ZH, True),
    ],
)
def test_who_repeats_most_of_what_is_shown_states_it(text, fact, shown):
    assert is_shown(fact, [Citation(turn(text=text), text, False, 0)]) is shown
