"""The class that a list question asks for, and the lines that name an instance of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memscope import languages
from memscope.languages.questions import instance_terms, item_signs
from memscope.languages.word_lists import entries, read_lists
from memscope.text.terms import terms


@pytest.mark.parametrize(
    ("question", "item", "other"),
    [
        ("Which vegetables did I plant?", "Leeks are in, my back is out", "the fence is painted"),
        ("Which fruits did we make jam from?", "two jars of the cherries left", "the jam pan is scorched"),
        ("What board games have we played?", "lost at Carcassonne", "the boards in the hall creak"),
        ("How many birds did the kids see?", "three goldfinches on the thistles", "Otto saw a lorry"),
        ("What illnesses have the kids had?", "home with chickenpox", "my daughter is nine"),  # not their relatives
        ("Which animals did we see?", "two wolves by the river", "two woofs by the river"),
        ("What jobs did my uncles have?", "both were postmen", "both were posted"),
        ("Which birds came by?", "eleven geese in a row", "eleven gees in a row"),
        ("Name all the plants I own", "repotted the ferns", "sold the car"),
        ("Which animals live near us?", "a heron by the weir", "the neighbours moved"),  # a bird is an animal
        ("Which desserts did I make?", "the panna cotta wobbled", "the cotta was fine"),
        ("我都摸过哪些乐器？", "借了把尤克里里", "借了把雨伞"),
        ("孩子们今年都得过什么病？", "又是手足口", "女儿上学了"),
        ("公司派我去过哪些城市？", "合肥待了两晚", "公司搬家了"),
        ("我见过哪些动物？", "河边站着只白鹭", "河边站着个人"),
        ("我做过哪些菜？", "昨天的酸菜鱼咸了", "昨天加班了"),
    ],
)
def test_an_instance_is_told_from_another_line(question, item, other):
    signs = item_signs(question)
    assert any(sign(item) for sign in signs)
    assert not any(sign(other) for sign in signs)


@pytest.mark.parametrize(
    ("question", "item"),
    [
        ("Which vegetables did I plant?", "the leeks are in"),
        ("Which desserts did I make?", "the panna cotta wobbled"),
        ("我都摸过哪些乐器？", "借了把尤克里里"),
        ("我见过哪些动物？", "两只鹅在河边"),
    ],
)
def test_an_instance_is_searched_for_by_a_term_that_its_lines_have(question, item):
    assert not {*instance_terms(question)}.isdisjoint(terms(item))


@pytest.mark.parametrize("question", ["What did I wreck?", "Who came to visit me?", "我弄坏过什么？", "谁来过？"])
def test_a_question_without_a_class_has_no_signs(question):
    assert item_signs(question) == []
    assert instance_terms(question) == ()


def test_the_words_are_read_with_the_language():
    code = "from memscope.languages.{0} import questions; from memscope.text.terms import terms; terms('which 哪')"
    code += "; import pathlib; pathlib.Path.read_text = None; "
    code += "assert questions.QUESTIONS.classes.asked('{1}')"
    for language, question in (("en", "Which birds?"), ("zh", "哪些鸟？")):
        subprocess.run([sys.executable, "-c", code.format(language, question)], check=True)


@pytest.mark.parametrize(
    ("question", "item", "asks"),
    [
        ("What have I bought for the kitchen?", "ordered new taps", True),
        ("Tell me everything I've lent", "Theo has borrowed the drill", True),
        ("Which presents have I bought?", "ordered new taps", False),
    ],
)
def test_a_question_for_nothing_but_what_was_done_asks_for_lines_that_say_so(question, item, asks):
    assert any(sign(item) for sign in item_signs(question)) == asks


@pytest.mark.parametrize(("code", "which"), [("en", "classes"), ("en", "deeds"), ("zh", "classes")])
def test_each_class_is_found_by_each_of_its_names_and_has_its_words_once(code, which):
    classes = getattr(languages.get(code).questions, which)
    lists = read_lists(classes.file)
    names = [name for heads in lists for name in entries(heads)]
    assert len(names) == len(set(names))
    for heads, words in lists.items():
        assert len(words) == len(set(words))
        instances = {classes.asked(name) for name in entries(heads)}
        assert len(instances) == 1
        only = instances.pop()
        assert [word for word in words if not only.are_in(word.removeprefix("+"))] == []
