from __future__ import annotations
from workbench import fact, noted
async def test_smoke(world):
    await world.say("I moved to Berlin last May. My cat is called Émile.")
    report = await world.consolidate(noted(fact("The user moved to Berlin last May.", "I moved to Berlin last May", when="2026-05", keywords=["home"])))
    print(report)
    print(await world.memories())
