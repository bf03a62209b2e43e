"""Words of time that name no time, beside the same words that do."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memscope.dates import mentions

NOW = datetime(2023, 11, 15, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("figurative", "literal"),
    [
        ("the meeting lasted 2:15", "the meeting began at 2:15"),
        ("the video is 12:30 long", "the video starts at 12:30"),
        ("游泳用时3:45", "我们3:45出发"),
        ("half of it, 1/2 cup of milk", "we met on 1/2"),
        ("she is in her thirties", "that was in the 1930s"),
        ("the class of 2012 met", "we met in 2012"),
        ("Saturday Night Fever was on", "Saturday night was fun"),
        ("Halloween is my favourite film", "Halloween is fun"),
        ("昨日重现是首歌", "昨日他来了"),
        ("April is my sister", "April is my favourite month"),
        ("surgery at the Jan Palfijn hospital", "surgery at the hospital in Jan"),
        ("June Carter sang", "in June Carter sang"),
        ("I had lunch with April Thompson", "we moved in April Thompson helped"),
        ("国庆是我弟弟", "国庆我去找弟弟"),
        ("a Christmas tree", "Christmas with my aunt"),
        ("I sell Christmas ornaments", "I sing at the Christmas party"),
        ("我主要卖圣诞装饰品", "圣诞晚会我要唱歌"),
        ("国庆礼物都买好了", "国庆球赛我上场"),
        ("Sunday school", "Sunday we go to school"),
        ("tomorrow is another day", "tomorrow is another exam"),
        ("she was born yesterday", "she came yesterday"),
        ("yesterday, today and tomorrow", "I was ill yesterday and today"),
        ("it feels like a Monday", "we met on Monday"),
        ("Wednesday Addams is her favourite", "Wednesday Anna came"),
        ("any Friday would do", "Friday's meeting"),
        ("we meet the last Friday", "we met the last Friday of October"),
        ("the choir sings on the last Sunday", "the choir sang last Sunday"),
        ("今天的年轻人", "今天的会议"),
        ("我有三点要说", "我三点要走"),
        ("先天和后天", "明天和后天"),
        ("我住在码头路4号，楼下是五金店", "我们一路4号到家"),
        ("the gym is open except Friday", "the gym is open except next Friday"),
        ("any day but Tuesday works, see you", "Tuesday works, see you"),
        ("保洁会来，周五除外", "保洁周五来"),
        ("除了周三我都来", "我周三来"),
        ("我是七号塔的司机", "我七号上塔吊"),
        ("2号高炉停了，4号选手受伤", "2号交房"),
        ("95号汽油涨价", "9号机票涨价"),
        ("公司搬到花园街12号了", "他们12号搬到花园街"),
        ("车停在万达B2的C区17号，别忘了", "我们去C区，17号出发"),
        ("宿舍是4栋12号", "12号搬到4栋"),
        ("他住3单元16号", "16号交3单元的钥匙"),
        ("停车位是21号", "停车位21号到期"),
    ],
)
def test_a_figure_of_speech_names_no_time(figurative: str, literal: str) -> None:
    assert [one.text for one in mentions(figurative, NOW)] == []
    assert mentions(literal, NOW)


def test_a_part_of_a_century_is_not_the_century() -> None:
    assert mentions("a house of the 19th century", NOW)
    assert not mentions("a house of the late 19th century", NOW)
    assert not mentions("十九世纪末的房子", NOW)
