"""Patterns of English messages: what a message needs from memory by its wording."""

from memscope.imports import pattern
from memscope.languages.en.words import FOLDER, HOUSEHOLD, alternatives, word_list
from memscope.languages.request_rules import Requests

_ADDRESSED_TO_ME = (
    r"(?:tell|give|show|help|teach|explain to|write|make|draw|get|find|send|let|ask|sing|read|bring|walk|talk|list"
    r"|name|greet|spell|define|describe|quiz|test)(?: (?:it|this|that))?"
    r" (?:to )?(?:me|us)\b(?: (?:through|with|know|about))?"
)
_MEASURED_IN = (
    r"(?:fahrenheit|celsius|f|c|miles?|mph|km|kmh|kilomet\w+|met(?:re|er)s?|kg|kilos?|grams?|stones?|pounds?|lbs?"
    r"|ounces?|oz|inch(?:es)?|cm|centimet\w+|feet|foot|ft|yards?|acres?|gallons?|lit(?:re|er)s?|pints?|ml|cups?"
    r"|(?:table|tea)spoons?|usd|eur|gbp|euros?|dollars?|yen|seconds?|minutes?|hours?|days?|weeks?|months?)"
)
# "My screen is 27 inches, how many cm is that?", "I've 2 lb of mince, what's that in grams?"
_CONVERSION = (
    rf"\b(?:\d[\d.,]*|half an?|an?|one|two|three|four|five|six) ?(?:°|degrees? )?(?P<unit>{_MEASURED_IN})\b"
    rf"(?s:.){{0,60}}?(?:\b(?:how (?:many|much)|in|into|to)(?: us| uk)? (?!(?P=unit)\b){_MEASURED_IN}"
    r"(?=\W*(?:$|(?:is|are|does|would) (?:that|it|this)\b|please|pls))"
    rf"|\b{_MEASURED_IN},? (?:please|pls)\b)"
    rf"|\bhow many (?:us |uk )?{_MEASURED_IN} (?:is|are|in|make)(?: there)?(?: in)? (?:\d|an?\b|half\b|one\b)"
)
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}"
_EDIT = (
    r"(?:rewrite|rephrase|reword|paraphrase|proofread|correct|fix|improve|polish|shorten|simplify|summari[sz]e|sum up"
    r"|condense|edit|format|sort|alphabeti[sz]e|extract|highlight|expand|convert|turn|make|check|punctuate|outline)"
)
# "Whose turn was it?", "What was the highlight of that trip?": nouns that look like verbs of editing.
_NO_NOUN = (
    r"(?<!\bwhose )(?<!\bwhat )(?<!\bwhich )(?<!\bthe )(?<!\ba )(?<!\ban )(?<!\bmy )(?<!\bhis )(?<!\bher )(?<!\bno )"
)
_BROUGHT = (
    r"(?:this|these|the following|that|it|below|above|(?:the )?(?:grammar|spelling|punctuation|sentence|paragraph"
    r"|passage|text|article|abstract|essay|typos?))"
)
_DOCUMENT = (
    r"(?:article|page|web ?page|website|text|letter|e-?mails?|mail|message|messages|post|posts|thread|chat|conversation"
    r"|transcript|report|review|document|file|contract|story|excerpt|passage|paragraph|abstract|chapter|essay|paper|notes?"
    r"|minutes|statement|notice|newsletter|press release|blog|snippet|log|logs|output|result|results|response)"
)
_MAIL_FIELD = r"(?:from|sent|to|cc|bcc|date|subject|reply-to): ?[^\n]*"
_TIME_NOUNS = r"(?:weekend|week|month|year|evening|morning|afternoon|summer|winter|spring|autumn|fall|is|happen|work)"
# "best place to eat", "which is better?", but not facts such as "which country makes the best chocolate".
_BEST = (
    r"^\W*(?:the )?best\b|\b\w+est way to\b|\b(?<!who is the )(?<!who's the )(?<!who was the )(?:better|best)\b"
    r"(?=(?: (?!in\b)\w+){0,3} (?:to|for|near|nearby|around|in (?!the world\b|history\b|\d))\b"
    r"| (?:way home|one|idea|if|on|or|tomorrow|tonight|today|this|next)\b|\W*(?:$|[,:]))"
)
# Sentences that ask without being questions: "The tax form wants my occupation.", "I wonder where the key is.".
_ASKS_INDIRECTLY = (
    r"(?s:.*)\b(?:(?:asks|wants|needs)\b(?: \w+){0,6}? (?:my|our|we|i)\b|let'?s\b"
    r"|(?:wonder|(?:not|don'?t|can'?t) (?:sure|know|remember)|no idea|forg[eo]t)\b[^.]{0,60}"
    r"\b(?:wh(?:at|ere|o|ose|ich|en|ether)|how|if)\b)"
)

# "Which school does my son go to?", "What's the name of our vet?", but not "How do I get to my sister's?".
_FOR_MEMORY = (
    r"\b(?:remember|remind|recall|tell me|told|happened)\b"
    r"|^(?:\W*\w+\W+){0,3}?(?:which|what|who|whose|how many) of (?:my|our)\b"
    r"|\b(?<!how )(?<!why )(?:do|does|am|is|are|have|has) (?:i|we|my|our)\b"
    r"(?! (?:need|have|ought) to\b| do (?:with|about)\b)(?!.*\b(?:if|because|since|now that) (?:i|we|my|our)\b)"
    r"|(?:['’]s|\bis|\bare)(?: (?:my|our)| the (?:name|number|address|date|time|day|code|title|size|colou?r))\b"
    r"|\bhow do (?:i|we) (?:take|like|know|feel|spell|prefer|usually|always)\b"
)
# What follows a comma goes on with the question: "..., or the red one", "..., for example with rice".
_GOES_ON = (
    r"(?:or|and|in|on|at|to|of|for|with|by|like|such|not|please|right|then|either|maybe|if|when|where|who|which|what|how"
    r"|why|e\.g|preferably|ideally|especially|including|than)"
)
_OF_THE_SPEAKER = (
    r"\b(?:my|our|(?:when|if|before|after|while|since|because|as|that) (?:i|we)|i['’]?(?:m|ve)|i am|we['’]re|we are"
    rf"|mum|mom|dad|granny|grandma|grandpa|grandad)\b|\b{HOUSEHOLD}"
    r"|\b(?:can|could|should|would|may|might|do) (?:i|we)\b(?=(?:\W+\w+){7})|\bdo (?:i|we) do (?:with|about) \w"
    r"|\b(?:gets?|takes?|left|gave|sent|asked|wants|offered|charged|owes?|sold|lent) (?:me|us)\b"
    rf"|[,;–-] (?!(?:\S+ ){{0,2}}{_GOES_ON}\b)(?=(?:[\w'’]+ ){{2,}}[\w'’]+)"
)

# Words, moves and measures, which are good for anybody: "What's a good synonym for happy?", "a decent heart rate".
_ABSTRACT = (
    r"(?:(?:question|word|synonym|phrase|sentence|title|headline|slogan|caption|rhyme|pun|joke|riddle|quote|example"
    r"|metaphor|analogy|acronym|password|opening|move|strateg(?:y|ie)|tactic|way|score|rate|ratio|salar(?:y|ie)|price|average"
    r"|percentage|speed|temperature)s?)"
)

REQUESTS = Requests(
    need_score=FOLDER / "need_score.json",
    talk_score=FOLDER / "talk_score.json",
    small_talk=word_list("small_talk"),
    small_talk_message=pattern(
        r"\W*(?:please )?(?:try|do it|write it|say it|one more time)(?: again| once more)?(?:,? but(?: \w+){1,2})?"
        r"(?: please)?\W*"
        r"|\W*(?:please )?(?:carry on|continue|go on|keep going)(?: from)?"
        r"(?: where (?:you|we) (?:left off|were|stopped))?\W*"
        r"|\W*(?:(?:hi|hiya|hey|hello|(?:good )?(?:morning|afternoon|evening))\W+)?(?:and )?how(?:['’]?s| is| are)"
        r" (?:it going|things|life|tricks|everything|you(?: doing| keeping)?)(?: today| tonight)?\W*"
    ),
    courtesy=pattern(
        r"(?:many |ok(?:ay)?,? |oh,? |ah,? |aw,? |great,? )?(?:thanks|thank you|thx|ty|cheers|ta|much appreciated|hi"
        r"|hey|hello|hiya|yo"
        r"|namaste|good (?:morning|afternoon|evening|night|day)|morning|bye|goodbye|see you|got it|makes sense"
        r"|fair enough|hm+|right|perfect|brilliant|awesome|lovely|nice|cool|ok|okay|yes|yep|no|nope|sure|lol|haha"
        r"|you(?:'re| are) (?:an?|the) \w+)\b"
    ),
    asks_something=pattern(
        r"[?]|\b(?:what|who|where|when|why|which|how|can|could|would|should|recommend|suggest|plan|help|write"
        r"|find|book|remind|need|want|give|show|list|tell me|make|cook|pick|choose|order|is|am|are)\b(?! (?:are you"
        r"|so much|sense))"
    ),
    addressing=pattern(
        r"\b(?:can|could|(?<!what )(?<!which )(?<!where )would|will|(?<!what )do|did) you"
        r"(?: (?:please|kindly|just|maybe|quickly|possibly|mind))*\b"
        rf"|\b{_ADDRESSED_TO_ME}|\bto me\b|\b(?:for|with) me\b(?= *(?:[:.?!]|$|please|pls))"
        r"|\bhow (?:do|does|can|would|did) (?:i|you|we|one)\b|\bhow could (?:you|one)\b"
    ),
    material=pattern(
        rf"\btranslat(?:e|ion|ing)\b|\b(?:in|into|to) {alternatives('languages')}\b(?! (?:class|course|lesson|exam))"
        r"|\bhow (?:do|would|can|to)(?: (?:you|i|we|one))? (?:say|spell|pronounce|write)\b"
        rf"|\b{_EDIT}\b[^:]{{0,40}}:|{_NO_NOUN}\b{_EDIT}\b(?: \w+){{0,5}}? {_BROUGHT}\b(?! {_TIME_NOUNS}\b)"
        r"|\b(?:tl;?dr|key (?:points|takeaways)|main (?:points|idea)|bullet points)\b.{0,20}\b(?:this|of|from|below)\b"
        r"|\b(?:synonyms?|antonyms?|rhymes?|plural|past (?:tense|participle)|opposite|anagram|etymology"
        r"|(?:an)?other words?)\b"
        r" (?:for|of|with)\b|\bwhat rhymes with\b|\bwhat(?:'s| is| are| does)\b.{0,40}\b(?:mean|stand for|short for)\b"
        r"|\bmeaning of\b|\b(?:is|are) (?:it|this|the (?:sentence|grammar|spelling)).{0,20}\b(?:correct|grammatical)\b"
        r"|\bwhich is correct\b|\bdefin(?:e|ition)\b"
        r"|\b(?:read|look at|check) (?:this|these|the following)\b.{0,40}\bwhat (?:it|this|they) (?:means?|says?)\b"
        r"|^(?!.*\b(?:my|our)\b).*\b(?:apostrophe|comma|semi-?colon|full stop|hyphen(?:ate)?|capital letter|adverb"
        rf"|preposition)s?\b|\b\d[\d.]* ?% (?:of|off|tip)\b|\bat \d[\d.,]* (?:each|apiece)\b|{_CONVERSION}"
    ),
    shows=pattern(
        r"(?im)^[ \t>]*on (?=[^\n]*\d)[^\n]{4,120}(?:\n[^\n]{1,80})?(?<!\bi )\bwrote:[ \t]*$"
        rf"|^[ \t]*{_MAIL_FIELD}\n(?:[ \t]*{_MAIL_FIELD}(?:\n|\Z))+"
        r"|^[ \t]*[-_=*]{2,} ?[^\n-]*\b(?:message|mail|e-mail|forwarded)\b[^\n-]*[-_=*]{2,}"
        rf"|\bhere(?:['’]s| is| are) (?:the|an?|this|that|some)(?: (?!my\b|our\b)[\w'’]+){{0,4}}? {_DOCUMENT}\b"
        r"(?! (?:i|we) (?:wrote|have written|drafted))[^\n:]*(?::|\n)"
        r"|\bhere(?:['’]s| is) what (?!i\b|we\b)[^\n:]{1,60}:"
        rf"|^[^\w\n]{{0,9}}(?:attached|uploaded|pasted|shared|copied|forwarded)(?: \w+){{0,2}}? {_DOCUMENT}\b[^\n:]*:"
        r"|^[^\w\n]{0,9}(?:the )?(?:tool|search|function|browser|web|api|command|query|terminal|shell)(?: \w+)?"
        r" (?:results?|outputs?|responses?|returned|says|said|prints|printed)\b[^\n:]{0,40}:"
        rf"|^[^\w\n\[]{{0,9}}\[(?:attached |uploaded |pasted |tool |search )?{_DOCUMENT}\b[^\]\n]*\]"
    ),
    quotes_oneself=pattern(
        r"(?i)\b(?:i|we)(?:['’](?:ve|d)| have| had| would| will)?(?: \w+ly| just| then| also| only| always)?"
        r" (?:said|say|told|tell|wrote|write|answered|replied|asked|posted|texted|explained|announced|shouted|called it"
        r"|thought)\b[^.!?\n\"“]{0,40}\Z"
    ),
    brings=pattern(r"\b(?:this|these|the following|below)\b"),
    task=pattern(
        rf"\b{alternatives('task_words')}\b"
        r"|\bhow many (?:\w+ ){1,3}(?:(?:are|is) (?:there )?in|make|equal|does|fit)\b"
        r"|\b\d[\d.,]* (?:times|percent|%|plus|minus|over|mod|to the power)\b"
        rf"|\b\d[\d.,]* ?(?:°|degrees? )?{_MEASURED_IN}\b.{{0,12}}\b(?:in|to|into) {_MEASURED_IN}\b"
        r"|\b(?:in|for|of) an? (?:\w+ )?(?:story|novel|fairy ?tale|film script|fantasy world|character)\b"
        r"|^\W*(?:give me |name |list )?(?:\d+|two|three|four|five|six|seven|eight|ten|a few|some) (?:\w+ ){0,3}?"
        r"(?:names|words|facts|examples|sentences|titles|slogans)\b"
        r"|\b(?:write|draft|compose)\b[^.?!]{0,24} (?:letter|note|e-?mail|card|speech|message|review|invitation)\b"
        r"[^.?!]{0,40}? (?:from|on behalf of) (?:an?|the) \w"
        r"|\b(?:roll|flip) (?:an?|the|some|two|three|\d+) (?:die|dice|coins?)\b|\bpick a (?:random )?number\b"
    ),
    reckons=pattern(
        r"\bhow (?:much|many|long|far|fast|old|tall|big)\b(?: \w+)? (?:is|are|does|would|will|do)"
        r" (?:that|this|it|they|each)\b|\bwhat(?:'s| is) (?:\d|half\b)"
        r"|\b(?:total|split|divided?|share|average|mpg|sum|percent(?:age)?|ratio|times|each|apiece|per)\b"
    ),
    numbers=pattern(
        rf"\b{_MONTH} \d[\d.,]*|\b\d+(?:st|nd|rd|th)?(?: of)? {_MONTH}\b|\b(?:19|20)\d\d\b"
        r"|\b\d+(?:st|nd|rd|th|am|pm)\b|\b\d+(?:[-/:]\d+)+"
        r"|(\d[\d.,]*|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|half|quarter|dozen)\b)"
    ),
    news=pattern(
        r"\b(?:rain|snow|(?<!hot )(?<!cold )(?<!warm )(?<!wet )(?<!dry )(?<!bad )(?<!humid )weather|forecast"
        r"|headlines?|in the news|latest news|stock price|share price|exchange rate|score of"
        r"|what (?:time|day|date) is it(?: (?:now|today|right now|at the moment|in .{1,40}?(?: when it.{1,30})?))?\W*$"
        r"|what['’]?s the (?:time|date)(?: (?:now|today|right now|in .{1,40}))?\W*$"
        r"|who won(?! the \w+(?: \w+)?\W*$))\b"
    ),
    may_have=pattern(
        r"^\W*(?:(?:so|and|but|then|hm+|hey)\W+)*(?:can|could|may) (?:i|we|my \w+) (?:(?:still|also|even|just) )?"
        r"(?:eat|drink|have|try|taste) (?!(?:that|this|it|them|those|these|the|your|my|to)\b)\w"
    ),
    advice=pattern(
        r"^\W*(?!(?:is|are|was|were|am|be|do|does|did|has|have|had|can|will|would|what|which|who|whose|when|where|why|how"
        r"|either|whether|more|less|today|tomorrow|sooner|one|two)\b)(?:[a-z'-]+ ){1,4}or (?!so\b|not\b|less\b|more\b)"
        r"(?:[a-z'-]+ ?){1,7}\?|"
        r"\b(?:recommend|suggest|recipes?|ideas?|plan|pick|choose|book|reserve|cook|buy|gifts?|presents?|advice"
        r"|(?<!in )(?<!what )order(?= (?!of\b|to\b)\w)"
        r"|advise|tips?|itinerary|menu|breakfast|lunch|dinner|worth(?= \w)|should (?!(?:\w+ ){0,5}be\b)|shall"
        r"|something|somewhere|(?<!does )(?<!can )(?<!is )anything|(?<!how )safe|okay|tonight|tomorrow|today|birthday"
        r"|(?:this|next) (?:week|weekend|month|evening|afternoon|morning))\b"
        rf"|{_BEST}"
        r"|\b(?:what|which|when|where|who|how)\b(?: \w+){0,3}? (?:(?:could|might) (?:i|we)|would (?:be|make) an?)\b"
        r"|\b(?:what|which|where)\b(?: \w+){0,3}? (?:would you|would (?:do|suit|fit|go|look|work|match)"
        r"|(?:could|might) (?:the|my|our) \w+|do (?:i|we) (?:do|get|wear|try|bring|pack|serve|take)"
        r"(?= (?:next|now|then|instead|with|when|if|there)\b|\W*$))\b"
        r"|^\W*(?:(?:and|so|ok|hey|no idea|not sure|stuck on)\W+)*"
        r"(?:what|where|who|which(?: \w+){1,2}) to (?!look for\b)\w"
        r"|\bwould be (?:an? )?(?:good|nice|best|suitable|ideal|fun|right|perfect|fitting|handy)\b"
        r"|\bwhat (?:can|could) (?:i|we) (?:make|cook|bake|do|wear|bring|serve|put|give|get|have|use|play|watch|read)\b"
        r"|\bwhat goes (?:well )?with\b"
        r"|\b(?:some|any|more|the best) (?:[\w-]+ )?(?:options?|names|places|spots|choices)\b"
        r"|\bput together\b|\bgo for\W*$"
        rf"|\bwhat do you (?:reckon|say|think)\W*$|(?<!how much does )(?<!how long does )"
        rf"\b(?:an?|any|some) (?:\w+ )?(?:good|nice|decent|fun)\b(?! (?:\w+ ){{0,2}}?{_ABSTRACT}\b)"
    ),
    asides=pattern(rf"^(?![^,;]*(?:{_FOR_MEMORY})).*(?:{_OF_THE_SPEAKER})"),
    looks_up=pattern(
        r"^\W*(?:(?:and|so|but|hey|hi|ok(?:ay)?|sorry|btw|wait)\W+)*"
        r"(?:(?:what|which|when|where|who|whose|how|why)\b(?:(?! should| could| would| can)[^.,;?]){0,40}? )?"
        r"(?:did|was|were|have (?:i|we) ever)\b"
        r"|\b(?:(?:when|where|who)(?:['’]s| is| are)|(?:when|who)(?: do| does| will)|what (?:time|day|date)"
        r"|how (?:old|tall|heavy|big|many|much|often|long))\b"
        r"(?!.*\b(?:good|better|best|should|shall|could|can|would)\b)"
    ),
    measures=pattern(
        r"\bhow (?:far|big|long|tall|hot|cold|warm|heavy|deep|high|wide|large|fast|thick|thin|small)\b"
        r"|\b(?:recipe|temperature|distance|weight|height|size|speed|degrees)\b"
    ),
    amounts=pattern(
        r"\b(?:dos(?:e|age)|salary|budget|population)\b|\b(?:price|costs?)\b(?!.*\bmy\b)"
        r"|\bhow much\b(?! (?:do|did|have|was|were|is left)\b)(?!.*\b(?:i|my|we|our)\b)"
    ),
    tells=pattern(
        r"\b(?:why|explain|describe|tell (?:me|us) (?:about|more|how|why)|how (?:come|do|does|did|is|are|can)"
        r"|difference|compare|essay|article|story|email|letter|message|post|summary|draft|pros and cons"
        r"|walk me through|teach me|talk me through|break down|overview|background on|what happens when|what's the deal"
        r"|help me understand|(?:write|draft|compose)\b.{1,24}\b(?:speech"
        r"|toast|caption|invitation|card|text|description|blurb)"
        r"|(?:i|we)(?:'m| am|'re)?(?: (?:just|so|really|feeling|can't|cannot|feel|stop|like|a bit|in|lost|failed))+"
        r" (?:sad|low|down|awful|rubbish|terrible|nervous|scared|anxious|lonely|crying|tears|sleep|my|our|again)"
        r"|(?:died|passed away|heartbroken|wits' end))\b"
        r"|\b(?:you|your|my)(?: (?:to|not|should|must))* (?:answers?|reply|replies|replying|respond|responses?)\b"
        r"|\b(?:format|when (?:answering|replying|responding))\b"
    ),
    explains=pattern(
        r"^\W*(?:please |quickly |briefly |so |and |ok(?:ay)? |hey |just |well )*"
        r"(?:(?:in|at|on|by|from|for|with|to) (?=wh)|)(?:explain|understand|describe|define|compare"
        r"|list|name|whats?|who|whos|whose|which|when|wheres?|whys?|hows?|is|are|was|were|does|do|did|can|could|has|have"
        r"|will|would|tell|teach|give (?:me|us) (?:\d+|two|three|four|five|ten)|show|say|talk"
        r"|speak|act|play|summari[sz]e|outline|recap|pretend|imagine|invent|come up|quiz|let'?s play)\b"
    ),
    remark=pattern(
        rf"^(?!{_ASKS_INDIRECTLY})(?:\W*(?:ugh|argh|wow|oh|ooh|ah|damn|gosh|yay|phew|whew|oops|man|well)\b"
        r"|(?s:.*)[.!…]\W*$)"
    ),
)
