"""Names in paths: an encoded slash belongs to a name, so that ``/u/a%2Fb/ask`` is the page ``ask`` of the user "a/b".

Servers decode a path before it is routed. A user or an id with "/records/" in it would then name a record of another
user; so a character that no name may have stands for the encoded slash until a route has matched.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import Scope

ENCODED_SLASH = "\ue02f"  # for private use: ``validation.identifier`` refuses it


class Name(Convertor[str]):
    """A name in a path. Its slashes may also be written as they are, as far as a route can be told then."""

    regex = ".*"

    def convert(self, value: str) -> str:
        return value.replace(ENCODED_SLASH, "/")

    def to_string(self, value: str) -> str:
        return value.replace("/", ENCODED_SLASH)


class Segment(Name):
    """A name whose slashes must be encoded."""

    regex = "[^/]+"


register_url_convertor("name", Name())
register_url_convertor("segment", Segment())


def with_encoded_slashes(scope: Scope) -> Scope:
    """Return the scope of a request with ``ENCODED_SLASH`` in its path for each slash that was sent encoded."""
    raw = scope.get("raw_path", b"").partition(b"?")[0].decode("latin-1")
    parts = re.split("%2f", raw, flags=re.IGNORECASE)
    return {**scope, "path": ENCODED_SLASH.join(map(unquote, parts))} if len(parts) > 1 else scope
