"""Secrets: what looks like one is found beside any script, and what does not is left."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope import AsyncMemoryScope
from memscope.config.settings import load
from memscope.errors import ConfigError
from memscope.text.secrets import SECRET_KINDS, SECRET_PATTERNS, find, mask

EXAMPLES = {
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----": "private_key",
    "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQ": "private_key",  # cut off, and no less a key
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl": "web_token",
    "sk-proj-abcdefghijklmnopqrstuvwx": "api_key",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "api_key",
    "AKIAIOSFODNN7EXAMPLE": "api_key",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv": "api_key",
    "xoxb-123456789012-abcdef": "api_key",
    "hf_abcdefghijklmnopqrstuvwx": "api_key",
    "sk-" + "aB3" * 100: "api_key",
    "sk_live_51HabcdefGHIJKLMNOPqrst": "api_key",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOY\n-----END PGP PRIVATE KEY BLOCK-----": "private_key",
    "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nx\n---- END SSH2 ENCRYPTED PRIVATE KEY ----": "private_key",
    "4111 1111 1111 1111": "card_number",
    "5500-0000-0000-0004": "card_number",
    "378282246310005": "card_number",
}


@pytest.mark.parametrize(("secret", "kind"), EXAMPLES.items(), ids=lambda text: text[:12])
@pytest.mark.parametrize(("before", "after"), [("", ""), ("my key: ", "."), ("我的是", "。好"), ("(", ")")])
def test_found_and_masked(secret, kind, before, after):
    if kind == "private_key" and "END" not in secret:
        after = ""
    assert [*find(before + secret + after)] == [kind]
    assert mask(before + secret + after) == f"{before}[{kind.replace('_', ' ')}]{after}"


AWS = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


@pytest.mark.parametrize(
    ("before", "secret", "after", "kind"),
    [
        ("OPENAI_KEY_", "sk-abcdefghijklmnop1234", "", "api_key"),
        ("export OPENAI_API_KEY=", "sk-abcdefghijklmnop1234", "\nls", "api_key"),
        ("x-", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "-y", "api_key"),
        ("Authorization: Bearer ", "9f8a7b6c5d4e3f2a1b0c9d8e", "", "web_token"),
        ('{"authorization": "Basic ', "dXNlcjpwYXNzd29yZDEyMw==", '"}', "web_token"),
        ("bearer token: ", "9f8a7b6c5d4e3f2a1b0c", ".", "web_token"),
        ("我的令牌Bearer ", "9f8a7b6c5d4e3f2a1b0c", "，别外传", "web_token"),
        ("aws_secret_access_key = ", AWS, "", "api_key"),
        ("AWS_SECRET_ACCESS_KEY=", AWS, "\n", "api_key"),
        ('"SecretAccessKey": "', AWS, '"', "api_key"),
        ("AWS 的密钥是", AWS, "。", "api_key"),
        ("aws_session_token=", "Ab1/" * 60 + "==", "", "api_key"),
        ("postgres://", "me:p@ss@word", "@host/db", "password_in_address"),
    ],
)
def test_found_by_what_stands_beside_it(before, secret, after, kind):
    assert {*find(before + secret + after)} == {kind}
    assert mask(before + secret + after) == f"{before}[{kind.replace('_', ' ')}]{after}"


@pytest.mark.parametrize("between", ["\n", ":", ", ", " / "])
def test_an_access_key_and_its_secret(between):
    assert mask(f"AKIAIOSFODNN7EXAMPLE{between}{AWS}") == f"[api key]{between}[api key]"


def test_a_tag_tells_secrets_of_a_kind_apart():
    said = mask("anna@example.org, bo@example.org", ["email"], tag=lambda secret: secret[:2])
    assert said == "[email an], [email bo]"


def test_a_password_in_an_address_and_a_mail_address():
    assert mask("see https://me:hunter2@host/x") == "see https://[password in address]@host/x"
    assert mask("write to anna@example.org") == "write to anna@example.org"
    assert mask("写信给anna@example.org吧", ["email"]) == "写信给[email]吧"


@pytest.mark.parametrize(
    "text",
    [
        "call me at 0176 1234 5678",
        "order 4111 1111 1111 1112",
        "risk-averse-and-otherwise-careful-people",
        "https://host:8080/a@b",
        "task-management-is-my-favourite-thing",
        "ALTER TABLE orders ADD CONSTRAINT my_pk_of_all_the_orders",
        "the secret commit 3f2a9c3f2a9c3f2a9c3f2a9c3f2a9c3f2a9c3f2a",
        "the bearer responsibilities of 2024",
        "authorization: required documentation",
        "1234567",
        "2026-06-12 18:30",
        "run 6a1c4111-1111-4111-8111-1111111111aa failed",
        "digest a4111111111111111b41111111111111",
    ],
)
def test_what_is_no_secret_stays(text):
    assert mask(text) == text and not [*find(text)]


@given(st.text(alphabet=st.characters(exclude_characters="0123456789-_@:")))
def test_text_without_digits_and_marks_stays(text):
    assert mask(text, tuple(SECRET_PATTERNS)) == text


@pytest.mark.parametrize(
    "piece",
    [
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "sk-",
        "4",
        "a@",
        "://a:",
        "AIza",
        "4 1-",
        "aws ",
        "AKIA",
        "bearer ",
        "secret/",
        "authorization:",
        "---- BEGIN ",
    ],
)
def test_time_grows_with_the_length_and_no_more(piece):
    def seconds(size):
        text, began = piece * (size // len(piece)), time.thread_time()
        mask(text, tuple(SECRET_PATTERNS))
        return time.thread_time() - began

    seconds(20_000)
    assert min(seconds(160_000) for _ in range(3)) < 40 * min(seconds(20_000) for _ in range(3))


async def test_the_setting_masks_turns_statements_and_metadata(tmp_path):
    secret = "sk-proj-abcdefghijklmnopqrstuvwx"
    async with AsyncMemoryScope(tmp_path / "memory.db", settings={"redaction": {"mask": list(SECRET_KINDS)}}) as memory:
        said = {"role": "user", "content": f"it is {secret}", "metadata": {"raw": [secret], secret: 1}}
        await memory.add_turns([said], user="alice")
        remembered = await memory.add_memory(f"the key is {secret}", user="alice")
        await memory.update(remembered.id, user="alice", text=f"rather {secret}")
        (stored, *_) = await memory.list(user="alice")
        assert stored.text == "it is [api key]" and stored.metadata == {"raw": ["[api key]"], "[api key]": 1}
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in content and b"[api key]" in content


async def test_it_looks_last():
    class Adding:
        def memscope_before_add_turns(self, turns):
            from dataclasses import replace

            return [replace(turn, text="4111 1111 1111 1111") for turn in turns]

    settings = {"redaction": {"mask": ["card_number"]}}
    async with AsyncMemoryScope(":memory:", settings=settings, plugins=[Adding()]) as memory:
        await memory.add_turns([{"role": "user", "content": "hello"}], user="alice")
        assert [turn.text for turn in await memory.list(user="alice")] == ["[card number]"]


def test_an_unknown_kind_is_named():
    with pytest.raises(ConfigError, match=r"redaction\.mask.*'cards'.*private_key"):
        load({"redaction": {"mask": ["cards"]}}, environ={})
    assert load(environ={"MEMSCOPE_REDACTION__MASK": "api_key, email"}).redaction.mask == {"api_key", "email"}
