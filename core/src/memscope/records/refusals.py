"""Share of a model's facts that were refused, as a sentence."""

from __future__ import annotations

from collections.abc import Mapping

MUCH_REFUSED = 0.2  # of a model's facts: it is too small for the task, or its language is another
_REFUSED = frozenset("no_quote unknown_source not_said_by_user translated too_long too_many malformed".split())


def refusals(kept: int, rejected: Mapping[str, int]) -> str:
    """Returns "38 % of the facts were refused: no_quote" where that is much, else "".

    A fact of a level that is not wanted, and a place that reflect could not use, was not refused.
    """
    refused = {reason: number for reason, number in rejected.items() if reason in _REFUSED}
    told = kept + sum(refused.values())
    share = sum(refused.values()) / told if told else 0.0
    if share < MUCH_REFUSED:
        return ""
    reasons = ", ".join(sorted(refused, key=lambda reason: (-refused[reason], reason)))
    return f"{100 * share:.0f} % of the facts were refused: {reasons}"
