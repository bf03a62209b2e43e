"""记得住以往对话的聊天（AgentScope 2.x）。A chat in Chinese that remembers across runs.

    python examples/agentscope/chat_zh.py "我的船叫极光号。"
    python examples/agentscope/chat_zh.py "我的船叫什么名字？"

不带参数时从标准输入逐行读取。两次运行之间只共享记忆文件（``--store``，默认在系统的数据目录）。
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable

from agentscope.agent import Agent
from agentscope.event import TextBlockDeltaEvent
from agentscope.message import UserMsg
from agentscope.model import ChatModelBase
from model import chat_model, command_line

from memscope.adapters.agentscope import MemoryScopeMiddleware

# 没有真实模型时的回答：只有记忆给出船名，才答得出来。
SCRIPT = [
    {"match": r"我的船叫什么.*我的船叫(\w+号)", "in": "all", "reply": r"您的船叫\1。", "expand": True},
    {"match": "我的船叫什么", "in": "all", "reply": "您还没有告诉我。"},
    {"match": "", "reply": "好的，我记住了。"},
]


async def main(texts: Iterable[str], *, user: str, store: str | None, model: ChatModelBase) -> None:
    memory = MemoryScopeMiddleware(user=user, mode="static_control", memory=store)
    agent = Agent("助手", "你是一位乐于助人的助手，请用中文简短回答。", model, middlewares=[memory])
    for text in map(str.strip, texts):
        print(f"{user}：{text}\n助手：", end="")
        async for event in agent.reply_stream(UserMsg(user, text)):
            if isinstance(event, TextBlockDeltaEvent):
                print(event.delta, end="", flush=True)
        print()
    await memory.close()


if __name__ == "__main__":
    parser = command_line(__doc__, nargs="*", help="用户说的话，一句一个参数")
    parser.set_defaults(user="小明")
    chosen = parser.parse_args()
    with chat_model(SCRIPT) as model:
        asyncio.run(main(chosen.input or sys.stdin, user=chosen.user, store=chosen.store, model=model))
