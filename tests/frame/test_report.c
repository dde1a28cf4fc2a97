// SPDX-License-Identifier: Apache-2.0
// Tests the program's report of a GEMM: the comparison of two results, and the bound beside the
// utilization.
#include <math.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "frame/compare.h"
#include "frame/report.h"

static const ufp4_configuration_t cores[UFP4_CONFIGURATION_COUNT] = UFP4_CONFIGURATIONS;
#define SMALL (&cores[0])
#define DEFAULT (&cores[1])

TEST(compare_counts_every_code_scale_and_flag) {
  check_random_t random = check_random();
  ufp4_operand_t a = fixture_operand(&random, UFP4_ELEM_E2M1, 3, 40, FIXTURE_SCALES_ANY), b = a;
  uint8_t codes[3 * 3 * 8], scales[9];
  memcpy(codes, a.codes, sizeof codes);
  memcpy(scales, a.scales, sizeof scales);
  b.codes = codes;
  b.scales = scales;
  compare_t compare = {.got_name = "one", .want_name = "other"};
  compare_operands(&compare, "X row", &a, &b);
  check_bits(0, (uint64_t)compare.mismatches, 0, "equal operands");
  for (int i = 0; i < 3 * 3 * 8; i++) codes[i] ^= i == 71 ? 0x10 : 0x21;
  compare_operands(&compare, "X row", &a, &b);
  check_bits(1, (uint64_t)compare.mismatches, 2 * 72 - 1, "codes");
  scales[8] ^= 1;
  b.exponent = a.exponent + 1;
  b.flags = a.flags ^ UFP4_FLAG_NAN;
  compare_operands(&compare, "X row", &a, &b);
  check_bits(2, (uint64_t)compare.mismatches, 2 * (2 * 72 - 1) + 3, "and scale, exponent, flags");
  ufp4_operand_free(&a);
}

TEST(compare_sees_the_sign_of_zero_and_nan_patterns) {
  static const float a[] = {0.0f, 1.0f, NAN, 2.0f}, b[] = {-0.0f, 1.0f, NAN, 2.0f};
  compare_t compare = {.got_name = "one", .want_name = "other"};
  compare_elements(&compare, "D", a, b, sizeof(float), 4);
  check_bits(0, (uint64_t)compare.mismatches, 1, "only the zeros differ");
  compare_elements(&compare, "D", a, b, sizeof(uint16_t), 8);
  check_bits(1, (uint64_t)compare.mismatches, 2, "as 16-bit elements");
}

// The percentages are worked out by hand from the formulas in bounds.h.
TEST(bound_of_known_shapes) {
  static const struct {
    const ufp4_configuration_t *core;
    unsigned bytes, d_bytes;
    int64_t m, n, k;
    double percent;
  } table[] = {
      {DEFAULT, 64, 4, 512, 512, 512, 100.0},  // compute 32768 cycles, read 18432, write 16384
      {DEFAULT, 8, 4, 512, 512, 512, 100.0 * 32768 / 147456},  // read 147456, write 131072
      {DEFAULT, 64, 4, 128, 128, 64, 25.0},                    // write 1024, compute 256
      {DEFAULT, 64, 2, 128, 128, 64, 25.0},                    // BF16: the drain takes as long
      {DEFAULT, 64, 4, 1, 1, 1, 100.0 / (4096 * 6)},  // one MAC in the time of 6 beats: 2 of codes
                                                      // and one of scales, of A and of B
      {DEFAULT, 64, 4, 17, 17, 17,
       100.0 * 4913 / (4096 * 34)},        // write 17 rows of two beats, read 18 cycles
      {SMALL, 8, 4, 16, 16, 1024, 100.0},  // compute 4096, read 128 units of 144 bytes: 2304
  };
  for (int i = 0; i < 7; i++) {
    const bounds_gemm_t gemm = {
        .m = table[i].m, .n = table[i].n, .k = table[i].k, .d_bytes = table[i].d_bytes};
    const bounds_memory_t memory = {.bytes = table[i].bytes};
    const bounds_t bounds = bounds_of(table[i].core, memory, &gemm);
    double got = bounds_percent(table[i].core, &bounds, &gemm);
    check_that(i, fabs(got - table[i].percent) < 1e-9, "%.9f %%, want %.9f %%", got,
               table[i].percent);
  }
}

// These are also worked out by hand, for four macro-tiles of 192 x 160 on 24 x 20 PEs. Operands
// enter at 4 rows, 32 bytes, a cycle; C and earlier sums enter at the drain's 4 columns, 16 bytes,
// a cycle.
TEST(bound_of_what_is_added) {
  const ufp4_configuration_t core = {"", 24, 20, 8, 8, 16, 64, 0, 0, 16, 16, 0};
  static const struct {
    unsigned latency;
    int has_sums, has_c;
    double cycles;
    const char *by;
  } table[] = {
      {0, 0, 0, 4 * 192 * 40, "output"},           // a row of D leaves in 40 reads
      {0, 0, 1, 4 * (22 * 5 + 192 * 40), "load"},  // one port: 22 row groups, and 40 beats a row
      {200, 0, 1, 4 * 40 + 4 * 189 * 275.0 / 3,
       "output"},  // 128 beats are 3 rows: 31 reads make room for one more, 4 + 200 cycles pass, 40
                   // beats come
      {0, 1, 0, 4 * (80 + 191 * 114),
       "output"},  // with one row of sums: 15 reads of two cycles, 4 cycles, 80 beats
  };
  for (int i = 0; i < 4; i++) {
    const bounds_gemm_t gemm = {.m = 384,
                                .n = 320,
                                .k = 16,
                                .d_bytes = 4,
                                .operations = table[i].has_c,
                                .has_sums = table[i].has_sums,
                                .has_c = table[i].has_c};
    const bounds_memory_t memory = {.bytes = 64, .latency = table[i].latency};
    const bounds_t bounds = bounds_of(&core, memory, &gemm);
    check_that(i, fabs(bounds_most(&bounds) - table[i].cycles) < 1e-6, "%.3f cycles, want %.3f",
               bounds_most(&bounds), table[i].cycles);
    check_that(i, strcmp(bounds_by(&bounds), table[i].by) == 0, "by %s", bounds_by(&bounds));
  }
}

TEST(bound_is_never_over_100) {
  check_random_t random = check_random();
  for (int i = 0; i < 2000; i++) {
    const bounds_gemm_t gemm = {.m = 1 + check_below(&random, 700),
                                .n = 1 + check_below(&random, 700),
                                .k = 1 + check_below(&random, 700),
                                .d_bytes = 4};
    const bounds_memory_t memory = {.bytes = 1 + check_below(&random, 200)};
    const bounds_t bounds = bounds_of(&cores[i % 2], memory, &gemm);
    double got = bounds_percent(&cores[i % 2], &bounds, &gemm);
    check_that(i, got > 0 && got <= 100.0, "%.9f %%", got);
  }
}

TEST(columns_of_a_case) {
  ufp4_gemm_stats_t stats = {.m = 512, .n = 512, .k = 512, .cycles = 65536};
  const bounds_gemm_t how = {.d_bytes = 4};
  ufp4_device_info_t info = {.backend = "tlm", .configuration = *DEFAULT, .has_cycles = 1};
  stats.counters[UFP4_COUNTER_STALL_OPERAND] = 100;
  stats.counters[UFP4_COUNTER_STALL_ACCUMULATOR] = 200;
  stats.counters[UFP4_COUNTER_STALL_DRAIN] = 32468;
  report_case_t line = report_case_make("fprop", "e1m2", &stats, &how, &info, (bounds_memory_t){0});
  check_that(0, line.util_percent == 50.0, "utilization %f", line.util_percent);
  check_that(1, line.stall_percent == 50.0, "stalls %f", line.stall_percent);
  check_that(2, line.bound_percent == 100.0, "bound %f", line.bound_percent);
  check_that(2, strcmp(line.bound_by, "compute") == 0, "by %s", line.bound_by);
  check_bits(3, (uint64_t)line.mismatches, (uint64_t)-1, "nothing compared");
  info.has_cycles = 0;
  line = report_case_make("fprop", "e1m2", &stats, &how, &info, (bounds_memory_t){0});
  check_that(4,
             isnan(line.cycles) && isnan(line.util_percent) && isnan(line.bound_percent) &&
                 isnan(line.stall_percent) && line.bound_by == NULL,
             "columns without cycles");
}

TEST(verdicts) {
  check_that(0, strcmp(report_verdict(0), "equal") == 0, "0");
  check_that(1, strcmp(report_verdict(1), "DIFFERENT") == 0, "1");
  check_that(2, strcmp(report_verdict(-1), "-") == 0, "-1");
}
