"""From one store to another: copy."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from memscope.commands.options import Call, command, pass_call
from memscope.commands.output import counted

if TYPE_CHECKING:
    from memscope.commands.output import Progress
    from memscope.transfer.copy import Copied


@command("copy", short_help="Copy a store into another.")
@click.option("--from", "source", metavar="PLACE", required=True, help="A path, or a store's URL.")
@click.option("--to", "target", metavar="PLACE", required=True, help="A path, or a store's URL.")
@pass_call
def copy(call: Call, source: str, target: str) -> None:
    """Copy everything (or one user's memory, with --user) from one store into another, and verify it.

    What is there already is left alone. A copy that was broken off goes on where it was when it is started again.
    """
    from memscope.transfer import copy

    with call.show.progress("copying users") as progress:
        copied = asyncio.run(_copy(call, source, target, progress))
    call.show.data(asdict(copied))
    copy.check(copied)
    parts = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in sorted(copied.counts.items()))
    call.show.line(
        f"{counted(copied.users, 'user')}, {copied.skipped:,} of them there already; {parts or 'nothing new'}"
    )
    if not copied.secret_adopted:
        call.show.line("the target keeps the keys of its own: a history shown again is stored again there")


async def _copy(call: Call, source: str, target: str, progress: Progress) -> Copied:
    from memscope.plugins.loader import Plugins
    from memscope.transfer import copy

    settings = call.settings()
    plugins = Plugins(settings.plugins)
    async with AsyncExitStack() as opened:
        stores = [plugins.make_store(place, settings) for place in (source, target)]
        for store in stores:
            opened.push_async_callback(store.close)
            await store.open()
        return await copy.copy(*stores, user=call.user, progress=progress)
