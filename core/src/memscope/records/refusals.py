"""Explain refused model output: a high share suggests a model that is too small for the task."""

from __future__ import annotations

from collections.abc import Mapping

MUCH_REFUSED = 0.1  # a higher share suggests a model too small, or weak in this language; strong ones have 0
MANY_REFUSED_VERDICTS = 0.25  # strong models reach 0.12, since the rules are strict; guessing gives 0.5
MIN_JUDGED_REPLIES = 10  # verdicts, dates or replies; fewer are no evidence about the model
_REFUSED = frozenset(
    (
        "no_quote not_in_quote contradicted unknown_name unknown_source not_said_by_user translated too_long too_many"
        " malformed"
    ).split()
)
_JUDGED: Mapping[str, tuple[float, tuple[str, ...], str]] = {  # whole sentences, as the catalogue of translations has
    "verdicts": (
        MANY_REFUSED_VERDICTS, ("wrong_verdict", "wrong_known"), "{0} % of the verdicts were refused: {1}",
    ),
    "dates": (MUCH_REFUSED, ("wrong_date",), "{0} % of the dates were refused: {1}"),
    "replies": (MUCH_REFUSED, ("unusable_replies",), "{0} % of the replies were refused: {1}"),
}  # fmt: skip


def refusals(accepted: int, rejected: Mapping[str, int]) -> str:
    """Explain a share above ``MUCH_REFUSED`` ("38 % of the facts were refused: no_quote"), else "".

    Facts of unwanted levels and unusable placements of reflect do not count as refused.
    """
    refused = {reason: number for reason, number in rejected.items() if reason in _REFUSED}
    total = accepted + sum(refused.values())
    share = sum(refused.values()) / total if total else 0.0
    if share < MUCH_REFUSED:
        return ""
    reasons = ", ".join(sorted(refused, key=lambda reason: (-refused[reason], reason)))
    return f"{100 * share:.0f} % of the facts were refused: {reasons}"


def weaknesses(counts: Mapping[str, int]) -> dict[str, str]:
    """Write a sentence per kind of output with many refusals: "facts" (``refusals``), "verdicts" on known facts,
    "dates", and "replies" that were cut off or did not match the schema.
    """
    sentences = {"facts": refusals(counts.get("kept", 0), counts)}
    for kind, (much, codes, sentence) in _JUDGED.items():
        number, refused = counts.get(kind, 0), {code: counts[code] for code in codes if counts.get(code)}
        share = min(sum(refused.values()) / max(number, 1), 1.0)
        if number >= MIN_JUDGED_REPLIES and share > much:
            sentences[kind] = sentence.format(round(100 * share), ", ".join(refused))
    return {kind: words for kind, words in sentences.items() if words}
