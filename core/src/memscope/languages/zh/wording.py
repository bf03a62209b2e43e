"""How facts are worded in Chinese."""

from __future__ import annotations

from memscope.imports import pattern
from memscope.languages.wording import Wording

WORDING = Wording(
    plan=pattern(
        r"打算|计划|計劃|准备|準備|考虑|考慮|但愿|希望(?=[能可以后後将將去]{1,2})|想要"
        r"|(?<![思理幻梦夢感])想(?=[换換去搬买買学學辞辭改找当當开開])"
        r"|也许|也許|或许|或許|可能|说不定|說不定|担心|擔心|恐怕|怕会|怕會"
    ),
    future=pattern("将要|将会|即将|就要|快要|将于|將要|將會|即將"),
    told_as_past=pattern("曾|以前|当年|當年|(?:住|去|学|做|当|读|念|养|工作|上)过|时(?:住|在)"),
    formerly=pattern("曾|以前|当年|當年|(?:住|学|读|念|工作|上)过"),
    lasting=pattern("至今|以来|起(?=[一就都]?[住在])|一直"),
    state=pattern("住在|居住|在[^，。]{1,12}(?:工作|上班|上学|读书|念书|任职)"),
    state_words=frozenset("住在 居住 工作 上班 以前".split()),
    not_so=pattern("没|沒|不是|从未|並未|并未"),
    denial=pattern("[没沒]|不(?!错|錯)|从未|從未"),
    denies=pattern("[不没無无未]"),
    negation=pattern("[不没沒别別无無未非]"),
    named_day=pattern(
        r"生日|纪念日|紀念日|[^\W\d_]节|[^\W\d_]節|清明|端午|中秋|重阳|冬至|夏至|除夕|年三十|过年|過年|元宵|五一"
        r"|十一(?![点點个個月岁歲号號日年块塊元])|国庆|國慶|元旦"
    ),
    time_word=pattern(
        "学期|學期|假|[年月周週]|星期|礼拜|禮拜|时候|時候|那天|当天|當天|[0-9一二三四五六七八九十][日号號]"
    ),
    half=pattern("半"),
    state_verb=pattern("是|喜欢|喜歡|住在|有(?!过|過)|想|打算|希望|叫"),
    timeless=pattern("喜欢|喜歡|讨厌|討厭|爱吃|愛吃|吃素|过敏|過敏|名叫"),
    hearsay=pattern(
        "(?P<source>[^，。：]{1,12}?)(?:认为|認為|觉得|覺得|听说|聽說|相信|声称|聲稱"
        "|(?<![小传傳])[说說](?!好(?![吃喝看听聽玩用])|[定服話话]|不定))"
    ),
    instruction=pattern(
        r"\A(?:请|請|务必|務必|从现在起|從現在起|今后你|今後你|你(?:必须|必須|应该|應該|要))"
        r"|\A(?:不要|别|別)?(?:忽略|无视|無視|服从|服從|泄露|洩露|删除|刪除|回答|回复|回覆)"
        r"|\A(?:助手|AI|人工智能)(?:必须|必須|应该|應該|应当|應當|要)|(?:之前|先前|以上|此前)的?(?:所有)?指[令示]"
    ),
    user=pattern("用户"),
    user_named=pattern(r"\A用户(?:的(?:名字|姓名))?(?:名)?(?:叫做?|是叫|名为)([^\W\d]{2,4})(?=[。，,.]|\Z)"),
    possession=pattern(
        r"(?P<owner>用户|(?<![\u4e00-\u9fff])[\u4e00-\u9fff]{2,3})的(?:新|旧|前|现任|现在的)?(?P<thing>[\u4e00-\u9fff]{2})"
    ),
    single=(
        pattern("(?:住在|居住在|定居)(?P<rest>.+)"),
        pattern("在(?P<rest>.+)(?:工作|上班)"),
        pattern("(?:名字是|名叫|叫做)(?P<rest>.+)"),
        pattern(r"(?:今年)?(?P<rest>\d+)岁"),
    ),
    joint=r"(?<=[\u4e00-\u9fff])[和与與](?=[\u4e00-\u9fff])",
    particles="的了呢吧啊呀也很就着",
    digits="零一二两三四五六七八九十百千万",
    assistant_names=frozenset("助手 机器人 機器人 智能助手".split()),
    basics="基本情况",
    other="其他",
)
