#!/usr/bin/env bash
# Run each example twice: the second run must remember the first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
knows() { tee >(cat >&2) | grep -- "$1" >/dev/null; }  # grep -q would close the pipe early
python remembering_assistant.py "My boat is called Aurora."
python remembering_assistant.py "What is my boat called?" | knows Aurora
python team.py --user bert "Plan my Sunday. I never eat meat."
python team.py --user bert "Plan my birthday dinner." | knows vegetarian
python core_memory.py --user dora "host: I am Alice, and I sail." "cook: What do you know about me?" | knows "cook: You are Alice"
python core_memory.py --user dora "host: What do you know about me?" | knows "host: You are Alice"
