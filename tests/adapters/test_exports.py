"""Names of an adapter's package are lazy; a framework that is missing or too old is one typed error."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest

from memscope.adapters.exports import WrongFramework, load_name, require_version

HOMES = {"JSONDecoder": "decoder"}


def test_a_name_comes_from_its_module_and_stays():
    found = load_name("json", HOMES, "JSONDecoder", extra="autogen", requirement="pydantic>=2.7")
    assert found is json.JSONDecoder


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="'json' has no attribute 'Nobody'"):
        load_name("json", HOMES, "Nobody", extra="autogen", requirement="pydantic>=2.7")


def test_a_framework_that_is_missing_says_what_to_install():
    with pytest.raises(
        WrongFramework, match=r"nobody-has-this is not installed; run pip install \./core \./adapters/autogen"
    ):
        require_version("nobody-has-this>=1.0", extra="autogen")


def test_a_framework_that_is_too_old_says_what_to_install():
    with pytest.raises(WrongFramework, match=rf'{version("pydantic")} is too old .*pip install "pydantic>=99.1"'):
        require_version("pydantic>=99.1", extra="autogen")


def test_versions_are_compared_by_number():
    require_version("pydantic>=2.7", extra="autogen")
    require_version(f"pydantic>={version('pydantic')}", extra="autogen")
