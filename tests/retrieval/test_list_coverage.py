"""Behind the best lines of a list question stand the likeliest further items, whatever their words."""

from __future__ import annotations

import pytest

from memscope import MemoryScope
from recorded import read, remarks


def shown(question, said):
    with MemoryScope(":memory:", settings={}) as memory:
        memory.add_turns([{"role": "user", "content": text} for text in said], user="alice")
        return memory.context(question, user="alice").splitlines()


def missing(items, lines):
    return [item for item in items if not any(item in line for line in lines)]


@pytest.mark.parametrize(
    ("question", "items"),
    [
        ("Which presents have I bought so far?",  # what was done counts for more than a passing remark
         ["Got Dad the binoculars, so that's one fewer to worry about.",
          "found a lovely teal scarf for Gran in the sale",
          "Ordered the Lego castle for Theo, nobody tell him",
          "a bottle of that smoky whisky for Hamish, wrapped and hidden",
          "two seats at the ballet for Mei, she will cry"]),
        ("What pets have I had over the years?",  # an animal is close to pets in meaning
         ["We had a tortoise called Gladys when I was small",
          "as a student I kept two rats, very clever things",
          "Biscuit is asleep on my feet as I type this, beagles snore you know",
          "had budgies for a while, the noise!"]),
        ("Which gadgets gave up on us this year?",  # what belongs to a class stands before what is only near to it
         ["the toaster went bang and took the lights with it",
          "no picture on the telly since Sunday, just stripes",
          "our old kettle leaks all over the worktop now",
          "the freezer thawed overnight, peas everywhere"]),
        ("我都养死过哪些植物？",
         ["绿萝烂根了，整盆端出去扔掉", "阳台那盆薄荷黄得没法看，算了", "出差一礼拜回来栀子全蔫了",
          "多肉化水，一颗没剩"]),
        ("今年家里坏过哪些电器？",  # 哪些 has no meaning of its own
         ["洗衣机甩到一半不转了，衣服全泡在里头", "厨房那台油烟机彻底罢工，做个饭一屋子烟",
          "空调滴水滴到床上，师傅说主板烧了", "吹风机冒了股焦味，扔了"]),
    ],
)  # fmt: skip
def test_all_items_are_shown_among_passing_remarks(question, items):
    others = remarks(question)[:100]
    step = len(others) // (len(items) + 1)
    apart = [text for at, item in enumerate(items) for text in (*others[at * step : (at + 1) * step], item)]
    lines = shown(question, [*apart, *others[len(items) * step :]])
    assert missing(items, lines) == []


@pytest.mark.parametrize(
    ("question", "items"),
    [
        ("Which birds did I see in the garden?",
         ["two wrens under the hedge first thing", "a woodpecker went at the gatepost", "jays again, robbing the oak"]),
        ("我都养过哪些动物？", ["刺猬住过阳台", "那只鹦鹉学了我妈说话", "仓鼠跑丢了，沙发都拆了"]),
    ],
)  # fmt: skip
def test_items_that_share_nothing_with_the_question_are_found_in_a_large_memory(question, items):
    language = "en" if question.isascii() else "zh"
    noise = [one["text"] for name in ("noise3", "noise", "noise2") for one in read(f"{name}_{language}")]
    assert missing(items, shown(question, [*items, *noise])) == []


@pytest.mark.parametrize(
    ("question", "items"),
    [
        ("Which instruments have I played?", ["dug out my clarinet", "borrowed a cello", "the oboe nearly killed me"]),
        ("我都学过哪些乐器？", ["借了把大提琴", "小时候吹过笛子", "古筝学了半年"]),
    ],
)  # fmt: skip
def test_fewer_lines_are_shown_where_the_items_are_known_by_name(question, items):
    lines = shown(question, [*items, *remarks(question)])
    assert missing(items, lines) == []
    assert len(lines) <= 20  # 25 for a list of anything


@pytest.mark.parametrize(
    ("question", "items"),
    [
        ("What have I bought lately?", ["Got a new kiln off a potter in Leith", "ordered two bags of stoneware clay",
                                        "picked up the glaze buckets", "bought an apron in the end"]),
        ("What has broken in the flat?", ["the boiler packed in on Monday", "cracked the hob with the wok lid",
                                          "kitchen tap leaking again"]),
    ],
)  # fmt: skip
def test_what_was_done_is_known_by_verbs_that_say_so(question, items):
    lines = shown(question, [*items, *remarks(question)])
    assert missing(items, lines) == []
    assert len(lines) <= 20


def test_a_list_that_does_not_mention_the_user_is_theirs_if_an_item_and_its_place_are_known():
    items = ["a robin came to the feeder at last", "two siskins this morning", "that jay is back, cheeky thing"]
    said = [*items, *remarks("Which birds?")]
    lines = shown("Which birds turned up at the feeder?", said)
    assert missing(items, lines) == [] and len(lines) <= 20
    assert shown("Which birds live in the rainforest?", said) == []


@pytest.mark.parametrize(
    ("question", "items", "others"),
    [
        ("Which vegetables have I planted?",
         ["Planted broad beans before the rain", "Potatoes went in on Good Friday"],
         ["Moved the hens to the top field", "Nora is coming with the twins", "Tried the dulcimer at the folk night",
          "The clutch is slipping", "I can't eat walnuts, my mouth goes numb", "Booked the ferry to Islay",
          "my brother Ted fixes clocks", "Finished The Dig last night", "Swapped my banjo for a mandolin",
          "We had a chat about the roof again, no decision", "thanks, that's perfect", "Bought a second-hand loom"]),
        ("我碰过哪些乐器？",
         ["拿二胡换了把琵琶，别告诉我媳妇", "晚上去听民谣，上手试了试扬琴"],
         ["今天把鸡挪到后山去了", "诺诺带双胞胎清明回来", "下雨前种了蚕豆", "拖拉机离合打滑了", "我吃不了核桃，嘴会麻",
          "订了去舟山的船票", "我哥老魏修钟表", "昨晚看完了《我与地坛》", "屋顶的事又聊了一回，没定", "谢谢，挺好",
          "在二手市场买了台织布机", "兽医说老母羊最多一年了"]),
    ],
)  # fmt: skip
def test_a_list_does_not_show_the_whole_of_a_small_memory(question, items, others):
    lines = shown(question, [*others, *items])
    assert missing(items, lines) == []
    assert len(lines) <= 8


@pytest.mark.parametrize(
    ("question", "statements"),
    [
        ("What do you know about me?",
         ["On my third winter restoring a wooden rowing boat",
          "Raised by two lighthouse keepers, if you can believe it",
          "Our foster lads are twins, fourteen now",
          "Lapsed Quaker, that's me"]),
        ("你都知道我些什么？",
         ["木船修了三个冬天了，快下水了", "我是灯塔边上长大的", "寄养的那俩小子是双胞胎"]),
    ],
)  # fmt: skip
def test_everything_known_is_sought_among_all_that_the_user_said(question, statements):
    others = remarks(question)[:120]
    step = len(others) // len(statements)
    said = [text for at, one in enumerate(statements) for text in (one, *others[at * step : (at + 1) * step])]
    assert missing(statements, shown(question, said)) == []
