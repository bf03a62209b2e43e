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


@pytest.mark.parametrize(("text", "days"), [
    ("The visa was issued on Sep-11-2001.", ["2001-09-11"]),
    ("Invoice of Mar-3-2024 is still open.", ["2024-03-03"]),
    ("My passport expires Oct/05/2027.", ["2027-10-05"]),
    ("I signed the lease on dec-01-2023 at noon.", ["2023-12-01"]),
    ("Version of 11-Sep-2001, scanned.", ["2001-09-11"]),
    ("Born 1990 March 5 in Porto.", ["1990-03-05"]),  # "march" and "may" are words as well
    ("The contract of 2024-May-05 is void.", ["2024-05-05"]),
    ("The scan is dated 2021, March 30.", ["2021-03-30"]),
    ("Received March-15-23, filed later.", ["2023-03-15"]),
    ("The trial of 2025-15-March failed.", ["2025-03-15"]),
    ("It was 2018 March 2 when she called.", ["2018-03-02"]),
    ("In 2020 May was warm.", ["2020-01-01"]),
    ("By 2030 may 5 million people leave?", []),
    ("We met in Mar-2024.", ["2024-03-01"]),
    ("The card is valid until 03/2027.", ["2027-03-01"]),
    ("The kickoff was in 3-2024 already.", ["2024-03-01"]),
])  # fmt: skip
def test_a_written_month_takes_the_day_and_the_year_in_figures(text, days):
    starts = [event_time(mention, SAID).start for mention in mentions(text, SAID) if event_time(mention, SAID)]
    assert [f"{one:%Y-%m-%d}" for one in starts] == days


@pytest.mark.parametrize(("text", "day"), [
    ("Signed 5.3.2024 in ink.", "2024-03-05"),
    ("The project began on 01.04.2023.", "2023-04-01"),
    ("Paid on 11.12.24 by card.", "2024-12-11"),
    ("Stamped 31.10.2023.", "2023-10-31"),
    ("Stamped 10.31.2023.", "2023-10-31"),
    ("Signed 5/3/2024 in ink.", "2024-05-03"),
    ("Signed 5-3-2024 in ink.", "2024-05-03"),
    ("2024.3.5签的合同。", "2024-03-05"),
])  # fmt: skip
def test_between_dots_the_day_comes_before_the_month(text, day):
    (mention,) = mentions(text, SAID)
    assert f"{mention.interval.start:%Y-%m-%d}" == day
