"""Command ``memscope demo``: remember, ask, explain, forget, without a server, a key or a model."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from memscope.sync import MemoryScope
from memscope_cli.commands.formatting import days, hit_json, hit_parts, why
from memscope_cli.commands.language import count_nouns, join, language, say
from memscope_cli.commands.options import Call, command, file_of
from memscope_cli.commands.output import Display, StyledText, speaks_unicode, visible
from memscope_cli.demo import DEMO_LANGUAGES, conversations, load, play, said_at
from memscope_cli.demo.play import AskedQuestion, DemoConversation, ForgottenSecret

QUESTIONS_IN_FULL = 4  # questions shown in full per conversation
HITS_PER_QUESTION = 2  # hits shown per question, in addition to the known evidence
MAX_LINE_CHARS = 320
LANGUAGE_NAMES = {"en": "English", "zh": "中文"}


@dataclass
class PlayedConversation:
    """Results of the demo for one conversation."""

    conversation: DemoConversation
    turns: int
    seconds: float
    answers: list[AskedQuestion] = field(default_factory=list)
    forgotten: ForgottenSecret | None = None


@command("demo", short_help="Watch memory at work on a conversation.")
@click.option("--language", "which", type=click.Choice(["en", "zh", "both"]),
              help="Language of the conversation: both by default, zh where this program speaks Chinese.")  # fmt: skip
@click.option("--data", metavar="FILE", help="Conversations of your own, one per line as JSON (docs/commands.md).")
@click.option("--all", "everything", is_flag=True, help="Show every question in full.")
def demo(call: Call, which: str | None, data: str | None, everything: bool) -> None:
    """Watch memory store a conversation of several weeks, answer questions about it, and forget a part of it.

    Without --store, the store is a file in a temporary folder. The network is never used.
    """
    from memscope.config.settings import Settings

    store = call.store or str(Path(tempfile.mkdtemp(prefix="memscope-demo-"), "memory.db"))
    stage, clock = DemoView(call.show, store, everything), play.DemoClock()
    stage.open()
    which = which or ("zh" if language() == "zh" else "both")
    built_in = (load(one) for one in DEMO_LANGUAGES if which in (one, "both"))
    with MemoryScope(store, settings=Settings(), clock=clock) as memory:
        for conversation in built_in if data is None else conversations(data):
            clock.set_after(conversation)
            stage.play(memory, conversation)
    stage.close(built_in=data is None)


@dataclass
class DemoView:
    """Prints each step of the demo and collects the results."""

    show: Display
    store: str
    everything: bool
    played: list[PlayedConversation] = field(default_factory=list)

    def open(self) -> None:
        self.show.laid_out = True
        about = say("  a conversation remembered: no server, no key, no model")
        self.show.line(("memscope demo", "bold"), (about, "dim"))
        self.show.line((say("store") + "  ", "dim"), self.store)

    def play(self, memory: MemoryScope, conversation: DemoConversation) -> None:
        self.title(conversation)
        start = time.perf_counter()
        with self.show.progress(say("remembering")) as progress:
            count = play.remember(memory, conversation, progress)
        one = PlayedConversation(conversation, count, time.perf_counter() - start)
        self.played.append(one)
        words = "{turns} remembered in {seconds} s"
        self.show.line(say(words, turns=count_nouns(count, "turn"), seconds=f"{one.seconds:.2f}"))
        self.ask(memory, one)
        self.forget(memory, one)

    def title(self, conversation: DemoConversation) -> None:
        first, last = (said_at(conversation["sessions"][at]) for at in (0, -1))
        name = LANGUAGE_NAMES.get(conversation.get("lang", ""), "")
        sessions = f"{count_nouns(len(conversation['sessions']), 'session')}, {days(first, last)}"
        self.show.line("")
        self.show.rule(" · ".join(part for part in (name, visible(str(conversation["id"])), sessions) if part))

    # ---- questions

    def ask(self, memory: MemoryScope, one: PlayedConversation) -> None:
        questions = one.conversation["questions"]
        with self.show.progress(say("asking")) as progress:
            for number, question in enumerate(questions, 1):
                one.answers.append(play.ask(memory, one.conversation, question))
                progress(number, len(questions))
        full = len(questions) if self.everything else QUESTIONS_IN_FULL
        for answer in one.answers[:full]:
            self.answer(answer)
        if rest := one.answers[full:]:
            self.others(rest)

    def others(self, rest: list[AskedQuestion]) -> None:
        """Print the remaining questions in one line each; if there are many, only some whose evidence was missed."""
        few = len(rest) <= 3 * QUESTIONS_IN_FULL
        words = "and {questions} more:" if few else "and {questions} more; some of those not wholly found:"
        self.show.line("")
        self.show.line((say(words, questions=count_nouns(len(rest), "question")), "dim"))
        missed = [answer for answer in rest if answer.counts and answer.recall < 1]
        for answer in rest if few else missed[:QUESTIONS_IN_FULL]:
            self.brief(answer)

    def answer(self, answer: AskedQuestion) -> None:
        category = say(answer.question.get("category_name") or "")
        self.show.line("")
        self.show.line((visible(answer.question["question"]), "bold"), (f"  {category}", "dim"), hang=2)
        for rank, hit in enumerate(answer.hits, 1):
            known = rank in answer.ranks
            if rank <= HITS_PER_QUESTION or known:
                parts = shortened(hit_parts(hit))
                self.show.line(mark(True) if known else " ", (f"{rank:>3}  ", "dim"), *parts, indent=2, hang=6)
                self.show.line((why(hit), "dim"), indent=8, hang=2)
        self.show.line(*self.verdict(answer), indent=2)
        if right := answer.question.get("answer"):
            self.show.line((say("what is right: {answer}", answer=visible(str(right))), "dim"), indent=2, hang=2)

    def verdict(self, answer: AskedQuestion) -> list[StyledText]:
        right, known = len(answer.ranks), len(answer.evidence)
        if not known:
            return [(say("no evidence is known for this question"), "dim")]
        if not right:
            return [mark(False), say(" the known evidence is not among the {hits} hits", hits=len(answer.hits))]
        turns = count_nouns(known, "known turn")
        return [(say("{found} of {turns} found", found=right, turns=turns), "green" if right == known else "yellow")]

    def brief(self, answer: AskedQuestion) -> None:
        sign: StyledText = mark(answer.recall == 1) if answer.recall == 1 or not answer.ranks else ("~", "yellow")
        ranks = join(map(str, answer.ranks)) or say("none")
        numbers = {"found": len(answer.ranks), "known": len(answer.evidence), "ranks": ranks}
        rank = (say("  {found} of {known}, rank {ranks}", **numbers), "dim")
        self.show.line(sign, " ", visible(answer.question["question"]), rank, indent=2, hang=2)

    # ---- forgetting

    def forget(self, memory: MemoryScope, one: PlayedConversation) -> None:
        secret = play.secret_of(one.conversation, one.answers)
        if secret is None:
            return
        one.forgotten = gone = play.forget(memory, one.conversation, secret, file_of(self.store))
        words = visible(secret.words if len(secret.words) <= 60 else secret.words[:60] + "…")
        self.show.line("")
        self.show.line((say("forget everything that contains “{words}”", words=words), "bold"))
        if not gone.found_before:
            self.show.line(say("it is not there: an earlier run has forgotten it"), indent=2)
            return
        removed = say("{turns} removed, in the file: {physical}", turns=count_nouns(gone.report.turns, "turn"),
                      physical=say(gone.report.physical))  # fmt: skip
        self.show.line((removed, "dim"), indent=2)
        question = visible(secret.answer.question["question"])
        self.check(not gone.found_after, say("“{question}” no longer finds it", question=question),
                   say("it is still found"))  # fmt: skip
        if gone.traces:
            counts = dict(zip(("before", "after"), gone.traces, strict=True))
            self.check(
                bool(counts["before"]) and not counts["after"],
                say("its bytes are gone from the file: {before} before, {after} now", **counts),
                say("its bytes in the file: {before} before, {after} now", **counts),
            )

    def check(self, holds: bool, words: str, otherwise: str) -> None:
        """Print the result of a check: ``words`` if it holds, else ``otherwise``."""
        self.show.line(mark(holds), " ", words if holds else otherwise, indent=2, hang=2)

    # ---- the end

    def close(self, *, built_in: bool) -> None:
        self.show.data(self.json())
        answers = [answer for one in self.played for answer in one.answers]
        scored = [answer for answer in answers if answer.counts]
        if not self.played:
            return
        self.show.line("")
        self.show.rule(say("results"))
        wholly, partly = (sum(map(test, scored)) for test in (lambda a: a.recall == 1, lambda a: 0 < a.recall < 1))
        questions = count_nouns(len(scored), "question")
        self.show.line(
            (say("evidence found for {found} of {questions}", found=wholly + partly, questions=questions), "bold"),
            say(" ({wholly} wholly, {partly} in part) among the first 10 hits", wholly=wholly, partly=partly),
        )
        self.speed(answers)
        if scored and not built_in:
            self.scores(scored)
        self.next_steps()

    def speed(self, answers: Sequence[AskedQuestion]) -> None:
        turns, seconds = (sum(getattr(one, name) for one in self.played) for name in ("turns", "seconds"))
        words = say("{turns} stored durably in {seconds} s", turns=count_nouns(turns, "turn"), seconds=f"{seconds:.2f}")
        if answers:
            from statistics import median

            half = median(answer.milliseconds for answer in answers)
            words += say(", a question in {took} ms (median)", took=f"{half:.1f}")
        self.show.line((words, "dim"))

    def scores(self, scored: Sequence[AskedQuestion]) -> None:
        groups: dict[str, list[AskedQuestion]] = defaultdict(list)
        for answer in scored:
            groups[str(answer.question.get("category_name", ""))].append(answer)
        self.show.line(("recall@10  ", "bold"), f"{play.recall(scored)} %")
        for name, group in sorted(groups.items()):
            share: StyledText = (f"{play.recall(group):>5} %  ", "dim")
            self.show.line(share, f"{visible(name)} ", (f"({len(group)})", "dim"), indent=2)

    def next_steps(self) -> None:
        last = self.played[0].conversation
        question = last["questions"][0]["question"] if last["questions"] else "..."
        program = f"memscope --store {self.store} --user {play.user_of(last)}"
        self.show.line("")
        self.show.line((say("the memory is still there; try"), "dim"))
        statement = say("I like my tea without milk.")
        for words in (f'retrieve --explain "{visible(question)}"', "list --limit 5", f'add "{statement}"'):
            self.show.line(f"{program} {words}", indent=2, whole=True)

    def json(self) -> Mapping[str, Any]:
        answers = [answer for one in self.played for answer in one.answers]
        return {
            "store": self.store,
            "questions": sum(answer.counts for answer in answers),
            "found": sum(answer.counts and answer.recall > 0 for answer in answers),
            "found_wholly": sum(answer.counts and answer.recall == 1 for answer in answers),
            "recall_at_10": play.recall(answers),
            "conversations": [self.conversation_json(one) for one in self.played],
        }

    def conversation_json(self, one: PlayedConversation) -> Mapping[str, Any]:
        gone, forgotten = one.forgotten, None
        if gone:
            names = ("found_before", "found_after", "traces")
            forgotten = {**asdict(gone.report), **{name: getattr(gone, name) for name in names}}
        return {
            "id": one.conversation["id"],
            "user": play.user_of(one.conversation),
            "turns": one.turns,
            "seconds": round(one.seconds, 3),
            "questions": [self.answer_json(answer) for answer in one.answers],
            "forgotten": forgotten,
        }

    def answer_json(self, answer: AskedQuestion) -> Mapping[str, Any]:
        return {
            "id": answer.question["id"],
            "question": answer.question["question"],
            "evidence": sorted(answer.evidence),
            "ranks": list(answer.ranks),
            "milliseconds": round(answer.milliseconds, 2),
            "hits": [hit_json(hit) if self.everything else hit.id for hit in answer.hits],
        }


def mark(good: bool) -> tuple[str, str]:
    """Return a check mark or a cross, in ASCII if the console cannot show it."""
    signs = "✗✓" if speaks_unicode(sys.stdout) else "-+"
    return signs[good], "bold green" if good else "bold red"


def shortened(parts: list[StyledText]) -> list[StyledText]:
    *before, words = parts
    return [*before, words[:MAX_LINE_CHARS] + "…"] if isinstance(words, str) and len(words) > MAX_LINE_CHARS else parts
