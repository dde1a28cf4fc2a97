// SPDX-License-Identifier: Apache-2.0
// ufp4 train: declarations that its parts share.
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
  char words[1024];  ///< the command line, for the report
  uint64_t seeds, seed, steps, batch, d_model, heads, layers, ff, context, held_tokens;
  float rate;
  int forward, branched, whole;  ///< the requested tables; if none is: all that are possible
  int longer, ablation, resume, capture, no_control, json;
  int all_held;  ///< the forward table uses all held-out tokens, because --eval was not given
  cli_device_t device;
} arguments_t;

typedef struct {
  const cli_command_t *command;
  cli_device_t device;
  char folders[UFP4_MAX_VARIANTS][PATH_MAX];
  char runs[PATH_MAX];  ///< folder of unfinished work
  int made;             ///< the -o folder did not exist
  int forward, branched, whole;
  ranks_t ranks;  ///< rank 0 writes and prints
  ufp4_experiment_options_t options;
} plan_t;

/** The measurements, as far as they were requested. */
typedef struct {
  const plan_t *plan;
  const arguments_t *arguments;
  json_t *settings;     ///< train_settings
  int64_t held_tokens;  ///< measured in each run
  ufp4_forward_t forward;
  ufp4_experiment_t experiment;
  int untold;  ///< CLI_GO_ON, or the exit status of a table that could not be printed
} evidence_t;

/** Plans recipes, control, tables and threads. @return CLI_GO_ON or the exit status, like all
 * functions below. */
int train_plan(const cli_command_t *command, const arguments_t *arguments, plan_t *plan);
/** Returns the settings that determine the numbers of a plan, as a flat JSON object, for kept.h;
 * NULL if memory is exhausted. */
json_t *train_settings(const plan_t *plan, const arguments_t *arguments, const ufp4_text_t *text);

/** Tables, as bits. */
enum { TRAIN_FORWARD = 1, TRAIN_BRANCHED = 2, TRAIN_WHOLE = 4 };
/** Makes an object of what was run, and of the measurements of these tables; NULL if memory is
 * exhausted. */
json_t *train_document(const evidence_t *evidence, unsigned tables);

/** Checks, before a training that may take hours, that the outputs can be written. */
int train_check_outputs(const cli_command_t *command, const arguments_t *arguments);
/** Makes the folder, and the names of captured tensors. */
int train_make_folders(plan_t *plan, const arguments_t *arguments);
/** Writes all files of the existing tables, and removes those of an earlier run. */
int train_write_files(const evidence_t *evidence);
/** Draws report.html from those files. */
int train_draw(const evidence_t *evidence);

/** Prints these tables, if there is a Python that compares. */
void train_print(evidence_t *evidence, unsigned tables);
/** Prints all tables as JSON; without a Python that compares, only the measurements. */
int train_print_json(const evidence_t *evidence);

#endif
