"""The need of memory by the wording alone: messages of everyday use, in both languages."""

from __future__ import annotations

import time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.languages.requests import NEEDS_USER, Need, need, remarks, wishes_heeded

REMARKS = [
    "I burnt the toast again this morning.",
    "We finally got the keys to the flat!",
    "My brother bought a new set of bricks and wants me to help build it!",
    "今天早上又把面包烤糊了。",
    "下周部门聚会要我上台表演，我有点慌。",
    "快递又丢了……",
]
ASKING = [
    "Find me a quiet café near the office.",
    "The tax form wants my occupation.",
    "My mother asks for the exact date of my race.",
    "I wonder where I put the spare key.",
    "Not sure what to cook for the in-laws.",
    "Let's pick a film for tonight.",
    "不知道备用钥匙放哪儿了。",
    "门卫问我的车牌号。",
    "提醒我周一给银行打电话。",
    "三月十九号那天我去干嘛了",
]
NOTHING = [
    "try again but funnier",
    "you're a star, thanks a million",
    "hello there",
    "Evening! How's tricks?",
    "不是那个，另一个",
    "cheers, you saved my bacon",
    "go on",
    "shorter please",
    "Could you make it a little friendlier?",
    "I didn't get your last point",
    "and the rest of it?",
    "wait, what was the first one again?",
    "can I have that as a table",
    "carry on where you left off",
    "great, thank you so much!",
    "晚上好",
    "哈囉，今天好嗎",
    "好的，明白了",
    "哈哈",
    "再简单一点",
    "继续说",
    "换个说法",
    "第二点没看懂",
    "给我列个表",
    "说简单点我听不懂",
]
TASKS = [
    "Write a short poem on the first mango of summer",
    "Compose a verse on the first snow",
    "19 x 23",
    "用 C 语言写一个冒泡排序",
    "把这些按拼音排序：苹果、香蕉、梨",
    "5 boat names starting with K",
    "three facts about otters",
    "Write a rhyme about a hedgehog",
    "Could you write a thank-you card from a club to its landlord?",
    "替居委会写一封给超市的感谢信",
    "给三个带水字的公司名字",
    "写个关于河马的顺口溜",
    'Is this letter a fraud? "Your refund waits, send us your PIN."',
    "Will it snow in Oslo on Friday?",
    "这封信是不是骗人的：“退款在等您，请发来密码”",
    "写一首关于旧港口的五言绝句",
    "What is 19 * 6?",
    "What's 12% of 300?",
    "Translate 'where is my coat' into Polish",
    "How do you say cheese in Danish?",
    "Rewrite this more formally: gimme that now",
    "Fix the grammar: she don't like it",
    "Write a haiku about snow",
    "Give me a name for a badger in a story",
    "Tell me a joke",
    "Write a Python script that renames files",
    "What does the acronym NATO stand for?",
    "Another word for cheerful?",
    "Summarise this: The board met on Monday and talked for three hours about my proposal.",
    "Convert 30 miles to km",
    "How many seconds are in a day?",
    "I drove 300 km on 18 litres, how much is that per 100 km?",
    "```\nfor x in y: pass\n``` why does it fail?",
    "18乘以7是多少",
    "把“我饿了”翻译成法语",
    "“马马虎虎”是什么意思",
    "帮我用Python写个爬虫",
    "写一首关于大海的诗",
    "讲个笑话",
    "给童话里的獾起个名",
    "改得正式一点：东西赶紧给我",
    "一打是几个",
    "My hallway is 4 metres long, how many feet is that?",
    "the recipe wants 200 grams of flour, what's that in cups",
    "I've got a 5 lb turkey, kilos pls",
    "split a 240 bill three ways",
    "We have 1500 euros for 12 days, how much is that each day?",
    "I bought 7 notebooks at 2.35 each, how much did I spend?",
    "what's 15% of 240",
    "do you put a comma before 'however' or after it",
    "should I write 'lay' or 'lie'?",
    "I get KeyError: 'name' when I run df['name']",
    "my query SELECT * FROM orders WHERE id = NULL returns nothing",
    "我的桌子宽140厘米，是多少英寸",
    "96块4六个人平分",
    "“按耐”还是“按捺”",
    "我的循环 for i in range(10): print(i) 停不下来",
]
NUMBERS_OF_THE_USER = [
    "How many times did I go to Leeds in 2024 and 2025?",
    "How long was Tom in hospital between 3 May and 9 May 2024?",
    "How much did I pay for 2 tickets on 3 May?",
    "What did I decide about the 2024-2025 season ticket?",
    "What does my contract say about the 10% bonus?",
    "Is my flight on 12/05 or 13/05?",
    "How many minutes did I swim in 2025?",
    "How many of my 5 tomato plants survived?",
    "June 3-5?",
    "How long will the 12 hour drive to Nice be?",
    "Which bus takes 20 minutes to work?",
    "Who discovered the leak?",
    "房东要涨百分之几",
    "What was the flight, 12/05?",
    "I told Dana EVERYTHING about the EMERGENCY, what did she say?",
    "我2024年和2025年一共去了几次成都",
    "3月5号到3月9号我花了多少钱",
    "我合同里10%奖金怎么说的",
    "我家离公司几公里",
]
ABOUT_A_KIND = [
    "How does a boiler work?",
    "What do hedgehogs eat?",
    "Why do leaves turn red?",
    "What does a midwife do?",
    "Who invented the zip?",
    "What is an allergy?",
    "How much does a giraffe weigh on average?",
    "What's the difference between jam and jelly?",
    "钢琴是谁发明的",
    "热泵的原理是什么",
    "雪是怎么形成的",
    "装修行情怎么样",
    "茶叶有哪几种",
]
ABOUT_ONE_OF_A_KIND = [
    "How does the boiler in the cellar get serviced?",
    "What do the hedgehogs get in winter?",
    "What does Dana do?",
    "What do sunflowers stand for according to Caroline?",
    "What is an indoor game that Andrew would enjoy?",
    "Who built the shed?",
    "What's the allergy nurse called?",
    "What do kids need for swimming?",
    "What did a plumber say about the pipe?",
    "How often do bins get emptied?",
    "钢琴课几点开始",
    "热水器怎么停了",
    "阳台上种了哪几种菜",
    "周末一般有什么安排",
]
WORLD = [
    "How often should the filter of a dishwasher be cleaned?",
    "I have always wondered why bread goes stale",
    "唉，电梯又坏了",
    "我一直想不通，海水为什么是咸的",
    "What's the capital of Peru?",
    "Who owns the moon?",
    "Explain photosynthesis to me",
    "Can you tell me how tides work?",
    "Is a tomato a fruit?",
    "鲸鱼是鱼还是哺乳动物",
    "故宫花了多少年建成",
    "秦始皇是哪国人",
    "月亮为什么会发光",
    "什么是区块链",
    "长江有多长",
    "你是谁开发的",
    "写一则失物招领的启事",
]
USERS = [
    "Where are we on the fourth?",
    "What's on the second?",
    "Remind me: coffee or tea?",
    "Can you remind me of the name of the boat?",
    "Where do I live?",
    "What should I cook tonight?",
    "Recommend a novel",
    "Write a poem for my wife",
    "Which laptop do I use at work?",
    "We need a present for Tom",
    "Suggest a restaurant",
    "Plan a weekend away",
    "Which size do I take?",
    "My knee hurts again.",
    "The gym wants my weight, how many kilos is it?",
    "Is a peanut bar okay for me?",
    "What would make a good present for a teacher?",
    "How should we travel to the fair?",
    "Which evening class could I take?",
    "A weekend by the sea, what do you reckon?",
    "How much have I saved?",
    "Which drops is the cat on?",
    "What did the boat go for?",
    "When do the twins start school?",
    "How could we pay for a loft?",
    "门口那家面馆周几休息",
    "猫打的什么针来着",
    "狗吃的什么药",
    "店长什么时候来的",
    "房东几号收租",
    "车多少钱买的",
    "换轮胎花了多少钱",
    "Do the hens need anything in cold weather?",
    "Who plays the cello?",
    "Who plays the drums?",
    "Who's in the army?",
    "Who can repair a bike?",
    "谁在当兵",
    "谁会修电脑",
    "我住哪里",
    "今晚吃什么好",
    "推荐一本书",
    "给我妈写首诗",
    "我穿多大码的鞋",
    "帮我安排周末",
    "幻灯片用哪种字体好",
    "五一去青岛怎么玩",
    "今晚喝粥还是吃面",
    "我对什么过敏",
]


@pytest.mark.parametrize("message", NOTHING)
def test_small_talk_needs_nothing(message):
    assert need(message) == "nothing"


@pytest.mark.parametrize("message", TASKS)
def test_a_task_that_brings_its_material_needs_standing_wishes_at_most(message):
    assert need(message) == "task"


@pytest.mark.parametrize("message", NUMBERS_OF_THE_USER)
def test_dates_and_amounts_in_a_question_about_the_user_make_it_no_sum(message):
    assert need(message) in {"user", "world"}


@pytest.mark.parametrize("message", ABOUT_A_KIND)
def test_a_question_about_a_kind_needs_less_than_one_about_the_world(message):
    assert need(message) in {"world", "kind"}


@pytest.mark.parametrize("message", ABOUT_ONE_OF_A_KIND)
def test_a_question_about_one_of_a_kind_may_be_about_the_users(message):
    assert need(message) in {"user", "world"}


@pytest.mark.parametrize("message", WORLD)
def test_a_fact_of_the_world_needs_little(message):
    assert need(message) in {"world", "kind"}


@pytest.mark.parametrize("message", USERS)
def test_whatever_is_about_the_user_needs_memory(message):
    assert need(message) in NEEDS_USER


@pytest.mark.parametrize(
    ("message", "chooses"),
    [
        ("What ferns would be good for the bathroom?", True),
        ("Where to eat in Ghent?", True),
        ("stuck on what to wear to a wake", True),
        ("What can I bake with these plums?", True),
        ("What goes well with okra?", True),
        ("Talk me through some options for a honeymoon", True),
        ("Which kettle would you go for?", True),
        ("What goes on inside a volcano?", False),
        ("Where is good silver mined?", False),
        ("立夏带我爸去敦煌看沙漠怎么样", True),
        ("骑马上山咋样", True),
        ("我上回考得怎么样", False),
        ("What would you serve a dozen hungry climbers?", True),
        ("Would you read this to me?", False),
        ("Where did we have dinner last time?", False),
        ("And what was that restaurant you suggested?", False),
        ("I was ill last week, what should I eat?", True),
        ("上次给妈妈买了什么礼物？", False),
        ("我订过哪家酒店？", False),
        ("我没去过云南，去哪好？", True),
        ("When do I pick up the twins?", False),
        ("When is my sister's birthday?", False),
        ("When is a good day to visit Mum?", True),
        ("How old will my godson be on his next birthday?", False),
        ("Who is babysitting tomorrow?", False),
        ("几点接孩子买菜", False),
        ("明晚谁会来打牌？", False),
        ("什么时候去西藏最好", True),
        ("奶奶现在吃哪些药", False),
        ("家里哪儿漏水", False),
    ],
)
def test_a_proposal_asks_for_a_choice(message, chooses):
    assert ("content" in wishes_heeded(message, need(message))) is chooses


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ("Tell me how a sundial works", ("manner",)),
        ("How thick is the ice on a rink?", ("measure",)),
    ],
)
def test_an_explanation_heeds_wishes_of_manner_and_a_size_those_of_measure(message, kinds):
    assert need(message) in {"world", "kind"} and wishes_heeded(message, need(message)) == kinds


def test_a_language_without_rules_is_never_kept_quiet():
    assert need("Wie geht es dir heute, und was soll ich kochen?") == "user"


@given(st.text(max_size=300))
def test_any_text_has_one_of_the_needs(text):
    assert need(text) in get_args(Need)


def test_of_a_long_message_the_beginning_and_the_end_say_what_it_needs():
    filler = "The tide came in and went out again along the coast. " * 10
    assert need("Why is the sky blue? What do you know about me? Why is the sea green?") == "user"
    about_me = need(f"Why is the sky blue? {filler}What do you know about me? {filler}Why is the sea green?")
    assert about_me == need(f"Why is the sky blue? {filler}{filler}Why is the sea green?")


HARD = [
    "translate ",
    "forget that ",
    "我",
    "how many a b ",
    "1 + ",
    '"a" ',
    "谢谢",
    "make check turn ",
    "3 cm in ",
    "3 kg how many ",
    "comma ",
    "the a when ",
    "on 3 may 5 ",
]


@pytest.mark.parametrize("piece", HARD)
def test_reading_a_message_takes_time_in_proportion_to_its_length(piece):
    """Eight times as much text takes at most sixteen times as long, wherever its patterns nearly match."""
    short, long = (best_of(lambda text=piece * times: need(text)) for times in (500, 4000))
    assert long <= 16 * short + 0.002


def best_of(call, times=5):
    def seconds():
        begin = time.thread_time()
        call()
        return time.thread_time() - begin

    return min(seconds() for _ in range(times))


@pytest.mark.parametrize("message", REMARKS)
def test_a_statement_asks_for_nothing(message: str) -> None:
    assert remarks(message)


@pytest.mark.parametrize("message", ASKING)
def test_a_request_in_the_form_of_a_statement_asks(message: str) -> None:
    assert not remarks(message)


def test_a_wide_exclamation_mark_ends_a_remark() -> None:
    assert remarks("楼下又在装修！")


@pytest.mark.parametrize(
    "message", ["Ugh!", "Argh, ugh", "Phew.", "Ouch!!", "唉！", "嗐嚯噫嘘唏", "哎呀，啧啧。", "嘘！"]
)
def test_sounds_alone_tell_nothing(message: str) -> None:
    assert need(message) == "nothing"
    assert not remarks(message)
