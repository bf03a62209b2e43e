"""Recognise a speaker's lasting statements about themselves by the verb after "I", the noun after "my", or "I am"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from memscope.languages.en.introductions import (
    ADVERBS,
    BODY,
    FACT_LISTS,
    FORGOING,
    NAMED,
    NAMING,
    NOT_MINE,
    ails,
    forgoes,
    introduces_home,
    introduction,
    is_forbidden,
    is_trade,
    word_topics,
)
from memscope.languages.en.statement_score import statement_scores
from memscope.languages.fact_rules import FactRules


def _words(group: str) -> dict[str, str]:
    """Map the words in the lists of a group to kinds: those of the list "verbs_home" to "home"."""
    lists = (
        (name.removeprefix(f"{group}_"), words) for name, words in FACT_LISTS.items() if name.startswith(f"{group}_")
    )
    return {word: kind for kind, words in lists for word in words}


_VERBS = _words("verbs")
_NOUNS = _words("nouns")
_STATE_WORDS = _words("states")
_TOPICS = _words("topics")
_BEING = _words("being")  # kinds by the topic of the word after "I am": belief, descent or diet
_STANDING = re.compile(r"\bfrom (?:now|today|this (?:day|moment)) (?:on|onwards?|forward)\b")
_ALONE = _words("alone")
_REFUSALS = _words("refusals")
_REFUSED_IN_PASSING = frozenset(FACT_LISTS["refused_in_passing"])
_HARMLESS = frozenset(FACT_LISTS["harmless"])
_FACT_WORD = re.compile(r"[a-z0-9]+(?:[-'][a-z]+)*")
_I_AM_NAMED = re.compile(r"I(?<!\wI)(?:'m|’m| am) (?!Not|Sorry|OK|Ok)[A-ZÀ-Þ][^\W\d_]+(?=[\s,.!;)]|$)")
_LEFT_EMPLOYER = re.compile(
    r"\bI(?:'ve|’ve| have)?(?: just| finally| recently)? left (?=[A-ZÀ-Þ])"
)  # a company or a place
_TAKES_UP = re.compile(  # "I start at the Horizon school", "Monday's my first day at Tesco", "I got the job at Monzo"
    r"\b(?:start(?:ed|ing)?(?: work| back)? at (?!\d|(?:page|noon|dawn|half|one|two|three|four|five|six|seven|eight"
    r"|nine|ten|eleven|twelve|the (?:gym|beginning|end|start|top|bottom))\b)|starting with (?!the |an? )"
    r"|joined (?!(?:you|him|her|them|in|up|the (?:gym|call|meeting|queue|chat|group|club|library))\b)"
    r"|(?:first (?:day|week|month|shift)|last shift) (?:at|with) (?!the (?:beach|gym|pool|cottage|hotel|festival))"
    r"|(?:job|position|role|post|placement|apprenticeship|internship) (?:at|with) "
    r"|promoted (?:to|at) |(?:on|doing|do|work) (?:the )?(?:tills?|nights|days|lates|earlies|reception) at )"
)
_BY_SPEAKER = re.compile(  # what precedes: the speaker, or nothing
    r"\b(?:i|i'm|i've|i'll|we|we're|we've|me|my)\b[^.!?;]{0,24}$|^\W*(?:just |finally |so |and )*$"
)
_PET_CALLED = re.compile(  # "my staffy Biscuit"
    r"\b(?:[Mm]y|[Oo]ur) (?!whole|last|next|first|usual|favou?rite|new|old)[a-z]+ "
    r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)[A-ZÀ-Þ][a-zß-ÿ]+\b"
)
_FEELING = (  # causatives, and verbs whose object has the feeling
    "give|make|put|keep|send|drive|annoy|bore|bother|calm|confuse|depress|disgust|disturb|drain|exhaust|fascinate"
    "|finish|freak|frighten|infuriate|inspire|intimidate|irritate|kill|overwhelm|relax|scare|soothe|stress|thrill|tire|trigger"
    "|unnerve|upset|wreck"
)
_AFFECTS = re.compile(  # "crowds stress me out", "milk makes me ill", but not "give me a word"
    rf"(?:(?<!\bthi)(?<![ui'])s|\bpeople|\bchildren) (?:{_FEELING}|terrify|worry) me\b"
    rf"|(?<!\bit )(?<!\bthat )(?<!\bthis )(?<!\bwhich )(?<!\bwho )\b(?:(?:{_FEELING})s|terrifies|worries) me\b"
    r"|^\W*(?!(?:it|that|this|you|who|which|what|how|i|we|he|she|they|one|can|could|would|will)\b)[\w' -]{2,40}?"
    r" (?:would|could|will|can|might) (?:kill me|put me (?:in|off|on)|finish me)\b"  # "A sting could kill me."
)
_BEFORE_ME = re.compile(r"([a-z]+) me\b")
_AFFECTING = frozenset(
    ("terrify", "terrifies", "worry", "worries", *(f"{verb}{end}" for verb in _FEELING.split("|") for end in ("", "s")))
)  # the words before "me" in matches of _AFFECTS, for a quick test
_BEGUN = re.compile(r"\b(?:first|second|third|last) (?:day|week|month|year) as an? ")  # "first week as an apprentice"
_PASSING = frozenset(FACT_LISTS["passing"])


_MAY_HAVE = re.compile(  # asks what the speaker's health allows: "can I still eat grapefruit"
    r"(?:^|[,.;:!?]\W*)(?:so |and |then )?can (?:my )?\w+ (?:still |also )?(?:take|eat|drink|have) \w"
)
_BARE_CONTRACTION = re.compile(r"\b(i)(m|ve)\b")
_ELLIPTIC = re.compile(
    r"\W*+(?:(?:just|finally|recently|also|and|so|got) )*"
    r"(?:(moved|retired|graduated|emigrated|settled|married|divorced|separated|adopted|joined|resigned|quit)\b(?! it\b)"
    r"|been \w+ing\b)"
)
_REFUSES = re.compile(
    r"\W*+(?:(?:still|also|and|but|so|just|really|simply) )*(?:((?:can't|cant|cannot) \w+(?: \w+)?)"
    r"|not (?:allowed|supposed|meant)(?: to)? \w"
    r"|never (?:again\b|\w+ing\b.* again\b)|never (?:\w+ed|had|been|got|could|felt|took|went)\b"
    r"|no (?!problem|way|idea|need|time|rush|worr|hurry|chance|news|plan|one)[\w' -]{2,30}? for (?:me|us)\b)"
)
_OWN = frozenset(FACT_LISTS["own"])
_MAY_OWN = re.compile("[iwmo](?<![a-z0-9].)(?:(?<=i)|e|y|ur)(?![a-z0-9])")
_REGULAR = frozenset(FACT_LISTS["regular"])


def _elided(folded: str) -> str:
    """Return the kind of a statement without a subject: "Retired last Friday.", "Can't do heights."; "" for others."""
    if match := _ELLIPTIC.match(folded):
        return _VERBS.get(match[1] or "", "habit")
    if match := _REFUSES.match(folded):
        return _limit(match[1].split()) if match[1] else "health" if "not " in match[0] else "taste"
    first = _FACT_WORD.search(folded)
    return (_ALONE.get(first[0], "") if first else "") or _without_i(
        _FACT_WORD.findall(_END_OF_OPENING.split(folded, 1)[0])
    )


_END_OF_OPENING = re.compile(r"[,.;:!?()]")
_LED_BY = frozenset(FACT_LISTS["led_by"])  # words that may follow a state or a noun that is the whole statement
_PLACED_BY = frozenset(FACT_LISTS["placed_by"])  # words that follow a verb of a lasting activity: "work from home"
_COUNTS = frozenset(FACT_LISTS["counts"])
_OF_TODAY = frozenset(FACT_LISTS["of_today"])
_AILING = frozenset(FACT_LISTS["ailing"])
_NOT_LIKED = frozenset(FACT_LISTS["not_liked"])
_NO_STATES_ALONE = frozenset(("a", "an", "the", "half"))
_FAN = re.compile(r"(?:(?:big|huge|massive|lifelong|not (?:a|much of a)|no) )+(?:[\w-]+ )?(?:fan|supporter|lover)\b")
_PARENT = re.compile(
    r"(?:(?:single|full-time|stay at home|proud|working) )*(?:mum|mom|dad|mother|father|parent) (?:to|of) "
)


def _openers() -> Iterator[str]:
    """Yield the words with which the rules for statements without "I" begin."""
    yield from (*_AILING, *_COUNTS, *_ALONE, *(_STATE_WORDS.keys() - _NO_STATES_ALONE), "got", "have", "own")
    yield from "big huge massive lifelong not no".split()
    yield from "single full-time stay proud working mum mom dad mother father parent".split()
    for verb in _VERBS:
        stems = {form.removesuffix(end) for form in (verb, verb.partition("-")[0]) for end in ("", "e")}
        yield from (f"{stem}{ending}" for stem in stems for ending in ("", "ing"))


OPENERS = frozenset(_openers())
MAX_OPENING_WORDS = 5  # two adverbs, and three words with which a rule may begin


def _without_i(words: list[str]) -> str:
    """Return the kind of the opening of a statement without "I", "I'm" or "I've": "Bad back", "Pregnant", "Two kids",
    "Live above a bar"; "" for others, and for statements about today.
    """
    if OPENERS.isdisjoint(words[:MAX_OPENING_WORDS]) or not _OF_TODAY.isdisjoint(words):
        return ""
    words = [word for at, word in enumerate(words) if at > 1 or word not in ADVERBS]
    if not words:
        return ""
    opening = " ".join(words)
    if _FAN.match(opening):
        return "taste"
    if _PARENT.match(opening):
        return "people"
    whole = [at for at in range(len(words)) if at + 1 == len(words) or words[at + 1] in _LED_BY]
    return _owned(words, whole) or _stated(words, whole) or _done(words)


def _owned(words: list[str], whole: list[int]) -> str:
    """Recognise possessions, family and ailments: "Got two kids", "Three cats", "Own a van", "Bad knees"."""
    ailing = next((at for at, word in enumerate(words) if word not in _AILING), 0)
    if ailing and ailing in whole and words[ailing] in BODY:
        return "health"
    having = words[0] in ("got", "have", "own") and words[1:2] and words[1] in _COUNTS | {"a", "an"}
    if not having and words[0] not in _COUNTS:
        return ""
    kind = next((_ALONE.get(words[at], "") or _noun(words[at]) for at in whole), "")
    return kind if kind in ("people", "have") or (kind == "health" and having) else ""


def _stated(words: list[str], whole: list[int]) -> str:
    """Recognise states: "Pregnant", "Lactose intolerant", "Married to a Finn"."""
    if whole[0] < 3 and words[whole[0]] in _ALONE:
        return _ALONE[words[whole[0]]]
    return _STATE_WORDS.get(words[0], "") if whole[0] == 0 and words[0] not in _NO_STATES_ALONE else ""


def _done(words: list[str]) -> str:
    """Recognise activities and tastes: "Grew up in Cork", "Work from home", "Hate coriander", "Run a bakery"."""
    first, following, third = (*words, "", "")[:3]
    if f"{first}-{following}" in _VERBS and first != "used":
        return _VERBS[f"{first}-{following}"] if third and third not in _NOT_LIKED else ""
    verb = next(
        (form for form in (first, first.removesuffix("ing"), f"{first.removesuffix('ing')}e") if form in _VERBS), ""
    )
    kind = _VERBS.get(verb, "")
    if kind == "taste":
        return kind if following and following not in _NOT_LIKED and verb != "like" else ""
    if (
        kind == "work"
        and following in ("a", "an")
        and any(_noun(word) == "work" or "professions" in word_topics(word) for word in words[2:5])
    ):
        return kind
    placed = following in _PLACED_BY or (following == "on" and third.removesuffix("s") in _REGULAR)
    if following == "up":
        placed = third in _PLACED_BY
    return kind if placed and kind not in ("wish", "person") and verb != "train" else ""


_THEY = re.compile(  # one of the user's people as the subject: "Dad can't", "My youngest won't", "Rohan hates", "She's"
    r"\W*+(?:(?:and|but|so|also|actually|oh)\W+)*"
    r"(?:(?:my|our) (?:[\w-]+ )??[\w-]+|(?P<kin>KIN)|the (?:THEIRS)|s?he|they|(?!(?:NO)\b)(?-i:[A-Z])[a-zß-ÿ]+)"
    r"(?:(?P<is>['’](?:s|re)| is| are)\b|(?= (?:\w+ )?(?:\w+s|\w*n['’]t|never|cannot)\b))"
    .replace("KIN", "|".join(FACT_LISTS["kin"])).replace("THEIRS", "|".join(FACT_LISTS["the_kin"]))
    .replace("NO", "|".join(FACT_LISTS["no_names"])),
    re.IGNORECASE,
)  # fmt: skip
_THIRD_PERSON = {"doesn't": "don't", "doesnt": "dont", "won't": "don't", "wont": "dont"}


def _of_theirs(subject: re.Match[str]) -> Iterator[str]:
    """Yield "people" for a relative, and the health and tastes of any of the user's people: "Rohan hates fish"."""
    if subject["kin"]:
        yield "people"
    folded = subject.string[subject.end() :].lower().replace("’", "'")
    words = [word for word in _FACT_WORD.findall(folded) if word not in ADVERBS]
    if words and not subject["is"]:
        words[0] = _THIRD_PERSON.get(words[0], words[0].removesuffix("s"))
    yield from (kind for kind in _after("i'm" if subject["is"] else "i", words) if kind in ("health", "taste"))
    yield from (_ALONE[word] for word in words if word in _ALONE)


def _after(oneself: str, following: list[str]) -> Iterator[str]:
    """Yield the kinds of a statement by the words that follow "I", "my", "I'm" or "I've" (``oneself``)."""
    if oneself in ("my", "our"):
        ill = not BODY.isdisjoint(following[:2]) and ails(following)
        yield from ["health"] if ill else [kind for word in following[:3] if (kind := _noun(word))][:1]
        return
    words = [word for word in following if word not in ADVERBS]
    if not FORGOING.isdisjoint(following) and forgoes(following):
        yield "taste"
    if words[:1] == ["am"] or words[:1] == ["are"]:
        oneself, words, following = "i'm", words[1:], following[1:]
    if ("to" in following or "not" in following) and is_forbidden(following):
        yield "health"
    kind = ""
    if oneself in ("i'm", "we're"):
        kind = _state(words)
    elif oneself in ("i've", "we've") or words[:1] == ["have"]:
        kind = _possession([word for word in words if word not in ("have", "got")])
    elif words[:1] == ["get"]:
        kind = _ailment(words[1:4])
    elif words:
        passing = words[0] in ("keep", "kept") and words[1:] and words[1].endswith("ing")  # "I keep yawning"
        forms = ("-".join(following[:2]), "-".join(words[:2]), words[0])  # "only-wear" before "wear"
        kind = "" if passing else next((_VERBS[form] for form in forms if form in _VERBS), "")
        kind = kind if kind not in ("", "habit") else _limit(words) or kind
    if kind:
        yield kind
    if _trade(oneself, words):
        yield "work"


def _limit(words: Sequence[str]) -> str:
    """Recognise what speakers cannot or do not do: "I can't wear wool", "I don't do heights"; not "I can't wait"."""
    kind = _REFUSALS.get(words[0], "")
    if kind == "health" and words[1:2] == ["have"]:  # a food, unlike "I can't have him over"
        return kind if words[2:] and words[2] not in _NOT_LIKED else ""
    refused = len(words) > 1 and _REFUSED_IN_PASSING.isdisjoint(words[1:3])
    return kind if refused else ""


def _trade(oneself: str, words: Sequence[str]) -> bool:
    """Recognise a profession: "I'm now a triage nurse", "I've started as a paramedic"."""
    articles = [at for at, word in enumerate(words) if word in ("a", "an")][:1]
    named = any((at == 0 and oneself in ("i'm", "we're")) or words[at - 1 : at] == ["as"] for at in articles)
    return named and any("professions" in word_topics(word) for at in articles for word in words[at + 1 : at + 4])


@lru_cache(maxsize=1 << 12)
def _noun(word: str) -> str:
    """Return the kind of a noun after "my": "people" for "brother's" and "greyhound", "" for most nouns."""
    bare = word.removesuffix("'s")
    topics = word_topics(bare)
    return _NOUNS.get(bare) or next((kind for topic, kind in _TOPICS.items() if topic in topics), "")


def _ailment(words: list[str]) -> str:
    """Recognise ailments: "I get travel-sick", "I get bad migraines"."""
    ill = any(word.endswith("sick") or (_noun(word) == "health" and word != "doctor") for word in words)
    return "health" if ill else ""


def _state(words: list[str]) -> str:
    if not words or _HARMLESS & set(words[:3]):
        return ""
    if words[0].isdigit():
        return "person"
    topics = word_topics(words[0])
    return _STATE_WORDS.get(words[0]) or next((kind for topic, kind in _BEING.items() if topic in topics), "")


def _possession(words: list[str]) -> str:
    counted = words[:1] and (words[0] in ("a", "an", "two", "three", "four", "five", "six", "no") or words[0].isdigit())
    return "have" if counted and not _HARMLESS & set(words[:3]) else ""


def _introduced(part: str) -> Iterator[str]:
    """Yield the kinds of one part of an introduction: "a vet in Bristol", "two kids"."""
    does = _OCCUPATION.match(part)
    if is_trade(part) or (does and _VERBS.get(does[1], "work") == "work" and does[1] not in _REFUSED_IN_PASSING):
        yield "work"
    if introduces_home(part):
        yield "home"
    if kind := _without_i(_FACT_WORD.findall(part.lower().replace("’", "'"))):
        yield kind


_OCCUPATION = re.compile(  # after a name: "I tune pianos", "and I mostly shear sheep"
    r"(?:and )?I (?:mostly |mainly |usually |now |also )?"
    r"(?!(?:am|was|had|can|could|would|will|just|got|did|do|hurt|miss)\b)([a-z]+(?<!ed))(?: an?)? "
    r"(?!(?:to|you|that|it|this|what|how|my|our|the|with|in|on|at|if|when)\b)[\w-]+"
)
_PURPOSES = {
    "work": re.compile(r"\bfor (?:a living|work)\b"),
    "habit": re.compile(r"\bfor fun\b|\b(?:my|our) (?:free|spare|leisure) time\b"),
}
_INVERTED = re.compile(r"(?i)\s(am|are|was|were|do|don['’]t|does|did|didn['’]t|can|can['’]t|cannot|have)\s+(i|we)\b")
_INVERTED_SHORT = re.compile(r"(?i)(?<=\w)(['’](?:m|re|ve|d))\s+(i|we)\b")  # "Where'm I living?"
_ASKED_NOUN = re.compile(  # "which pets do we have", a plural
    r"\b(?:what|which|how many|any) (?:\w+ )?(\w+s)"
    r"(?:['’](?:ve|m|re|d)| (?:am|are|was|were|do|don['’]t|did|can|can['’]t|have)) (?:i|we)\b"
)

_ASKED_WORDS = {  # "What's my profession?", "How old am I?"
    "name": re.compile(r"\b(?:what|how)\b.*\b(?:(?:call|address) me|i (?:be|am) called)\b"),
    "work": re.compile(r"\b(?:my|our)(?: \w+)? (?:profession|occupation|employer|company|boss)\b"),
    "home": re.compile(r"\b(?:my|our)(?: \w+)? (?:address|postcode|home ?town|city|town)\b"),
    "person": re.compile(r"\bold (?:am|are) (?:i|we)\b|\bmy (?:age|religion)\b"),
    "people": re.compile(r"\bdo (?:i|we) have (?:any |an? )?(?:kids|children|sons?|daughters?|siblings|pets?)\b"),
    "health": re.compile(
        r"\b(?:medication|medicine)s? (?:am|do|are) (?:i|we)\b|\bmy (?:medications?|medicines?|meds)\b"
    ),
}


class EnglishFacts(FactRules):
    def kinds(self, sentence: str) -> Iterator[str]:
        folded = sentence.lower().replace("’", "'")
        if ("im" in folded or "ive" in folded) and _BARE_CONTRACTION.search(folded):
            folded = _BARE_CONTRACTION.sub(r"\1'\2", folded)
        words = _FACT_WORD.findall(folded) if _MAY_OWN.search(folded) else []
        places = [at for at, word in enumerate(words) if word in _OWN]
        for at in places:
            yield from _after(words[at], words[at + 1 : at + 6])
        if not places and (kind := _elided(folded)):
            yield kind
        if subject := _THEY.match(sentence):
            yield from _of_theirs(subject)
        for part in introduction(sentence):
            yield from _introduced(part)
        if " me" in folded and not _AFFECTING.isdisjoint(_BEFORE_ME.findall(folded)) and _AFFECTS.search(folded):
            yield "taste"
        if (" my " in folded or " me" in folded) and NOT_MINE.search(folded):
            yield "taste"
        if places and _I_AM_NAMED.search(sentence):
            yield "name"
        if any(map(folded.__contains__, NAMING)) and NAMED.search(sentence):
            yield "name"
        if places and " left " in sentence and _LEFT_EMPLOYER.search(sentence):
            yield "work"
        if " at " in folded or " with " in folded or "joined " in folded or "promoted " in folded:
            yield from ("work" for match in _TAKES_UP.finditer(folded) if _BY_SPEAKER.search(folded, 0, match.start()))
        if places and ("my " in folded or "our " in folded) and _PET_CALLED.search(sentence):
            yield "people"
        if " as a" in folded and _BEGUN.search(folded):
            yield "work"
        if "from " in folded and _STANDING.search(folded):
            yield "habit"
        if "an " in folded and _MAY_HAVE.search(folded):
            yield "health"
        if " for " in folded or "time" in folded:
            yield from (kind for kind, purpose in _PURPOSES.items() if purpose.search(folded))
        if places:
            yield from (_ALONE[word] for word in words if word in _ALONE)
            yield from ("habit" for word, following in pairwise(words) if word == "every" and following in _REGULAR)

    def asked(self, question: str) -> Iterator[str]:
        yield from self.kinds(_INVERTED.sub(r" \2 \1", _INVERTED_SHORT.sub(r" \2\1", question)))
        yield from (kind for match in _ASKED_NOUN.finditer(question.lower()) if (kind := _noun(match[1])))
        yield from (kind for kind, words in _ASKED_WORDS.items() if words.search(question.lower()))

    def is_momentary(self, sentence: str) -> bool:
        return not _PASSING.isdisjoint(_FACT_WORD.findall(sentence.lower()))

    def scores(self, sentences: Sequence[str], kinds: Sequence[Sequence[str]]) -> Sequence[float]:
        return statement_scores(sentences, kinds)


FACTS = EnglishFacts()
