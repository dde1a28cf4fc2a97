// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: what options give a plan and its cases.
#ifndef UFP4_CLI_EXPLORE_OPTIONS_H
#define UFP4_CLI_EXPLORE_OPTIONS_H

#include "explore/plan.h"

// --- Lists --------------------------------------------------------------------------------------

enum { EXPLORE_MAX_WORDS = 1024 };

/** The words that an option lists. */
typedef struct {
  char *words[EXPLORE_MAX_WORDS];
  int count;
} explore_list_t;

/** Adds the words of @p text. @return CLI_GO_ON or the exit status. */
int explore_list(const char *option, const char *text, explore_list_t *list);
void explore_list_free(explore_list_t *list);

// --- Cases --------------------------------------------------------------------------------------

/** @param chips, link  options, or NULL. @return CLI_GO_ON or the exit status. */
int explore_link(const char *chips, const char *link, explore_plan_t *plan);
/** Reads a word of --chips, or NULL. @return likewise. */
int explore_chips(const char *word, explore_case_t *one);
/** Gives a case the reason why its chips cannot share the model. */
void explore_check_chips(const explore_plan_t *plan, explore_case_t *one);

/** Whether two have the same core, memory, recipe and tokens. */
int explore_is_same_case(const explore_case_t *a, const explore_case_t *b);
/** Refuses a case that those of the plan have already, by other words: one is enough. @return
 * CLI_GO_ON or the exit status. */
int explore_check_case(const explore_plan_t *plan, const explore_case_t *one);

// --- Clocks -------------------------------------------------------------------------------------

/** Gives a case its clock: that of --clock-mhz, or of its core. @return CLI_GO_ON or
 * the exit status. */
int explore_clock(const explore_plan_t *plan, explore_case_t *one);

/** The length of a cycle for a memory with banks, in femtoseconds; 0: the case has none. */
uint64_t explore_cycle_fs(const explore_case_t *of);
/** The seconds that these cycles take. */
double explore_seconds(const explore_case_t *of, double cycles);
/** Prints of which cores the clocks are, a line of each, unless a clock was asked for. */
void explore_print_clocks(const explore_plan_t *plan);

#endif
