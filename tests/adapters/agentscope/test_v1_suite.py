"""The suite that every adapter passes, on AgentScope 1.x's ``ReActAgent``."""

from __future__ import annotations

from memscope.testing import AdapterSuite
from memscope_agentscope import MemoryScopeLongTermMemory

from .talking_v1 import Talk, agent_with


class TestReActAgent(AdapterSuite):
    plugin = "memscope_agentscope.plugin"
    framework = ("agentscope",)
    mode = "static_control"

    async def converse(self, memory, script, *, user, agent=None, session=None, strict=False, state=None):
        m = MemoryScopeLongTermMemory(user=user, agent=agent, session=session, memory=memory, strict=strict)
        made = agent_with(m, script, self.mode)
        if state is not None:
            made.load_state_dict(state)
        return Talk(made, m)


class TestBoth(TestReActAgent):
    mode = "both"
