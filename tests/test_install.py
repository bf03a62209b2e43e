"""Instructions to install: never a bare name, which on a public index is somebody else's package."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from memscope.errors import DISTRIBUTIONS, install_hint

ROOT = Path(__file__).parents[1]
EXTRAS = set(tomllib.loads((ROOT / "core/pyproject.toml").read_text())["project"]["optional-dependencies"])
TEXTS = [
    path
    for folder in (
        "core",
        "cli",
        "testing",
        "adapters",
        "stores",
        "server",
        "docs",
        "examples",
        "deploy",
        "README.md",
        "README.zh.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    )
    for path in [ROOT / folder, *(ROOT / folder).rglob("*")]
    if path.suffix in {".py", ".md", ".yaml", ".sh"} and path.is_file()
]
BARE = re.compile(r"(?<!/)memscope(?:-\w+)?\[[\w,]+\](?!==)|pip install memscope\b(?!==)")


@pytest.mark.parametrize(
    "text", ["`memscope[mcp]`", "pip install memscope", '"memscope[all]>=0.2"', "memscope-langchain[agent]"]
)
def test_a_bare_name_is_seen(text):
    assert BARE.search(text)


@pytest.mark.parametrize("text", ['"memscope[mcp]==0.2.0" --find-links dist', 'pip install "./core[mcp]"'])
def test_a_pinned_one_or_a_path_is_none(text):
    assert not BARE.search(text)


def test_no_page_and_no_message_names_a_bare_package():
    said = {str(path.relative_to(ROOT)): BARE.findall(path.read_text(encoding="utf-8")) for path in TEXTS}
    assert len(said) > 200
    assert {path: found for path, found in said.items() if found} == {}


@pytest.mark.parametrize("extra", sorted(EXTRAS - {"all"}))
def test_a_page_has_both_commands_of_every_extra(extra):
    checkout, wheels = re.findall(r"pip install (.+?)(?: in a checkout| with the folder)", install_hint(extra))
    for page in ("docs/installing.md", "docs/zh/installing.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert f"pip install {checkout}`" in text and wheels.partition(" ")[0] in text


def test_what_is_installed_beside_the_core_is_there():
    assert set(DISTRIBUTIONS) <= EXTRAS
    for place in " ".join(DISTRIBUTIONS.values()).split():
        assert (ROOT / place.strip('"').partition("[")[0] / "pyproject.toml").is_file()


def test_the_root_says_what_to_install_instead():
    code = "import build_refused; build_refused.build_wheel('anywhere')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / ".ci", capture_output=True, text=True)
    assert done.returncode == 1 and "pip install ./core" in done.stderr and "Traceback" not in done.stderr
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    assert (ROOT / backend["backend-path"][0] / f"{backend['build-backend']}.py").is_file()
