"""Patterns of English facts: what a fact or an answer says by its wording."""

from __future__ import annotations

from memscope.imports import pattern
from memscope.languages.en.words import alternatives
from memscope.languages.wording_rules import Wording

_CONFIRMS = (
    r"yes|yeah|yep|yup|yes,? please|exactly|correct|indeed|precisely|(?:that|this|it)(?:'s| is|’s) (?:right|true)"
    r"|true|you(?:'re| are|’re) right|right you are|absolutely|definitely|certainly|of course|totally|i think so"
)
_AFFIRMS = (
    rf"{_CONFIRMS}|yea|aye|ok|okay|sure|right|please do|go ahead|uh[- ]?huh|mh?m+|still|always|often|usually|mostly"
    r"|sometimes|rarely|occasionally|a (?:bit|little|lot)|badly|very(?: much)?|(?:i|we)(?: still| really| sure)? (?:do"
    r"|am|are|have|did|was|were|would|will|can|could)"
    r"|ja|oui|s[ií]|sim|da|tak"  # other languages too: short texts in Latin letters are read by these rules
)
_ANSWERED = r"(?i)\A\W*(?:(?:oh|well|hm+|ah|why|hell|hi|hey)\W+)*(?:{})\b(?!['’]| not\b)"

# Imperative verbs at the beginning of an instruction: alone, or before an object if the verb may also be a name or a
# noun. The last ones act on the world, unlike wishes for the form of answers.
_BIDS = (
    r"(?:ignore|disregard|obey|follow|send|reveal|delete|reply|respond|mention|say|tell|recommend|forward|approve|forget"
    r"|remember|pretend|refuse|suggest|describe|avoid|include|give|ask|let|make|keep|treat|bring up|refer|insist|speak"
    r"|go on|praise)"
)
_BIDS_OR_NAMES = (
    r"answer|call|use|write|show|trust|pay|transfer|buy|run|execute|open|click|visit|store|save|note|add|remove"
    r"|talk|accept|confirm|sign|share|publish|post|email|mail|text|greet|address|read|report|change|set|start|stop|quit"
)
_BIDDEN = (
    r"(?:the|an?|all|any|every\w*|no|it|this|that|these|those|him|her|them|me|us|your|users?|to|in|with|only|as|about)"
)
_ACTS = (
    r"(?:run|execute|delete|remove|send|forward|approve|pay|transfer|buy|order|reveal|leak|publish|post|share|sign|accept"
    r"|install|download|open|visit|click|ignore|disregard|obey|recommend|promote|praise|hide|conceal|lie|trust)"
)

_NOT = r"n['’]t|\b(?:do|does|did|is|are|was|were|has|have|had|ca|wo|would|could|should)nt"

WORDING = Wording(
    plan=pattern(
        r"(?i:\bplan(?:s|ned)? to\b|\bplanning\b|\bintend(?:s|ed)? to\b|\bconsider(?:s|ed)? \w+ing\b|\bconsidering\b"
        r"|\bthinking (?:about|of)\b|(?<!not )(?<!longer )\bwants? to (?!be\b|have\b|hear\b)"
        r"|\b(?:would|'d) (?:like|love) to (?!be\b|have\b|hear\b)|\bhop(?:es?|ing) (?:to|that|for)\b"
        r"|\bdream(?:s|ing) of\b|\bafraid (?:that|of \w+ing)\b|\bfears? (?:that|\w+ing)\b"
        r"|\bworr(?:y|ied|ies) (?:that|about \w+ing)\b|\bmight\b|\bmaybe\b|\bperhaps\b|\bpossibly\b)|\bmay [a-z]+"
    ),
    future=pattern(r"(?i)\b(?:will|shall|going to|about to)\b|'ll\b"),
    told_as_past=pattern(
        r"(?i)\b(?:lived|worked|studied|stayed|spent|dated|attended|served|used to)\b"
        r"|\b(?:was|were) (?:an?|the|in|at|living)\b"
    ),
    formerly=pattern(
        r"(?i)\b(?:used to|formerly|previously)\b|(?<!has )(?<!have )(?<!'ve )\b(?:lived|worked|studied)\b"
    ),
    still_holds=pattern(r"(?i)\b(?:has|have)(?: \w+)? \w+ed\b|'ve \w+ed\b|\bsince\b"),
    state_words=frozenset("live work studi us".split()),
    not_so=pattern(r"(?i)\bnever\b|\bnot\b|n't\b"),
    denial=pattern(r"(?i)\b(?:no|not|never|none|nobody|nothing|neither|without|cannot)\b|n't\b"),
    denies=pattern(r"\b(?:not|no|never|n't|cannot)\b|n't\b"),
    denied=pattern(  # "I couldn't love it more", "no, I do", "not only" and "not until May" deny nothing
        rf"(?i)(?:\b(?:not|never|no|cannot)|{_NOT})\b(?: (?:any )?longer\b)?"
        r"(?!,? (?:only|just|i|we|my|it|s?he|they|there)\b)"
        r"(?!.*\b(?:(?<!any )more|enough|better|until|till|before|after|except|unless|nothing)\b)"
        r"(?P<rest>.*?)(?:\W*\b(?:anymore|any ?more|at all|yet|now|either|these days))*\W*\Z"
    ),
    negation=pattern(r"not|no|never|none|nothing|nobody|without|cannot|hardly|.*n't"),
    named_day=pattern(
        r"(?i)\b(?:birthday|anniversary|wedding day|eve|holidays?|easter|passover|ramadan|eid|diwali|hanukkah"
        r"|thanksgiving|christmas)\b"
    ),
    time_word=pattern(
        r"(?i)\b(?:semester|term|season|vacation|weekend|since|until|till|ago|mornings?|evenings?|afternoons?"
        r"|when|(?:day|night|week|month|year|decade)s?)\b|\b\d{1,2}(?:st|nd|rd|th)\b"
    ),
    state_verb=pattern(
        r"(?i)\b(?:is|are|has|have|likes?|loves?|wants?|lives?|works?|plans?|needs?|prefers?|enjoys?|hates?|owns?)\b"
    ),
    timeless=pattern(
        r"(?i)\b(?:likes?|loves?|prefers?|enjoys?|hates?|dislikes?)\b"
        r"|\bis (?:an? )?(?:allergic|vegetarian|vegan|called|named)\b"
        rf"|\b{alternatives('lasting_traits')}\b"
    ),
    changing=pattern(rf"(?i)(?:(?<![\w-])|(?=')){alternatives('changing_states')}"),
    hearsay=pattern(
        r"(?P<source>\w[\w'’ -]{0,40}?) (?:says?|said|thinks?|thought|believes?|believed|claims?|claimed|heard"
        r"|suspects?|guess(?:es)?) (?:that )?(?!(?:yes|no|okay|goodbye|hello|thanks?|sorry|so)\b)(?=\w)"
    ),
    affirms=pattern(_ANSWERED.format(_AFFIRMS)),
    confirms=pattern(_ANSWERED.format(_CONFIRMS)),
    supposes=pattern(
        r"(?i)\A\W*(?:(?:oh|ah|ok|okay|well|hm+)\W+)*(?:so|then|i see|i take it|i assume|i gather|i suppose|it (?:seems"
        r"|looks|sounds)|sounds|you mean)\b[^.!?]{0,40}?\byour?\b"
    ),
    takes_up=pattern(
        r"(?i)\b(?:i|we)(?:'(?:ll|ve|d|m|re)| (?:will|shall|have|had|am|are|would|might|can|do|did))?"
        r"(?: (?:\w+ly|just|also|even|always|often|already|going to|gonna|to|want|wanted|like))*"
        r" (?P<deed>[a-z]+) (?:it|that|this|them|those|these|that one|this one|one)\b"
        r"(?=(?: (?:too|now|then|today|tonight|tomorrow|soon|instead|up|out|as well|very much|a lot|so much|next"
        r"|already|for sure|this \w+|next \w+|last \w+|in \w+|on \w+|at \w+))*\W*(?:$|[,.;!\n]| (?:and|but|because)\b))"
    ),
    over=pattern(
        r"(?i)\b(?:stopped|quit|gave up|given up|ended|finished|former(?:ly)?|ex|used to|sold|lost|left|broke up"
        r"|divorced|resigned|retired|cancell?ed|dropped|any ?more|no longer"
        r"|(?:moved?|moving) (?:out|away)|died|passed away)\b"
    ),
    instruction=pattern(
        r"(?i)\A(?:please|from now on|you (?:must|should|shall|have to|are to))\b"
        r"|\A(?:always (?-i:[a-z])|(?:do not|don['’]t)\b)"
        r"|\A(?:system|developer|admin(?:istrator)?|operator|instructions?|rules?|assistant|AI|note to [\w ]{1,20})\s*:"
        r"|\A(?:the |an? )?(?:assistant|AI|chatbot) (?:must|should|shall|has to|is to|may not|cannot)\b"
        rf"|\A(?:(?:(?:when(?:ever)?|if|once|before|after|as soon as|every time)\b[^,.]{{1,100}},? )?"
        rf"(?:(?:then|always|never|only|also|just|please|remember to|be sure to|make sure to|do not|don['’]t) )*)"
        rf"(?:{_BIDS}\b|(?:{_BIDS_OR_NAMES}) {_BIDDEN}\b)"
        r"|\A(?:never|under no circumstances) (?!\w+(?:ing|ed)\b)[a-z]+ |\b(?:previous|prior|earlier) instructions\b"
        rf"|\b(?:wants?|wishes|asks?|asked|expects?|instructs?|instructed|tells|told|orders?|ordered|allows?|allowed) "
        rf"(?:that )?(?:the |their |an? )?(?:assistant|AI|chatbot|agent) (?:to |must |should |may )?"
        rf"(?:always |never )?{_ACTS}\b"
    ),
    user=pattern(r"(?i)\bthe user(?:'s)?\b"),
    user_named=pattern(
        r"\AThe user(?:'s)? (?:(?:full |first )?name is|is called|is named|goes by)"
        r"\s+([^\W\d][\w'’-]*(?: [A-Z][\w'’-]*)?)"
    ),
    possession=pattern(
        r"(?P<owner>\b[Tt]he user|\b[A-Z][\w-]+)['’]s"
        r" (?:(?:new|old|former|current|present|next|latest|own) )?(?P<thing>[a-z]{3,})"
    ),
    single=(
        pattern(r"\b(?:lives?|living|resides?) (?:in|at) (?P<rest>.+)"),
        pattern(r"\b(?:works?|working) (?:at|for|as) (?P<rest>.+)"),
        pattern(r"\b(?:was born|comes?|is originally) (?:in|on|from) (?P<rest>.+)"),
        pattern(r"\bis (?P<rest>\d+) years old"),
        pattern(r"\b(?:name is|is called|is named) (?P<rest>.+)"),
        pattern(r"\bis (?:married to|engaged to) (?P<rest>.+)"),
    ),
    joint=r"\s+and\s+",
    articles=frozenset("a an the that this just also really very".split()),
    assistant_names=frozenset("ai assistant bot chatbot chatgpt".split()),
    basics="basics",
    other="other",
)
