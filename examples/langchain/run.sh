#!/usr/bin/env bash
# All three examples; the second run of the first two knows what was said in the first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python agent.py "My boat is called Aurora."
python agent.py "What is my boat called?" | tee >(cat >&2) | grep Aurora >/dev/null  # grep -q would leave the pipe early
python chain.py --user carl "My boat is called Borealis."
python chain.py --user carl "What is my boat called?" | tee >(cat >&2) | grep Borealis >/dev/null  # grep -q would leave the pipe early
python graph.py | tee >(cat >&2) | grep vegetarian >/dev/null  # grep -q would leave the pipe early
