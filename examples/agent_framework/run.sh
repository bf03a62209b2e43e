#!/usr/bin/env bash
# Each example in two runs: the second knows what was said in the first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
knows() { tee >(cat >&2) | grep -- "$1" >/dev/null; }  # grep -q would leave the pipe early
python agent.py "My boat is called Aurora."
python agent.py "What is my boat called?" | knows Aurora
python core_memory.py --user dora "host: I am Alice, and I sail." "cook: What do you know about me?" | knows "cook: You are Alice"
python core_memory.py --user dora "host: What do you know about me?" | knows "host: You are Alice"
