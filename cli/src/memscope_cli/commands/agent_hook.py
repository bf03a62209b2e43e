"""Command ``memscope agent-hook``: memory for a terminal agent that runs a hook command on each prompt and reply.

stdin is one JSON object: a prompt is recorded, and memories about it are printed; a reply is only recorded.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from memscope import AsyncMemoryScope
from memscope.errors import MemscopeError
from memscope_cli.commands.language import say, say_error
from memscope_cli.commands.options import Call, command
from memscope_cli.commands.output import print_error

DEADLINE_S = 5.0
MAX_INPUT_BYTES = 10_000_000
PROMPT_EVENT, END_EVENT = "UserPromptSubmit", "Stop"


@command("agent-hook", short_help="Memory for an agent that runs hooks.")
@click.option(
    "--deadline", type=click.FloatRange(min=0), default=DEADLINE_S, show_default=True, help="Time limit in seconds."
)
def agent_hook(call: Call, deadline: float) -> None:
    """Read a hook's JSON object from stdin: record a prompt and print what is remembered about it, or record a reply.

    It never stops the agent: an error goes to stderr, nothing is printed, and the exit code is 0.
    """
    watch = threading.Timer(deadline, os._exit, (0,))  # nothing else can interrupt a store that hangs
    watch.daemon = True
    watch.start()
    try:
        event = _event(sys.stdin.buffer.read(MAX_INPUT_BYTES + 1))
        answer = asyncio.run(_handle(call, event)) if isinstance(event, dict) else ""
    except (MemscopeError, click.ClickException) as error:
        reason = say_error(error) if isinstance(error, MemscopeError) else error.format_message()
        print_error(say("memscope: the agent goes on without memory: {error}", error=reason))
        return
    except Exception as error:
        print_error(say("memscope: the agent goes on without memory: {error}", error=type(error).__name__))
        return
    watch.cancel()
    if answer:
        click.echo(answer)


def _event(text: bytes) -> Any:
    if len(text) > MAX_INPUT_BYTES:
        raise click.ClickException(say("stdin has more than {limit} bytes", limit=MAX_INPUT_BYTES))
    try:
        return json.loads(text)
    except ValueError:
        raise click.ClickException(say("stdin is not the JSON object of a hook")) from None


async def _handle(call: Call, event: Mapping[str, Any]) -> str:
    from memscope.adapters.runs import begin_run
    from memscope.adapters.session import MemorySession, to_turn

    kind, scope = event.get("hook_event_name"), call.scope
    scope["session"] = scope["session"] or event.get("session_id")
    async with AsyncMemoryScope(call.store, settings=call.settings()) as memory:
        session = MemorySession(**scope, memory=memory, strict=True)
        if kind == PROMPT_EVENT:
            earlier = [turn.key for turn in await session.recent()]  # still in the agent's own context
            prompt = to_turn("user", str(event.get("prompt") or ""))
            run = await begin_run(session, [prompt], new=0, exclude=earlier)
            added = {"hookEventName": PROMPT_EVENT, "additionalContext": run.text}
            return json.dumps({"hookSpecificOutput": added}) if run.text else ""
        if kind == END_EVENT:
            await session.record([to_turn("assistant", await asyncio.to_thread(_reply, event))])
    return ""


def _reply(event: Mapping[str, Any]) -> str:
    """Get the agent's last reply from the hook's own field or, with older agents, from the end of the transcript."""
    reply = event.get("last_assistant_message")
    if isinstance(reply, str) or not isinstance(event.get("transcript_path"), str):
        return reply if isinstance(reply, str) else ""
    transcript = Path(event["transcript_path"]).expanduser().read_text(encoding="utf-8", errors="replace")
    for entry in map(_entry, reversed(transcript.split("\n"))):  # a JSON string may hold other line separators
        content = entry.get("message", {}).get("content") if entry.get("type") == "assistant" else None
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        text = "\n".join(part["text"] for part in parts if part.get("type") == "text")
        if text.strip():
            return text
    return ""


def _entry(line: str) -> Mapping[str, Any]:
    """Parse a line of a transcript; {} for one that the agent has not finished writing."""
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
