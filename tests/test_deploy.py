"""``deploy/compose.yaml``: what can be told of it without a container engine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from memscope.config.settings import load
from memscope_elasticsearch import parse_location

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
SERVER = yaml.safe_load(TEXT)["services"]["elasticsearch"]


def test_it_is_the_version_that_the_tests_run_on():
    pom = (ROOT / "tests" / "servers" / "elasticsearch" / "pom.xml").read_text(encoding="utf-8")
    (tested,) = re.findall(r"<elasticsearch.version>(.*)</", pom)
    assert SERVER["image"] == f"elasticsearch:${{ELASTIC_VERSION:-{tested}}}"


def test_it_is_closed_to_others_and_limited():
    assert SERVER["environment"]["xpack.security.enabled"] == "true"
    assert SERVER["ports"] == ["127.0.0.1:9200:9200"]
    assert SERVER["mem_limit"]
    assert "_cluster/health" in SERVER["healthcheck"]["test"][1]


def test_the_settings_it_names_reach_the_client(monkeypatch: pytest.MonkeyPatch):
    for name, value in re.findall(r"(MEMSCOPE_\w+)=(\S+)", TEXT):
        monkeypatch.setenv(name, value)
    settings = load()
    chosen = parse_location(settings.store, settings.elasticsearch.options())
    assert chosen.client["hosts"] == ["http://localhost:9200"]
    assert chosen.client["basic_auth"] == ("elastic", "...")
