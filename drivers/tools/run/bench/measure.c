// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define UNCOUNTED 2  // the first runs, in which memory is mapped

static void add_line(json_t *lines, uint64_t size, const line_t *line) {
  json_array_append_new(
      lines,
      json_pack("{s:s, s:s, s:I, s:o, s:o, s:s, s:s, s:o, s:o}", "case", line->what, "format",
                line->format, "size", (json_int_t)size, "time_ms",
                json_real_or_null(1e3 * line->seconds), "rate", json_real_or_null(line->rate),
                "unit", line->unit, "against", line->against, "against_rate",
                json_real_or_null(line->against_rate), "ratio", json_real_or_null(line->ratio)));
}

void bench_print(bench_t *bench, uint64_t size, const line_t *line) {
  const int first = bench->printed++ == 0;
  if (bench->as_json) {
    add_line(bench->lines, size, line);
    return;
  }
  if (first) {
    printf("%% %-20s %-10s %5s %10s %8s %-8s %-18s %8s %6s\n", "case", "format", "size", "time_ms",
           "rate", "unit", "against", "against_rate", "ratio");
  }
  printf("%-22s %-10s %5llu %10.3f %8.2f %-8s %-18s %8.2f %6.2f\n", line->what, line->format,
         (unsigned long long)size, 1e3 * line->seconds, line->rate, line->unit, line->against,
         line->against_rate, line->ratio);
  fflush(stdout);
}

double bench_seconds(int threads) {
  struct timespec t;
  const clockid_t cpu_time = threads == 0 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID;
  clock_gettime(threads < 2 ? cpu_time : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_reals(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Sorts, and returns the median.
static double median(double *values, uint64_t count) {
  qsort(values, (size_t)count, sizeof *values, compare_reals);
  return values[count / 2];
}

ufp4_status_t bench_take_turns(bench_t *bench, bench_run_t run_case, bench_run_t run_yard,
                               const void *argument, timing_t *out) {
  const int threads = (int)bench->threads;
  double seconds[BENCH_MAX_REPEATS], yard[BENCH_MAX_REPEATS], ratio[BENCH_MAX_REPEATS];
  for (uint64_t i = 0; i < UNCOUNTED + bench->repeats; i++) {
    double start = bench_seconds(threads);
    ufp4_status_t status = run_case(bench, argument);
    double between = bench_seconds(threads);
    if (status == UFP4_OK) status = run_yard(bench, argument);
    double end = bench_seconds(threads);
    if (status != UFP4_OK) return status;
    if (i < UNCOUNTED) continue;
    const uint64_t at = i - UNCOUNTED;
    seconds[at] = between - start;
    yard[at] = end - between;
    ratio[at] = yard[at] / seconds[at];
  }
  const uint64_t count = bench->repeats;
  *out = (timing_t){median(seconds, count), median(yard, count), median(ratio, count)};
  return UFP4_OK;
}

int bench_is_wanted(const bench_t *bench, const char *what) {
  return bench->only == NULL || strncmp(what, bench->only, strlen(bench->only)) == 0;
}
