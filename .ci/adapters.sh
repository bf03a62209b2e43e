#!/usr/bin/env bash
# .ci/adapters.sh NAME: the adapter's tests in each environment that .ci/adapters names for it, the examples and the guide
# among them; types; then its README's and the title's lines from wheels in a fresh environment, in SQLite and, where
# MEMSCOPE_TEST_ES_URL names a node, in Elasticsearch. Needs uv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
NAME="$1"
PART="adapters/$NAME"
PLACE="$(mktemp -d)"
trap 'rm -rf "$PLACE"' EXIT
export OMP_NUM_THREADS=1 PYTHONUTF8=1

while read -r name environment versions; do
    [ "$name" = "$NAME" ] || continue
    printf '\n-- %s, %s\n' "$NAME" "$environment"
    uv venv --quiet "$PLACE/$environment"
    # shellcheck disable=SC2086  # several requirements
    uv pip install --quiet --python "$PLACE/$environment/bin/python" -e core -e "$PART" --group "$PART/pyproject.toml:dev" $versions
    "$PLACE/$environment/bin/python" -m pytest -q "tests/adapters/$NAME" tests/testing/test_adapter_suite.py
    case "$environment" in newest*)
        # mypy finds core's own code by its path, the framework's in the environment
        (cd "$PART/src" && MYPYPATH="../../../core/src" "$PLACE/$environment/bin/mypy" --strict --python-version 3.11 \
            --cache-dir "$PLACE/mypy" -p "memscope_$NAME")
        "$PLACE/$environment/bin/python" benchmarks/adapter_overhead.py --adapter "$NAME"
        ;;
    esac
done < <(grep -v '^#' .ci/adapters)

printf '\n-- %s, from wheels\n' "$NAME"
uv build --quiet --wheel --package memscope --out-dir "$PLACE/dist"
uv build --quiet --wheel --package memscope-elasticsearch --out-dir "$PLACE/dist"
uv build --quiet --wheel --package "memscope-$NAME" --out-dir "$PLACE/dist"
uv venv --quiet "$PLACE/wheels"
uv pip install --quiet --no-sources --python "$PLACE/wheels/bin/python" --find-links "$PLACE/dist" "memscope[$NAME,elasticsearch]>=0.2.0" \
    --group "$PART/pyproject.toml:examples"
STORES=("$PLACE/memory.db")
ADDRESS="${MEMSCOPE_TEST_ES_URL:-}"  # where there is a node, the same once more in Elasticsearch: one setting
[ -z "$ADDRESS" ] || STORES+=("elasticsearch://${ADDRESS#http://}/examples-$NAME-$$")
for store in "${STORES[@]}"; do
    printf '\n-- %s, examples in %s\n' "$NAME" "${store%%:*}"
    for example in "examples/$NAME"/*.sh; do
        (cd "$PLACE" && PATH="$PLACE/wheels/bin:$PATH" MEMSCOPE_STORE="$store" bash "$OLDPWD/$example")
    done
done
