# SPDX-License-Identifier: Apache-2.0
"""Compares the golden model's casts with ml_dtypes over every BF16 pattern: witness_ml_dtypes.py CAST_TABLE e2m1|e4m3.

Exits 0 if equal, 1 if not, 77 (skipped) without numpy or ml_dtypes. Left out, because ml_dtypes means something else
there: E2M1: NaN, for which there is no code. E4M3: NaN (ml_dtypes keeps its sign), Inf and what rounds to more than 448
(ml_dtypes gives NaN, the golden model saturates).
"""

import subprocess
import sys

try:
    import ml_dtypes
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def main(program: str, name: str) -> int:
    table = np.frombuffer(subprocess.run([program], check=True, capture_output=True).stdout, np.uint8).reshape(65536, 2)
    bits = np.arange(65536, dtype=np.uint16)
    values = bits.view(ml_dtypes.bfloat16).astype(np.float32)
    if name == "e2m1":
        got, kind, compared = table[:, 0], ml_dtypes.float4_e2m1fn, ~np.isnan(values)
    else:
        got, kind, compared = table[:, 1], ml_dtypes.float8_e4m3fn, np.abs(values) <= 464
    with np.errstate(invalid="ignore", over="ignore"):
        want = values.astype(kind).view(np.uint8)
    wrong = np.flatnonzero(compared & (got != want))
    for i in wrong[:8]:
        print(f"  index {i}: bf16 {i:04x} = {values[i]}: got 0x{got[i]:02x}, want 0x{want[i]:02x}")
    print(f"{name}: {compared.sum()} patterns compared with ml_dtypes {ml_dtypes.__version__}, {len(wrong)} differ")
    return 1 if len(wrong) or not compared.any() else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
