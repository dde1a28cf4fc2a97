#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs all tests that need a GPU, in 14 minutes at most on 16 cores. It builds the GPU code for the present GPU, checks the
# bits of every case against the golden model on this machine's CPU, times kernels alternately with cuBLAS and a copy, and
# writes a record to be committed. Then it tests PyTorch, memory and races, and a layer.
# Each way of a kernel runs in a process of its own, and a step that is wrong, hangs or dies does not stop later steps.
# Needs a C and C++ compiler, CMake and the CUDA toolkit; what pack_for_gpu.sh packed needs only the CUDA driver.
# Usage: tests/cuda/run_on_gpu.sh [BUILD [RECORDS [SECONDS]]]
# Exit status: 0, everything was equal; 1, something differed, hung or died; 3, nothing could be run.
set -uo pipefail

root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
build=$(realpath -m "${1:-$root/build/gpu}")
records=$(realpath -m "${2:-$root/tests/cuda/records}")
readonly limit=${3:-840} # seconds for all
say() { echo "run_on_gpu: [$SECONDS s] $*" >&2; }
fail() { say "$*"; exit 3; }

# --- Steps --------------------------------------------------------------------------------------

lines=() failed=0
# Adds a line to the summary.
note() { lines+=("$*"); say "$*"; }
bad() { failed=1; note "$@"; }

# Runs a step for at most SECONDS, or for the remaining time if that is less.
step() {
  local own=$1 left=$((limit - SECONDS))
  shift
  ((left > 0)) || return 125
  timeout -k 5 $((own < left ? own : left)) "$@"
}
# Prints how a failed step ended.
ended() { # STATUS SECONDS
  case $1 in
  124 | 137) echo "hung after $2 s" ;;
  125) echo "left out, no time is left" ;;
  *) echo "died with status $1" ;;
  esac
}
# attempt NAME SECONDS COMMAND..: runs a step whose results nothing else compares, and adds a line about how it ended.
attempt() {
  local name=$1 own=$2 status=0 begun=$SECONDS
  shift 2
  step "$own" "$@" || status=$?
  if ((status == 0)); then note "$name: done"; else bad "$name: $(ended $status $((SECONDS - begun)))"; fi
  return "$status"
}
# Leaves out a case that is not in the record if fewer than SECONDS remain.
room() {
  local left=$((limit - SECONDS))
  ((left >= $1)) || note "$2: left out, $left s are left"
  ((left >= $1))
}
# compare NAME SECONDS FILE ARGUMENT..: records some cases on the GPU, checks the hashes on the CPU, and adds one line.
compare() {
  local name=$1 own=$2 file=$3 status=0 begun=$SECONDS
  shift 3
  step "$own" "$tool" -o "$file" "$@" || status=$?
  ((status == 0)) || { bad "$name: $(ended $status $((SECONDS - begun)))"; return 1; }
  begun=$SECONDS
  step 60 "$tool" --check "$file" || status=$?
  case $status in
  0) note "$name: equal" ;;
  1) bad "$name: WRONG, see above" ;;
  *) bad "$name: not compared, the golden model $(ended $status $((SECONDS - begun)))" ;;
  esac
}
# Tests whether the output of a program contains a text. `| grep -q` would not do, because it leaves at the first match,
# and then the program fails with a broken pipe.
says() {
  local text
  text=$("${@:2}" 2>/dev/null) && grep -q -e "$1" <<<"$text"
}

# --- The GPU, and what runs on it ---------------------------------------------------------------

PATH=$PATH:/usr/local/cuda/bin
needed=(nvidia-smi timeout)
[[ ! -f $root/CMakeLists.txt ]] || needed+=(cmake cc c++ nvcc)
for program in "${needed[@]}"; do
  command -v "$program" >/dev/null || fail "'$program' was not found"
done
gpu=$(step 20 nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader) || fail "nvidia-smi finds no GPU"
gpu=${gpu%%$'\n'*} # the first of several
capability=${gpu##*, }
architecture=${capability//./}
case $architecture in
90) architecture=90a ;;
12?) architecture=120f ;;
esac
say "GPU ${gpu%, *}, compute capability $capability"
step 20 nvidia-smi --query-gpu=driver_version,clocks.sm,clocks.max.sm,clocks.mem --format=csv >&2 || true

compile() { [[ ! -f $root/CMakeLists.txt ]] || step "$1" cmake --build "$build" --parallel "$(nproc)" --target "${@:2}" >&2; }
if [[ -f $root/CMakeLists.txt ]]; then
  generator=()
  command -v ninja >/dev/null && generator=(-G Ninja)
  step 60 cmake "${generator[@]}" -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DUFP4_CUDA_ARCHITECTURES="$architecture" >&2 ||
    fail "cmake failed"
fi
compile 150 ufp4_cuda ufp4_cuda_record || fail "the GPU code was not built"
export LD_LIBRARY_PATH=$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} # for the packed libraries
tool=$build/drivers/ufp4_cuda_record
name=$(tr -cs 'A-Za-z0-9' '_' <<<"${gpu%, *}")
record=$records/${name%_}.txt
mkdir -p "$records"

# --- Bits and figures ---------------------------------------------------------------------------

ways=$("$tool" --ways) || fail "the record's program does not run"
for way in $ways; do
  compare "way $way" 10 "$build/way_$way.txt" --way "$way" --size 0
done
# Each core draws cases of other sizes by its own seed, so that one that hangs stops no other. Each process has a
# context of its own on the GPU, so there are at most 16, and only one if the GPU allows no more.
if room 70 fuzz; then
  fuzzers=() differ=0 cores=$(nproc)
  ((cores <= 16)) || cores=16
  says Exclusive step 20 nvidia-smi --query-gpu=compute_mode --format=csv,noheader && cores=1
  rm -f "$build"/fuzz_*.txt
  for ((seed = 0; seed < cores; seed++)); do
    step 60 "$tool" --fuzz 45 --seed "$seed" >"$build/fuzz_$seed.txt" 2>&1 &
    fuzzers+=($!)
  done
  for ((seed = 0; seed < ${#fuzzers[@]}; seed++)); do
    status=0
    wait "${fuzzers[seed]}" || status=$?
    case $status in
    0) ;;
    1) differ=1 && bad "fuzz, seed $seed: WRONG, see $build/fuzz_$seed.txt" && head -n 3 "$build/fuzz_$seed.txt" >&2 ;;
    *) differ=1 && bad "fuzz, seed $seed: $(ended $status 60), see $build/fuzz_$seed.txt" ;;
    esac
  done
  ((differ)) || note "fuzz: $(cat "$build"/fuzz_*.txt | awk '{ sum += $3 } END { print sum + 0 }') cases equal"
fi
# Figures come before the record, because a hung kernel would end it; the part file keeps the figures measured so far.
attempt figures 90 "$tool" -o "$build/figures.txt" --way none
grep -hE '^(figure|distance)' "$build/figures.txt" "$build/figures.txt.part" 2>/dev/null
if compare record 90 "$record"; then
  say "commit $record: the test cuda.record.* checks it on every machine from then on"
fi

if step 30 python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  attempt PyTorch 150 env PYTHONPATH="$build/drivers/python:$build/drivers/python/package" UFP4_CUDA_LIBRARY="$build/drivers/libufp4_cuda.so" python3 -B "$root/tests/python/run_on_gpu.py"
else
  note "PyTorch: left out, there is none that sees the GPU"
fi

# --- Memory and races ---------------------------------------------------------------------------

# Counts the reports of FILE that are known to be false, and all others. False are those of memcheck of 2023 on wgmma,
# and those of racecheck and synccheck on a pipeline of the copy engine in the two kernels by warpgroups.
reports() { # KIND VERSION FILE
  awk -v kind="$1" -v version="$2" '
    function close_one() { if (one != "") { if (known_kind && one ~ /(fp32|exact)_kernel/) known++; else other++ } one = "" }
    BEGIN { known_kind = kind == "racecheck" || kind == "synccheck" || (kind == "memcheck" && version ~ /2023/) }
    /^========= +(ERROR|RACECHECK) SUMMARY|^========= COMPUTE-SANITIZER/ { close_one(); next }
    /^========= [^ ]/ { close_one(); one = $0; next }
    /^=========  / { one = one $0 }
    END { close_one(); print known + 0, other + 0 }' "$3"
}
sanitize() { # KIND WAY VERSION
  local log=$build/$1_$2.log status=0 begun=$SECONDS known other
  step 25 compute-sanitizer --tool "$1" --error-exitcode 1 "$tool" -o "$build/$1_$2.txt" --quick --way "$2" --size 0 >"$log" 2>&1 || status=$?
  read -r known other < <(reports "$1" "$3" "$log")
  if ((status == 0)); then note "$1, $2: no report"
  elif ((status >= 124)); then bad "$1, $2: $(ended $status $((SECONDS - begun)))"
  elif ((other > 0)); then bad "$1, $2: $other REPORTS beside $known known to be false, see $log"
  elif ((known > 0)); then note "$1, $2: $known reports, all known to be false"
  else bad "$1, $2: $(ended $status 0), see $log"; fi
}
if command -v compute-sanitizer >/dev/null; then
  version=$(compute-sanitizer --version | tr '\n' ' ')
  note "compute-sanitizer: $version"
  for kind in memcheck initcheck racecheck synccheck; do
    for way in quick fp32 exact_near e8m0; do
      if room 30 "$kind, $way"; then sanitize "$kind" "$way" "$version"; fi
    done
  done
else
  note "compute-sanitizer: left out, it was not found"
fi

# --- Counters -----------------------------------------------------------------------------------

# Profiles one launch of each decisive kernel; there are no counters if the driver forbids reading them.
if command -v ncu >/dev/null; then
  for kernel in fp32_kernel exact_kernel quick_kernel; do
    room 40 "ncu, $kernel" || continue
    status=0
    step 30 ncu --kernel-name "$kernel" --launch-count 1 --kill yes --section SpeedOfLight --section MemoryWorkloadAnalysis \
      --section SchedulerStats --section WarpStateStats --section Occupancy --section LaunchStats \
      "$tool" -o "$build/ncu.txt" --way none --size 4096 >"$build/ncu_$kernel.log" 2>&1 || status=$?
    if grep -q 'Duration' "$build/ncu_$kernel.log"; then note "ncu, $kernel: done, see $build/ncu_$kernel.log"
    else note "ncu, $kernel: no counters, status $status, see $build/ncu_$kernel.log"; fi
    ! grep -q ERR_NVGPUCTRPERM "$build/ncu_$kernel.log" || break
  done
else
  note "ncu: left out, it was not found"
fi

# --- The example, and a layer of the language model ---------------------------------------------

# A separate program captures the library's calls in a CUDA graph.
if [[ -f $root/CMakeLists.txt ]]; then
  compile 60 ufp4_model_static
  step 30 nvcc -o "$build/graph" -I"$root/drivers/backends/cuda/include" -I"$root/cmodel/include" \
    "$root/drivers/backends/cuda/example/graph.c" "$build/drivers/libufp4_cuda.so" "$build/cmodel/package/lib/libufp4_model.a" \
    -Xlinker -rpath="$build/drivers" -lm -lpthread
fi
if [[ -x $build/graph ]]; then attempt "example graph" 20 "$build/graph"; else note "example graph: left out, it was not built"; fi

# Runs layers if the program has the GPU, the simulated core and the golden model.
layers() {
  local ufp4=$build/drivers/ufp4 layer=(layers/ufp4/layer0.fc1.{X,W,dY}.npy) recipe
  compile 150 ufp4_cli || { bad "program: not built"; return; }
  cd "$build" || return
  attempt info 20 "$ufp4" info --backend cuda || return
  cat "$root"/docs/*/*.md >text
  attempt train 60 "$ufp4" train text -o layers --recipe ufp4 --whole --no-control --seeds 1 --steps 2 --eval 2048 --capture \
    --backend cuda || return
  if ! says '^backend rtl: available' "$ufp4" info; then
    note "layer, simulated core: left out, there is no backend rtl"
  elif room 30 "layer, simulated core"; then
    attempt "layer, simulated core" 90 "$ufp4" layer "${layer[@]}" -o layer --backend rtl --check cuda
  fi
  for recipe in ufp4 e2m1 nvfp4 e2m1-46 mxfp4; do
    room 15 "layer, $recipe" || continue
    attempt "layer, $recipe" 30 "$ufp4" layer "${layer[@]}" -o layer --recipe "$recipe" --backend cuda --check model
  done
}
if [[ -f $root/CMakeLists.txt ]] && ! says 'ufp4_cli' cmake --build "$build" --target help; then
  note "program: left out, it needs libjansson-dev and zlib1g-dev"
elif [[ ! -f $root/CMakeLists.txt && ! -x $build/drivers/ufp4 ]]; then
  note "program: left out, it was not packed"
elif room 60 program; then
  layers
fi

echo "run_on_gpu: summary"
printf '  %s\n' "${lines[@]}"
exit "$failed"
