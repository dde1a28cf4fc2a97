// SPDX-License-Identifier: Apache-2.0
// The experiment: every recipe on every seed, with one run per thread.
#ifndef UFP4_TRAIN_EXPERIMENT_H
#define UFP4_TRAIN_EXPERIMENT_H

#include "run.h"
#include "train/learn/trainer.h"

#define UFP4_MAX_VARIANTS 32

/** A participating recipe. */
typedef struct {
  const char *name;
  ufp4_recipe_t recipe;
  float perturbation;   ///< relative deviation added to the initial weights, for the control; 0:
                        ///< none
  const char *capture;  ///< folder, whose parent exists, for the tensors of the last step of the
                        ///< first seed; NULL: none
  double paper_loss;    ///< published result, for comparison; 0 or NaN: none
} ufp4_variant_t;

/** How a run starts. */
typedef enum {
  UFP4_RUN_WHOLE,    ///< from random weights
  UFP4_RUN_BRANCHED  ///< from the state of the base's run of the same seed at branch_step
} ufp4_run_kind_t;
#define UFP4_RUN_KINDS 2

typedef struct {
  ufp4_trainer_options_t trainer;  ///< seed is that of the first run, and later runs count up
  ufp4_variant_t variants[UFP4_MAX_VARIANTS];
  int variant_count;
  int seeds;
  int64_t held_tokens;                    ///< upper limit
  int64_t branch_step;                    ///< steps of the base before others branch
  const char *folder;                     ///< for checkpoints, rows and settings (kept.h)
  const char *backend;                    ///< for the report
  ufp4_device_t *(*open)(void *context);  ///< opens a device for one run, or NULL
  void *open_context;
  int (*stop)(void);  ///< returns whether to save and stop, called after each step; NULL: never
  int workers;        ///< concurrent runs; the results do not depend on it
  int rank, ranks;    ///< this process, of those that share the folder; 0 of 0: alone
  int (*meet)(int value);  ///< waits for all ranks; @return the largest value; NULL: alone
} ufp4_experiment_options_t;

typedef struct {
  const ufp4_experiment_options_t *options;
  ufp4_run_t *runs[UFP4_RUN_KINDS];  ///< [variants][seeds] each
  int captured[UFP4_MAX_VARIANTS];   ///< 1: tensors were being written to the variant's folder
  int stopped;                       ///< 1: some runs of the last call have not ended, but can be
                                     ///< continued
  int elsewhere;                     ///< 1: another rank has failed, and has reported it
  ufp4_pool_t pool;
  ufp4_message_t message;  ///< the error, if there is one
  ufp4_message_t note;     ///< from ufp4_device_trace_end of a device used for training
} ufp4_experiment_t;

/** Called after each step from the calling thread or a worker, never concurrently, with the number
 * of steps since the last call, which exceeds one if a run was resumed. */
typedef void (*ufp4_progress_fn_t)(void *context, int64_t steps);

/** Creates an experiment, which must be freed even after a failure. @p options must outlive it. */
ufp4_status_t ufp4_experiment_create(const ufp4_experiment_options_t *options,
                                     ufp4_experiment_t *out);
/** Makes every run of @p kind, of variants @p from up to @p to, on the first @p seeds seeds;
 * finished runs are kept. Ranks share the work, and each has all results afterwards. Branched runs
 * require the base's whole runs. On failure the experiment's message says why, and finished runs
 * are kept. */
ufp4_status_t ufp4_experiment_train(ufp4_experiment_t *experiment, ufp4_run_kind_t kind, int from,
                                    int to, int seeds, const ufp4_text_t *text,
                                    ufp4_progress_fn_t progress, void *context);
/** Returns a trainer in the final state of the base's run of the first seed. */
ufp4_status_t ufp4_experiment_trained(ufp4_experiment_t *experiment, const ufp4_text_t *text,
                                      ufp4_device_t *device, ufp4_trainer_t **trainer);
/** Moves captured tensors to their names if @p status is UFP4_OK, and otherwise removes them.
 * @return @p status, or the status of a failure here. */
ufp4_status_t ufp4_experiment_end_captures(ufp4_experiment_t *experiment, ufp4_status_t status);
void ufp4_experiment_free(ufp4_experiment_t *experiment);

/** Returns the variant with which others are compared: bf16 if it participates, otherwise fp32;
 * -1: none. */
int ufp4_experiment_base(const ufp4_experiment_options_t *options);
/** Returns the steps of runs of @p kind and variant @p variant. */
int64_t ufp4_experiment_steps(const ufp4_experiment_options_t *options, ufp4_run_kind_t kind);
/** Returns whether a variant participates in @p kind: all do in whole runs, and in branched ones
 * those that quantize and the control. */
int ufp4_experiment_takes_part(const ufp4_experiment_options_t *options, ufp4_run_kind_t kind,
                               int variant);
/** Returns whether a variant is listed in the tables of @p kind: those that participate, and the
 * base. */
int ufp4_experiment_shows(const ufp4_experiment_options_t *options, ufp4_run_kind_t kind,
                          int variant);
/** Returns a run; for the base, a branched run equals the whole run. */
const ufp4_run_t *ufp4_experiment_at(const ufp4_experiment_t *experiment, ufp4_run_kind_t kind,
                                     int variant, int seed);
/** Returns a core's cycles per step over all seeds; NaN if none were counted. */
double ufp4_experiment_cycles(const ufp4_experiment_t *experiment, ufp4_run_kind_t kind,
                              int variant);
/** Returns the tokens per second over all seeds' steps. */
double ufp4_experiment_speed(const ufp4_experiment_t *experiment, ufp4_run_kind_t kind,
                             int variant);

/** Writes recipe,seed,step,train_loss,held_loss (the last only for the last step), beside the
 * target, then renamed; of branched runs, only the steps after the branch. */
ufp4_status_t ufp4_experiment_write_csv(const ufp4_experiment_t *experiment, ufp4_run_kind_t kind,
                                        const char *path, ufp4_message_t *message);

#endif
