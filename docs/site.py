"""Hook of the site: pages link to files of the repository, which a site has not; there they are shown by their path."""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+)(?!zh/)([^)#]+)[^)]*\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    depth = page.file.src_uri.count("/")

    def path(link: re.Match[str]) -> str:
        outside = link[2].count("../") > depth
        return (link[1] if link[3] in link[1].replace("`", "") else f"{link[1]} (`{link[3]}`)") if outside else link[0]

    return OUTSIDE.sub(path, markdown)
