"""Command ``memscope chat``: an assistant with memory."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from memscope.errors import MemscopeError
from memscope.records import Scope, WorkReport
from memscope.sync.views import SyncAnswer
from memscope_cli.commands import slash
from memscope_cli.commands.demo import demo
from memscope_cli.commands.input import Pipe, Terminal, read_message
from memscope_cli.commands.language import CLI_LANGUAGES, say, say_error, use_language
from memscope_cli.commands.options import Call, command, exit_code
from memscope_cli.commands.output import print_error, visible, visible_text
from memscope_cli.commands.slash import Talk
from memscope_cli.commands.work import ReportReceiver

CHAT_DRAIN_S = 1.0  # wait at exit for running work; the rest stays pending
NO_CHAT_MODEL = """There is no chat model to talk with. Set one, for example
  MEMSCOPE_CHAT__PRESET=ollama MEMSCOPE_CHAT__MODEL=qwen3:8b memscope chat --user {user}
  MEMSCOPE_CHAT__PRESET=openai MEMSCOPE_CHAT__MODEL=gpt-4.1-mini (with OPENAI_API_KEY)
or in memscope.yaml; docs/models.md has the lines for other servers."""


@command("chat", short_help="Talk with an assistant that remembers.")
@click.option("--language", type=click.Choice(CLI_LANGUAGES), help="Language of the interface, like --lang.")
@click.option("--persona", metavar="TEXT", help="Describe the assistant, for its prompt.")
@click.option("--window", type=int, default=3000, show_default=True, help="Token limit for recent turns in the prompt.")
@click.option("--tokens", type=int, default=1000, show_default=True, help="Token limit for memories in the prompt.")
def chat(call: Call, /, language: str | None, **asked: Any) -> None:
    """Talk with the chat model of the settings, which remembers: a line is a message, /help shows the commands.

    Without a terminal, each line on stdin is a message. Facts are extracted in the background, and announced.
    """
    user = call.owner["user"]
    news = News(logging.WARNING)
    with use_language(language or call.lang), call.memory(new=True, plugins=[ReportReceiver(news.receive)]) as memory:
        talk = Talk(memory, call.show, user, call.session or Talk.fresh_session(), call.agent, asked)
        talk.keyboard = Terminal(lambda line: slash.complete(talk, line)) if sys.stdin.isatty() else Pipe()
        if memory.admin.runtime.services.chat is None:
            explain_models(talk)
            return
        news.talk = talk
        with listening(news):
            code = run(talk)
            memory.admin.stop(drain_s=CHAT_DRAIN_S)
    click.get_current_context().exit(code)


def explain_models(talk: Talk) -> None:
    """Explain which settings are missing and, on a terminal, offer the demo instead."""
    click.echo(say(NO_CHAT_MODEL, user=visible(talk.user)), err=True)
    context = click.get_current_context()
    question = say("Watch memory at work without a model? (memscope demo)")
    if not talk.keyboard.asks or talk.show.machine or not talk.confirm(question):
        context.exit(3)
    context.invoke(demo, which=None, data=None, everything=False)


class News(logging.Handler):
    """Passes reports and warnings of background work to the conversation."""

    talk: Talk | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.talk is not None:
            self.talk.receive(record.getMessage())

    def receive(self, report: WorkReport, scope: Scope) -> None:
        if self.talk is not None and report.actions and scope.user == self.talk.user:
            self.talk.receive(report)


@contextmanager
def listening(news: News) -> Iterator[None]:
    """Route the library's warnings through the conversation, so that they do not garble a line being typed."""
    log = logging.getLogger("memscope")
    log.addHandler(news)
    try:
        yield
    finally:
        log.removeHandler(news)


# ------------------------------------------------------------------------------------------------------------- the loop


def run(talk: Talk) -> int:
    """Read messages until the input ends. Return the exit code of the last failure, or 0 at a terminal."""
    if talk.keyboard.asks:
        model = talk.memory.admin.runtime.services.chat
        words = "Talking with {model} as {user}, session {session}. /help shows what else there is, /exit ends."
        name = model.name if model else ""
        talk.show.line(say(words, model=name, user=visible(talk.user), session=visible(talk.session)))
    while True:
        try:
            step(talk, read_message(talk.keyboard, f"{visible(talk.user)}> "))
        except EOFError:
            break
        except KeyboardInterrupt:
            click.echo("")
    return 0 if talk.keyboard.asks else talk.code


def step(talk: Talk, text: str) -> None:
    if not text.strip():
        return
    talk.busy = True
    try:
        if text.lstrip().startswith("/"):
            slash.run(talk, text)
        elif text.strip().lower() in slash.EXIT_WORDS:
            raise EOFError
        else:
            answer(talk, text)
    except MemscopeError as error:
        talk.code = exit_code(error)
        print_error(f"memscope: {say_error(error)}")
    finally:
        talk.busy = False
    talk.show_news()


def answer(talk: Talk, text: str) -> None:
    if too_long(talk, text):
        return
    talk.last = reply = talk.memory.chat(text, **talk.owner, session=talk.session, **talk.asked)
    if talk.keyboard.asks:
        stream(talk, f"{visible(talk.agent or say('assistant'))}> ")
    try:
        for piece in reply:
            stream(talk, piece)
    except KeyboardInterrupt:
        stream(talk, " " + say("(stopped)"))
    finally:
        stream(talk, "\n")
    show_answer(talk, reply)


def show_answer(talk: Talk, answer: SyncAnswer) -> None:
    ids = [hit.id for hit in answer.memories]
    talk.ids += ids
    talk.show.data({"text": answer.text, "memories": ids, "notes": answer.notes})
    for note in dict.fromkeys(answer.notes):
        talk.note(f"({say('without {note}', note=note.removeprefix('without '))})")
    if ids and talk.keyboard.asks:
        talk.note(say("({number} memories used; /memories shows them)", number=len(ids)))


def too_long(talk: Talk, text: str) -> bool:
    size, limit = len(text.encode(errors="replace")), talk.memory.admin.runtime.services.limits.text
    if size > limit:
        words = "That is {size} bytes; one message holds at most {limit}. Split it, or give a summary."
        talk.note(say(words, size=f"{size:,}", limit=f"{limit:,}"))
        talk.code = 2
    return size > limit


def stream(talk: Talk, piece: str) -> None:
    if not talk.show.machine:
        click.echo(visible_text(piece), nl=False)
