#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that wants a GPU, in one go of six minutes at most, on 16 cores: builds the GPU code for the GPU that is here,
# checks the bits of every case against the golden model on this machine's CPU, times kernels in turns with cuBLAS and a
# copy, and leaves a record to be committed; then memory and races, and a layer.
# Needs a C and C++ compiler, CMake and the CUDA toolkit; nothing is installed. Where the program's libraries are too, it
# runs a layer as well. Usage: tests/cuda/run_on_gpu.sh [BUILD]
set -euo pipefail

readonly limit=360  # seconds for all
root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
build=$(realpath -m "${1:-$root/build/gpu}")
say() { echo "run_on_gpu: [$SECONDS s] $*" >&2; }
fail() { say "$*"; exit 3; }

# Runs a step that may take SECONDS, or what is left of all.
step() {
  local own=$1 left=$((limit - SECONDS)) status=0
  shift
  ((left > 0)) || fail "no time is left for: $*"
  timeout -k 5 $((own < left ? own : left)) "$@" || status=$?
  ((status != 124 && status != 137)) || say "ended after its time: $*"
  return "$status"
}
# The same of what is not in the record: where its time ends it is left out, and where it fails the rest goes on.
failed=0
attempt() {
  local status=0
  step "$@" || status=$?
  ((status == 0)) && return
  ((status == 124 || status == 137)) || { say "FAILED with status $status: ${*:2}"; failed=1; }
  return 1
}
# Whether a program says it. Not `| grep -q`: that leaves at the first match, and then the program fails, of a broken pipe.
says() {
  local text
  text=$("${@:2}" 2>/dev/null) && grep -q -e "$1" <<<"$text"
}
# What is not in the record is left out where less than SECONDS are left for it.
room() {
  local left=$((limit - SECONDS))
  ((left >= $1)) || say "left out, $left s are left: $2"
  ((left >= $1))
}

PATH=$PATH:/usr/local/cuda/bin
for tool in cmake cc c++ nvcc nvidia-smi timeout; do
  command -v "$tool" >/dev/null || fail "'$tool' was not found"
done
gpu=$(step 20 nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader) || fail "nvidia-smi finds no GPU"
gpu=${gpu%%$'\n'*} # the first of several
capability=${gpu##*, }
architecture=${capability//./}
[[ $architecture != 90 ]] || architecture=90a
say "GPU ${gpu%, *}, compute capability $capability"

generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
step 60 cmake "${generator[@]}" -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DUFP4_CUDA_ARCHITECTURES="$architecture" >&2
step 150 cmake --build "$build" --parallel "$(nproc)" --target ufp4_cuda ufp4_cuda_record >&2

name=$(tr -cs 'A-Za-z0-9' '_' <<<"${gpu%, *}")
record=$root/tests/cuda/records/${name%_}.txt
tool=$build/drivers/ufp4_cuda_record
mkdir -p "${record%/*}"
# Small ones first, so that a GPU on which something is wrong says so soon.
step 30 "$tool" -o "$build/quick.txt" --quick --size 1024
step 30 "$tool" --check "$build/quick.txt"
step 90 "$tool" -o "$record"
step 60 "$tool" --check "$record"
grep -E '^(figure|distance)' "$record"
say "$record is written"

# A program of its own, which captures the library's calls in a CUDA graph.
step 60 cmake --build "$build" --parallel "$(nproc)" --target ufp4_model_static >&2
step 30 nvcc -o "$build/graph" -I"$root/drivers/backends/cuda/include" -I"$root/cmodel/include" \
  "$root/drivers/backends/cuda/example/graph.c" "$build/drivers/libufp4_cuda.so" "$build/cmodel/package/lib/libufp4_model.a" \
  -Xlinker -rpath="$build/drivers" -lm -lpthread
step 20 "$build/graph"

# Each access to memory, and each pair of threads, in the quick cases.
if command -v compute-sanitizer >/dev/null; then
  for kind in memcheck racecheck; do
    room 30 "$kind" || continue
    attempt 60 compute-sanitizer --tool "$kind" --error-exitcode 1 "$tool" -o "$build/$kind.txt" --quick --size 0 || continue
  done
else
  say "no compute-sanitizer: memory and races were not checked"
fi

# A layer of the language model, where what the program needs is there: the GPU, the simulated core, the golden model.
layers() {
  local ufp4=$build/drivers/ufp4 layer=(layers/ufp4/layer0.fc1.{X,W,dY}.npy) recipe
  attempt 150 cmake --build "$build" --parallel "$(nproc)" --target ufp4_cli >&2 || return 0
  cd "$build"
  attempt 20 "$ufp4" info --backend cuda || return 0
  cat "$root"/docs/*/*.md >text
  attempt 60 "$ufp4" train text -o layers --recipe ufp4 --whole --no-control --seeds 1 --steps 2 --eval 2048 --capture \
    --backend cuda || return 0
  if ! says '^backend rtl: available' "$ufp4" info; then
    say "no backend rtl: no layer was compared with the simulated core"
  elif room 30 "the layer on the simulated core"; then
    attempt 90 "$ufp4" layer "${layer[@]}" -o layer --backend rtl --check cuda || true
  fi
  for recipe in ufp4 e2m1 nvfp4 e2m1-46 mxfp4; do
    room 15 "layer, recipe $recipe" || continue
    attempt 30 "$ufp4" layer "${layer[@]}" -o layer --recipe "$recipe" --backend cuda --check model || continue
  done
}
if ! says 'ufp4_cli' cmake --build "$build" --target help; then
  say "the program is not built: it needs libjansson-dev and zlib1g-dev"
elif room 60 "the program and its layers"; then
  layers
fi
say "commit $record: the test cuda.record.* checks it on every machine from then on"
((failed == 0)) || { say "something beside the record failed, see above"; exit 1; }
