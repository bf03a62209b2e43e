"""Rendering of templates, the values shared by all of them, and the scope that a page's URL names."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.templating import Jinja2Templates

from memscope import languages
from memscope.blocks.visible import DESCRIPTIONS
from memscope.errors import InputError
from memscope.records import Insight, Record, Turn, in_zone
from memscope.stores.rules import record_id
from memscope.validation import ALL_TIME
from memscope_server.access import Anyone, Caller
from memscope_server.api import memory_of
from memscope_server.listing import kind_of, said_of
from memscope_server.pages.charts import reasons
from memscope_server.translations import PAGE_LANGUAGES, Translation, language_of

MAX_LIST_ITEMS = 100
templates = Jinja2Templates(Path(__file__).parents[1] / "templates")


def render(
    request: Request, template: str, caller: Caller | None = None, *, code: int = 200, **values: Any
) -> HTMLResponse:
    """Render a template in the reader's language, with times in the memory's time zone."""
    words, zone = Translation(language_of(request)), memory_of(request).admin.runtime.services.zone
    shared = {
        "say": words.say, "name_of": words.name_of, "translate": words.translate, "lang": words.language,
        "topic": languages.get(words.language).topic_name,
        "caller": caller, "csrf": caller.csrf if caller else "",
        "day": lambda time: str(in_zone(time, zone).date()),
        "when": lambda time: in_zone(time, zone).isoformat(" ", "minutes")[:16],
    }  # fmt: skip
    return templates.TemplateResponse(request, template, {**shared, **values}, status_code=code)


def error_page(request: Request, status: int, code: str, detail: str) -> Response:
    """Render an error page, or redirect to the sign-in page if the token is missing."""
    if status == 401:
        return RedirectResponse("/login", 303)
    return render(request, "error.html", code=status, error=code, detail=detail)


class UserPage:
    """User and agent in the URL of a page, checked against the token."""

    def __init__(self, caller: Anyone, user: str, agent: str | None = None) -> None:
        self.caller, self.user = caller, user
        self.scope = caller.scope(user, agent or None)
        self.agent: str | None = self.scope["agent"]
        self.kept_agent = self.agent if caller.operator else None  # links repeat it; a user's token implies the agent

    def at(self, *parts: str, **asked: object) -> str:
        """Return the URL of a page of this user, with ``asked`` as its query string."""
        asked |= {"agent": self.kept_agent}
        arguments = {name: value for name, value in asked.items() if value not in (None, "")}
        return (
            address(self.user, *parts)
            + ("?" if arguments else "")
            + "&".join(f"{name}={quote(str(value), safe='')}" for name, value in arguments.items())
        )


Here = Annotated[UserPage, Depends(UserPage)]


def show(request: Request, template: str, here: UserPage, **values: Any) -> HTMLResponse:
    shared: dict[str, Any] = {"user": here.user, "agent": here.agent, "kept_agent": here.kept_agent, "at": here.at}
    shared["tab"] = request.scope["route"].path.split("/")[3]  # of "/u/{user}/tab"
    return render(request, template, here.caller, **shared, **values)


def back(here: UserPage, *parts: str) -> Response:
    """Redirect to a page of the user after a change."""
    return RedirectResponse(here.at(*parts), 303)


def address(user: str, *parts: str) -> str:
    return "/u/" + "/".join(quote(part, safe="") for part in (user, *(parts or ("",))))


def day_start(request: Request, day: str, days: int = 0) -> datetime | None:
    """Parse an ISO date and return its midnight plus ``days`` in the memory's time zone; None if it is empty."""
    if not day:
        return None
    try:
        begin = date.fromisoformat(day)
    except ValueError:
        raise InputError(f"{day!r} is not a date", hint="write it as 2026-06-12") from None
    zone, (first, last) = memory_of(request).admin.runtime.services.zone, ALL_TIME
    try:
        start = datetime.combine(begin + timedelta(days=days), datetime.min.time())
        return min(max(start.replace(tzinfo=zone) if zone else start.astimezone(), first), last)
    except (ValueError, OverflowError, OSError):  # beyond the first or last day that datetime supports
        return last if begin.year > 1 else first


def version_of(form: Mapping[str, str]) -> int:
    """Return the version that a form was loaded with, so that it does not undo a change made since in another tab."""
    try:
        return int(form.get("version", ""))
    except ValueError:
        raise InputError("version is not a number", hint="load the page again") from None


def title_of(record: Record) -> str:
    if isinstance(record, Turn):
        return record.speaker
    return record.subject if isinstance(record, Insight) else record.about


def split_quote(text: str, words: str) -> tuple[str, str, str]:
    """Split a text into the part before a quote, the quote, and the rest."""
    before, quote, after = text.partition(words) if words else (text, "", "")
    return before, quote, after


templates.env.globals.update(address=address, languages=PAGE_LANGUAGES, descriptions=DESCRIPTIONS)
templates.env.filters.update(
    kind=kind_of,
    said=said_of,
    title=title_of,
    id=record_id,
    split_quote=split_quote,
    reasons=reasons,
    quoted=shlex.quote,
)
