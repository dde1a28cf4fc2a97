// SPDX-License-Identifier: Apache-2.0
// bench's state and its lines, and how a case and its yardstick are timed.
#ifndef UFP4_BENCH_H
#define UFP4_BENCH_H

#include <stdint.h>

#include "blas.h"
#include "frame/cli.h"

typedef struct {
  uint64_t size, repeats, threads, seed;
  const char *only;  ///< cases whose names start so, or NULL
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
  double against_rate, ratio;  ///< NaN where nothing stands against it
} line_t;
void bench_print(bench_t *bench, uint64_t size, const line_t *line);

#define BENCH_MAX_REPEATS 99

/** CPU time of all threads with 0, of this one with 1; else time. */
double bench_seconds(int threads);

typedef struct {
  double seconds, yard_seconds, ratio;  ///< medians; of yardstick's time / case's time
} timing_t;
typedef ufp4_status_t (*bench_run_t)(bench_t *bench, const void *argument);

/** Case and yardstick in turns, so that both meet the same moments of a shared machine; threads as
 * in bench_seconds. */
ufp4_status_t bench_take_turns(bench_t *bench, bench_run_t run_case, bench_run_t run_yard,
                               const void *argument, timing_t *out);
/** Whether --case asks for a case. */
int bench_is_wanted(const bench_t *bench, const char *what);
/** Steps of the small language model in each recipe. */
ufp4_status_t bench_train(bench_t *bench);

#endif
