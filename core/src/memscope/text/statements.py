"""Tell statements from questions, requests and answers without knowledge; compare texts by content.

Rules on sentences, English and Chinese (simplified and traditional). A rule that is unsure calls a text a statement:
a question taken for a statement costs a line, a statement taken for a question is hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice

from memscope.imports import pattern
from memscope.text.language import has_cjk
from memscope.text.tokens import fold, has_words, pieces, words

LONGEST = 300  # characters of an answer that only says it does not know


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text with their marks; a line break ends one too."""
    start = 0
    for match in _BOUNDARY.finditer(text):
        part = text[start : match.start() + (match[0][0] != "\n")]
        if part and not part.isspace():
            yield part
        start = match.end()
    if start < len(text) and not text[start:].isspace():
        yield text[start:]


_BOUNDARY = pattern(r"[.!?…。！？\n](?:(?<=[.!?…])\s+|(?<=[。！？])(?![。！？…”」』])|(?<=\n)\n*)")

# --------------------------------------------------------------------------------------------------------- questions

_MARKED = pattern(r"[?？][^\w]*$")
_ASKS_EN = pattern(
    r"^(?:(?:and|so|ok|okay|hey|hi|hello|please|well|again|sorry|quick|question|wait|um|oh|but)\W+)*"
    r"(?:what|whats|what's|who|whos|who's|whose|which|where|wheres|where's|when's|why|how|how's|hows)\b"
    r"(?!\s+(?:a|an)\b)(?!ever)"
    r"|^(?:(?:and|so|ok|okay|hey|hi|please)\W+)*(?:do|does|did|can|could|would|will|is|are|was|were|have|has"
    r"|should)\s+"
    r"(?:you|i|we|he|she|they|it|there|my|the|your|our|this|that)\b"
    r"|\b(?:who|what|which|where|when)(?:'s| is| was| are) (?:it|that|he|she|they|this)$"
    r"|^(?:i )?(?:still )?(?:want|need|like) to know\b"
    r"|^(?:please\s+)?(?:tell|remind)\s+me\s+(?:again\s+)?(?:what|who|which|where|when|why|how|if|whether)\b"
)
_ASKS_ZH = pattern(
    r"(?:吗|嗎|么|呢|咩)\W*$"
    r"|(?<![没沒])(?:什么|什麼|甚麼|啥|谁|誰|乜|咩|邊(?:度|個|区|區|日)|幾多|哪(?!怕)|几号|幾號|几点|幾點"
    r"|几时|幾時|几岁|幾歲|多少|多大|多久|怎么|怎麼|咋|如何|为何|為何|邊個|邊度)"
    r"(?!.{0,8}(?:都|也))"
)
_INDEFINITE_ZH = pattern(
    r"(?:[没沒不]|忘了|知道|不管|无论|無論|随便|隨便).{0,3}(?:什么|什麼|啥|谁|誰|哪|怎么|怎麼|多少)"
)
_CLAUSES = pattern(r"[,，;；:：]+\s*|\s[-–—]+\s|\s(?=but |because |and (?:what|how|do|can))")
_SUGGESTS = pattern(r"\W*(?:how about|what about|what if|why not|why don't (?:we|you|i)|shall we)\b")
_MOST_ASKED = 20  # words; a longer question tells something too
_SAYING_EN, _SAYING_ZH = 4, 6  # words or characters from which a clause says something
_CLAUSE_ZH = 30  # characters up to which a sentence with a question word and without a mark asks
_CLAUSE_EN = 80
_AFTER = pattern(r"^(?:what|how)\s+(?:a|an|the hell|nice|lovely|great)\b|^(?:when|while)\b|^how\s+\w+\s*!")
_FILLING = pattern(
    r"^\W*(?:(?:hi|hey|hello|ok|okay|please|thanks|thank you|sorry|hm+|um+|oh|well|again|quick question"
    r"|remind me|tell me"
    r"|one question|just wondering|i forgot|i forget|i always forget|do you remember"
    r"|你好|您好|请问|請問|谢谢|謝謝|对了|對了|再问一遍|再問一遍|问一下|問一下|帮我想想|嗯|诶|欸|哎|我忘了"
    r"|忘了)\W*)+$"
)


def asks(text: str) -> bool:
    """Returns whether a text only asks: every sentence is a question or filling, and there is a question."""
    asked = False
    for sentence in sentences(text):
        kind = _kind(sentence)
        if kind == "statement":
            return False
        asked = asked or kind == "question"
    return asked


def _plain(text: str) -> str:
    """Case and accents folded; Chinese keeps its punctuation, which the patterns name."""
    return text.lower() if has_cjk(text) else fold(text)


def is_question(sentence: str) -> bool:
    return _kind(sentence) == "question"


@lru_cache(maxsize=1 << 6)  # asked several times for the sentences of the text that is being written
def _kind(sentence: str) -> str:
    folded = _plain(sentence).strip()
    if ("?" in folded or "？" in folded) and _MARKED.search(folded):
        return "statement" if _states_first(folded) else "question"
    if not has_words(folded) or _FILLING.match(folded):
        return "filling"
    return "question" if _asks_unmarked(folded) else "statement"


def _states_first(folded: str) -> bool:
    """Returns whether a clause before the question states ("I moved to Lisbon, do you know it?") or suggests."""
    if _SUGGESTS.match(folded) or len(pieces(folded)) > _MOST_ASKED:
        return True
    clauses = _CLAUSES.split(folded)[:-1]
    return any(_states(clause) for clause in clauses) and not _ASKS_EN.match(folded)


def _states(clause: str) -> bool:
    wide = has_cjk(clause)
    long = len(clause) >= _SAYING_ZH if wide else len(pieces(clause)) >= _SAYING_EN
    return long and not _FILLING.match(clause) and not (_ASKS_ZH if wide else _ASKS_EN).search(clause)


def _asks_unmarked(folded: str) -> bool:
    if has_cjk(folded):
        if len(folded) > _CLAUSE_ZH or _INDEFINITE_ZH.search(folded) or "，" in folded[:-1]:
            return False
        return _ASKS_ZH.search(folded) is not None
    short = len(folded) <= _CLAUSE_EN and not folded.endswith((".", "!"))
    return short and not _AFTER.match(folded) and _ASKS_EN.match(folded) is not None


# ----------------------------------------------------------------------------------------------------------- answers

_UNKNOWING_EN = pattern(
    r"\bi(?:'m| am)? (?:(?:still|really|just|actually|honestly|also|currently|sorry|afraid|yet) )*"
    r"(?:do not|don't|did not|didn't|can't|cannot|could not|couldn't|not sure|unable|have no|haven't got"
    r"|have not got)"
    r"(?! (?:think|want|like|need|recommend|mind|believe))"
    r"|\bno (?:idea|information|record|records|memory|note|notes|mention|clue|data)\b"
    r"|\bnot? (?:been |yet |yet been )?(?:mentioned|told|shared|recorded|stored)\b"
    r"|\bnothing (?:about|on|is|in|has|was)\b|\bunknown\b|\bi don't[.,!]"
    r"|\byou(?:'ve| have|'d| had)? (?:haven't|have not|hadn't|had not|never|didn't|did not|not|yet)"
    r"(?: yet| actually| ever)* ?(?:to )?(?:tell|told|mention|mentioned|say|said|share|shared|give|gave|given)\b"
    r"|\b(?:that's|this is|that is|it's) (?:not something|something) (?:that )?(?:you |i )(?:have|haven't|'ve"
    r"|don't|never)"
    r"|\byou(?:'d| would|'ll| will)? (?:have|need) to tell me\b"
)
_UNKNOWING_ZH = pattern(
    r"(?:我|這邊|这边|目前|暂时|暫時|还|還|暫)[^，。！？]{0,6}(?:不知道|不清楚|不晓得|不曉得|不記得|不记得"
    r"|不确定|不確定|唔知)"
    r"|(?:你|您)[^，。！？]{0,6}(?:还没|還沒|没有?|沒有?|从没|從沒|未)(?:有)?(?:跟我|和我|对我|對我)?(?:告诉"
    r"|告訴|说|說|提|讲|講)"
    r"|(?:唔|未|仲未)(?:清楚|知道?|記得)|冇[^，。！？]{0,4}(?:記錄|記録|资料|資料|印象)"
    r"|(?:没有?|沒有?|无|無|查不到|找不到|未)[^，。！？]{0,8}(?:信息|資訊|资料|資料|记录|記錄|紀錄|提到|提过"
    r"|提過|记到|記到|印象)"
    r"|(?:信息|資訊|资料|資料|记录|記錄|紀錄)[^，。！？]{0,6}(?:没有|沒有|没存|沒存|不在|暂无|暫無)"
)
_BUT = pattern(r"\b(?:but|however|although|though|except|only that)\b|但|不过|不過|可是|只知道|只記得|只记得")


def unknowing(answer: str) -> bool:
    """Returns whether an answer only says that it does not know, apart from an apology or advice beside it."""
    if len(answer) > LONGEST:
        return False
    told = _plain(answer)
    parts = [part for part in sentences(told) if has_words(part) and not _SORRY.fullmatch(part.strip(" .!。！，,…"))]
    if not parts or len(parts) > 3:
        return False
    pattern = _UNKNOWING_ZH if has_cjk(told) else _UNKNOWING_EN
    return pattern.search(parts[0]) is not None and not _BUT.search(told)


_SORRY = pattern(
    r"(?:(?:i'm|i am) )?(?:so |very |really )?(?:sorry|afraid)(?: about that)?|unfortunately|hm+|抱歉|对不起"
    r"|對不起|不好意思|很抱歉|很遗憾"
)

# -------------------------------------------------------------------------------------------------------- near-equality

_RECAP = pattern(
    r"^(?:as|like) i (?:already )?(?:said|told you|mentioned)\b\W*|^(?:就像)?我(?:之前|刚才|剛才)?(?:说过"
    r"|說過|讲过|講過)\W*"
)
_PARTICLES = pattern("(?:[啊呀哦喔啦嘛呢吧哈诶欸唷哟]+)(?=\\W|$)")
_ARTICLES = frozenset(
    "a an the so just really well oh ok okay please hey hi hello too also yes yeah actually 's".split()
)


def gist(text: str, most: int | None = None) -> tuple[str, ...]:
    """Returns the words of a text in order, without case, accents, marks and fillers; ``most``: the first ones.

    Texts of one gist say the same. Numbers, names, tenses, persons and negations are kept, so that texts that differ in
    one of these never have one gist.
    """
    folded = _RECAP.sub("", fold(text).strip(), count=1)
    if not folded.isascii():
        folded = _PARTICLES.sub("", folded)
    words = (match[0] for match in _WORD.finditer(folded))
    return tuple(islice((word for word in words if word not in _ARTICLES), most))


_WORD = pattern(r"[^\W_]+(?:[.:/'-][^\W_]+)*|[$€£¥%°+\-](?=\d)|(?<=\d)[%°+]")

# ---------------------------------------------------------------------------------------- questions about the user

_ABOUT_USER_EN = pattern(
    r"\bwho (?:am i|i am)(?: to you| for you| really| again)?(?:\W*$|,)|\babout (?:me|myself)\b(?! (?:and|or) (?:my"
    r"|the)\b)|\bknow (?:me"
    r"|of me)\b(?! better than)"
    r"|\b(?:describe|introduce|summari[sz]e|profile|portray|characteri[sz]e) me\b|\bsum me up\b"
    r"|\bsum(?:mary)? (?:up )?(?:of )?me\b"
    r"|\bwhat (?:do|can|have|did|else do|all do) you (?:still )?(?:remember|recall|memori[sz]ed?|stored?"
    r"|saved?|noted?|learned|learnt|got)"
    r"(?: (?:so far|here|from before|now|about us))?\W*$"
    r"|\b(?:tell me|show me|list|say|recite|repeat|summari[sz]e|sum up|recap|go over|run through|remind me(?: of)?) "
    r"(?:\w+ ){0,3}?(?:what|everything|all|anything|the things|whatever) (?:that )?"
    r"(?:(?:you|i)(?:'ve| have)? (?:\w+ )?(?:remember|recall|know|told you|shared|said|have stored|noted"
    r"|saved|learned|learnt))\b(?! about (?!me|myself))"
    r"|\bprofile (?:on|of|about) me\b|\bmy profile\b|\bwhat (?:kind|sort|type) of (?:person|man|woman"
    r"|human) (?:am i|i am|do you think i)\b"
    r"|\bwhat am i like\b|\b(?:the|a) (?:person|user) (?:you|it|they) (?:will )?(?:serve|help|talk|work)\w*\b"
    r"|\bhow well do you know me\b"
    r"|\b(?:know|remember|recall|stored?|saved?|noted?|learned|learnt|gathered|got|have)\b(?: \w+)? "
    r"(?:(?:of|on|regarding|concerning) me|on (?:file|record) (?:for|about|on) me)\b"
    r"|\b(?:do|can) you (?:still )?(?:remember|know|recogni[sz]e) (?:me|who i am)\b|\bwho(?:'s| is) (?:this"
    r"|the) (?:user|person you)\b"
    r"|\b(?:from|with|based on|using|only) (?:\w+ )?what i(?:'ve| have)? (?:told you|said|shared)(?: \w+)?\W*$"
)
_ABOUT_USER_ZH = pattern(
    r"我(?:到底|究竟)?(?:是|系|係)(?:谁|誰|个?啥人|個?啥人|(?:一)?[个個]?(?:什么|什麼|甚麼|怎样|怎樣|怎么样"
    r"|怎麼樣|咋样|啥样|啥)[样樣]?的?人|边个|邊個)"
    r"|(?:关于|關於|有关|有關)我(?:的(?:一切|事|事情|信息|資訊|资料|資料|情况|情況|什么|什麼|所有))?(?:\W|$"
    r"|你|都|来|來|的|[这這][个個位][^，。？]{0,5}(?:[，。？]|$))"
    r"|(?:你|您)(?:的)?(?:眼里|眼裡|眼中|心里|心裡|心中|印象里|印象中|看来|看來)[^，。？]{0,3}我(?:是|算|像)"
    r"|我在(?:你|您)(?:的)?(?:眼里|眼裡|眼中|心里|心裡|心中|印象里|印象中)"
    r"|(?:知道|晓得|曉得|记得|記得|了解|瞭解|记住|記住|记了|記了|记下|記下|清楚|掌握)[^，。？]{0,3}我"
    r"(?:的|这个人|這個人)?(?:有)?(?:哪些|什么|什麼|些|啥|多少|事|一切|情况|情況)"
    r"|(?:介绍|介紹|描述|形容|概括|总结|總結|评价|評價)(?:一下|下)?(?:我(?:这个|這個)?(?:人|$|\W|自己|吧)|一下我)"
    r"|(?:总结|總結|复述|複述|概括|回顾|回顧|说说|說說|讲讲|講講|列出|列一下)[^，。]{0,4}我(?:跟|和|对|對"
    r"|告诉|告訴|说|說|讲|講)[^，。]{0,5}(?:你|过|過)"
    r"|(?:认得|認得|认识|認識|还记得|還記得|记得|記得)我(?:吗|嗎|不|么|是谁|是誰|\W|$)|我(?:这个|這個)人"
    r"|我(?:是|長|长)(?:怎样|怎樣|什么样|什麼樣|啥样)|我的(?:画像|畫像|档案|檔案|个人信息|個人資訊|个人资料"
    r"|個人資料|简介|簡介)"
    r"|(?:知道|晓得|曉得|记得|記得|了解|存的?|存了|记着|記著)我(?:的)?(?:哪些|什么|什麼|些什么|些什麼|啥|些啥"
    r"|多少)|我的(?:所有)?(?:信息|資訊|资料|資料|情况|情況)(?:都|全|有哪些|\W|$)"
)


def about_user(query: str) -> bool:
    """Returns whether a question asks for everything known about the user."""
    folded = _plain(query)
    if "我" in folded and _ABOUT_USER_ZH.search(folded):
        return True
    return _PERSON_EN.search(folded) is not None and (_ABOUT_USER_EN.search(folded) is not None or _only_me(folded))


def _only_me(folded: str) -> bool:
    """Returns whether an English question names nothing but its asker, what is known, and the talk between the two.

    "Paint a picture of me from what we've discussed", but neither "Describe it to me" nor "Who am I meeting?".
    """
    rest = _TO_ME.sub(" ", folded)
    who = _WHO_I_AM.search(rest) is not None
    if not (who or _ME.search(rest)):
        return False
    known, spoken = _about_words()
    telling = set(words(_ME.sub(" ", rest))) - spoken
    return telling <= known and (who or bool(telling))


@cache
def _about_words() -> tuple[frozenset[str], frozenset[str]]:
    """Stems of words for what is known of a person, and of words about the talk that add nothing."""
    return frozenset(words(_KNOWN)), frozenset(words(_SPOKEN))


_PERSON_EN = pattern(r"\b(?:me|myself|i|my|you|user|yours)\b")
_ME = pattern(r"\b(?:me|myself|yours truly)\b")
_TO_ME = pattern(
    r"\b(?:tell|give|show|remind|let|help|ask|told|teach|send|make|for|to|with|gives?|lend|write|draw|believe) me\b"
)
_WHO_I_AM = pattern(r"\bwho\b.*\b(?:i am|i'm|am i|you(?:'re| are)(?: \w+)? (?:talking|speaking|chatting|dealing))\b")
_KNOWN = """know known remember recall recollect retain memory learnt learned stored save noted keep gather collect pick
 understand figure recognise familiar describe introduce summarise summary sum outline sketch portray portrait paint
 picture profile rundown overview bio biography recap fact detail info information file record dossier impression"""
_SPOKEN = """tell told say said talk chat discuss conversation mention share speak hear think believe reckon guess
 suppose assume opinion view eyes mind see person user human somebody stranger friend guy man woman mate thing stuff far
 date already actually really honestly truly exactly yet now currently right based going line few word sentence short
 long bullet point list give show make write help want like please pls quick question serve deal message session past
 previous earlier bit answer ask kind sort type let use still dear"""


_REQUEST_EN = pattern(
    r"^(?:(?:please|hey|hi|hello|ok|so|can you|could you|would you)\W+)*(?:recommend|suggest|plan|help|write"
    r"|find|book|give|make|cook|choose"
    r"|pick|order|draft|create|prepare|show|list|tell|remind|explain|compare|translate|design|buy|get|propose"
    r"|advise|describe|think of|"
    r"come up|invent|compose|summari[sz]e|set|put|schedule|check|look)\b|\b(?:i need|i want|i'm looking for"
    r"|help me|give me|any (?:ideas?|tips?|suggestions?))\b"
)
_REQUEST_ZH = pattern(
    r"推荐|推薦|建议|建議|帮我|幫我|帮忙|幫忙|给我|給我|替我|请(?!问)|請(?!問)|安排|写|寫|选|選|挑|来点|來點"
    r"|想想|出个主意|出個主意"
)


def requests(text: str) -> bool:
    """Returns whether a text of more than one word asks or bids for something."""
    folded = _plain(text)
    if len(text.strip()) < 3 or (not has_cjk(folded) and len(pieces(folded)) < 2):
        return False
    wanted = _REQUEST_ZH if has_cjk(folded) else _REQUEST_EN
    return any(_kind(one) == "question" for one in sentences(text)) or wanted.search(folded.strip()) is not None
