// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: what the two orders of a case's jobs share, one after the other and side by side.
#ifndef UFP4_CLI_EXPLORE_JOBS_H
#define UFP4_CLI_EXPLORE_JOBS_H

#include "explore.h"
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

/** The timed model of a case, without data; @p bus: of several, or NULL. @return CLI_GO_ON or the
 * exit status. */
int explore_open(const explore_plan_t *plan, const explore_case_t *of, uint64_t memory_bytes,
                 ufp4_bus_t *bus, ufp4_device_t **device);

/** The core's counters, and behind them the bits of its memories that were read and written. */
ufp4_status_t explore_counters(ufp4_device_t *device, uint64_t counters[EXPLORE_COUNTERS]);

/** The cores of a case. */
typedef struct {
  ufp4_bus_t *bus;  ///< NULL: there is one core
  ufp4_device_t *devices[EXPLORE_MAX_CORES];
  int count;
} explore_cores_t;

/** Opens the cores of a case. They are to be closed, whatever it returns. */
int explore_cores_open(const explore_plan_t *plan, const explore_case_t *of, uint64_t memory_bytes,
                       explore_cores_t *cores);
int explore_cores_close(explore_cores_t *cores);
/** Says why the last call that failed did so. */
const char *explore_cores_message(const explore_cores_t *cores);
/** Parts of a GEMM of about the same size, for a core each, by rows or by columns of D. @return how
 * many */
int explore_split_gemm(const ufp4_descriptor_t *whole, explore_split_t split, int cores,
                       ufp4_descriptor_t parts[EXPLORE_MAX_CORES]);
/** Runs jobs at once, one on each of the first @p count cores. Their rows, which may be the same
 * one, get the longest one's cycles and the sum of all counters. */
ufp4_status_t explore_measure(const explore_cores_t *cores, const ufp4_descriptor_t *jobs,
                              int count, explore_row_t *const rows[]);

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

/** The memory that a step of a case needs, in bytes of the whole model. */
typedef struct {
  double weights, copies, activations, gradients, optimizer;
  double live;  ///< the most that is needed at once
} explore_needs_t;
explore_needs_t explore_needs(const explore_plan_t *plan, const explore_case_t *of);

/** Milliseconds of a step on the chips of a case; step is all but reduce. */
typedef struct {
  double compute, gather, exchange, send, bubble;
  double reduce, exposed;  ///< of all gradients, and what the backward pass does not hide of it
  double step;
  double sent;  ///< bytes, by each chip
} explore_times_t;
/** Bytes a number of dW on a link. */
double explore_reduce_bytes(const explore_plan_t *plan);
/** The blocks of a model that chip @p chip of a pipeline has, by kind. */
void explore_stage(const explore_plan_t *plan, const explore_case_t *of, int chip,
                   double blocks[EXPLORE_MAX_KINDS]);
/** The weights of a block on one chip: those that all replicas have, and those of experts. */
typedef struct {
  double dense, experts;
} explore_numbers_t;
explore_numbers_t explore_numbers(const explore_plan_t *plan, const explore_case_t *of, int kind);

/** Bytes that the chip needs which needs most. */
typedef struct {
  double weights, gradients, optimizer, copies, activations, all;
} explore_chip_t;
explore_chip_t explore_chip_bytes(const explore_plan_t *plan, const explore_case_t *of);
/** @param step  the row of the whole step on one chip */
explore_times_t explore_times(const explore_plan_t *plan, const explore_row_t *step);

/** Blocks of 16 that a job of QUANT makes. */
double explore_quant_blocks(const explore_row_t *row);
/** Blocks of 16 that all jobs of QUANT of a total make. */
double explore_total_blocks(const explore_plan_t *plan, const explore_row_t *total);
/** Joules and um2 of a step; NaN where there is no row. */
typedef struct {
  double macs, idle;  ///< of lanes with a useful MAC, and of the others
  double clock, bus;  ///< of the PEs' clock pins; NaN where a byte's is not known
  double memory;      ///< of accesses of memories; likewise of a bit's
  double all;         ///< of these
  double um2;
  double wait, link;  ///< of all chips: in which they wait; of what they send
  double chips;       ///< of all chips, the step with these
} explore_energy_t;
explore_energy_t explore_energy(const explore_plan_t *plan, const explore_row_t *step);
/** The worth of a step, from its energy and area, which are those of all cores; NaN where these are
 * not known. */
typedef struct {
  double bits, memory_um2;  ///< of memories, parity included; NaN where a bit's area is not known
  double watts;             ///< over the step
  double tokens_per_joule, mm2_per_tmacs;
  double cells_mm2_per_tmacs;  ///< without memories
} explore_worth_t;
explore_worth_t explore_worth(const explore_plan_t *plan, const explore_row_t *step);
/** The cases by the area of a TMAC/s, where there are two. */
void explore_print_order(const explore_plan_t *plan, const explore_rows_t *rows);
/** Prints what the figures include and what not. */
void explore_print_ppa(const explore_plan_t *plan);

/** Bytes of device memory for a step with AMAX and QUANT beside the GEMMs; 0 where it cannot be run
 * at all. */
uint64_t explore_overlap_bytes(const explore_plan_t *plan, explore_case_t *of);
/** Does the same as explore_run. @return also EXPLORE_FAILED, with rows that mean nothing. */
int explore_run_overlap(const explore_plan_t *plan, explore_case_t *of, explore_rows_t *rows);

#endif
