#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/format.sh [--check] formats all C and C++ by .clang-format and all Python by .ruff.toml, or reports differences.
# It needs the versions that the launcher installs, because others break lines elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=.venv/bin/clang-format ruff=.venv/bin/ruff
if [[ ! -x $tool || ! -x $ruff ]]; then
  echo "skipped: needs clang-format and ruff from PyPI, in .venv; ./ufp4 test installs them"
  exit 0
fi
python_mode=()
[[ ${1:-} != --check ]] || python_mode=(--check --quiet --diff)
timeout 600 "$ruff" format --no-cache "${python_mode[@]}" .
timeout 600 "$ruff" check --no-cache --quiet .
mode=(-i)
[[ ${1:-} != --check ]] || mode=(--dry-run -Werror --ferror-limit=3)
# Generated files have their own layout.
files() { find cmodel drivers fpga sim tests -regextype posix-egrep -regex '.*\.(c|h|cpp|cu|cuh)' ! -path cmodel/include/ufp4/spec.h ! -path cmodel/src/base/shape.h ! -path cmodel/src/base/names.h -print0; }
files | timeout 600 xargs -0 -P 2 -n 50 "$tool" "${mode[@]}"
# clang-format breaks a comment that is too long for its line, and cannot undo that.
if files | xargs -0 grep -nE '.{101}|^ +[a-z0-9_]+_t$'; then
  echo "a line over 100 characters, or a declaration broken behind its type: a comment goes above it"
  exit 1
fi
