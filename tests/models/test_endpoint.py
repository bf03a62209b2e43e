"""An endpoint that cannot work is refused where it is written down, and keys stay where they were put."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from pydantic import SecretStr

from memscope.errors import ConfigError
from memscope.models.endpoint import PATHS, Endpoint, checked_url, endpoint, presets

KEY = "sk-cnry-0123456789"
NAMES = ("azure", "cohere", "dashscope", "jina", "lmstudio", "ollama", "openai", "siliconflow", "vllm")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://me:hunter2@host/v1", "password"),
        ("https://me@host/v1", "password"),
        ("file:///etc/passwd", "http:// or https://"),
        ("ftp://host/v1", "http:// or https://"),
        ("host/v1", "http:// or https://"),
        ("localhost:8000/v1", "http:// or https://"),
        ("http:///v1", "http:// or https://"),
        ("", "http:// or https://"),
        ("http://host:port/v1", "no address"),
        ("http://ho st/v1", "no address"),
        ("http://host/v1\r\nX: y", "no address"),
        ("https://host/v1?key=hunter2", "query"),
        ("https://host/v1#x", "query"),
        ("http://169.254.169.254/v1", "link-local"),
        ("http://[fe80::1]/v1", "link-local"),
        ("http://metadata.google.internal/v1", "link-local"),
        ("https://host/v1/chat/completions", "use 'https://host/v1'"),
        ("https://host/v1/chat/completions/", "use 'https://host/v1'"),
        ("https://host/v1/embeddings", "use 'https://host/v1'"),
        ("https://host/v1/rerank", "use 'https://host/v1'"),
    ],
)
def test_refuses_an_address_and_says_why(url: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Endpoint(model="m", base_url=url)
    assert message in str(caught.value)
    assert "hunter2" not in f"{caught.value!r} {vars(caught.value)}"


@pytest.mark.parametrize(
    "url", ["http://localhost:11434/v1", "https://[::1]:8000/v1", "http://10.0.0.7", "https://主机.cn/v1"]
)
def test_takes_an_address_with_or_without_a_final_slash(url: str) -> None:
    assert checked_url(url) == checked_url(f" {url}/ ") == url


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": " "},
        {"deadline_s": 0},
        {"attempts": -1},
        {"concurrency": 0},
        {"first_pause_s": float("nan")},
        {"parameters": {"model": "gpt-4o"}},
        {"parameters": {"stream": True}},
        {"structured": "yaml"},
        {"shape": "jina"},
        {"key": "sk-\nX: y"},
        {"key": "sk-密"},
        {"headers": {"X-Org": "a\nb"}},
    ],
)
def test_refuses_what_cannot_work(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        Endpoint(**{"model": "m", "base_url": "http://h/v1", **wrong})  # type: ignore[arg-type]
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("key", [KEY, f"{KEY}\n", SecretStr(KEY)])
def test_a_key_shows_itself_to_nobody_who_does_not_ask(key: object) -> None:
    found = Endpoint(model="m", base_url="https://h/v1", key=key, headers={"X-Key": KEY})  # type: ignore[arg-type]
    assert found.secret == replace(found, model="n").secret == KEY
    assert KEY not in f"{found!r} {found} {found.key!r} {found.key}"
    with pytest.raises(TypeError, match="not pickled") as caught:
        pickle.dumps(found.key)
    assert KEY not in str(caught.value)


# -------------------------------------------------------------------------------------------------------------- presets


def test_presets_are_known_and_work_for_the_kinds_they_describe() -> None:
    assert sorted(presets()) == sorted(NAMES)
    for name, preset in presets().items():
        for kind in PATHS.keys() & preset.keys():
            given = {} if name != "azure" else {"base_url": "https://mine.openai.azure.com/openai/v1"}
            found = endpoint(kind, name, environ={}, model="the-model", **given)  # type: ignore[arg-type]
            assert found.model == "the-model"
            assert found.secret == ""


def test_the_variables_of_openai_work_as_they_are() -> None:
    environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://localhost:9/v1"}
    for kind in ("chat", "embed"):
        found = endpoint(kind, "openai", environ=environ, model="m")  # type: ignore[arg-type]
        assert (found.base_url, found.secret) == ("http://localhost:9/v1", KEY)


def test_a_key_from_the_environment_is_not_sent_to_another_address() -> None:
    environ = {"OPENAI_API_KEY": KEY}
    assert endpoint("chat", "openai", environ=environ, model="m", base_url="https://elsewhere/v1").secret == ""
    assert (
        endpoint("chat", "openai", environ=environ, model="m", base_url="https://elsewhere/v1", key="own").secret
        == "own"
    )


@pytest.mark.parametrize(
    ("preset", "url", "sent"),
    [
        ("azure", "https://mine.openai.azure.com/openai/v1", True),
        ("azure", "http://mine.openai.azure.com/openai/v1", False),
        ("azure", "https://openai.azure.com.evil.com/v1", False),
        ("azure", "https://evilopenai.azure.com/v1", False),
        ("dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", True),
        ("dashscope", "https://mine.dashscope.aliyuncs.com/v1", False),
    ],
)
def test_it_is_sent_to_the_other_addresses_of_its_preset(preset: str, url: str, sent: bool) -> None:
    environ = {"AZURE_OPENAI_API_KEY": KEY, "DASHSCOPE_API_KEY": KEY}
    assert bool(endpoint("chat", preset, environ=environ, model="m", base_url=url).secret) == sent


def test_settings_go_before_a_preset() -> None:
    found = endpoint("rerank", "dashscope", environ={}, model="m", deadline_s=3, parameters={"instruct": "x"})
    assert found.base_url.endswith("/api/v1")
    assert found.shape == "dashscope"
    assert (found.deadline_s, found.parameters) == (3, {"instruct": "x"})


@pytest.mark.parametrize(
    ("preset", "settings", "message"),
    [
        ("opnai", {"model": "m"}, "did you mean 'openai'"),
        ("openai", {}, "set model, e.g."),
        ("azure", {"model": "m"}, "<resource>.openai.azure.com"),
        ("", {"model": "m"}, "set base_url"),
        ("openai", {"model": "m", "dedline_s": 3}, "did you mean 'deadline_s'"),
    ],
)
def test_what_is_missing_or_misspelt_is_named(preset: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint("chat", preset, environ={}, **settings)
    assert message in str(caught.value)
