// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: what a step needs and takes, by formula from its rows.
#ifndef UFP4_CLI_EXPLORE_COSTS_H
#define UFP4_CLI_EXPLORE_COSTS_H

#include "explore/results/rows.h"

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

/** @param path  a ppa.json, or asap7 for the rows that are built in, or NULL. @return
 * CLI_GO_ON or the exit status. */
int explore_ppa(const char *path, float byte_pj, float bit_um2, float bit_fj, explore_plan_t *plan);
/** Notes of a case what the rows lack. */
void explore_ppa_note(const explore_plan_t *plan, explore_case_t *one);

#endif
