// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: what the two orders of a case's jobs share, one after the other and side by side.
#ifndef UFP4_CLI_EXPLORE_JOBS_H
#define UFP4_CLI_EXPLORE_JOBS_H

#include "explore/results/rows.h"
#include "frame/bounds.h"

/** Layers of this shape in a block that see a token: of experts no more than rows are routed. */
int64_t explore_layer_count(const explore_case_t *of, const explore_layer_t *layer);
/** The tokens of a step that each of these sees, rounded up. */
int64_t explore_layer_tokens(const explore_case_t *of, const explore_layer_t *layer);
/** The share of these rows that tokens fill, over all layers of this shape: 1 where the tokens
 * divide evenly. */
double explore_layer_share(const explore_case_t *of, const explore_layer_t *layer);
/** Widths of a layer on one chip. */
int64_t explore_cin(const explore_case_t *of, const explore_layer_t *layer);
int64_t explore_cout(const explore_case_t *of, const explore_layer_t *layer);
/** Tokens of a micro-batch. */
int64_t explore_tokens(const explore_case_t *of);
/** Whether its layers of this shape see tokens that were chosen for them. */
int explore_is_expert(const explore_layer_t *layer);
/** The case as it is on one chip with all of the model. */
explore_case_t explore_alone(const explore_case_t *of);
void explore_role_shape(const explore_case_t *of, const explore_layer_t *layer, int64_t tokens,
                        int role, int64_t *rows, int64_t *cols);
void explore_pass_shape(const explore_case_t *of, const explore_layer_t *layer, int64_t tokens,
                        int pass, int64_t *m, int64_t *n, int64_t *k);
/** Whether a pass that is quantized reads this copy of a tensor. */
int explore_wants(const explore_case_t *of, int role, int axis);
/** Whether a pass adds to what is there in all micro-batches but the first: dW of several. Its rows
 * are two then. The gradient of an activation in the place of W is of one micro-batch alone. */
int explore_adds(const explore_case_t *of, const explore_layer_t *layer, int pass);
/** Weight gradients are summed up by the optimizer, so they stay FP32. */
ufp4_dtype_t explore_result_dtype(const explore_plan_t *plan, int pass);

/** Micro-batches of a case: those that were asked for, else two where each layer has two
 * macro-tiles of rows in each, for with fewer W is read twice and hardly used more. */
int explore_batches(const explore_plan_t *plan, const explore_case_t *of);

/** Bytes a cycle that its memory carries each way, no more than the bus does. */
unsigned explore_bytes_per_cycle(const explore_case_t *of);
bounds_memory_t explore_memory(const explore_case_t *of);
/** Its memory with banks, or NULL. */
const char *explore_dram(const explore_case_t *of);
/** Bytes a cycle that the pins of its DRAM carry, reads and writes together; infinite without DRAM.
 */
double explore_dram_bandwidth(const explore_case_t *of);
/** Cycles that its memory needs, from those of each way. */
double explore_memory_bound(const explore_case_t *of, double read, double write);

/** Rows of jobs on so many tokens, with all but what is measured. @param adds  whether it is of the
 * micro-batches that add */
explore_row_t explore_gemm_row(const explore_plan_t *plan, const explore_case_t *of,
                               const explore_layer_t *layer, int64_t tokens, int pass, int adds);
explore_row_t explore_quant_row(const explore_plan_t *plan, const explore_case_t *of,
                                const explore_layer_t *layer, int64_t tokens, int role,
                                explore_pass_t pass, int copies);
/** Adds @p times what is measured. */
void explore_add_to(explore_row_t *total, const explore_row_t *row, double times);
/** Rows of what the host does: no cycles, but the bytes that it reads and writes in BF16. */
int explore_add_host(const explore_plan_t *plan, const explore_case_t *of, explore_rows_t *rows);
/** The totals of a block of each kind and of a step, which hold what was measured. */
int explore_add_totals(const explore_plan_t *plan, const explore_case_t *of,
                       const explore_row_t blocks[EXPLORE_MAX_KINDS], const explore_row_t *step,
                       explore_rows_t *rows);
/** The kind of blocks of a total, or -1 for the step. */
int explore_kind_of(const explore_model_t *model, const explore_row_t *total);

#endif
