#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dieharder.sh RANDOM_STREAM STREAM: the tests of dieharder that it calls reliable (dieharder -l) but two (17, of greatest
# common divisors, which takes longer than all the others, and 204, which tests a test), each from the beginning of a
# stream with a seed of its own. What is weak is drawn out until it passes or fails (-Y 1). A line per p-value; exit
# status 1 if any test fails.
set -uo pipefail
program=$1 stream=$2
command -v dieharder >/dev/null || { echo "skipped: needs dieharder"; exit 77; }
# -n where a test has a size to choose: bits, dimensions, numbers to order, lag.
tests=(0 1 2 3 4 8 9 10 11 12 13 15 16 209 100 101 102 "200 -n 4" "201 -n 3" "202 -n 4" "203 -n 1" 205 206 207 208)
failed=0 seed=1
for test in "${tests[@]}"; do
  # The stream ends when its reader does, so only the reader's own words count.
  # shellcheck disable=SC2086 # a number, and options
  rows=$("$program" "$stream" "$seed" | dieharder -g 200 -d $test -Y 1 -k 2 | grep -E 'PASSED|WEAK|FAILED')
  echo "${rows:-no result of test $test: FAILED}"
  [[ -n $rows && $rows != *FAILED* ]] || failed=1
  seed=$((seed + 1))
done
exit "$failed"
