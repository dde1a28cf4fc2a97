// SPDX-License-Identifier: Apache-2.0
#include "split.h"

int split_gemm(int columns, uint32_t all, ufp4_dtype_t d_dtype, int cores,
               split_part_t parts[SPLIT_MAX_CORES]) {
  const uint64_t element = d_dtype == UFP4_DTYPE_BF16 ? 2 : 4;
  const uint64_t grain = columns ? UFP4_ALIGN_BYTES / element : UFP4_PANEL_ROWS;
  const uint64_t grains = (all + grain - 1) / grain;
  int count = 0;
  for (int i = 0; i < cores; i++) {
    const uint64_t first = grains * (uint64_t)i / (uint64_t)cores * grain;
    const uint64_t end = grains * (uint64_t)(i + 1) / (uint64_t)cores * grain;
    const uint64_t last = end < all ? end : all;
    if (first < last) parts[count++] = (split_part_t){(uint32_t)first, (uint32_t)(last - first)};
  }
  return count;
}
