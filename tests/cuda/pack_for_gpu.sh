#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs everything that run_on_gpu.sh needs on a machine that has only a GPU and its driver: the GPU's library, programs
# with the libraries they load, and scripts. The command there is FOLDER/tests/cuda/run_on_gpu.sh.
# Usage: tests/cuda/pack_for_gpu.sh BUILD FOLDER [LIBRARY]   LIBRARY: instead of BUILD/drivers/libufp4_cuda.so
set -euo pipefail

readonly most=$((64 << 20)) # bytes
root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
stop() { echo "pack_for_gpu: $*" >&2; exit 2; }
(($# == 2 || $# == 3)) || stop "usage: pack_for_gpu.sh BUILD FOLDER [LIBRARY]"
build=$1 folder=$2 library=${3:-$1/drivers/libufp4_cuda.so}
[[ ! -e $folder ]] || stop "$folder is there already"
for file in "$library" "$build/drivers/ufp4_cuda_record"; do
  [[ -f $file ]] || stop "$file is missing; cmake --build $build --target ufp4_cuda ufp4_cuda_record makes it"
done
to=$folder/build/gpu
mkdir -p "$to/drivers" "$to/lib" "$folder/tests/cuda" "$folder/tests/python" "$folder/docs/howto"
cp -L "$library" "$to/drivers/libufp4_cuda.so"
cp -L "$build/drivers/ufp4_cuda_record" "$to/drivers"
if [[ -f $build/drivers/ufp4 ]]; then
  cp -L "$build/drivers/ufp4" "$to/drivers"
  # All libraries are packed but those of the C library, which must match the loader there.
  ldd "$build/drivers/ufp4" | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libdl|libpthread|librt)\.so/ { print $3 }' | xargs -r cp -L -t "$to/lib"
else
  echo "pack_for_gpu: without the program ufp4, so without layers" >&2
fi
cp "$root/tests/cuda/run_on_gpu.sh" "$folder/tests/cuda"
cp "$root"/tests/python/{run_on_gpu,bench_torch}.py "$folder/tests/python"
cp "$root"/docs/howto/*.md "$folder/docs/howto"
if [[ -d $build/drivers/python/package ]]; then cp -rL "$build/drivers/python/package" "$to/drivers/python"; fi
bytes=$(du -sb "$folder" | cut -f1)
((bytes < most)) || stop "$folder has $bytes bytes; below $most can be carried: build the library for one GPU (UFP4_CUDA_ARCHITECTURES)"
echo "$folder: $bytes bytes; there: $folder/tests/cuda/run_on_gpu.sh"
