"""A day without a month takes that of the date named before it in its sentence."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from memscope.dates.mentions import event_time, mentions

SAID = datetime(2026, 11, 14, 6, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(("text", "days"), [
    ("Booked flights to Lisbon for 20 January, back on the 27th.", ["2027-01-20", "2027-01-27"]),
    ("We fly out on 3 March and are home on the 10th.", ["2027-03-03", "2027-03-10"]),
    ("We'll be in Rome from December 30, back on the 4th.", ["2026-12-30", "2027-01-04"]),
    ("The deadline is 20 January and the draft is due on the 13th.", ["2027-01-20", "2027-01-13"]),
    ("I flew out on 20 January and came back on the 27th.", ["2026-01-20", "2026-01-27"]),
    ("The lease runs out on 20 January 2028, keys back on the 27th.", ["2028-01-20", "2028-01-27"]),
    ("订了1月20号去三亚的机票，27号回来。", ["2027-01-20", "2027-01-27"]),
    ("12月30号出发，4号到家。", ["2026-12-30", "2027-01-04"]),
    # nothing that names a month stands before it in the sentence
    ("Rent is due on the 27th, the party is on 20 January.", ["2026-11-27", "2027-01-20"]),
    ("My exam is on 20 January. Rent is due on the 27th.", ["2027-01-20", "2026-11-27"]),
    ("Tomorrow I pack, on the 27th I leave.", ["2026-11-15", "2026-11-27"]),
])  # fmt: skip
def test_a_day_without_a_month_has_that_of_the_date_before_it(text, days):
    found = [event_time(mention, SAID) for mention in mentions(text, SAID)]
    assert [f"{one.start:%Y-%m-%d}" for one in found] == days
