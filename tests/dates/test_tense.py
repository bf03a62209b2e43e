"""Dates without a year or a month lie where the event of their clause does, however its booking is told."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from memscope.dates import asked, event_time, mentions
from memscope.retrieval.events import with_dates, written
from memscope.text.periods import named_periods

SAID = datetime(2026, 11, 19, 10, tzinfo=UTC)  # a Thursday


def printed(text: str, said: datetime = SAID) -> str:
    """Return what is printed behind the words, without brackets."""
    (added,) = re.findall(r"[（(]([^（()）]*)[)）]\W*$", with_dates(text, said)) or [""]
    return str(added.replace("至", " to ").replace("、", ", "))


def attached(text: str, said: datetime = SAID) -> str:
    return ", ".join(written(one, said.tzinfo) for one in named_periods(text, said))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("made a reservation for the 28th", "2026-11-28"),
        ("got tickets for Coldplay, Jan 25", "2027-01-25"),
        ("lower left molar. appointment is Nov 26", "2026-11-26"),
        ("They moved my interview to the 3rd.", "2026-12-03"),
        ("We made plans with the Kims for the 5th.", "2026-12-05"),
        ("Nina told me her wedding is on the 15th.", "2026-12-15"),
        ("Flight to Oslo booked, leaving on the 17th.", "2026-12-17"),
        ("We decided on the 12th for the housewarming.", "2026-12-12"),
        ("My cousin invited us to her baby shower on the 13th.", "2026-12-13"),
        ("I signed up for the half marathon on the 6th.", "2026-12-06"),
        ("Finally got a slot with the dermatologist, December 17.", "2026-12-17"),
        ("Guided tour on the 29th, tickets are bought.", "2026-11-29"),
        ("Bought a cake for mom's birthday on the 22nd.", "2026-11-22"),
        ("Paid for the ski trip on February 6.", "2027-02-06"),
        ("Paid the deposit on Friday for the trip in February", "2026-11-13, 2027-02"),
        ("Rent is due on the 1st and I'm broke.", "2026-12-01"),
        ("I told him I'd be done by Friday.", "2026-11-20"),
        ("My boss wants the slides by the 25th.", "2026-11-25"),
        ("By 11 March I must pay.", "2027-03-11"),
        ("Please get the budget for Q1 done by Dec 11.", "2026-12-11"),
        ("proposal for Q4 by Dec 4", "2026-12-04"),
        ("I have a physio session on Monday.", "2026-11-23"),
        ("They've given me the 14th for the induction.", "2026-12-14"),
        ("I told my sister I'd babysit on the 5th.", "2026-12-05"),
        ("They want me back on the 16th for bloods.", "2026-12-16"),
        ("Hubby grabbed us a cabin, 12th to the 14th", "2026-12-12 to 2026-12-14"),
        ("My sister is getting married on the 5th.", "2026-12-05"),
        ("Bea's getting married on the 5th.", "2026-12-05"),
        ("They're getting divorced on December 3.", "2026-12-03"),
        ("订了28号的酒店", "2026-11-28"),
        ("机票买好了，1月25号飞", "2027-01-25"),
        ("面试定在了5号", "2026-12-05"),
        ("面试改到3号了。", "2026-12-03"),
        ("28号的房间已经预订了。", "2026-11-28"),
        ("餐厅订好了，28号晚上七点。", "2026-11-28"),
        ("答应了妈妈5号回家吃饭。", "2026-12-05"),
        ("抢到了15号的高铁票。", "2026-12-15"),
        ("去奥斯陆的机票买好了，17号出发。", "2026-12-17"),
        ("跟房东约了3号看房。", "2026-12-03"),
        ("皮肤科终于挂到号了，17号。", "2026-12-17"),
        ("他们请我们12号去吃饭。", "2026-12-12"),
        ("周六晚上约了大学同学。", "2026-11-21"),
        ("12月4号之前要交第四季度的方案。", "2026-12-04"),
        ("I got the job, from January!", "2027-01"),
        ("We hired a nanny from February.", "2027-02"),
        ("Got the flat, starting in March.", "2027-03"),
        ("房租涨了，十二月起", "2026-12"),
        ("沙发下单了，24号到", "2026-11-24"),
    ],
)
def test_a_plan_lies_ahead_though_its_booking_is_past(text: str, day: str) -> None:
    assert (printed(text), attached(text)) == (day, day)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Dad had his surgery on the 12th and is recovering well.", "2026-11-12"),
        ("I've been to the physio on the 10th.", "2026-11-10"),
        ("Got a haircut on the 15th.", "2026-11-15"),
        ("I got my results back on the 17th and everything is fine.", "2026-11-17"),
        ("I bought a new bike on the 14th.", "2026-11-14"),
        ("We got married at the hotel on the 7th.", "2026-11-07"),
        ("Anna emailed HR on the 5th.", "2026-11-05"),
        ("We booked the hotel on the phone, I called on the 6th.", "2026-11-06"),
        ("I saw Dr. Lee on the 5th.", "2026-11-05"),
        ("Mom flew home on the 9th, she already misses the kids.", "2026-11-09"),
        ("We ended up going to the aquarium on the 15th.", "2026-11-15"),
        ("On the 6th, we had the boiler serviced.", "2026-11-06"),
        ("We met in Rome, October 3.", "2026-10-03"),
        ("We found the will on the 6th.", "2026-11-06"),
        ("我爸12号做了手术，恢复得不错。", "2026-11-12"),
        ("14号买了辆自行车。", "2026-11-14"),
        ("8号从里斯本回来的。", "2026-11-08"),
        ("7号那天下大雨，我们没去成。", "2026-11-07"),
        ("她10号住院了，现在已经回家。", "2026-11-10"),
        ("1月25号，我们去了巴黎。", "2026-01-25"),
        ("妈妈说她5号去了医院。", "2026-11-05"),
        ("看了5号的比赛，很精彩。", "2026-11-05"),
        ("2号订的沙发还没送来。", "2026-11-02"),
        ("5号开会了。", "2026-11-05"),
        ("14号我们订婚啦", "2026-11-14"),
        ("He was on holiday from the 3rd.", "2026-11-03"),
        ("10号本来要见小雅，结果她感冒了", "2026-11-10"),
    ],
)
def test_an_event_told_in_the_past_is_past(text: str, day: str) -> None:
    assert (printed(text), attached(text)) == (day, day)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Signed the contract on the 13th, I start on January 4.", "2026-11-13, 2027-01-04"),
        ("Ordered the couch on the 2nd, it is supposed to arrive on the 24th.", "2026-11-02, 2026-11-24"),
        ("The exhibition opened on the 5th and closes on January 10.", "2026-11-05, 2027-01-10"),
        ("13号签了合同，1月4号入职。", "2026-11-13, 2027-01-04"),
        ("2号订的沙发，24号到。", "2026-11-02, 2026-11-24"),
    ],
)
def test_each_day_follows_its_own_clause(text: str, days: str) -> None:
    assert (printed(text), attached(text)) == (days, days)


@pytest.mark.parametrize(
    ("text", "said", "day"),
    [
        ("I saw Anna last Friday.", "2026-11-21", "2026-11-20"),
        ("I saw Anna last Friday.", "2026-11-18", "2026-11-13"),
        ("I went to the dentist last Monday.", "2026-11-19", "2026-11-16"),
        ("Dinner this Monday.", "2026-11-20", "2026-11-23"),
        ("I met him this Monday.", "2026-11-20", "2026-11-16"),
        ("We leave next Friday.", "2026-11-16", ""),
        ("We leave next Friday.", "2026-11-21", "2026-11-27"),
        ("上周五见了她。", "2026-11-21", "2026-11-13"),
        ("上周二去看了牙医。", "2026-11-19", "2026-11-10"),
        ("下周五出发。", "2026-11-16", "2026-11-27"),
        ("On the 15th, dentist.", "2026-11-19", ""),
        ("She proposed on December 24!", "2026-11-19", ""),
        ("She proposed on March 24!", "2026-11-19", "2026-03-24"),
        ("We booked the cabin for November 5.", "2026-11-19", ""),
        ("I finished the draft by November 15.", "2026-11-19", ""),
        ("On the 28th, dentist.", "2026-11-19", "2026-11-28"),
        ("The scan came through, 17 June, quarter past nine.", "2026-04-02", "2026-06-17"),
        ("Dentist sorted, 12 June 3pm.", "2026-04-02", "2026-06-12"),
        ("We signed, 9 December, 10am, at the notary's.", "2026-04-02", "2025-12-09"),
        ("The crash happened 3 July, 8 am.", "2026-04-02", "2025-07-03"),
        ("手术日期下来了，7月3号上午八点。", "2026-04-02", "2026-07-03"),
    ],
)
def test_of_two_readings_the_nearer_one_or_none_is_printed(text: str, said: str, day: str) -> None:
    assert printed(text, datetime.fromisoformat(f"{said}T10:00+00:00")) == day


@pytest.mark.parametrize(
    "text", ["since May 5", "I lived in Rome until May 5.", "at 3 pm", "10月5号以来", "今天起连上五天夜班"]
)
def test_an_open_time_and_a_time_without_a_day_date_no_event(text: str) -> None:
    assert [event_time(one, SAID) for one in mentions(text, SAID)] == [None]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("We postpone it until next week.", "2026-11-23 to 2026-11-29"),
        ("The exhibition is on until Sunday.", "2026-11-22"),
        ("Kavi is staying til Tuesday.", "2026-11-24"),
        ("I stayed there til Tuesday.", ""),
        ("We postpone it until next year.", ""),
        ("The draft has to be ready by the end of November.", "2026-11-30"),
        ("月底前要交报告。", "2026-11-30"),
        ("Slides by 5pm on Friday.", "2026-11-20"),
        ("From June on I work in Bonn.", "2027-06"),
        ("5月8号起我休假。", "2027-05-08"),
        ("They moved the exam from the 24th to the 26th.", "2026-11-26"),
        ("复诊从26号改到28号。", "2026-11-28"),
        ("We meet in March or May.", ""),
        ("I added a clause to my will on November 5.", "2026-11-05"),
        ("He signed his will on Friday.", "2026-11-13"),
        ("Dinner is at noon on the 28th. can you come?", "2026-11-28"),
        ("Let's meet Friday week.", "2026-11-27"),
    ],
)
def test_of_an_open_time_its_next_edge_dates_the_event(text: str, days: str) -> None:
    assert printed(text) == days


def test_in_a_few_days_is_ahead_of_a_booking_and_the_length_of_a_past() -> None:
    assert printed("I got an appointment in 3 days.") == "2026-11-22"
    assert printed("I finished the puzzle in 3 days.") == ""
    assert printed("We lost two hens in a month.") == ""
    assert printed("We'll move in two years.") == "2028"
    assert printed("I'm gone in a month.") == "2026-12"


def test_going_to_a_place_is_a_plan_unless_it_is_told_how_it_was() -> None:
    assert printed("Going to the lakes in October.") == "2027-10"
    assert printed("Going to the lakes in October was lovely.") == "2026-10"
    assert printed("Loved going to the lakes in October.") == "2026-10"


def test_how_often_is_no_day_ahead():
    assert printed("Weevils twice in a month!") == ""
    assert printed("three times in a week, that dog") == ""


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("We close for a fortnight from Monday.", "2026-11-23 to 2026-12-06"),
        ("We were closed for a week from Monday.", "2026-11-16 to 2026-11-22"),
        ("My hen party is the last weekend in May.", "2027-05-29 to 2027-05-30"),
        ("The last week in June is no good.", "2027-06-21 to 2027-06-27"),
    ],
)
def test_a_stretch_ahead_begins_ahead(text: str, days: str) -> None:
    assert printed(text) == days


def test_at_ten_to_six_is_a_clock_and_nine_to_five_are_hours() -> None:
    (arrival,) = named_periods("Her train gets in at ten to six tomorrow.", SAID)
    (hours,) = named_periods("The shop is open at 9 to 5 tomorrow.", SAID)
    assert (arrival.start.hour, arrival.start.minute) == (17, 50)
    assert (hours.start.hour, hours.end.hour) == (9, 17)


def test_spelled_days_of_the_month_and_valentines_are_dates() -> None:
    assert printed("I have to pay by the fifteenth.") == "2026-12-15"
    assert printed("I live on the seventh floor.") == ""
    assert printed("He proposed on Valentine's.") == "2026-02-14"
    assert printed("I fed the neighbours' cat in March.") == "2026-03"


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("I quit smoking eight months ago.", "2026-03"),
        ("We moved here three years ago.", "2023"),
        ("A year and a half ago I broke my wrist.", "2025-05"),
        ("I broke my wrist six weeks ago.", "2026-10-08"),
        ("Two years ago today we met.", "2024-11-19"),
        ("I broke my foot half a month ago.", "2026-11-03"),
        ("我八个月前戒的烟。", "2026-03"),
        ("三年前我们搬到这儿。", "2023"),
    ],
)
def test_a_counted_time_is_as_exact_as_the_unit_it_is_counted_in(text: str, when: str) -> None:
    assert printed(text) == when
    assert attached(text) == when


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Ten days to go until the marathon!", "2026-11-29"),
        ("There are three days to go shopping.", ""),
        ("The exam is five weeks away.", "2026-12-24"),
        ("We spent five weeks away.", ""),
        ("离考试还有二十天。", "2026-12-09"),
        ("离考试只剩二十天了。", "2026-12-09"),
        ("离车站还有两站路。", ""),
    ],
)
def test_a_countdown_names_a_day(text: str, day: str) -> None:
    assert printed(text) == day


def test_new_year_is_the_first_of_january_unless_it_is_wished_or_meant_as_a_year() -> None:
    assert printed("The bakery is shut between Christmas and New Year.") == "2026-12-25 to 2027-01-01"
    assert printed("They're coming for New Year.") == "2027-01-01"
    assert printed("Happy new year!") == printed("I start in the new year.") == ""


def test_about_the_end_of_march_is_no_hour() -> None:
    assert printed("大概三月底交房。") == "2027-03-16 to 2027-03-31"
    assert printed("租约三月底到期。") == "2027-03-16 to 2027-03-31"


@pytest.mark.parametrize(
    ("question", "times"),
    [
        ("What happened three years ago?", "2023"),
        ("What did I do two months ago?", "2026-09"),
        ("What did I do two weeks ago?", "2026-11-02 to 2026-11-08"),
        ("What was I doing this time last year?", "2025-11"),
        ("两个月前我在忙什么", "2026-09"),
        ("去年这个时候我在做什么", "2025-11"),
        ("9号那周有什么事", "2026-12-07 to 2026-12-13"),
        ("过年期间有什么安排", "2027-02-06"),
    ],
)
def test_a_question_asks_for_the_whole_of_the_unit_it_names(question: str, times: str) -> None:
    (time,) = asked(question, SAID, past=" did " in question, ahead="plan" in question or "有什么" in question)
    assert written(time.interval, UTC) == times


@pytest.mark.parametrize("question", ["Anything to do before Christmas?", "圣诞节之前我得做完什么？"])
def test_before_christmas_is_the_next_one_unless_the_question_looks_back(question: str) -> None:
    (ahead,) = asked(question, SAID, past=False, ahead=False)
    (back,) = asked(question, SAID, past=True, ahead=False)
    assert (ahead.interval.end.year, back.interval.end.year) == (2026, 2025)


def test_that_day_after_a_weekday_or_a_feast_tells_no_past() -> None:
    assert printed("周六那天去看房") != printed("周六那天我去看房了")
    assert printed("冬至那天回老家") == "2026-12-22"
