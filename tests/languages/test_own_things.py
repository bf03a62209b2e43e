"""Chinese questions about one animal or thing of the user's that leave the user out, and names that people give."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from memscope.languages.durable_facts import asked_kinds, kinds
from memscope.languages.requests import NEEDS_USER, need


@pytest.mark.parametrize(
    "question",
    "猫叫什么名字 车什么牌子 狗几岁了 wifi密码多少 家里的宽带密码是多少 冰箱什么牌子的 车牌号是多少 车停哪了 "
    "小狗叫什么来着 乌龟多大了 "
    "房子在哪买的 宝宝小名叫什么 洗衣机谁送的 门锁密码是几 手机什么颜色 仓鼠什么品种".split(),
)
def test_what_only_the_owner_knows_is_asked_of_memory(question):
    assert need(question) == "user"


@pytest.mark.parametrize(
    "question",
    "猫叫什么声音好听 狗几岁算老年 车什么颜色最耐脏 狗什么品种最聪明 猫多大可以绝育 "
    "法国的首都叫什么名字 wifi密码怎么破解 "
    "仓鼠能活几年 "
    "孩子多大可以坐前排 冰箱是谁发明的 空调什么原理".split(),
)
def test_what_holds_for_all_is_not(question):
    assert need(question) not in NEEDS_USER


def test_the_owner_is_answered():
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": "我住在柏林，养了一只叫豆豆的猫。"}], user="u", session="a")
        memory.add_turns([{"role": "user", "content": "车是去年买的丰田。"}], user="u", session="b")
        assert "豆豆" in memory.context("猫叫什么名字", user="u")
        assert "丰田" in memory.context("车什么牌子", user="u")


@pytest.mark.parametrize(
    "sentence",
    "他们都叫我老班长 大家叫我阿强 称呼我郭老师 街坊都喊我王姨 名字是林可，可以的可 朋友喊我大刘 厂里人都叫我赵师傅 "
    "称呼我小何就可以 同学叫我豆姐".split(),
)
def test_a_name_that_somebody_goes_by(sentence):
    assert "name" in kinds(sentence)


@pytest.mark.parametrize(
    "sentence",
    "他们叫我去开会 老板叫我小心点 妈妈喊我起床吃饭 大家叫我加油 猫的名字是团团 同事叫我帮忙 "
    "他们叫我大声点 孩子喊我陪他玩 "
    "公司名字是什么 老师叫我老实点 他叫我来一趟".split(),
)
def test_what_somebody_is_asked_to_do_is_no_name(sentence):
    assert "name" not in kinds(sentence)


@pytest.mark.parametrize("question", "该怎么称呼我 你叫我什么 大家喊我啥".split())
def test_a_question_for_the_name(question):
    assert "name" in asked_kinds(question)


@pytest.mark.parametrize(
    "statement",
    "男朋友叫陆航，是消防员 公公今年七十八了 妈妈住在衡阳 弟弟在部队 房东姓白 大宝五岁半 表姐在县医院当护士 "
    "妹妹学护理的 爸是木匠".split(),
)
def test_relatives_at_the_beginning_of_a_clause_are_the_users(statement):
    assert kinds(statement) == ("people",)


@pytest.mark.parametrize(
    "statement", "奶奶在看电视 儿子在睡觉 哥们是真能喝 妈是不是该休息了 儿子问住我了 爷爷上周来了".split()
)
def test_what_relatives_are_at_is_passing(statement):
    assert "people" not in kinds(statement)


@pytest.mark.parametrize(
    "question",
    [
        "did I translate the contract yet",
        "when is my translation due",
        "we can't make it on Saturday, who should I tell?",
        "should i join the 3x3 tournament",
        "我的翻译稿什么时候交？",
        "我的英语老师叫什么",
        "女儿的英文名定了哪个？",
        "儿子的日语成绩怎么样",
    ],
)
def test_a_question_about_ones_own_in_words_of_a_task_is_no_task(question):
    assert need(question) == "user"


@pytest.mark.parametrize(
    "task", ["translate this into German: good morning", "what's 17*23", "这句话的英文怎么说", "苹果的法语是什么"]
)
def test_a_task_remains_one(task):
    assert need(task) == "task"
