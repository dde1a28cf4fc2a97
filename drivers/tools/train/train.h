// SPDX-License-Identifier: Apache-2.0
// ufp4 train: what its parts share.
#ifndef UFP4_CLI_TRAIN_H
#define UFP4_CLI_TRAIN_H

#include <limits.h>

#include "frame/cli.h"
#include "frame/ranks.h"
#include "train/study/experiment.h"
#include "train/study/forward.h"

typedef struct {
  const char *recipes;
  const char *folder;
  const char *text_name;
  char words[1024];  ///< the command as it was given, for the report
  uint64_t seeds, seed, steps, batch, d_model, heads, layers, ff, context, held_tokens;
  float rate;
  int forward, branched, whole;  ///< which tables; none of them given: all that are possible
  int longer, ablation, resume, capture, no_control, json;
  int all_held;  ///< the forward table measures all held-out tokens: --eval was not given
  cli_device_t device;
} arguments_t;

typedef struct {
  const cli_command_t *command;
  cli_device_t device;
  char folders[UFP4_MAX_VARIANTS][PATH_MAX];
  char runs[PATH_MAX];  ///< of what is unfinished
  int made;             ///< -o was not there
  int forward, branched, whole;
  ranks_t ranks;  ///< rank 0 writes and prints
  ufp4_experiment_options_t options;
} plan_t;

/** The measurements, as far as they were asked for. */
typedef struct {
  const plan_t *plan;
  const arguments_t *arguments;
  json_t *settings;     ///< train_settings
  int64_t held_tokens;  ///< measured in each run
  ufp4_forward_t forward;
  ufp4_experiment_t experiment;
  int untold;  ///< CLI_GO_ON, or the exit status of a table that could not be printed
} evidence_t;

/** Recipes, control, tables and threads. @return CLI_GO_ON or the exit status, as all that follow.
 */
int train_plan(const cli_command_t *command, const arguments_t *arguments, plan_t *plan);
/** The settings that decide about the numbers of a plan, as a flat JSON object, for kept.h; NULL
 * without memory.
 */
json_t *train_settings(const plan_t *plan, const arguments_t *arguments, const ufp4_text_t *text);

/** Tables, as bits. */
enum { TRAIN_FORWARD = 1, TRAIN_BRANCHED = 2, TRAIN_WHOLE = 4 };
/** Makes an object of what was run, and of what has been measured of these tables; NULL without
 * memory. */
json_t *train_document(const evidence_t *evidence, unsigned tables);

/** Checks before the training, which may take hours, that what is written after it can be. */
int train_check_outputs(const cli_command_t *command, const arguments_t *arguments);
/** Makes the folder, and names for captured tensors. */
int train_make_folders(plan_t *plan, const arguments_t *arguments);
/** Writes all files of the tables that there are; an earlier run's go. */
int train_write_files(const evidence_t *evidence);
/** Draws report.html, of those files. */
int train_draw(const evidence_t *evidence);

/** Prints these tables, where there is a Python that compares. */
void train_print(evidence_t *evidence, unsigned tables);
/** Prints all tables as JSON: without a Python that compares, what was measured. */
int train_print_json(const evidence_t *evidence);

#endif
