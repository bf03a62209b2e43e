"""Commands ``memscope serve`` and ``memscope token``."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

import click

from memscope import AsyncMemoryScope
from memscope.errors import ConfigError
from memscope_cli.commands.language import say
from memscope_cli.commands.options import Call, Group, command
from memscope_cli.commands.output import visible
from memscope_cli.commands.work import stop_on_signal
from memscope_server.tokens import TOKEN_ROLES, Role, TokenFile


@command("serve", short_help="Serve the inspector and the HTTP API.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8710, show_default=True, help="0 picks a free port.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="Another host that browsers use, with its port.")
@click.option("--cert", type=click.Path(exists=True, dir_okay=False), help="Certificate for TLS, in PEM.")
@click.option("--key", type=click.Path(exists=True, dir_okay=False), help="Its private key, in PEM.")
@click.option("--insecure", is_flag=True, help="Listen on other addresses without TLS.")
@click.option("--work", is_flag=True, help="Consolidate and reflect in the background for all users.")
def serve(
    call: Call,
    address: str,
    port: int,
    names: Sequence[str],
    cert: str | None,
    key: str | None,
    insecure: bool,
    work: bool,
) -> None:
    """Serve the inspector and the HTTP API until Ctrl-C, on this machine only.

    Another --address needs --cert and --key, or --insecure. Callers need a token: 'memscope token add'.
    """
    if (cert is None) != (key is None):
        raise click.UsageError("--cert and --key belong together")
    if not _local(address) and cert is None and not insecure:
        raise ConfigError(f"{address} can be reached from other machines", hint="give --cert and --key, or --insecure")
    call.settings()  # reads files, which is not allowed inside the event loop
    asyncio.run(_serve(call, address, port, names, {"ssl_certfile": cert, "ssl_keyfile": key} if cert else {}, work))


def _local(address: str) -> bool:
    try:
        return address == "localhost" or ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family)
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]
        hint = "choose another --address or --port; --port 0 picks a free one"
        raise ConfigError(f"cannot listen on {address}:{port}: {reason}", hint=hint) from None


async def _serve(call: Call, address: str, port: int, names: Sequence[str], tls: dict[str, Any], work: bool) -> None:
    import uvicorn

    from memscope_server.app import create_app
    from memscope_server.connections import Server, options

    with _listen(address, port) as listening:
        port = listening.getsockname()[1]
        shown = f"[{address}]" if ":" in address else address
        hosts = {f"{name}:{port}" for name in (shown, "localhost", "127.0.0.1")} | set(names)
        async with AsyncMemoryScope(call.store, settings=call.settings()) as memory:
            if work:
                await memory.admin.start()
            tokens, root = TokenFile(), f"{'https' if tls else 'http'}://{shown}:{port}/"
            app = create_app(memory, tokens=tokens, hosts=hosts)
            config = uvicorn.Config(app, log_level="warning", **options(), **tls)
            try:
                config.load()
            except OSError as error:  # of ssl, or of a file that may not be read
                message = f"--cert and --key cannot be used: {error.strerror or error}"
                raise ConfigError(message, hint="give a certificate and its private key, both in PEM") from None
            server = Server(config)
            # uvicorn raises its signal again, which would end the process before memory closes
            with stop_on_signal() as stop:
                early = asyncio.create_task(stop.wait())  # done by a signal that comes before uvicorn handles signals
                early.add_done_callback(lambda _: setattr(server, "should_exit", True))
                call.show.line(
                    say("memscope serves {store} on {address}", store=memory.admin.runtime.location, address=root)
                )
                if _local(address):  # a reader of this terminal has access to the store anyway
                    link = f"{root}login?token={tokens.add_temporary()}"
                    call.show.line(say("sign in as operator: {link}", link=link))
                call.show.line(say("others need a token: 'memscope token add'; Ctrl-C ends it"))
                sys.stdout.flush()  # a parent process may wait for the address on a pipe
                await server.serve(sockets=[listening])


@click.group("token", cls=Group, short_help="Tokens of the server: add, list, revoke.")
def token() -> None:
    """Manage the access tokens of the server. A token is shown once; only its digest is kept."""


@command("add", group=token)
@click.option("--role", type=click.Choice(TOKEN_ROLES), default="user", show_default=True, help="Rights of the token.")
@click.option("--name", default="", help="Purpose of the token, for the list.")
def add(call: Call, role: str, name: str) -> None:
    """Add a token for --user NAME (with --agent NAME for that agent's records only), or for an operator."""
    owner = None if role == "operator" else call.user
    token, secret = TokenFile().add(cast("Role", role), owner, call.agent if owner else None, name)
    call.show.data({"id": token.id, "token": secret, "role": token.role, "user": token.user})
    call.show.line(secret)
    call.show.line(
        (say("token {id}, for {user}; it is not shown again", id=token.id, user=token.user or say("all users")), "dim")
    )


@command("list", group=token)
def list_(call: Call) -> None:
    """List all tokens without their secrets."""
    for one in TokenFile().tokens():
        call.show.data({name: value for name, value in asdict(one).items() if name != "digest"})
        state = say("revoked {time}", time=one.revoked) if one.revoked else say("valid")
        columns = one.id, f"{one.role:<8}", one.user or "-", one.agent or "-", one.created, state, visible(one.name)
        call.show.line("  ".join(columns))


@command("revoke", group=token)
@click.argument("id")
def revoke(call: Call, id: str) -> None:
    """Revoke the token ID; a server refuses it from its next request on."""
    gone = TokenFile().revoke(id)
    call.show.data({"id": gone.id, "revoked": gone.revoked})
    call.show.line(say("token {id} is revoked", id=gone.id))
