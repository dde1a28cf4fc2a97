// SPDX-License-Identifier: Apache-2.0
// The experiment: every recipe on every seed, one run per thread.
#ifndef UFP4_TRAIN_EXPERIMENT_H
#define UFP4_TRAIN_EXPERIMENT_H

#include "run.h"
#include "train/learn/trainer.h"

#define UFP4_MAX_VARIANTS 32

/** A recipe as it takes part. */
typedef struct {
  const char *name;
  ufp4_recipe_t recipe;
  float perturbation;   ///< relative deviation added to the first weights: the control; 0: none
  const char *capture;  ///< folder, in one that exists, for the tensors of the last step of the
                        ///< first seed; NULL: none
  double paper_loss;    ///< what somebody else has reported of it, for the reader; 0 or NaN: none
} ufp4_variant_t;

/** How a run begins. */
typedef enum {
  UFP4_RUN_WHOLE,    ///< from random weights
  UFP4_RUN_BRANCHED  ///< from the base's weights, moments and step of its seed, part of the way
} ufp4_run_kind_t;
#define UFP4_RUN_KINDS 2

typedef struct {
  ufp4_trainer_options_t trainer;  ///< its seed is that of the first run; the next ones count up
  ufp4_variant_t variants[UFP4_MAX_VARIANTS];
  int variant_count;
  int seeds;
  int64_t held_tokens;                    ///< at most so many held-out tokens
  int64_t branch_step;                    ///< steps that the base takes before others branch
  const char *folder;                     ///< for checkpoints, rows and settings (kept.h)
  const char *backend;                    ///< for the reader
  ufp4_device_t *(*open)(void *context);  ///< a new device for one run, or NULL
  void *open_context;
  int (*stop)(void);  ///< asked after each step whether to save and end; NULL: never
  int workers;        ///< runs at a time; the results do not depend on it
  int rank, ranks;    ///< this process, of several that have the folder in common; 0 of 0: alone
  int (*meet)(int value);  ///< waits for all ranks; @return the largest value; NULL: alone
} ufp4_experiment_options_t;

typedef struct {
  const ufp4_experiment_options_t *options;
  ufp4_run_t *runs[UFP4_RUN_KINDS];  ///< [variants][seeds] each
  int captured[UFP4_MAX_VARIANTS];   ///< 1: tensors were being written to the variant's folder
  int stopped;                       ///< 1: not all runs of the last call have ended, but can go on
  int elsewhere;                     ///< 1: what failed did in another rank, which says so
  ufp4_pool_t pool;
  ufp4_message_t message;  ///< what went wrong, if it did
  ufp4_message_t note;     ///< what ufp4_device_trace_end of a device that trained has said
} ufp4_experiment_t;

/** Called from the calling thread or a worker, never by two at a time, after each step, with the
 * steps that were taken since the last call: more than one where a run had ended before. */
typedef void (*ufp4_progress_fn_t)(void *context, int64_t steps);

/** @p options must outlive the result. Free it in any case. */
ufp4_status_t ufp4_experiment_create(const ufp4_experiment_options_t *options,
                                     ufp4_experiment_t *out);
/** Takes every run of @p kind, of variants @p from to before @p to, on the first @p seeds seeds;
 * runs that have ended are left as they are. Ranks share the runs, and each has all of them
 * afterwards. Branched ones want the base's whole runs first. On
 * failure the experiment's message says why; what has ended stays. */
ufp4_status_t ufp4_experiment_train(ufp4_experiment_t *experiment, ufp4_run_kind_t kind, int from,
                                    int to, int seeds, const ufp4_text_t *text,
                                    ufp4_progress_fn_t progress, void *context);
/** A trainer that stands where the base's run of the first seed has ended. */
ufp4_status_t ufp4_experiment_trained(ufp4_experiment_t *experiment, const ufp4_text_t *text,
                                      ufp4_device_t *device, ufp4_trainer_t **trainer);
/** Captured tensors take their names if @p status is UFP4_OK, and go if not. @return @p status, or
 * what failed. */
ufp4_status_t ufp4_experiment_end_captures(ufp4_experiment_t *experiment, ufp4_status_t status);
void ufp4_experiment_free(ufp4_experiment_t *experiment);

/** The variant that others are measured against: bf16 if it takes part, or else fp32; -1: none. */
int ufp4_experiment_base(const ufp4_experiment_options_t *options);
/** Steps that runs of @p kind, variant @p variant, take. */
int64_t ufp4_experiment_steps(const ufp4_experiment_options_t *options, ufp4_run_kind_t kind);
/** Whether variants of this number take part in @p kind: all in whole runs, in branched ones those
 * that quantize and the control. */
int ufp4_experiment_takes_part(const ufp4_experiment_options_t *options, ufp4_run_kind_t kind,
                               int variant);
/** Whether they stand in the tables of @p kind: those, and the base. */
int ufp4_experiment_shows(const ufp4_experiment_options_t *options, ufp4_run_kind_t kind,
                          int variant);
/** The run of the base stands for a branched one of it: it is the same. */
const ufp4_run_t *ufp4_experiment_at(const ufp4_experiment_t *experiment, ufp4_run_kind_t kind,
                                     int variant, int seed);
/** A core's cycles of a step, over all seeds; NaN where none were counted. */
double ufp4_experiment_cycles(const ufp4_experiment_t *experiment, ufp4_run_kind_t kind,
                              int variant);
/** Tokens a second over all seeds' steps. */
double ufp4_experiment_speed(const ufp4_experiment_t *experiment, ufp4_run_kind_t kind,
                             int variant);

/** recipe,seed,step,train_loss,held_loss (the last on the last step only); beside the target, then
 * renamed. Of branched runs, the steps since the branch. */
ufp4_status_t ufp4_experiment_write_csv(const ufp4_experiment_t *experiment, ufp4_run_kind_t kind,
                                        const char *path, ufp4_message_t *message);

#endif
