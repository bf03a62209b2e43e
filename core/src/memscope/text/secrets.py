"""Secrets in a text: keys, passwords and card numbers, recognised by their form."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from memscope.text.language import depends_on_languages, every_rules

# not \b, for which Chinese characters are letters; and "_" may precede a key: OPENAI_KEY_sk-
_KEY_START = "(?<![A-Za-z0-9])"
_KEYS = (
    r"(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}",
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{20,}",
    r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])",
    r"AIza[0-9A-Za-z_-]{35}(?![A-Za-z0-9])",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"hf_[A-Za-z0-9]{20,}",
)
_AWS_SECRET = r"(?<![A-Za-z0-9/+])(?P<secret>[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])|[A-Za-z0-9/+]{100,}={0,2})"
_PEM = r"-{4,5} ?%s [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"  # of OpenSSL, OpenSSH, PGP, SSH2
#: The group "secret" is masked, or the whole match without such a group. ``re`` compiles each on first use.
SECRET_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "private_key": (rf"(?s){_PEM % 'BEGIN'}.*?(?:{_PEM % 'END'}|\Z)",),
    "web_token": (
        r"(?i)(?<![a-z])bearer(?:[\s:=]{1,9}token)?[\s:=\"']{1,9}(?P<secret>[a-z0-9._~+/-]{15,}[a-z0-9_~+/-]=*)",
        r"(?i)authorization[\s:=\"']{1,9}(?:[a-z]{1,20}\s{1,9})?(?P<secret>[a-z0-9._~+/-]{7,}[a-z0-9_~+/-]=*)",
        _KEY_START + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    ),
    "api_key": (
        rf"(?i:aws|amazon|SECRET_WORDS)[^\n]{{0,60}}?{_AWS_SECRET}",  # the words of all languages
        rf"(?:AKIA|ASIA)[0-9A-Z]{{16}}[^A-Za-z0-9]{{1,60}}?{_AWS_SECRET}",
        f"{_KEY_START}(?:{'|'.join(_KEYS)})",
    ),
    "password_in_address": (r"(?<=://)[^\s/:@]{0,100}:[^\s/]{1,200}(?=@)",),
    "card_number": (r"(?<![0-9])[3-6](?:[ -]?[0-9]){12,18}(?![0-9])",),
    "email": (r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+",),
}
SECRET_KINDS = tuple(kind for kind in SECRET_PATTERNS if kind != "email")
UUID = r"[0-9A-Fa-f]{8}(?:-?[0-9A-Fa-f]{4}){3}-?[0-9A-Fa-f]{12}"  # or a digest as long
CARD_DIGITS = frozenset({13, 14, 15, 16, 19})
Tag = Callable[[str], str]


def find(text: str, kinds: Collection[str] = SECRET_KINDS) -> Iterator[str]:
    """Yield the kind of each secret in the text."""
    for kind in kinds:
        for pattern in _patterns(kind):
            yield from (kind for match in re.finditer(pattern, text) if _is_one(kind, match))


def mask(text: str, kinds: Collection[str] = SECRET_KINDS, tag: Tag | None = None) -> str:
    """Replace each secret by its kind in brackets: "[api key]".

    ``tag``: computes a suffix from a secret, so that two of a kind can be distinguished: "[email 3f2a]".
    """
    for kind in SECRET_PATTERNS:
        for pattern in _patterns(kind) if kind in kinds else ():
            text = re.sub(pattern, partial(_masked, kind, tag), text)
    return text


@depends_on_languages
@lru_cache(maxsize=len(SECRET_PATTERNS))
def _patterns(kind: str) -> Sequence[str]:
    words = "|".join(word for rules in every_rules() for word in rules.secret_words) or "(?!)"
    return [pattern.replace("SECRET_WORDS", words) for pattern in SECRET_PATTERNS[kind]]


def _masked(kind: str, tag: Tag | None, match: re.Match[str]) -> str:
    if not _is_one(kind, match):
        return match[0]
    start, end = match.span(_secret_group(match))
    name = kind.replace("_", " ") + (f" {tag(match[_secret_group(match)])}" if tag else "")
    return f"{match.string[match.start() : start]}[{name}]{match.string[end : match.end()]}"


def _secret_group(match: re.Match[str]) -> Any:
    return "secret" if "secret" in match.re.groupindex else 0


def _is_one(kind: str, match: re.Match[str]) -> bool:
    """Test whether a match is likely a secret rather than words."""
    secret: str = match[_secret_group(match)]
    if kind == "card_number":
        around = re.finditer(UUID, match.string[max(0, match.start() - 40) : match.end() + 40])
        return _is_card(secret) and not any(secret in uuid[0] for uuid in around)
    if kind == "web_token" and "secret" in match.re.groupindex:
        return any(char.isdigit() for char in secret)
    if kind == "api_key" and "secret" in match.re.groupindex:
        return secret.lower() != secret != secret.upper()  # a commit hash has letters of one case
    if kind == "api_key" and secret[:2] in ("sk", "pk", "rk"):
        return re.search("[0-9]|[A-Za-z]{16}", secret[3:]) is not None  # pk_orders_of_customers is a name
    return True


def _is_card(text: str) -> bool:
    """Test the number of digits and the Luhn check digit."""
    digits = [int(char) for char in reversed(text) if char.isdigit()]
    total = sum(digit if i % 2 == 0 else sum(divmod(2 * digit, 10)) for i, digit in enumerate(digits))
    return len(digits) in CARD_DIGITS and total % 10 == 0
