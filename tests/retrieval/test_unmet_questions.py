"""Few lines are shown where nothing that was said answers a question about the user."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from recorded import remarks

DAYS = {
    "en": [
        "I'm Tobias, I run a bike repair shop in Ghent.", "My wife Annelies teaches chemistry.",
        "We have twins, Finn and Lotte.", "I drive an old Berlingo for deliveries.",
        "My brother Kasper lives in Bruges.",
        "I'm learning Polish with an app.", "I owe Kasper 400 euros for the fence.", "We moved here from Antwerp.",
        "My dad has a boat in Nieuwpoort.", "Our accountant is called Mieke.", "I play darts at the club on Thursdays.",
        "I prefer tea over coffee.",
    ],
    "zh": [
        "我叫陶比，在绍兴开自行车修理铺。", "我老婆小安在中学教化学。", "我们有一对双胞胎，小风和小乐。",
        "我送货开一辆旧五菱。", "我弟弟阿凯住在宁波。", "我在用软件学日语。", "修篱笆我还欠阿凯四百块。",
        "我们是从杭州搬来的。", "我爸在舟山有条船。",
        "我们的会计叫米姐。", "我每周四在俱乐部扔飞镖。", "比起咖啡我更喜欢喝茶。",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "query"),
    [("en", "What's my star sign?"), ("en", "Do I smoke?"), ("zh", "我穿多大的鞋"), ("zh", "我是什么血型")],
)
def test_a_small_store_shows_few_lines_if_nothing_in_it_answers(language, query):
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in DAYS[language]], user="alice")
        assert len(memory.context(query, user="alice").splitlines()) <= 5


def test_beside_a_line_about_the_choice_there_are_fewer_lasting_statements():
    about = "I always read Moomin stories to the twins at bedtime."
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in (*DAYS["en"], about)], user="alice")
        lines = memory.context("What should I read to the twins at bedtime?", user="alice").splitlines()
    assert any(about in line for line in lines) and len(lines) <= 5


@pytest.mark.parametrize(
    ("told", "query", "most"),
    [
        ("My borehole pump is serviced by Gary in Hexham.",
         "The kettle's full of orange gunk. Who should I be ringing about the supply?", 3),
        ("我对芒果过敏，一吃就肿。", "店里的杨枝甘露我能喝吗？", 4),
    ],
)  # fmt: skip
def test_passing_remarks_are_not_shown_for_a_question_in_other_words(told, query, most):
    others = remarks(query, "noise")[:60]
    with MemoryScope(":memory:", settings={}) as memory:
        texts = [*others[:30], told, *others[30:]]
        memory.add_turns([{"role": "user", "content": text} for text in texts], user="alice")
        lines = memory.context(query, user="alice").splitlines()
    assert any(told in line for line in lines) and len(lines) <= most


def test_a_character_in_common_relates_no_lasting_statement_to_a_question():
    allergy = "我对花生过敏。"
    others = remarks(allergy)[:60]
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in (*others, allergy)], user="alice")
        hits = memory.retrieve("三号线坐过站了我怎么办？", user="alice", k=70).hits
    features = {one.name: one.value for hit in hits if hit.text == allergy for one in hit.features}
    assert 0 < features["lasting"] <= 1  # twice as much if 过 of 坐过 and of 过敏 were a word


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("学费多少钱", "学费一年九千六"),
        ("还有几期没还", "还剩二十一期"),
        ("茶戒多久了", "把茶给戒了，八个月了"),
        ("红山有多高", ""),
    ],
)
def test_a_short_question_without_a_subject_is_answered_by_a_line_with_all_that_it_names(question, wanted):
    told = [
        "学费一年九千六",
        "房贷还剩二十一期",
        "把茶给戒了，八个月了",
        "红薯又涨价了，三块一斤",
        *remarks("中文")[:40],
    ]
    with MemoryScope(":memory:", settings={}) as memory:
        for text in told:
            memory.add_turns([{"role": "user", "content": text}], user="alice")
        shown = memory.context(question, user="alice")
    assert wanted in shown and len(shown.splitlines()) <= 3 * bool(wanted)
