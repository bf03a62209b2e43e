"""``examples/french``, a language by a stranger: installed by its entry point, in a process of its own.

A language holds for the whole process, so nothing here is imported into that of the tests.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "french"
PACKAGE = PLUGIN / "memscope_french"
DIALOGUE = Path(__file__).with_name("french.txt")
PUBLIC = re.compile(r"`memscope\.languages` \| (.*) \|")


@pytest.fixture
def run(tmp_path):
    """Runs Python where the plugin is installed as ``pip install -e`` does it; returns what it prints, as JSON."""
    info = tmp_path / "memscope_french-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: memscope-french\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[memscope]\nfrench = memscope_french\n")
    path = os.pathsep.join([str(tmp_path), str(PLUGIN), os.environ.get("PYTHONPATH", "")])

    def run(code: str):
        environment = {**os.environ, "PYTHONPATH": path, "MEMSCOPE_STORE": str(tmp_path / "memory.db")}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", cwd=tmp_path,
                              env={**environment, "PYTHONIOENCODING": "utf-8"})  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout else None

    return run


ASK = f"""
import json
from datetime import UTC, datetime
from memscope import MemoryScope

rows = [line.split(" | ") for line in open({str(DIALOGUE)!r}, encoding="utf-8").read().splitlines() if line[:1] in "2?"]
time = datetime(2026, 1, 1, tzinfo=UTC)
with MemoryScope(":memory:", clock=lambda: time, settings={{"timezone": "Europe/Paris"}}) as memory:
    for when, text in (row for row in rows if row[0][0] == "2"):
        time = datetime.fromisoformat(when + "+01:00")
        memory.add_turns([{{"role": "user", "content": text}}], user="camille")
    time = datetime(2026, 3, 26, 9, tzinfo=UTC)
    asked = [row for row in rows if row[0][0] == "?"]
    shown = [(question, answer, memory.context(question[2:], user="camille", k=5)) for question, answer in asked]
    print(json.dumps(shown))
"""


def test_nine_of_ten_questions_are_answered_among_forty_other_turns(run):
    """The questions were written before any was asked; 9 were right then."""
    shown = run(ASK)
    missed = [question for question, answer, context in shown if answer not in context]
    assert len(shown) == 10 and len(missed) <= 1, missed
    assert "lundi]" in "".join(context for _, _, context in shown)  # days have French names


TIMES = """
import json
from datetime import UTC, datetime
from memscope import MemoryScope, languages
from memscope.dates import event_time, mentions, recurring

with MemoryScope(":memory:"):  # loads the plugins
    languages.registered()
    wednesday = datetime(2026, 2, 18, 12, tzinfo=UTC)
    read = {text: [str(event_time(one, wednesday).start)[:16] for one in mentions(text, wednesday)] for text in %r}
    rules = [one.rule.weekdays for one in recurring("Je cours tous les dimanches avec ma sœur.", wednesday)]
    print(json.dumps([read, rules]))
"""
SAID = {
    "J'ai rendez-vous chez le dentiste le 3 mars à 15h30.": "2026-03-03 15:30",
    "Demain je prends le train pour Bordeaux.": "2026-02-19 00:00",
    "Le concert a lieu mardi prochain, j'ai deux places.": "2026-02-24 00:00",
    "Je suis arrivée la semaine dernière avec ma sœur.": "2026-02-09 00:00",
    "Nous sommes partis il y a deux semaines.": "2026-02-04 00:00",
    "On se voit après-demain, je te le dis.": "2026-02-20 00:00",
    "Le 1er avril 2024, je suis entrée dans la maison.": "2024-04-01 00:00",
    "Je pars dans trois jours avec ma sœur.": "2026-02-21 00:00",
    "La réunion du 5/8/2023 était longue, je le sais.": "2023-08-05 00:00",
    "La réunion du 5.8.2023 était longue, je le sais.": "2023-08-05 00:00",
    "L'été dernier j'étais chez mes parents.": "2025-06-01 00:00",
    "I saw Mars on March 3.": "2025-03-03 00:00",
}


def test_dates_of_french_turns_are_read(run):
    read, rules = run(TIMES % list(SAID))
    assert read == {text: [time] for text, time in SAID.items()}
    assert rules == [[6]]


def test_french_words_are_no_times_of_other_languages(run):
    """ "avant" and "mars" mean something in French text alone."""
    read, _ = run(TIMES % ["The avant-garde of Mars rovers is here.", "Der Mai ist da und ich bin nicht zu Haus."])
    assert set(map(tuple, read.values())) == {()}


def test_its_months_are_known_when_it_is_registered_after_the_first_question(run):
    """A number or a month that is no date is kept from the days in headers."""
    code = """
import json
from memscope import languages
from memscope.builtin import memscope_register_languages
from memscope.retrieval.undated import undated_terms
from memscope_french.french import FRENCH

memscope_register_languages(languages.register)
before = sorted(undated_terms({1: "juin", 2: "june"}, []))
languages.register("fr", FRENCH)
print(json.dumps([before, sorted(undated_terms({1: "juin", 2: "june"}, []))]))
"""
    assert run(code) == [[2], [1, 2]]


def test_prompts_are_french(run):
    code = """
import json
from memscope import MemoryScope
from memscope.prompts.loader import Prompts
with MemoryScope(":memory:"):
    said = ["Je m'appelle Camille et j'habite à Nantes."]
    print(json.dumps([Prompts().messages(name, said, {})[0]["content"].split(" ")[0] for name in %r]))
"""
    names = sorted(path.stem for path in (ROOT / "core/src/memscope/prompts/en").glob("*.md"))
    assert sorted(path.stem for path in (PACKAGE / "prompts").glob("*.md")) == names
    assert run(code % [name for name in names if name != "chat"]) == ["Tu"] * (
        len(names) - 1
    )  # chat has other variables


def test_it_is_short_and_imports_public_names_only():
    (row,) = PUBLIC.findall((ROOT / "docs" / "public.md").read_text(encoding="utf-8"))
    files = list(PACKAGE.glob("*.py"))
    imported = [node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8")))
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memscope")]  # fmt: skip
    assert {node.module for node in imported} == {"memscope.languages"}
    assert {alias.name for node in imported for alias in node.names} <= set(re.findall(r"`(\w+)`", row))
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) <= 150


@pytest.mark.parametrize("page", ["languages.md", "zh/languages.md"])
def test_the_guide_runs(run, page):
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / page).read_text("utf-8"), re.S | re.M)
    assert blocks
    run("\n".join(blocks))
