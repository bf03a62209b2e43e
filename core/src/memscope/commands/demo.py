"""The main job on a conversation: remember, ask, show why, forget. No server, no key, no model: demo."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memscope.commands.formatting import hit_json, hit_parts, why
from memscope.commands.options import Call, command, pass_call
from memscope.commands.output import Display, Part, count_nouns, speaks_unicode, visible

if TYPE_CHECKING:
    from memscope.demo.play import AskedQuestion, Conversation, ForgottenSecret
    from memscope.records import Hit
    from memscope.sync import MemoryScope

HANDFUL = 4  # questions shown in full, for each conversation
LINES = 2  # hits shown of each, besides the known evidence
LONGEST = 320  # characters of a line
NAMES = {"en": "English", "zh": "中文"}


@dataclass
class PlayedConversation:
    """A conversation that was gone through."""

    conversation: Conversation
    turns: int
    seconds: float
    answers: list[AskedQuestion] = field(default_factory=list)
    forgotten: ForgottenSecret | None = None


@command("demo", short_help="Watch memory at work on a conversation.")
@click.option("--language", type=click.Choice(["en", "zh", "both"]), default="both", show_default=True)
@click.option("--data", metavar="FILE", help="Conversations of your own, one a line as JSON (docs/commands.md).")
@click.option("--all", "everything", is_flag=True, help="Show every question in full.")
@pass_call
def demo(call: Call, language: str, data: str | None, everything: bool) -> None:
    """Watch a conversation of some weeks being remembered, asked about, and partly forgotten.

    Without --store, everything happens in a file in a temporary folder; without any network, always.
    """
    from memscope.config.settings import Settings
    from memscope.demo.play import DemoClock
    from memscope.sync import MemoryScope

    store = call.store or str(Path(tempfile.mkdtemp(prefix="memscope-demo-"), "memory.db"))
    stage, clock = DemoView(call.show, store, everything), DemoClock()
    stage.open()
    with MemoryScope(store, settings=Settings(), clock=clock) as memory:
        for conversation in _conversations(language, data):
            clock.set_after(conversation)
            stage.play(memory, conversation)
    stage.close(own=data is None)


def _conversations(language: str, data: str | None) -> Iterable[Conversation]:
    from memscope.demo import LANGUAGES, conversations, load

    if data is not None:
        return conversations(data)
    return [load(one) for one in LANGUAGES if language in (one, "both")]


@dataclass
class DemoView:
    """Shows what happens as it happens, and keeps the score."""

    show: Display
    store: str
    everything: bool
    played: list[PlayedConversation] = field(default_factory=list)

    def open(self) -> None:
        self.show.laid_out = True
        self.show.line(("memscope demo", "bold"), ("  a conversation remembered: no server, no key, no model", "dim"))
        self.show.line(("store  ", "dim"), self.store)

    def play(self, memory: MemoryScope, conversation: Conversation) -> None:
        from memscope.demo import play

        self.title(conversation)
        start = time.perf_counter()
        with self.show.progress("remembering") as progress:
            count = play.remember(memory, conversation, progress)
        one = PlayedConversation(conversation, count, time.perf_counter() - start)
        self.played.append(one)
        self.show.line(f"{count_nouns(count, 'turn')} remembered", (f" in {one.seconds:.2f} s", "dim"))
        self.ask(memory, one)
        self.forget(memory, one)

    def title(self, conversation: Conversation) -> None:
        from memscope.demo.play import said_at

        first, last = (said_at(conversation["sessions"][at]) for at in (0, -1))
        name = NAMES.get(conversation.get("lang", ""), "")
        told = f"{count_nouns(len(conversation['sessions']), 'session')}, {first:%Y-%m-%d} to {last:%Y-%m-%d}"
        self.show.line("")
        self.show.rule(" · ".join(part for part in (name, visible(str(conversation["id"])), told) if part))

    # ---- questions

    def ask(self, memory: MemoryScope, one: PlayedConversation) -> None:
        from memscope.demo import play

        questions = one.conversation["questions"]
        full = len(questions) if self.everything else HANDFUL
        with self.show.progress("asking") as progress:
            for number, question in enumerate(questions, 1):
                one.answers.append(play.ask(memory, one.conversation, question))
                progress(number, len(questions))
        for answer in one.answers[:full]:
            self.answer(answer)
        self.others(one.answers[full:])

    def others(self, rest: list[AskedQuestion]) -> None:
        """The rest in a line each; of very many the first that were not wholly found."""
        if not rest:
            return
        few = len(rest) <= 3 * HANDFUL
        told = f"and {count_nouns(len(rest), 'question')} more" + (":" if few else "; some of those not wholly found:")
        self.show.line("")
        self.show.line((told, "dim"))
        missed = [answer for answer in rest if answer.counts and answer.recall < 1]
        for answer in rest if few else missed[:HANDFUL]:
            self.brief(answer)

    def answer(self, answer: AskedQuestion) -> None:
        self.show.line("")
        category = answer.question.get("category_name")
        self.show.line((visible(answer.question["question"]), "bold"), (f"  {category or ''}", "dim"), hang=2)
        for rank, hit in enumerate(answer.found, 1):
            if rank <= LINES or rank in answer.ranks:
                self.hit(rank, hit, known=rank in answer.ranks)
        self.show.line(*self.verdict(answer), indent=2)
        if answer.question.get("answer"):
            self.show.line(("what is right: " + visible(str(answer.question["answer"])), "dim"), indent=2, hang=2)

    def hit(self, rank: int, hit: Hit, *, known: bool) -> None:
        mark: Part = (self.mark("✓", "+"), "bold green") if known else " "
        self.show.line(mark, (f"{rank:>3}  ", "dim"), *shortened(hit_parts(hit)), indent=2, hang=6)
        self.show.line((why(hit), "dim"), indent=8, hang=2)

    def verdict(self, answer: AskedQuestion) -> list[Part]:
        found, known = len(answer.ranks), len(answer.evidence)
        if not known:
            return [("no evidence is known for this question", "dim")]
        if not found:
            return [(self.mark("✗", "-"), "bold red"), f" the known evidence is not among the {len(answer.found)} hits"]
        style = "green" if found == known else "yellow"
        return [(f"{found} of {count_nouns(known, 'known turn')} found", style)]

    def brief(self, answer: AskedQuestion) -> None:
        mark = self.mark("✓", "+") if answer.recall == 1 else self.mark("✗", "-") if not answer.ranks else "~"
        style = "green" if answer.recall == 1 else "red" if not answer.ranks else "yellow"
        ranks = ", ".join(map(str, answer.ranks)) or "none"
        told = f"  {len(answer.ranks)} of {len(answer.evidence)}, rank {ranks}"
        self.show.line((mark, style), " ", visible(answer.question["question"]), (told, "dim"), indent=2, hang=2)

    # ---- forgetting

    def forget(self, memory: MemoryScope, one: PlayedConversation) -> None:
        from memscope.demo import play

        secret = play.secret_of(one.conversation, one.answers)
        if secret is None:
            return
        one.forgotten = gone = play.forget(memory, one.conversation, secret, self.file)
        self.show.line("")
        words = visible(secret.words if len(secret.words) <= 60 else secret.words[:60] + "…")
        self.show.line(("forget", "bold"), f" everything that contains “{words}”")
        if not gone.found_before:
            self.show.line("it is not there: an earlier run has forgotten it", indent=2)
            return
        self.show.line(
            (f"{count_nouns(gone.report.turns, 'turn')} removed, in the file: {gone.report.physical}", "dim"), indent=2
        )
        self.show_claim(
            not gone.found_after,
            f"“{visible(secret.answer.question['question'])}” no longer finds it",
            "it is still found",
        )
        if gone.traces:
            before, after = gone.traces
            said = f"its bytes are gone from the file: {before} before, {after} now"
            self.show_claim(not after and bool(before), said, said.replace("are gone from", "in"))

    def show_claim(self, holds: bool, said: str, otherwise: str) -> None:
        """Print a claim of the demo, checked here, or its opposite."""
        mark = (self.mark("✓", "+"), "bold green") if holds else (self.mark("✗", "-"), "bold red")
        self.show.line(mark, " ", said if holds else otherwise, indent=2, hang=2)

    # ---- the end

    def close(self, *, own: bool) -> None:
        self.show.data(self.json())
        answers = [answer for one in self.played for answer in one.answers]
        scored = [answer for answer in answers if answer.counts]
        if not self.played:
            return
        self.show.line("")
        self.show.rule("what it came to")
        found = sum(answer.recall == 1 for answer in scored)
        partly = sum(0 < answer.recall < 1 for answer in scored)
        self.show.line(
            (f"evidence found for {found + partly} of {count_nouns(len(scored), 'question')}", "bold"),
            f" ({found} wholly, {partly} in part) among the first 10 hits",
        )
        self.speed(answers)
        self.scores(scored, own=own)
        self.next_steps()

    def speed(self, answers: Sequence[AskedQuestion]) -> None:
        turns, seconds = (sum(getattr(one, name) for one in self.played) for name in ("turns", "seconds"))
        half = f", a question in {statistics.median(a.milliseconds for a in answers):.1f} ms" if answers else ""
        self.show.line((f"{count_nouns(turns, 'turn')} stored durably in {seconds:.2f} s{half} (median)", "dim"))

    def scores(self, scored: Sequence[AskedQuestion], *, own: bool) -> None:
        from memscope.demo.play import recall

        if own or not scored:
            return
        groups: dict[str, list[AskedQuestion]] = defaultdict(list)
        for answer in scored:
            groups[str(answer.question.get("category_name", ""))].append(answer)
        self.show.line(("recall@10  ", "bold"), f"{recall(scored)} %")
        for name, group in sorted(groups.items()):
            self.show.line(
                (f"{recall(group):>5} %  ", "dim"), f"{visible(name)} ", (f"({len(group)})", "dim"), indent=2
            )

    def next_steps(self) -> None:
        from memscope.demo.play import user_of

        last = self.played[0].conversation
        question = last["questions"][0]["question"] if last["questions"] else "..."
        program = f"memscope --store {self.store} --user {user_of(last)}"
        self.show.line("")
        self.show.line(("the memory is still there; try", "dim"))
        for told in (
            f'retrieve --explain "{visible(question)}"',
            "list --limit 5",
            'add "I like my tea without milk."',
        ):
            self.show.line(f"{program} {told}", indent=2, whole=True)

    def json(self) -> Mapping[str, Any]:
        from memscope.demo.play import recall, user_of

        answers = [answer for one in self.played for answer in one.answers]
        return {
            "store": self.store,
            "questions": sum(answer.counts for answer in answers),
            "found": sum(answer.counts and answer.recall > 0 for answer in answers),
            "found_wholly": sum(answer.counts and answer.recall == 1 for answer in answers),
            "recall_at_10": recall(answers),
            "conversations": [
                {
                    "id": one.conversation["id"],
                    "user": user_of(one.conversation),
                    "turns": one.turns,
                    "seconds": round(one.seconds, 3),
                    "questions": [self.answer_json(answer) for answer in one.answers],
                    "forgotten": one.forgotten and self.forgotten_json(one.forgotten),
                }
                for one in self.played
            ],
        }

    def answer_json(self, answer: AskedQuestion) -> Mapping[str, Any]:
        return {
            "id": answer.question["id"],
            "question": answer.question["question"],
            "evidence": sorted(answer.evidence),
            "ranks": list(answer.ranks),
            "milliseconds": round(answer.milliseconds, 2),
            "hits": [hit_json(hit) for hit in answer.found] if self.everything else [hit.id for hit in answer.found],
        }

    def forgotten_json(self, gone: ForgottenSecret) -> Mapping[str, Any]:
        return {
            **asdict(gone.report),
            "found_before": gone.found_before,
            "found_after": gone.found_after,
            "traces": gone.traces,
        }

    # ---- inside

    @property
    def file(self) -> Path | None:
        return None if "://" in self.store or self.store == ":memory:" else Path(self.store)

    def mark(self, sign: str, plain: str) -> str:
        return sign if speaks_unicode(sys.stdout) else plain


def shortened(parts: list[Part]) -> list[Part]:
    *before, words = parts
    return [*before, words[:LONGEST] + "…"] if isinstance(words, str) and len(words) > LONGEST else parts
