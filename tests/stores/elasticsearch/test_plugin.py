"""The store as memscope finds it: an entry point, a section of the settings, findings for doctor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memscope.config.settings import load
from memscope.plugins.loader import Plugins
from memscope_elasticsearch import ElasticsearchSettings, examination

GUIDE = Path(__file__).parents[3] / "docs" / "elasticsearch.md"
INDEX = {
    "format": 3, "differences": [], "refresh_interval": "1s", "translog_durability": "request", "blocks": [],
}  # fmt: skip
CLUSTER = {"versions": ["9.1.4"], "fullest_disk_percent": 40.0}


def test_the_plugin_opens_the_store_with_its_section():
    settings = load({"elasticsearch": {"prefix": "own", "api_key": "hush"}}, environ={})
    store = Plugins(settings.plugins).make_store("elasticsearch+https://host", settings)
    assert (store.options.prefix, store.options.client["api_key"]) == ("own", "hush")
    assert "hush" not in repr(settings)


def test_a_memory_elsewhere_imports_neither_client_nor_store():
    code = "from memscope import MemoryScope\nwith MemoryScope(':memory:'): pass\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"elasticsearch", "memscope_elasticsearch.store"} & set(done.stdout.split())


def test_every_setting_is_documented():
    text = GUIDE.read_text(encoding="utf-8")
    assert not [name for name in ElasticsearchSettings.model_fields if f"`elasticsearch.{name}`" not in text]


@pytest.mark.parametrize(
    ("index", "cluster", "worst", "said"),
    [
        ({}, CLUSTER, "ok", "format 3"),
        ({}, {"cluster": "store_forbidden"}, "ok", "may not see the nodes"),
        ({"differences": ["text is no keyword"]}, CLUSTER, "fail", "m-mem: text is no keyword"),
        ({"translog_durability": "async"}, CLUSTER, "fail", "a crash loses"),
        ({"blocks": ["read_only_allow_delete"]}, CLUSTER, "warn", "is blocked: read_only_allow_delete"),
        ({"refresh_interval": "30s"}, CLUSTER, "warn", "find new turns late"),
        ({}, {**CLUSTER, "versions": ["8.18.2", "9.1.4"]}, "fail", "too old"),
        ({}, {**CLUSTER, "fullest_disk_percent": 90.0}, "warn", "90 % full"),
        ({}, {**CLUSTER, "fullest_disk_percent": 96.0}, "fail", "96 % full"),
    ],
)
def test_findings(index, cluster, worst, said):
    found = examination.findings({"m-mem": {**INDEX, **index}, **cluster})
    assert [state for state, _, _ in found if state != "ok"] in ([], [worst])
    assert any(state == worst and said in text and bool(mend) == (state != "ok") for state, text, mend in found)
