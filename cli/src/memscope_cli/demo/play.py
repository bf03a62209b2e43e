"""The steps of ``memscope demo`` without its output: store a conversation, ask about it, forget a part of it."""

from __future__ import annotations

import glob
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memscope.records import ForgetReport, Retrieval
from memscope.sync import MemoryScope
from memscope.transfer import Progress
from memscope_cli.demo import said_at

DEMO_K = 10
ADVERSARIAL = "adversarial"  # questions about something that was never said: shown, but not counted in recall
SECRET_CODES = {"en": "4471", "zh": "3862"}  # each occurs in exactly one turn of the built-in conversation

DemoConversation = Mapping[str, Any]  # in the format of ``memscope_cli.demo``


@dataclass
class DemoClock:
    """A clock set to the day after the conversation, so that "last week" in a question refers to the right week."""

    now: datetime = datetime(2000, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def set_after(self, conversation: DemoConversation) -> None:
        self.now = said_at(conversation["sessions"][-1]) + timedelta(days=1)


def user_of(conversation: DemoConversation) -> str:
    return f"demo-{conversation['id']}"


def turns(conversation: DemoConversation) -> Iterator[dict[str, Any]]:
    """Yield turns for ``add_turns``. Speakers named user or assistant get that role, all others the role person."""
    for session in conversation["sessions"]:
        for turn in session["turns"]:
            caption = turn.get("image_caption")
            yield {
                "id": turn["id"],
                "role": turn["speaker"] if turn["speaker"] in ("user", "assistant") else "person",
                "speaker": turn["speaker"],
                "content": f"{turn['text']} [shared image: {caption}]".strip() if caption else turn["text"],
                "time": said_at(session),
                "session": str(session["id"]),
            }


def remember(memory: MemoryScope, conversation: DemoConversation, progress: Progress) -> int:
    """Add the turns of a conversation and return their number."""
    history = list(turns(conversation))
    step = min(1000, max(10, len(history) // 50))
    progress(0, len(history))
    for start in range(0, len(history), step):
        memory.add_turns(history[start : start + step], user=user_of(conversation))
        progress(min(start + step, len(history)), len(history))
    return len(history)


# ---- questions


@dataclass(frozen=True)
class AskedQuestion:
    """A question with its hits and its ``evidence``: the keys of the turns that answer it."""

    question: Mapping[str, Any]
    hits: Retrieval
    milliseconds: float

    @property
    def evidence(self) -> frozenset[str]:
        return frozenset(self.question["evidence"])

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks of the evidence among the hits, starting at 1."""
        return tuple(rank for rank, hit in enumerate(self.hits, 1) if hit.id in self.evidence)

    @property
    def recall(self) -> float:
        return len(self.ranks) / len(self.evidence)

    @property
    def counts(self) -> bool:
        return bool(self.evidence) and self.question.get("category_name") != ADVERSARIAL


def ask(memory: MemoryScope, conversation: DemoConversation, question: Mapping[str, Any]) -> AskedQuestion:
    start = time.perf_counter()
    hits = memory.retrieve(question["question"], user=user_of(conversation), k=DEMO_K)
    return AskedQuestion(question, hits, 1000 * (time.perf_counter() - start))


def recall(answers: Sequence[AskedQuestion]) -> float | None:
    """Compute recall@10: the share of the evidence among the first ten hits, averaged over questions, in percent."""
    counted = [answer.recall for answer in answers if answer.counts]
    return round(100 * sum(counted) / len(counted), 1) if counted else None


# ---- forgetting


@dataclass(frozen=True)
class SecretWords:
    """Words that occur in one turn only, and a question whose evidence is that turn."""

    words: str
    answer: AskedQuestion


@dataclass(frozen=True)
class ForgottenSecret:
    """``traces``: occurrences of the words in the store's files before and after, or None if the store has no files."""

    secret: SecretWords
    report: ForgetReport
    after: AskedQuestion
    traces: tuple[int, int] | None

    @property
    def found_before(self) -> bool:
        return any(self.secret.words in hit.text for hit in self.secret.answer.hits)

    @property
    def found_after(self) -> bool:
        return any(self.secret.words in hit.text for hit in self.after.hits)


def secret_of(conversation: DemoConversation, answers: Sequence[AskedQuestion]) -> SecretWords | None:
    """Choose what to forget: the secret of a built-in conversation, else the first unique evidence among the hits."""
    texts = {turn["id"]: turn["text"] for session in conversation["sessions"] for turn in session["turns"]}
    for answer in answers:
        if answer.question.get("category_name") == "secret" and conversation.get("lang") in SECRET_CODES:
            return SecretWords(SECRET_CODES[conversation["lang"]], answer)
    for answer in answers:
        for key in sorted(answer.evidence & {hit.id for hit in answer.hits}):
            words = _plain_words(texts[key])
            if len(words) > 8 and sum(words in text for text in texts.values()) == 1:
                return SecretWords(words, answer)
    return None


def _plain_words(text: str) -> str:
    """Return the longest part of a text that needs no escaping in the store's files, so that its bytes can be found."""
    return max((part.strip() for part in re.split(r'["\\\x00-\x1f]+', text)), key=len, default="")


def forget(
    memory: MemoryScope, conversation: DemoConversation, secret: SecretWords, store: Path | None
) -> ForgottenSecret:
    before = traces(store, secret.words)
    report = memory.forget(user=user_of(conversation), text=secret.words)
    gone = traces(store, secret.words)
    after = ask(memory, conversation, secret.answer.question)
    return ForgottenSecret(secret, report, after, None if before is None or gone is None else (before, gone))


def traces(store: Path | None, words: str) -> int | None:
    """Count the occurrences of the words in the files of the store, including its WAL."""
    if store is None:
        return None
    files = [file for file in store.parent.glob(f"{glob.escape(store.name)}*") if file.is_file()]
    return sum(file.read_bytes().count(words.encode()) for file in files)
