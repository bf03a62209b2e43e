"""The slash commands of ``memscope chat``: each a function of the talk and of its argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from memscope.commands.block import show_block, show_line
from memscope.commands.edit import show_receipt
from memscope.commands.formatting import hit_json, hit_parts, retrieval_json, show_record, show_work, why
from memscope.commands.input import QUOTES
from memscope.commands.output import count_nouns, visible
from memscope.commands.store import show_status
from memscope.commands.talk import Talk
from memscope.errors import InputError, NotFound, nearest
from memscope.records import ForgetReport, Hit, WorkReport
from memscope.stores.rules import record_id

SHOWN = 20  # records of /list
Command = Callable[[Talk, str], None]


def run(talk: Talk, line: str) -> None:
    """``/name argument``; a name may be cut short, and have MemoryScope's ending. ``EOFError`` for ``/exit``."""
    given, _, argument = line.strip().partition(" ")
    begun = [name for name in COMMANDS if name.startswith(given.lower().removesuffix("_memory"))]
    if len(begun) != 1 or given == "/":
        raise InputError(talk.say("unknown", name=ascii(given), hint=nearest(given, begun or COMMANDS)))
    (name,) = begun
    what = talk.phrases[name].partition("|")[0]
    if what and not what.startswith("[") and not argument.strip():
        raise InputError(talk.say("needs", name=name, what=what))
    COMMANDS[name](talk, argument.strip())


def complete(talk: Talk, line: str) -> Sequence[str]:
    """Completions: names of commands, and after /forget the ids shown before."""
    name, gap, rest = line.lstrip().partition(" ")
    if not gap:
        return [f"{one} " for one in COMMANDS if name.startswith("/") and one.startswith(name)]
    last = rest.rpartition(" ")[2]
    return [id for id in talk.ids if name == "/forget" and id.startswith(last)]


# ------------------------------------------------------------------------------------------------------------- to read


def retrieve(talk: Talk, query: str) -> None:
    found = talk.memory.retrieve(query, **talk.whose)
    talk.show.data(retrieval_json(query, found))
    hits(talk, found)
    if found.reason or not found:
        talk.note(found.reason or talk.say("nothing"))


def memories(talk: Talk, _: str) -> None:
    if talk.last is None:
        talk.note(talk.say("no_answer"))
        return
    talk.show.data({"memories": [hit_json(hit) for hit in talk.last.memories]})
    hits(talk, talk.last.memories)
    for note in talk.last.notes:
        talk.note(talk.say("without", note=note))
    if not talk.last.memories:
        talk.note(talk.say("nothing"))


def hits(talk: Talk, found: Sequence[Hit]) -> None:
    talk.ids += [hit.id for hit in found]
    for rank, hit in enumerate(found, 1):
        talk.show.line((f"{rank:>2}  ", "dim"), *hit_parts(hit), hang=4)
        talk.show.line((f"{why(hit)}  {visible(hit.id)}", "dim"), indent=4, hang=2)


def list_(talk: Talk, number: str) -> None:
    if number and not number.isdecimal():
        raise InputError(f"/list takes a number, not {number!r}")
    records = talk.memory.list(**talk.whose, limit=int(number) if number else SHOWN)
    talk.ids += [record_id(record) for record in records]
    for record in records:
        show_record(talk.show, record)
    if not records:
        talk.note(talk.say("nothing"))


def status(talk: Talk, _: str) -> None:
    found = talk.memory.status(user=talk.user)
    talk.show.data(found)
    show_status(talk.show, found)


def help_(talk: Talk, _: str) -> None:
    from rich.cells import cell_len

    for line in talk.say("help", quotes=QUOTES).splitlines():
        talk.show.line(line)
    for name in COMMANDS:
        what, _, about = talk.phrases[name].partition("|")
        gap = " " * max(1, 28 - cell_len(f"{name} {what}"))
        talk.show.line((f"{name} {what}{gap}", "cyan"), about, indent=2, hang=30)


# ------------------------------------------------------------------------------------------------------------ to change


def add(talk: Talk, text: str) -> None:
    made = talk.memory.add_memory(text, **talk.whose, session=talk.session)
    talk.ids.append(made.id)
    talk.show.data({"id": made.id})
    talk.show.line((talk.say("added"), "green"), (f"  {made.id}", "dim"))


def forget(talk: Talk, what: str) -> None:
    """Forget the ids if each word is one, else records that contain the words, after a question."""
    try:
        report = talk.memory.forget(**talk.whose, ids=what.split())
    except NotFound:
        report = _containing(talk, what)
    talk.show.data(asdict(report))
    show_receipt(talk.show, report)


def _containing(talk: Talk, words: str) -> ForgetReport:
    if not talk.keyboard.asks:
        raise InputError(talk.say("no_id", id=repr(words.split()[0])))
    report = talk.memory.forget(**talk.whose, text=words, dry_run=True)
    gone = (
        count_nouns(report.turns, "turn")
        + ", "
        + count_nouns(report.observations + report.insights, "memory", "memories")
    )
    if report.ids and talk.confirm(talk.say("contains", what=gone)):
        return talk.memory.forget(**talk.whose, text=words)
    talk.note(talk.say("unchanged"))
    return report if not report.ids else ForgetReport()


def consolidate(talk: Talk, _: str) -> None:
    _show_work(talk, talk.memory.consolidate(user=talk.user))


def reflect(talk: Talk, _: str) -> None:
    _show_work(talk, talk.memory.reflect(user=talk.user))


def _show_work(talk: Talk, report: WorkReport) -> None:
    talk.ids += [str(action["id"]) for action in report.actions]
    talk.show.data(asdict(report))
    show_work(talk.show, report)


# --------------------------------------------------------------------------------------------------------- whose, where


def user(talk: Talk, name: str) -> None:
    _switch(talk, name or talk.user, talk.fresh_session() if name else talk.session)


def session(talk: Talk, name: str) -> None:
    _switch(talk, talk.user, name or talk.session)


def block(talk: Talk, argument: str) -> None:
    blocks = talk.memory.blocks(talk.user, agent=talk.agent)
    label, _, text = argument.partition(" ")
    if text.strip():
        show_block(talk.show, blocks.append(label, text.strip()))
    elif label:
        show_block(talk.show, blocks.get(label))
    else:
        for one in blocks.list():
            show_line(talk.show, one)


def _switch(talk: Talk, name: str, session: str) -> None:
    from memscope import validation

    validation.scope(name, None, session)
    talk.user, talk.session, talk.last = name, session, None
    talk.ids.clear()
    talk.show.data({"user": name, "session": session})
    talk.show.line(talk.say("user", user=visible(name), session=visible(session)))


def exit_(talk: Talk, _: Any) -> None:
    raise EOFError


COMMANDS: Mapping[str, Command] = {
    "/retrieve": retrieve,
    "/list": list_,
    "/memories": memories,
    "/add": add,
    "/forget": forget,
    "/consolidate": consolidate,
    "/reflect": reflect,
    "/status": status,
    "/user": user,
    "/session": session,
    "/block": block,
    "/help": help_,
    "/exit": exit_,
}
