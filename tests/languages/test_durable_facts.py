"""Lasting statements about oneself, told from passing remarks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.languages import get, read_lists
from memscope.languages.durable_facts import KIND_TERMS, asked_kinds, durable_terms, kinds, statement_weight
from memscope.languages.en import facts as english
from memscope.languages.zh.facts import PATTERNS_ANYWHERE, chinese_patterns

LISTS = read_lists(Path(english.__file__).parent / "data" / "fact_words.txt").values()
WORDS = {part for words in LISTS for word in words for part in (word, *word.split("-"))}
FURTHER = "big huge massive lifelong not no much single full-time stay proud mum mom dad mother father parent".split()
BEFORE = ("", "just still ", "just still blue grey ")
BEHIND = ("", " much of a fan", " fan", " at home dad to one", " to one", " kids", " a bakery", " up in Oslo", " knees")


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("My name is Ada.", "name"),
        ("I start at the Horizon school on Monday", "work"),
        ("Starting at Lidl next week!", "work"),
        ("Monday's my first day at Tesco.", "work"),
        ("I've just joined a small studio called Pixel Barn", "work"),
        ("I've been promoted to shift lead", "work"),
        ("我下周一去比亚迪报到", "work"),
        ("我升主管了", "work"),
        ("我被调到杭州分公司了", "work"),
        ("我考上公务员了，在税务局", "work"),
        ("我和媳妇开了个早餐铺", "work"),
        ("我的领导姓贺，人还行", "people"),
        ("Hi, I'm Rosalind.", "name"),
        ("I am a nurse.", "person"),
        ("We're Hindu at home.", "person"),
        ("I get terribly seasick.", "health"),
        ("I only wear black.", "habit"),
        ("Crowds stress me out.", "taste"),
        ("Garlic makes me ill.", "taste"),
        ("Heights terrify me.", "taste"),
        ("(terrifies me every time)", "taste"),
        ("Needles worry me", "taste"),
        ("Give me an aisle seat, turbulence worries me.", "taste"),
        ("I'm vegetarian.", "health"),
        ("I live in Oslo.", "home"),
        ("I really love opera.", "taste"),
        ("I can't stand coriander.", "taste"),
        ("I never drink coffee.", "health"),
        ("I don't eat fish.", "health"),
        ("I can't wear wool.", "health"),
        ("We don't do heights.", "taste"),
        ("I never learned to ski", "taste"),
        ("Never learned to whistle.", "taste"),
        ("Still can't do stairs", "health"),
        ("no shellfish for us, please", "taste"),
        ("My wife Ben paints.", "people"),
        ("our old dog is called Rex", "people"),
        ("I've got two boats.", "have"),
        ("I work in a bakery", "work"),
        ("We divorced in 2024", "person"),
        ("We run every Sunday", "habit"),
        ("I left Arup last week and started at Foster.", "work"),
        ("I joined the fire brigade", "work"),
        ("retired last friday after 31 years with the railroad", "work"),
        ("been restoring an old tractor", "habit"),
        ("im a plumber", "person"),
        ("my staffy Biscuit ate an avocado", "people"),
        ("first week as an apprentice sparky", "work"),
        ("ive got two cats", "have"),
        ("I've just started as a paramedic.", "work"),
        ("I'm now a triage nurse", "work"),
        ("I switched to oat milk", "habit"),
        ("Dad's birthday is in May", "people"),
        ("Dad can't eat gluten any more", "health"),
        ("Actually Nan doesn't drink", "health"),
        ("My youngest won't touch vegetables", "taste"),
        ("Rohan hates mushrooms", "taste"),
        ("Tom's allergic to penicillin", "health"),
        ("She's vegetarian", "health"),
        ("Ida is nut-free now", "health"),
        ("Pacemaker since May, works fine", "health"),
        ("爸爸去年装了支架", "health"),
        ("爸爸不吃辣", "health"),
        ("那家店我再也不去了", "taste"),
        ("Never again with Ryanair", "taste"),
        ("Chess fills my spare time", "habit"),
        ("房子租好了，在中和", "home"),
        ("女儿怕狗", "taste"),
        ("奶奶坐轮椅", "health"),
        ("小吴不喝酒", "health"),
        ("小名叫汤圆，大名陆一鸣", "people"),
        ("两周前搬到上海了", "home"),
        ("新家在徐汇", "home"),
        ("现在住朝阳区", "home"),
        ("每周二晚上上法语课", "habit"),
        ("我叫小明", "name"),
        ("我是护士。", "person"),
        ("我在北京上班", "work"),
        ("我住在上海。", "home"),
        ("我喜欢跑步", "taste"),
        ("我不吃香菜", "health"),
        ("我對花生過敏", "health"),
        ("我的猫叫豆豆", "people"),
        ("我有两个孩子", "have"),
        ("我不会开车", "habit"),
        ("我上周离开华为，去了小米。", "work"),
        ("我们领养了一只灰猫", "have"),
        ("家里又来了一只橘猫", "have"),
        ("来温哥华第六年了", "home"),
        ("最近迷上飞盘", "taste"),
        ("闲下来就钓鱼", "habit"),
        ("现在跑网约车先顶着", "work"),
        ("当邮差八年了", "work"),
        ("大二，学物理的，天天做题", "work"),
        ("Crook knees, so anything with jumping is out.", "health"),
        ("Terrible hearing since the blast", "health"),
        ("Lactose intolerant here.", "health"),
        ("Severe asthma, so no cats", "health"),
        ("Got a pacemaker in 2019.", "health"),
        ("Got a twin sister in Perth.", "people"),
        ("Two kids, seven and four.", "people"),
        ("Single dad of three, always tired", "people"),
        ("Got a campervan.", "have"),
        ("Widowed since 2019", "person"),
        ("Live above a chip shop.", "home"),
        ("Still living in Oslo", "home"),
        ("Grew up in Cork.", "home"),
        ("Work from home on Fridays.", "work"),
        ("Run a bakery in Leith.", "work"),
        ("Hate coriander.", "taste"),
        ("Huge Arsenal supporter", "taste"),
        ("Swim on Tuesdays", "habit"),
        ("Gave up sugar in January.", "habit"),
        ("Can't have dairy, it goes right through me.", "health"),
        ("I've sworn off lifts", "taste"),
        ("We've decided to stop flying.", "taste"),
        ("I only drink decaf.", "taste"),
        ("I have to avoid salt.", "health"),
        ("I'm not supposed to lift anything heavy.", "health"),
        ("I'm not allowed shellfish.", "health"),
        ("I am not allowed dairy.", "health"),
        ("My hands shake in the morning", "health"),
        ("My left shoulder's frozen.", "health"),
        ("The missus can't walk far", "health"),
        ("Wasp stings could kill me.", "taste"),
        ("Musicals aren't my thing.", "taste"),
        ("Hi, I'm Rosalind, I shear sheep in Dumfries.", "work"),
        ("我是零零后，在龙华的电子厂做线长", "work"),
        ("九零年的，在养老院做护工", "work"),
        ("目前在杭州一家公司当会计", "work"),
        ("刚毕业，在一家律所实习", "work"),
        ("开出租的，夜班多", "work"),
        ("自己开了个小面馆", "work"),
        ("住在老城区，没电梯", "home"),
        ("刚从成都搬到苏州", "home"),
        ("有两个娃，大的上初中", "people"),
        ("跟爸妈一起住", "people"),
        ("膝盖不太好，爬楼费劲", "health"),
        ("左耳听不见", "health"),
        ("一喝牛奶就拉肚子", "health"),
        ("从小就恐高", "taste"),
        ("特别爱吃榴莲", "taste"),
        ("养了两只猫", "have"),
        ("戒烟三年了", "habit"),
        ("我这人不爱吃甜的", "taste"),
        ("没事儿就爱去江边遛弯", "taste"),
        ("我爹在砖窑干了一辈子", "people"),
        ("女儿在苏州念大学", "people"),
        ("儿子小学三年级了", "people"),
        ("可乐喝了胃疼", "health"),
        ("我家三只鹅看门", "have"),
        ("我们家没电梯，住五楼", "home"),
    ],
)
def test_what_lasts(sentence: str, kind: str) -> None:
    assert kind in kinds(sentence)
    assert KIND_TERMS[kind] in durable_terms(sentence)[0]


@pytest.mark.parametrize(
    "sentence",
    [
        "I'm a bit tired.",
        "Tom starts at Ford on Monday.",
        "My first day at the beach was great.",
        "The meeting starts at six.",
        "我把闹钟调到六点了",
        "我去报到处问了",
        "我提了个问题",
        "I have a question.",
        "Give me a synonym.",
        "It makes me laugh.",
        "Does this keep me busy, let's see",
        "I get the bus at six.",
        "Quit it!",
        "my last Sunday",
        "Been a while",
        "Never mind!",
        "Never trust a thin cook.",
        "Can't wait for Friday",
        "No problem for me",
        "现在开会",
        "I yawned all day.",
        "The bus was late again.",
        "Do I live in Oslo?",
        "I'm Sorry",
        "I have an idea",
        "I have a theory about trains",
        "今天下雨了",
        "我是说明天再看",
        "我有点累",
        "我当时愣住了",
        "我一直觉得这椅子不错",
        "我现在看到广告就开始头疼",
        "我是否满意没人问",
        "I keep sneezing",
        "I can't do Thursdays",
        "Jo can't come on Friday",
        "It doesn't like me",
        "Everyone loves a sale",
        "The printer hates me",
        "The stent market is growing",
        "Got a parking ticket",
        "Got soaked on the way home.",
        "Bad back pass by the keeper, one nil.",
        "Two kids on the bus were singing.",
        "Half of the members have left.",
        "Single malt is overrated.",
        "Grew up to be president, the boy in the story",
        "Used to be a cinema, that building",
        "Working from the café today, wifi is awful",
        "Run a quick check on this.",
        "Love this song",
        "Live music next door all night",
        "老是不吃早饭",
        "在公司门口等了半天车",
        "在店里做了个指甲",
        "在医院做检查",
        "耳机不行，听不清",
        "有个人在楼下唱歌",
        "邻居年轻，住在老城区",
        "同事年轻，在银行做柜员",
        "他上周搬去北京了",
        "把桌子搬到楼上了",
        "每天都下雨",
        "我住在哪里？",
        "最后一个走的是我妈",
        "我家门铃又响了",
        "这双鞋可以退休了",
        "我怕来不及",
        "我是笑着出来的",
        "我吃不了这么多",
        "儿子把杯子打了",
        "",
        "I've stopped at the services for a coffee.",
        "I can't have him over on Sunday.",
        "My hands are full, call you later.",
        "The meeting is not my thing to chair.",
        "You could kill me for asking.",
        "does anyone actually like brunch",
        "random q is oat milk ok to freeze",
    ],
)
def test_what_passes(sentence: str) -> None:
    assert not kinds(sentence) and statement_weight(sentence) == 0


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What do I do for a living?", "work"),
        ("我住哪儿？", "home"),
        ("我现在开什么车？", "have"),
        ("Can I take ibuprofen?", "health"),
        ("So can Tom have nuts", "health"),
        ("周诚能吃阿莫西林吗", "health"),
        ("What can't I eat?", "health"),
        ("Which medicines do I take?", "health"),
        ("What are my hobbies?", "habit"),
        ("What do I do for fun?", "habit"),
        ("Where'm I living now?", "home"),
        ("我吃的啥药？", "health"),
        ("我平时有什么消遣？", "habit"),
        ("我搁哪儿上班来着？", "work"),
        ("What's my profession?", "work"),
        ("How old am I?", "person"),
        ("What medication am I on?", "health"),
        ("Do we have any kids?", "people"),
        ("What's my home address?", "home"),
        ("我的工作是什么", "work"),
        ("我多大了", "person"),
        ("我的地址是什么", "home"),
    ],
)
def test_a_question_asks_for_one_kind(question: str, kind: str) -> None:
    assert asked_kinds(question) == {kind}


def test_a_question_that_tells_by_the_way_states_its_kind() -> None:
    for text in ("Do I have to tell the DVLA about my epilepsy?", "我有癫痫考驾照要申报吗"):
        assert KIND_TERMS["health"] in durable_terms(text)[0] and "health" in kinds(text)
    assert not durable_terms("When did they find my epilepsy?")[0] and not kinds("我有没有癫痫？")


def test_training_is_work_only_for_a_trade() -> None:
    assert "work" in kinds("I'm training as a pilot") and "work" not in kinds("I'm training for a marathon")


def test_more_kinds_tell_more_and_the_moment_less() -> None:
    assert (
        statement_weight("My name is Ada and I live in Oslo")
        > statement_weight("My name is Ada")
        > statement_weight("I want to rest")
    )
    assert statement_weight("I love this") > statement_weight("I love what someone did yesterday")
    assert statement_weight("我喜欢狗") > statement_weight("昨天我喜欢的狗走了")


@pytest.mark.parametrize("before", ["", "(", "_", "é", "Well - ", "Anna's here: "])
@pytest.mark.parametrize("own", ["I live", "WE LIVE", "my home is"])
def test_one_s_own_words_are_seen_wherever_they_stand(before: str, own: str) -> None:
    assert "home" in kinds(f"{before}{own} in Oslo")


@given(st.data())
@pytest.mark.parametrize("kind", PATTERNS_ANYWHERE)
def test_no_chinese_rule_begins_with_another_character(kind: str, data: st.DataObject) -> None:
    told = data.draw(st.from_regex(PATTERNS_ANYWHERE[kind]))
    assert chinese_patterns()[1].search(told)


class _Everything(frozenset[str]):
    def isdisjoint(self, other: object, /) -> bool:
        return False


def test_no_statement_without_i_begins_with_other_words_than_the_openers(monkeypatch: pytest.MonkeyPatch) -> None:
    openers = {f"{stem}{end}" for word in (*WORDS, *FURTHER) for stem in (word, word[:-1]) for end in ("", "ing")}
    openings = [f"{before}{word}{behind}" for before in BEFORE for word in openers for behind in BEHIND]
    facts = get("en").facts
    read = [list(facts.kinds(opening)) for opening in openings]
    monkeypatch.setattr(english, "OPENERS", _Everything())
    assert read == [list(facts.kinds(opening)) for opening in openings]


def test_an_age_behind_somebody_else_is_theirs() -> None:
    assert "person" not in kinds("儿子还小，刚五岁") and "person" in kinds("刚满五十岁")


def test_a_trade_behind_somebody_else_s_family_name_is_theirs() -> None:
    assert "work" not in kinds("楼上那位姓罗，教数学的") and "work" in kinds("教数学的，罗山人")
