"""The Chinese catalogue: what the program can say, what is translated, and the compiled file that gettext reads.

    python tests/catalogue.py     # adds what is missing, drops what nobody says, compiles

After that, fill in the empty msgstr lines and run it again. An error or a hint is added to the .po file by hand, with
{0}, {1} in the places of names and numbers; it is kept as long as the code has the sentence.
"""

from __future__ import annotations

import ast
import inspect
import re
import struct
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import get_args

import click

from memscope.records import FoundBy
from memscope_cli.commands.language import DOMAIN, LOCALE_FOLDER

ROOT = Path(__file__).parents[1]
COMMANDS = LOCALE_FOLDER.parent / "commands"
PLUGINS = [ROOT / "adapters/mcp/src/memscope_mcp/command.py", ROOT / "server/src/memscope_server/commands.py"]
SOURCES = [*COMMANDS.rglob("*.py"), LOCALE_FOLDER.parent / "app.py", *PLUGINS]
SHIPPED = [
    ROOT / "core/src",
    ROOT / "cli/src",
    ROOT / "adapters/mcp/src",
    ROOT / "server/src",
    *ROOT.glob("stores/*/src"),
]
PO = LOCALE_FOLDER / "zh" / "LC_MESSAGES" / f"{DOMAIN}.po"
MO = PO.with_suffix(".mo")
HEADER = "Content-Type: text/plain; charset=UTF-8\nLanguage: zh\nPlural-Forms: nplurals=1; plural=0;\n"
#: Texts that stand in tables, or come from the layers below, by the name of the table.
TABLES = {
    "memscope_cli.commands.turns": ("ADDED_PHRASES", "TAKEN_PHRASES"),
    "memscope_cli.commands.formatting": ("IMPORT_PHRASES",),
    "memscope_cli.commands.doctor.checks": ("ERROR_REMEDIES", "WEAKNESS_REMEDIES", "WITHOUT_MODEL"),
    "memscope_cli.commands.slash": ("COMMANDS", "HELP"),
    "memscope_cli.commands.chat": ("NO_CHAT_MODEL",),
}
WORDS = [*get_args(FoundBy), *"""
    user assistant tool system person place organisation thing topic
    turn observation insight
    new merged superseded proposed rejected consolidate reflect audit
    loaded blocked broken missing ok warn fail wiped pending failed parked removed
    versions sqlite settings plugins permissions disk store users models clock work memories secrets
    memscope holds searchable errors usage costs budget facts bytes schema chat embedding rerank none insights turns
    single-hop multi-hop temporal secret adversarial recommendation instruction fiction atomic backup
""".split()]  # fmt: skip
PHRASES = [
    "changed fact", "wal bytes", "read only", "units version", "private key", "web token", "api key",
    "password in address", "card number", "the text is empty",
    *(f"{{number}} to {stage}" for stage in ("consolidate", "reflect", "embed")),
    "this message asks nothing about the user",
    "nothing is stored within session; leave one out to search more",
    "nothing that was said has these words; try other words, or an embedding model would find what is near in meaning",
    "nothing that was said has enough of these words; use more of the words that were said, or a name, or an embedding "
    "model would find what is near in meaning",
    "nothing that was said within session has these words; leave one out to search more",
]  # fmt: skip
#: Of click, in the forms of 8.1 and of later versions.
CLICK = [
    "Usage:", "Usage: ", "Options", "Commands", "Show this message and exit.", "Show the version and exit.",
    "default: {default}", "env var: {var}", "required", "Missing command.",
    "Missing argument", "Missing option", "Missing parameter", "Invalid value: {message}",
    "Invalid value for {param_hint}: {message}", "No such option {name!r}.", "No such command {name!r}.",
    "No such option: {name}", "{value!r} is not a valid {number_type}.", "{value} is not in the range {range}.",
    "{name} {filename!r} is a directory.", "{name} {filename!r} does not exist.",
    "Choose from:\n\t{choices}", "Option {name!r} does not take a value.",
]  # fmt: skip
CLICK_PLURALS = [
    ("{value!r} is not {choice}.", "{value!r} is not one of {choices}."),
    ("Got unexpected extra argument ({args})", "Got unexpected extra arguments ({args})"),
    ("Did you mean {possibility}?", "(Did you mean one of: {possibilities}?)"),
    ("(Possible option: {possibilities})", "(Possible options: {possibilities})"),
]
Key = tuple[str, str]  # text, and its plural or ""


# ------------------------------------------------------------------------------------------------- what can be said


def wanted() -> dict[Key, None]:
    """Every text that the program can say, in the order of its places."""
    from memscope_cli.app import cli

    found: dict[Key, None] = {(text, ""): None for text in help_texts(cli) if text}
    for path in SOURCES:
        found |= dict.fromkeys(said_in(path))
    for module, names in TABLES.items():
        for name in names:
            found |= {(text, ""): None for text in strings(getattr(import_module(module), name)) if text}
    found |= {(text, ""): None for text in [*WORDS, *PHRASES, *CLICK]}
    errors = set(sentences())
    found |= {key: None for key in read() if key[0] in errors}
    return {key: None for key in found | dict.fromkeys(CLICK_PLURALS) if key[0]}


def sentences() -> Iterator[str]:
    """Texts of all layers, their fields numbered: ``language.say_error`` knows those that the .po file has."""
    for path in (file for folder in SHIPPED for file in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                number = count()
                parts = (
                    part.value if isinstance(part, ast.Constant) else f"{{{next(number)}}}" for part in node.values
                )
                yield "".join(map(str, parts))


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for one in value.values() for text in strings(one))
    elif isinstance(value, tuple):
        yield from (text for one in value for text in strings(one))


def help_texts(command: click.Command) -> Iterator[str]:
    """The help of a command, of its options and of its commands, and the names of their values."""
    yield from (inspect.cleandoc(text) for text in (command.help, command.short_help, command.epilog) if text)
    for param in command.params:
        yield getattr(param, "help", None) or ""
        names = param.metavar or (str(param.name).upper() if isinstance(param, click.Argument) else "")
        yield from re.findall(r"\b[A-Z]{2,}\b", names)
    yield from ("OPTIONS", "COMMAND", "ARGS", "TEXT", "INTEGER", "FLOAT", "RANGE", "FILE")
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):  # those of the server too
            yield from help_texts(command.get_command(click.Context(command), name))


def said_in(path: Path) -> Iterator[Key]:
    """The texts that a file gives to ``say`` and ``count_nouns``, written there or in a variable of that file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id == "say" and node.args:
            texts = [text for given in [node.args[0], *assigned.get(getattr(node.args[0], "id", ""), [])]
                     for text in constants(given)]  # fmt: skip
            yield from ((text, "") for text in texts)
        elif node.func.id == "count_nouns":
            noun, *more = [text for given in node.args[1:] for text in constants(given)] or [""]
            if noun:
                yield f"{{}} {noun}", f"{{}} {more[0] if more else noun + 's'}"
    if path.name == "language.py":
        nouns = ("turn", "observation", "insight", "block", "user", "tombstone", "unit", "vector")
        yield from ((f"{{}} {noun}", f"{{}} {noun}s") for noun in nouns)


def constants(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (text for part in (node.body, node.orelse) for text in constants(part))
    elif isinstance(node, ast.BoolOp):
        yield from (text for part in node.values for text in constants(part))


# --------------------------------------------------------------------------------------------------------- the files


def read() -> dict[Key, str]:
    """The entries of the .po file; the header is that of ``""``."""
    found: dict[Key, str] = {}
    for entry in PO.read_text(encoding="utf-8").split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in entry.splitlines():
            if line.startswith("#") or not line:
                continue
            begin = re.match(r"(msgid|msgid_plural|msgstr)(?:\[0\])? ", line)
            name = begin[1] if begin else name
            fields[name] = fields.get(name, "") + ast.literal_eval(line[begin.end() :] if begin else line)
        if "msgid" in fields:
            found[fields["msgid"], fields.get("msgid_plural", "")] = fields["msgstr"]
    return found


def write(entries: dict[Key, str]) -> None:
    PO.write_text("\n\n".join(_entry(key, text) for key, text in entries.items()) + "\n", encoding="utf-8")


def _entry(key: Key, text: str) -> str:
    plural = f"msgid_plural {_quoted(key[1])}\n" if key[1] else ""
    return f"msgid {_quoted(key[0])}\n{plural}msgstr{'[0]' if plural else ''} {_quoted(text)}"


def _quoted(text: str) -> str:
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\b": "\\b"})
    lines = [line.translate(escapes) for line in re.findall(r"[^\n]*\n|[^\n]+", text) or [""]]
    return "\n".join(f'"{line}"' for line in (["", *lines] if len(lines) > 1 else lines))


def compiled(entries: dict[Key, str]) -> bytes:
    """The .mo file: a table of sorted texts, one of their translations, and all of them (GNU gettext manual, 10.3)."""
    pairs = sorted(("\0".join(filter(None, key)).encode(), text.encode()) for key, text in entries.items() if text)
    start = 28 + 16 * len(pairs)
    tables, body = [], b""
    for side in (0, 1):
        for pair in pairs:
            tables.append(struct.pack("<II", len(pair[side]), start + len(body)))
            body += pair[side] + b"\0"
    return struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0) + b"".join(tables) + body


def main() -> int:
    known = read() if PO.exists() else {}
    entries = {("", ""): HEADER} | {key: known.get(key, "") for key in wanted()}
    write(entries)
    MO.write_bytes(compiled(entries))
    missing = [key[0] for key, text in entries.items() if not text]
    print(f"{len(entries) - 1} texts, {len(missing)} of them not translated")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
