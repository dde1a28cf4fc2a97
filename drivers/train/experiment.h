// SPDX-License-Identifier: Apache-2.0
// The experiment: every recipe on every seed, one run per thread, and what comes of it.
#ifndef UFP4_TRAIN_EXPERIMENT_H
#define UFP4_TRAIN_EXPERIMENT_H

#include "report/paired.h"
#include "trainer.h"

#define UFP4_MAX_VARIANTS 16

/** A recipe as it takes part. */
typedef struct {
  const char *name;
  ufp4_recipe_t recipe;
  float perturbation;   ///< relative deviation added to the first weights: the control; 0: none
  const char *capture;  ///< folder, in one that exists, for the tensors of the last step of the
                        ///< first seed; NULL: none
} ufp4_variant_t;

typedef struct {
  ufp4_trainer_options_t trainer;  ///< its seed is that of the first run; the next ones count up
  ufp4_variant_t variants[UFP4_MAX_VARIANTS];
  int variant_count;
  int seeds;
  int64_t held_tokens;                    ///< at most so many held-out tokens
  const char *backend;                    ///< for the reader
  ufp4_device_t *(*open)(void *context);  ///< a new device for one run, or NULL
  void *open_context;
  int workers;  ///< runs at a time; the results do not depend on it
} ufp4_experiment_options_t;

/** One recipe on one seed. */
typedef struct {
  double *loss;  ///< [steps]
  double held_loss;
  int64_t held_tokens;
  double seconds;  ///< of the steps
} ufp4_run_t;

typedef struct {
  const ufp4_experiment_options_t *options;
  ufp4_run_t *runs;                 ///< [variants][seeds]
  int captured[UFP4_MAX_VARIANTS];  ///< 1: tensors were being written to the variant's folder
  ufp4_pool_t pool;
  ufp4_message_t message;  ///< what went wrong, if it did
} ufp4_experiment_t;

/** Called from the calling thread or a worker, never by two at a time, after each step. */
typedef void (*ufp4_progress_fn_t)(void *context, int64_t steps_done, int64_t steps_in_all);

/** Runs it all. @p options must outlive the result. On failure the message in @p out says why; free
 * it in any case. */
ufp4_status_t ufp4_experiment_run(const ufp4_experiment_options_t *options, const ufp4_text_t *text,
                                  ufp4_progress_fn_t progress, void *context,
                                  ufp4_experiment_t *out);
void ufp4_experiment_free(ufp4_experiment_t *experiment);

const ufp4_run_t *ufp4_experiment_at(const ufp4_experiment_t *experiment, int variant, int seed);
/** Held-out losses of a variant over its seeds, as a sample. */
ufp4_paired_t ufp4_experiment_losses(const ufp4_experiment_t *experiment, int variant);
/** 100 (L_variant - L_base) / L_base over seeds. */
ufp4_paired_t ufp4_experiment_gap(const ufp4_experiment_t *experiment, int variant, int base);
/** "worse", "better" or "not separated". */
const char *ufp4_gap_verdict(const ufp4_paired_t *gap);

/** One comparison of the table: every other variant with the base (the variant named bf16, if it
 * takes part, or else fp32), then the quantized recipes with one another. */
typedef struct {
  int variant;
  int base;
} ufp4_comparison_t;
/** @return how many were put in @p out, which has room for UFP4_MAX_VARIANTS^2. */
int ufp4_experiment_comparisons(const ufp4_experiment_t *experiment, ufp4_comparison_t *out);

/** recipe,seed,step,train_loss,held_loss (the last on the last step only); beside the target, then
 * renamed. */
ufp4_status_t ufp4_experiment_write_csv(const ufp4_experiment_t *experiment, const char *path,
                                        ufp4_message_t *message);
/** A self-contained page: settings, losses, paired gaps, curves. @p text_name for the reader. */
ufp4_status_t ufp4_experiment_write_html(const ufp4_experiment_t *experiment, const char *text_name,
                                         const char *path, ufp4_message_t *message);

#endif
