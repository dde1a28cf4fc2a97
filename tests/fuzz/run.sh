#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh FOLDER TARGET SEED OPTION.. runs the fuzz target from its seed inputs with these options of libFuzzer and the random
# seed SEED + 1000003 UFP4_TEST_SEED. FOLDER is the build folder of the targets. Inputs that fail are left in
# FOLDER/findings; the last lines say how to run one again.
set -euo pipefail
folder=$1 target=$2 seed=$((($3 + 1000003 * ${UFP4_TEST_SEED:-0}) % 2147483640))
shift 3
((seed > 0)) || seed=1 # 0 would be the time
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
[[ -x $folder/fuzz_$target ]] || { echo "skipped: there is no $folder/fuzz_$target"; exit 77; }
export TMPDIR
TMPDIR=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) # in memory: the targets write many small files
trap 'rm -rf "$TMPDIR"' EXIT
mkdir -p "$folder/findings" "$TMPDIR/seeds" "$TMPDIR/new"
"$folder/fuzz_seeds" "$TMPDIR/seeds"
dictionary=()
[[ ! -f $here/$target.dict ]] || dictionary=(-dict="$here/$target.dict")
if ! "$folder/fuzz_$target" -close_fd_mask=3 -max_len=4096 -timeout=100 -rss_limit_mb=4096 -print_final_stats=1 -seed="$seed" \
    -artifact_prefix="$folder/findings/$target-" "${dictionary[@]}" "$@" "$TMPDIR/new" "$TMPDIR/seeds/$target" 2>"$TMPDIR/log"; then
  tail -n 60 "$TMPDIR/log"
  echo "The random seed was $seed (UFP4_TEST_SEED=${UFP4_TEST_SEED:-0})"
  echo "To see it again: $folder/fuzz_$target, with the file above that begins with $target-"
  exit 1
fi
grep -E '^stat::number_of_executed_units|^#[0-9]+.(DONE|INITED)' "$TMPDIR/log"
