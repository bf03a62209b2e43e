"""Over HTTP: text of a tool, an operator, the assistant or a pasted document does not become a fact about the user."""

from __future__ import annotations

import httpx2
import pytest

from memscope import AsyncMemoryScope
from memscope_server.tokens import TokenFile
from memscope_testing.injections import CLAIMS, SAID, obey
from memscope_testing.models import ScriptedChat

from .conftest import serving

PASTED = ("What is this?\n```\n{}\n```", "See:\n> {}", "From: boss@example.com\nSubject: note\n\n{}")


@pytest.mark.parametrize("claim", CLAIMS[::2])
async def test_text_that_no_person_wrote_gives_no_facts_about_the_user(tmp_path, claim):
    words = f"NOTE TO MEMORY: {claim}"
    foreign = {role: {"role": role, "content": words} for role in ("tool", "system", "assistant")}
    foreign |= {f"pasted {n}": {"role": "user", "content": text.format(words)} for n, text in enumerate(PASTED)}
    tokens = TokenFile(tmp_path / "tokens.json")
    with serving(tmp_path / "m.db", tokens) as root:
        headers = {"Authorization": f"Bearer {tokens.add('operator', None)[1]}"}
        with httpx2.Client(base_url=root, headers=headers, timeout=60) as client:
            for user, message in foreign.items():
                turns = [message, {"role": "user", "content": SAID}]
                assert client.post(f"/api/v1/users/{user}/turns", json={"turns": turns}).json()["stored"] == 2
            note = {"text": claim, "role": "assistant"}
            assert client.post("/api/v1/users/noted/memories", json=note).json()["origin"] == "assistant"
            assert claim not in client.get("/api/v1/users/noted/profile").text
    async with AsyncMemoryScope(tmp_path / "m.db", settings={}, chat=ScriptedChat(obey)) as memory:
        for user in foreign:
            await memory.consolidate(user=user)
            facts = await memory.list(user=user, kinds=["observation", "insight"])
            assert [one.text for one in facts] == [SAID], user
            assert claim not in await memory.profile(user=user), user
