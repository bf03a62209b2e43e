"""The store as memscope finds it: an entry point, a section of the settings, an address."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.config.settings import load
from memscope.errors import ConfigError
from memscope.plugins.loader import Plugins
from memscope_postgres import PostgresOptions, PostgresSettings, parse_location

from servers.postgres import PostgresServer, free_port

GUIDE = Path(__file__).parents[3] / "docs" / "postgres.md"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_the_plugin_opens_the_store_with_its_section(scheme: str) -> None:
    settings = load({"postgres": {"schema_name": "mine", "password": "hush"}}, environ={})
    store = Plugins(settings.plugins).make_store(f"{scheme}://host/db?connections=3", settings)
    assert (store.options.schema_name, store.options.connections) == ("mine", 3)  # type: ignore[attr-defined]
    assert store.options.client == {"password": "hush", "host": "host", "dbname": "db"}  # type: ignore[attr-defined]
    assert "hush" not in f"{settings!r} {store.options!r}"  # type: ignore[attr-defined]


def test_a_memory_elsewhere_imports_neither_client_nor_store() -> None:
    code = "from memscope import MemoryScope\nwith MemoryScope(':memory:'): pass\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"psycopg", "memscope_postgres.store"} & set(done.stdout.split())


def test_every_setting_is_documented() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert not [name for name in PostgresSettings.model_fields if f"`postgres.{name}`" not in text]


@pytest.mark.parametrize(
    ("location", "configured", "part"),
    [
        ("postgresql://host/db?nonsense=1", {}, "no PostgreSQL URI"),
        ("postgresql://u:hush@[host/db", {}, "no PostgreSQL URI"),
        ("postgresql://u:p@hush@host/db", {}, "two @"),
        ("postgresql://host/db?schema_name=My-Schema", {}, "not a name for the schema"),
        ("postgresql://host/db?connections=many", {}, "connections is not a number"),
        ("postgresql://host/db?deadline_s=0", {}, "deadline_s is out of range"),
        ("postgresql://host/db", {"conections": 3}, "no setting 'conections'"),
    ],
)
def test_a_wrong_address_is_refused_without_its_password(location: str, configured: dict[str, int], part: str) -> None:
    with pytest.raises(ConfigError, match=part) as raised:
        parse_location(location, configured)
    assert "hush" not in str(raised.value)


@given(st.text(max_size=60))
def test_any_address_is_parsed_or_refused(text: str) -> None:
    try:
        options = parse_location(f"postgresql://{text}")
    except ConfigError:
        return
    assert options.schema_name.replace("_", "").isalnum()


@pytest.mark.parametrize("reachable", [True, False])
@pytest.mark.parametrize("command", ["doctor", "plugins", "status", "users"])
def test_no_command_shows_the_password(
    server: PostgresServer, place: PostgresOptions, tmp_path: Path, reachable: bool, command: str
) -> None:
    port = server.port if reachable else free_port()
    address = f"postgresql://memscope:hush@127.0.0.1:{port}/memscope?schema_name={place.schema_name}&deadline_s=0.2"
    environ = {
        **os.environ, "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path),
        "MEMSCOPE_STORE": address, "MEMSCOPE_POSTGRES__PASSWORD": "hushed",
    }  # fmt: skip
    code = "import logging; logging.basicConfig(level=0); from memscope_cli.app import cli; cli()"
    done = subprocess.run([sys.executable, "-c", code, command], env=environ, capture_output=True, text=True)
    assert "hush" not in done.stdout + done.stderr
    assert done.stdout + done.stderr
    if command in ("status", "users"):
        assert (done.returncode == 0) == reachable, done.stderr
