"""Messages of ``memscope chat`` in English and Chinese, under the same names."""

from __future__ import annotations

import os
from collections.abc import Mapping

EN: Mapping[str, str] = {
    "welcome": "Talking with {model} as {user}, session {session}. /help shows what else there is, /exit ends.",
    "assistant": "assistant",
    "used": "{number} memories used; /memories shows them",
    "without": "without {note}",
    "stopped": "(stopped)",
    "news": "memory",
    "nothing": "nothing there",
    "no_answer": "no answer yet",
    "unknown": "there is no {name}; {hint}",
    "needs": "{name} needs {what}",
    "added": "remembered",
    "contains": "This would remove {what}. Go on? [y/N] ",
    "unchanged": "nothing was changed",
    "no_id": "nothing has the id {id}; where there is no terminal to ask on, /forget takes ids only",
    "user": "talking as {user}, session {session}",
    "too_long": "That is {size:,} bytes; one message holds at most {limit:,}. Split it, or give a summary.",
    "no_model": "There is no chat model to talk with. Set one, for example\n"
    "  MEMSCOPE_CHAT__PRESET=ollama MEMSCOPE_CHAT__MODEL=qwen3:8b memscope chat --user {user}\n"
    "  MEMSCOPE_CHAT__PRESET=openai MEMSCOPE_CHAT__MODEL=gpt-4.1-mini (with OPENAI_API_KEY)\n"
    "or in memscope.yaml; docs/models.md has the lines for other servers.",
    "demo": "Watch memory at work without a model? (memscope demo) [y/N] ",
    "help": "A line is a message; end it with \\ to go on in the next, or put several between two lines of {quotes}.\n"
    "Ctrl-C stops an answer, Ctrl-D ends.",
    "/retrieve": "QUERY|what memory finds for a question",
    "/list": "[N]|the newest records, with their ids",
    "/memories": "|what the last answer was shown, and why",
    "/add": "TEXT|remember a statement as it is",
    "/forget": "ID... or WORDS|remove for good, with all that was derived",
    "/consolidate": "|make observations of what is pending now",
    "/reflect": "|bring the insights up to date",
    "/status": "|the store, the models, what is waiting",
    "/user": "[NAME]|talk as another user",
    "/session": "[NAME]|begin or take up another session",
    "/block": "[LABEL [TEXT]]|core memory: all blocks, one, or add to one",
    "/help": "|this",
    "/exit": "|the end",
}

ZH: Mapping[str, str] = {
    "welcome": "正在与 {model} 对话，用户 {user}，会话 {session}。/help 查看命令，/exit 退出。",
    "assistant": "助手",
    "used": "用到 {number} 条记忆；/memories 查看",
    "without": "缺少 {note}",
    "stopped": "（已停止）",
    "news": "记忆",
    "nothing": "没有内容",
    "no_answer": "还没有回答",
    "unknown": "没有 {name}；{hint}",
    "needs": "{name} 需要 {what}",
    "added": "已记住",
    "contains": "将删除 {what}。继续吗？[y/N] ",
    "unchanged": "没有改动",
    "no_id": "没有 id 为 {id} 的记录；没有终端可询问时，/forget 只接受 id",
    "user": "当前用户 {user}，会话 {session}",
    "too_long": "这段有 {size:,} 字节，一条消息最多 {limit:,} 字节。请拆开，或先做摘要。",
    "no_model": "没有可对话的模型。请设置一个，例如\n"
    "  MEMSCOPE_CHAT__PRESET=ollama MEMSCOPE_CHAT__MODEL=qwen3:8b memscope chat --user {user}\n"
    "  MEMSCOPE_CHAT__PRESET=dashscope MEMSCOPE_CHAT__MODEL=qwen-plus（需要 DASHSCOPE_API_KEY）\n"
    "或写在 memscope.yaml 里；其他服务见 docs/models.md。",
    "demo": "不用模型，看看记忆如何工作？（memscope demo）[y/N] ",
    "help": "一行是一条消息；行尾加 \\ 可换行继续，多行放在两行 {quotes} 之间。\nCtrl-C 停止回答，Ctrl-D 退出。",
    "/retrieve": "问题|记忆为这个问题找到什么",
    "/list": "[N]|最新的记录及其 id",
    "/memories": "|上一个回答看到了哪些记忆，为什么",
    "/add": "内容|原样记住一句话",
    "/forget": "ID... 或 文字|彻底删除，连同由此得出的一切",
    "/consolidate": "|现在就把未处理的内容提炼为观察",
    "/reflect": "|更新洞察",
    "/status": "|存储、模型、待处理的内容",
    "/user": "[名字]|换一个用户",
    "/session": "[名字]|开始或继续另一个会话",
    "/block": "[名称 [内容]]|核心记忆：全部、一块，或追加内容",
    "/help": "|本说明",
    "/exit": "|结束",
}

LANGUAGES: Mapping[str, Mapping[str, str]] = {"en": EN, "zh": ZH}


def locale_language(environ: Mapping[str, str] = os.environ) -> str:
    """Chinese where the locale says so, else English."""
    name = next((value for variable in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := environ.get(variable))), "")
    return "zh" if name.lower().startswith("zh") else "en"
