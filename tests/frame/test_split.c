// SPDX-License-Identifier: Apache-2.0
// Tests a GEMM in parts, one per core.
#include "check.h"
#include "frame/split.h"

TEST(parts_are_all_of_it_once_in_whole_groups) {
  check_random_t random = check_random();
  for (int i = 0; i < 20000; i++) {
    const int columns = (int)check_below(&random, 2), half = (int)check_below(&random, 2);
    const uint32_t all = 1 + check_below(&random, i % 4 == 0 ? 1u << 20 : 300);
    const uint32_t cores = 1 + check_below(&random, SPLIT_MAX_CORES);
    const uint32_t group = !columns ? 16 : half ? 64 : 32, groups = (all + group - 1) / group;
    split_part_t parts[SPLIT_MAX_CORES];
    const int count =
        split_gemm(columns, all, half ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32, (int)cores, parts);
    uint32_t next = 0;
    check_bits(i, (uint64_t)count, groups < cores ? groups : cores, "parts of %u", all);
    for (int p = 0; p < count; p++) {
      const uint32_t in = (parts[p].count + group - 1) / group;
      check_bits(i, parts[p].first, next, "first of part %d of %u", p, all);
      check_that(i, parts[p].first % group == 0, "part %d begins at %u", p, parts[p].first);
      check_that(i, in == groups / cores || in == (groups + cores - 1) / cores,
                 "part %d has %u groups", p, in);
      next += parts[p].count;
    }
    check_bits(i, next, all, "all of it");
  }
}
