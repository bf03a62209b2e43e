"""Short forms of a person's name join the one full name that they can be short for."""

from __future__ import annotations

import pytest

from memscope.entities.grouping import Spelling, group

ONE = [
    ("Mel", "Melanie"), ("Deb", "Deborah"), ("Cal", "Calvin"), ("Ben", "Benjamin"), ("Tim", "Timothy"),
    ("Nat", "Natalie"), ("Vic", "Victoria"),
    ("Seb", "Sebastian"), ("Matt", "Matthew"), ("Greg", "Gregory"), ("Jess", "Jessica"),
    ("Sam", "Samantha"), ("Dan", "Daniel"), ("Max", "Maximilian"), ("Chris", "Christopher"), ("Steph", "Stephanie"),
    ("Fred", "Frederick"), ("Alex", "Alexandra"), ("Anna", "Anna Schmidt"), ("小芳", "王小芳"), ("小芳", "欧阳小芳"),
]  # fmt: skip
TWO = [
    ("Ann", "Anna"), ("Carl", "Carla"), ("Jon", "Jonas"), ("Dan", "Dana"), ("Carol", "Caroline"), ("Frank", "Franklin"),
    ("Joseph", "Josephine"), ("Robert", "Roberta"), ("Eric", "Erica"), ("Martin", "Martina"), ("Daniel", "Danielle"),
    ("Gabriel", "Gabrielle"), ("Marie", "Marietta"), ("Ed", "Edward"), ("Kim", "Kima"), ("小芳", "小芳芳"),
]  # fmt: skip


def people(*names):
    """Groups of persons with these names, each by its forms."""
    spellings = {name.casefold(): Spelling() for name in names}
    for spelling, name in zip(spellings.values(), names, strict=True):
        spelling.kinds["person"] = spelling.places[0] = spelling.texts[name] = 1
        spelling.reshape()
    return sorted(sorted(one.forms) for one in group(spellings, []))


@pytest.mark.parametrize(("short", "full"), ONE)
def test_a_name_cut_short_is_one_with_the_full_name(short, full):
    assert people(short, full) == [sorted((short.casefold(), full.casefold()))]


@pytest.mark.parametrize(("short", "full"), TWO)
def test_names_that_begin_alike_are_two(short, full):
    assert len(people(short, full)) == 2


def test_a_short_form_of_two_people_is_neither():
    assert people("Sam", "Samuel", "Samantha") == [["sam"], ["samantha"], ["samuel"]]


def test_a_first_name_is_no_other_name_cut_short():
    assert people("Anna", "Anna Schmidt", "Annabel") == [["anna", "anna schmidt"], ["annabel"]]


def test_a_short_form_and_the_first_name_join_the_whole_name():
    assert people("Mel", "Melanie", "Melanie Brown") == [["mel", "melanie", "melanie brown"]]
    assert people("Mel", "Melanie", "Melanie Brown", "Melanie Lee") == [
        ["mel"], ["melanie"], ["melanie brown"], ["melanie lee"],
    ]  # fmt: skip
