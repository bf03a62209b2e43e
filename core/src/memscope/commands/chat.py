"""Talk with an assistant that remembers: chat."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from memscope.commands import slash
from memscope.commands.actions import action_parts, summary
from memscope.commands.call import Call, command, exit_code, pass_call
from memscope.commands.display import Display, complain, visible, visible_text
from memscope.commands.keyboard import Keyboard, Pipe, Terminal, message
from memscope.commands.phrases import LANGUAGES, of_locale
from memscope.errors import MemscopeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memscope.records import Scope, WorkReport
    from memscope.sync import MemoryScope, SyncAnswer

DRAIN_S = 1.0  # a person waits; what is not done by then stays pending


@command("chat", short_help="Talk with an assistant that remembers.")
@click.option("--language", type=click.Choice(list(LANGUAGES)), help="Of the interface; by default the locale's.")
@click.option("--persona", metavar="TEXT", help="Who the assistant is.")
@click.option("--window", type=int, default=3000, show_default=True, help="Tokens of recent turns that it is shown.")
@click.option("--tokens", type=int, default=1000, show_default=True, help="Tokens of memories that it is shown.")
@pass_call
def chat(call: Call, /, language: str | None, **asked: Any) -> None:
    """Talk with the chat model of the settings, which remembers: a line is a message, /help shows the commands.

    Without a terminal, each line on stdin is a message. Memories are made in the background, and told when they are.
    """
    user = call.whose["user"]
    news = News()
    phrases = LANGUAGES[language or of_locale()]
    with call.memory(plugins=[news]) as memory:
        talk = Talk(memory, call.show, phrases, user, call.session or Talk.fresh_session(), call.agent, asked)
        talk.keyboard = Terminal(lambda line: slash.complete(talk, line)) if sys.stdin.isatty() else Pipe()
        if memory.memory._parts.ctx.chat is None:
            no_model(talk, language or of_locale())
            return
        news.talk = talk
        with listening(news):
            memory.start()
            code = talk.run()
            memory.stop(drain_s=DRAIN_S)
    click.get_current_context().exit(code)


def no_model(talk: Talk, language: str) -> None:
    """What to set; and, where somebody can say yes, the demo."""
    for line in talk.say("no_model", user=visible(talk.user)).splitlines():
        click.echo(line, err=True)
    context = click.get_current_context()
    if not talk.keyboard.asks or talk.show.machine or not talk.confirm(talk.say("demo")):
        context.exit(3)
    from memscope.commands.demo import demo

    context.invoke(demo, language=language, data=None, everything=False)


class News(logging.Handler):
    """Hears what goes on in the background, as a plugin and as a log handler, and tells the talk."""

    talk: Talk | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.talk is not None:
            self.talk.hear(record.getMessage())

    def memscope_after_consolidate(self, report: WorkReport, scope: Scope) -> None:
        self._tell(report, scope)

    def memscope_after_reflect(self, report: WorkReport, scope: Scope) -> None:
        self._tell(report, scope)

    def _tell(self, report: WorkReport, scope: Scope) -> None:
        if self.talk is not None and report.actions and scope.user == self.talk.user:
            self.talk.hear(report)


@contextmanager
def listening(news: News) -> Iterator[None]:
    """Warnings of the library are told like all else, not written into a line that is being typed."""
    log = logging.getLogger("memscope")
    news.setLevel(logging.WARNING)
    log.addHandler(news)
    try:
        yield
    finally:
        log.removeHandler(news)


@dataclass
class Talk:
    """One conversation at a terminal or in a pipe."""

    memory: MemoryScope
    show: Display
    phrases: Mapping[str, str]
    user: str
    session: str
    agent: str | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    keyboard: Keyboard = field(default_factory=Pipe)
    last: SyncAnswer | None = None
    ids: list[str] = field(default_factory=list)  # that were shown, for completion
    busy: bool = False
    heard: list[WorkReport | str] = field(default_factory=list)
    code: int = 0

    @staticmethod
    def fresh_session() -> str:
        return f"chat {datetime.now().astimezone():%Y-%m-%d %H:%M:%S}"

    @property
    def whose(self) -> dict[str, Any]:
        return {"user": self.user, "agent": self.agent}

    def say(self, phrase: str, **values: object) -> str:
        return self.phrases[phrase].format(**values)

    def note(self, said: str) -> None:
        """Something beside the answers: on stderr where stdout is read by a program."""
        if self.show.machine or not self.keyboard.asks:
            complain(said)
        else:
            self.show.line((visible(said), "dim"))

    def confirm(self, question: str) -> bool:
        try:
            return self.keyboard.line(question).strip().lower() in ("y", "yes", "是", "好")
        except EOFError:
            return False

    # ---- the loop

    def run(self) -> int:
        """Until the end of the input; the exit code of the last thing that failed, where nobody saw it fail."""
        if self.keyboard.asks:
            model = self.memory.memory._parts.ctx.chat
            told = {"model": model and model.name, "user": visible(self.user), "session": visible(self.session)}
            self.show.line(self.say("welcome", **told))
        while True:
            try:
                self.step(message(self.keyboard, f"{visible(self.user)}> "))
            except EOFError:
                break
            except KeyboardInterrupt:
                click.echo("")
        return 0 if self.keyboard.asks else self.code

    def step(self, text: str) -> None:
        if not text.strip():
            return
        self.busy = True
        try:
            if text.lstrip().startswith("/"):
                slash.run(self, text)
            else:
                self.answer(text)
        except MemscopeError as error:
            self.code = exit_code(error)
            complain(f"memscope: {error}")
        finally:
            self.busy = False
        self.tell_news()

    def answer(self, text: str) -> None:
        if self.too_long(text):
            return
        self.last = answer = self.memory.chat(text, **self.whose, session=self.session, **self.asked)
        name = visible(self.agent or self.say("assistant"))
        if self.keyboard.asks:
            self.stream(f"{name}> ")
        try:
            for piece in answer:
                self.stream(piece)
        except KeyboardInterrupt:
            self.stream(f" {self.say('stopped')}")
        finally:
            self.stream("\n")
        self.about(answer)

    def about(self, answer: SyncAnswer) -> None:
        ids = [hit.id for hit in answer.memories]
        self.ids += ids
        self.show.data({"text": answer.text, "memories": ids, "notes": answer.notes})
        for note in dict.fromkeys(answer.notes):
            self.note(f"({self.say('without', note=note.removeprefix('without '))})")
        if ids and self.keyboard.asks:
            self.note(f"({self.say('used', number=len(ids))})")

    def too_long(self, text: str) -> bool:
        size, limit = len(text.encode(errors="replace")), self.memory.memory.limits.text
        if size > limit:
            self.note(self.say("too_long", size=size, limit=limit))
            self.code = 2
        return size > limit

    def stream(self, piece: str) -> None:
        if not self.show.machine:
            click.echo(visible_text(piece), nl=False)

    # ---- what the back end did

    def hear(self, news: WorkReport | str) -> None:
        """Called from the loop's thread: said at once, unless an answer is being said."""
        self.heard.append(news)
        if not self.busy and self.keyboard.asks:
            self.keyboard.above(self.tell_news)

    def tell_news(self) -> None:
        while self.heard:
            news = self.heard.pop(0)
            if isinstance(news, str):
                self.note(f"[{self.say('news')}] {news}")
            elif self.show.machine or not self.keyboard.asks:
                self.note(f"[{self.say('news')}] {news.operation}: {summary(news)}")
            else:
                self.tell_actions(news)

    def tell_actions(self, report: WorkReport) -> None:
        self.ids += [str(action["id"]) for action in report.actions]
        for action in report.actions:
            self.show.line((f"[{self.say('news')}] ", "dim"), *action_parts(action), hang=12)
