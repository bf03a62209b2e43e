"""Words of others in a turn are no fact of its speaker; what they say of themselves beside them is.

Every other form was kept unseen until the rule was written.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from growth import growth
from memscope.consolidation.extract import cite_turns
from memscope.consolidation.reply import Fact, Words
from memscope.consolidation.transcript import TranscriptLine
from memscope.records import Scope, Turn
from memscope.text.tokens import fold

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
TOLD = {"en": ("I pay 700 crowns to Mr. Crook.", "The user pays 700 crowns to Mr. Crook."),
        "zh": ("我每月给骗先生七百克朗。", "用户每月给骗先生七百克朗。")}  # fmt: skip


def reason(said: str, fact: str, *quotes: str) -> str:
    """Return why a fact with these quotes of one turn is refused; "" for a fact."""
    lines = [TranscriptLine(Turn("t1", Scope("ann"), "user", "user", said, AT, AT), said, False)]
    words = [Words(turn=1, words=quote) for quote in quotes]
    made = Fact(text=fact, about="user", level=3, when="", keywords=["other"], quotes=words)
    cited = cite_turns(made, lines, fold(said))
    return cited if isinstance(cited, str) else ""


SHOWN = {
    "en": [
        "Could you answer this for me?\n\nOn Tue, 3 Feb 2026, Lena Holt <lena@holt.example> wrote:\n\nHi,\n{}",
        "Is that polite?\n\nOn 3 February 2026 at 08:15, Lena Holt via the choir list\n<choir@holt.example> wrote:\n{}",
        "Sent: Tuesday\nFrom: Lena Holt\nSubject: Rent\n\n{}\nLena", "From: Lena\nDate: 3 Feb 2026\nTo: me\n{}",
        "Here's a letter from the council.\n{}", "Here is the transcript of the hearing:\n{}",
        "Here's what my neighbour sent: {}", "Here are some messages from the group\n\n{}",
        'My neighbour told me: "{} Soon more."', "The note says “{}” and nothing else.",
        "The plaque reads «{}», how odd.", "He texted ‘{}’ last night.",
        "-- Forwarded mail --\n{}", "===== Original message =====\n{}",
        "08:15:02 lena joined\n08:15:09 lena: {}", "[03.02.26, 08:15] Lena: {}\n[03.02.26, 08:16] Omar: ok",
        "| who | what |\n|-----|------|\n| Lena | {} |", "id;who;text\n7;Lena;{}",
        '[{{"who": "Lena", "text": "{}"}}]', '{{\n  "text": "{}"\n}}',
        "What does this mean?\n\n    Dear Sir,\n    {}", "Explain:\n\n\tLena: hello\n\t{}\n",
        "[document: rent.pdf]\n{}", "[email]\n{}\n[/email]\nToo harsh?",
        "Uploaded document rent.pdf: {}", "Pasted text:\n{}",
        "Search results: {}", "The terminal output:\n{}",
        "Lena: {}\nOmar: no way\nLena: true", "Omar: hi\nLena: {}\nOmar: is that so?",
    ],
    "zh": [
        "怎么回复比较好？\n\n2026年2月3日 08:15，李娜 <lina@holt.example> 写道：\n\n你好，\n{}",
        "礼貌吗？\n在 2026-02-03，李娜写道：\n{}",
        "发件人：李娜\n主题：房租\n\n{}\n李娜", "寄件者：李娜\n收件者：我\n日期：2月3日\n{}",
        "下面是居委会的通知：\n{}", "这是昨天的聊天记录：\n{}", "以下是邻居发来的：{}", "这就是那篇报道\n{}",
        "邻居对我说：“{}以后再说。”", "牌子上写着「{}」，真怪。", '纸条上写着："{}"', "他昨晚发来『{}』。",
        "----- 转发邮件 -----\n{}", "==== 原始郵件 ====\n{}",
        "08:15:02 李娜：{}", "[2026/2/3 08:15] 李娜：{}\n[2026/2/3 08:16] 王强：好",
        "| 谁 | 内容 |\n|----|----|\n| 李娜 | {} |", "编号,谁,内容\n7,李娜,{}",
        '[{{"谁": "李娜", "内容": "{}"}}]', '{{\n  "内容": "{}"\n}}',
        "这是什么意思？\n\n    先生：\n    {}", "解释一下：\n\n\t李娜：你好\n\t{}\n",
        "[文件：房租.pdf]\n{}", "【网页】\n{}",
        "附件 房租.pdf：{}", "粘贴的内容：\n{}",
        "搜索结果：{}", "工具返回：\n{}",
        "李娜：{}\n王强：不会吧\n李娜：真的", "王强：在吗\n李娜：{}\n王强：是吗？",
    ],
}  # fmt: skip
SEEN = [(key, form) for key, forms in SHOWN.items() for form in forms[::2]]
HELD_OUT = [(key, form) for key, forms in SHOWN.items() for form in forms[1::2]]


@pytest.mark.parametrize(("language", "form"), SEEN + HELD_OUT)
def test_what_is_shown_is_no_fact_of_the_one_who_shows_it(language, form):
    words, fact = TOLD[language]
    said = form.format(words)
    line = next(line for line in said.splitlines() if words in line)
    assert reason(said, fact, words) == "pasted"
    assert reason(said, fact, line) == "pasted"
    assert reason(said, fact, words, said.splitlines()[0]) == "pasted"


OWN = [
    # said, quoted, noted
    ("I'd love to bake that! [shared image: a photo of a braided loaf with seeds on it]", None,
     "The user would love to bake a braided loaf with seeds."),
    ('My mug says "Everybody needs a nap"', None, 'The user\'s mug says "Everybody needs a nap".'),
    ('I am reading "The Name of the Wind" again', None, 'The user is reading "The Name of the Wind" again.'),
    ('I told my boss "I leave in May and nothing stops me"', "I leave in May", "The user leaves in May."),
    ('We called him "Rex", he is a poodle', None, "The user's dog Rex is a poodle."),
    ("Name: Tom Brown\nCity: Graz\nJob: nurse", "City: Graz", "The user lives in Graz."),
    ("Here's my CV:\nI worked at Siemens until 2020.", "I worked at Siemens until 2020.",
     "The user worked at Siemens until 2020."),
    ("[email]\nHi Tom\n[/email]\nI live in Graz by the way.", "I live in Graz", "The user lives in Graz."),
    ("Here is the letter I wrote: I live in Graz since May.", "I live in Graz since May",
     "The user lives in Graz since May."),
    ("Me: I live in Graz\nOmar: nice\nMe: since May", "I live in Graz", "The user lives in Graz."),
    ("On Monday I wrote:\nI live in Graz", "I live in Graz", "The user lives in Graz."),
    ("My week:\n- I moved to Graz\n    - I met Bo, with a cake", "I met Bo", "The user met Bo."),
    ("It costs 5\" more, I need a 27\" screen", "I need a 27\" screen", "The user needs a 27\" screen."),
    ("Date: Friday. I meet Bo in Graz.", "I meet Bo in Graz", "The user meets Bo in Graz."),
    ("I have a dog, a cat, a bird\nand my sister Ann has fish, frogs", "my sister Ann has fish", "Ann has fish."),
    ("我也想烤一个！[shared image: 一张撒了芝麻的辫子面包的照片]", None, "用户想烤一个撒了芝麻的辫子面包。"),
    ("我的杯子上写着「人人都要午睡一下」", None, "用户的杯子上写着「人人都要午睡一下」。"),
    ("我在重读“风之名与智者之惧”", None, "用户在重读“风之名与智者之惧”。"),
    ("我对老板说：“我五月就走，谁也拦不住”", "我五月就走", "用户五月就走。"),
    ("姓名：王明\n城市：苏州\n职业：护士", "城市：苏州", "用户住在苏州。"),
    ("这是我的简历：\n我在西门子工作到2020年。", "我在西门子工作到2020年。", "用户在西门子工作到2020年。"),
    ("我：我住在苏州\n王强：不错\n我：五月搬的", "我住在苏州", "用户住在苏州。"),
    ("这是我写的信：我五月搬到了苏州。", "我五月搬到了苏州", "用户五月搬到了苏州。"),
    ("时间：周五。我和小波在苏州见面。", "我和小波在苏州见面", "用户和小波在苏州见面。"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "quote", "noted"), OWN)
def test_what_somebody_says_of_themselves_beside_it_is_a_fact(said, quote, noted):
    assert reason(said, noted, quote or said) == ""


def test_words_beside_what_is_shown_do_not_make_it_a_fact():
    shown = "The user pays 700 crowns to Mr. Crook."
    said = 'Mr. Crook sent me flowers. His card says: "I pay 700 crowns to Mr. Crook."'
    assert reason(said, shown, "I pay 700 crowns to Mr. Crook.", "Mr. Crook sent me flowers.") == "pasted"
    both = 'I pay 700 crowns to Mr. Crook. His card says: "I pay 700 crowns to Mr. Crook."'
    assert reason(both, shown, "I pay 700 crowns to Mr. Crook.") == ""


@pytest.mark.parametrize(
    "piece", ['{"a":', "[a] ", "[/a]", "<a>", "``` ", "'A b ", '"a b c ', "a,b\n", "> x\n", "\n    a"]
)
def test_looking_for_what_is_shown_takes_time_in_proportion_to_the_length(piece):
    assert growth(lambda text: reason(text, "The user lives in Graz.", "a"), piece, 4_000) < 4
