"""Find lasting statements about oneself, the contents of a profile, in English and Chinese.

English goes by words: the verb after "I", the noun after "my", the words after "I am". Chinese goes by the words near
我, and a few words that need no subject. Each kind of statement has a weight. Units of the user's turns carry a term
per kind (``text.telling.marks``), so that one search in any store finds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from memscope.text.language import has_cjk
from memscope.text.statements import is_question, sentences
from memscope.text.stemmer import stem
from memscope.text.terms import term
from memscope.text.topics import names as topic_names
from memscope.text.topics import topics_of_words

WEIGHTS = {
    "name": 5.0, "person": 3.0, "home": 3.0, "work": 3.0, "people": 3.0, "health": 4.0, "taste": 3.0, "habit": 2.0,
    "have": 2.0, "wish": 1.5,
}  # fmt: skip
PASSING = 1.5  # subtracted from a weight for a word of the moment
MARKS = {kind: term(f"\0{kind}") for kind in WEIGHTS}  # NUL: no word of a text has it
TOLD = term("\0told")  # by ``text.telling``, of whatever kind
SERIOUS = term("\0serious")  # an observation of level 3, an insight
LASTING = term("\0lasting")  # beside any other of them
PROFILE_TERMS: tuple[int, ...] = (*MARKS.values(), TOLD, SERIOUS)


def _words(**kinds: str) -> dict[str, str]:
    return {word: kind for kind, words in kinds.items() for word in words.split()}


# ---------------------------------------------------------------------------------------------------------- English

_VERBS = _words(
    home="live lived grew moved emigrated settled",
    work="""work worked teach taught study studied run own manage sell design repair build drive train graduated
        retired nurse volunteer freelance code coach sell breed joined resigned""",
    taste="like love hate adore prefer enjoy dislike detest loathe fear can't-stand don't-mind",
    habit="""always never usually often quit stopped started play swim collect speak paint bake sing dance knit cycle
        climb hike box fish garden meditate jog practise practice keep used-to gave-up no-longer brew sew weave carve
        only-use only-buy only-drink only-eat only-wear""",
    health="""can't-eat can't-drink can't-have can't-do can't-digest can't-tolerate can't-hear can't-swim don't-eat
        don't-drink don't-smoke don't-drive never-eat never-drink never-smoke snore stutter stammer""",
    wish="want plan hope dream intend aim",
    name="go-by",
    person="turned turn married divorced separated adopted retired-from",
)
_NOUNS = _words(
    name="name nickname surname",
    person="birthday",
    home="flat apartment house home hometown village garden allotment balcony farm street",
    work="""job work shop company business studio thesis degree office school bakery practice career team shift shifts
        clients students pupils patients class colleagues""",
    people="""wife husband partner girlfriend boyfriend fiance fiancee spouse ex mum mom mother dad father parents son
        daughter sons daughters kid kids child children twins baby toddler teenager brother sister brothers sisters
        sibling siblings grandmother grandma nan gran granny grandfather grandad granddad grandpa aunt auntie uncle
        cousin niece nephew grandson granddaughter grandchild grandchildren grandkids in-laws flatmate roommate
        neighbour neighbor friend boss eldest youngest firstborn dog cat dogs cats puppy kitten horse pony parrot rabbit
        hamster tortoise pet pets hens chickens bees family""",
    health="knee knees back heart eyes hip hips doctor medication allergy allergies asthma diabetes migraine migraines",
    taste="favourite favorite",
    have="car bike boat van camper piano guitar violin cello camera hives collection motorbike",
    wish="goal dream plan target",
)
_STATES = _words(
    person="""a an the based born married divorced single engaged widowed pregnant left-handed right-handed colorblind
        colour-blind deaf blind bilingual half""",
    home="from",
    work="retired studying working",
    health="vegan vegetarian diabetic allergic intolerant asthmatic lactose",
    taste="into afraid scared terrified fond obsessed keen crazy addicted",
    name="called",
    habit="training",
    wish="learning saving planning preparing applying",
)
_TOPICS = _words(  # everyday topics of a noun after "my"
    people="parents siblings children partner family pets dogs cats friends",
    health="allergy illness injury medicine",
    have="instruments vehicles",
    work="professions",
)
_STANDING = re.compile(r"\bfrom (?:now|today|this (?:day|moment)) (?:on|onwards?|forward)\b")
_ALONE = _words(
    health="""allergic allergy allergies intolerant intolerance asthma diabetes diabetic coeliac celiac
        migraines epilepsy arthritis insomnia adhd dyslexia dyslexic vegetarian vegan halal kosher gluten-free
        lactose-free sugar-free wheelchair prosthesis implant insulin inhaler"""
)
_ADVERBS = frozenset(
    """really absolutely just also still do usually mostly only now actually so very terribly originally already not
    honestly currently truly quite""".split()
)
_HARMLESS = frozenset(
    """bit little lot mess idiot fool moment few question feeling look idea hunch go point theory suspicion opinion
    thought weakness chance plan""".split()
)
_WORD = re.compile(r"[a-z0-9]+(?:[-'][a-z]+)*")
_NAMED = re.compile(r"I(?<!\wI)(?:'m|’m| am) (?!Not|Sorry|OK|Ok)[A-ZÀ-Þ][^\W\d_]+(?=[\s,.!;)]|$)")
_LEFT = re.compile(r"\bI(?:'ve|’ve| have)?(?: just| finally| recently)? left (?=[A-ZÀ-Þ])")  # a firm or a place
_CALLED = re.compile(  # "my staffy Biscuit"
    r"\b(?:[Mm]y|[Oo]ur) (?!whole|last|next|first|usual|favou?rite|new|old)[a-z]+ "
    r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)[A-ZÀ-Þ][a-zß-ÿ]+\b"
)
_FEELING = (  # verbs of feeling with the one who feels as their object, and causatives
    "give|make|put|keep|send|drive|annoy|bore|bother|calm|confuse|depress|disgust|disturb|drain|exhaust|fascinate"
    "|frighten|infuriate|inspire|intimidate|irritate|kill|overwhelm|relax|scare|soothe|stress|thrill|tire|trigger|unnerve"
    "|upset|wreck"
)
_AFFECTS = re.compile(  # "crowds stress me out", "milk makes me ill": no request such as "give me a word"
    rf"(?:(?<!\bthi)(?<![ui'])s|\bpeople|\bchildren) (?:{_FEELING}|terrify|worry) me\b"
    rf"|(?<!\bit )(?<!\bthat )(?<!\bthis )(?<!\bwhich )(?<!\bwho )\b(?:(?:{_FEELING})s|terrifies|worries) me\b"
)
_BEGUN = re.compile(r"\b(?:first|second|third|last) (?:day|week|month|year) as an? ")  # "first week as an apprentice"
_PASSING = frozenset(
    """tonight yesterday earlier think guess wonder mean suppose reckon someone somebody everyone moment""".split()
)


def _english(sentence: str) -> Iterator[str]:
    folded = sentence.lower().replace("’", "'")
    if ("im" in folded or "ive" in folded) and _CONTRACTED.search(folded):
        folded = _CONTRACTED.sub(r"\1'\2", folded)
    words = _WORD.findall(folded) if _MAY_OWN.search(folded) else []
    own = [at for at, word in enumerate(words) if word in _OWN]
    for at in own:
        yield from _after(words[at], words[at + 1 : at + 6])
    if not own and (match := _ELLIPTIC.match(folded)):  # "Retired last Friday." "Been restoring a tractor."
        yield _VERBS.get(match[1] or "", "habit")
    if " me" in folded and _AFFECTS.search(folded):
        yield "taste"
    if own and _NAMED.search(sentence):
        yield "name"
    if own and " left " in sentence and _LEFT.search(sentence):
        yield "work"
    if own and ("my " in folded or "our " in folded) and _CALLED.search(sentence):
        yield "people"
    if " as a" in folded and _BEGUN.search(folded):
        yield "work"
    if "from " in folded and _STANDING.search(folded):
        yield "habit"
    if "for a living" in folded:
        yield "work"
    if own:
        yield from (_ALONE[word] for word in words if word in _ALONE)
        yield from ("habit" for word, following in pairwise(words) if word == "every" and following in _REGULAR)


_CONTRACTED = re.compile(r"\b(i)(m|ve)\b")
_ELLIPTIC = re.compile(
    r"\W*(?:(?:just|finally|recently|also|and|so|got) )*"
    r"(?:(moved|retired|graduated|emigrated|settled|married|divorced|separated|adopted|joined|resigned|quit)\b(?! it\b)"
    r"|been \w+ing\b)"
)
_OWN = frozenset("i we i'm we're i've we've my our".split())
_MAY_OWN = re.compile("[iwmo](?<![a-z0-9].)(?:(?<=i)|e|y|ur)(?![a-z0-9])")
_REGULAR = frozenset(
    """day morning evening night week weekend second other month year summer winter monday tuesday wednesday thursday
    friday saturday sunday""".split()
)


def _after(own: str, following: list[str]) -> Iterator[str]:
    if own in ("my", "our"):
        yield from [kind for word in following[:3] if (kind := _noun(word))][:1]
        return
    told = [word for word in following if word not in _ADVERBS]
    if told[:1] == ["am"] or told[:1] == ["are"]:
        own, told = "i'm", told[1:]
    kind = ""
    if own in ("i'm", "we're"):
        kind = _state(told)
    elif own in ("i've", "we've") or told[:1] == ["have"]:
        kind = _possession([word for word in told if word not in ("have", "got")])
    elif told[:1] == ["get"]:
        kind = _ailment(told[1:4])
    elif told:
        passing = told[0] in ("keep", "kept") and told[1:] and told[1].endswith("ing")  # "I keep yawning"
        forms = ("-".join(following[:2]), "-".join(told[:2]), told[0])  # "only-wear" before "wear"
        kind = "" if passing else next((_VERBS[form] for form in forms if form in _VERBS), "")
    if kind:
        yield kind
    if _trade(own, told):
        yield "work"


def _trade(own: str, told: Sequence[str]) -> bool:
    """Returns whether one says what one is by profession: "I'm now a triage nurse", "I've started as a paramedic"."""
    articles = [at for at, word in enumerate(told) if word in ("a", "an")][:1]
    named = any((at == 0 and own in ("i'm", "we're")) or told[at - 1 : at] == ["as"] for at in articles)
    return named and any(_profession(word) for at in articles for word in told[at + 1 : at + 4])


@lru_cache(maxsize=1 << 12)
def _profession(word: str) -> bool:
    return bool(topics_of_words([stem(word)]) >> topic_names().index("professions") & 1)


@lru_cache(maxsize=1 << 12)
def _noun(word: str) -> str:
    """Returns the kind of somebody or something of one's own: ``my brother's``, ``my greyhound``."""
    bare = word.removesuffix("'s")
    found = topics_of_words([stem(bare)])
    return _NOUNS.get(bare) or next((kind for topic, kind in _topic_kinds().items() if found >> topic & 1), "")


@cache
def _topic_kinds() -> dict[int, str]:
    return {topic_names().index(topic): kind for topic, kind in _TOPICS.items()}


def _ailment(words: list[str]) -> str:
    """Returns the kind of "I get travel-sick", "I get bad migraines"."""
    ill = any(word.endswith("sick") or (_noun(word) == "health" and word != "doctor") for word in words)
    return "health" if ill else ""


def _state(told: list[str]) -> str:
    if not told or _HARMLESS & set(told[:3]):
        return ""
    return _STATES.get(told[0]) or ("person" if told[0].isdigit() else _being(told[0]))


@lru_cache(maxsize=1 << 12)
def _being(word: str) -> str:
    """Returns the kind of what one is by belief, descent or diet: "we're Hindu"."""
    found = topics_of_words([stem(word)])
    return next((kind for topic, kind in _being_kinds().items() if found >> topic & 1), "")


@cache
def _being_kinds() -> dict[int, str]:
    return {topic_names().index(topic): kind for topic, kind in _words(person="religion origin", health="diet").items()}


def _possession(told: list[str]) -> str:
    counted = told[:1] and (told[0] in ("a", "an", "two", "three", "four", "five", "six", "no") or told[0].isdigit())
    return "have" if counted and not _HARMLESS & set(told[:3]) else ""


# ---------------------------------------------------------------------------------------------------------- Chinese

_PEOPLE_ZH = (
    "老婆|妻子|先生|老公|丈夫|媳[妇婦]|[爱愛]人|[对對]象|女朋友|男朋友|[女男]友|[儿兒]子|女[儿兒]|[闺閨]女"
    "|孩子|小孩|娃|爸|[妈媽]|父[亲親]"
    "|母[亲親]|[爷爺]|奶奶|外公|外婆|姥|阿公|阿[嬷嬤]|哥|姐|弟|妹|[孙孫]|[猫貓]|狗|同桌|室友|[闺閨]蜜|老伴|前任"
)
_NEAR = {
    "name": "(?:的名字)?(?:叫|姓)(?![你他她它了人车車醒])",
    "people": "(?:家|们|們)?(?:的)?(?:那)?[大小二老]?(?:" + _PEOPLE_ZH + ")",
    "person": "(?:就|也|其[实實]|本[来來]"
    "|[现現]在)?是(?![说說想觉覺得不否指问問真怕在要来來被因为為了没沒昨今这這那想服醉])"
    "|[^，。]{0,4}[\\d一二三四五六七八九十]+[岁歲]|(?:[单單]身|[结結]婚|[离離]婚|退休|[属屬])",
    "taste": "(?:最|很|特[别別]|超|挺|比[较較]|[还還]是|[从從]小|就|真|一直|也|[蛮蠻]|不太?)*(?:喜[欢歡]"
    "|[爱愛](?!人)|[讨討][厌厭]"
    "|怕|恐(?![怕慌])|受不了|偏好|偏[爱愛]|只(?:吃|喝|用|穿|看|听|聽|[买買])|迷)",
    "health": "[^，。]{0,4}不(?:吃|喝|抽|沾)|[^，。]{0,3}(?:碰|吃|喝|沾|[闻聞])不(?:得|了)",
    "home": "(?:们|們)?[^，。]{0,6}(?:(?<![不得记記愣忍停站抓留挡擋拦攔堵困吸稳穩按捂叫对對])住在?(?![了口嘴院])"
    "|搬到|搬[来來]|[来來]自|老家|家在|定居|那[边邊]的)|家",
    "work": "[^，。]{0,6}(?:[离離][职職]|[辞辭][职職]|跳槽|[离離][开開](?!家|的|[时時]|後|后|了[^，。]{0,2}[时時]))"
    "|[^，。]{0,4}(?:(?<![现現正还還存实實])在|于|於)[^，。]{1,14}"
    "(?:工作|上班|教|[读讀]|念|上[学學]|打工|做|[开開]|[当當]"
    "|[实實][习習])|是?(?:做|[当當]|干|幹|[开開]|教|唸"
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
ANYWHERE = {
    "name": "名字(?:是|叫)|(?:叫|喊)我[^，。]{1,4}(?:就|吧)",
    "person": "(?:今年|都|已[经經]|快|[刚剛])[^，。]{0,4}[\\d一二三四五六七八九十]+[岁歲]"
    "|[回彝藏满滿苗壮壯]族|蒙古族|退下[来來]|退休"
    "|我的?生日|自我介[绍紹]|[怀懷]孕",
    "people": _CLAUSE + "(?:老伴|老公|老婆|小[孙孫]女|大娃|二娃)",
    "health": "[过過]敏|血[压壓]|血糖|糖尿|哮喘|乳糖|忌口|不能吃|吃素|素食|近[视視]|失眠|偏[头頭]痛|痛[风風]"
    "|吃不了|[腰膝胃][^，。]{0,3}不好|[间間][盘盤]突出|骨[质質]疏[松鬆]|[关關][节節]炎|助[听聽]器",
    "work": "[专專][业業]是|[职職][业業]是|入[职職]"
    "|" + _CLAUSE + "(?:[当當][^，。]{1,5}[\\d一二三四五六七八九十]+年|[学學][^，。]{1,6}的(?=[，,。]|$)"
    "|[现現]在(?:[当當]|做|[开開]|跑|[卖賣])(?![完到得过過梦夢好错錯会會]))",
    "habit": "(?:(?<![过過完了])以[后後]|[从從](?:今天|今[往以]|[现現]在).{0,4})"
    ".{0,6}(?:都|[别別]|用|[给給]|[说說]|叫|不)"
    "|^每(?:[天晚早年]|[个個]?(?:[周週]|星期|[礼禮]拜|月))(?![^，。]{0,3}[都人])"
    "|" + _CLAUSE + "(?:[闲閒]下[来來]|[没沒]事|有空|得空|下了?班|周末|週末|放假)(?:就|都|常|[总總]|一般)",
    "home": _CLAUSE + "(?:[来來到在][^，。,]{1,6}(?:第[\\d一二三四五六七八九十]+|[\\d一二三四五六七八九十]+多?)年了"
    "|(?:新|[现現]在的?)家(?:就|[现現]在)?在|[现現]在住)",
    "taste": _CLAUSE + "(?:最近|[这這][阵陣]子?)?(?:迷上|[爱愛]上|沉迷)",
    "have": "家[里裡裏][^，。]{0,4}(?:口人|有|养|養|[来來多添]了)",
}
_BEGINNINGS = (  # the first characters of these: without one the alternatives need not be tried
    "下不专乳二今从以來偏入关刚到剛助叫吃名周哮喊回在壮壯大失学學家專小已当彝得從忌快怀愛懷我放新最有来每沉沒没满滿爱现現當痛糖素老职職胃腰膝自苗蒙藏血"
    "过近这迷退這週過都閒間關闲间骨"
)
_PASSING_ZH = re.compile(
    "[刚剛]{2}|[刚剛]才|昨天|今早|今晚|有人|大家|[别別]人|[听聽][说說]|看到|[电電]影|新[闻聞]|文章|[广廣]告"
)


@cache
def chinese_patterns() -> tuple[re.Pattern[str], ...]:
    """Returns those of statements that begin with "I", and of others."""
    near = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _NEAR.items())
    anywhere = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in ANYWHERE.items())
    return re.compile(f"[我俺咱](?:{near})"), re.compile(f"(?=[{_BEGINNINGS}])(?:{anywhere})")


_MOVED_ZH = re.compile(  # by nobody else, and no thing
    "(?:^|[，,。 ])[^，。你您他她它把爸妈媽姐哥弟妹友公婆]{0,6}搬(?:到|去|[进進]|[来來]|回)[^，。]{0,6}了"
)


def _chinese(sentence: str) -> Iterator[str]:
    if "搬" in sentence and _MOVED_ZH.search(sentence):
        yield "home"
    for pattern in chinese_patterns():
        yield from (found.lastgroup or "" for found in pattern.finditer(sentence))


# ------------------------------------------------------------------------------------------------------------- both


def kinds(sentence: str) -> tuple[str, ...]:
    """Returns the kinds of lasting statement that one sentence makes about its speaker; none for a question."""
    found = tuple(dict.fromkeys(_chinese(sentence) if has_cjk(sentence) else _english(sentence)))
    return () if found and is_question(sentence) else found


def asked_kinds(question: str) -> frozenset[str]:
    """Returns the kinds of lasting statement that would answer a question: "Where do I live?" is about a home."""
    rules = _chinese if has_cjk(question) else _english
    return frozenset(kind for sentence in sentences(question) for kind in rules(sentence))


def lasting(sentence: str) -> float:
    """Returns the weight of a sentence's lasting statements about its speaker; 0 for none."""
    found = kinds(sentence)
    return max(0.5, weight_of(found) - PASSING * _of_the_moment(sentence)) if found else 0.0


def weight_of(found: Sequence[str]) -> float:
    """Returns the weight of kinds together; 0 for none."""
    strongest, *others = sorted((WEIGHTS[kind] for kind in found), reverse=True) or [0.0]
    return strongest + 0.5 * sum(others)


def _of_the_moment(sentence: str) -> bool:
    if has_cjk(sentence):
        return _PASSING_ZH.search(sentence) is not None
    return bool(_PASSING & set(_WORD.findall(sentence.lower())))
