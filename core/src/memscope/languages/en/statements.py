"""Patterns of English sentences: questions, answers without knowledge, requests, standing wishes."""

from __future__ import annotations

from functools import cache

from memscope.imports import pattern
from memscope.languages.en.words import alternatives
from memscope.languages.statement_rules import MAX_WISH_CHARS, Statements
from memscope.text.tokens import words

_PERSON = pattern(r"\b(?:me|myself|i|my|you|user|yours)\b")
_ME = pattern(r"\b(?:me|myself|yours truly)\b")
_TO_ME = pattern(
    r"\b(?:tell|give|show|remind|let|help|ask|told|teach|send|make|for|to|with|gives?|lend|write|draw|believe) me\b"
)
_WHO_I_AM = pattern(r"\bwho\b.*\b(?:i am|i'm|am i|you(?:'re| are)(?: \w+)? (?:talking|speaking|chatting|dealing))\b")
_KNOWING = """know known remember recall recollect retain memory learnt learned stored save noted keep
gather collect pick understand figure recognise familiar describe introduce summarise summary sum outline sketch
portray portrait paint picture profile rundown overview bio biography recap fact detail info information file
record dossier impression"""
_CONVERSING = """tell told say said talk chat discuss conversation mention share speak hear think believe
reckon guess suppose assume opinion view eyes mind see person user human somebody stranger friend guy man woman
mate thing stuff far date already actually really honestly truly exactly yet now currently right based going
line few word sentence short long bullet point list give show make write help want like please pls quick
question serve deal message session past previous earlier bit answer ask kind sort type let use still dear"""

_MANNER = """answer answers reply replies response responses explanation explanations summary summaries sentence
sentences words lines paragraph paragraphs bullet bullets lists tables emoji emojis jargon slang exclamation markdown
preamble preambles disclaimer disclaimers sources plain formal casual brief concise short blunt swear
swears swearing swearword swearwords""".split()
_MEASURES = """metric imperial celsius fahrenheit kilometer kilometers kilometre kilometres centimeter centimeters
centimetre centimetres kilo kilos grams miles feet pounds ounces""".split()
# Form words of wishes only together with words that ask for a way of answering: "drop the headings", "in euros".
_LOOSE_MANNER = """pointwise paras heading headings header headings table steps numbered asterisks bold italics caps
capital links link citations comments joke jokes tone voice opener lecture lecturing lectures preach pep platitudes
sugarcoat apologise apologize apologies apologising apologizing cussing cursing swearing waffle filler sir madam mrs
nickname screen spelling english german spanish french hindi question""".split()
_SPIELS = "thing bit bits line stuff opener speech spiel routine".split()
_PARTS_OF_FORMS = "small american british miss 24 round rounding".split()
_UNITS = """dollars euros rupees lakh lakhs crore crores cents stone litres liters cups tablespoons kg mg ml inches
yards words digits""".split()
_BID = (
    r"(?:^\W*|[,;:.] |\b(?:please|pls|kindly|just|and|but|so|oh|hey|ok|also|always|(?:can|could|would) you) )"
    r"(?:please |pls |just |kindly |always |maybe )*"
    r"(?:keep|stick|skip|avoid|drop|ditch|lose|no|zero|less|fewer|never|don't|do not|stop|quit|lay off|go easy"
    r"|easy on|spare me|leave out|enough|call me)\b"
)


class EnglishStatements(Statements):
    def asks_about_user(self, query: str) -> bool:
        folded = self.plain(query)
        named = _PERSON.search(folded) is not None
        return named and (self.about_user.search(folded) is not None or _only_me(folded))


def _only_me(folded: str) -> bool:
    """Detect questions that name only the asker, knowledge about them, and the conversation.

    "Paint a picture of me from what we've discussed", but neither "Describe it to me" nor "Who am I meeting?".
    """
    rest = _TO_ME.sub(" ", folded)
    who = _WHO_I_AM.search(rest) is not None
    if not (who or _ME.search(rest)):
        return False
    known, conversing = _about_words()
    content = set(words(_ME.sub(" ", rest))) - conversing
    return content <= known and (who or bool(content))


@cache
def _about_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of words for knowledge about a person, and of words about the conversation."""
    return frozenset(words(_KNOWING)), frozenset(words(_CONVERSING))


_REASON = "because|cause|coz|cos|cuz"
_ONESELF = "i|im|ive|i['’](?:m|ve|d|ll)|my|mine|we|we['’](?:re|ve|d|ll)|our|ours"
_SPOKEN_OF = "he|she|they|its|(?:he|she|it|they)['’](?:s|ll|re|ve|d)|his|her|their"
_SOMEBODY = (
    r"(?-i:[A-Z][a-z]+) (?:is|was|has|had|can|can['’]t|cannot|will|won['’]t|does|doesn['’]t|needs|wants|loves|hates"
    r"|lives)"
)
_LEAD_IN = (
    r"(?:(?:and|so|ok|okay|hey|hi|hello|please|well|again|sorry|quick|random|question|q|wait|um+|hm+|oh|but|also|anyway|btw"
    r"|by the way|lol|haha|yo|dude|just curious|out of interest)\W+)*"
)

STATEMENTS = EnglishStatements(
    question=pattern(
        rf"^{_LEAD_IN}(?:what|whats|what's|who|whos|who's|whose|which|where|wheres|where's|why|how|how's|hows)\b"
        r"(?!\s+(?:a|an)\b)(?!ever)"
        rf"|^{_LEAD_IN}when(?:'?s|\s+(?:is|are|am|was|were|do|does|did|will|can|could|should|has|have))\b"
        rf"|^{_LEAD_IN}(?:(?:do|does|did|can|could|would|will|is|are|was|were|have|has|should)"
        r"\s+(?:you|i|we|he|she|they|it|there|my|the|your|our|this|that|(?:any|every|some)(?:one|body|thing)|people|any)"
        r"|(?:does|is) (?!what|not|my|on|in|off|at|to|from|for)[a-z]+|am i|any idea (?:what|who|where|when|why|how|if)"
        r"|wondering (?:what|who|where|when|why|how|if|whether))\b"
        r"|\b(?:who|what|which|where|when)(?:'s| is| was| are) (?:it|that|he|she|they|this)$"
        r"|^(?:i )?(?:still )?(?:want|need|like) to know\b"
        r"|^(?:please\s+)?(?:tell|remind)\s+me\s+(?:again\s+)?(?:what|who|which|where|when|why|how|if|whether)\b"
    ),
    no_question=pattern(
        r"^(?:what|how)\s+(?:a|an|the hell|nice|lovely|great)\b|^while\b|^how\s+\w+\s*!"
        r"|^did (?:i|we) (?:\w+ )?(?:tell|mention)(?: you)?,? (?:that |(?:i|we|he|she|they)\b"
        r"|(?:my|our) \w+(?: \w+)? (?:is|was|has|\w+ed)\b)"
    ),
    adds=pattern(
        rf"(?i)(?:[,;:]|\s[-–—]+)\s+(?![^?]*\bor\b[^?]*\?)"
        rf"(?=(?:(?:{_REASON}|since|as|and|but|so|btw|by the way),?\s+)?(?:{_ONESELF}|{_SPOKEN_OF}|{_SOMEBODY})\b)"
        rf"|\s+(?=(?:{_REASON})\s+(?:{_ONESELF})\b)"
    ),
    suggests=pattern(r"\W*(?:how about|what about|what if|why not|why don't (?:we|you|i)|shall we)\b"),
    filling=r"hi|hey|hello|ok|okay|please|thanks|thank you|sorry|hm+|um+|oh|well|again|quick question|remind me|tell me"
    r"|one question|just wondering|i forgot|i forget|i always forget|do you remember"
    r"|i (?:really |just |honestly )?(?:can't|cannot|don't|keep) (?:quite |really |even )?"
    r"(?:remember|recall|know|forgetting|find it)"
    r"|i(?:'m| am) not sure|i mean|i think|i guess|i wonder|i need to know|my mind(?:'s| is| has gone) (?:a )?blank",
    unknowing=pattern(
        r"\bi(?:'m| am)? (?:(?:still|really|just|actually|honestly|also|currently|sorry|afraid|yet) )*"
        r"(?:do not|don't|did not|didn't|can't|cannot|could not|couldn't|not sure|unable|have no|haven't got"
        r"|have not got)(?! (?:think|want|like|need|recommend|mind|believe))"
        r"|\bno (?:idea|information|record|records|memory|note|notes|mention|clue|data)\b"
        r"|\bnot? (?:been |yet |yet been )?(?:mentioned|told|shared|recorded|stored)\b"
        r"|\bnothing (?:about|on|is|in|has|was)\b|\bunknown\b|\bi don't[.,!]"
        r"|\byou(?:'ve| have|'d| had)? (?:haven't|have not|hadn't|had not|never|didn't|did not|not|yet)"
        r"(?: yet| actually| ever)* ?(?:to )?(?:tell|told|mention|mentioned|say|said|share|shared|give|gave|given)\b"
        r"|\b(?:that's|this is|that is|it's) (?:not something|something) (?:that )?(?:you |i )(?:have|haven't|'ve"
        r"|don't|never)|\byou(?:'d| would|'ll| will)? (?:have|need) to tell me\b"
    ),
    but=r"\b(?:but|however|although|though|except|only that)\b",
    sorry=r"(?:(?:i'm|i am) )?(?:so |very |really )?(?:sorry|afraid)(?: about that)?|unfortunately|hm+",
    recap=r"(?:as|like) i (?:already )?(?:said|told you|mentioned)\b",
    continues=pattern(
        r"(?i)^\W*(?:(?:and|but|so|oh|yeah|anyway|apparently|turns out)\W+)*(?:he|she|they|his|her|their)\b"
        r"|\b(?:it|them|him|her)\W*$"
    ),
    articles=frozenset(
        "a an the so just really well oh ok okay please hey hi hello too also yes yeah actually 's".split()
    ),
    about_user=pattern(
        r"\bwho (?:am i|i am)(?: to you| for you| really| again)?(?:\W*$|,)|\babout (?:me|myself)\b(?! (?:and|or) (?:my"
        r"|the)\b)|\bknow (?:me|of me)\b(?! better than)"
        r"|\b(?:describe|introduce|summari[sz]e|profile|portray|characteri[sz]e) me\b(?! (?:an?|the|how|what|some)\b)"
        r"|\bsum me up\b"
        r"|\bsum(?:mary)? (?:up )?(?:of )?me\b"
        r"|\bwhat (?:do|can|have|did|else do|all do) you (?:still )?(?:remember|recall|memori[sz]ed?|stored?"
        r"|saved?|noted?|learned|learnt|got)(?: (?:so far|here|from before|now|about us))?\W*$"
        r"|\b(?:tell me|show me|list|say|recite|repeat|summari[sz]e|sum up|recap|go over|run through|remind me(?: of)?)"
        r" (?:\w+ ){0,3}?(?:what|everything|all|anything|the things|whatever) (?:that )?"
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
        r"|\b(?:write|draft|make|create|compose|prepare|update|need|want|put together|come up with|help me with)"
        r"(?: \w+){0,5}? (?:bio|cv|resume|résumé|cover letter|personal statement|self-introduction|elevator pitch"
        r"|about page|(?:linkedin|dating|profile|instagram) (?:profile|summary|page|text))\b(?! (?:of|about)\b)"
        r"(?! for (?:my|our) (?!website|web|site|blog|page|profile|account|job|application|talk|linkedin|insta|social"
        r"|portfolio))(?! for (?!me|my|our|the|an?)\w+)"
    ),
    request=pattern(
        r"^(?:(?:please|hey|hi|hello|ok|so|can you|could you|would you)\W+)*(?:recommend|suggest|plan|help|write"
        r"|find|book|give|make|cook|choose"
        r"|pick|order|draft|create|prepare|show|list|tell|remind|explain|compare|translate|design|buy|get|propose"
        r"|advise|describe|think of|"
        r"come up|invent|compose|summari[sz]e|set|put|schedule|check|look)\b|\b(?:i need|i want|i'm looking for"
        r"|help me|give me|any (?:ideas?|tips?|suggestions?))\b"
    ),
    greeting=r"(?:hey|hi|hello|thanks|thank you|wow|great)\b",
    instruction=rf"(?:(?:please|and|so|btw|by the way|just)\W+)*{alternatives('standing_wishes')}",
    wish=pattern(  # begins with a character set, which ``re`` finds quickly
        r"[iIıİ](?<!\w.)(?i:(?<=i)(?:['’]d| would)?(?: \w+ly)? (?:prefer|rather)\b|(?<=i)(?:['’]d"
        r"| would) like you to\b)"
    ),
    manner=pattern(
        rf"\b(?:{'|'.join(_MANNER)}|small talk|(?:american|british) (?:spellings?|english|usage|terms))\b"
        rf"|{_BID}(?: [\w'/-]+){{0,5}}? (?:(?:{'|'.join(_LOOSE_MANNER)})\b|miss\b(?! \w))"
        rf"|\b(?:don't|do not|stop|quit|skip|drop|lay off|no|enough)\b.{{1,60}}[\"”'] (?:{'|'.join(_SPIELS)})\b"
    ),
    measures=pattern(
        rf"\b(?:{'|'.join(_MEASURES)}|24[- ]hour)\b"
        rf"|\b(?:in|use|using|whole)(?: (?:canadian|us|whole|and|\w+ and))? (?:{'|'.join(_UNITS)})\b"
        rf"|{_BID}(?: \w+)? (?:round|rounding)\b"
    ),
    form_words=frozenset((*_MANNER, *_MEASURES, *_LOOSE_MANNER, *_SPIELS, *_UNITS, *_PARTS_OF_FORMS)),
    insists=pattern(
        rf"^(?=.{{0,{MAX_WISH_CHARS}}}$).*?{_BID}|\b(?:pls|each time|is (?:plenty|enough))\b|^\W*(?:\w+ ){{0,3}}?"
        r"(?:figures|amounts|prices|temps|temperatures|distances"
        r"|weights|sizes|doses|numbers|measurements)(?: (?!is\b|are\b|were\b)\w+)? in\b"
        r"|^\W*(?:please |just |and |but |oh |btw,? |by the way,? )*(?:keep|use|stick to|skip|avoid|never"
        r"|always|no|zero|only|don't|do not|stop|quit|answer|reply|talk|speak)\b"
        r"|\b(?:tops|max|maximum|at most|or (?:less|fewer)|(?:no|not) more than|only|please|under (?:\d+|\w+)"
        r" (?:lines|words|sentences)|always|whenever"
        r"|when you(?:'re| are)? (?:giv\w+|writ\w+|answer|reply|tell|list|show|explain|talk|speak|help|send)\b"
        r"|every time|from (?:now|today|this day)"
        r"|with me|to me|for me"
        r"|in general|by default)\b|\bi(?:'d| would)?(?: really| much)? (?:prefer|rather|like|want|hate"
        r"|can't stand|need|think in)\b"
    ),
    bids=pattern(
        r"\b(?:can|could|would|will) you (?:please |just |maybe |kindly |always |try to )*"
        r"(?:keep|use|stick|skip|drop|stop|avoid|not|spare|answer|reply)\b"
    ),
    once=pattern(
        r"\b(?:(?<!reading )(?<!read )(?:this(?! (?:day|phone|screen|chat)\b)|these)"
        r"|that|following|below|above|translate|summari[sz]e|rewrite|rephrase|immediately|right now|now$|previous"
        r"|the (?:next|last) one|(?:word|character) count"
        r"|shorten|convert|explain|describe"
        r"|(?:to|for|tell|give|with) (?:him|her|them|(?:my|our) \w+)"
        r"|(?:write|draft|give|tell|make|need|want|suggest|find|pick)(?: me| us)? (?:an?|one|two|three|four|five"
        r"|six|ten|some|\d+)\b)"
        r"|[:“\"](?![^”\"]{0,60}[”\"] \w)(?! (?:thing|bits?|line|stuff|opener|speech)\b)"
        r"|\b(?:was|were|had|did|said|says|got|asked|wrote|sent)\b"
    ),
    birth=pattern(r"(?i)\bborn\b"),
    either=pattern(r"(?i)\s*\bor\b(?: maybe)?(?: (?:in|on|the))*\s*"),
    first_person=frozenset("i me my we our i'm i'd i'll i've we're we'd we'll we've".split()),
)
