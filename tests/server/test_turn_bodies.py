"""Turns over HTTP: messages in parts, and fields that are not there."""

from __future__ import annotations

ALICE = "/api/v1/users/alice"


def test_the_texts_of_a_message_in_parts_are_joined(alice):
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    parts = [{"type": "text", "text": "I have a dog."}, picture, {"type": "text", "text": "He is Momo."}]
    added = alice.post(f"{ALICE}/turns", json={"turns": [{"role": "user", "content": parts}]}).json()
    assert added["stored"] == 1 and added["skipped_parts"] == 1
    assert alice.get(f"{ALICE}/records/{added['keys'][0]}").json()["text"] == "I have a dog.\nHe is Momo."
    silent = alice.post(f"{ALICE}/turns", json={"turns": [{"role": "user", "content": [picture]}]}).json()
    assert (silent["stored"], silent["empty"]) == (0, 1)
    for wrong in ([{"text": 5}], [5], [picture] * 1001):
        assert alice.post(f"{ALICE}/turns", json={"turns": [{"role": "user", "content": wrong}]}).status_code == 422


def test_an_unknown_field_is_named_with_the_one_that_was_meant(alice):
    turn = {"role": "user", "content": "x", "tiem": "2026-03-01T10:00Z"}
    refused = alice.post(f"{ALICE}/turns", json={"turns": [turn]})
    assert refused.status_code == 422
    assert "body.turns.0" in refused.json()["detail"] and "'tiem'; did you mean 'time'?" in refused.json()["detail"]
