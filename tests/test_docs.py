"""The documentation is true: its Python runs, its settings load, and nothing that a reader can use is missing in it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from memscope import AsyncMemoryScope
from memscope.admin import AsyncAdmin
from memscope.config.sections import section_names
from memscope.config.settings import Settings, load
from memscope.config.sources import fields
from memscope.entities.operations import AsyncEntities
from memscope.models.endpoint import Endpoint
from memscope.plugins import hookspecs

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GUIDES = {f"{part.parent.name.replace('_', '-')}.md" for part in ROOT.glob("adapters/*/pyproject.toml")} - {"mcp.md"}
# run where their framework, or plugin, is installed
ELSEWHERE = {"adapters.md", "autogen-0.2.md", "languages.md", *GUIDES}
PAGES = [
    ROOT / "README.md",
    ROOT / "README.zh.md",
    ROOT / "core" / "README.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if page.name not in ELSEWHERE),
]
FENCE = re.compile(r"^( *)```(\w+(?: v1)?)\n(.*?)^ *```$", re.S | re.M)
FOLLOWING = re.compile(r"\s*```text\n(.*?)^```$", re.S | re.M)
A_FILE = re.compile(r"# \S+\.\w+\n")  # a block that shows a file of the reader's own is compiled, not run
MODELS = {"chat", "embedding", "rerank"}


def blocks(page: Path, language: str) -> Iterator[tuple[int, str]]:
    """Line and text of every fenced block of a language, a regular expression."""
    for line, code, _ in blocks_with_output(page, language):
        yield line, code


def blocks_with_output(page: Path, language: str) -> Iterator[tuple[int, str, str | None]]:
    """The same, and the text block that stands right after it: what it prints."""
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        if re.fullmatch(language, fence[2]):
            output = FOLLOWING.match(text, fence.end())
            line = text.count("\n", 0, fence.start()) + 2
            yield line, re.sub(rf"(?m)^{fence[1]}", "", fence[3]), output and output[1]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    """Run the blocks of a page in one namespace, in an empty folder with a store; the output is what is shown."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))
    monkeypatch.syspath_prepend(ROOT / "examples")
    for registered in ("memscope.languages.names._recognisers", "memscope.plugins.registry._tools"):
        monkeypatch.setattr(registered, {})  # a page in the other language registers the same names
    namespace: dict = {"__name__": "docs"}
    for line, text, output in blocks_with_output(page, "python"):
        code = compile("\n" * (line - 1) + text, str(page), "exec")
        if not A_FILE.match(text):
            exec(code, namespace)
            printed = capsys.readouterr().out
            assert output is None or output == printed


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_settings_of_a_page_are_settings(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _, text in blocks(page, "yaml"):
        if set(yaml.safe_load(text)) & {*Settings.model_fields, *section_names()}:
            file = tmp_path / "memscope.yaml"
            file.write_text(text)
            load(file, environ={})


def first_cells(page: Path) -> list[str]:
    """The words in code of the first cell of each table's rows."""
    rows = [row[1] for row in re.finditer(r"^\| ([^|\n]*`[^|\n]*) \|", page.read_text(encoding="utf-8"), re.M)]
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize(
    "page",
    [*sorted(ELSEWHERE), "commands.md", "coming-from.md", "design.md", "languages.md", "models.md", "plugins.md",
     "postgres.md", "settings.md", "stores.md"],
)  # fmt: skip
def test_a_chinese_page_says_what_the_english_one_says(page):
    """Every section, every entry of a table, and all code of a guide and of the pages on languages, plugins, stores."""
    english, chinese = DOCS / page, DOCS / "zh" / page
    assert len(first_cells(english)) >= 8 and not [
        word for word in first_cells(english) if word not in first_cells(chinese)
    ]
    sections = [len(re.findall(r"^## ", one.read_text("utf-8"), re.M)) for one in (english, chinese)]
    assert sections[0] == sections[1]
    if page in {*ELSEWHERE, "languages.md", "plugins.md", "stores.md"}:
        shown = [{text for _, text in blocks(one, r"python(?: v1)?")} for one in (english, chinese)]
        assert shown[0] == shown[1]


def numbers(page: Path) -> dict[str, str]:
    """The second cell of each row, where that is a number or code, by the first."""
    return dict(re.findall(r"^\| (`[^|\n]+`) \| ([\d.,]+|`[^`|\n]+`) \|", page.read_text(encoding="utf-8"), re.M))


TRANSLATED = sorted(page.name for page in (DOCS / "zh").glob("*.md") if (DOCS / page.name).exists())


@pytest.mark.parametrize("page", TRANSLATED)
def test_a_chinese_page_has_the_numbers_of_the_english_one(page):
    english, chinese = numbers(DOCS / page), numbers(DOCS / "zh" / page)
    assert {row: chinese[row] for row in english.keys() & chinese.keys()} == {
        row: english[row] for row in english.keys() & chinese.keys()
    }


def figures(page: Path) -> dict[tuple[str, int], list[str]]:
    """The numbers that each command prints, in the order of the page's rows."""
    rows = re.findall(r"^\| [^|\n]* \| ([^|\n]+) \| (`[^|\n]+) \|$", page.read_text(encoding="utf-8"), re.M)
    commands = [command for _, command in rows]
    return {
        (command, commands[:place].count(command)): sorted(re.findall(r"\d[\d.,]*(?<![.,])", value))
        for place, (value, command) in enumerate(rows)
    }


def test_the_chinese_figures_are_the_english_ones():
    english = figures(DOCS / "figures.md")
    assert len(english) > 20 and figures(DOCS / "zh" / "figures.md") == english


@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_a_figure_of_the_readme_stands_among_the_figures(readme):
    """To the last digit that the README gives."""
    text = (ROOT / readme).read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|\n]+ \| ([^|\n]*\d[^|\n]*) \| ", text, re.M)
    shown = [number for value in rows for number in re.findall(r"\d+(?:\.\d+)?", value)]
    known = [float(one) for one in re.findall(r"\d+(?:\.\d+)?", (DOCS / "figures.md").read_text(encoding="utf-8"))]
    rounded = {f"{one:.{places}f}" for one in known for places in (0, 1)}
    assert 8 <= len(rows) <= 10 and not [number for number in shown if number not in rounded]


@pytest.mark.parametrize(
    ("cls", "place"),
    [(AsyncMemoryScope, "memory"), (AsyncAdmin, r"memory\.admin"), (AsyncEntities, r'memory\.entities\("\w+"\)')],
)
def test_every_method_has_an_example(cls, place):
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    methods = [name for name in dir(cls) if not name.startswith("_") and callable(getattr(cls, name))]
    assert len(methods) >= 7 and not [name for name in methods if not re.search(rf"{place}\.{name}\(", text)]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_inside_the_project_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]


def index(page: Path) -> dict[str, list[str]]:
    """The pages that an index links to, by the heading above them."""
    parts = re.split(r"^## (.+)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {
        title: re.findall(r"^\| \[[^]]+\]\((\S+\.md)\)", text, re.M)
        for title, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def listed(entries: list) -> dict[str, list[str]]:
    """The same, of the site's navigation."""

    def pages(entry) -> list[str]:
        return [entry] if isinstance(entry, str) else [page for one in entry for page in pages(*one.values())]

    return {title: pages(value) for entry in entries for title, value in entry.items() if not isinstance(value, str)}


def test_every_page_is_in_one_group_of_both_indexes():
    """Tutorial, how-to, reference, explanation (Diataxis), and what maintainers need; the same on the site."""
    nav = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)["nav"]
    english, chinese = index(DOCS / "README.md"), index(DOCS / "zh" / "README.md")
    assert [*english] == ["Tutorial", "How-to guides", "Reference", "Explanation", "Maintaining", "中文"]
    assert [*chinese] == ["教程", "操作指南", "参考", "说明"]
    on_site = listed(nav)
    assert {title: english[title] for title in english if title != "中文"} == {
        title: pages for title, pages in on_site.items() if title != "中文"
    }
    assert listed(next(entry["中文"] for entry in nav if "中文" in entry)) == {
        title: [f"zh/{page}" for page in pages] for title, pages in chinese.items()
    }
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - {"README.md"}
    found = [page for pages in on_site.values() for page in pages]
    assert sorted(found) == sorted(pages)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=name)
def test_a_page_begins_with_what_its_reader_can_do_after_it(page):
    if page.name != "README.md":
        title, first, *_ = page.read_text(encoding="utf-8").split("\n\n")
        assert title.startswith("# ")
        assert first.startswith("读完本页，你可以" if page.parent.name == "zh" else "After this page you can")


@pytest.mark.parametrize("page", ["compared.md", "zh/compared.md"])
def test_each_cell_of_the_comparison_says_where_to_look(page):
    """Their pages or code, or our test; but for what nobody offers or what was not found."""
    text = (DOCS / page).read_text(encoding="utf-8")
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if re.match(r"\| [^|]", line)]
    cells = [cell.strip() for row in rows for cell in row[1:]]
    assert len(rows) == 25 and len([cell for cell in cells if "](" not in cell and cell != "–"]) <= 6


def test_every_benchmark_is_listed_and_every_bar_has_one():
    folder = ROOT / "benchmarks"
    listed = re.findall(r"^\| `(\w+)\.py", (folder / "README.md").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == sorted(path.stem for path in folder.glob("*.py"))
    lines = [line for name in ("benchmarks", "slow") for line in (ROOT / ".ci" / name).read_text().splitlines()]
    run = {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}
    assert run <= {*listed}


def test_every_hook_is_documented_with_its_arguments():
    text = (DOCS / "plugins.md").read_text(encoding="utf-8")
    hooks = {key: value for key, value in vars(hookspecs).items() if key.startswith("memscope_")}
    signatures = [f"`{key}({', '.join(inspect.signature(hook).parameters)})`" for key, hook in hooks.items()]
    assert len(signatures) == 20 and not [signature for signature in signatures if signature not in text]


def test_every_setting_is_documented():
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    own = [".".join(path) for path in fields(Settings) if path[0] not in MODELS]
    missing = [setting for setting in [*own, *MODELS, *Endpoint.__dataclass_fields__] if f"`{setting}`" not in text]
    assert not missing


def test_every_default_is_documented():
    """The table's second column is what `Settings()` says, for numbers and lists."""
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z_.]+)` \| ([^|]+?) \|[^|\n]*\|$", text, re.M))
    defaults = load(environ={}).model_dump()
    for path in fields(Settings):
        if path[0] in MODELS:
            continue
        value = defaults[path[0]] if len(path) == 1 else defaults[path[0]][path[1]]
        row = rows[".".join(path)]
        if isinstance(value, bool):
            assert row == ("yes" if value else "no"), path
        elif isinstance(value, int | float):
            assert float(row) == value, path
        elif isinstance(value, tuple) and value:
            assert row == f"`{', '.join(map(str, value))}`", path


def test_every_command_is_documented():
    import click

    from memscope_cli.app import cli

    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    names = cli.list_commands(click.Context(cli))
    assert len(names) > 10 and not [command for command in names if f"`memscope {command}" not in text]
