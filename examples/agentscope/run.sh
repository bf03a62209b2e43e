#!/usr/bin/env bash
# For AgentScope 2.x: run each example twice; the second run must remember the first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
knows() { tee >(cat >&2) | grep -- "$1" >/dev/null; }  # grep -q would close the pipe early
python assistant.py "My boat is called Aurora."
for mode in static_control agent_control both; do
    python assistant.py --mode "$mode" "What is my boat called?" | knows Aurora
done
python chat_zh.py "我的船叫极光号。"
echo "我的船叫什么名字？" | python chat_zh.py | knows "助手：您的船叫极光号。"
python core_memory.py --user dora "host: I am Alice, and I sail." "cook: What do you know about me?" | knows "cook: You are Alice"
python core_memory.py --user dora "host: What do you know about me?" | knows "host: You are Alice"
