"""The words of Chinese: traditional variants, words of time, topics."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from memscope.imports import pattern
from memscope.languages.word_lists import read_alternatives, read_spellings
from memscope.text.language import WordRules

FOLDER = Path(__file__).parent / "data"
alternatives = partial(read_alternatives, FOLDER)

# 有什么证件要换的吗: a question about duties without a subject is about the speaker.
OWN_DUTY = "^\\W*[还還]?有(?:什[么麼]|啥|哪些|[没沒]有)[^，。?？]{0,8}(?:[要得]|[该該]|需要|[没沒忘])"
# 她那间一个月多少来着: both speakers know a thing that is pointed at, or asked about again.
POINTED_AT = "那(?:[个個]?(?=[修卖賣做开開])|[家间間位台辆輛])|[她他]那|[来來][着著]"
# 车多少钱买的, 修车花了多少钱: a purchase without a subject is the speaker's.
OWN_PURCHASE = (
    "(?:[多几幾]少?|什[么麼]|啥|哪)[^，。]{0,6}[买買租订訂]的|[花付交]了?(?:多少|[几幾][个個百千万])[钱錢块塊]"
)
# 下次复查是哪天, 机票订的哪一班, 家长会定在几点, 健身卡还剩几次: errands without a subject are the speaker's.
_ASKED_TIME = "(?:什[么麼][时時]候|啥[时時]候|何[时時]|哪一?[天年日]|[几幾][号號点點月]|[周週星期礼禮拜]+[几幾])"
_ERRANDS = (
    "复[查诊診]|複[查診]|回[诊診]|[体體婚孕年][检檢]|洗牙|手[术術]|化[验驗]|[报報]告|面[试試签簽]|答[辩辯]|入[职職]|家[长長][会會]"
    "|[签簽][证證]|[护護驾駕]照|[证證]件|居住[证證]|身份[证證]|[保质質][修保]|[保养養]{2}|快[递遞]|包裹|[到过過]期|房租|[补補]考|[缴繳交][费費]"
)
OWN_ERRAND = (
    "[上下]一?[次回趟针針](?![^，。?？]{0,6}(?:世界|全球|人[类類]))[^，。?？]{0,8}"
    "[复複检檢查打换換交缴繳洗剪拔看做去考量配买買付修练練约約挂掛还還寄领領]"
    "|[约約订訂定挂掛租改排抽借寄存][^，。?？的到在]{0,2}(?:[的到在]|了(?!什|几年))[^，。?？]{0,6}(?:[几幾哪谁誰啥]|什[么麼]|多少)"
    "|[还還]剩下?(?:多少|[几幾])[次节節天期笔筆块塊钱錢]"
    f"|(?:{_ERRANDS})[^，。?？]{{0,6}}{_ASKED_TIME}(?![^，。?？]*(?:[发發]明|出[现現]|[开開]始|[传傳]入|起源|普及))"
)
# 狗吃的什么药, 店长什么时候来的: people and animals of a household are the user's.
HOUSEHOLD = (
    "(?:狗|[猫貓](?![头頭熊])|[宝寶]{2}|娃|孩子|老公|老婆|房[东東]|店[长長]|老[板闆]|[领領][导導]|[兽獸][医醫])"
    "(?=[^，。能会會]{0,6}(?:的|了|[现現]在|[几幾][点點号號]|[周週][几幾]))"
)
OWN_AFFAIRS = f"{OWN_DUTY}|{OWN_ERRAND}|{OWN_PURCHASE}|{POINTED_AT}|{HOUSEHOLD}"


WORDS = WordRules(
    code="zh",
    script="han",
    time_pattern=pattern(  # begins with a character set, which ``re`` finds quickly
        r"[\d明后後昨前今下上本这這周週期拜十一二三四五六七八九去春冬小国國中端元清除圣聖月年节節腊臘正平跨再重双雙过過]"
        r"(?:(?<=[明后後昨前今])[天日]|(?<=[今昨明])[晚早夜晨儿兒]|(?<=[天周週月期拜年][前后後])|(?<=再)[过過]"
        r"|(?<=[下上本这這])[个個]?(?:周|週|星期|礼拜|禮拜|月)|(?<=[周週期拜])[一二三四五六日末天]"
        r"|(?<=[\d十一二三四五六七八九])[月号號日]|(?<=[明去])年|(?<=[过過])年(?:期[间間]|的[时時]候|那[几幾]天)|(?<=[月年])[底初末中]|(?<=[腊臘正])月"
        r"|(?<=[五六十])一(?![个個月点點岁歲年号號日])|(?<=[双雙])(?:1[12]|十[一二])"
        r"|(?<=春)[节節]|(?<=[国國])[庆慶]|(?<=中)秋|(?<=端)午|(?<=元)[旦宵]|(?<=清)明|(?<=[圣聖])[诞誕]|(?<=重)[阳陽]"
        r"|(?<=冬)至|(?<=[过過])小年|(?<=小)年(?:那天|夜)"
        r"|(?<=除)夕|(?<=七)夕|(?<=[腊臘])八|(?<=平)安夜|(?<=跨)年夜|(?<=年)三十|(?<=大年)[夜初]"
        r"|(?<=[亲親人女树愚动童党军师圣棍恩元年][节節]))"
    ),
    repetition=pattern(
        "[每逢生纪紀周週](?:(?<=[每逢])|(?<=生)日|(?<=[纪紀])念日"
        "|(?<=[周週])[一二三四五六日天](?:[、，和跟]?[周週][一二三四五六日天]){2})"
    ),
    secret_words=("密钥", "秘钥", "私钥"),
    variants=FOLDER / "traditional.txt",
    hesitations=pattern(
        "^\\W*(?:(?:[嗯呃喂哎欸唉]+|那[个個](?=[我你您帮幫嗯就，。 ])|就是(?:[那说說][个個]?)?)[，。 ]*)+"
    ),
    spellings=read_spellings(FOLDER / "spellings.txt"),
    topics=FOLDER / "topics.txt",
    vectors=FOLDER,
)
