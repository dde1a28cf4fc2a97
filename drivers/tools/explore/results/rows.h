// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: rows, and how they are printed.
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
  EXPLORE_FORWARD,   ///< the host's part
  EXPLORE_BACKWARD,  ///< likewise
} explore_pass_t;

enum { EXPLORE_NO_BATCH = -1 };

/** Behind the core's counters the bits that were read and written in its memories, parity included:
 * of accumulators, operands with their scales, C and earlier sums, and QUANT. */
enum {
  EXPLORE_SUM_BITS = UFP4_COUNTER_COUNT,
  EXPLORE_OPERAND_BITS,
  EXPLORE_ADDEND_BITS,
  EXPLORE_QUANT_BITS,
  EXPLORE_COUNTERS,
};
/** A case does not go, and says why. */
enum { EXPLORE_FAILED = -2 };

/** One line: a job, or a total of jobs. What has no meaning is NaN, what is not there is NULL. */
typedef struct {
  const char *layer;
  explore_pass_t pass;
  const char *tensor;  ///< that AMAX and QUANT read
  int batch;           ///< its micro-batch, or EXPLORE_NO_BATCH
  explore_split_t split;
  const explore_case_t *of;
  int64_t count;    ///< of this job in a step of the model
  int64_t m, n, k;  ///< of AMAX and QUANT rows, columns and 0; of totals 0
  double macs;      ///< useful ones, of one
  double cycles;    ///< of one; of several at once those of all, divided by how many
  double tokens;
  double compute, load, memory, output;    ///< cycles that each alone would need
  double ahead, burst;                     ///< of memory, of a GEMM's; bounds.h
  double array;                            ///< the array with its ports; bounds.h
  double read, written;                    ///< bytes of data, of one
  double counters[EXPLORE_COUNTERS];       ///< of one
  double block_cycles[EXPLORE_MAX_KINDS];  ///< of a step: those of one block of each kind
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
/** Prints what the steps need, and what they take on many chips, a line of each. */
void explore_print_steps(const explore_plan_t *plan, const explore_rows_t *rows);
json_t *explore_json_row(const explore_plan_t *plan, const explore_row_t *row);

/** Returns what explore.csv does not say of its cases, as DIR/explore.json has it; NULL without
 * memory. */
json_t *explore_document(const explore_plan_t *plan, const explore_rows_t *rows);

#endif
