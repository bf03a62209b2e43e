"""State of a conversation in ``memscope chat``, and its slash commands: functions of the ``Talk`` and an argument."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memscope import validation
from memscope.errors import InputError, NotFound, nearest
from memscope.records import ForgetReport, Hit, WorkReport
from memscope.stores.rules import record_id
from memscope.sync import MemoryScope
from memscope.sync.views import SyncAnswer
from memscope_cli.commands.block import show_block, show_blocks
from memscope_cli.commands.formatting import (
    action_parts,
    hit_json,
    reason,
    retrieval_json,
    show_hits,
    show_receipt,
    show_record,
    show_work,
    summarize,
)
from memscope_cli.commands.input import QUOTES, Pipe
from memscope_cli.commands.language import count_nouns, say, say_sentence
from memscope_cli.commands.options import PARTLY
from memscope_cli.commands.output import Display, pad, print_error, visible
from memscope_cli.commands.store import show_status

MAX_LISTED_RECORDS = 20  # by /list without a number


@dataclass
class Talk:
    """A conversation at a terminal or through a pipe: its scope, its output, and news from background work."""

    memory: MemoryScope
    show: Display
    user: str
    session: str
    agent: str | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    keyboard: Pipe = field(default_factory=Pipe)
    last: SyncAnswer | None = None
    ids: list[str] = field(default_factory=list)  # of shown records, for completion
    busy: bool = False
    unread: list[WorkReport | str] = field(default_factory=list)
    code: int = 0

    @staticmethod
    def fresh_session() -> str:
        return f"chat {datetime.now().astimezone():%Y-%m-%d %H:%M:%S}"

    @property
    def owner(self) -> dict[str, Any]:
        return {"user": self.user, "agent": self.agent}

    def note(self, words: str) -> None:
        """Print a note that is not part of an answer; if a program reads stdout, to stderr."""
        if self.show.machine or not self.keyboard.asks:
            print_error(words)
        else:
            self.show.line((visible(words), "dim"))

    def confirm(self, question: str) -> bool:
        try:
            return self.keyboard.line(f"{question} [y/N] ").strip().lower() in ("y", "yes", "是", "好")
        except EOFError:
            return False

    def receive(self, news: WorkReport | str) -> None:
        """Take news from the background thread and show it at once, unless an answer is being printed."""
        self.unread.append(news)
        if not self.busy and self.keyboard.asks:
            self.keyboard.above(self.show_news)

    def show_news(self) -> None:
        label = f"[{say('memory')}] "
        while self.unread:
            news = self.unread.pop(0)
            if isinstance(news, str):
                self.note(label + news)
            elif self.show.machine or not self.keyboard.asks:
                self.note(f"{label}{say(news.operation)}: {summarize(news)}")
            else:
                self.ids += _ids(news)
                for action in news.actions:
                    self.show.line((label, "dim"), *action_parts(action), hang=12)


def _ids(report: WorkReport) -> list[str]:
    return [str(action["id"]) for action in report.actions if "id" in action]


def run(talk: Talk, line: str) -> None:
    """Run ``/name argument``. Unique prefixes and the suffix "_memory" are accepted; ``/exit`` raises ``EOFError``."""
    typed, _, argument = line.strip().partition(" ")
    typed = SLASH_ALIASES.get(typed.lower(), typed)
    begun = [name for name in COMMANDS if name.startswith(typed.lower().removesuffix("_memory"))]
    if len(begun) != 1 or typed == "/":
        hint = say_sentence(nearest(typed, begun or COMMANDS))
        raise InputError(say("there is no {name}; {hint}", name=ascii(typed), hint=hint))
    (name,) = begun
    command, takes, _ = COMMANDS[name]
    if takes and not takes.startswith("[") and not argument.strip():
        raise InputError(say("{name} needs {what}", name=name, what=say(takes)))
    command(talk, argument.strip())


def complete(talk: Talk, line: str) -> Sequence[str]:
    """Complete command names and, after /forget, the ids of records that were shown."""
    name, gap, rest = line.lstrip().partition(" ")
    if not gap:
        return [f"{one} " for one in COMMANDS if name.startswith("/") and one.startswith(name)]
    last = rest.rpartition(" ")[2]
    return [id for id in talk.ids if name == "/forget" and id.startswith(last)]


# ------------------------------------------------------------------------------------------------------------- reading


def retrieve(talk: Talk, query: str) -> None:
    hits = talk.memory.retrieve(query, **talk.owner)
    talk.show.data(retrieval_json(query, hits))
    _show_hits(talk, hits.hits, explain=False)
    if hits.reason or not hits:
        talk.note(reason(hits, "/add"))


def memories(talk: Talk, _: str) -> None:
    if talk.last is None:
        talk.note(say("no answer yet"))
        return
    talk.show.data({"memories": [hit_json(hit) for hit in talk.last.memories]})
    _show_hits(talk, talk.last.memories, explain=True)
    for note in talk.last.notes:
        talk.note(say("without {note}", note=note))
    if not talk.last.memories:
        talk.note(say("no records"))


def _show_hits(talk: Talk, hits: Sequence[Hit], *, explain: bool) -> None:
    talk.ids += [hit.id for hit in hits]
    show_hits(talk.show, hits, explain=explain)


def list_(talk: Talk, argument: str) -> None:
    """Print the newest records; with ``refresh_time=5``, look for new ones every five seconds until Ctrl-C."""
    words = dict(word.partition("=")[::2] for word in argument.split())
    pause, number = words.pop("refresh_time", ""), next(iter(words), "")
    if len(words) > 1 or any(words.values()) or any(not word.isdecimal() for word in (pause, number) if word):
        value = repr(argument)
        raise InputError(say("/list takes a number and refresh_time=SECONDS, not {given}", given=value))
    shown = _list_new(talk, int(number or 0) or MAX_LISTED_RECORDS, frozenset())
    if not shown:
        talk.note(say("no records"))
    if pause and not talk.keyboard.asks:
        raise InputError(say("refresh_time needs a terminal, to be stopped"))
    try:
        while pause:
            time.sleep(max(1, int(pause)))
            shown |= _list_new(talk, MAX_LISTED_RECORDS, shown)
    except KeyboardInterrupt:
        talk.note(say("(stopped)"))


def _list_new(talk: Talk, limit: int, shown: frozenset[str]) -> frozenset[str]:
    records = [one for one in talk.memory.list(**talk.owner, limit=limit) if record_id(one) not in shown]
    ids = [record_id(record) for record in records]
    talk.ids += ids
    for record in records:
        show_record(talk.show, record)
    return frozenset(ids)


def status(talk: Talk, _: str) -> None:
    show_status(talk.show, talk.memory.admin.status(user=talk.user))


def help_(talk: Talk, _: str) -> None:
    for line in say(HELP, quotes=QUOTES).splitlines():
        talk.show.line(line)
    for name, (_command, takes, about) in COMMANDS.items():
        talk.show.line((pad(f"{name} {say(takes)}", 33) + " ", "cyan"), say(about), indent=2, hang=34)


# ------------------------------------------------------------------------------------------------------------- changing


def add(talk: Talk, text: str) -> None:
    note = talk.memory.add_memory(text, **talk.owner, session=talk.session)
    talk.ids.append(note.id)
    talk.show.report({"id": note.id}, (say("remembered"), "green"), (f"  {note.id}", "dim"))


def forget(talk: Talk, what: str) -> None:
    """Forget records by id if every word is an id, else those that contain the words, after confirmation."""
    try:
        report = talk.memory.forget(**talk.owner, ids=what.split())
    except NotFound:
        report = _forget_containing(talk, what)
    show_receipt(talk.show, report)


def _forget_containing(talk: Talk, words: str) -> ForgetReport:
    if not talk.keyboard.asks:
        message = say("nothing has the id {id}; where there is no terminal to ask on, /forget takes ids only",
                   id=repr(words.split()[0]))  # fmt: skip
        raise InputError(message)
    report = talk.memory.forget(**talk.owner, text=words, dry_run=True)
    memories = count_nouns(report.observations + report.insights, "memory", "memories")
    gone = f"{count_nouns(report.turns, 'turn')}, {memories}"
    if report.ids and talk.confirm(say("This would remove {what}. Go on?", what=gone)):
        return talk.memory.forget(**talk.owner, text=words)
    talk.note(say("nothing was changed"))
    return report if not report.ids else ForgetReport()


def consolidate(talk: Talk, _: str) -> None:
    _show_work(talk, talk.memory.consolidate(user=talk.user))


def reflect(talk: Talk, _: str) -> None:
    _show_work(talk, talk.memory.reflect(user=talk.user))


def _show_work(talk: Talk, report: WorkReport) -> None:
    """Print a report, and drop unread news of the same actions, which would repeat it."""
    ids = _ids(report)
    talk.unread = [news for news in talk.unread if isinstance(news, str) or not {*_ids(news)} <= {*ids}]
    talk.ids += ids
    show_work(talk.show, report)
    if report.reason:
        print_error(f"memscope: {say_sentence(report.reason)}")
    if report.errors:
        talk.code = PARTLY


def block(talk: Talk, argument: str) -> None:
    blocks = talk.memory.blocks(talk.user, agent=talk.agent)
    label, _, text = argument.partition(" ")
    if text.strip():
        show_block(talk.show, blocks.append(label, text.strip()))
    elif label:
        show_block(talk.show, blocks.get(label))
    else:
        show_blocks(talk.show, blocks.list())


# ---------------------------------------------------------------------------------------------------- user and session


def user(talk: Talk, name: str) -> None:
    _switch(talk, name or talk.user, talk.fresh_session() if name else talk.session)


def session(talk: Talk, name: str) -> None:
    _switch(talk, talk.user, name or talk.session)


def _switch(talk: Talk, name: str, session: str) -> None:
    validation.scope(name, None, session)
    talk.user, talk.session, talk.last = name, session, None
    talk.ids.clear()
    words = say("talking as {user}, session {session}", user=visible(name), session=visible(session))
    talk.show.report({"user": name, "session": session}, words)


def exit_(talk: Talk, _: Any) -> None:
    raise EOFError


HELP = """A line is a message; end it with \\ to go on in the next, or put several between two lines of {quotes}.
Ctrl-C stops an answer, Ctrl-D ends."""
#: By name: function, argument (in brackets if optional), help.
COMMANDS: Mapping[str, tuple[Callable[[Talk, str], None], str, str]] = {
    "/retrieve": (retrieve, "QUERY", "find the evidence for a question"),
    "/list": (list_, "[N] [refresh_time=SECONDS]", "the newest records with their ids, once or continuously"),
    "/memories": (memories, "", "the memories shown for the last answer, and why"),
    "/add": (add, "TEXT", "remember a statement as it is"),
    "/forget": (forget, "ID... or WORDS", "remove for good, with all that was derived"),
    "/consolidate": (consolidate, "", "extract facts from pending turns now"),
    "/reflect": (reflect, "", "update the insights"),
    "/status": (status, "", "the store, the models, what is waiting"),
    "/user": (user, "[NAME]", "talk as another user"),
    "/session": (session, "[NAME]", "begin or take up another session"),
    "/block": (block, "[LABEL [TEXT]]", "core memory: all blocks, one, or add to one"),
    "/help": (help_, "", "this"),
    "/exit": (exit_, "", "the end"),
}
#: Hidden aliases of slash commands.
SLASH_ALIASES: Mapping[str, str] = {
    **dict.fromkeys(("/q", "/quit", "/bye"), "/exit"),
    **dict.fromkeys(("/ask", "/search", "/find", "/recall"), "/retrieve"),
    **dict.fromkeys(("/remember", "/save"), "/add"),
    **dict.fromkeys(("/delete", "/remove"), "/forget"),
    "/?": "/help",
}
EXIT_WORDS = frozenset(("q", "quit", "exit", "bye", "退出"))  # alone on a line, they end the chat
