"""Standing wishes for the form of all answers, by their wording alone."""

from __future__ import annotations

import pytest

from memscope.languages.flags import wishes
from memscope.languages.requests import need, wishes_heeded
from memscope.text.tokens import pieces


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Thanks, and ditch the headings, I scroll too much", "manner"),
        ("I'm knitting, so could you stick to a few lines", "manner"),  # a polite question that asks for a form
        ('Enough of the "stay positive" stuff, I am ninety', "manner"),
        ("I'm reading this aloud, keep the sentences plain", "manner"),
        ("Amounts in crores, we farm on a large scale", "measure"),
        ("Never round, our auditor counts each penny", "measure"),
        ("I was on the night desk again, so no tables or lists please, that screen is as small as a stamp", "manner"),
        ("could you keep it to a couple of lines, I was told off for reading at the till and that was that", "manner"),
        ("Stick to British spelling", "manner"),
        ("回话短点嘛，我骑着车", "manner"),
        ("莫跟我打官腔，听不惯", "manner"),
        ("稿子莫加标题，一条一条来就行", "manner"),
        ("账上金额都按元写，别四舍五入", "measure"),
        ("叫老赵就行，别客气", "manner"),
        ("别一上来就夸我，先挑毛病", "manner"),
        ("先给结论，再讲为啥", "manner"),
    ],
)
def test_a_wish_for_a_form_is_known_by_what_it_asks_of_answers(text: str, kind: str) -> None:
    assert kind in wishes(text, pieces(text))


@pytest.mark.parametrize(
    "text",
    [
        "The headings in that newspaper are huge",
        "Please list the American banks with the best rates",
        "Please add a summary to your previous answer",
        "No chance of a seat, don't want to miss the start",
        "could you draft an email to the gym with bullet points about the broken shower, they never pick up",
        "Give him the speech in plain words",
        "老师让我说话慢点，别抢拍",
        "他家标题写得真长",
        "晚饭叫个外卖就行",
        "别再跟我提那个前男友了",
        "他先说要来，后来又不来",
    ],
)
def test_a_form_in_a_report_or_for_somebody_else_is_no_wish(text: str) -> None:
    assert wishes(text, pieces(text)) == ("content",)


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ("How much plaster covers the ceiling?", ("measure",)),
        ("石膏多少能抹一面墙", ("measure",)),
        ("彩票是咋个样开奖的", ("manner",)),
        ("Our goldfish died overnight.", ("manner",)),
        ("Compose a toast for the harbour master", ("manner",)),
        ("排练又砸了，心里难受", ("manner",)),
        ("Why does this fail: for k in keys(3) print(k)", ("code",)),
        ("写一段Python代码，读取CSV", ("code",)),
    ],
)
def test_grief_and_texts_heed_wishes_of_manner_and_code_those_about_programs(
    message: str, kinds: tuple[str, ...]
) -> None:
    assert wishes_heeded(message, need(message)) == kinds
