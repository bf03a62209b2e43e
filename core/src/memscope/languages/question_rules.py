"""Rules of a language for questions, and for the answers that they ask for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memscope.imports import pattern
from memscope.languages.classes import Classes

MATCHES_NOTHING = pattern(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Questions:
    """Patterns searched in a question: those marked * in its folded form, the others in the original.

    Args:
        number*: asks for a number ("how many").
        when*: asks for a day or a time ("when", "which year").
        day_words: words of a ``when`` question that add nothing to it ("date").
        past, ahead: looks back ("did"), or forward ("plans").
        choosing: asks what to do at a time, not what happens then ("shall we").
        named_time: words of a time that statements contain too ("weekend", 节), besides capitals and digits.
        assistant*: asks what the assistant said ("you recommended").
        talk*: is about the conversation itself ("did we discuss").
        last_talk*: asks about the conversation before this one and names nothing in it ("where did we leave off").
        personal*: is about the user, or asks for something for them ("my", "recommend").
        recalls: asks about one past event that both speakers know ("how did the interview go") or the present of one
            thing ("which shelf are the passports on"), perhaps the user's.
        definite*: names one thing that both speakers know ("the").
        contentless: phrases without content ("at the moment").
        list: asks for every instance of a class ("which books").
        works: asks for books, films and the like.
        title: a title of such a work, or another name, in an answer.
        classes: classes of other things with their instances, or None.
        deeds: verbs with the words of lines that report the deed, for questions without a noun ("What have I
            bought?"), or None.
        own: describes a person or thing of the user without a name; group 1 holds the describing words, if the
            language has spaces.
        subject: the subject of a question: in a script with spaces group 1 holds its noun ("the bins") and group 2
            is empty; without spaces, groups 1 and 2 hold its first two characters.
        refers*: refers to an earlier message ("he", "and which") and names nothing itself.
        referents: people and things that a message mentions without a name ("my apprentice"), for ``refers``.
        fillers: words about the conversation, not its content ("tell").
        open_words: words of a question about whatever happens at a time ("plan").
        stop_characters, open_characters: for a script without spaces, characters without content, and characters of a
            question about whatever happens at a time.
        soon: the time to assume if such a question names none ("in the next 30 days").
        me, my: words that replace the user's name and its possessive.
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
    last_talk: re.Pattern[str] = MATCHES_NOTHING
    personal: re.Pattern[str] = MATCHES_NOTHING
    recalls: re.Pattern[str] = MATCHES_NOTHING
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
