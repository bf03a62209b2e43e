"""The table of hostile replies over real HTTP: a turn is consolidated, or pending with a code."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memscope.models.clients import OpenAIChat
from memscope.models.endpoint import Endpoint

from servers.faults import MALFORMED, FaultServer, Plan, Script
from workbench import fact, noted

REPLY = noted(fact("The user moved to Berlin.", "I moved to Berlin", keywords=["home"]))
READABLE = [{"fault": fault} for fault in ("prose", "fenced", "think")]
READABLE += [{"fault": "malformed_json", "variant": variant} for variant in ("trailing_comma", "twice")]
UNREADABLE = [{"fault": fault} for fault in ("cut", "empty", "null", "refusal", "wrong_language", "html", "no_choices")]
UNREADABLE += [{"fault": fault} for fault in ("content_filter", "wrong_schema", "truncated_json", "short_body")]
UNREADABLE += [
    {"fault": "malformed_json", "variant": variant} for variant in ("open", "single_quotes", "comment", "raw_newline")
]
DOWN = [{"fault": "rate_limit"}, {"fault": "server_error"}, {"fault": "disconnect"}, {"fault": "reset"}]
assert {rule["variant"] for rule in READABLE + UNREADABLE if "variant" in rule} == set(MALFORMED)


@pytest.fixture
async def model(fault_server: FaultServer):
    fault_server.plan, fault_server.script = Plan([]), Script({".": REPLY})
    fault_server.reset()
    endpoint = Endpoint(
        model="m", base_url=fault_server.base_url, deadline_s=60.0, first_pause_s=0.01, breaker_failures=10**6
    )
    chat = OpenAIChat(endpoint)
    await chat.served()
    yield chat
    await chat.close()


def named(rule):
    return " ".join(rule.values())


@pytest.mark.parametrize("rule", READABLE, ids=named)
async def test_t11_a_whole_reply_is_read_whatever_stands_around_it(world, model, fault_server, rule):
    await world.say("I moved to Berlin")
    fault_server.plan = Plan([rule])
    report = await world.consolidate(chat=model)
    assert (report.new, report.pending) == (1, 0)


@pytest.mark.parametrize("rule", UNREADABLE + DOWN, ids=named)
async def test_t11_a_bad_reply_leaves_the_turn_pending_with_a_code(world, model, fault_server, rule):
    await world.say("I moved to Berlin")
    fault_server.plan = Plan([rule])
    report = await world.consolidate(chat=model)
    assert (report.new, report.done, report.pending, len(report.errors)) == (0, 0, 1, 1)
    fault_server.plan = Plan([])
    world.clock.now += timedelta(hours=1)
    report = await world.consolidate(chat=model)
    assert (report.new, report.pending) == (1, 0)
    assert await world.texts() == ["The user moved to Berlin."]


async def test_nul_in_a_reply_costs_no_fact(world, model, fault_server):
    await world.say("I moved to Berlin, and I keep bees")
    facts = [fact("The user moved\0 to Berlin.", "I moved to Berlin", keywords=["ho\0me"])]
    fault_server.script = Script({".": noted(*facts, fact("The user keeps bees.", "I keep bees", keywords=["hobby"]))})
    report = await world.consolidate(chat=model)
    assert (report.new, report.pending, report.errors) == (2, 0, {})
    assert "The user keeps bees." in await world.texts()


async def test_defect_6_an_empty_answer_loses_no_message(world, model, fault_server):
    await world.say(*(f"I moved to Berlin, part {n}" for n in range(3)))
    fault_server.plan = Plan([{"fault": "empty"}])
    report = await world.consolidate(chat=model)
    assert (report.done, report.pending) == (0, 3)
