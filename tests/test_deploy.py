"""``deploy/``: what can be told of it without a container engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from click.testing import CliRunner

from memscope.config.settings import load
from memscope_cli.app import cli
from memscope_elasticsearch import parse_location

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
NODES = {name: service for name, service in SERVICES.items() if name.startswith("elasticsearch")}
PROGRAMS = {name: service for name, service in SERVICES.items() if "build" in service}


def test_it_is_the_version_that_the_tests_run_on():
    pom = (ROOT / "tests" / "servers" / "elasticsearch" / "pom.xml").read_text(encoding="utf-8")
    (tested,) = re.findall(r"<elasticsearch.version>(.*)</", pom)
    images = {service["image"] for service in SERVICES.values() if service not in PROGRAMS.values()}
    assert images == {f"elasticsearch:${{ELASTIC_VERSION:-{tested}}}", SERVICES["postgres"]["image"]}


def test_it_is_closed_to_others_and_limited():
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports and all(port.startswith("127.0.0.1:") for port in ports)
    for node in NODES.values():
        assert node["environment"]["xpack.security.enabled"] == "true"
        assert node["mem_limit"] and "_cluster/health" in node["healthcheck"]["test"][1]


def test_it_says_what_the_nodes_need_of_the_machine():
    head = TEXT.partition("name: memscope")[0]
    assert "vm.max_map_count=1048576" in head  # else a node that is not alone ends with its bootstrap check


def test_a_token_needs_no_node():
    assert re.search(r"run .*server token", TEXT) and not re.search(r"run (?!--rm --no-deps)\S* *server", TEXT)


def test_three_nodes_find_each_other_over_tls_and_have_data_of_their_own():
    assert len(NODES) == 3
    for name, node in NODES.items():
        settings = node["environment"]
        assert settings["node.name"] == name
        assert settings["discovery.seed_hosts"].split(",") == sorted(NODES)
        assert settings["cluster.initial_master_nodes"].split(",") == sorted(NODES)
        assert settings["xpack.security.transport.ssl.enabled"] == "true"
        keystore = "/usr/share/elasticsearch/config/" + settings["xpack.security.transport.ssl.keystore.path"]
        assert keystore.split("config/")[1] in SERVICES["certificates"]["command"][-1]
    data = [volume for node in NODES.values() for volume in node["volumes"] if volume.endswith("/data")]
    assert len(set(data)) == 3


def test_every_volume_and_every_service_that_is_waited_for_is_there():
    named = {mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", ())}
    assert named == COMPOSE["volumes"].keys()
    assert {name for service in SERVICES.values() for name in service.get("depends_on", ())} < SERVICES.keys()


def test_the_settings_it_names_reach_the_client(monkeypatch: pytest.MonkeyPatch):
    shown = dict(reversed(re.findall(r"(MEMSCOPE_(?:STORE|ELASTICSEARCH)\w*)=(\S+)", TEXT)))  # the first of a name
    settings = load(environ=shown)
    chosen = parse_location(settings.store, settings.elasticsearch.options())
    assert chosen.client["hosts"] == ["http://localhost:9200"]
    assert chosen.client["basic_auth"] == ("elastic", "...")


def default(value: str | None) -> str:
    """Resolve ``${NAME:-default}``, as in a shell that has no such variable."""
    return re.sub(r"\$\{\w+:-(.*?)\}", r"\1", value or "")


def test_the_profile_has_a_database_of_a_role_that_is_no_superuser():
    database = SERVICES["postgres"]
    assert database["profiles"] == ["postgres"]
    assert database["environment"]["POSTGRES_USER"] == "admin"
    role = COMPOSE["configs"][database["configs"][0]["source"]]["content"]
    assert "createuser -U admin memscope\n" in role
    (location,) = re.findall(r"MEMSCOPE_STORE=(postgresql:\S+)", TEXT)
    assert urlsplit(location).hostname in SERVICES
    assert f"-O memscope {urlsplit(location).path.strip('/')}\n" in role
    for program in PROGRAMS.values():
        assert program["environment"]["MEMSCOPE_STORE"].startswith("${MEMSCOPE_STORE:-")
        assert program["environment"]["MEMSCOPE_POSTGRES__USER"] == "memscope"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_have_settings_that_are_settings(name):
    environ = {key: default(value) or "http://model" for key, value in PROGRAMS[name]["environment"].items()}
    settings = load(environ=environ)
    chosen = parse_location(settings.store, settings.elasticsearch.options())
    assert chosen.client["hosts"] == [f"http://{node}:9200" for node in NODES]
    assert (chosen.shards, chosen.replicas) == (3, 1)
    assert settings.chat.model and settings.embedding.model


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_are_commands_with_these_options(name):
    command, *arguments = PROGRAMS[name]["command"]
    known = CliRunner().invoke(cli, [command, "--help"])
    assert known.exit_code == 0
    assert not [one for one in arguments if one.startswith("--") and f"{one} " not in known.output]


@pytest.mark.parametrize("line", re.findall(r"run --rm --no-deps server (.+?)(?:  |\n)", TEXT))
def test_a_command_that_it_names_is_one(line, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = CliRunner().invoke(cli, line.split())
    assert (done.exit_code, list(tmp_path.rglob("tokens.json")) != []) == (0, True)


def test_the_image_installs_what_is_there():
    text = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    (installed,) = re.findall(r"pip install .*", text)
    folders = re.findall(r"/src/([\w/]+)", installed)
    assert folders == ["core", "cli", "stores/elasticsearch", "stores/postgres", "server"]
    assert all((ROOT / folder / "pyproject.toml").exists() for folder in folders)
    assert 'ENTRYPOINT ["memscope"]' in text
    ignored = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert all(f"!{folder.split('/')[0]}" in ignored for folder in folders)
