"""Formatting of records, hits and work reports as lines and as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Any

from memscope.reconciliation.approval import REFUSAL_FIELD, WORDS_FIELD
from memscope.records import ForgetReport, Hit, Insight, Observation, Record, Retrieval, Turn, WorkReport, refusals
from memscope.records.serialization import to_json
from memscope.stores.rules import record_id
from memscope_cli.commands.language import count_nouns, join, say, say_sentence
from memscope_cli.commands.output import Display, StyledText, pad, visible

MAX_NAMED_FEATURES = 3  # per hit
ACTION_STYLES = {"new": "green", "merged": "cyan", "superseded": "yellow", "proposed": "magenta"}
_FEATURE = re.compile(r"( +\S+ = \S+ x \S+  \w+: )(.*)")  # lines of Retrieval.explanation
_FOUND_HIT = re.compile(r"(\d+\. \S+ )score (\S+), found by (.*)")
_CHANNEL = re.compile(r"(\w+) \(([^)]*)\)")
IMPORT_PHRASES = {
    "turn_duplicate": "{number} known before",
    "turn_forgotten": "{number} forgotten here and left out",
    "removed": "{number} forgotten there and removed here",
    "of_others": "{number} of other users",
}
NOUNS_WRITTEN = {"observation": "observation", "insight": "insight", "block": "block", "forgotten": "tombstone"}
KIND_OF_STAGE = {"consolidate": "turn", "reflect": "observation"}


def _speaker(turn: Turn) -> str:
    """Return the speaker's name, or the translated role of a turn without one."""
    return visible(say(turn.role) if turn.speaker == turn.role else turn.speaker)


def days(first: date, last: date) -> str:
    return say("{first} to {last}", first=first.isoformat()[:10], last=last.isoformat()[:10])


def list_origins(places: Mapping[str, str]) -> str:
    """List settings with their origins, as "approve (line 2 of 'memscope.yaml'), store (MEMSCOPE_STORE)"."""
    return join(f"{name} ({say_sentence(place)})" for name, place in sorted(places.items()))


def notes(counts: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    """Return a phrase for each nonzero count."""
    return [say(text, number=f"{counts[name]:,}") for name, text in words.items() if text and counts.get(name)]


def list_written(counts: Mapping[str, int]) -> str:
    """List what an import or copy wrote, as "3 turns stored, 1 known before, 2 blocks"."""
    stored = say("{turns} stored", turns=count_nouns(counts.get("turn_stored", 0), "turn"))
    others = [count_nouns(counts[kind], noun) for kind, noun in NOUNS_WRITTEN.items() if counts.get(kind)]
    return join([stored, *notes(counts, IMPORT_PHRASES), *others])


def hit_parts(hit: Hit) -> list[StyledText]:
    """Format a hit like ``context`` does: date, speaker, text."""
    from memscope.retrieval.context import line

    when, mark, words = line(hit).partition("] ")
    if hit.turn and words.startswith(before := f"{hit.turn.speaker}: "):
        words = f"{_speaker(hit.turn)}: {words.removeprefix(before)}"
    return [(visible(when + mark), "cyan"), " ", visible(words)]


def why(hit: Hit) -> str:
    """Describe the channels that found a hit and its strongest features."""
    features = sorted((one for one in hit.features if one.contribution > 0), key=lambda one: -one.contribution)
    strongest = join(f"{feature.name} {feature.contribution:+.1f}" for feature in features[:MAX_NAMED_FEATURES])
    return say("found by {channels}", channels=" + ".join(map(say, hit.found_by))) + (
        f": {strongest}" if strongest else ""
    )


def show_hits(show: Display, hits: Sequence[Hit], *, explain: bool) -> None:
    """Print hits with ranks and ids; ``explain`` adds a second line with the reasons for each."""
    for rank, hit in enumerate(hits, 1):
        id: StyledText = (f"  {visible(hit.id)}", "dim")
        show.line((f"{rank:>2}  ", "dim"), *hit_parts(hit), *([] if explain else [id]), hang=4)
        if explain:
            show.line((why(hit), "dim"), id, indent=4, hang=2)


def reason(retrieval: Retrieval, command: str) -> str:
    """Explain why there are no hits; ``command`` replaces the name ``add_turns`` in the explanation."""
    return say_sentence(retrieval.reason or "nothing found").replace("add_turns", command)


def explained(line: str) -> str:
    """Translate a line of ``Retrieval.explanation``, except for its numbers and names."""
    if feature := _FEATURE.fullmatch(line):
        return feature[1] + say(feature[2])
    if hit := _FOUND_HIT.fullmatch(line):
        channels = ((say(name), say(meaning)) for name, meaning in _CHANNEL.findall(hit[3]))
        found_by = join(say("{name} ({meaning})", name=name, meaning=meaning) for name, meaning in channels)
        return hit[1] + say("score {score}, found by {channels}", score=hit[2], channels=found_by)
    return say_sentence(line)


def show_record(show: Display, record: Record) -> None:
    """Print a record: one line for people, all fields for programs."""
    show.data(record_json(record))
    record_line(show, record)


def record_line(show: Display, record: Record) -> None:
    if isinstance(record, Turn):
        kind, when, who = "turn", record.time, f"{_speaker(record)}: "
    else:
        kind, when, who = type(record).__name__.lower(), record.said, ""
    parts: list[StyledText] = [
        (show.minute(when), "cyan"),
        "  ",
        (f"{say(kind)}  ", "magenta"),
        (who, "bold"),
        visible(record.text),
    ]
    show.line(*parts, (f"  {visible(record_id(record))}", "dim"), *_state(record), hang=2)


def show_proposal(show: Display, memory: Observation | Insight, replaced: Sequence[str]) -> None:
    """Print a proposal with its quotes, the reason if a quote was refused, and the memories it would supersede."""
    show_record(show, memory)
    for quote in memory.quotes if isinstance(memory, Observation) else ():
        show.line((say("said      "), "dim"), f"“{visible(quote.text)}”", indent=2)
    if reason := memory.data.get(REFUSAL_FIELD):
        words = " ".join(f"“{visible(str(one))}”" for one in memory.data.get(WORDS_FIELD, ()))
        show.line((say("refused   ") + f"{reason}  ", "yellow"), words, indent=2)
    for text in replaced:
        show.line((say("replaces  "), "yellow"), visible(text), indent=2)


def _state(record: Record) -> list[StyledText]:
    if isinstance(record, Turn):
        return []
    named: list[StyledText] = [(f"  name={visible(record.name)}", "dim")] if record.name else []
    if record.closed:
        named.append((say("  (superseded {day})", day=record.closed.date()), "yellow"))
    return [*named, *_expiry(record)]


def _expiry(record: Observation | Insight) -> list[StyledText]:
    if record.expires is None:
        return []
    if record.expired(datetime.now(UTC)):
        return [(say("  (expired {day})", day=record.expires.date()), "yellow")]
    return [(say("  (expires {day})", day=record.expires.date()), "dim")]


def record_card(show: Display, record: Record) -> None:
    """Print all fields of a record, its text last."""
    fields = {name: value for name, value in to_json(record).items() if name not in ("text", "quotes")}
    width = max(map(len, fields))
    for name, value in fields.items():
        listed = join("-" if item is None else str(item) for item in value) if isinstance(value, list) else value
        show.line((f"{name:<{width}}  ", "dim"), visible(str(listed)), hang=width + 2)
    show.line("")
    for line in record.text.splitlines() or [""]:
        show.line(visible(line))
    if not isinstance(record, Turn) and (expiry := _expiry(record)):
        show.line(*expiry)
    for quote in record.quotes if isinstance(record, Observation) else ():
        show.line(("“", "dim"), visible(quote.text), ("”  ", "dim"), (visible(quote.turn), "dim"), indent=2)


# ---------------------------------------------------------------------------------------------------------------- work


def action_parts(action: Mapping[str, Any]) -> list[StyledText]:
    """Format an action: its name, the kind and text of the memory, and its id or the reason for its rejection."""
    what = str(action["action"])
    quotes = " ".join(f"“{visible(words)}”" for words in action.get("quotes", ()))
    return [
        (pad(say(what), 12), ACTION_STYLES.get(what, "")),
        (f"{say(action['kind'])}  ", "magenta"),
        visible(str(action["text"])),
        (f"  {action['id']}" if "id" in action else f"  {action['why']}  {quotes}", "dim"),
    ]


def summarize(report: WorkReport) -> str:
    """Summarize a report in a sentence: results, pending work with its errors, model usage."""
    audited = report.operation == "audit"
    kind = KIND_OF_STAGE.get(report.operation, "turn")
    read = count_nouns(report.done, "pair") if audited else count_nouns(report.done, kind)
    parts = [say("nothing was written") if report.preview else say("{turns} read", turns=read)]
    done = {name: getattr(report, name) for name in ("new", "merged", "superseded")}
    parts += [f"{number:,} {say(name)}" for name, number in done.items() if number]
    if report.proposed:
        parts.append(say("{number} waiting for approval (memscope review)", number=f"{report.proposed:,}"))
    if report.rejected:
        reasons = join(sorted(report.rejected))
        parts.append(say("{number} rejected ({reasons})", number=sum(report.rejected.values()), reasons=reasons))
        if words := refusals(report.new + report.proposed + report.merged, report.rejected):
            parts.append(say_sentence(words))
    if report.pending:
        errors = f" ({list_counts(report.errors)})" if report.errors else ""
        parts.append(say("{number} pending", number=f"{report.pending:,}") + errors)
    if report.calls:
        seconds = f"{report.milliseconds / 1000:.1f}"
        asked = count_nouns(report.calls, "call")
        parts.append(say("{calls} of {model} in {seconds} s", calls=asked, model=report.model, seconds=seconds))
    return join(parts)


def budget_lines(status: Mapping[str, Any]) -> list[str]:
    """Format each limit of ``chat.budget`` with the amount used so far."""
    lines = []
    for one in status["budget"]:
        spent = one["spent"] >= one["most"]
        words = "{name}: {spent} of {most} used up, work waits until {until}" if spent else "{name}: {spent} of {most}"
        numbers = {name: f"{one[name]:,}" for name in ("spent", "most")}
        lines.append(say(words, name=one["name"], until=one["until"], **numbers))
    return lines


def list_counts(counts: Mapping[str, int]) -> str:
    """List error codes, with counts if there are several codes."""
    return join(f"{code} × {number:,}" if len(counts) > 1 else code for code, number in counts.items())


def show_work(show: Display, report: WorkReport) -> None:
    show.data(asdict(report))
    for action in report.actions:
        show.line(*action_parts(action), indent=2, hang=12)
    show.line(say("{operation}: {summary}", operation=say(report.operation), summary=summarize(report)))


def show_receipt(show: Display, report: ForgetReport) -> None:
    show.data(asdict(report))
    counts = {"turn": report.turns, "observation": report.observations, "insight": report.insights}
    counts["block"] = report.blocks
    gone = join(count_nouns(number, noun) for noun, number in counts.items() if number)
    if not gone:
        show.line(say("nothing matches") if report.dry_run else say("nothing matched, nothing was removed"))
    elif report.dry_run:
        show.line(say("{records} would be removed", records=gone))
        for id in report.ids:
            show.line((id, "dim"), indent=2)
    else:
        wiped = report.physical == "wiped"
        show.line(say("{records} removed and wiped from the file" if wiped else "{records} removed", records=gone))
        if report.may_hold:
            blocks = join(report.may_hold)
            show.line(say("these blocks may repeat it, look at them: {blocks}", blocks=blocks))


# ----------------------------------------------------------------------------------------------------------------- JSON


def record_json(record: Record) -> dict[str, Any]:
    return {"id": record_id(record), **to_json(record)}


def retrieval_json(query: str, retrieval: Retrieval) -> dict[str, Any]:
    return {
        "query": query,
        "reason": retrieval.reason,
        "why": retrieval.why,
        "periods": [[period.start.isoformat(), period.end.isoformat()] for period in retrieval.periods],
        "considered": retrieval.considered,
        "hits": [{"rank": rank, **hit_json(hit)} for rank, hit in enumerate(retrieval, 1)],
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    features = [feature for feature in hit.features if feature.contribution]
    return {
        "id": hit.id,
        "time": hit.time.isoformat(),
        "text": hit.text,
        "score": float(hit.score),
        "found_by": list(hit.found_by),
        "changed": hit.changed and hit.changed.isoformat(),
        "turn": hit.turn and to_json(hit.turn),
        "insight": hit.insight and to_json(hit.insight),
        "observations": [to_json(memory) for memory in hit.observations],
        "features": [{"name": o.name, "value": float(o.value), "weight": float(o.weight)} for o in features],
    }
