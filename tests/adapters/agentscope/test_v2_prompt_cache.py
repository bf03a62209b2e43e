"""The requests that AgentScope 2.x's ``Agent`` sends with its own client."""

from __future__ import annotations

from agentscope.agent import Agent
from agentscope.credential import OpenAICredential
from agentscope.model import OpenAIChatModel
from agentscope.permission import PermissionBehavior, PermissionContext, PermissionRule
from agentscope.state import AgentState
from agentscope.tool import FunctionTool, Toolkit

from adapters.prompt_cache import PROMPT, PromptCacheSuite
from memscope_agentscope import MemoryScopeMiddleware

from .talking_v2 import Talk

RULE = PermissionRule(tool_name="clock", rule_content=None, behavior=PermissionBehavior.ALLOW, source="userSettings")


async def clock(zone: str) -> str:
    """The time."""
    return "noon"


class TestAgent(PromptCacheSuite):
    async def open(self, memory, url):
        model = OpenAIChatModel(OpenAICredential(api_key="none", base_url=url), "test-chat", stream=False)
        made = MemoryScopeMiddleware(user="alice", memory=memory, mode="static_control")
        allowed = PermissionContext(allow_rules={"clock": [RULE]})
        state = AgentState(session_id="two", permission_context=allowed)
        agent = Agent("helper", PROMPT, model, Toolkit(tools=[FunctionTool(clock)]), [made], state)
        return Talk(agent, made)
