// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: rows and their output.
#ifndef UFP4_CLI_EXPLORE_ROWS_H
#define UFP4_CLI_EXPLORE_ROWS_H

#include "explore/plan.h"

typedef enum {
  EXPLORE_FPROP,
  EXPLORE_DGRAD,
  EXPLORE_WGRAD,
  EXPLORE_AMAX,
  EXPLORE_QUANT,
  EXPLORE_ALL,       ///< a total
  EXPLORE_FORWARD,   ///< the host's part of the forward pass
  EXPLORE_BACKWARD,  ///< the host's part of the backward pass
} explore_pass_t;

enum { EXPLORE_NO_BATCH = -1 };

/** Behind the core's counters: the bits read and written in its memories, including parity, of
 * accumulators, operands with their scales, C and earlier sums, and QUANT. */
enum {
  EXPLORE_SUM_BITS = UFP4_COUNTER_COUNT,
  EXPLORE_OPERAND_BITS,
  EXPLORE_ADDEND_BITS,
  EXPLORE_QUANT_BITS,
  EXPLORE_COUNTERS,
};
/** The status of a failed case with a reason. */
enum { EXPLORE_FAILED = -2 };

/** A line: a job, or a total of jobs. Meaningless numbers are NaN, missing texts NULL. */
typedef struct {
  const char *layer;
  explore_pass_t pass;
  const char *tensor;  ///< tensor read by AMAX or QUANT
  int batch;           ///< its micro-batch, or EXPLORE_NO_BATCH
  explore_split_t split;
  const explore_case_t *of;
  int64_t count;    ///< number of such jobs in a step of the model
  int64_t m, n, k;  ///< AMAX and QUANT: rows, columns and 0; totals: 0
  double macs;      ///< useful MACs of one job
  double cycles;    ///< of one job; for concurrent jobs, their total divided by their number
  double tokens;
  double compute, load, memory, output;    ///< lower bounds of the cycles by each part
  double ahead, burst;                     ///< memory of a GEMM; bounds.h
  double array;                            ///< the array with its ports; bounds.h
  double read, written;                    ///< bytes of data of one job
  double counters[EXPLORE_COUNTERS];       ///< of one job
  double block_cycles[EXPLORE_MAX_KINDS];  ///< of a step: cycles of one block of each kind
} explore_row_t;

typedef struct {
  explore_row_t *rows;
  int count, capacity;
} explore_rows_t;

int explore_add_row(explore_rows_t *rows, const explore_row_t *row);

void explore_print_csv_head(FILE *out, const explore_plan_t *plan);
void explore_print_csv(FILE *out, const explore_plan_t *plan, const explore_row_t *row);
void explore_print_head(const explore_plan_t *plan);
void explore_print_line(const explore_plan_t *plan, const explore_row_t *row);
/** Prints the memory that the steps need, and their time on many chips, a line for each. */
void explore_print_steps(const explore_plan_t *plan, const explore_rows_t *rows);
json_t *explore_json_row(const explore_plan_t *plan, const explore_row_t *row);

/** Returns the contents of DIR/explore.json, data of the cases that explore.csv lacks; NULL if
 * memory is exhausted. */
json_t *explore_document(const explore_plan_t *plan, const explore_rows_t *rows);

#endif
