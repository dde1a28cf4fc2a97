// SPDX-License-Identifier: Apache-2.0
// What the parts of bench share: its state, its lines, and how a case and its yardstick are timed.
#ifndef UFP4_BENCH_H
#define UFP4_BENCH_H

#include <stdint.h>

#include "blas.h"
#include "cli.h"

typedef struct {
  uint64_t size, repeats, threads, seed;
  const char *only;      ///< cases whose names start so, or NULL
  int as_json, printed;  ///< printed: lines so far
  json_out_t json;
  blas_t blas, blas_avx2;
  float *from, *to, *yard[3];  ///< [size][size] each
} bench_t;

typedef struct {
  const char *what, *format, *data;
  double seconds;
  double rate;
  const char *unit, *against;
  double against_rate, ratio;  ///< NaN where nothing stands against it
} line_t;
void bench_print(bench_t *bench, uint64_t size, const line_t *line);

/** Whether a case of that name was asked for. */
int bench_wants(const bench_t *bench, const char *what);
/** Whether --case may name a case that begins with @p group. */
int bench_wants_any(const bench_t *bench, const char *group);

#define BENCH_MAX_REPEATS 99
#define BENCH_UNCOUNTED 2  // first turns: memory is being mapped

/** CPU time of all threads with 0, of this one with 1; else time. */
double bench_seconds(int threads);

/** Sorts. */
double bench_median(double *values, uint64_t count);

typedef struct {
  double seconds, yard_seconds, ratio;  ///< medians; of yardstick's time / case's time
} timing_t;
typedef ufp4_status_t (*bench_run_t)(bench_t *bench, const void *argument);

/** Case and yardstick in turns, so that both meet the same moments of a shared machine; @p threads as in bench_seconds.
 */
ufp4_status_t bench_take_turns(bench_t *bench, int threads, bench_run_t run_case, bench_run_t run_yard,
                               const void *argument, timing_t *out);

/** Gaussian; outliers: 2 % of the columns are 16 times larger; any: codes and scales of any value but NaN. */
typedef enum { DATA_GAUSSIAN, DATA_OUTLIERS, DATA_ANY } data_t;
/** Fills bench->from with other numbers for each @p operand; DATA_ANY as DATA_GAUSSIAN. */
void bench_fill(bench_t *bench, data_t data, uint64_t operand);
ufp4_matrix_t bench_matrix(const bench_t *bench);
const char *bench_elem_name(ufp4_elem_t elem);

/** The cases of the GEMM. */
ufp4_status_t bench_gemms(bench_t *bench);

#endif
