"""Addresses of stores without the parameters that are secret, to be shown or passed on."""

from __future__ import annotations

from memscope.imports import pattern

_SECRET_PARAMETER = pattern(r"(?i)[?&]\w*(?:password|api_?key|secret|token)=[^&]*")


def without_secret_parameters(location: str) -> str:
    """Remove ``password=...``, ``api_key=...`` and the like from the query of an address."""
    address = _SECRET_PARAMETER.sub("", location)
    return address if "?" in address or "?" not in location else address.replace("&", "?", 1)
