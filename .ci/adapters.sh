#!/usr/bin/env bash
# .ci/adapters.sh NAME: types and the cost of a turn with the newest version; the adapter's tests in each environment that
# .ci/adapters names for it, the examples and the guide among them; then the examples from wheels in a fresh environment, in
# Elasticsearch where MEMSCOPE_TEST_ES_URL names a node, else in SQLite. The newest version is that of the environment
# "newest", else the workspace's own. WHEELS: a folder that has them already. Needs uv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
NAME="$1"
PART="adapters/$NAME"
PLACE="$(mktemp -d)"
trap 'rm -rf "$PLACE"' EXIT
export OMP_NUM_THREADS=1 PYTHONUTF8=1
# the root's settings leave out frameworks that do not fit into the workspace
UNTIL="$(sed -n 's/^exclude-newer = "\(.*\)"/--exclude-newer \1/p' pyproject.toml)"
PIP="uv pip install --quiet --no-config $UNTIL"

newest() {  # newest PYTHON: types and the cost of a turn
    printf '\n-- %s, newest\n' "$NAME"
    # mypy finds core's own code by its path, the framework's in the environment
    (cd "$PART/src" && MYPYPATH="../../../core/src" "$1" -m mypy --strict --python-version 3.11 --cache-dir "$PLACE/mypy" -p "memscope_$NAME")
    "$1" benchmarks/adapter_overhead.py --adapter "$NAME"
}

# a framework with a page and no adapter has tests and environments only
REQUIRED=(-e "$PART" --group "$PART/pyproject.toml:dev")
[ -d "$PART" ] || REQUIRED=(blockbuster hypothesis "httpx2>=2.16,<3" pytest pytest-asyncio types-pyyaml)

[ ! -d "$PART" ] || grep -q "^$NAME  *newest" .ci/adapters || newest "$PWD/.venv/bin/python"
while read -r name environment versions; do
    [ "$name" = "$NAME" ] || continue
    printf '\n-- %s, %s\n' "$NAME" "$environment"
    uv venv --quiet "$PLACE/$environment"
    # shellcheck disable=SC2086  # several requirements
    $PIP --python "$PLACE/$environment/bin/python" -e core -e cli -e testing "${REQUIRED[@]}" $versions
    [ "$environment" != newest ] || newest "$PLACE/newest/bin/python"
    # the newest versions are tested at the end of .ci/run; the environment "server" adds one program and what asks it
    tests="tests/adapters/$NAME" && [ "$environment" != server ] || tests+="/test_langgraph_dev.py"
    "$PLACE/$environment/bin/python" -m pytest -q "$tests"
done < <(grep -v '^#' .ci/adapters)

[ -d "$PART" ] || exit 0
printf '\n-- %s, from wheels\n' "$NAME"
[ -n "${WHEELS:-}" ] || { WHEELS="$PLACE/dist" && uv build --quiet --all-packages --wheel --out-dir "$WHEELS"; }
uv venv --quiet "$PLACE/wheels"
$PIP --no-sources --python "$PLACE/wheels/bin/python" --find-links "$WHEELS" "memscope[${NAME//_/-},cli,elasticsearch]>=0.2.0" \
    --group "$PART/pyproject.toml:examples"
ADDRESS="${MEMSCOPE_TEST_ES_URL:-}"
STORE="${ADDRESS:+elasticsearch://${ADDRESS#http://}/examples-$NAME-$$}" && STORE="${STORE:-$PLACE/memory.db}"
for example in "examples/$NAME"/*.sh; do
    (cd "$PLACE" && PATH="$PLACE/wheels/bin:$PATH" MEMSCOPE_STORE="$STORE" bash "$OLDPWD/$example")
done
