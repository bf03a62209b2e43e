"""Words, terms, tokens, flags, units."""

from __future__ import annotations

import re
import struct
import sys
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memscope.languages.en.stemmer import stem
from memscope.languages.flags import Flag
from memscope.records import Insight, Interval, Observation, Quote, Role, Scope, Turn
from memscope.search import units
from memscope.text import analysis, language, terms, tokens

START = [name for name, _ in units.UNIT_COLUMNS].index("start")
NOW = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
TURN = Turn("k", Scope("alice", "helper", "s1"), "user", "Alice Smith", "I moved to Berlin.", NOW, NOW)

# The examples of the paper, in the order of its steps.
PAPER = """
caresses caress  ponies poni  ties ti  caress caress  cats cat  feed feed  agreed agre  plastered plaster  bled bled
motoring motor  sing sing  conflated conflat  troubled troubl  sized size  hopping hop  tanned tan  falling fall
hissing hiss  fizzed fizz  failing fail  filing file  happy happi  sky sky  relational relat  conditional condit
rational ration  valenci valenc  hesitanci hesit  digitizer digit  radicalli radic  differentli differ  vileli vile
analogousli analog  vietnamization vietnam  predication predic  operator oper  feudalism feudal  decisiveness decis
hopefulness hope  callousness callous  formaliti formal  sensitiviti sensit  sensibiliti sensibl  triplicate triplic
formative form  formalize formal  electriciti electr  electrical electr  hopeful hope  goodness good  revival reviv
allowance allow  inference infer  airliner airlin  gyroscopic gyroscop  adjustable adjust  defensible defens
irritant irrit  replacement replac  adjustment adjust  dependent depend  adoption adopt  homologou homolog
communism commun  activate activ  angulariti angular  homologous homolog  effective effect  bowdlerize bowdler
probate probat  rate rate  cease ceas  controll control  roll roll  generalizations gener  oscillators oscil
""".split()


@pytest.mark.parametrize(("word", "expected"), list(zip(PAPER[::2], PAPER[1::2], strict=True)))
def test_stems_are_those_of_the_paper(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I was moving to Berlin", ["move", "berlin"]),
        ("Caroline's dogs don't bark", ["carolin", "dog", "bark"]),
        ("l'école O’Neill", ["ecol", "neill"]),
        ("Café naïve STRASSE Straße", ["cafe", "naiv", "strass", "strass"]),
        ("我在北京", ["我", "我在", "在", "在北", "北", "北京", "京"]),
        ("iPhone手机", ["iphon", "手", "手机", "机"]),
        ("ガール", ["ガ", "ガー", "ー", "ール", "ル"]),
        ("한국어", ["한", "한국", "국", "국어", "어"]),
        ("Ёлка и ПРИВЕТ", ["елка", "и", "привет"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("to be or not to be", ["to", "be", "or", "not", "to", "be"]),
        ("ｆｕｌｌ ｗｉｄｔｈ １２", ["full", "width", "12"]),
        ("?! 🙂 —", []),
    ],
)
def test_words(said: str, expected: list[str]) -> None:
    assert tokens.words(said) == expected


@given(st.text(alphabet="ab1'_ -\x1c", max_size=12) | st.text(alphabet=st.characters(max_codepoint=127)))
def test_a_word_of_ascii_has_at_most_one_apostrophe_with_letters_behind_it(said: str) -> None:
    assert tokens.pieces(said.lower()) == re.findall(r"[a-z0-9]+(?:'[a-z]+)?", said.lower())


@given(st.text())
def test_any_text_has_the_terms_of_its_words(said: str) -> None:
    assert terms.terms(said) == [terms.term(word) for word in tokens.words(said)]


@pytest.mark.parametrize(("traditional", "simplified"), [
    ("我養了一隻貓，叫豆漿", "我养了一只猫，叫豆浆"),
    ("電動車電池壞了", "电动车电池坏了"),
    ("妳媽媽是護士嗎？", "你妈妈是护士吗？"),
])  # fmt: skip
def test_traditional_chinese_is_read_as_simplified(traditional: str, simplified: str) -> None:
    assert analysis.analyse(traditional) == analysis.analyse(simplified)
    assert tokens.fold_variants(traditional) == simplified


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)))
def test_folded_variants_keep_the_places_of_characters(said: str) -> None:
    assert len(tokens.fold_variants(said)) == len(said)
    assert tokens.fold_variants(tokens.fold_variants(said)) == tokens.fold_variants(said)


@given(st.text(), st.text())
def test_words_stand_where_they_stood(before: str, after: str) -> None:
    """A paragraph keeps its terms when another in its language joins it, unless it is made of stop words only."""
    first, second = f"berlin {before}", f"{after} berlin"
    assume(len({language.spaced_language(text) for text in (first, second, f"{first}\n{second}")}) == 1)
    joined = set(terms.terms(f"{first}\n{second}"))
    assert set(terms.terms(first)) <= joined
    assert set(terms.terms(second)) <= joined


@given(st.text(min_size=1).map(partial(unicodedata.normalize, "NFKC")))
def test_folding_twice_changes_nothing(said: str) -> None:
    """Of text in plain letters: words in mathematical ones are found, but are of no language."""
    assert tokens.words(tokens.fold(said)) == tokens.words(said)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Hello", "en"),
        ("我喜欢北京的秋天", "zh"),
        ("東京に行きました", "ja"),
        ("서울에 갔어요", "ko"),
        ("Привет", ""),
        ("", "en"),
        ("用Python写代码", "zh"),
        ("I like 北京 very much", "en"),
    ],
)
def test_language(said: str, expected: str) -> None:
    assert language.language(said) == expected


def test_tokens_are_quarter_characters_and_whole_cjk_ones() -> None:
    assert tokens.estimate_tokens("") == 0
    assert tokens.estimate_tokens("12345678") == 2
    assert tokens.estimate_tokens("北京12345") == 4


@given(st.text(alphabet=st.sampled_from("ab. \n。！字"), max_size=4000))
def test_chunks_are_the_text(said: str) -> None:
    parts = units.chunks(said)
    assert "".join(parts) == said
    if len(said) > units.MAX_WHOLE_CHARS:
        assert all(len(part) <= units.PIECE_CHARS for part in parts[:-1])
        assert len(parts[-1]) < units.PIECE_CHARS + units.MIN_REST_CHARS
    else:
        assert parts == [said]


def test_chunks_end_where_paragraphs_end() -> None:
    paragraph = "One sentence here. Another one there. " * 15
    assert units.chunks(f"{paragraph}\n\n{paragraph}\n\n{paragraph}")[0] == f"{paragraph}\n\n"


@pytest.mark.parametrize(
    ("said", "flag"),
    [
        ("Where is it?", Flag.QUESTION),
        ("在哪里？", Flag.QUESTION),
        ("That's my dog", Flag.FIRST_PERSON),
        ("我喜欢", Flag.FIRST_PERSON),
        ("in 5 days", Flag.DIGIT),
        ("Always answer in metric units", Flag.INSTRUCTION),
        ("Well, I'd prefer short answers", Flag.INSTRUCTION),
        ("以后请用中文回答", Flag.INSTRUCTION),
        ("Hey there", Flag.GREETING),
        ("你好，我叫小明", Flag.GREETING),
        ("北京", Flag.CJK),
        ("Ok, where do I live?", Flag.ASKING),
        ("I have been vegetarian since school.", Flag.PERSONAL),
        ("我对花生过敏", Flag.PERSONAL),
    ],
)
def test_flags(said: str, flag: Flag) -> None:
    assert flags_of(said) & flag
    assert not flags_of("The ship sank") & flag


def test_only_an_assistant_does_not_know_and_it_states_nothing_about_itself() -> None:
    said = "I don't know that yet."
    assert flags_of(said, "assistant") & Flag.UNKNOWING and not flags_of(said) & Flag.UNKNOWING
    assert not flags_of("I am vegetarian.", "assistant") & Flag.PERSONAL


def flags_of(said: str, role: Role = "user") -> int:
    (unit,) = units.make_units(replace(TURN, text=said, role=role), number=1, seq=1)
    return columns(unit)["flags"]


def test_names_of_speakers_are_found_in_questions() -> None:
    assert terms.name_key("Caroline Miller") in terms.names("What did caroline's sister say?")
    assert terms.name_key("王丽娟") in terms.names("王丽娟去了哪里？")
    assert terms.name_key("王丽娟") not in terms.names("王丽去了哪里？")
    assert terms.name_key("🙂") == 0


# ---- units


def columns(unit: units.Unit) -> dict[str, int]:
    return dict(zip((name for name, _ in units.UNIT_COLUMNS), units.UNIT_STRUCT.unpack(unit.columns), strict=True))


def body(unit: units.Unit) -> list[int]:
    told = columns(unit)
    hashes = struct.unpack(f"<{len(unit.terms) // 4}I", unit.terms)
    assert len(hashes) == told["n_header"] + told["n_terms"]
    return list(hashes[told["n_header"] :])


def test_a_turn_is_one_unit() -> None:
    (unit,) = units.make_units(TURN, number=7, seq=3)
    told = columns(unit)
    assert (unit.seq, told["seq"], told["number"], told["target"], told["kind"]) == (3, 3, 7, 7, units.TURN)
    assert told["time"] == 1683554160 * 1_000_000
    assert told["closed"] == told["expires"] == units.NEVER_US
    assert told["session"] == units.scope_key("s1") != units.scope_key("helper") == told["agent"]
    assert told["speaker"] == terms.term("alic")
    assert body(unit) == terms.terms("I moved to Berlin.")
    assert unit.text == "(8 May 2023) Alice Smith: I moved to Berlin."


def test_a_long_turn_is_several_units() -> None:
    turn = replace(TURN, text="Berlin is large. " * 180)
    made = units.make_units(turn, number=7, seq=3)
    assert [unit.seq for unit in made] == [3, 4, 5, 6]
    assert [columns(unit)["part"] for unit in made] == [0, 1, 2, 3]
    assert [term for unit in made for term in body(unit)] == terms.terms(turn.text)


def memory(**given: object) -> Observation:
    plain = Observation(
        id="o", scope=Scope("alice", "helper"), text="Alice lives in Berlin", sources=("k",), said=NOW, recorded=NOW
    )
    return replace(plain, **given)  # type: ignore[arg-type]


def test_an_observation_is_a_unit_for_each_of_its_turns() -> None:
    other = replace(TURN, key="k2", scope=Scope("alice", "helper", "s2"))
    happened = Interval(NOW - timedelta(days=1), NOW)
    made = units.make_units(memory(happened=happened), number=9, seq=20, turns=[(7, TURN), (8, other)])
    assert [columns(unit)["target"] for unit in made] == [7, 8]
    assert [columns(unit)["session"] for unit in made] == [units.scope_key("s1"), units.scope_key("s2")]
    assert {columns(unit)["number"] for unit in made} == {9}
    assert columns(made[0])["start"] == units.microseconds(happened.start)


def test_an_observation_points_to_the_part_that_it_quotes() -> None:
    long = replace(TURN, text="Something else. " * 100 + "I moved to Berlin.")
    (unit,) = units.make_units(memory(quotes=(Quote("k", "moved to Berlin"),)), number=9, seq=1, turns=[(7, long)])
    assert columns(unit)["part"] == len(units.chunks(long.text)) - 1


def test_a_superseded_memory_says_when() -> None:
    closed = memory(closed=NOW, closed_said=NOW + timedelta(days=2))
    (unit,) = units.make_units(closed, number=9, seq=1, turns=[(7, TURN)])
    assert columns(unit)["closed"] == units.microseconds(NOW + timedelta(days=2))
    assert columns(unit)["flags"] & Flag.CLOSED


def test_an_insight_is_a_unit_for_each_session() -> None:
    insight = Insight(
        id="i", scope=Scope("alice"), text="Alice moved", sources=("o",), said=NOW, recorded=NOW, subject="home"
    )
    later = replace(TURN, key="k3", scope=Scope("alice", "helper", "s2"))
    made = units.make_units(insight, number=9, seq=1, turns=[(6, TURN), (7, TURN), (8, later)])
    assert [columns(unit)["session"] for unit in made] == [units.scope_key("s1"), units.scope_key("s2")]
    assert [bool(columns(unit)["flags"] & Flag.PRIMARY) for unit in made] == [True, False]
    assert {columns(unit)["target"] for unit in made} == {9}
    assert len(units.make_units(insight, number=9, seq=1)) == 1


def folded(text: str) -> str:
    """Each character looked up."""
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'").casefold())
    bare = "".join(char for char in decomposed if unicodedata.combining(char) < 10)
    return tokens.fold_variants(unicodedata.normalize("NFKC", bare).casefold())


@given(st.text())
def test_a_text_is_folded_character_by_character(text: str) -> None:
    assert tokens.fold(text) == folded(text)


def test_every_mark_is_folded_away() -> None:
    marks = (chr(code) for code in range(sys.maxunicode + 1) if unicodedata.combining(chr(code)) >= 10)
    assert [mark for mark in marks if tokens.fold(f"北{mark}") != folded(f"北{mark}")] == []


def test_an_assistants_long_answer_carries_no_dates() -> None:
    long = "I see the dentist tomorrow. " + "We talk about the garden and the weather. " * 30
    for role, text, dated in (("assistant", long, False), ("assistant", long[:27], True), ("user", long, True)):
        said = replace(TURN, role=cast(Role, role), text=text)
        first = units.make_units(said, number=1, seq=1)[0]
        assert bool(units.UNIT_STRUCT.unpack(first.columns)[START]) is dated


def test_the_parts_of_a_text_are_usual_if_it_is() -> None:
    assert language.is_usual("We sang a song of a dog.")
    assert language.is_usual("We sang")
    assert not language.is_usual("und die Katze sind nicht")
