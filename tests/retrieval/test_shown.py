"""Lines shown of what people say again, change, ask and tell of themselves, in English and Chinese."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from memscope import AsyncMemoryScope
from memscope.adapters.session import MemorySession
from memscope.records import ChangeSet, Interval, Quote, Supersession
from memscope.retrieval.hits import without_questions
from talk import ALL_MARKS, START, note, say, talking


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemoryScope]:
    async with talking() as memory:
        yield memory


FACTS = {
    "en": [
        f"My {thing} code is {n}00{n}" for n, thing in enumerate("bike gate safe shed car box desk club".split(), 1)
    ],
    "zh": [
        f"我的{thing}密码是{n}00{n}" for n, thing in enumerate("车锁 大门 柜子 仓库 汽车 箱子 书桌 俱乐部".split(), 1)
    ],
}
OTHERS = (
    "I like the new bakery, it has rye bread.", "My neighbour paints boats.", "We had soup again.", "I lost a glove.",
    "My bike squeaks.", "I'm reading about bees.", "We own two kettles.", "I sing in the shower.",
)  # fmt: skip
ASKED = {"en": "What's my code?", "zh": "我的密码是多少？"}
UNKNOWN = {"en": "I don't know that yet.", "zh": "我还不知道。"}


@pytest.mark.parametrize(
    ("request_", "advice", "question"),
    [
        ("Any idea for dinner tonight?", "Try the lentil soup with lemon.", "What did you recommend for dinner?"),
        ("今晚吃什么好？", "可以试试柠檬扁豆汤。", "你之前推荐我晚饭吃什么？"),
    ],
)
async def test_what_the_assistant_recommended_is_found_as_its_turn(
    memory: AsyncMemoryScope, request_: str, advice: str, question: str
) -> None:
    for day, other in enumerate([*FACTS["en"], *FACTS["zh"]]):
        await say(memory, other, day=day)
    await say(memory, request_, day=20)
    await say(memory, advice, "assistant", day=20)
    assert f"assistant: {advice}" in await memory.context(question, user="u")


@pytest.mark.parametrize(
    ("statement", "question"),
    [("我養了一隻貓，叫豆漿。", "我的猫叫什么名字？"), ("我养了一只猫，叫豆浆。", "我的貓叫什麼名字？")],
)
async def test_traditional_and_simplified_chinese_find_each_other(
    memory: AsyncMemoryScope, statement: str, question: str
) -> None:
    for day, other in enumerate([*FACTS["en"], *FACTS["zh"]]):
        await say(memory, other, day=day)
    await say(memory, statement, day=20)
    assert (await memory.retrieve(question, user="u")).hits[0].text == statement


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_a_question_asked_twelve_times_takes_no_place(memory: AsyncMemoryScope, lang: str) -> None:
    for day, fact in enumerate(FACTS[lang]):
        await say(memory, fact, day=day)
    for day in range(20, 32):
        await say(memory, ASKED[lang], day=day)
        await say(memory, UNKNOWN[lang], "assistant", day=day)
    lines = await memory.context(ASKED[lang], user="u")
    assert all(fact in lines for fact in FACTS[lang])
    assert ASKED[lang] not in lines
    shown = (await MemorySession("u", memory=memory).recall(ASKED[lang])).text  # as every adapter shows it
    assert all(fact in shown for fact in FACTS[lang]) and ASKED[lang] not in shown


async def test_where_one_lives_is_found_among_strays_of_the_same_words(memory: AsyncMemoryScope) -> None:
    await say(memory, "It's 36 degrees in my flat in Graz")
    strays = "socks keys gloves maps pens cups spoons coins hats forks".split()
    for day, thing in enumerate(strays):
        await say(memory, f"right, the {thing} now live on a shelf and everybody is right about that", day=day)
    assert "Graz" in await memory.context("Where do I live right now?", user="u", k=5)


@pytest.mark.parametrize("asked", ["Where is my passport?", "我的护照在哪？"])
async def test_only_askings_are_no_evidence_and_the_reason_says_so(memory: AsyncMemoryScope, asked: str) -> None:
    await say(memory, asked)
    found = await memory.retrieve(asked, user="u", explain=True)
    assert found.why == "repeated_questions"
    assert "(question)" in found.explanation


async def test_explain_says_why_a_memory_was_left_out(memory: AsyncMemoryScope) -> None:
    said = await say(memory, "I moved my bike, my key, my hat")
    other = await say(memory, "my bike is old", day=1)
    await note(memory, "bike", "The user's bike is in the shed", said, valid_to=START + timedelta(days=1))
    await note(memory, "key", "The user's key is in the box", said, expires=START + timedelta(days=1))
    await note(memory, "hat", "The user's hat is on the shelf", said, proposed=True)
    memory.days.now = START + timedelta(days=2)  # type: ignore[attr-defined]
    found = await memory.retrieve("Where is my bike?", user="u", exclude=[other], explain=True)
    assert set(found.left_out) == {("bike", "superseded"), ("key", "expired"), ("hat", "proposed")}
    chosen = "1 turns of the caller's choice (excluded)"
    for why in ("'bike' (superseded)", "'key' (expired)", "'hat' (proposed)", chosen):
        assert f"left out: {why}" in found.explanation


async def test_the_newer_words_of_the_user_beat_the_assistants_old_answers(memory: AsyncMemoryScope) -> None:
    for day in range(6):
        await say(memory, f"Your locker is number 1{day}, I have it noted.", "assistant", day=day)
    await say(memory, "They gave me another locker, it is 99 on the upper floor near the pool", day=9)
    found = await memory.retrieve("Which locker is mine?", user="u")
    assert found[0].turn is not None and "99" in found[0].turn.text


@pytest.mark.parametrize(
    ("first", "again", "query"),
    [("My bike is green.", "my bike is green", "my bike"), ("我的车是绿色的。", "我的车是绿色的呀", "我的车")],
)
async def test_of_equal_turns_the_newest_is_shown(memory: AsyncMemoryScope, first: str, again: str, query: str) -> None:
    old, new = await say(memory, first), await say(memory, again, day=3)
    found = await memory.retrieve(query, user="u", explain=True)
    assert [hit.id for hit in found] == [new]
    assert f"left out: {old!r} (equal)" in found.explanation and found.left_out == ((old, "equal"),)


async def test_turns_with_other_numbers_are_both_shown(memory: AsyncMemoryScope) -> None:
    await say(memory, "My rent is 1180")
    await say(memory, "My rent is 1265", day=3)
    lines = await memory.context("What is my rent?", user="u")
    assert "1180" in lines and "1265" in lines


# ---- memories


async def test_a_memory_of_two_turns_is_printed_once_when_it_was_first_said(memory: AsyncMemoryScope) -> None:
    keys = [await say(memory, "Saw Anna yesterday"), await say(memory, "As I said, I met Anna that day", day=9)]
    await note(memory, "o", "The user saw Anna yesterday.", *keys)
    lines = (await memory.context("Which day was it that I saw Anna?", user="u")).splitlines()
    told = [line for line in lines if "The user saw Anna" in line]
    assert told == ["[2026-03-02 09:00 Monday] The user saw Anna yesterday. (said 2 times, last 2026-03-11)"]


async def test_a_memory_stands_at_its_first_turn_though_only_a_later_one_was_found(memory: AsyncMemoryScope) -> None:
    keys = [await say(memory, "哈哈"), await say(memory, "昨天那次是去看安娜", day=9)]
    await note(memory, "o", "用户去看了安娜。", *keys)
    assert "[2026-03-02 09:00 星期一] 用户去看了安娜。（说过2次，最近2026-03-11）" in await memory.context(
        "用户看了谁", user="u"
    )


async def test_a_memory_of_one_exchange_stands_at_the_turn_that_holds_most_of_it(memory: AsyncMemoryScope) -> None:
    asked = await say(memory, "What about pets?", "assistant")
    told = await say(memory, "I keep two goats called Ada and Bo")
    quotes = (Quote(asked, "pets?"), Quote(told, "I keep two goats called Ada and Bo"))
    await note(memory, "o", "The user's pets are two goats called Ada and Bo.", asked, told, quotes=quotes)
    hits = await memory.retrieve("Which pets does the user have?", user="u")
    assert next(hit for hit in hits if hit.matched).id == told


@pytest.mark.parametrize(
    ("words", "fact", "query"),
    [
        (["How long have you lived here?", "Since 2018, with Max", "That long?", "Yes, with Max"],
         "The user has lived here with Max since 2018.", "Since when does the user live here?"),
        (["你在这里住了多久？", "2018年起，跟小明一起", "这么久？", "对，跟小明"],
         "用户2018年起跟小明住在这里。", "用户从什么时候住在这里？"),
    ],
)  # fmt: skip
async def test_turns_of_one_exchange_are_one_saying(
    memory: AsyncMemoryScope, words: list[str], fact: str, query: str
) -> None:
    keys = [await say(memory, text, ("assistant", "user")[n % 2]) for n, text in enumerate(words)]
    await note(memory, "o", fact, *keys)
    lines = await memory.context(query, user="u")
    assert fact in lines and "said" not in lines and "说过" not in lines
    again = [await say(memory, words[n], ("assistant", "user")[n], day=9) for n in (0, 1)]
    await note(memory, "p", fact + "!", *keys, *again)
    told = await memory.context(query, user="u")
    assert "(said 2 times, last 2026-03-11)" in told or "（说过2次，最近2026-03-11）" in told


async def test_what_is_said_in_another_session_or_an_hour_later_is_said_again(memory: AsyncMemoryScope) -> None:
    said = {"s": "Max is my dog", "t": "My dog is Max"}
    keys = [await say(memory, words, session=session) for session, words in said.items()]
    await note(memory, "o", "The user's dog is Max.", *keys)
    assert "(said 2 times" in await memory.context("Who is Max, the dog?", user="u")


async def test_a_fact_that_gained_details_stands_where_these_were_said(memory: AsyncMemoryScope) -> None:
    """Its own turn is in front, then that of the fact that it took in."""
    first, later = await say(memory, "I have a dog"), await say(memory, "My dog is named Max", day=9)
    again = await say(memory, "Max, my dog, barks", day=20)
    await note(memory, "o", "The user has a dog named Max.", later, first, again, day=9)
    lines = (await memory.context("What is the user's dog named?", user="u")).splitlines()
    assert [line for line in lines if "dog named Max" in line] == [
        "[2026-03-11 09:00 Wednesday] The user has a dog named Max. (said 2 times, last 2026-03-22)"
    ]
    assert "[2026-03-02 09:00 Monday] user: I have a dog" in lines


@pytest.mark.parametrize(
    ("text", "query", "line"),
    [
        ("The user has a dentist appointment.", "dentist", "The user has a dentist appointment (2026-06-12)."),
        ("用户约了牙医。", "用户的牙医", "用户约了牙医（2026-06-12）。"),
        ("The user sees the dentist on 12 June 2026.", "dentist", "The user sees the dentist on 12 June 2026."),
    ],
)
async def test_the_events_date_is_printed_where_the_words_lack_it(
    memory: AsyncMemoryScope, text: str, query: str, line: str
) -> None:
    key = await say(memory, "ok")
    day = datetime(2026, 6, 12, tzinfo=UTC)
    await note(memory, "o", text, key, happened=Interval(day, day + timedelta(days=1)))
    assert (await memory.context(query, user="u")).endswith(f"] {line}")


async def test_a_turn_tells_which_day_its_words_mean(memory: AsyncMemoryScope) -> None:
    await say(memory, "I see the dentist tomorrow.")
    assert (await memory.context("dentist", user="u")).endswith("user: I see the dentist tomorrow (2026-03-03).")


# ---- changes


@pytest.mark.parametrize(
    ("said", "old", "query"),
    [
        ("I live in Berlin", "The user lives in Berlin", "Where do I live?"),
        ("我住在北京", "用户住在北京", "我住在哪里"),
    ],
)
async def test_a_superseded_turn_is_marked(memory: AsyncMemoryScope, said: str, old: str, query: str) -> None:
    key, later = await say(memory, said), START + timedelta(days=20)
    await note(memory, "o", old, key)
    await memory.admin.runtime.services.store.apply("u", ChangeSet(closed=(Supersession("o", None, later, later),)))
    (line,) = (await memory.context(query, user="u")).splitlines()
    assert said in line and any(mark in line for mark in ALL_MARKS) and line.endswith(("2026-03-22)", "2026-03-22）"))
    assert "'o' (superseded)" in (await memory.retrieve(query, user="u", explain=True)).explanation


async def test_the_fact_that_took_the_place_of_another_is_shown_beside_it(memory: AsyncMemoryScope) -> None:
    first = await say(memory, "I begin my apprenticeship at the clinic in Brandenburg")
    for n in range(12):
        await say(memory, f"The apprenticeship office of trade {n} wrote again", day=1 + n)
    later = await say(memory, "Sorry, wrong: it is the one in Potsdam", day=20)
    last = await say(memory, "They sent me on to Cottbus", day=30)
    old = await note(memory, "a", "The user begins an apprenticeship in Brandenburg", first)
    await note(memory, "b", "The clinic is the one in Potsdam", later, day=20)
    await note(memory, "c", "They sent the user on to Cottbus", last, day=30)
    for one, by, day in (("a", "b", 20), ("b", "c", 30)):
        when = START + timedelta(days=day)
        await memory.admin.runtime.services.store.apply("u", ChangeSet(closed=(Supersession(one, by, when, when),)))
    memory.days.now = START + timedelta(days=40)  # type: ignore[attr-defined]
    found = await memory.retrieve("Where does my apprenticeship begin?", user="u")
    lines = (await memory.context("Where does my apprenticeship begin?", user="u")).split("\n")
    assert old.sources[0] in {hit.id for hit in found} and len(found) <= 10
    assert any("Cottbus" in line and not line.endswith(")") for line in lines)
    assert not any("Potsdam" in line for line in lines)
    before = await memory.retrieve("Where does my apprenticeship begin?", user="u", as_of=START + timedelta(days=25))
    assert any("Potsdam" in hit.text for hit in before)


async def test_a_lasting_statement_is_shown_for_a_request_in_other_words(memory: AsyncMemoryScope) -> None:
    await say(memory, "I get terribly seasick.")
    await say(memory, "I'm left-handed, by the way.")
    for n in range(60):
        await say(memory, f"The shop of street {n} said yes to a parcel, then no", day=1 + n)
    assert "left-handed" in await memory.context("Should I say yes to these scissors?", user="u")


async def test_a_question_of_mostly_unknown_words_gets_nothing_unless_it_names_a_speaker(
    memory: AsyncMemoryScope,
) -> None:
    for n in range(40):
        said = {"role": "user", "name": "Caroline", "content": f"The parcel of house {n} was signed for"}
        await memory.add_turns([said], user="u", session="s")
    assert not await memory.retrieve("When was the Treaty of Westphalia signed?", user="u")
    assert await memory.retrieve("Which treaty would Caroline have signed?", user="u")


async def test_the_line_that_names_a_day_is_shown_for_a_question_for_a_date(memory: AsyncMemoryScope) -> None:
    await say(memory, "Tomorrow the boat leaves, at high water")
    for n in range(30):
        await say(memory, f"The boat of neighbour {n} needs paint", day=1 + n)
    assert "(2026-03-03)" in await memory.context("On which date did the boat leave?", user="u")


async def test_a_turn_of_which_another_fact_still_holds_is_marked_only_for_what_changed(
    memory: AsyncMemoryScope,
) -> None:
    key, later = await say(memory, "I live in Berlin and my cat is called Tiger"), START + timedelta(days=20)
    await note(memory, "home", "The user lives in Berlin", key)
    await note(memory, "cat", "The user's cat is called Tiger", key)
    await memory.admin.runtime.services.store.apply("u", ChangeSet(closed=(Supersession("home", None, later, later),)))
    assert "changed later" in await memory.context("Does the user live in Berlin?", user="u")
    assert "changed later" not in await memory.context("What is the cat called?", user="u")


@pytest.mark.parametrize(
    ("said", "corrected", "old"),
    [("Alice lives in Berlin.", "Alice lives in Munich", "Berlin"), ("小红住在北京。", "小红住在上海", "北京")],
)
async def test_after_a_correction_the_old_words_are_marked(
    memory: AsyncMemoryScope, said: str, corrected: str, old: str
) -> None:
    made = await memory.add_memory(said, user="u")
    memory.days.now += timedelta(days=1)  # type: ignore[attr-defined]
    await memory.update(made.id, user="u", text=corrected)
    for query in (said, corrected, old):
        for lines in ("memories", "turns"):
            shown = await memory.context(query, user="u", lines=lines)  # type: ignore[arg-type]
            assert all(any(mark in line for mark in ALL_MARKS) for line in shown.splitlines() if old in line)


@pytest.mark.parametrize(
    ("said", "facts", "corrected", "queries"),
    [
        (
            "My violin teacher is Petra in Bonn, and I rent the cello",
            ("Petra in Bonn teaches the user the violin", "The user rents the cello"),
            "Agnes gives the user lessons",
            ("Who is my violin teacher?", "Petra in Bonn", "Is Bonn where I got the cello?"),
        ),
        (
            "我的小提琴老师是波恩的佩特拉，大提琴是租的",
            ("波恩的佩特拉教用户小提琴", "用户的大提琴是租的"),
            "阿格尼丝给用户上课",
            ("我的小提琴老师是谁？", "佩特拉"),
        ),
    ],
)
@pytest.mark.parametrize("noted", [1, 2])
async def test_the_corrected_text_is_shown_to_a_question_of_other_words(
    memory: AsyncMemoryScope, said: str, facts: tuple[str, ...], corrected: str, queries: tuple[str, ...], noted: int
) -> None:
    key = await say(memory, said)
    for id, text in enumerate(facts[:noted]):
        await note(memory, str(id), text, key)
    memory.days.now += timedelta(days=1)  # type: ignore[attr-defined]
    await memory.update("0", user="u", text=corrected)
    for query in queries:
        lines = (await memory.context(query, user="u")).splitlines()
        assert any(line.endswith(corrected) for line in lines), lines
        assert all(any(mark in line for mark in ALL_MARKS) for line in lines if said in line), lines


async def test_the_assistants_restatement_of_what_changed_is_marked(memory: AsyncMemoryScope) -> None:
    key = await say(memory, "My Corolla makes a noise, that car is old")
    await say(memory, "Check the roof trim of the Corolla, it is a car of that age.", "assistant", day=1)
    await note(memory, "o", "The user drives a Corolla car", key)
    later = START + timedelta(days=20)
    await memory.admin.runtime.services.store.apply("u", ChangeSet(closed=(Supersession("o", None, later, later),)))
    lines = (await memory.context("Which car does the user drive?", user="u", speak="always")).splitlines()
    assert len(lines) == 2 and all("(changed later: 2026-03-22)" in line for line in lines)


def test_what_stays_of_a_line_without_its_questions_is_written_as_its_language_is():
    assert without_questions("我周五到家。你什么时候回来？我给你带了茶。") == "我周五到家。我给你带了茶。"
    assert without_questions("I am home on Friday. And you? I bring tea.") == "I am home on Friday. I bring tea."
    assert without_questions("I am home on Friday. I bring tea.") == without_questions("And you?") == ""


@pytest.mark.parametrize(
    ("said", "message", "shown"),
    [
        ("My ringtone came through two walls and nobody minded the fall.", "When did the Berlin Wall fall?", False),
        ("The shop of the Morrisons opens late on Sundays.", "When does the shop of the Morrisons open?", True),
    ],
)
async def test_a_question_about_a_name_is_shown_lines_with_the_name(
    memory: AsyncMemoryScope, said: str, message: str, shown: bool
) -> None:
    await memory.add_turns([{"role": "user", "content": said}], user="alice")
    assert bool(await memory.context(message, user="alice")) is shown


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("Tickets are paid for, the 12th of September by way of Doha.", "When do we fly to Australia?"),
        ("机票买好了，九月十二号从多哈转机。", "我们什么时候飞澳大利亚？"),
    ],
)
async def test_when_is_answered_by_a_coming_day_in_other_words(
    memory: AsyncMemoryScope, fact: str, question: str
) -> None:
    for number in range(40):
        await memory.add_turns([{"role": "user", "content": f"{OTHERS[number % 8]} ({number})"}], user="alice")
    await memory.add_turns([{"role": "user", "content": fact}], user="alice")
    assert fact[:5] in await memory.context(question, user="alice")
