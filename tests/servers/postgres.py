#!/usr/bin/env python3
"""A PostgreSQL server on loopback, for tests and benchmarks. Standard library only; the server is the system's package.

    with PostgresServer() as server:
        server.url("postgres")              a URL of an ordinary role that owns the database
    servers/postgres.py                     start one, print its URL, serve until end of input

PostgreSQL does not run as root: root starts it as the user ``postgres`` (Debian's package makes it), else ``nobody``.
"""

from __future__ import annotations

import glob
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

ROLE, DATABASE = "memscope", "memscope"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "log_min_messages": "error",
    "autovacuum_naptime": "5s",
}


class Missing(Exception):
    """No server can be started here; the text says why."""


def binaries() -> Path:
    """Find the newest installed server."""
    homes = [*glob.glob("/usr/lib/postgresql/*/bin"), *glob.glob("/usr/pgsql-*/bin"), "/usr/local/pgsql/bin"]
    if (initdb := shutil.which("initdb")) is not None:
        homes.append(str(Path(initdb).parent))
    found = [Path(home) for home in homes if (Path(home) / "initdb").exists() and (Path(home) / "postgres").exists()]
    if not found:
        raise Missing("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    return max(found, key=lambda home: [int(part) for part in home.parent.name.split(".") if part.isdecimal()])


def server_user() -> pwd.struct_passwd | None:
    """Choose the user to run as: oneself, unless that is root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise Missing("PostgreSQL does not run as root, and there is no user 'postgres' or 'nobody'")


def free_port() -> int:
    """Choose a port that nobody listens on, below those that outgoing connections get and might take meanwhile."""
    for port in random.SystemRandom().sample(range(20_000, 29_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise Missing("100 ports are all taken")


class PostgresServer:
    """A server of its own in a temporary folder, which goes with it. ``settings`` are added to ``postgresql.conf``."""

    def __init__(self, **settings: str) -> None:
        self._bin, self._user = binaries(), server_user()
        self._settings = {**SETTINGS, **settings}
        self.folder = Path(tempfile.mkdtemp(prefix="memscope-postgres-"))
        self.data = self.folder / "data"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> PostgresServer:
        if self._process is not None:
            return self
        try:
            self.own(self.folder)
            self._run("initdb", "-D", self.data, "-U", "admin", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
            self.start()
            self.sql(f"CREATE ROLE {ROLE} LOGIN", f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, *, role: str = ROLE, database: str = DATABASE, port: int | None = None) -> str:
        return f"postgresql://{role}@127.0.0.1:{port or self.port}/{database}"

    def own(self, path: Path) -> None:
        """Give a file or folder to the server's user."""
        if self._user is not None:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)

    def follow(self, primary: PostgresServer) -> None:
        """Start as a standby of another server, instead of entering."""
        self.own(self.folder)
        address = ["-h", "127.0.0.1", "-p", str(primary.port), "-U", "admin"]
        self._run("pg_basebackup", *address, "-D", self.data, "-R", "-X", "stream", "-c", "fast")
        self.start()

    def start(self) -> None:
        settings = {**self._settings, "port": str(self.port), "unix_socket_directories": str(self.folder)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.data, *options], stdout=log, stderr=log, **self.as_user()
            )
        limit = time.monotonic() + 60
        while subprocess.run(
            [self._bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False
        ).returncode:
            if self._process.poll() is not None or time.monotonic() > limit:
                raise Missing("PostgreSQL did not start: " + (self.folder / "log").read_text()[-400:])
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT as an operator does, SIGQUIT without a checkpoint."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def sql(self, *statements: str, database: str = "postgres") -> str:
        """Run statements as the superuser; return what they print."""
        options = [part for statement in statements for part in ("-c", statement)]
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "admin", "-d", database]
        return self._run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *address, *options)

    def _run(self, program: str, *arguments: str | Path) -> str:
        done = subprocess.run(
            [self._bin / program, *arguments], capture_output=True, text=True, check=False, **self.as_user()
        )
        if done.returncode:
            raise Missing(f"{program} failed: {done.stderr.strip()[-400:]}")
        return done.stdout

    def as_user(self) -> dict[str, Any]:
        """Make the arguments with which ``subprocess`` runs a program as the server's user."""
        if self._user is None:
            return {"cwd": self.folder}
        return {"cwd": self.folder, "user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}


if __name__ == "__main__":
    try:
        with PostgresServer() as server:
            print(server.url(), flush=True)
            sys.stdin.read()
    except Missing as missing:
        sys.exit(str(missing))
