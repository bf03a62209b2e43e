"""Scripted in-process chat models, for our tests and those of plugins.

    chat = ScriptedChat([{"facts": [...], "nothing": [...]}, ModelTimeout("slow")])
    AsyncMemoryScope(":memory:", chat=chat)

A reply is text, a JSON value, an error to raise, or a function from the messages to any of these.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from inspect import isawaitable
from itertools import permutations
from typing import TYPE_CHECKING, Any, TypeAlias

from memscope.models import Message, Reply, Usage, count
from memscope.models.structured_output import parse, schema_text
from memscope.prompts import visible
from memscope.records import Json

if TYPE_CHECKING:
    from pydantic import BaseModel

Said: TypeAlias = Any  # str, JSON, BaseException
ScriptedReply: TypeAlias = "Said | Callable[[Sequence[Message]], Said | Awaitable[Said]]"


class ScriptedChat:
    """A ``ChatModel`` with scripted replies: a sequence, one per call, or one function for all calls.

    ``prompts`` has the messages of each call. Raise ``AssertionError`` if there are more calls than replies.
    """

    name = "scripted"

    def __init__(self, replies: Sequence[ScriptedReply] | Callable[[Sequence[Message]], Any]) -> None:
        self._all = replies if callable(replies) else None
        self._replies = [] if callable(replies) else list(replies)
        self.prompts: list[list[Message]] = []

    async def chat(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, deadline_s: float | None = None
    ) -> Reply:
        self.prompts.append(list(messages))
        size = sum(len(message["content"]) for message in messages) + (len(schema_text(schema)) if schema else 0)
        count(Usage(calls=1, prompt_characters=size))
        text = await self._next(messages)
        return Reply(text, parse(text, schema) if schema else None)

    async def stream(self, messages: Sequence[Message], *, deadline_s: float | None = None) -> AsyncIterator[str]:
        yield (await self.chat(messages)).text

    async def _next(self, messages: Sequence[Message]) -> str:
        if self._all is None and not self._replies:
            raise AssertionError(f"asked {len(self.prompts)} times, which is more than there are replies")
        reply = self._all if self._all is not None else self._replies.pop(0)
        if callable(reply):
            reply = reply(messages)
        if isawaitable(reply):
            reply = await reply
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)


def data(messages: Sequence[Message]) -> Json:
    """Return the JSON that a worker enclosed in its prompt. For extract: ``turns``, and ``known`` facts if any."""
    boundary, written, end = messages[1]["content"].split("\n")
    assert boundary == end
    assert boundary in messages[0]["content"]
    return json.loads(written)


class IdealChat(ScriptedChat):
    """Answers every prompt of consolidate, reflect and audit as a good model would, from annotated facts.

    ``turns``: the messages, each with its ``text``. ``facts``: per fact ``text``, ``about``, ``when``, ``keywords``,
    ``level``, and ``turns`` (indexes) with the ``quote`` of the first, or ``quotes`` (pairs of an index and words).
    ``relations``: ``[old, new, relation]`` with indexes of facts. "contradicts" means that the new fact ends the old
    one; unlisted pairs are unrelated. Facts have no subject.
    """

    def __init__(
        self,
        turns: Sequence[Mapping[str, Any]],
        facts: Sequence[Mapping[str, Any]],
        relations: Sequence[tuple[int, int, str]] = (),
    ) -> None:
        super().__init__(self._answer)
        texts = [visible(turn["text"]).strip() for turn in turns]
        self._facts = [(fact, [(texts[turn], words) for turn, words in _quotes(fact, texts)]) for fact in facts]
        self._relations = {
            (facts[old]["text"], facts[new]["text"]): "ends" if relation == "contradicts" else relation
            for old, new, relation in relations
        }

    def _answer(self, messages: Sequence[Message]) -> Json:
        shown = data(messages)
        if "pairs" in shown:
            return self._judgement(shown["pairs"])
        if "so_far" not in shown and "turns" in shown:
            return self._extraction(shown["turns"], shown.get("known", ()))
        return self._summary(shown) if "so_far" in shown else self._reflection(shown)

    def _summary(self, shown: Mapping[str, Any]) -> Json:
        """Append the facts of the turns to the summary so far, or the beginnings of the turns if they have none."""
        texts = [line["text"] for line in shown["turns"]]
        facts = [fact["text"] for fact, cited in self._facts if any(text in texts for text, _ in cited)]
        return {"summary": " ".join(filter(None, [shown["so_far"], *(facts or [text[:80] for text in texts])]))}

    def _extraction(self, lines: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]]) -> Json:
        new_turns = {line["n"] for line in lines if not line.get("context")}
        extracted: list[dict[str, Json]] = []
        for fact, cited in self._facts:
            quotes = [
                (line["n"], words) for text, words in cited for line in lines if _holds(line["text"], text, words)
            ]
            if any(number in new_turns for number, _ in quotes):
                before = [(one["k"], one["text"]) for one in known] + [(0, one["text"]) for one in extracted]
                extracted.append({**_extracted(fact, quotes), "known": self._known(fact["text"], before)})
        quoted = {quote["turn"] for fact in extracted for quote in fact["quotes"]}
        return {"facts": extracted, "nothing": sorted(new_turns - quoted)}

    def _known(self, new: str, before: Sequence[tuple[int, str]]) -> Json:
        """Relate the fact to earlier ones. Each relation cites the earlier fact's last words."""
        verdicts = [(number, old, self._relation(old, new)) for number, old in before]
        return [
            {"k": number, "words": last_words(old), "relation": relation, "rest": ""}
            for number, old, relation in verdicts
            if relation != "unrelated"
        ]

    def _relation(self, old: str, new: str) -> str:
        if old == new:
            return "repeats"
        backwards = self._relations.get((new, old), "unrelated")
        mirrored = {"ends": "was", "refines": "repeats"}.get(backwards, backwards)
        return self._relations.get((old, new), mirrored)

    def _judgement(self, pairs: Sequence[Mapping[str, Any]]) -> Json:
        texts = {pair["k"]: (pair["earlier"]["text"], pair["later"]["text"]) for pair in pairs}
        relations = {number: self._relation(old, new) for number, (old, new) in texts.items()}
        related = [
            {"k": number, "words": last_words(texts[number][0]), "relation": relation, "rest": ""}
            for number, relation in relations.items()
            if relation != "unrelated"
        ]
        return {"relations": related, "none": [number for number in relations if relations[number] == "unrelated"]}

    def _reflection(self, shown: Mapping[str, Any]) -> Json:
        related = [
            {"older": old["n"], "newer": new["n"], "relation": relation}
            for old, new in permutations((*shown["facts"], *shown["earlier"]), 2)
            if (relation := self._relations.get((old["text"], new["text"])))
        ]
        return {"sentences": [], "alone": [fact["n"] for fact in shown["facts"]], "relations": related}


class WeakChat(IdealChat):
    """Answers as ``IdealChat`` with random errors: truncated replies, invented verdicts and dates, inexact quotes.

    ``rate``: probability of each error per reply or fact. ``seed``: of the random numbers. ``errors``: enabled kinds.
    """

    name = "weak"

    def __init__(
        self,
        turns: Sequence[Mapping[str, Any]],
        facts: Sequence[Mapping[str, Any]],
        relations: Sequence[tuple[int, int, str]] = (),
        *,
        seed: int = 1,
        rate: float = 0.2,
        errors: Collection[str] = ("cut", "verdict", "date", "quote"),
    ) -> None:
        super().__init__(turns, facts, relations)
        self._chance, self._rate, self._errors = random.Random(seed), rate, errors

    def _errs(self, kind: str) -> bool:
        return self._chance.random() < self._rate and kind in self._errors

    def _answer(self, messages: Sequence[Message]) -> Json:
        reply = super()._answer(messages)
        if isinstance(reply, dict) and isinstance(reply.get("facts"), list):
            known = data(messages).get("known", ())
            reply = {**reply, "facts": [self._spoilt(fact, known) for fact in reply["facts"]]}
        written = json.dumps(reply, ensure_ascii=False)
        return written[: self._chance.randrange(len(written))] if self._errs("cut") else written

    def _spoilt(self, fact: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        spoilt = dict(fact)
        if known and self._errs("verdict"):
            old = self._chance.choice(known)
            relation = self._chance.choice(("ends", "was", "repeats", "refines"))
            spoilt["known"] = [{"k": old["k"], "words": last_words(old["text"]), "relation": relation, "rest": ""}]
        if self._errs("date"):
            spoilt["when"] = f"{self._chance.randrange(2000, 2035)}-{self._chance.randrange(1, 13):02}"
        if self._errs("quote"):
            spoilt["quotes"] = [{**quote, "words": f"{spoilt['text']} !"} for quote in spoilt["quotes"]]
        return spoilt


def _quotes(fact: Mapping[str, Any], texts: Sequence[str]) -> Sequence[tuple[int, str]]:
    """Return the quotes of a fact, by default its ``quote`` for the first turn and the whole text of the others."""
    if "quotes" in fact:
        return [(turn, words) for turn, words in fact["quotes"]]
    return [(turn, texts[turn] if place else fact["quote"]) for place, turn in enumerate(fact["turns"])]


def _holds(shown: str, text: str, words: str) -> bool:
    """Check that a line shows the turn's text, or a part of it that contains the words."""
    return shown == text or (len(shown) < len(text) and words in shown and shown in text)


def last_words(text: str) -> str:
    """Return the last words of a fact, which a verdict must cite to prove that its number is right."""
    words = text.split()
    return " ".join(words[-5:]) if len(words) > 1 else text[-8:]


def _extracted(fact: Mapping[str, Any], quotes: Sequence[tuple[int, str]]) -> dict[str, Json]:
    extracted = {name: fact[name] for name in ("text", "about", "level", "when", "keywords")}
    return {**extracted, "quotes": [{"turn": turn, "words": words} for turn, words in quotes]}


__all__ = ["IdealChat", "ScriptedChat", "WeakChat", "data", "last_words"]
