"""The program in Chinese: the catalogue is complete, and no output mixes languages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from string import Formatter

import pytest
from click.testing import CliRunner

import catalogue
from memscope.config.settings import load
from memscope.errors import ConfigError, NotFound
from memscope.records import WorkReport
from memscope_cli.app import cli
from memscope_cli.commands.formatting import summarize
from memscope_cli.commands.language import say, say_error, use_language

from servers.faults import Script

CHINESE = re.compile(r"[\u4e00-\u9fff]")
#: Latin words that stay untranslated: names, settings, commands, units.
NAMES = re.compile(
    r"memscope( [a-z]+|[\w.-]*)|alice|[a-z_.]+(?= \(MEMSCOPE_)|turns.jsonl|store=\S*|[\w./~-]*/[\w./-]*|https?://\S+|--?[\w-]+|\$?[A-Z][A-Z0-9_]{2,}\w*|'[^']*'|\"[^\"]*\"|{[^}]*}"
    r"|\b(Python|Linux|Darwin|Windows|SQLite|WAL|ISO|JSON|YAML|URL|TLS|PEM|HTTP|API|MCP|LLM|GB|UTC|token|id|shell|bash|zsh"
    r"|fish|Graphviz|Ctrl-[CD]|ID|N|all|zh|en|both|mcp|recall@10|cpu|x\d+_\d+|aarch64|openai|chatgpt|mem0"
    r"|memoryscope|approve|forget|speaker|time|id|session|metadata|trust|backup|add|list|revoke|text|period|vector"
    r"|redaction\.mask|user|assistant|system|tool|person|turn|observation|insight|both|memories|turns|core|archival"
    r"|day|week|month|place|organisation|thing|topic|operator|x86|64)\b"
)


def program(*args, **variables):
    environment = {"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8", **variables}
    command = [sys.executable, "-m", "memscope", *args]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60, env=environment)
    return done.stdout.decode() + done.stderr.decode()


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MEMSCOPE_STORE", str(tmp_path / "memory.db"))

    def run(*args, input=None):
        return CliRunner().invoke(cli, ["--lang", "zh", *args], input=input).output

    return run


def english(line: str) -> list[str]:
    """Return the English words of a line that are not names."""
    usage = re.sub(r"^用法: memscope( [\w ]+)?|^  [\w-]+  ", "", line)  # and the names of commands
    return re.findall(r"[A-Za-z]{2,}", NAMES.sub(" ", usage))


def test_the_catalogue_has_every_text_and_is_compiled():
    """If this fails, run python tests/catalogue.py, translate empty entries, and run it again."""
    entries, wanted = catalogue.read(), catalogue.wanted()
    assert not [text for text in wanted if not entries.get(text)]
    assert not [text for text in entries if text[0] and text not in wanted]  # the code has other words now
    assert catalogue.MO.read_bytes() == catalogue.compiled(entries)


def test_a_translation_has_the_fields_of_its_text():
    def fields(text):
        return {name for _, name, _, _ in Formatter().parse(text) if name}

    entries = {key: text for key, text in catalogue.read().items() if key[0] and '{"' not in key[0]}
    assert not [key for key, text in entries.items() if not fields(text) <= fields(key[0]) | fields(key[1])]
    assert not [key for key, text in entries.items() if not key[1] and fields(text) != fields(key[0])]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "zh"),
    [
        ({}, False),
        ({"LANG": "zh_CN.UTF-8"}, True),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, False),
        ({"LC_ALL": "zh_TW.UTF-8"}, True),
        ({"LANG": "C"}, False),
    ],
)
def test_the_locale_sets_the_language(variables, zh):
    assert bool(CHINESE.search(program("--version", "--help", **variables))) is False  # the version first
    assert bool(CHINESE.search(program("--help", **variables))) is zh


@pytest.mark.slow
def test_lang_overrides_the_locale_in_any_position():
    assert CHINESE.search(program("--help", "--lang", "zh"))
    assert CHINESE.search(program("list", "--lang=zh", "--help"))
    assert not CHINESE.search(program("--help", "--lang", "en", LANG="zh_CN.UTF-8"))


def test_refusals_are_reported_in_chinese():
    report = WorkReport("consolidate", model="m", rejected={"no_quote": 1}, new=1)
    with use_language("zh"):
        assert summarize(report).endswith("50% 的事实被拒绝：no_quote")


def test_the_language_is_restored_after_the_call(run):
    assert CHINESE.search(run("users"))
    assert say("no records") == "no records"
    with use_language("zh"):
        assert say("no records") == "没有记录"


@pytest.mark.parametrize("command", ["", *sorted(name for name in cli.commands)])
def test_help_is_wholly_chinese_and_fits_a_terminal(run, command):
    from rich.cells import cell_len

    told = run(*([command] if command else []), "--help")
    assert not [words for line in told.splitlines() if (words := english(line))]
    assert all(cell_len(line) <= 82 for line in told.splitlines())


def test_status_doctor_and_demo_are_wholly_chinese(run):
    run("add", "--user", "小明", "我去年五月搬到了柏林。")
    for command in ("status", "doctor", "demo"):
        lines = [
            line
            for line in run(command).splitlines()
            if not re.match(r"插件|正常  (版本|插件) |  memscope|─|中文 ·", line)
        ]
        assert len(lines) > 10
        assert not [words for line in lines if (words := english(re.sub(r"：\w+ [+-].*", "", line)))]


def test_the_chat_is_wholly_chinese(run, fault_server, monkeypatch):
    fault_server.script = Script([{"match": ".", "reply": "好的。"}])
    monkeypatch.setenv("MEMSCOPE_CHAT__BASE_URL", fault_server.base_url)
    monkeypatch.setenv("MEMSCOPE_CHAT__MODEL", "test-chat")
    told = run(
        "chat",
        "--user",
        "小明",
        input="我搬到了柏林。\n/list\n/memories\n/retrieve 柏林\n/session 二\n/nonsense\n/help\n",
    )
    assert "助手: 好的。" in told and "assistant" not in told and "用户: 我搬到了柏林。" in told
    told = re.sub(r"known: .*", "", told)
    assert not [line for line in told.splitlines() if english(re.sub(r"[0-9a-f]{32}|/\w+|refresh_time", "", line))]


def test_errors_with_names_and_numbers_are_chinese(run):
    run("add", "--user", "小明", "我搬到了柏林。")
    refused = [
        run("show", "no-such-id", "--user", "小明"),
        run("block", "show", "nope", "--user", "小明"),
        run("import", "--from", "mem0", "no-such.json", "--user", "小明"),
        run("import", "--from", "nem0", "no-such.json", "--user", "小明"),
        run("block", "replace", "human", "茶", "咖啡", "--user", "小明"),
        run("block", "append", "human", "茶" * 2001, "--user", "小明"),
        run("serve", "--address", "0.0.0.0"),
        run("token", "revoke", "nope"),
        run("audit", "--ask", "1", "--user", "小明"),
    ]
    assert not [
        told for told in refused if re.search(r"[a-z]+ [a-z]+ [a-z]+", re.sub(r"No such file.*|token list", "", told))
    ]
    assert not [told for told in refused if not CHINESE.search(told)]
    with use_language("zh"):
        told = say_error(NotFound("no record has the id 'x; y'", hint="did you mean 'z'?"))
    assert told == "没有 id 为 'x; y' 的记录；是不是 'z'？"
    assert say_error(NotFound("no record has the id 'x'")) == "no record has the id 'x'"


def test_what_was_copied_and_imported_is_counted_in_chinese(run, tmp_path):
    run("add", "--user", "小明", "我搬到了柏林。")
    run("add", "--user", "小明", "再见。")
    run("block", "append", "human", "喜欢茶", "--user", "小明")
    run("forget", "--text", "再见", "--yes", "--user", "小明")
    place, export = str(tmp_path / "new.db"), str(tmp_path / "export.jsonl")
    copied = run("copy", "--from", str(tmp_path / "memory.db"), "--to", place)
    assert copied == "1 个用户，其中 0 个那里已有；存入 1 条消息，1 个记忆块，1 个删除标记\n"
    assert run("export", export).startswith("1 条消息，1 个记忆块，1 个删除标记")
    assert run("--store", place, "import", export) == "存入 0 条消息，1 条早已有，1 个删除标记\n"


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        ("limits: {k: x}", "'memscope.yaml' 第 1 行：limits.k 必须是整数"),
        ("lease_s: 9999", "'memscope.yaml' 第 1 行：lease_s 必须是不大于 3600 的数"),
        ("context: {speak: x}", "'memscope.yaml' 第 1 行：context.speak 必须是以下之一：'when_needed', 'always'"),
        ("timezone: Mars", "'memscope.yaml' 第 1 行：timezone 必须是时区名，例如 \"Asia/Shanghai\""),
        ("store: a\nstore: b", "'memscope.yaml' 第 2 行：'store' 出现了两次"),
    ],
)
def test_a_wrong_setting_is_named_in_chinese(tmp_path, monkeypatch, text, chinese):
    monkeypatch.chdir(tmp_path)
    Path("memscope.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refused, use_language("zh"):
        load(environ={})
    with use_language("zh"):
        assert say_error(refused.value) == chinese


def test_an_error_for_programs_keeps_its_code(run):
    assert '"code": "usage"' in run("list", "--kind", "x", "--json")
