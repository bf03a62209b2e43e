"""Commands about entities: entities, entity, timeline, graph, reindex."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from memscope import languages
from memscope.records import Record
from memscope_cli.commands.formatting import days, record_json, record_line
from memscope_cli.commands.language import count_nouns, join, language, say
from memscope_cli.commands.options import Call, as_of_option, command, time_option
from memscope_cli.commands.output import Display, StyledText, print_error, visible, visible_text

if TYPE_CHECKING:
    from memscope.entities.results import Entity, Timeline

BAR_COLUMNS = 24  # length of the longest bar
MAX_LISTED_THEMES = 12  # printed; --json has all
KIND_CHOICE = click.Choice(["person", "place", "organisation", "thing", "topic"])


def bar(value: float, most: float) -> str:
    """Draw a bar with a resolution of 1/8 column; any value above zero is visible."""
    eighths = max(1, round(value / most * BAR_COLUMNS * 8)) if value and most else 0
    full, rest = divmod(eighths, 8)
    return "█" * full + " ▏▎▍▌▋▊▉"[rest].strip()


def _bar_part(show: Display, value: float, most: float) -> StyledText:
    """Return a bar on a terminal, "" in a pipe."""
    return (bar(value, most), "green") if show.terminal else ""


@command("entities", short_help="List people, places and things by their mentions.")
@click.option("--top", type=int, default=20, show_default=True, help="How many.")
@time_option("--since", "Only mentions from this date or time on (ISO 8601).")
@click.option("--kind", type=KIND_CHOICE, help="Only this kind.")
@as_of_option
def entities(call: Call, /, **asked: Any) -> None:
    """Show people, places, organisations, things and topics, the most often and most recently mentioned first."""
    listed = call.open().entities(**call.scope).list(**asked)
    for one in listed:
        bars = _bar_part(call.show, one.score, max(other.score for other in listed))
        call.show.data(asdict(one))
        call.show.line(*_entity_parts(one), "  ", bars, hang=2)
    if not listed:
        print_error(say("memscope: no people, places or things are mentioned yet"))


def _entity_parts(one: Entity) -> list[StyledText]:
    aliases: list[StyledText] = [(f" ({', '.join(map(visible, one.aliases))})", "dim")] if one.aliases else []
    span = days(one.first, one.last) if one.last.date() != one.first.date() else str(one.first.date())
    return [(visible(one.name), "bold"), *aliases, (f"  {say(one.kind)}", "magenta"),
            f"  {count_nouns(one.count, 'turn')}  ", (span, "cyan")]  # fmt: skip


@command("entity", short_help="Show everything about one person, place or thing.")
@click.argument("name")
@click.option("--top", type=int, default=20, show_default=True, help="How many of each list at most.")
@click.option("--merge", metavar="OTHER", help="OTHER is a name of this entity.")
@click.option("--split", metavar="OTHER", help="The alias OTHER is another entity.")
@click.option("--dismiss", is_flag=True, help="NAME is not a person, place or thing.")
@as_of_option
def entity(call: Call, /, name: str, merge: str | None, split: str | None, dismiss: bool, **asked: Any) -> None:
    """Show the facts, insights, turns and neighbours of entity NAME, which may be an alias.

    --merge, --split and --dismiss are stored as statements in memory, and hold for new turns too.
    """
    entities = call.open().entities(**call.scope)
    if merge is not None:
        entities.merge(name, merge)
    if split is not None:
        entities.split(name, split)
    if dismiss:
        entities.dismiss(name)
        call.show.report({"dismissed": name}, say("{name} is no longer listed", name=visible(name)))
        return
    known = entities.get(name, **asked)
    records: dict[str, tuple[Record, ...]] = {"facts": known.facts, "insights": known.insights, "turns": known.turns}
    neighbours = [asdict(one) for one in known.neighbours]
    shown = {head: [record_json(record) for record in group] for head, group in records.items()}
    call.show.report({"entity": asdict(known.entity), **shown, "neighbours": neighbours}, *_entity_parts(known.entity))
    if call.json:
        return
    for head, group in records.items():
        if group:
            call.show.rule(say(head))
        for record in group:
            record_line(call.show, record)
    if neighbours:
        call.show.rule(say("mentioned together with"))
    for one in known.neighbours:
        bars = _bar_part(call.show, one.count, known.neighbours[0].count)
        turns = count_nouns(one.count, "turn")
        call.show.line(visible(one.name), (f"  {say(one.kind)}", "magenta"), f"  {turns}  ", bars)


@command("timeline", short_help="Show what was mentioned when.")
@click.argument("entity", required=False)
@click.option("--by", type=click.Choice(["day", "week", "month"]), default="week", show_default=True,
              help="Length of time per line.")  # fmt: skip
@as_of_option
def timeline(call: Call, /, **asked: Any) -> None:
    """Show turns per day, week or month, about ENTITY or about all: bursts, names, themes.

    An arrow shows a change of rank since the previous line; * marks a name that is not in it.
    """
    line = call.open().entities(**call.scope).timeline(**asked)
    call.show.data(asdict(line))
    _show_buckets(call.show, line)
    if line.themes:
        call.show.rule(say("themes"))
    for theme in sorted(line.themes, key=lambda theme: -theme.count)[:MAX_LISTED_THEMES]:
        when = days(theme.first, theme.last) + (say(" (over)") if theme.over else "")
        name = languages.get(language()).topic_name(theme.name)
        call.show.line((name, "bold"), f"  {count_nouns(theme.count, 'turn')}  ", (when, "cyan"))
    if not line.buckets:
        print_error(say("memscope: nothing was said yet"))


def _show_buckets(show: Display, line: Timeline) -> None:
    most = max((one.count for one in line.buckets), default=0)
    for one in line.buckets:
        named = join(f"{visible(top.name)}{_change(top.rank, top.before)}" for top in one.top)
        burst: list[StyledText] = [(say("burst  "), "yellow")] if one.burst else []
        show.line((str(one.start.date()), "cyan"), f"  {one.count:>4}  ", *burst, named, hang=18)
        if show.terminal:
            show.line(_bar_part(show, one.count, most), indent=18)


def _change(rank: int, before: int | None) -> str:
    """Return an arrow for a change of rank since the previous bucket, or ``*`` for an entity that was not in it."""
    return " *" if before is None else " ↑" if rank < before else " ↓" if rank > before else ""


@command("graph", short_help="Show people, places and things mentioned together.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--depth", type=int, default=2, show_default=True, help="Distance from a NAME: 1 or 2 edges.")
@click.option("--top", type=int, default=50, show_default=True, help="How many of them at most.")
@click.option("--svg", "form", flag_value="svg", help="An SVG picture on stdout.")
@click.option("--dot", "form", flag_value="dot", help="For Graphviz.")
@click.option("--graphml", "form", flag_value="graphml", help="For programs that draw graphs.")
@as_of_option
def graph(call: Call, /, form: str | None, **asked: Any) -> None:
    """Show entities that are mentioned together or related by a fact: around each NAME, or the most mentioned."""
    drawn = call.open().entities(**call.scope).graph(**asked)
    call.show.data(drawn.as_dict())
    if form and not call.json:
        click.echo(visible_text(getattr(drawn, form)()), nl=False)
        return
    for edge in drawn.edges:
        words = visible(edge.words) if edge.words else count_nouns(edge.count, "turn")
        call.show.line((f"{visible(edge.source)} - {visible(edge.target)}", "bold"), f"  {words}", hang=2)
    if not drawn.edges:
        print_error(say("memscope: no two people, places or things are mentioned together yet"))


@command("reindex", short_help="Extract the names of all records again.")
@click.option("--entities", is_flag=True, required=True, help="The names of people, places and things.")
def reindex(call: Call, /, entities: bool) -> None:
    """Extract the names of all records again, of one user (--user) or of all, and count them.

    Nothing is stored or locked, since each process derives entities from the records it reads: stop and repeat this
    while memory is in use. It shows what the present rules find, and stops at a broken record.
    """
    memory = call.open()
    for user in [call.user] if call.user is not None else memory.admin.users():
        listed = memory.entities(user).list(top=100_000)
        mentions = sum(one.count for one in listed)
        call.show.data({"user": user, "entities": len(listed), "mentions": mentions})
        counts = f"  {count_nouns(len(listed), 'name')}  {count_nouns(mentions, 'mention')}"
        call.show.line((visible(user), "bold"), counts)
