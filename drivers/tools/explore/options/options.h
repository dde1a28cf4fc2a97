// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: converts options to a plan and its cases.
#ifndef UFP4_CLI_EXPLORE_OPTIONS_H
#define UFP4_CLI_EXPLORE_OPTIONS_H

#include "explore/plan.h"

// --- Lists --------------------------------------------------------------------------------------

enum { EXPLORE_MAX_WORDS = 1024 };

/** The words of an option's list. */
typedef struct {
  char *words[EXPLORE_MAX_WORDS];
  int count;
} explore_list_t;

/** Adds the words of @p text. @return CLI_GO_ON or the exit status. */
int explore_list(const char *option, const char *text, explore_list_t *list);
void explore_list_free(explore_list_t *list);

// --- Cases --------------------------------------------------------------------------------------

/** Reads the options of chips.
 *  @param chips, link options, or NULL. @return CLI_GO_ON or the exit status. */
int explore_link(const char *chips, const char *link, explore_plan_t *plan);
/** Reads a word of --chips, or NULL. @return CLI_GO_ON or the exit status. */
int explore_chips(const char *word, explore_case_t *one);
/** Sets the reason of a case whose chips cannot share the model. */
void explore_check_chips(const explore_plan_t *plan, explore_case_t *one);

/** Returns whether two cases have the same core, memory, recipe and tokens. */
int explore_is_same_case(const explore_case_t *a, const explore_case_t *b);
/** Refuses a case that the plan already has under other words. @return CLI_GO_ON or the exit
 * status. */
int explore_check_case(const explore_plan_t *plan, const explore_case_t *one);

// --- Clocks -------------------------------------------------------------------------------------

/** Sets the clock of a case: that of --clock-mhz, or of its core. @return CLI_GO_ON or the exit
 * status. */
int explore_clock(const explore_plan_t *plan, explore_case_t *one);

/** Returns the cycle time for a memory with banks, in femtoseconds; 0: the case has none. */
uint64_t explore_cycle_fs(const explore_case_t *of);
/** Returns the seconds of these cycles. */
double explore_seconds(const explore_case_t *of, double cycles);
/** Prints one line per core about the source of its clock, unless a clock was requested. */
void explore_print_clocks(const explore_plan_t *plan);

#endif
