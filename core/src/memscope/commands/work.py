"""Commands that run the back end once: consolidate, reflect, reembed, unpark."""

from __future__ import annotations

from dataclasses import asdict

import click

from memscope.commands.formatting import show_work
from memscope.commands.options import PARTLY, Call, command, pass_call
from memscope.commands.output import count_nouns, print_error
from memscope.records import WorkReport


@command("consolidate", short_help="Make observations of what is pending.")
@click.option("--preview", is_flag=True, help="Show what would come of one batch, write nothing.")
@pass_call
def consolidate(call: Call, preview: bool) -> None:
    """Make observations of the turns that are pending: of one user with --user, else of all."""
    with call.memory() as memory:
        _report(call, memory.consolidate(user=call.user, preview=preview))


@command("reflect", short_help="Bring a user's insights up to date.")
@click.option("--preview", is_flag=True, help="Show what would come of one batch, write nothing.")
@pass_call
def reflect(call: Call, preview: bool) -> None:
    """Consolidate what is pending of a user, then bring the insights up to date."""
    user = call.whose["user"]
    with call.memory() as memory:
        _report(call, memory.reflect(user=user, preview=preview))


def _report(call: Call, report: WorkReport) -> None:
    call.show.data(asdict(report))
    show_work(call.show, report)
    if report.model == "none":
        print_error("memscope: there is no chat model; set chat in the settings (docs/models.md)")
    if report.errors:
        print_error("memscope: what is left stays pending; 'memscope doctor' says what mends it")
        click.get_current_context().exit(PARTLY)


@command("reembed", short_help="Make the vectors anew.")
@pass_call
def reembed(call: Call) -> None:
    """Make all vectors anew with the embedder that is set now; the old ones serve until then. It can be resumed."""
    with call.memory() as memory, call.show.progress("embedding") as progress:
        number = memory.reembed(progress=progress)
    call.show.data({"embedded": number})
    call.show.line(f"{count_nouns(number, 'unit')} embedded")


@command("unpark", short_help="Try again what failed too often.")
@pass_call
def unpark(call: Call) -> None:
    """Give batches that failed too often another chance: of one user with --user, else of all."""
    with call.memory() as memory:
        number = memory.unpark(user=call.user)
    call.show.data({"unparked": number})
    call.show.line(f"{count_nouns(number, 'batch', 'batches')} pending again")
