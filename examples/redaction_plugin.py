"""A plugin that masks secrets before anything is stored; docs/plugins.md walks through it.

    memory = MemoryScope(plugins=[redaction_plugin])

An exception in a ``before`` hook refuses the call, so a redactor that fails lets nothing through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memscope import Scope, Turn

PATTERNS = {
    "private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S),
    "web token": re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    "api key": re.compile(r"\b(?:(?:sk|pk|rk)[-_][\w-]{16,}|gh[pousr]_\w{20,}|AKIA[0-9A-Z]{16})\b"),
}
CARD = re.compile(r"\b\d(?:[ -]?\d){12,18}\b")


def memscope_before_add_turns(turns: Sequence[Turn], scope: Scope) -> list[Turn]:
    """Mask secrets in the text and metadata of the turns."""
    return [replace(turn, text=masked(turn.text), metadata=everywhere(turn.metadata)) for turn in turns]


def masked(text: str) -> str:
    for name, pattern in PATTERNS.items():
        text = pattern.sub(f"[{name}]", text)
    return CARD.sub(lambda found: "[card number]" if is_card(found[0]) else found[0], text)


def everywhere(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {masked(key): everywhere(inner) for key, inner in value.items()}
    return [everywhere(inner) for inner in value] if isinstance(value, list | tuple) else value


def is_card(text: str) -> bool:
    """Check the Luhn digit, which most other long numbers fail."""
    digits = [int(char) for char in reversed(text) if char.isdigit()]
    return sum(digit if i % 2 == 0 else sum(divmod(2 * digit, 10)) for i, digit in enumerate(digits)) % 10 == 0
