"""Settings: precedence, the place of every mistake, secrets."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope import MemoryScope, validation
from memscope.config.settings import LimitSettings, ModelSettings, Settings, hide_credentials, load
from memscope.config.sources import fields, variable_path
from memscope.errors import ConfigError, StoreUnavailable
from memscope.models.endpoint import Endpoint, endpoint

ROOT = Path(__file__).parents[2]
SECRET = "sk-not-for-anybody"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """No settings of the person who runs the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def written(tmp_path, text, name="memscope.yaml"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# ---------------------------------------------------------------------------------------------------------- precedence


def test_arguments_before_environment_before_file_before_defaults(tmp_path):
    file = written(tmp_path, "index_cache_mb: 1\nbatch_turns: 2\nlease_s: 3\nlimits: {k: 4, depth: 5}\n")
    environ = {
        "MEMSCOPE_CONFIG": str(file),
        "MEMSCOPE_INDEX_CACHE_MB": "10",
        "MEMSCOPE_BATCH_TURNS": "20",
        "MEMSCOPE_LIMITS__K": "40",
    }
    settings = load({"index_cache_mb": 100}, environ=environ)
    assert (settings.index_cache_mb, settings.batch_turns, settings.lease_s) == (100, 20, 3)
    assert (settings.limits.k, settings.limits.depth, settings.limits.turns) == (40, 5, 10_000)


def test_the_file_asked_for_goes_before_the_usual_ones(tmp_path):
    written(tmp_path, "batch_turns: 1\n")
    other = written(tmp_path, "batch_turns: 2\n", "other.yaml")
    third = written(tmp_path, "batch_turns: 3\n", "third.yaml")
    assert load(environ={}).batch_turns == 1
    assert load(environ={"MEMSCOPE_CONFIG": str(other)}).batch_turns == 2
    assert load(third, environ={"MEMSCOPE_CONFIG": str(other)}).batch_turns == 3


def test_the_file_in_the_configuration_folder(tmp_path):
    (tmp_path / "config" / "memscope").mkdir(parents=True)
    written(tmp_path / "config" / "memscope", "batch_turns: 7\n")
    assert load(environ={}).batch_turns == 7


def test_defaults(tmp_path):
    settings = load(environ={})
    assert settings.store == str(tmp_path / "data" / "memscope" / "memory.db")
    assert settings.chat is settings.embedding is settings.rerank is None
    assert load(settings) is settings


def test_lists_and_mappings_in_variables():
    environ = {
        "MEMSCOPE_PLUGINS_ALLOW": "one, two",
        "MEMSCOPE_PLUGINS__BLOCK": '["three"]',
        "MEMSCOPE_CHAT__MODEL": "m",
        "MEMSCOPE_CHAT_PARAMETERS": '{"temperature": 0}',
        "MEMSCOPE_STORE": "",
        "PATH": "/bin",
    }
    settings = load(environ=environ)
    assert settings.plugins.allow == ("one", "two") and settings.plugins.block == ("three",)
    assert settings.chat and settings.chat.model == "m" and settings.chat.parameters == {"temperature": 0}


def test_every_list_can_be_a_variable():
    defaults = load(environ={}).model_dump()
    lists = [
        path
        for path in fields(Settings)
        if isinstance(defaults[path[0]], dict) and isinstance(defaults[path[0]][path[-1]], tuple)
    ]
    assert len(lists) > 5
    for path in lists:
        one, other = ("user", "tool") if path[-1] == "roles" else ("1", "2")
        settings = load(environ={"MEMSCOPE_" + "__".join(path).upper(): f"{one}, {other}"})
        assert [str(item) for item in settings.model_dump()[path[0]][path[1]]] == [one, other], path


def test_no_plugins():
    assert load(environ={"MEMSCOPE_NO_PLUGINS": "1"}).plugins.allow == ()
    assert load(environ={"MEMSCOPE_NO_PLUGINS": "0"}).plugins.allow is None


def test_every_field_has_a_variable():
    for path in fields(Settings):
        assert variable_path("__".join(path), Settings) == variable_path("_".join(path), Settings) == path


# ------------------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("store: a\npipeline:\n  retrieve: [x]\n", "line 2 .*'pipeline'.*did you mean 'pipelines'"),
        ("limits:\n  k: 5\n  querry: 5\n", "line 3 .*'limits.querry'.*did you mean 'query'"),
        ("chat:\n  modell: x\n", "line 2 .*'chat.modell'.*did you mean 'model'"),
        ("store: a\nstore: b\n", "line 2 .*twice"),
        ("limits:\n\tk: 5\n", "line 2 .*spaces, not tabs"),
        ("store: !!python/object/apply:os.getcwd []\n", "line 1 .*tags are not allowed"),
        ("limits:\n  k: five\n", r"line 2 .*: limits\.k has to be a whole number$"),
        ("lease_s: .inf\n", "line 1 .*: lease_s has to be at most 3600$"),
        ("limits:\n  k: 1.0e+99\n", "line 2 .*: limits.k has to be a whole number of fewer digits$"),
        ("limits:\n  k: 0\n", "line 2 .*: limits.k has to be at least 1$"),
        ("lease_s: 0\n", "lease_s has to be more than 0$"),
        ("concurrency: 99999999999\n", "concurrency has to be less than 2147483648$"),
        ("background: perhaps\n", "background has to be yes or no$"),
        ("context: {core: much}\n", r"context\.core has to be a number$"),
        ("context: {speak: never}\n", r"context\.speak has to be one of 'when_needed', 'always'$"),
        ("consolidation: {roles: [usr]}\n", r"consolidation\.roles\.0 has to be one of 'user', 'assistant', "),
        ("consolidation: 5\n", "consolidation has to be a mapping$"),
        ("blocks: {shared: [x]}\n", r"blocks\.shared has to be a mapping$"),
        ("blocks: {shared: '{x'}\n", r"blocks\.shared has to be JSON$"),
        ("plugins: {allow: 5}\n", r"plugins\.allow has to be a list$"),
        ("timezone: 5\n", "timezone has to be a text$"),
        ("blocks: {maintain: [about me]}\n", "has to be a block's label: 1 to 64 letters, digits, _, - or .$"),
        ("chat: {base_url: ftp://x}\n", r": chat\.base_url must start with http://"),
        ("timezone: Mars/Base\n", "line 1 .*time zone"),
        ("chat:\n  model: m\n  preset: opnai\n", "line 3 .*chat.preset 'opnai' is unknown; did you mean 'openai'"),
        ("store: http://localhost:9200\n", "line 1 .*elasticsearch://"),
        ("- a\n- b\n", "name: value"),
        ("a: [\n", "line 2"),
        (b"\xff\xfe", "UTF-8"),
        (b"store: \x01\n", "not YAML"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_line(tmp_path, text, said):
    written(tmp_path, text)
    with pytest.raises(ConfigError, match=said):
        load(environ={})


def test_a_missing_file_that_was_asked_for(tmp_path):
    with pytest.raises(ConfigError, match=r"no settings file .*nowhere\.yaml"):
        load(tmp_path / "nowhere.yaml", environ={})


def test_byte_order_mark_and_windows_line_ends(tmp_path):
    file = written(tmp_path, b"\xef\xbb\xbfbatch_turns: 3\r\nlimits:\r\n  k: 4\r\n")
    settings = load(file, environ={})
    assert (settings.batch_turns, settings.limits.k) == (3, 4)


def test_an_empty_file_is_no_settings(tmp_path):
    written(tmp_path, "# nothing yet\n")
    assert load(environ={}).batch_turns == 20


FORMER = json.loads((ROOT / "core/src/memscope/config/memoryscope.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("names", [names for names, _ in FORMER])
def test_a_setting_of_memoryscopes_names_its_successor(names):
    for name in names.split():
        with pytest.raises(ConfigError, match="MemoryScope's; here: ") as caught:
            load({name: 1}, environ={})
        assert "`" not in caught.value.hint and "](" not in caught.value.hint


def test_a_successor_is_named_with_its_page():
    with pytest.raises(ConfigError, match=r"store: elasticsearch://host:9200/index"):
        load(environ={"MEMSCOPE_ES_URL": "http://localhost:9200"})


def test_the_page_shows_the_successors_of_memoryscopes_settings():
    page = (ROOT / "docs/coming-from-memoryscope.md").read_text(encoding="utf-8")
    for names, ours in FORMER:
        assert f"| {', '.join(f'`{name}`' for name in names.split())} | {ours} |\n" in page


def test_a_misspelt_variable_names_the_nearest():
    with pytest.raises(ConfigError, match=r"MEMSCOPE_STROE.*'MEMSCOPE_STORE'"):
        load(environ={"MEMSCOPE_STROE": "x"})
    with pytest.raises(ConfigError, match="MEMSCOPE_LIMITS__KK"):
        load(environ={"MEMSCOPE_LIMITS__KK": "1"})


def test_a_misspelt_argument_names_the_nearest():
    with pytest.raises(ConfigError, match=r"settings argument.*'stor'.*'store'"):
        load({"stor": "x"}, environ={})


def test_variables_of_the_tests_are_not_settings():
    load(environ={"MEMSCOPE_DATA": "x", "MEMSCOPE_TEST_ES_URL": "x"})


@pytest.mark.parametrize(
    "url",
    [
        f"http://me:{SECRET}@host/v1",
        f"https://{SECRET}@host/v1",
        "file:///etc/passwd",
        "ftp://host/v1",
        "http://169.254.169.254/latest",
        "http://[fe80::1]/v1",
        "not an address",
    ],
)
def test_addresses_that_no_model_has(tmp_path, url):
    written(tmp_path, f"chat:\n  model: m\n  base_url: '{url}'\n")
    with pytest.raises(ConfigError, match="line 3 ") as caught:
        load(environ={})
    assert SECRET not in str(caught.value) and SECRET not in repr(caught.value.__context__)


DEEP = "[" * 5000


@pytest.mark.parametrize(
    "text",
    [
        "batch_turns: 0b_\n",
        "timezone: 2020-13-45\n",
        "approve: !!bool maybe\n",
        "approve: !!timestamp x\n",
        f"limits: {DEEP}\n",
        "limits: &a [*a]\n",
        "limits: &a {k: *a}\n",
        "limits: &a\n  <<: *a\n",
        "chat: {model: m, parameters: {a: .nan}}\n",
        "chat: {model: m, parameters: {a: 2020-01-01}}\n",
        "chat: {model: m, parameters: {a: [[[[[[[[[[1]]]]]]]]]]}}\n",
        "chat: {model: m, parameters: {1: 2}}\n",
        "? [a]\n: b\n",
        "store: x\n" + "#" * 200_000,
    ],
)
def test_yaml_that_no_setting_is_made_of(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, text), environ={})
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [x, x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(40)),
        "a0: &a0 {x: 1}\n" + "".join(f"a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(40)),
    ],
    ids=["lists", "merges"],
)
def test_an_alias_bomb_is_refused_before_it_is_built(tmp_path, text):
    with pytest.raises(ConfigError, match="10,000"):  # of 2 ** 40: built, no test would end
        load(written(tmp_path, text), environ={})


def test_an_alias_is_taken(tmp_path):
    file = written(tmp_path, "embedding: &m {preset: ollama, model: bge-m3}\nrerank: {<<: *m, preset: vllm}\n")
    settings = load(file, environ={})
    assert settings.rerank and (settings.rerank.preset, settings.rerank.model) == ("vllm", "bge-m3")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMSCOPE_PLUGINS__ALLOW", DEEP),
        ("MEMSCOPE_PLUGINS__ALLOW", "[1,"),
        ("MEMSCOPE_PLUGINS__ALLOW", f"[{'9' * 5000}]"),
        ("MEMSCOPE_CHAT__PARAMETERS", '{"a":' * 5000),
        ("MEMSCOPE_CHAT__PARAMETERS", '{"a": NaN}'),
        ("MEMSCOPE_CHAT__PARAMETERS", f'{{"a": {"9" * 5000}}}'),
    ],
)
def test_a_variable_that_is_no_json(name, value):
    with pytest.raises(ConfigError, match=name) as caught:
        load(environ={"MEMSCOPE_CHAT__MODEL": "m", name: value})
    assert len(str(caught.value)) < 400


def test_repr_of_settings_is_bounded():
    parameters = {f"name{number}": "x" * 1000 for number in range(60)}
    settings = load({"store": "x" * 100_000, "chat": {"model": "m", "parameters": parameters}}, environ={})
    assert len(repr(settings)) < 5000 and len(str(settings)) < 5000 and "chat" in repr(settings.chat) + "chat"


# ---------------------------------------------------------------------------------------------- a home out of reach


@pytest.mark.parametrize("name", ["x" * 300, "closed/below"])
def test_a_configuration_folder_that_cannot_be_read(tmp_path, monkeypatch, name):
    (tmp_path / "closed").mkdir(mode=0o000)
    if "closed" in name and os.access(tmp_path / "closed", os.X_OK):
        pytest.skip("this user may read everything")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / name))
    with pytest.raises(ConfigError, match="MEMSCOPE_CONFIG"):
        load(environ={})
    load(written(tmp_path, "batch_turns: 3\n", "named.yaml"), environ={})


def test_without_a_home_the_variables_that_help_are_named(monkeypatch):
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr("memscope.config.paths.Path.home", no_home)
    with pytest.raises(ConfigError, match=r"no home folder.*HOME"):
        load(environ={})


def no_home():
    raise RuntimeError("Could not determine home directory.")


def test_a_data_folder_that_cannot_be_made(tmp_path, monkeypatch):
    written(tmp_path, "a file", "data")
    with pytest.raises(StoreUnavailable, match=r"data.*MEMSCOPE_STORE"), MemoryScope(settings={}) as memory:
        memory.admin.status()


# ------------------------------------------------------------------------------------------------------------- secrets


def test_a_key_is_never_shown():
    section = {"model": "m", "key": SECRET, "headers": {"x-org": SECRET}}
    settings = load({"chat": section, "store": f"elasticsearch://me:{SECRET}@host:9200"}, environ={})
    assert settings.chat and settings.chat.key and settings.chat.key.get_secret_value() == SECRET
    for text in (repr(settings), str(settings), repr(settings.chat), settings.model_dump_json()):
        assert SECRET not in text
    with pytest.raises(ConfigError) as caught:
        load({"chat": {"model": 5, "key": SECRET}}, environ={})
    assert SECRET not in str(caught.value) and caught.value.__suppress_context__


@given(st.text(), st.text())
def test_shown_hides_user_and_password(user, password):
    location = f"elasticsearch://{user}:{password}@host:9200"
    assert hide_credentials(location) == "elasticsearch://host:9200"
    assert hide_credentials("/a/path@home/memory.db") == "/a/path@home/memory.db"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("?api_key=hush", ""),
        ("?password=a@hush&sslmode=require", "?sslmode=require"),
        ("?sslmode=require&PASSWORD=hush", "?sslmode=require"),
        ("?sslkey=/a/file&sslpassword=hush&connections=3", "?sslkey=/a/file&connections=3"),
    ],
)
def test_shown_hides_secret_parameters(query, shown):
    assert hide_credentials(f"postgresql://me:hush@host/db{query}") == f"postgresql://host/db{shown}"
    assert "hush" not in repr(load({"store": f"postgresql://me:hush@host/db{query}"}, environ={}))


# ------------------------------------------------------------------------------------------------ what they stand for


def test_the_limits_are_those_of_the_edge():
    assert LimitSettings().model_dump() == dataclasses.asdict(validation.Limits())


def test_a_models_section_has_the_fields_of_an_endpoint():
    assert set(ModelSettings.model_fields) - {"provider", "preset"} == {f.name for f in dataclasses.fields(Endpoint)}


def test_a_model_without_an_address_is_openais_with_its_own_variables():
    environ = {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": "http://localhost:9/v1"}
    section = ModelSettings(model="m")
    made = endpoint("chat", environ=environ, **section.options())
    assert (made.base_url, made.secret) == ("http://localhost:9/v1", SECRET)


def test_a_key_in_the_environment_is_not_sent_to_another_address():
    section = ModelSettings(model="m", base_url="http://localhost:9/v1/")
    made = endpoint("chat", environ={"OPENAI_API_KEY": SECRET}, **section.options())
    assert (made.base_url, made.secret) == ("http://localhost:9/v1", "")


@pytest.mark.parametrize("name", ["temperature", "max_tokens", "top_p", "seed"])
@pytest.mark.parametrize("section", ["chat", "embedding", "rerank"])
def test_what_the_server_takes_goes_into_parameters(section, name):
    with pytest.raises(ConfigError, match=f"no setting '{section}.{name}'.* such as temperature, goes into parameters"):
        load({section: {"preset": "siliconflow", "model": "m", name: 1}}, environ={})
    with pytest.raises(ConfigError, match=r"is no setting.* such as temperature, goes into parameters"):
        load(environ={f"MEMSCOPE_{section}__{name}".upper(): "1"})
