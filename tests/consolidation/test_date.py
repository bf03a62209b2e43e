"""When a fact happened: the model proposes, the words of the turn decide."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memscope.dates.iso import brief, parse, written
from memscope.records import Interval

from workbench import fact, noted

SAID = datetime(2024, 5, 8, 21, 10, tzinfo=UTC)  # a Wednesday


def days(first, last=None):
    start = datetime.fromisoformat(first).replace(tzinfo=UTC)
    end = datetime.fromisoformat(last or first).replace(tzinfo=UTC)
    return Interval(start, end + timedelta(days=1))


async def happened(world, said, quote, when, at=SAID):
    await world.say(said, at=at)
    await world.consolidate(noted(fact(said, quote, when=when)))
    return (await world.memories())[-1].happened


@pytest.mark.parametrize(
    "said, quote, when, expected",
    [
        ("I saw Anna yesterday", "I saw Anna yesterday", "2024-05-07", days("2024-05-07")),
        ("I saw Anna yesterday", "I saw Anna yesterday", "2024-05-01", days("2024-05-07")),
        ("I saw Anna yesterday", "I saw Anna yesterday", "", days("2024-05-07")),
        ("I saw Anna yesterday", "I saw Anna", "2024-05-07", days("2024-05-07")),
        ("I saw Anna yesterday", "I saw Anna", "2023-01-01", None),
        ("I saw Anna", "I saw Anna", "2024-05-06", None),
        ("I'm home today. I am vegetarian", "I am vegetarian", "2024-05-08", None),
        ("I like datetime.today()", "I like datetime.today()", "2024-05-08", None),
        ("Run `date --today` for me", "Run `date --today` for me", "2024-05-08", None),
        ("I moved two months ago", "I moved two months ago", "", parse("2024-03", UTC)),
        ("I moved two months ago", "I moved two months ago", "2024-03-08", parse("2024-03", UTC)),
        ("I quit three years ago", "I quit three years ago", "", parse("2021", UTC)),
        ("I quit half a year ago", "I quit half a year ago", "", parse("2023-11", UTC)),
        ("I saw Anna last Friday", "I saw Anna last Friday", "2024-05-03", days("2024-05-03")),
        ("We marry on my birthday", "We marry on my birthday", "2024-06-12", days("2024-06-12")),
        ("I made a booking for the 28th", "I made a booking for the 28th", "2024-05-27", days("2024-05-28")),
        ("我订了28号的酒店", "我订了28号的酒店", "2024-04-27", days("2024-05-28")),
        ("I had surgery on the 28th", "I had surgery on the 28th", "2024-05-27", days("2024-04-28")),
        ("It feels like yesterday that we met", "It feels like yesterday that we met", "2024-05-07", None),
        ("At the moment I like tea", "At the moment I like tea", "", None),
        ("两年前我去了上海", "两年前我去了上海", "", parse("2022", UTC)),
        ("我是素食者", "我是素食者", "2024-05-08", None),
        ("I've been vegetarian for years", "I've been vegetarian for years", "2024-05-08", None),
        ("我吃素好多年了", "我吃素好多年了", "2024-05-08", None),
        ("去年冬至那天他走了", "去年冬至那天他走了", "2023-12-22", days("2023-12-22")),
        ("五一那天我就戒了，到今天没碰", "五一那天我就戒了", "2024-05-01", days("2024-05-01")),
        ("他今年十二了", "他今年十二了", "", None),
        ("My class is on Thursday", "My class is on Thursday", "", None),
        ("My class is on Thursday", "My class is on Thursday", "2024-05-09", days("2024-05-09")),
        ("I want to be fit before July", "fit before July", "2024-07-01", days("2024-07-01")),
        ("I saw Anna", "I saw Anna", "", None),
        ("We met two weeks ago", "We met two weeks ago", "2024-04-24", days("2024-04-24")),
        ("The party is on July 5, 2023", "The party is on July 5, 2023", "July 5", days("2023-07-05")),
        ("Since 2019 I work here", "Since 2019 I work here", "2019", parse("2019", UTC)),
        ("我昨天见到小安", "我昨天见到小安", "2024-05-08", days("2024-05-07")),
        ("I saw Anna", "I saw Anna", "recently", None),
        ("I saw Anna", "I saw Anna", "2024-13-45", None),
        ("I saw Anna", "I saw Anna", "2024-05-07/2024-05-01", None),
        ("I saw Anna", "I saw Anna", "99999", None),
    ],
)
async def test_defects_11_and_14_rules_confirm_or_correct(world, said, quote, when, expected):
    assert await happened(world, said, quote, when) == expected


@pytest.mark.parametrize("day", ["2024-05-03", "2024-05-10"])
async def test_last_friday_said_on_a_weekend_is_either_of_two(world, day):
    sunday = datetime(2024, 5, 12, 10, tzinfo=UTC)
    assert await happened(world, "I saw Anna last Friday", "I saw Anna last Friday", day, sunday) == days(day)


@pytest.mark.parametrize(("month", "year"), [(1, 2024), (6, 2025), (11, 2025)])
async def test_a_deadline_without_a_year_is_the_next_one(world, month, year):
    said, at = "The report is due by March 31", datetime(2024, month, 15, 10, tzinfo=UTC)
    assert await happened(world, said, said, f"{year}-03-31", at) == days(f"{year}-03-31")


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("The report is due by March 31", "2023-03-31"),
        ("I have to hand in the report before March 31", "2024-03-30"),
        ("报告3月31日之前必须交", "2024-03-31"),
    ],
)
async def test_a_day_of_an_earlier_year_is_no_deadline(world, said, wrong):
    at = datetime(2024, 11, 15, 10, tzinfo=UTC)
    assert await happened(world, said, said, wrong, at) is None
    assert await happened(world, said, said, "2025-03-30", at) == days("2025-03-30")


async def test_what_was_done_before_a_day_may_be_of_any_year(world):
    said, at = "I lived in Rome before May 5", datetime(2024, 11, 15, 10, tzinfo=UTC)
    assert await happened(world, said, said, "2022", at) == parse("2022", UTC)


async def test_t24_two_years_later_yesterday_is_still_the_day_before_it_was_said(world):
    then = datetime(2022, 3, 1, 10, tzinfo=UTC)
    assert await happened(world, "I quit yesterday", "I quit yesterday", "2026-11-04", at=then) == days("2022-02-28")


async def test_a_fact_holds_from_when_it_happened_where_the_words_say_it(world):
    await happened(world, "I moved last month", "I moved last month", "")
    await happened(world, "I like tea", "I like tea", "")
    first, second = await world.memories()
    assert first.valid_from == datetime(2024, 4, 1, tzinfo=UTC)
    assert second.valid_from is None


async def test_what_ends_on_a_day_does_not_begin_on_it(world):
    await happened(world, "I work here until July", "I work here until July", "2024-05-08/2024-06-30")
    (memory,) = await world.memories()
    assert (memory.happened, memory.valid_from) == (days("2024-05-08", "2024-06-30"), None)


async def test_what_is_repeated_keeps_its_rule(world):
    await happened(world, "I swim every Tuesday", "I swim every Tuesday", "")
    await happened(world, "My birthday is on June 5th", "My birthday is on June 5th", "")
    await happened(world, "I like tea", "I like tea", "")
    rules = [memory.data.get("recurs") for memory in await world.memories()]
    assert rules == [
        {"freq": "week", "interval": 1, "weekdays": [1]},
        {"freq": "year", "interval": 1, "month": 6, "day": 5},
        None,
    ]


async def test_parts_of_an_event_follow_its_date_and_what_is_so_does_not(world):
    await world.say("We went camping yesterday. Tim fell into the lake! He is a good swimmer. Eva stayed away", at=SAID)
    await world.consolidate(
        noted(
            fact("The user went camping yesterday.", "We went camping yesterday", when="2024-05-07"),
            fact("Tim fell into the lake.", "Tim fell into the lake", when="2024-05-07", about="Tim"),
            fact("Tim is a good swimmer.", "He is a good swimmer", when="2024-05-07", about="Tim"),
            fact("Eva stayed away.", "Eva stayed away", about="Eva"),
        )
    )
    assert [memory.happened for memory in await world.memories()] == [days("2024-05-07")] * 2 + [None] * 2


@pytest.mark.parametrize(
    "said, noted_as, expected",
    [
        ("Yesterday my vegetarian sister came", "The user's sister is vegetarian.", None),
        ("Yesterday I told him that I love jazz", "The user loves jazz.", None),
        (
            "Yesterday I told him that I love jazz",
            "The user told him yesterday that they love jazz.",
            days("2024-05-07"),
        ),
        ("Yesterday I was told I'm allergic to nuts", "The user is allergic to nuts.", None),
        ("I have an appointment at the dentist on May 9", "The user has a dentist's appointment.", days("2024-05-09")),
        ("昨天我吃素的姐姐来了", "用户的姐姐吃素。", None),
        ("昨天我跟他说我喜欢爵士乐", "用户喜欢爵士乐。", None),
        ("5月9日我要去看牙医", "用户要去看牙医。", days("2024-05-09")),
    ],
)
async def test_a_timeless_fact_has_no_date_whatever_else_its_words_tell_of(world, said, noted_as, expected):
    await world.say(said, at=SAID)
    when = "2024-05-09" if "9" in said else "2024-05-07"
    await world.consolidate(noted(fact(noted_as, said, when=when)))
    assert [memory.happened for memory in await world.memories()] == [expected]


@pytest.mark.parametrize(
    "said, noted_as, when, stored",
    [
        ("I saw Anna yesterday", "The user saw Anna yesterday (2024-05-07).", "2024-05-07", "yesterday (2024-05-07)."),
        ("I saw Anna yesterday", "The user saw Anna yesterday (2024-05-01).", "2024-05-01", "yesterday (2024-05-07)."),
        ("I moved two months ago", "The user moved two months ago (2024-01).", "", "two months ago (2024-03)."),
        ("I quit recently", "The user quit recently (2024-05-01).", "2024-05-01", "The user quit recently."),
        ("I like Nevermind (1991)", "The user likes Nevermind (1991).", "", "The user likes Nevermind (1991)."),
        ("我昨天见到小安", "用户昨天（2024-05-01）见到小安。", "2024-05-01", "用户昨天（2024-05-07）见到小安。"),
    ],
)
async def test_the_date_beside_the_words_is_the_confirmed_one(world, said, noted_as, when, stored):
    await world.say(said, at=SAID)
    await world.consolidate(noted(fact(noted_as, said, when=when)))
    assert (await world.texts())[0].endswith(stored)


@pytest.mark.parametrize("text", ["2024", "2024-05", "2024-05-07", "2024-05-07/2024-05-09", "2024-12-31/2025-01-01"])
def test_intervals_are_written_briefly(text):
    assert brief(parse(text, UTC)) == text


@pytest.mark.parametrize("text", ["2024-05-07", "2024-05-07/2024-05-09", "2024-12-31/2025-01-01"])
def test_intervals_are_written_as_they_are_read(text):
    interval = parse(text, UTC)
    assert interval is not None
    assert written(interval) == text


def test_months_and_years_end_where_the_next_begin():
    assert written(parse("2024-02", UTC)) == "2024-02-01/2024-02-29"
    assert written(parse("2023", UTC)) == "2023-01-01/2023-12-31"
    assert parse("2024-12", UTC) == days("2024-12-01", "2024-12-31")
    assert parse("2024-05-07T18:30", UTC).end - parse("2024-05-07T18:30", UTC).start == timedelta(minutes=1)


# ------------------------------------------------------------------------------------- a question and its answer

READING = "I went to a poetry reading last Fri - it was great! Ever been to one?"
ASKED_AND_ANSWERED = [
    # question, answer, fact, proposed, expected
    (READING, "Nope, never been", "Bea has never been to a poetry reading.", "", None),
    (READING, "Nope, never been", "Bea has never been to a poetry reading.", "2024-05-03", None),
    (READING, "Yes, I go a lot", "Bea goes to poetry readings.", "", None),
    (
        "Did you see Tom yesterday?",
        "No, I stayed in",
        "Bea did not see Tom yesterday.",
        "2024-05-07",
        days("2024-05-07"),
    ),
    ("Did you see Tom yesterday?", "Yes!", "Bea saw Tom yesterday.", "2024-05-07", days("2024-05-07")),
    ("How was Rome?", "No rain since Monday", "Bea had no rain since Monday.", "2024-05-06", days("2024-05-06")),
    ("How was Rome?", "I did not go last week", "Bea did not go to Rome.", "", days("2024-04-29", "2024-05-05")),
    ("我昨天去听了诗歌朗诵！你去过吗？", "没有，从来没去过", "小贝从没听过诗歌朗诵。", "2024-05-07", None),
    ("我昨天去听了诗歌朗诵！你去过吗？", "没有，从来没去过", "小贝从没听过诗歌朗诵。", "", None),
    ("你昨天见到小明了吗？", "见到了", "小贝昨天见到了小明。", "2024-05-07", days("2024-05-07")),
]


@pytest.mark.parametrize(("asked", "answered", "noted_as", "when", "expected"), ASKED_AND_ANSWERED)
async def test_a_question_dates_no_denial_and_nothing_that_was_not_proposed(
    world, asked, answered, noted_as, when, expected
):
    await world.say(asked, at=SAID, role="person", speaker="Ann")
    await world.say(answered, at=SAID + timedelta(minutes=1), role="person", speaker="Bea")
    told = fact(noted_as, (1, asked), (2, answered), when=when, about="Bea")
    await world.consolidate(noted(told, levels=[0, 3]))
    assert [memory.happened for memory in await world.memories()] == [expected]


@pytest.mark.parametrize(
    ("asked", "answered", "told", "denied"),
    [
        (READING, "Nope, never been", "Ann went to a poetry reading last Fri.", "Bea never saw one."),
        ("我昨天去听了诗歌朗诵！你去过吗？", "没有，从来没去过", "小安昨天去听了诗歌朗诵。", "小贝从没听过。"),
    ],
)
async def test_a_denial_follows_no_event_of_the_question(world, asked, answered, told, denied):
    await world.say(asked, at=SAID, role="person", speaker="Ann")
    await world.say(answered, at=SAID + timedelta(minutes=1), role="person", speaker="Bea")
    when = "2024-05-03" if told.startswith("Ann") else "2024-05-07"
    facts = [fact(told, (1, asked), when=when, about="Ann")]
    facts += [fact(denied, (1, asked), (2, answered), when=when, about="Bea")]
    await world.consolidate(noted(*facts, levels=[3, 3]))
    assert [memory.happened for memory in await world.memories()] == [days(when), None]


async def test_a_denial_recurs_on_no_day_of_the_question(world):
    await world.say("Do you swim every Tuesday?", at=SAID, role="person", speaker="Ann")
    await world.say("No, never.", at=SAID + timedelta(minutes=1), role="person", speaker="Bea")
    told = fact("Bea never swims.", (1, "Do you swim every Tuesday?"), (2, "No, never"), about="Bea")
    await world.consolidate(noted(told, levels=[0, 3]))
    assert [memory.data for memory in await world.memories()] == [{}]
