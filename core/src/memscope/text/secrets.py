"""Secrets in a text: keys, passwords and card numbers by their known forms. What is found looks like one, no more."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial

_START, _END = "(?<![A-Za-z0-9_-])", "(?![A-Za-z0-9_-])"  # not \b: a Chinese character is a letter to it
_KEYS = "|".join(
    (
        r"(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,200}",
        r"gh[pousr]_[A-Za-z0-9]{20,100}|github_pat_[A-Za-z0-9_]{20,100}|glpat-[A-Za-z0-9_-]{20,100}",
        r"(?:AKIA|ASIA)[0-9A-Z]{16}",
        r"AIza[0-9A-Za-z_-]{35}",
        r"xox[abeoprs]-[A-Za-z0-9-]{10,100}",
        r"hf_[A-Za-z0-9]{20,100}",
    )
)
PATTERNS: Mapping[str, str] = {  # ``re`` compiles each on first use
    "private_key": r"(?s)-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    "web_token": _START + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    "api_key": f"{_START}(?:{_KEYS}){_END}",
    "password_in_address": r"(?<=://)[^\s/:@]{0,100}:[^\s/@]{1,200}(?=@)",
    "card_number": r"(?<![0-9])[3-6](?:[ -]?[0-9]){12,18}(?![0-9])",
    "email": r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+",
}
SECRETS = tuple(kind for kind in PATTERNS if kind != "email")
CARD_DIGITS = frozenset({13, 14, 15, 16, 19})


def find(text: str, kinds: Collection[str] = SECRETS) -> Iterator[str]:
    """Yields the kind of each secret in the text."""
    for kind in kinds:
        yield from (kind for found in re.finditer(PATTERNS[kind], text) if _is_one(kind, found[0]))


def mask(text: str, kinds: Collection[str] = SECRETS) -> str:
    """Returns the text with the kind in brackets in the place of each secret: "[api key]"."""
    for kind, pattern in PATTERNS.items():
        if kind in kinds:
            text = re.sub(pattern, partial(_masked, kind), text)
    return text


def _masked(kind: str, found: re.Match[str]) -> str:
    return f"[{kind.replace('_', ' ')}]" if _is_one(kind, found[0]) else found[0]


def _is_one(kind: str, found: str) -> bool:
    return kind != "card_number" or _is_card(found)


def _is_card(text: str) -> bool:
    """Returns whether the check digit is right (Luhn): most long numbers are no card."""
    digits = [int(char) for char in reversed(text) if char.isdigit()]
    total = sum(digit if i % 2 == 0 else sum(divmod(2 * digit, 10)) for i, digit in enumerate(digits))
    return len(digits) in CARD_DIGITS and total % 10 == 0
