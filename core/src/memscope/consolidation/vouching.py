"""Check that people vouch for a fact: they do not say otherwise, and state or affirm what a machine said too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memscope.consolidation.reply import Fact
from memscope.consolidation.transcript import MAX_TRANSCRIPT_CHARS, TranscriptLine
from memscope.languages.names import names
from memscope.languages.own_words import MIN_STATED_SHARE, Citation, own_text
from memscope.languages.registry import of
from memscope.languages.similarity import form
from memscope.languages.statements import is_filling, is_question, pattern_of_all, requests, sentences
from memscope.languages.wording import worded, wordings
from memscope.records import MACHINE_ROLES
from memscope.text.language import has_cjk
from memscope.text.tokens import fold, pieces, words

MAX_ASSENT_WORDS = 3  # of a bare yes or no; characters in CJK text
_ENDS_AS_QUESTION = re.compile(r"[?？]\W*\Z")
_CLAUSE_ENDS = re.compile(r"[,，;；:：.!?。！？…]+\s*|\s[-–—]+\s|\n")


def is_vouched_for(fact: Fact, cited: Sequence[Citation], lines: Sequence[TranscriptLine]) -> bool:
    """Return whether people state most of the fact, or affirm or answer the assistant's question that contains it.

    Content returned by a tool, such as a web page, must be stated by a person.
    """
    roles = {line.turn.role for line in cited if line.context} & MACHINE_ROLES
    if not roles or _is_stated(fact, cited):
        return True
    answers = [line for line in cited if not line.context and not quotes_question(line)]
    if roles - {"assistant"} or not answers:
        return False
    if any(_refers_back(fact.text, answer.words) for answer in answers):
        return True
    machine = [line for line in cited if line.context and line.turn.role == "assistant"]
    return any(
        _supports_fact(fact.text, was_asked, question, line.words, answer.words)
        for line in machine
        for was_asked, question in _questions_raised(line)
        for answer in answers
        if _answers_question(answer, line, lines)
    )


def quotes_question(one: Citation) -> bool:
    """Return whether the quote is a question, or the end of one."""
    return is_question(one.words) or one.turn.text[_end(one) - 1 : _end(one) + 1].rstrip()[-1:] in ("?", "？")


def _end(one: Citation) -> int:
    return one.turn.text.find(one.words) + len(one.words)


def is_contradicted(text: str, cited: Sequence[Citation]) -> bool:
    """Return whether the cited people deny what the fact affirms ("I don't smoke"), or say it of a relative.

    One clause that has all words of the fact and does neither is enough to believe the fact.
    """
    content = form(text).topics
    if not content or any(worded(sign, text) for sign in ("denial", "denied", "over", "formerly")):
        return False
    min_share = MIN_STATED_SHARE if has_cjk(text) else 1.0  # there, some pairs of characters reach over two words
    clauses = [clause for line in cited if not line.context for clause in _clauses(line, line.turn.text)]
    clauses = [clause for clause in clauses if len(content & form(clause).topics) >= min_share * len(content)]
    return bool(clauses) and all(_is_denied(one, text) or _is_of_relative(one, text) for one in clauses)


def _is_denied(clause: str, text: str) -> bool:
    """Return whether the fact has all that a clause denies. Verbs like "have" are no content, but must be there too."""
    for one in wordings(clause):
        denied = one.denied.search(clause)
        if denied is None or len(one.denial.findall(clause)) > 1:
            continue
        rest = fold(denied["rest"]).strip()
        if has_cjk(rest):
            return rest in fold(text)
        first = rest.partition(" ")[0]
        begins = any(word[:2] == first[:2] for word in pieces(fold(text)))
        return begins and bool(words(rest)) and {*words(rest)} <= {*words(text)}
    return False


def _is_of_relative(clause: str, text: str) -> bool:
    """Return whether "my brother ..." became "The user ...", and the speaker takes no other part in the clause."""
    for one in of(text):
        user = one.wording.user.match(text)
        if user is None or "'" in user[0] or one.wording.possession.match(text):
            continue
        role = next((name.role for name in names(clause) if name.role and name.start == 0), "")
        speaker = one.statements.first_person
        rest = fold(clause).removeprefix(fold(role))
        others = rest if one.statements.wide else pieces(rest)
        if role and form(role).topics.isdisjoint(form(text).topics):
            return not any(word in others for word in speaker)
    return False


# ----------------------------------------------------------------------------------------------------- in own words


def _is_stated(fact: Fact, cited: Sequence[Citation]) -> bool:
    content = form(fact.text).topics
    parts = [part for line in cited if not line.context for part in _stated_parts(line)]
    denied = [part for part in parts if _denies(part)]
    clauses = (parts if denied else []) if _denies(fact.text) else [part for part in parts if part not in denied]
    return len(content & form(" ".join(clauses)).topics) > MIN_STATED_SHARE * len(content)


def _stated_parts(one: Citation) -> Iterator[str]:
    if not quotes_question(one):
        yield from _clauses(one, own_text(one.turn.text))


def _clauses(one: Citation, text: str) -> Iterator[str]:
    """Yield the clauses that state something, from the whole turn: models quote few words of what they note."""
    contrast = pattern_of_all("but", "ALL")
    for sentence in sentences(one.words if len(one.turn.text) > MAX_TRANSCRIPT_CHARS else text):
        if not is_question(sentence):
            yield from filter(None, _CLAUSE_ENDS.split(contrast.sub(",", sentence)))


def _denies(text: str) -> bool:
    return worded("denial", text) or worded("over", text)


def _refers_back(text: str, words: str) -> bool:
    """Recognise an answer that names the fact's action and refers back to its object: "I read it"."""
    matches = (wording.takes_up.search(words) for wording in wordings(words))
    deeds = [match["deed"] for match in matches if match]
    named = (deed in text if has_cjk(deed) else form(deed).topics & form(text).topics for deed in deeds)
    return not _denies(words) and any(named)


# ---------------------------------------------------------------------------------------------------- as an answer


def _questions_raised(one: Citation) -> Iterator[tuple[bool, str]]:
    """Yield the assistant's questions (with True) and suppositions (with False), like "So you moved to Linz"."""
    parts = sentences(one.words)
    for place, sentence in enumerate(parts):
        last = place == len(parts) - 1
        if is_question(sentence) or _ENDS_AS_QUESTION.search(sentence) or (last and quotes_question(one)):
            yield True, sentence
        elif worded("supposes", sentence):
            yield False, sentence


def _answers_question(answer: Citation, question: Citation, lines: Sequence[TranscriptLine]) -> bool:
    """Return whether the answer is to this question: the assistant did not speak again after a person replied."""
    replied = False
    for line in lines[question.place + 1 : answer.place]:
        if line.turn.scope.session == question.turn.scope.session:
            replied = replied or line.turn.role not in MACHINE_ROLES
            if replied and line.turn.role == "assistant":
                return False
    return answer.place > question.place


def _supports_fact(text: str, was_asked: bool, question: str, around: str, answer: str) -> bool:
    """Return whether the answer turns the question into the fact: it affirms it, or adds a word of the fact.

    A bare no supports only a negative fact. Repeating words of the question affirms them ("Tea or milk?", "Milk").
    ``around``: the whole quote that contains the question.
    """
    content, reply = form(text).topics, form(answer)
    if not of(f"{question} {answer}"):
        return was_asked and len(reply.tokens) <= MAX_ASSENT_WORDS and not is_filling(answer)  # unknown language
    added = was_asked and (content & reply.topics) - form(around).topics
    if added and not requests(answer):
        return True
    held, of_fact = _letters(form(question).topics), _letters(content)
    repeated = _letters(reply.topics)
    echoed = was_asked and not _denies(answer) and repeated <= held and not repeated.isdisjoint(of_fact)
    affirmed = echoed or worded("affirms" if was_asked else "confirms", answer)
    if len(of_fact & held) < MIN_STATED_SHARE * len(of_fact):
        return False
    return (_denies(answer) or (affirmed and _denies(question))) if _denies(text) else affirmed


def _letters(topics: frozenset[str]) -> set[str]:
    """Return the words, in CJK text the characters: there, questions and facts group them differently."""
    return {part for word in topics for part in (word if has_cjk(word) else (word,))}
