"""Languages are registered once: by their place, so that a repeated registration is none."""

from __future__ import annotations

import pytest

from memscope.errors import ConfigError
from memscope.languages import register, registered


def test_two_plugins_may_not_register_one_language():
    codes = [one.code for one in registered()]
    with pytest.raises(ConfigError, match="'en'"):
        register("en", "another.place:ENGLISH")
    assert [one.code for one in registered()] == codes
