"""Patterns of English questions: what a question asks for by its wording."""

from memscope.imports import pattern
from memscope.languages.classes import Classes
from memscope.languages.en.words import FOLDER, HOUSEHOLD, alternatives
from memscope.languages.question_rules import Questions

_SINGULAR = (
    r"(?:is|was|does|did|do|has|had|goes|makes|keeps|helps|causes|gives|brings|happens|matters|its|this|his|hers|us|as"
    r"|always|news|chess|tennis|\w+ss|\w+us|time|(?:day|date|one|colou?r|size|name)['’]s"
    # what one thing or person does: "Which client pays late?"
    r"|accepts|allows|arrives|asks|avoids|becomes|begins|belongs|comes|eats|feels|fits|gets|hates|holds|hurts|knows|lends"
    r"|lets|lives|loves|needs|opens|owes|owns|pays|reads|says|seems|sells|sends|sits|sleeps|speaks|suits|takes|teaches"
    r"|tells|thinks|treats|wants|wears|writes)\b"
    r"|\w+s (?:me|us|him|them|my|our|the|an?|more|less|late|early|most|best)\b"
)
# The object after a verb, as in "What drives Jon?", which is not a plural as in "What books I read".
_OBJECT = r"(?:(?-i:[A-ZÀ-Þ][\w'’])(?<!I['’])|(?:me|him|her|us|them|you|my|our|your|his|their|most|people|somebody)\b)"


_PLURALS = (
    (pattern("y$"), "ies"),
    (pattern("fe?$"), "ves"),
    (pattern("man$"), "men"),
    (pattern("mouse$"), "mice"),
    (pattern("goose$"), "geese"),
)


def _forms(noun: str) -> tuple[str, ...]:
    """Return a noun, its plural in -s, and its plural by ``_PLURALS`` or in -es."""
    irregular = (ending.sub(plural, noun) for ending, plural in _PLURALS if ending.search(noun))
    return (noun, f"{noun}s", next(irregular, f"{noun}es"))


# The past tense with "the" or a pronoun: "How did the interview go?", "Who brought the tent?".
_PAST_TENSE = (
    r"(?:\b(?:did|was|were|had|didn['’]?t|wasn['’]?t|what['’]?d)\b|\b(?:has|have)\b.*\b(?:yet|ever|in the end)\b"
    r"|\b(?:who|what|which \w+)(?: \w+ly)? (?:\w+ed|got|won|lost|came|brought|took|gave|fell|broke|paid|said|went|sent"
    r"|left|bought|sold|chose|drove|ran|threw|made|kept|told|ate|drank|rang|put|set|cut|let)\b)"
)
_KNOWN_TO_BOTH = r"\b(?:the|that|those|he|she|they|it|his|her|their|again)\b"
# The past of everybody: words of history, the first and the greatest, and what somebody made ("Who painted the ...?").
_WORLDLY = (
    rf"(?:\b{alternatives('history')}\b|\b\d{{4}}\b"
    r"|\bthe (?:(?:first|second|third|last|only) (?:\w+ )?(?:man|woman|person|human|people|king|queen|ship|book|film)"
    r"|world|earth|sun|moon|sea|internet|economy"
    r"|(?!(?:gu|for|w|r|ch|cont|requ|arr|inter|t|qu|pri|prot|harv)est\b)\w+est|most|\d+(?:st|nd|rd|th))\b"
    r"|\b(?:who|when|where)(?: was| were)?\b.{0,30}? (?:invented|discovered|founded|composed|painted|written|wrote"
    r"|built|designed|directed|conquered|ruled|came up with|originated?|born|extinct)\b)"
)
# The present of one thing: "Which shelf are the passports on?", unlike "How does the heart work?", "the boiling point
# of milk" and what is usual.
_PRESENT = (
    r"(?!.*\b(?:how (?:do|does|can|is|are)|why|mean|called|average|national|official|usual|normal|typical)\b)"
    r"(?!.*\bthe (?:[\w'’]+ ){1,3}?(?:of|in|to|for) (?!the\b|this\b|that\b|those\b)\w)(?!.*[\"“])"
    r"(?!.*\bin (?:an?|one|two|three|a few|simple|plain) (?:words?|lines?|sentences?|paragraphs?|terms)\b)"
    r".*(?:\b(?:is|are|does|do|has|have|can|will|what['’]?s|who['’]?s|where['’]?s|when['’]?s|how['’]?s)\b.*\bthe\b"
    r"|\bhow (?:long|many \w+) (?:till|until)\b.*\bthe\b|\b(?:left|due)\b)"
)
_OPENS_A_QUESTION = (
    r"(?:[^?]*\?|\W*(?:(?:and|so|but|ok|okay|hey|wait|sorry|oh|btw|remember|in|at|on|from|with|for|by|to)\W+){0,2}"
    r"(?:who|whose|what|which|when|where|why|how|did|was|were|had|has|have|didn['’]?t|wasn['’]?t|is|are|does|do|can|will"
    r"|what['’]?s|who['’]?s|where['’]?s|when['’]?s|how['’]?s)\b)"
)
# "What did Ann say when she rang?", unlike "What's due, and when?" and "Who knows when it starts?"
_WHEN_JOINS = (
    r"[^.?!]*\b(?:what|why|how|where|who|which)(?:['’]?s|['’]?re)?\b(?! (?:date|day|month|year|time)\b)"
    r"[^.?!]*(?<![,&])(?<!\bor)(?<!\band)(?<!know)(?<!knows) when\b"
)
_HAS_ONE_THING = r"who has (?:got )?(?:my|our|the) (?:[\w'’-]+ ){0,2}[\w'’-]*[^\Ws]\W*$"  # "Who has my ladder?"
# Number of things that one counts, unlike "How many mugs does the cafe want?" and "How many weeks have we left?"
_TO_COUNT = (
    r"how many (?!(?:more |other )?(?:minutes|hours|days|nights|weeks|months|years|times|miles|pounds|dollars|euros)\b)"
    r"(?:[\w'’+-]+ ){1,5}?(?:do|did|have|had|can|could|am|are|were) (?:i|we|there)\b"
)
_ADVICE = r"\w+ (?:[\w'’-]+ ){1,3}(?:should|shall|could|might) (?:i|we)\b"  # "What gloves should I buy?"
_HIS_DAYS = r"\w+ (?:days|nights|hours|times|dates) (?:do|does|did|will|can) (?!i\b|we\b)"
# "Which Postgres version do we run?": the noun after it is what is asked for.
_OF_ONE = (
    r" (?-i:(?!(?:who|that|which|i|we|you|he|she|they|it|there|still|also|all|else|outside|inside)\b)[a-z]+[a-rt-z])"
)
_OF_ONE += r" (?:do|does|did|am|is|are|was|were|have|has|had|can|will|should)\b"
_CAPITALISED = r"[\w,;:] [\"'“‘(]?(?!I\b|I['’])[A-ZÀ-Þ][a-z]"
# "our previous chat", "where we left off", "what we said last time"; and the words of a question that asks for no more.
_TALKED = (
    r"\b(?:talk|chat|said|say|tell|told|ask|discuss|mention|speak|spoke|continu|resum|carry|pick|recap|summar|catch|work"
    r"|left|leave|stop|finish)"
)
_EARLIER_TALK = (
    r"(?:\b(?:last|previous|latest|most recent|earlier) (?:chat|talk|conversation|session|discussion)"
    rf"|\blast (?:(?:thing|question) )?(?:(?:that )?(?:we|i|you) )?(?!left|leave|stop|work|pick|finish|carry){_TALKED}"
    rf"|{_TALKED}.*\b(?:last|previous) time\b|\b(?:last|previous) time\b.*{_TALKED}"
    r"|\bwhere (?:was|were) (?:we|i)\b|\bwhere we(?:['’]d)? (?:(?:had )?(?:left|were|was|got|stopped|finished))\b"
    r"|\bwhere (?:did|had|have) we (?:leave|left|stop|finish|end|g[eo]t to)|\bleft off\b)"
)
_WORDS_ON_TALK = (
    r"(?:hi|hey|hello|ok(?:ay)?|so|and|now|again|back|just|well|please|actually|exactly|wh(?:at|ere|ich|en)(?:['’]?s)?"
    r"|how|long|was|were|is|are|do|did|does|ha[sd]|have|been|can|could|would|will|shall|should|you|i(?:['’]?(?:d|m|ll))?"
    r"|we(?:['’]?(?:d|ll))?|us|me|my|our|your|let(?:['’]?s)?|it(?:['’]?s)?|that|this|the|a|an|of|on|in|at|from|to|with"
    r"|about|up|off|for|since|ago|remember|recall|remind|know|tell|told|say|said|saying|ask(?:ed|ing)?|talk(?:ed|ing)?"
    r"|chat(?:s|ted|ting)?|discuss\w*|speak(?:ing)?|spoken?|mention(?:ed)?|conversations?|sessions?|continu(?:e|ing)|carry"
    r"|going|go on|resume|pick|got|get|start|keep|recap|summar\w+|give|quick|short|brief|catch|refresh|memory|last"
    r"|previous|recent|most|latest|earlier|time|left|leave|leaving|stop(?:ped)?|finish(?:ed)?|end(?:ed)?|things?|topics?"
    r"|subject|work(?:ed|ing)?|doing|plans?|questions?)"
)

QUESTIONS = Questions(
    number=pattern(
        r"\bhow (?:many|much|long|old|often|far|tall|big|large)\b"
        r"|\bwhat (?:percentage|percent|number|amount|age|price)\b"
    ),
    when=pattern(
        rf"(?:^|[.?!])(?!{_WHEN_JOINS})[^.?!]*\bwhens?\b"
        r"|\b(?:what|which) (?:exact )?(?:date|day|month|year|time)\b(?! of)|\bdate (?:of|is|was|did|do)\b"
        r"|\bhow long ago\b"
    ),
    day_words=pattern(r"(?i)\b(?:exact )?(?:date|day)(?: of)?\b"),  # elsewhere they have content: "a day off"
    past=pattern(r"(?i)\b(?:did|was|were|had|went|happened|spent|ago|since)\b"),
    ahead=pattern(
        r"(?i)\b(?:do (?:i|we) have|am i(?! (?:on|in|at)\b)|will|going to|coming|upcoming|planned|plans?"
        r"|(?:is|are) there|free"
        r"|scheduled?|calendar|agenda|diary"
        r"|have (?:i|we) got|due|happening|what['’]?s on|(?:about|for) (?:(?:the|my|our) )?(?:weekend|[a-z]+day))\b"
    ),
    choosing=pattern(r"(?i)\b(?:shall|should|could|might) (?:i|we)\b"),
    named_time=pattern("weekend"),
    assistant=pattern(
        r"\b(?:did|have|had|do) you (?:\w+ )?(?:recommend|suggest|advise|propose|mention|tell|say|explain|give)"
        r"|\byou (?:told|said|suggested|recommended|advised|mentioned|gave|explained)\b"
        r"|\byour (?:recommend|suggest|advice|answer)"
    ),
    talk=pattern(
        r"\b(?:discuss|talk(?:ed)? about|ask(?:ed)?(?= (?:you|about)\b)|(?:i|we|you)(?: \w+)? ask(?:ed)?|questions?"
        r"|(?:bring|brought) up|conversations?|topics?|summar\w+|mention\w*)\b"
    ),
    last_talk=pattern(rf"^\W*(?=.*{_EARLIER_TALK})(?:{_WORDS_ON_TALK}\W+)*{_WORDS_ON_TALK}\W*$"),
    personal=pattern(
        r"\b(?:i|i['’]?(?:m|d|ll|ve)|me|my|mine|myself|we|us|our|ours)\b"
        r"|\b(?:recommend|suggest|recipe|recipes|idea|ideas|plan|help|book|pick|choose|give|find|write|cook|order|buy"
        rf"|please|pls)\b|\b{HOUSEHOLD}|"
        r"\b(?:is|are|keeps?) asking\b|\basks (?:about|for|if|whether|wh)|\b(?:wants?|needs?) to know\b"
    ),
    subject=pattern(
        r"(?:(?:^|[,.!?] )\W*(?:whens?|wheres?|which|whos?|whats|what (?:time|day|colou?r|size|sort|kind|make|did|does"
        r"|do|has|will)|is|are|has|have|does|do|did|was|were|how (?!to\b|can\b|could\b|should\b)\w+)\b"
        r"[^,.!?]*?\bthe "
        r"|^\W*(?:(?:and|so|hey|hi|ok) )?"  # "When is choir?"
        r"(?:(?:when|what (?:time|day))(?: does| did|['’]?s| is| was)|where(?:['’]?s| is| was)) "
        r"(?!(?:the|an?|one|you|my|our|your|his|her|their|its|this|that|these|those)\b))(\w+)()"
    ),
    recalls=pattern(
        rf"^(?!.*{_CAPITALISED})(?i:(?={_OPENS_A_QUESTION})(?!.*{_WORLDLY})(?:(?=.*{_PAST_TENSE})(?=.*{_KNOWN_TO_BOTH})|(?={_PRESENT})))"
    ),
    definite=pattern(r"\b(?:the|this|that|these|those)\b"),
    contentless=pattern(
        r"(?i)\b(?:right now|at present|at th(?:e|is) (?:moment|time|point)|current(?:ly)?|presently|nowadays"
        r"|these days|as of (?:now|today))\b"
    ),
    list=pattern(
        r"(?i)(?:^|[.?!\n])(?!\W*(?:why|how(?! many| much| old))\b)[^.?!\n]*?(?:"
        rf"\b(?!what \w+s {_OBJECT})(?!{_ADVICE}|{_HIS_DAYS})"
        r"(?:which|what) (?:(?:kind|type|sort)s? of )?"
        rf"(?:(?!{_SINGULAR})[\w'’+-]+ ){{0,2}}(?!{_SINGULAR})[\w-]+s\b(?!['’](?!ve\b))(?!{_OF_ONE})"
        rf"|\b{_TO_COUNT}"
        r"|\b(?:which|what) (?:people|children|men|women)\b"
        r"|\b(?:what|which|who) (?:are|were) (?!(?:you|we|they)\b)\w"
        rf"|\b(?!{_HAS_ONE_THING})(?:what|where|who)(?: (?:have|has)|['’]ve) \w"
        r"|\bwhat (?:do|does) (?:\w['’\w-]* ){1,4}(?:enjoy|love|hate"
        r"|(?<!look )(?<!sound )(?<!smell )(?<!taste )(?<!feel )like)\b"
        r"|\bwhat (?:do|does) (?:\w['’\w-]* ){1,4}do (?!for|with|as|now|these|at (?:the|this)|right|currently)\w"
        r"|\bwho(?:m)? (?:do|am|are|have) (?:i|we) (?!report|answer).{2,40}\b(?:to|from|with) ?[?.!]*$"
        r"|\bwho (?:came|attended)\b"
        r"|\bwho(?: is| are|['’]s) in (?:my|our)\b"
        r"|\bwhat (?:am|are) (?:i|we) \w+ (?:to|of|in)\b|\bwhat (?:do|did) (?:i|we) .{0,20}\b(?:need|have) to"
        r" (?!do\b|be\b|remember|keep in|watch|look out|think)\w"
        r"|\bname (?:all|the|my) \w+s\b|\bwhat (?:did|do) (?:i|we) .{2,60}"
        r"\bthis (?:year|month|season|spring|summer|autumn|fall|winter|term|semester)\b"
        r"|\b(?:what|where|who) all\b|\ball (?:of )?(?:the (?!(?:time|way|same|best)\b)|(?:my|our|those)\b)"
        r"|\beach (?:of|one)\b"
        r"|\bevery(?:thing|one|body)\b(?!['’](?:s|ll)\b| (?:is|was|has|will|seems|feels|looks|hurts|says?|keeps)\b)"
        r"|\bevery (?!day|week|month|year|time|morning|night|evening)\w"
        r"|(?<!ing )\blist\b(?! for\b)|\bso far\b)"
    ),
    works=pattern(r"(?i)\b(?:books?|novels?|films?|movies?|plays|series|albums?|songs?|games|podcasts?|magazines?)\b"),
    title=pattern(
        r"“[^”]{2,60}”|\"[^\"]{2,60}\"|\*[^*\n]{2,60}\*"
        r"|(?<=[a-z,] )(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)[A-Z][a-z]{2,}"
    ),
    classes=Classes(
        FOLDER / "classes.txt",
        asking=pattern(r"\b(?:which|what|how many|all|every|my)\b"),
        forms=_forms,
    ),
    deeds=Classes(
        FOLDER / "deeds.txt",
        asking=pattern(
            r"\b(?:what|everything|anything|things|stuff)(?: all| else)?(?: that)?"
            r"(?: (?:have|has|did|do|am|are|was|were|i|we)\b|['’]?(?:ve|s|d)\b|\W*$)"
        ),
        forms=_forms,
    ),
    own=pattern(
        r"(?i)\b(?:I|we|my|our|that|those|the(?= (?:\w+ ){1,2}(?:who|that|which|where|i) )) ((?:[\w'’-]+ ?){1,4})"
    ),
    refers=pattern(
        r"^(?!.*\b(?:my|mine|our|ours|you|your|yours|this|these)\b)(?!.*(?<!what about )(?<!is )\bthe (?!others?\b)\w)"
        r"(?!.*\b(?:is|are|was|were) there \w)"
        r"(?!.*\b(?:is|was|will|does|did) (?:it|there) (?:rain|snow|safe|ok|okay|true|possible|normal|legal|worth|time"
        r"|mean|matter|take|any|an?|some|too|still|going|cost to)\w*)"
        r"(?:(?:\W*(?:and|but|so|ok|okay|oh|hm+|also|then)\W+)?(?:what|which|who|whose|where|when|why|how|is|are|was|were"
        r"|does|do|did|has|have|had|can|will|would|could|should|must|what['’]?s|who['’]?s|where['’]?s|when['’]?s|how['’]?s)\b"
        r"(?:\W+[\w'’]+){0,6}?\W+(?:he|she|him|her|his|hers|they|them|their|theirs|it|its|there)\b"
        r"(?:\W+[\w'’]+){0,4}\W*$"
        r"|\W*and (?:(?:at|in|on|from|for|with|to) )?(?:what|which|who|whose|where|when|why|how)(?:\W+\w+){0,4}\W*$"
        r"|\W*(?:(?:and|but|also|so|oh|ok|okay|thanks|thank you)\W+)+(?:his|her|their|its) [\w'’ -]{2,30}\?\W*$"
        r"|\W*what about (?:his|her|their|its|him|them|\w+)\W*$)"
    ),
    referents=pattern(
        r"(?i)\b(?:my|our|the) (?!(?:same|other|first|last|next|way|whole|most)\b)[\w'’-]+(?: [\w'’-]+)?"
    ),
    fillers="mention discuss conversation chat message talk tell told say said speak list order describe explain kind "
    "type sort way various different many much number time various summary summarize detail provide give want need "
    "know ask wonder please",
    open_words="happen occur spend plan event appointment schedule calendar agenda busy free date commitment arrange "
    "diary activity book upcoming due show come forget remember know need list tell say mention talk told look "
    "left still remind mine ours discuss chat speak conversation",
    soon="in the next 30 days",
    me="me",
    my="my",
)
