"""Hooks of the site: links to files of the repository, which a site has not, and the two languages of a page."""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+)(?!zh/)([^)#]+)[^)]*\)")
CHINESE = "zh/"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Show a file of the repository by its path."""
    depth = page.file.src_uri.count("/")

    def path(link: re.Match[str]) -> str:
        outside = link[2].count("../") > depth
        return (link[1] if link[3] in link[1].replace("`", "") else f"{link[1]} (`{link[3]}`)") if outside else link[0]

    return OUTSIDE.sub(path, markdown)


def on_page_context(context: dict[str, Any], *, page: Any, config: Any, nav: Any) -> dict[str, Any]:
    """Let the switch of languages lead to the same page, or to the index where that is not translated."""
    files = {one.file.src_uri: one.file.url for one in nav.pages}
    english = page.file.src_uri.removeprefix(CHINESE)
    links = {"en": files.get(english, "./"), "zh": files.get(CHINESE + english, CHINESE)}
    for entry in config.extra["alternate"]:
        entry["link"] = links[entry["lang"]]
    return context


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Tell browsers and screen readers the language of a Chinese page."""
    return output.replace('<html lang="en"', '<html lang="zh"', 1) if page.file.src_uri.startswith(CHINESE) else output
