// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: memory and time of a step, computed by formula from its rows.
#ifndef UFP4_CLI_EXPLORE_COSTS_H
#define UFP4_CLI_EXPLORE_COSTS_H

#include "explore/results/rows.h"

/** The memory that a step needs, in bytes for the whole model. */
typedef struct {
  double weights, copies, activations, gradients, optimizer;
  double live;  ///< maximum at any time
} explore_needs_t;
explore_needs_t explore_needs(const explore_plan_t *plan, const explore_case_t *of);

/** Milliseconds of a step on the chips of a case, all part of step except reduce. */
typedef struct {
  double compute, gather, exchange, send, bubble;
  double reduce, exposed;  ///< reduction of all gradients, and the part that the backward pass does
                           ///< not hide
  double step;
  double sent;  ///< bytes sent by each chip
} explore_times_t;
/** Returns the bytes per number of dW on a link. */
double explore_reduce_bytes(const explore_plan_t *plan);
/** Returns the blocks of chip @p chip of a pipeline, by kind. */
void explore_stage(const explore_plan_t *plan, const explore_case_t *of, int chip,
                   double blocks[EXPLORE_MAX_KINDS]);
/** The weights of a block on one chip: those that all replicas have, and experts'. */
typedef struct {
  double dense, experts;
} explore_numbers_t;
explore_numbers_t explore_numbers(const explore_plan_t *plan, const explore_case_t *of, int kind);

/** The memory of the chip that needs most, in bytes. */
typedef struct {
  double weights, gradients, optimizer, copies, activations, all;
} explore_chip_t;
explore_chip_t explore_chip_bytes(const explore_plan_t *plan, const explore_case_t *of);
/** Returns the time of a step on many chips.
 *  @param step the row of the whole step on one chip */
explore_times_t explore_times(const explore_plan_t *plan, const explore_row_t *step);

/** Returns how many blocks of 16 a QUANT job makes. */
double explore_quant_blocks(const explore_row_t *row);
/** Returns how many blocks of 16 all QUANT jobs of a total make. */
double explore_total_blocks(const explore_plan_t *plan, const explore_row_t *total);
/** Joules and um2 of a step; NaN without a row for it. */
typedef struct {
  double macs, idle;  ///< lanes with a useful MAC, and the other lanes
  double clock, bus;  ///< clock pins of the PEs; bus, NaN if a byte's energy is unknown
  double memory;      ///< accesses of memories; NaN if a bit's energy is unknown
  double all;         ///< sum of the above
  double um2;
  double wait, link;  ///< all chips: waiting, and sending
  double chips;       ///< all chips, including the step
} explore_energy_t;
explore_energy_t explore_energy(const explore_plan_t *plan, const explore_row_t *step);
/** Figures of merit of a step, from the energy and area of all cores; NaN if these are unknown. */
typedef struct {
  double bits, memory_um2;  ///< memories, including parity; NaN if a bit's area is unknown
  double watts;             ///< mean over the step
  double tokens_per_joule, mm2_per_tmacs;
  double cells_mm2_per_tmacs;  ///< without memories
} explore_worth_t;
explore_worth_t explore_worth(const explore_plan_t *plan, const explore_row_t *step);
/** Prints the cases in the order of area per TMAC/s, if there are at least two. */
void explore_print_order(const explore_plan_t *plan, const explore_rows_t *rows);
/** Prints what the figures include and exclude. */
void explore_print_ppa(const explore_plan_t *plan);

/** Reads the library's rows.
 *  @param path a ppa.json, or asap7 for the built-in rows, or NULL. @return CLI_GO_ON or the exit
 * status. */
int explore_ppa(const char *path, float byte_pj, float bit_um2, float bit_fj, explore_plan_t *plan);
/** Adds a note to a case if rows are missing. */
void explore_ppa_note(const explore_plan_t *plan, explore_case_t *one);

#endif
