// SPDX-License-Identifier: Apache-2.0
// The state and the output lines of bench, and the timing of a case and its yardstick.
#ifndef UFP4_BENCH_H
#define UFP4_BENCH_H

#include <stdint.h>

#include "blas.h"
#include "frame/cli.h"

typedef struct {
  uint64_t size, repeats, threads, seed;
  const char *only;  ///< cases whose names begin with this, or NULL
  int as_json;
  json_t *lines;
  int printed;
  blas_t blas;
  float *from, *to, *yard[3];  ///< [size][size] each
} bench_t;

typedef struct {
  const char *what, *format;
  double seconds;
  double rate;
  const char *unit, *against;
  double against_rate, ratio;  ///< NaN without a yardstick
} line_t;
void bench_print(bench_t *bench, uint64_t size, const line_t *line);

#define BENCH_MAX_REPEATS 99

/** Returns the CPU time of all threads (0) or of this one (1); otherwise elapsed time. */
double bench_seconds(int threads);

typedef struct {
  double seconds, yard_seconds, ratio;  ///< medians; ratio is yardstick's time / case's time
} timing_t;
typedef ufp4_status_t (*bench_run_t)(bench_t *bench, const void *argument);

/** Alternates case and yardstick, so that both are affected equally by other load on the machine;
 * threads as in bench_seconds. */
ufp4_status_t bench_take_turns(bench_t *bench, bench_run_t run_case, bench_run_t run_yard,
                               const void *argument, timing_t *out);
/** Returns whether --case selects a case. */
int bench_is_wanted(const bench_t *bench, const char *what);
/** Measures steps of the small language model in each recipe. */
ufp4_status_t bench_train(bench_t *bench);

#endif
