"""Memories that wait for a person's word: review."""

from __future__ import annotations

import click

from memscope.commands.formatting import id_of, record_line
from memscope.commands.options import Call, command, pass_call
from memscope.commands.output import complain, counted
from memscope.records.serialization import to_json

ALL = "all"


@command("review", short_help="Accept or reject proposed memories.")
@click.option("--accept", metavar="ID", multiple=True, help="Make this proposal a memory; may be repeated; 'all'.")
@click.option("--reject", metavar="ID", multiple=True, help="Close this proposal; may be repeated; 'all'.")
@pass_call
def review(call: Call, accept: tuple[str, ...], reject: tuple[str, ...]) -> None:
    """Show the memories that wait for a person's word (the setting approve), and accept or reject them."""
    whose = {"user": call.whose["user"]}
    if ALL in accept and ALL in reject:
        raise click.UsageError("all can be accepted or rejected, not both")
    with call.memory() as memory:
        waiting = memory.proposals(**whose)
        every = tuple(one.id for one in waiting)
        accepted = memory.accept(every if ALL in accept else accept, **whose) if accept else 0
        rejected = memory.reject(every if ALL in reject else reject, **whose) if reject else 0
    if accept or reject:
        call.show.data({"accepted": accepted, "rejected": rejected})
        call.show.line(f"{counted(accepted, 'proposal')} accepted, {rejected:,} rejected")
        return
    for one in waiting:
        call.show.data({"id": id_of(one), **to_json(one)})
        record_line(call.show, one)
    if not waiting:
        complain("memscope: nothing waits for review")
