"""The worked example of docs/plugins.md: secrets are masked before they are stored, and nothing is when that fails."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope import AsyncMemoryScope
from memscope.errors import PluginError

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import redaction_plugin

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc/def+ghi=\n-----END RSA PRIVATE KEY-----"
SECRETS = {
    PEM: "[private key]",
    PEM[:60]: "[private key]",  # cut off, and no less a key
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl": "[web token]",
    "sk-proj-abcdefghijklmnopqrstuvwx": "[api key]",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "[api key]",
    "AKIAIOSFODNN7EXAMPLE": "[api key]",
    "4111 1111 1111 1111": "[card number]",
    "5500-0000-0000-0004": "[card number]",
}


@pytest.fixture
async def memory(tmp_path):
    async with AsyncMemoryScope(tmp_path / "memory.db", plugins=[redaction_plugin]) as memory:
        yield memory


@pytest.mark.parametrize(("secret", "mask"), SECRETS.items(), ids=lambda text: text[:12])
async def test_a_secret_is_in_no_file(memory, tmp_path, secret, mask):
    turn = {"role": "user", "content": f"before {secret} after", "metadata": {"raw": [secret]}}
    await memory.add_turns([turn], user="alice")
    await memory.add_memory(f"the key is {secret}", user="alice")
    stored, statement, remembered = await memory.list(user="alice")
    assert stored.text.startswith(f"before {mask}") and stored.metadata == {"raw": [mask]}
    assert statement.text == remembered.text == f"the key is {mask}"
    await memory.update(remembered.id, user="alice", text=f"rather {secret}")
    await memory.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in content and mask.encode() in content


@pytest.mark.parametrize("text", ["call me at 0176 1234 5678", "order 4111 1111 1111 1112", "risk-averse", "1234567"])
def test_what_is_no_secret_stays(text):
    assert redaction_plugin.masked(text) == text


@given(st.text(alphabet=st.characters(exclude_characters="0123456789-_")))
def test_text_without_digits_stays(text):
    assert redaction_plugin.masked(text) == text


async def test_when_the_redactor_fails_nothing_is_stored(memory, monkeypatch):
    class Broken:
        def sub(self, *_):
            raise re.error("no pattern")

    monkeypatch.setitem(redaction_plugin.PATTERNS, "broken", Broken())
    with pytest.raises(PluginError, match=r"'redaction_plugin'.*add_turns"):
        await memory.add_turns([{"role": "user", "content": "sk-abcdefghijklmnop1234"}], user="alice")
    monkeypatch.undo()
    assert await memory.list(user="alice") == []
