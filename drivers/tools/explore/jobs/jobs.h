// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: functions for both orders of a case's jobs, serial and overlapped.
#ifndef UFP4_CLI_EXPLORE_JOBS_H
#define UFP4_CLI_EXPLORE_JOBS_H

#include "explore/results/rows.h"
#include "frame/bounds.h"

/** Returns how many layers of this shape in a block see a token; for experts at most one per
 * routed row. */
int64_t explore_layer_count(const explore_case_t *of, const explore_layer_t *layer);
/** Returns the tokens of a step that each of these sees, rounded up. */
int64_t explore_layer_tokens(const explore_case_t *of, const explore_layer_t *layer);
/** Returns the share of these rows that are filled by tokens, over all layers of this shape: 1 if
 * the tokens divide evenly. */
double explore_layer_share(const explore_case_t *of, const explore_layer_t *layer);
/** Return the widths of a layer on one chip. */
int64_t explore_cin(const explore_case_t *of, const explore_layer_t *layer);
int64_t explore_cout(const explore_case_t *of, const explore_layer_t *layer);
/** Returns the tokens of a micro-batch. */
int64_t explore_tokens(const explore_case_t *of);
/** Returns whether the case's layers of this shape are experts with routed tokens. */
int explore_is_expert(const explore_layer_t *layer);
/** Returns the case on one chip with the whole model. */
explore_case_t explore_alone(const explore_case_t *of);
void explore_role_shape(const explore_case_t *of, const explore_layer_t *layer, int64_t tokens,
                        int role, int64_t *rows, int64_t *cols);
void explore_pass_shape(const explore_case_t *of, const explore_layer_t *layer, int64_t tokens,
                        int pass, int64_t *m, int64_t *n, int64_t *k);
/** Returns whether a quantized pass reads this copy of a tensor. */
int explore_wants(const explore_case_t *of, int role, int axis);
/** Returns whether a pass accumulates in all micro-batches but the first, as dW does with several;
 * it then has two rows. The gradient of an activation in the place of W belongs to a single
 * micro-batch. */
int explore_adds(const explore_case_t *of, const explore_layer_t *layer, int pass);
/** Returns FP32 for weight gradients, because the optimizer sums them up. */
ufp4_dtype_t explore_result_dtype(const explore_plan_t *plan, int pass);

/** Returns the micro-batches of a case: the requested number, or else two if each has two
 * macro-tiles of rows in every layer. With fewer, W is read twice for little benefit. */
int explore_batches(const explore_plan_t *plan, const explore_case_t *of);

/** Returns the bytes per cycle in each direction that the memory of a case carries, at most the
 * width of the bus. */
unsigned explore_bytes_per_cycle(const explore_case_t *of);
bounds_memory_t explore_memory(const explore_case_t *of);
/** Returns the memory with banks of a case, or NULL. */
const char *explore_dram(const explore_case_t *of);
/** Returns the bytes per cycle that the DRAM's pins carry, reads and writes together; infinite
 * without DRAM. */
double explore_dram_bandwidth(const explore_case_t *of);
/** Returns the cycles that the memory needs, given the cycles of reads and of writes. */
double explore_memory_bound(const explore_case_t *of, double read, double write);

/** Makes the rows of jobs on so many tokens, without measured values.
 *  @param adds whether they belong to the accumulating micro-batches */
explore_row_t explore_gemm_row(const explore_plan_t *plan, const explore_case_t *of,
                               const explore_layer_t *layer, int64_t tokens, int pass, int adds);
explore_row_t explore_quant_row(const explore_plan_t *plan, const explore_case_t *of,
                                const explore_layer_t *layer, int64_t tokens, int role,
                                explore_pass_t pass, int copies);
/** Adds measured values @p times. */
void explore_add_to(explore_row_t *total, const explore_row_t *row, double times);
/** Adds rows for the host's work: no cycles, but the bytes that it reads and writes in BF16. */
int explore_add_host(const explore_plan_t *plan, const explore_case_t *of, explore_rows_t *rows);
/** Makes the totals of a block of each kind and of a step from measured values. */
int explore_add_totals(const explore_plan_t *plan, const explore_case_t *of,
                       const explore_row_t blocks[EXPLORE_MAX_KINDS], const explore_row_t *step,
                       explore_rows_t *rows);
/** Returns the kind of blocks of a total, or -1 for the step. */
int explore_kind_of(const explore_model_t *model, const explore_row_t *total);

#endif
