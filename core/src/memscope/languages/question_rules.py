"""Rules of a language on questions, and on the answers that they ask for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memscope.imports import pattern
from memscope.languages.classes import Classes

MATCHES_NOTHING = pattern(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Questions:
    """Patterns are searched in the question as it was asked, those with a mark * in its folded form.

    Args:
        number*: asks for a number ("how many").
        when*: asks for a day or a time ("when", "which year").
        day_words: words of such a question that say nothing else ("date").
        past, ahead: looks back ("did"), or forward ("plans").
        choosing: asks what to do at a time, not what happens then ("shall we").
        named_time: words of a time that statements have as well ("weekend", 节), beside capitals and digits.
        assistant*: asks for what the assistant said ("you recommended").
        talk*: is about the conversation itself ("did we discuss").
        personal*: is about the user, or a request of theirs ("my", "recommend").
        definite*: names one thing that both know of ("the").
        contentless: phrases without content ("at the moment").
        list: asks for all of a class ("which books").
        works: asks for books, films and the like.
        title: the title of one of these, or another name, in an answer.
        classes: classes of other things, and what belongs to them; None for none.
        deeds: what was done, and the words of lines that say so, for questions that ask for nothing else ("What have I
            bought?"); None for none.
        own: describes somebody or something of the user's without a name; group 1 holds the describing words, where the
            language has spaces.
        subject: the subject of a question: in a script with spaces group 1 holds its noun ("the bins") and group 2
            nothing; in one without, groups 1 and 2 hold its first two characters.
        refers*: refers back to what was said before ("he", "and which"), and names nothing itself.
        referents: what a message speaks of without a name, for a question that refers back to it ("my apprentice").
        fillers: words about the conversation, not its content ("tell").
        open_words: words of a question for whatever happens at a time ("plan").
        stop_characters, open_characters: the same in a script without spaces: characters without content of their own,
            and characters of such a question.
        soon: the time that is meant where a question for whatever happens names none ("in the next 30 days").
        me, my: the user, in the place of their name and of their name's possessive.
    """

    number: re.Pattern[str] = MATCHES_NOTHING
    when: re.Pattern[str] = MATCHES_NOTHING
    day_words: re.Pattern[str] = MATCHES_NOTHING
    past: re.Pattern[str] = MATCHES_NOTHING
    ahead: re.Pattern[str] = MATCHES_NOTHING
    choosing: re.Pattern[str] = MATCHES_NOTHING
    named_time: re.Pattern[str] = MATCHES_NOTHING
    assistant: re.Pattern[str] = MATCHES_NOTHING
    talk: re.Pattern[str] = MATCHES_NOTHING
    personal: re.Pattern[str] = MATCHES_NOTHING
    definite: re.Pattern[str] = MATCHES_NOTHING
    contentless: re.Pattern[str] = MATCHES_NOTHING
    list: re.Pattern[str] = MATCHES_NOTHING
    works: re.Pattern[str] = MATCHES_NOTHING
    title: re.Pattern[str] = MATCHES_NOTHING
    classes: Classes | None = None
    deeds: Classes | None = None
    refers: re.Pattern[str] = MATCHES_NOTHING
    referents: re.Pattern[str] = MATCHES_NOTHING
    own: re.Pattern[str] = MATCHES_NOTHING
    subject: re.Pattern[str] = MATCHES_NOTHING
    fillers: str = ""
    open_words: str = ""
    stop_characters: frozenset[str] = frozenset()
    open_characters: frozenset[str] = frozenset()
    soon: str = ""
    me: str = ""
    my: str = ""
