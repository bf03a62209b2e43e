"""Lasting statements about oneself in Chinese: by the words near 我, and a few words that need no subject."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from memscope.languages.fact_rules import FactRules
from memscope.languages.zh.introductions import introduced
from memscope.languages.zh.statement_score import statement_scores

_PEOPLE = (
    "老婆|妻子|先生|老公|丈夫|媳[妇婦]|[爱愛]人|[对對]象|女朋友|男朋友|[女男]友|[儿兒]子|女[儿兒]|[闺閨]女"
    "|孩子|小孩|娃|爸|[妈媽]|父[亲親]"
    "|母[亲親]|[爷爺]|奶奶|外公|外婆|姥|阿公|阿[嬷嬤]|哥|姐|弟|妹|[孙孫]|[猫貓]|狗|同桌|室友|[闺閨]蜜|老伴|前任"
)
_NEARBY_WORDS = {
    "name": "(?:的名字)?(?:叫|姓)(?![你他她它了人车車醒])",
    "people": "(?:家|们|們)?(?:的)?(?:那)?[大小二老]?(?:" + _PEOPLE + ")",
    "person": "(?:就|也|其[实實]|本[来來]"
    "|[现現]在)?是(?![说說想觉覺得不否指问問真怕在要来來被因为為了没沒昨今这這那想服醉])"
    "|[^，。]{0,4}[\\d一二三四五六七八九十]+[岁歲]|(?:[单單]身|[结結]婚|[离離]婚|退休|[属屬])",
    "taste": "(?:最|很|特[别別]|超|挺|比[较較]|[还還]是|[从從]小|就|真|一直|也|[蛮蠻]|不太?)*(?:喜[欢歡]"
    "|[爱愛](?!人)|[讨討][厌厭]|怕|恐(?![怕慌])|受不了|偏好|偏[爱愛]|只(?:吃|喝|用|穿|看|听|聽|[买買])|迷)",
    "health": "[^，。]{0,4}不(?:吃|喝|抽|沾)|[^，。]{0,3}(?:碰|吃|喝|沾|[闻聞])不(?:得|了)",
    "home": "(?:们|們)?[^，。]{0,6}(?:(?<![不得记記愣忍停站抓留挡擋拦攔堵困吸稳穩按捂叫对對])住在?(?![了口嘴院])"
    "|搬到|搬[来來]|[来來]自|老家|家在|定居|那[边邊]的)|家",
    "work": "[^，。]{0,6}(?:[离離][职職]|[辞辭][职職]|跳槽|[离離][开開](?!家|的|[时時]|後|后|了[^，。]{0,2}[时時]))"
    "|[^，。]{0,4}(?:(?<![现現正还還存实實])在|于|於)[^，。]{1,14}"
    "(?:工作|上班|教|[读讀]|念|上[学學]|打工|做|[开開]|[当當]|[实實][习習])|是?(?:做|[当當]|干|幹|[开開]|教|唸"
    "|[学學]|念|[读讀]|修|[卖賣]|跑)(?![了完到得过過梦夢好错錯个個起时時初天])",
    "habit": "[^，。]{0,3}(?:每[天周週个個年晚早次逢]|[从從][来來]|一直(?![觉覺]得|以[为為]|[认認]为|在?想)"
    "|[总總]是|[从從]不|平[时時]|[经經]常|永[远遠]"
    "|(?:一次)?[没沒][^，。]{1,6}[过過](?=[，。！,.!了嘛]|$)|[这這](?:一)?[辈輩]子"
    "|[习習][惯慣]|戒|[会會](?:[弹彈]|唱|游泳|[开開][车車]|[骑騎]|做[饭飯菜]|下棋|[写寫]|[画畫]|跳)"
    "|[学練练學]了|(?:弹|彈|拉|唱|打|踢)(?:[^，。]{0,3}(?:琴|鼓|球|音|胡|箫|笛)))",
    "have": "[^，。]{0,3}[开開][^，。]{0,4}[车車]"
    "|(?:家|们|們)?(?:[还還]|也|自己)?(?:有(?![点點些空时時问問事没沒人])|养|養"
    "|[领領收][养養]|[买買捡撿]了[一两兩三几幾](?![下些点點]))",
    "wish": "[^，。]{0,3}(?:想(?:[学學]|考|去|[当當]|做|[开開])|打算|准[备]|準備|[计計][划劃]|希望|[梦夢]想|目[标標])",
}
_CLAUSE = "(?<![^，,。 ])"  # at the beginning of one
PATTERNS_ANYWHERE = {
    "name": "(?:叫|喊)我[^，。]{1,4}(?:就|吧)",
    "person": "(?:今年|都|已[经經]|快|[刚剛])[^，。]{0,4}[\\d一二三四五六七八九十]+[岁歲]"
    "|[回彝藏满滿苗壮壯]族|蒙古族|退下[来來]|退休|我的?生日|自我介[绍紹]|[怀懷]孕",
    "people": _CLAUSE + "(?:老伴|老公|老婆|小[孙孫]女|大娃|二娃|[小大乳学學]名[是叫])",
    "health": "[过過]敏|血[压壓]|血糖|糖尿|哮喘|乳糖|忌口|不能吃|吃素|素食|近[视視]|失眠|偏[头頭]痛|痛[风風]"
    "|吃不了|[腰膝胃][^，。]{0,3}不好|[间間][盘盤]突出|骨[质質]疏[松鬆]|[关關][节節]炎|助[听聽]器"
    "|支架|起搏器|白[内內]障|青光眼|[贫貧]血|甲[亢减減]|冠心病|心[脏臟]病|癫[痫癇]|尿酸|[湿濕]疹|鼻炎|胃炎|[聋聾]|耳背|色[盲弱]|[晕暈][针針血车車船]|起疹|能[吃喝][^，。]{1,8}[吗嗎]",
    "work": "我是(?:做|[干幹])(?:什[么麼]|啥)|[专專][业業]是|[职職][业業]是|入[职職]"
    "|" + _CLAUSE + "(?:[当當][^，。]{1,5}[\\d一二三四五六七八九十]+年|[学學][^，。]{1,6}的(?=[，,。]|$)"
    "|[现現]在(?:[当當]|做|[开開]|跑|[卖賣])(?![完到得过過梦夢好错錯会會]))",
    "habit": "(?:(?<![过過完了])以[后後]|[从從](?:今天|今[往以]|[现現]在).{0,4})"
    ".{0,6}(?:都|[别別]|用|[给給]|[说說]|叫|不)"
    "|^每(?:[天晚早年]|[个個]?(?:[周週]|星期|[礼禮]拜|月))(?![^，。]{0,3}[都人])"
    "|" + _CLAUSE + "(?:[闲閒]下[来來]|[没沒]事|有空|得空|下了?班|周末|週末|放假)(?:就|都|常|[总總]|一般)",
    "home": _CLAUSE + "(?:[来來到在][^，。,]{1,6}(?:第[\\d一二三四五六七八九十]+|[\\d一二三四五六七八九十]+多?)年了"
    "|(?:新|[现現]在的?)家(?:就|[现現]在)?在|[现現]在住|房子?(?:定|[租买買找]好|[买買]|[换換])了)",
    "taste": _CLAUSE + "(?:最近|[这這][阵陣]子?)?(?:迷上|[爱愛]上|沉迷)|再也不(?:[去吃喝坐买買碰看玩]|敢)",
    "have": "家[里裡裏][^，。]{0,4}(?:口人|有|养|養|[来來多添]了)",
}
_WITHOUT_SUBJECT = {  # at the beginning of a clause: 在养老院做护工, 膝盖不太好
    "work": "在(?:[^，。的]{1,12}"
    "(?:上班|工作(?![餐日量])|打工|任[职職]|[实實][习習]|教(?![训訓室育程])|[当當](?![年时時天晚]))"
    "|[^，。]{0,12}[厂廠院店司行局所校部社站地场場馆館](?:[里裡上])?(?:做|[干幹])"
    "(?![了完到得过過饭飯梦夢什啥检檢手体體核治化透康理实實作题題操]))"
    "|(?:[开開](?:出租|网约|網約|滴滴|公交|[货貨大][车車])|[跑送](?:外[卖賣]|快[递遞])"
    "|教(?:[小初高中大幼]|[语語]文|[数數][学學]|英[语語])|(?:做|[干幹搞])[^，。了过過]{1,6}的(?=[，。,.]|$))"
    "|[开開]了[一两兩]?[个個家间間][^，。的]{0,6}(?:店|[馆館铺鋪]|公司|[厂廠]|工作室|[诊診]所)",
    "home": "(?:住在|[租住]在|老家(?:是|在)?)[^，。的了]{2,8}(?=[，。,.]|$)|[^，。]{0,1}从[^，。]{1,6}搬到",
    "people": "有(?:[两兩三][个個]?[^，。]{0,3}(?:娃|孩子|[儿兒]子|女[儿兒]|[闺閨]女)"
    "|[个個][^，。的]{0,3}(?:哥|姐|弟|妹|[儿兒]子|女[儿兒]|[闺閨]女))"
    "|(?:跟|和)(?:爸|[妈媽]|父母|老[婆公伴]|[女男]友|[孩儿兒]子|女[儿兒]|室友)[^，。]{0,2}(?:一起)?住",
    "health": "[左右双雙]?(?:膝|腰|[颈頸]|胃|肩|[脚腳]|腿|眼|耳|[听聽視视]力|心[脏臟]|肺|肝|[肾腎]|手|嗓子|鼻)"
    "(?![机機镜鏡本刹煞工环環线線续續])[^，。]{0,3}"
    "(?:不(?:太|大|怎[么麼])?[好行]|有?[点點]?毛病|做[过過]|[扭拉受][过過]?[伤傷]|[听聽看]不(?:太)?[见見清]|骨折)"
    "|(?:做[过過]|[装裝]了|[怀懷][着著]?)[^，。]{0,6}(?:手[术術]|搭[桥橋]|支架|[孕胎])"
    "|(?:一)?[喝吃闻聞碰][^，。]{1,6}就(?:拉|吐|起|[过過]敏|[头頭]|[肿腫]|[痒癢]|打[喷噴]嚏|睡不[着著])",
    "taste": "(?:最|很|特[别別]|超|挺|一[点點])?"
    "(?:喜[欢歡](?![的你上])|[爱愛][吃喝看听聽玩]|[讨討][厌厭]|不[爱愛喜]|恐高|怕[高黑冷狗蛇虫水吵])"
    "|(?:最|特[别別]|超)[烦煩怕]|吃不[惯慣]",
    "have": "[养養]了?[一两兩三四几幾][只隻条條盆缸]",
    "habit": "戒了?(?:烟|煙|酒|糖|奶茶|咖啡)|(?:早上|每天|天天|晚上)[^，。]{1,4}[点點]半?就[起睡]",
}
_FIRST_LETTERS = (  # the first characters of these: without one the alternatives need not be tried
    "下不专乳二今从以來偏入关刚到剛助叫吃名周哮喊回在壮壯大失学學家專小已当彝得從忌快怀愛懷我放新最有来每沉沒没满滿爱现現當痛糖素老职職胃腰膝自苗蒙藏血"
    "过近这迷退這週過都閒間關闲间骨支起白青贫貧甲冠心癫尿湿濕鼻能聋聾耳色晕暈房再"
)
_PASSING = re.compile(
    "[刚剛]{2}|[刚剛]才|昨天|今早|今晚|有人|大家|[别別]人|[听聽][说說]|看到|[电電]影|新[闻聞]|文章|[广廣]告"
)


@cache
def chinese_patterns() -> tuple[re.Pattern[str], ...]:
    """Return those of statements that begin with "I", and of others."""
    near = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _NEARBY_WORDS.items())
    anywhere = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in PATTERNS_ANYWHERE.items())
    return re.compile(f"[我俺咱](?:{near})"), re.compile(f"(?=[{_FIRST_LETTERS}])(?:{anywhere})")


_WORDS_OF_OTHERS = re.compile("“[^”]{3,}”|「[^」]{3,}」")  # the words of others
_MOVED_HOME = re.compile(  # by nobody else, and no thing
    "(?:^|[，,。 ])[^，。你您他她它把爸妈媽姐哥弟妹友公婆]{0,6}搬(?:到|去|[进進]|[来來]|回)[^，。]{0,6}了"
)
_THEY = (  # somebody of the user's, as the subject of a clause
    "(?<![^，,。 ])(?:[我俺咱](?:们|們|家)?的?)?"
    f"(?:(?P<people>[大小二老]?(?:{_PEOPLE}|岳母|岳父|公公|婆婆|[宝寶]{{2}})[爸妈媽哥姐弟妹母亲親子]?)"
    r"|[小阿老](?![是不想要爱愛觉覺心时時说說])[\u4e00-\u9fff]|([\u4e00-\u9fff])\2|[她他]|老板|老[闆师師]|同事)"
    "(?:就|也|都|又|真|[从從][来來]|一直|[还還]是|[从從]小)?"
)
_THEIR_TASTE = "(?:最|很|特[别別]|超|挺|[还還])?(?:喜[欢歡]|[爱愛][吃喝]|[讨討][厌厭]|怕|受不了)|只(?:吃|喝|穿)"
_THEIR_HEALTH = (
    "不能?[吃喝抽沾碰]|[^，。]{0,3}[碰吃喝沾闻聞爬走]不[得了动動]|很?恐高|[晕暈][车車船血机機]|坐[轮輪]椅|拄"
    "|[^，。]{0,3}(?:腿|[脚腳]|腰|耳朵|眼睛|心[脏臟])[^，。]{0,3}[不背差坏壞]"
)
_OF_THEIRS = re.compile(f"{_THEY}(?:(?P<taste>{_THEIR_TASTE})|(?P<health>{_THEIR_HEALTH}))")  # 爸爸不吃辣, 小吴恐高


_ADVERBS = "(?:目前|[现現]在|如今|[刚剛]|自己|平[时時]|一直|[从從]小|就|也|都|[还還]|真|[这這][几幾]年|[今去]年)"
_ELIDED = re.compile(
    f"{_CLAUSE}{_ADVERBS}{{0,2}}(?:"
    + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _WITHOUT_SUBJECT.items())
    + ")"
)
_ANOTHER = re.compile(  # whose clause a later one without a subject may go on with
    f"{_PEOPLE}|岳父|岳母|[他她它你您]|同事|老板|朋友|大[爷爺妈媽哥姐]|邻居|鄰居|老[师師]|人[家们們]|有[个個]人|客人"
)


_ASKED_NOUN = re.compile(
    "(?:什[么麼]|啥|哪[些种種]|[几幾][辆輛只隻个個种種位])"
    "(?:(?P<health>[药藥病]|毛病|忌口)|(?P<people>[亲親](?:戚|人)|家人|兄弟姐妹|[宠寵]物|口人)|(?P<have>[乐樂]器|[车車]))"
    "|(?P<habit>[爱愛]好(?!者)|消遣|[业業][余餘])"
)
_ASKED_WORDS = re.compile(  # 我的工作是什么, 我多大了
    "[我俺咱][^，。？?]{0,6}?(?:(?P<work>工作|[职職][业業]|[单單]位|哪家公司|[毕畢][业業])|(?P<home>地址|住址|[长長]大)"
    "|(?P<person>[几幾][岁歲]|多大(?!的?[码碼])|年[龄齡纪紀]|信[什甚啥])|(?P<health>血型))"
)
_STANDARD_WORDS = (("啥", "什么"), ("搁", "在"), ("咋", "怎么"), ("稀罕", "喜欢"), ("最烦", "最讨厌"), ("闲了", "平时"))


def _in_standard_words(question: str) -> str:
    for colloquial, standard in _STANDARD_WORDS:
        question = question.replace(colloquial, standard)
    return question


class ChineseFacts(FactRules):
    def kinds(self, sentence: str) -> Iterator[str]:
        if "“" in sentence or "「" in sentence:
            sentence = _WORDS_OF_OTHERS.sub("", sentence)
        if "搬" in sentence and _MOVED_HOME.search(sentence):
            yield "home"
        for one in _OF_THEIRS.finditer(sentence):
            yield from (kind for kind, match in one.groupdict().items() if match)
        for one in _ELIDED.finditer(sentence):
            if not _ANOTHER.search(sentence, 0, one.start()):
                yield one.lastgroup or ""
        yield from introduced(sentence)
        for pattern in chinese_patterns():
            yield from (match.lastgroup or "" for match in pattern.finditer(sentence))

    def asked(self, question: str) -> Iterator[str]:
        yield from self.kinds(_in_standard_words(question))
        for nouns in (_ASKED_NOUN, _ASKED_WORDS):
            yield from (noun.lastgroup or "" for noun in nouns.finditer(question))

    def is_momentary(self, sentence: str) -> bool:
        return _PASSING.search(sentence) is not None

    def scores(self, sentences: Sequence[str], kinds: Sequence[Sequence[str]]) -> Sequence[float]:
        return statement_scores(sentences, kinds)


FACTS = ChineseFacts()
