"""The grammar of Chinese questions about one past event, which leave the user out, unlike those about the world."""

from __future__ import annotations

import pytest

from memscope import languages
from memscope.languages.requests import need


def _recalls(message: str) -> bool:
    return any(one.questions.recalls.search(message) for one in languages.of(message))


@pytest.mark.parametrize(
    "message",
    [
        "谁寄的明信片",  # who did it
        "头盔是几号丢的",  # when, or where, it was done
        "浴霸是哪里接的线",
        "订的什么口味",  # what was done
        "风筝取下来没有",  # whether it was done
        "补胎花了多少",
        "面霜试过几款",
        "行李寄存在哪个柜子",  # where something was left
        "雨伞在谁那",
        "查出什么没",
        "牙龈后来还肿吗",  # what came of it
        "那把伞怎么样",
        "第一次爬山是几月",
    ],
)
def test_a_question_about_one_past_event_may_be_about_the_user(message: str) -> None:
    assert _recalls(message)


@pytest.mark.parametrize(
    "message",
    [
        "头盔一般什么时候换",
        "长毛象最后一次出现在哪个世纪",
        "人类第一次登月是几月",
        "青霉素是谁发明的",
        "那个词怎么读",
        "海水为什么是咸的",
        "补胎要多少钱",
        "皇帝后来去哪了",
        "冬天开车容易打滑吗",
        "我的头盔是几号丢的",  # the user's in any case
    ],
)
def test_a_question_about_the_world_or_in_general_recalls_nothing(message: str) -> None:
    assert not _recalls(message)


@pytest.mark.parametrize("message", ["袋鼠吃什么", "刺猬和豪猪爱吃什么", "企鹅能吃什么"])
def test_what_an_animal_eats_is_no_choice(message: str) -> None:
    assert need(message) in {"world", "kind"}


def test_what_to_eat_is_a_choice() -> None:
    assert need("晚上吃什么") == need("下了夜班喝点什么") == "user"


@pytest.mark.parametrize("message", ["巴黎现在几点", "今天星期几？", "今天是几月几号"])
def test_the_time_of_day_and_the_date_need_no_memory(message: str) -> None:
    assert need(message) == "task"


@pytest.mark.parametrize("message", ["诊所现在几点开门", "今天几点开会"])
def test_the_hour_of_something_may_need_memory(message: str) -> None:
    assert need(message) != "task"
