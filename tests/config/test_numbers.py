"""Numbers in settings that have no measure: infinite, or of thousands of digits, in every notation of YAML."""

from __future__ import annotations

import pytest

from memscope.config.settings import load
from memscope.errors import ConfigError


def written(tmp_path, text):
    file = tmp_path / "memscope.yaml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("number", [".inf", ".nan", "-.inf", "1e300", "9" * 400])
@pytest.mark.parametrize(
    "name", ["lease_s", "retry_s", "batch_turns", "limits: {text", "plugins: {deadline_s", "chat: {model: m, breaker_s"]
)
def test_a_number_without_measure_is_refused(tmp_path, name, number):
    file = written(tmp_path, f"{name}: {number}{'}' * name.count('{')}\n")
    with pytest.raises(ConfigError, match=r"line 1 .*"):
        load(file, environ={})


FIVE_THOUSAND = {
    "decimal": "9" * 5000,
    "negative": "-" + "9" * 5000,
    "fraction": "9" * 5000 + ".5",
    "grouped": "9_" * 2500 + "9",
    "hexadecimal": "0x" + "f" * 5000,
    "octal": "0" + "7" * 5000,
    "binary": "0b" + "1" * 20_000,
    "sexagesimal": ":".join(["59"] * 2500),
    "sexagesimal fraction": ":".join(["59"] * 2500) + ".5",
    "exponent": "1.0e+" + "9" * 5000,
}


@pytest.mark.parametrize("notation", FIVE_THOUSAND)
@pytest.mark.parametrize(
    "name",
    [
        "batch_turns",
        "lease_s",
        "store",
        "timezone",
        "approve",
        "nothing",
        "chat: {model",
        "chat: {model: m, parameters: {a",
        "chat: {budget: {calls_per_day",
        "elasticsearch: {replicas",
    ],
)
def test_a_number_of_five_thousand_digits_is_a_line_to_mend(tmp_path, name, notation):
    file = written(tmp_path, f"{name}: {FIVE_THOUSAND[notation]}{'}' * name.count('{')}\n")
    with pytest.raises(ConfigError, match=r"line 1 of ") as caught:
        load(file, environ={})
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "given",
    [
        {"batch_turns": 10**5000},
        {"lease_s": -(10**5000)},
        {"store": 10**5000},
        {10**5000: "x"},
        {"9" * 5000: "x"},
        {"chat": {"model": "m", "parameters": {"a": 10**5000}}},
        {"chat": {"model": "m", "parameters": {10**5000: "a"}}},
        {"elasticsearch": {"replicas": -(10**5000)}},
    ],
    ids=range(8),
)
def test_an_argument_of_five_thousand_digits_is_refused(given):
    with pytest.raises(ConfigError, match="settings argument") as caught:
        load(given, environ={})
    assert len(str(caught.value)) < 600
