"""Share of a model's facts that were refused, as a sentence."""

from __future__ import annotations

from collections.abc import Mapping

MUCH_REFUSED = 0.2  # share that suggests a model too small for the task, or of another language
_REFUSED = frozenset("no_quote unknown_source not_said_by_user translated too_long too_many malformed".split())


def refusals(accepted: int, rejected: Mapping[str, int]) -> str:
    """Return "38 % of the facts were refused: no_quote" above ``MUCH_REFUSED``, else "".

    Facts of unwanted levels, and placements that reflect could not use, do not count as refused.
    """
    refused = {reason: number for reason, number in rejected.items() if reason in _REFUSED}
    total = accepted + sum(refused.values())
    share = sum(refused.values()) / total if total else 0.0
    if share < MUCH_REFUSED:
        return ""
    reasons = ", ".join(sorted(refused, key=lambda reason: (-refused[reason], reason)))
    return f"{100 * share:.0f} % of the facts were refused: {reasons}"
