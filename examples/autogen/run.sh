#!/usr/bin/env bash
# Both examples, each in two runs: the second knows what was said in the first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python remembering_assistant.py "My boat is called Aurora."
python remembering_assistant.py "What is my boat called?" | tee >(cat >&2) | grep Aurora >/dev/null  # grep -q would leave the pipe early
python team.py --user bert "Plan my Sunday. I never eat meat."
python team.py --user bert "Plan my birthday dinner." | tee >(cat >&2) | grep vegetarian >/dev/null  # grep -q would leave the pipe early
