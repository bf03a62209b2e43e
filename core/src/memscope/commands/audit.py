"""Command that looks for what is wrong in a user's memories: audit."""

from __future__ import annotations

import shlex
from dataclasses import asdict

import click

from memscope.commands.formatting import record_line
from memscope.commands.options import PARTLY, Call, command, pass_call
from memscope.commands.output import count_nouns


@command("audit", short_help="Find doubled, contradicting and groundless memories.")
@pass_call
def audit(call: Call) -> None:
    """Find what is wrong in a user's memories, without a model, and the command that mends it.

    Near doubles, contradictions, memories without a living source, and loops: memory that was said back and learned
    again. Nothing is changed. Exit code 6 if anything was found.
    """
    user = call.whose["user"]
    with call.memory() as memory:
        found = memory.audit(user=user)
        for finding in found:
            mend = f"{finding.mend} --user {shlex.quote(user)}"
            call.show.data({**asdict(finding), "mend": mend})
            call.show.line((f"{finding.kind}: ", "yellow"), finding.said)
            for id in finding.ids if not call.json else ():
                record_line(call.show, memory.get(id, user=user))
            call.show.line((f"→ {mend}", "cyan"), indent=2)
    if found:
        click.get_current_context().exit(PARTLY)
    call.show.line(f"{count_nouns(0, 'finding')}: the memories of this user are sound")
