"""Rows of the rules that few sentences need, each in a sentence that is read otherwise without it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memscope.dates.mentions import event_time, mentions

SAID = datetime(2026, 2, 18, 12, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(("text", "starts"), [
    ("I work between 5pm and 7 today.", "2026-02-18 17:00"),
    ("Bus leaves 6 45 today.", "2026-02-18 18:45"),
    ("Meet at 5ish tomorrow.", "2026-02-19 17:00"),
    ("Let's meet tomorrow at 7.30.", "2026-02-19 07:30"),
    ("Friday in the morning at 9 I see the dentist.", "2026-02-20 09:00"),
    ("I am busy 9 to 11 tomorrow night.", "2026-02-19 21:00"),
    ("Between 7 and 9 in the evening on Friday I teach.", "2026-02-20 19:00"),
    ("From 9 to 11 on Friday I'm out.", "2026-02-20 09:00"),
    ("Later this afternoon I see Kim.", "2026-02-18 14:00"),
    ("Early tonight we eat.", "2026-02-18 20:00"),
    ("Sat evening works for me.", "2026-02-21 16:00"),
    ("Next Sat we swim.", "2026-02-28 00:00"),
    ("Let us do Friday 27.", "2026-02-27 00:00"),
    ("I'm paid on the 15.", "2026-03-15 00:00"),
    ("The party is on March, 5th.", "2026-03-05 00:00"),
    ("This month 5th we go.", "2026-02-05 00:00"),
    ("5th next month I travel.", "2026-03-05 00:00"),
    ("2024, week 12 was busy.", "2024-03-18 00:00"),
    ("I lived there 2019-now.", "2019-01-01 00:00"),
    ("Last year's first month was cold.", "2025-01-01 00:00"),
    ("Last week's Monday was hell.", "2026-02-09 00:00"),
    ("Three weeks hence we move.", "2026-03-11 00:00"),
    ("Finish it within 3 days.", "2026-02-18 00:00"),
    ("For three days, from Friday, I am away.", "2026-02-20 00:00"),
    ("The year to date was fine.", "2026-01-01 00:00"),
    ("From now till Friday I'm off.", "2026-02-18 00:00"),
    ("明天8点30开会。", "2026-02-19 08:30"),
    ("明天八点差五分见。", "2026-02-19 07:55"),
    ("前三天我在家。", "2026-02-15 00:00"),
    ("后三天我在家。", "2026-02-19 00:00"),
    ("三天之内完成。", "2026-02-18 00:00"),
    ("2023-2024年我在上海。", "2023-01-01 00:00"),
    ("3月底之前交。", "2026-03-31 00:00"),
    ("下个月底之前交房租。", "2026-03-31 00:00"),
    ("两个半月前我搬家了。", "2025-12-03 00:00"),
    ("两个季度前我搬家了。", "2025-08-18 00:00"),
    ("今年的最后三天我在家。", "2026-12-29 00:00"),
    ("周一和周五之间有空。", "2026-02-16 00:00"),
    ("I still have photos from the 2022 May 21 wedding.", "2022-05-21 00:00"),
    ("Passport issued Jan.17.2025.", "2025-01-17 00:00"),
    ("Signed on Feb.3.2024 in Leeds.", "2024-02-03 00:00"),
    ("Tomorrow 8 30 works.", "2026-02-19 08:30"),
    ("Friday 7 15 suits me fine.", "2026-02-20 07:15"),
    ("Tomorrow 8 30 minute talks are planned.", "2026-02-19 00:00"),
    ("Next month, Friday the 6th, is the gig.", "2026-03-06 00:00"),
    ("It happened on Monday the 5th of last month.", "2026-01-05 00:00"),
    ("They may 3 times a day feed the cat.", None),
    ("五一那天我们去爬山了。", "2025-05-01 00:00"),
    ("明年十一那天办婚礼。", "2027-10-01 00:00"),
    ("六一当天学校放假。", "2026-06-01 00:00"),
    ("Dinner is 7 on Friday evening.", "2026-02-20 19:00"),
    ("The bus leaves 8 30 in the morning tomorrow.", "2026-02-19 08:30"),
    ("Early in the morning tomorrow we leave.", "2026-02-19 08:00"),
    ("Early this evening we eat.", "2026-02-18 16:00"),
    ("Tomorrow at 8 30 we start.", "2026-02-19 08:30"),
    ("Tomorrow at 8-30 we start.", "2026-02-19 08:30"),
    ("Tomorrow around 5-6 I'm home.", "2026-02-19 17:00"),
    ("Tomorrow at 5, I call you.", "2026-02-19 17:00"),
    ("From three thirty to four thirty on Friday I teach.", "2026-02-20 15:30"),
    ("I am free 7 to 9 in the evening tomorrow.", "2026-02-19 19:00"),
    ("Tomorrow 8 30 p.m. works.", "2026-02-19 20:30"),
    ("On Friday evening at 7 we eat.", "2026-02-20 19:00"),
    ("I'm off in the w/c March 5.", "2026-03-02 00:00"),
    ("The week after May 5 I am off.", "2026-05-11 00:00"),
    ("Mid today it rains.", "2026-02-18 10:00"),
    ("Beginning March 5 I work nights.", "2026-03-05 00:00"),
    ("After tomorrow noon I'm off.", "2026-02-19 00:00"),
    ("我明天五点和六点之间到。", "2026-02-19 17:00"),
    ("明天8点30分20秒发射。", "2026-02-19 08:30"),
    ("一刻钟后出发。", "2026-02-18 12:15"),
    ("明天早上到下午三点我在公司。", "2026-02-19 08:00"),
    ("已预约至2026-02月底。", "2026-02-16 00:00"),
    ("农历2023年8月15我们赏月。", None),
    ("2019年2月29日-3月1日我在家。", None),
    ("2024年2月30日交付。", None),
    ("2024年13月我去。", None),
])  # fmt: skip
def test_a_sentence_that_few_rows_read(text, starts):
    times = [time for mention in mentions(text, SAID) if (time := event_time(mention, SAID))]
    assert [f"{time.start:%Y-%m-%d %H:%M}" for time in times] == ([starts] if starts else [])
