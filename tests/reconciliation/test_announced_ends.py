"""An end that was announced goes with its announcement: nothing may rest on what was forgotten."""

from __future__ import annotations

import pytest

from reconciliation.test_settlement import Story, day

HOME = ("2026-11-01", "I live in Berlin.", "The user lives in Berlin.")
NEWS = ("2026-11-10", "I'll move to Rome in December.", "The user will move to Rome in December.", "2026-12")


@pytest.mark.parametrize("by_turn", [True, False])
@pytest.mark.parametrize("today", ["2026-11-20", "2026-12-20"])
async def test_the_day_is_forgotten_with_the_fact_that_named_it(by_turn, today):
    async with Story(HOME, NEWS, relations=[(0, 1, "ends")]) as story:
        berlin, rome = await story.all()
        assert (berlin.valid_to, berlin.announced_by, rome.announces) == (day("2026-12-01"), rome.id, (berlin.id,))
        story.now = day(today)
        await story.memory.forget(user="alice", ids=[rome.sources[0] if by_turn else rome.id])
        (left,) = await story.all()
        assert (left.text, left.valid_to, left.announced_by, left.current) == (berlin.text, None, None, True)
        assert await story.shown("Where do I live?") == {berlin.text}


async def test_the_day_goes_from_a_fact_that_ended_in_between():
    """Another fact ended it, and is forgotten too."""
    moved = ("2026-11-16", "I live in Bonn.", "The user lives in Bonn.")
    async with Story(HOME, NEWS, moved, relations=[(0, 1, "ends"), (0, 2, "ends")]) as story:
        berlin, rome, bonn = await story.all()
        assert (berlin.superseded_by, berlin.open_valid_to) == (bonn.id, day("2026-12-01"))
        for gone in (rome, bonn):
            await story.memory.forget(user="alice", ids=[gone.id])
        (left,) = await story.all()
        assert (left.current, left.valid_to) == (True, None)
