#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that wants a GPU, in one go: builds the GPU code for the GPU that is here, runs every case and every figure on
# it, checks the bits against the golden model on this machine's CPU, and leaves a record to be committed.
# Needs a C and C++ compiler, CMake and the CUDA toolkit; nothing is installed. Where the program's libraries are too, it
# runs a layer as well. Usage: tests/cuda/run_on_gpu.sh [BUILD]
set -euo pipefail

root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
build=$(realpath -m "${1:-$root/build/gpu}")
say() { echo "run_on_gpu: $*" >&2; }
fail() { say "$*"; exit 3; }

PATH=$PATH:/usr/local/cuda/bin
for tool in cmake cc c++ nvcc nvidia-smi; do
  command -v "$tool" >/dev/null || fail "'$tool' was not found"
done
gpu=$(timeout 60 nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader | head -n 1) || fail "nvidia-smi finds no GPU"
capability=${gpu##*, }
architecture=${capability//./}
[[ $architecture != 90 ]] || architecture=90a
say "GPU ${gpu%, *}, compute capability $capability"

generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
cmake "${generator[@]}" -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DUFP4_CUDA_ARCHITECTURES="$architecture" >&2
timeout 540 cmake --build "$build" --parallel "$(nproc)" --target ufp4_cuda ufp4_cuda_record >&2

name=$(tr -cs 'A-Za-z0-9' '_' <<<"${gpu%, *}")
record=$root/tests/cuda/records/${name%_}.txt
mkdir -p "${record%/*}"
# Small ones first, so that a GPU on which something is wrong says so soon.
timeout 120 "$build/drivers/ufp4_cuda_record" -o "$build/quick.txt" --quick --size 1024
timeout 120 "$build/drivers/ufp4_cuda_record" --check "$build/quick.txt"
timeout 300 "$build/drivers/ufp4_cuda_record" -o "$record"
timeout 300 "$build/drivers/ufp4_cuda_record" --check "$record"
grep -E '^(figure|distance)' "$record"

# A program of its own, which captures the library's calls in a CUDA graph.
cmake --build "$build" --parallel "$(nproc)" --target ufp4_model_static >&2
nvcc -o "$build/graph" -I"$root/drivers/backends/cuda/include" -I"$root/cmodel/include" \
  "$root/drivers/backends/cuda/example/graph.c" "$build/drivers/libufp4_cuda.so" "$build/cmodel/package/lib/libufp4_model.a" \
  -Xlinker -rpath="$build/drivers" -lm -lpthread
timeout 60 "$build/graph"

# Each access to memory, and each pair of threads, in the quick cases.
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    timeout 180 compute-sanitizer --tool "$tool" --error-exitcode 1 \
      "$build/drivers/ufp4_cuda_record" -o "$build/$tool.txt" --quick --size 0
  done
else
  say "no compute-sanitizer: memory and races were not checked"
fi

# The program, where what it needs is there.
if cmake --build "$build" --target help 2>/dev/null | grep -q 'ufp4_cli'; then
  timeout 300 cmake --build "$build" --parallel "$(nproc)" --target ufp4_cli >&2
  cd "$build"
  "$build/drivers/ufp4" info --backend cuda
  # A layer of the language model: the GPU, the golden model and, where it is built, the simulated core.
  cat "$root"/docs/*/*.md >text
  timeout 120 "$build/drivers/ufp4" train text -o layers --recipe ufp4 --whole --no-control --seeds 1 --steps 2 --eval 2048 --capture \
    --backend cuda
  layer=(layers/ufp4/layer0.fc1.{X,W,dY}.npy)
  for recipe in ufp4 e2m1 nvfp4 e2m1-46 mxfp4; do
    timeout 120 "$build/drivers/ufp4" layer "${layer[@]}" -o layer --recipe "$recipe" --backend cuda --check model
  done
  if "$build/drivers/ufp4" info | grep -q '^backend rtl: available'; then
    timeout 300 "$build/drivers/ufp4" layer "${layer[@]}" -o layer --backend rtl --check cuda
  fi
  timeout 300 "$build/drivers/ufp4" bench --backend cuda --size 8192
else
  say "the program is not built: it needs libjansson-dev and zlib1g-dev"
fi
say "commit $record: the test cuda.record.* checks it on every machine from then on"
