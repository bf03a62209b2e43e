"""The inspector: pages rendered here, with little script. Templates escape every text of a memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.templating import Jinja2Templates

from memscope.errors import InputError, MemscopeError
from memscope.records import Insight, Memory, Observation, Record, Turn
from memscope_server.access import COOKIE, Anyone, Caller, Operator, Sessions
from memscope_server.api import memory_of
from memscope_server.problems import Unauthorized
from memscope_server.translations import LANGUAGES, Translation, language_of

PAGE = 100
router = APIRouter()
templates = Jinja2Templates(Path(__file__).parent / "templates")
templates.env.globals.update(languages=LANGUAGES)


def render(
    request: Request, template: str, caller: Caller | None = None, *, code: int = 200, **values: Any
) -> HTMLResponse:
    """Render a template in the reader's language."""
    words = Translation(language_of(request))
    shared = {"say": words.say, "lang": words.language, "caller": caller, "csrf": caller.csrf if caller else ""}
    return templates.TemplateResponse(request, template, {**shared, **values}, status_code=code)


def failed(request: Request, error: MemscopeError, status: int) -> Response:
    """Render an error; without a token, the page to sign in."""
    if isinstance(error, Unauthorized):
        return RedirectResponse("/login", 303)
    return render(request, "error.html", code=status, error=error)


# ----------------------------------------------------------------------------------------------------------- signing in


@router.get("/login")
async def login_page(request: Request, token: str | None = None) -> Response:
    """Show the form; a link with a token signs in at once and redirects to an address without it."""
    return render(request, "login.html", wrong=False) if token is None else _signed_in(request, token)


@router.post("/login")
async def login(request: Request) -> Response:
    return _signed_in(request, request.state.form.get("token", ""))


def _signed_in(request: Request, secret: str) -> Response:
    sessions: Sessions = request.app.state.sessions
    token = sessions.tokens.find(secret.strip())
    if token is None:
        return render(request, "login.html", code=401, wrong=True)
    reply = RedirectResponse("/", 303)
    secure = request.url.scheme == "https"
    reply.set_cookie(COOKIE, sessions.open(token), httponly=True, samesite="strict", secure=secure)
    return reply


@router.post("/logout")
async def logout(request: Request, caller: Anyone) -> Response:
    request.app.state.sessions.close(request.cookies.get(COOKIE, ""))
    reply = RedirectResponse("/login", 303)
    reply.delete_cookie(COOKIE)
    return reply


@router.post("/language/{language}")
async def language(request: Request, caller: Anyone, language: str) -> Response:
    reply = RedirectResponse(request.headers.get("referer") or "/", 303)
    if language in LANGUAGES:
        reply.set_cookie("lang", language, httponly=True, samesite="strict")
    return reply


# ------------------------------------------------------------------------------------------------------------ operators


@router.get("/")
async def home(request: Request, caller: Anyone) -> Response:
    """Redirect to the user's memory, or show the operator the users."""
    if not caller.operator:
        return RedirectResponse(address(str(caller.token.user)), 303)
    users = await memory_of(request).users()
    wanted = request.query_params.get("q", "")
    found = [user for user in users if wanted.casefold() in user.casefold()]
    return render(request, "users.html", caller, users=found[:1000], number=len(users), wanted=wanted)


@router.get("/jobs")
async def jobs(request: Request, caller: Operator) -> Response:
    return render(request, "jobs.html", caller, status=await memory_of(request).status())


@router.post("/jobs/unpark")
async def unpark(request: Request, caller: Operator) -> Response:
    await memory_of(request).unpark()
    return RedirectResponse("/jobs", 303)


# ----------------------------------------------------------------------------------------------------------- one user's


class Place:
    """The scope of a page's address, checked against the token."""

    def __init__(self, caller: Anyone, user: str, agent: str | None = None) -> None:
        self.caller, self.user = caller, user
        self.scope = caller.scope(user, agent or None)


Here = Annotated[Place, Depends(Place)]


def show(request: Request, template: str, here: Place, **values: Any) -> HTMLResponse:
    def at(*parts: str) -> str:
        return address(here.user, *parts)

    return render(request, template, here.caller, user=here.user, agent=here.scope["agent"], at=at, **values)


def address(user: str, *parts: str) -> str:
    """Return the address of a page of a user."""
    return "/u/" + "/".join(quote(part, safe="") for part in (user, *(parts or ("",))))


@router.get("/u/{user:path}/")
async def overview(request: Request, here: Here) -> Response:
    memory = memory_of(request)
    profile = await memory.profile(**here.scope, tokens=1000)
    records = await memory.list(**here.scope)
    kinds = Counter(kind_of(record) for record in records)
    waiting = len(await memory.proposals(user=here.user))
    newest = newest_first(records)[:8]
    return show(request, "overview.html", here, profile=profile, kinds=kinds, waiting=waiting, newest=newest)


@router.get("/u/{user:path}/records")
async def records(
    request: Request, here: Here, kind: str = "", q: str = "", as_of: str = "", closed: bool = False, offset: int = 0
) -> Response:
    """List records, newest first; further pages come as rows for the script."""
    memory = memory_of(request)
    kinds = [kind] if kind in ("turn", "observation", "insight") else None
    found = await memory.list(**here.scope, kinds=kinds, text=q or None, superseded=bool(as_of) or closed)  # type: ignore[arg-type]
    first = min((said_of(record) for record in found), default=None)
    if as_of:
        found = [record for record in found if known_at(record, _end_of(as_of))]
    found = newest_first(found)
    page, more = found[offset : offset + PAGE], len(found) > offset + PAGE
    template = "rows.html" if offset else "records.html"
    asked = {"kind": kind, "q": q, "as_of": as_of, "closed": closed}
    return show(request, template, here, records=page, more=more, next=offset + PAGE, number=len(found), first=first,
                today=memory.runtime.now().date(), **asked)  # fmt: skip


@router.get("/u/{user:path}/records/{id:path}")
async def record(request: Request, here: Here, id: str) -> Response:
    """Show one record: what it rests on, with the quoted words marked, its versions, and what rests on it."""
    memory = memory_of(request)
    found = await memory.get(id, **here.scope)
    async with memory.runtime.operation("get") as runtime:
        fetched = await runtime.store.fetch(here.user, [id])
    derived = [one for one in fetched.derived.get(id, ()) if here.scope["agent"] in (None, one.scope.agent)]
    sources: list[Record] = []
    versions: Sequence[Memory] = ()
    if not isinstance(found, Turn):
        sources = [await memory.get(source, **here.scope) for source in found.sources]
        versions = await memory.history(id, **here.scope)
    quotes = found.quotes if isinstance(found, Observation) else ()
    marked = {quote.turn: quote.text for quote in quotes}
    return show(request, "record.html", here, record=found, sources=sources, derived=derived, versions=versions,
                marked=marked)  # fmt: skip


@router.get("/u/{user:path}/ask")
async def ask(request: Request, here: Here, q: str = "", as_of: str = "") -> Response:
    """Show what memory finds for a question, why, and what was left out."""
    found = None
    if q:
        at = _end_of(as_of) if as_of else None
        found = await memory_of(request).retrieve(q, **here.scope, explain=True, as_of=at)
    features = [abs(one.contribution) for hit in found or () for one in hit.features]
    left_out = [
        line for line in (found.explanation if found else "").splitlines() if line.startswith(("left out", "cut"))
    ]
    return show(request, "ask.html", here, q=q, as_of=as_of, found=found, most=max(features, default=1.0) or 1.0,
                left_out=left_out)  # fmt: skip


@router.get("/u/{user:path}/timeline")
async def timeline(request: Request, here: Here, by: str = "day") -> Response:
    """Show how much was said and learned per day, week or month."""
    records = await memory_of(request).list(**here.scope, superseded=True)
    counts = periods(records, by if by in STEPS else "day")
    most = max((sum(one.values()) for one in counts.values()), default=1)
    return show(request, "timeline.html", here, counts=counts, most=most, by=by, steps=tuple(STEPS))


@router.get("/u/{user:path}/review")
async def review(request: Request, here: Here) -> Response:
    """Show proposals, each with its quote."""
    memory = memory_of(request)
    waiting = await memory.proposals(user=here.user)
    return show(request, "review.html", here, proposals=waiting)


@router.post("/u/{user:path}/review/{id:path}/{verdict}")
async def decide(request: Request, here: Here, id: str, verdict: str) -> Response:
    memory = memory_of(request)
    if verdict == "accept":
        await memory.accept([id], user=here.user)
    elif verdict == "reject":
        await memory.reject([id], user=here.user)
    else:
        raise InputError("a proposal is accepted or rejected")
    return RedirectResponse(address(here.user, "review"), 303)


@router.post("/u/{user:path}/records/{id:path}/correct")
async def correct(request: Request, here: Here, id: str) -> Response:
    form: Mapping[str, str] = request.state.form
    await memory_of(request).update(id, **here.scope, text=form.get("text", ""))
    return RedirectResponse(address(here.user, "records", id), 303)


@router.get("/u/{user:path}/forget")
async def forget_page(request: Request, here: Here, id: str = "", text: str = "") -> Response:
    """Show what a forget would remove."""
    selected = _selection(id, text)
    report = await memory_of(request).forget(**here.scope, **selected, dry_run=True) if selected else None
    return show(request, "forget.html", here, id=id, text=text, report=report, done=False)


@router.post("/u/{user:path}/forget")
async def forget(request: Request, here: Here) -> Response:
    """Forget, and show the receipt."""
    form: Mapping[str, str] = request.state.form
    id, text = form.get("id", ""), form.get("text", "")
    selected = {"everything": True} if form.get("everything") == here.user else _selection(id, text)
    if not selected:
        raise InputError("nothing was selected", hint="give an id or words")
    report = await memory_of(request).forget(**here.scope, **selected)
    return show(request, "forget.html", here, id=id, text=text, report=report, done=True)


def _selection(id: str, text: str) -> dict[str, Any]:
    return {"ids": [id]} if id else {"text": text} if text else {}


# -------------------------------------------------------------------------------------------------------- what is shown

STEPS = {"day": 1, "week": 7, "month": 30}


def kind_of(record: Record) -> str:
    return type(record).__name__.lower()


def said_of(record: Record) -> datetime:
    return record.time if isinstance(record, Turn) else record.said


def newest_first(records: Sequence[Record]) -> list[Record]:
    """Return the records by the time they were said; of one time the last stored comes first."""
    return sorted(records, key=said_of)[::-1]


def known_at(record: Record, at: datetime) -> bool:
    """Return whether a record was said by then and had not been ended by what was said by then."""
    if said_of(record) > at:
        return False
    return isinstance(record, Turn) or record.closed is None or (record.closed_said or record.closed) > at


def _end_of(day: str) -> datetime:
    """Return the end of a day in the system's zone."""
    try:
        return datetime.combine(date.fromisoformat(day), datetime.min.time()).astimezone() + timedelta(days=1)
    except (ValueError, OverflowError):
        raise InputError("as_of is not a date", hint="write it as 2026-06-12") from None


def periods(records: Sequence[Record], by: str) -> dict[str, Counter[str]]:
    """Return counts by kind per day, ISO week or month, oldest first."""
    form = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}[by]
    counts: dict[str, Counter[str]] = {}
    for record in sorted(records, key=said_of):
        counts.setdefault(f"{said_of(record):{form}}", Counter())[kind_of(record)] += 1
    return counts


def title_of(record: Record) -> str:
    return (
        record.speaker if isinstance(record, Turn) else record.subject if isinstance(record, Insight) else record.about
    )


def id_of(record: Record) -> str:
    return record.key if isinstance(record, Turn) else record.id


def split_quote(text: str, quote: str) -> tuple[str, str, str]:
    """Return the words before a quote, the quote, and those after it."""
    before, found, after = text.partition(quote) if quote else (text, "", "")
    return before, found, after


templates.env.globals.update(address=address)
templates.env.filters.update(kind=kind_of, said=said_of, title=title_of, id=id_of, split_quote=split_quote)
