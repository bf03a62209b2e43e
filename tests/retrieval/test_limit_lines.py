"""A context speaks only when it is needed: nothing for small talk and tasks, little for questions about the world."""

from __future__ import annotations

import pytest

from memscope import AsyncMemoryScope, MemoryScope
from memscope.adapters.session import MemorySession
from memscope.errors import ConfigError, InputError
from recorded import remarks

TOLD = [
    "I had my left knee operated on last autumn.",
    "I'm allergic to peanuts.",
    "Dana moved to Lisbon with her two cats.",
    "The sea was rough when we sailed to Corsica.",
    "Please always give temperatures in Celsius.",
    "我对芒果过敏。",
    "小刘在银行当柜员。",
    "以后回答我尽量简短。",
]


@pytest.fixture
def memory():
    with MemoryScope(":memory:", settings={}) as memory:
        for text in TOLD:
            memory.add_turns([{"role": "user", "content": text}], user="alice")
        yield memory


@pytest.mark.parametrize("message", ["hi", "much obliged!", "shorter please", "你好", "谢谢", "再短一点"])
def test_small_talk_is_shown_nothing(memory, message):
    assert memory.context(message, user="alice") == ""
    found = memory.retrieve(message, user="alice", speak="when_needed")
    assert found.why == "not_needed" and not found.profile


@pytest.mark.parametrize(
    "message", ["Write a poem about the sea in autumn.", "How many minutes are there in a week?", "写一首关于秋天的诗"]
)
def test_a_task_is_shown_no_knee(memory, message):
    assert "knee" not in memory.context(message, user="alice") and "过敏" not in memory.context(message, user="alice")


def test_a_task_is_shown_standing_wishes(memory):
    assert memory.context("Convert 70 Fahrenheit degrees for me", user="alice") == memory.context(
        "Please always give temperatures in Celsius.", user="alice", k=1
    )


@pytest.mark.parametrize(
    ("message", "wish"),
    [
        ("Why is the sky blue?", "three sentences"),
        ("Explain tides to me", "three sentences"),
        ("How far is it to the moon?", "kilometres"),
        ("Suggest a dish for tonight", "coriander"),
        ("What is 19 * 6?", ""),
        ("Translate 'where is my coat' into Polish", ""),
        ("Who painted Guernica?", ""),
    ],
)
def test_a_standing_wish_is_shown_where_it_matters_however_many_lines_there_are(message, wish):
    wishes = [
        "It's a small screen, so keep it brief with me, three sentences tops.",
        "Oh, and kilometres only, miles mean nothing to me.",
        "Never put coriander in anything.",
    ]
    others = [f"The bus number {n} was late and somebody sang on it." for n in range(60)]
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in (*wishes, *others)], user="alice")
        shown = memory.context(message, user="alice")
    assert wish in shown if wish else not any(one in shown for one in ("sentences", "kilometres", "coriander"))


def test_a_taste_keeps_a_place_for_a_choice_however_many_lines_there_are():
    others = [f"We had something cold for dinner at the station on trip {n}, I picked it." for n in range(60)]
    with MemoryScope(":memory:", settings={}) as memory:
        told = ["I'm allergic to peanuts.", *others]
        memory.add_turns([{"role": "user", "content": text} for text in told], user="alice")
        assert "peanuts" in memory.context("Pick something cold for dinner at the station", user="alice")


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("Pick an outing for Sunday", "wheelchair"),
        ("What should I bring to the housewarming?", "sober"),
        ("Help me choose a jumper", "wool"),
        ("客厅的灯泡坏了怎么办", "梯子"),
        ("乔迁送点什么好", "戒了"),
        ("帮我挑件毛衣", "羊毛"),
        ("A housewarming on the tenth floor, what would you bring along?", "sober"),
        ("The old jumper has holes. Which one do we get next?", "wool"),
        ("Which jumper would suit an office in the hills?", "wool"),
        ("Where could my sister and the boys go by bus?", "wheelchair"),
        ("老周喊去喝两杯，去不去", "戒了"),
        ("毛衣都起球了，换哪件", "羊毛"),
        ("老周组的局，你觉得咋样", "戒了"),
        ("给老周带点啥", "戒了"),
        ("What shall we do next weekend?", "wheelchair"),
        ("What could we do on Saturday?", "wheelchair"),
    ],
)
def test_a_choice_heeds_what_is_lasting_of_the_user_though_of_another_kind(message, wanted):
    told = {
        "en": ["I love Thai food.", "I love crime novels.", "My favourite film is Alien.", "I hate horror films.",
               "I adore the sea.", "My mum lives with us now, she's in a wheelchair.", "I've been sober for six years.",
               "I can't wear wool, it brings me out in hives."],
        "zh": ["我喜欢泰国菜。", "我爱看侦探小说。", "我最喜欢的电影是异形。", "我讨厌恐怖片。", "我特别喜欢海。",
               "我一上梯子腿就发软。", "酒我戒了六年了。", "羊毛的我穿不了，一穿就起疹子。"],
    }["en" if message.isascii() else "zh"]  # fmt: skip
    others = {
        "en": "The number {n} was late on Sunday and somebody sang on it.",
        "zh": "周日{n}路车又晚点，车上有人唱歌。",
    }
    strays = [others["en" if message.isascii() else "zh"].format(n=n) for n in range(60)]
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in (*told, *strays)], user="u")
        assert wanted in memory.context(message, user="u")


@pytest.mark.parametrize(
    ("message", "told", "other"),
    [
        (
            "What do I do for work at the moment?",
            "I've been on the trams in Graz for six years.",
            "The lift on floor {n} did not work today, they are at it.",
        ),
        ("我平时靠什么吃饭", "我开出租十来年了。", "今天第{n}顿饭又是面，吃得没意思。"),
    ],
)
def test_a_question_in_other_words_is_shown_what_is_lasting_of_the_user(message, told, other):
    with MemoryScope(":memory:", settings={}) as memory:
        strays = [other.format(n=n) for n in range(60)]
        memory.add_turns([{"role": "user", "content": text} for text in (told, *strays)], user="u")
        assert told[:-1] in memory.context(message, user="u")


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("Where is Dana these days?", "Lisbon"),
        ("What does Dana do?", "Lisbon"),
        ("小刘是干什么的", "柜员"),
        ("What could I order at the Thai place?", "peanuts"),
        ("我能吃杨枝甘露吗", "芒果"),
    ],
)
def test_what_is_about_the_user_or_their_people_is_shown(memory, message, wanted):
    assert wanted in memory.context(message, user="alice")


@pytest.mark.parametrize("user", ["alice", "Alice"])
def test_a_question_that_names_the_user_by_id_is_about_the_user(user):
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "I moved to Berlin last May."}], user=user)
        memory.add_turns([{"role": "user", "content": "I moved to Berlin last May."}], user="bob")
        assert "Berlin" in memory.context("Where does Alice live?", user=user)
        assert not memory.context("Where does Alice live?", user="bob")


def test_a_question_about_the_world_is_shown_a_few_lines_at_most(memory):
    for city in ("Rome", "Oslo", "Quito", "Lima", "Cairo"):
        memory.add_turns([{"role": "user", "content": f"The capital is {city}, says the guide."}], user="alice")
    assert len(memory.context("What's the capital of Mongolia?", user="alice").splitlines()) <= 3


def test_a_common_word_that_merely_stands_where_names_do_brings_no_line():
    question = "世界上最早的学校是谁办的"
    with MemoryScope(":memory:", settings={}) as memory:
        told = ["他做梦都想环游世界", *remarks(question)[:60]]
        memory.add_turns([{"role": "user", "content": text} for text in told], user="alice")
        assert "环游世界" not in memory.context(question, user="alice")


REMARKS = [f"A {colour} boat went by while I read chapter {n}." for n, colour in enumerate(
    ("red", "blue", "green", "white", "black", "brown", "grey", "pink", "gold", "silver", "old", "new"), 1
)]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "most"), [("Which boat did Dana hire in Lisbon?", 3), ("Which books did Dana read in Lisbon?", 25)]
)
def test_lines_far_below_the_best_are_shown_for_a_list_only(query, most):
    with MemoryScope(":memory:", settings={}) as memory:
        for text in (*REMARKS, "Dana hired a boat in Lisbon and read two books there.", *REMARKS[::-1]):
            memory.add_turns([{"role": "user", "content": text}], user="alice")
        lines = memory.context(query, user="alice").splitlines()
        everything = memory.context(query, user="alice", speak="always").splitlines()
        assert any("hired a boat" in line for line in lines)
        assert len(lines) <= most and (len(lines) < len(everything) or most > 3)


LIFE = {
    "en": [
        "I have a knee operation on the 3rd of December.",
        "My sister Nora is a nurse in Leeds.",
        "We are planning a trip to Norway in February.",
        "My boss Greta wants the report by Friday.",
        "I sold my old Volvo last week.",
    ],
    "zh": [
        "我12月3号要做膝盖手术。",
        "我对榛子过敏。",
        "我们打算二月去挪威旅行。",
        "我老板王总要我周五之前交报告。",
        "上周我把旧车卖了。",
    ],
}


@pytest.mark.parametrize(
    ("language", "query", "wanted"),
    [
        ("en", "When is my operation?", 0),
        ("en", "What does my sister do?", 1),
        ("zh", "我的手术是什么时候?", 0),
        ("zh", "我对什么过敏?", 1),
    ],
)
def test_beside_a_line_with_all_the_words_asked_for_no_line_without_any_is_shown(language, query, wanted):
    told = LIFE[language]
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in told], user="alice")
        shown = [hit.text for hit in memory.retrieve(query, user="alice", speak="when_needed")]
        assert shown[0] == told[wanted] and not {*shown} & {*told[2:]}
        assert len(memory.retrieve(query, user="alice", speak="always")) > len(shown)


@pytest.mark.parametrize(
    ("language", "query", "wanted"),
    [
        ("en", "What did I say about the dishwasher?", "The dishwasher broke again, it's leaking underneath."),
        ("en", "Did I mention anything about the cottage?", "We booked the cottage in the Ardennes for the family."),
        ("zh", "谁在银行当柜员?", "小刘在银行当柜员。"),
    ],
)
def test_a_store_that_has_grown_a_little_shows_no_line_without_evidence_beside_an_answer(language, query, wanted):
    replies = {"en": "Sure.", "zh": "好的。"}[language]
    texts = [*LIFE[language], *TOLD, "The plumber comes every other Thursday.", "My knee hurts since the run.", wanted]
    with MemoryScope(":memory:", settings={}) as memory:
        for text in texts:
            talk = [("user", text), ("assistant", replies), ("assistant", replies)]
            memory.add_turns([{"role": role, "content": content} for role, content in talk], user="alice")
        lines = memory.context(query, user="alice").splitlines()
    assert any(wanted in line for line in lines) and len(lines) <= 3


@pytest.mark.parametrize(
    ("told", "query"),
    [
        (("I live in a flat on Mill Street.", "We got the keys to the house in Leeds, moving in was hell."),
         "Where do I live?"),
        (("My flat is above the bakery, I live there with Sam.", "Moved in with Ida in Bristol."), "Where do I live?"),
    ],
)  # fmt: skip
def test_a_question_of_one_word_is_shown_what_is_of_its_kind(told, query):
    others = remarks(query)[:60]
    with MemoryScope(":memory:", settings={}) as memory:
        texts = [*others[:20], told[0], *others[20:40], told[1], *others[40:]]
        memory.add_turns([{"role": "user", "content": text} for text in texts], user="alice")
        lines = memory.context(query, user="alice").splitlines()
    assert len(lines) <= 5 and all(any(text[:12] in line for line in lines) for text in told)


@pytest.mark.parametrize(
    ("told", "query"),
    [
        ("I'm Priya, 34, and I teach maths in Leeds.", "What do I do for a living?"),
        ("Hey, Ines here. I run a bakery in Porto.", "What do I do for a living?"),
        ("我叫李娜，34岁，在杭州教数学。", "我是做什么工作的？"),
        ("我在郑州开面馆。", "我是干什么的？"),
    ],
)
def test_few_lines_stand_beside_one_that_states_what_is_asked_for(told, query):
    others = remarks(told)[:60]
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns(
            [{"role": "user", "content": text} for text in (*others[:30], told, *others[30:])], user="alice"
        )
        lines = memory.context(query, user="alice").splitlines()
    assert any(told in line for line in lines)
    assert len(lines) <= 6


def test_what_changed_since_is_shown_though_it_shares_no_word_with_the_question():
    told = ["I live in Porto.", "We moved to Leeds last month.", "My sister Nora is a nurse.", "I sold my old Volvo."]
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in told], user="alice")
        shown = [hit.text for hit in memory.retrieve("Where do I live?", user="alice", speak="when_needed")]
        assert set(told[:2]) <= set(shown) and told[3] not in shown


def test_speaking_always_shows_the_best_hits_whatever_is_asked(memory):
    message = "Write a poem about the sea in autumn."
    assert "Corsica" in memory.context(message, user="alice", speak="always")
    assert len(memory.retrieve(message, user="alice")) > 0  # a caller of retrieve decides for itself


def test_the_settings_say_whether_to_speak_always():
    with MemoryScope(":memory:", settings={"context": {"speak": "always"}}) as memory:
        memory.add_turns([{"role": "user", "content": TOLD[3]}], user="alice")
        assert "Corsica" in memory.context("Write a poem about the sea.", user="alice")
        assert memory.context("Write a poem about the sea.", user="alice", speak="when_needed") == ""


async def test_an_adapter_keeps_quiet_and_its_search_tool_does_not():
    async with AsyncMemoryScope(":memory:", settings={}) as memory:
        await memory.add_turns([{"role": "user", "content": TOLD[3]}], user="alice")
        session = MemorySession("alice", memory=memory)
        assert (await session.recall("Write a poem about the sea.")).text == ""
        assert len(await session.search("Write a poem about the sea.")) == 1
        assert (
            "Corsica"
            in (await MemorySession("alice", memory=memory, speak="always").recall("Write a poem about the sea.")).text
        )


def test_explain_says_what_was_cut(memory):
    found = memory.retrieve("Write a poem about the sea in autumn.", user="alice", speak="when_needed", explain=True)
    assert "not needed" in found.explanation


def test_another_word_for_speak_is_refused(memory):
    with pytest.raises(InputError, match="speak"):
        memory.context("hi", user="alice", speak="never")
    with pytest.raises(ConfigError, match="speak"):
        MemorySession("alice", memory=memory, speak="never")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("The pharmacist is asking about allergies", "penicillin"),
        ("The nurse asks if anything is wrong with the heart", "pacemaker"),
        ("有什么证件要换的吗", "护照"),
        ("还有什么药要买的吗", "降压药"),
    ],
)
def test_what_somebody_asks_of_the_user_is_about_the_user(message, shown):
    told = ["I have a pacemaker.", "Penicillin gives me a rash, I'm allergic.", "护照三月到期。", "降压药快吃完了。"]
    with MemoryScope(":memory:", settings={}) as memory:
        for text in told:
            memory.add_turns([{"role": "user", "content": text}], user="u")
        assert shown in memory.context(message, user="u").casefold()


def test_a_wish_for_recipes_is_not_shown_for_a_poem():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "以后给我推荐菜谱，请用克不要用杯。"}], user="u")
        assert memory.context("给我写一首关于秋天的诗", user="u") == ""
        assert "用克" in memory.context("给我推荐个菜谱", user="u")


@pytest.mark.parametrize(
    ("message", "told", "other"),
    [
        (
            "A cake for my father, any ideas?",
            "Dad can't eat gluten any more, coeliac apparently.",
            "I won a {n} kg goose.",
        ),
        ("What should I cook for the girls?", "Asha hates peas.", "I won a {n} kg goose."),
        ("给我爸买点什么点心好", "爸爸血糖高，不吃甜的。", "我在{n}号楼当保安。"),
    ],
)
def test_a_choice_heeds_what_others_of_the_user_cannot_have_or_dislike(message, told, other):
    with MemoryScope(":memory:", settings={}) as memory:
        strays = [other.format(n=n) for n in range(60)]
        memory.add_turns([{"role": "user", "content": text} for text in (told, *strays)], user="u")
        assert told[:-1] in memory.context(message, user="u")


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Which tablets is the dog on?", "Biscuit gets Metacam for her arthritis, says the vet."),
        ("How could we pay for the loft?", "Never suggest a loan to me."),
        ("修鞋的那家周几休息来着", "老刘的摊子周一不出摊，修鞋得赶早。"),
    ],
)
def test_what_both_know_is_asked_for_without_a_my(message, told):
    with MemoryScope(":memory:", settings={}) as memory:
        strays = [f"The bus number {n} was late and somebody sang on it." for n in range(40)]
        memory.add_turns([{"role": "user", "content": text} for text in (told, *strays)], user="u")
        assert told[:-1] in memory.context(message, user="u")


def test_a_name_in_a_statement_counts_as_found():
    remarks = [f"Remark number {number} on the weather in our street." for number in range(40)]
    with MemoryScope(":memory:", settings={}) as memory:
        for text in ["Rosalind bought the red kayak.", *remarks]:
            memory.add_turns([{"role": "user", "content": text}], user="alice")
        lines = memory.context("How much do I owe Rosalind?", user="alice").splitlines()
    assert "Rosalind" in lines[0] and len(lines) <= 3
