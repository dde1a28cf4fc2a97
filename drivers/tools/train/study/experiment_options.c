// SPDX-License-Identifier: Apache-2.0
// The runs that an experiment's options require.
#include "experiment.h"

int ufp4_experiment_base(const ufp4_experiment_options_t *o) {
  int base = -1;
  for (int v = 0; v < o->variant_count; v++) {
    const ufp4_recipe_t *recipe = &o->variants[v].recipe;
    if (recipe->quantized || o->variants[v].perturbation > 0) continue;
    if (recipe->dtype == UFP4_DTYPE_BF16) return v;
    if (base < 0) base = v;
  }
  return base;
}

int64_t ufp4_experiment_steps(const ufp4_experiment_options_t *options, ufp4_run_kind_t kind) {
  return options->trainer.steps - (kind == UFP4_RUN_BRANCHED ? options->branch_step : 0);
}

int ufp4_experiment_takes_part(const ufp4_experiment_options_t *options, ufp4_run_kind_t kind,
                               int variant) {
  const ufp4_variant_t *v = &options->variants[variant];
  return kind == UFP4_RUN_WHOLE || v->recipe.quantized || v->perturbation > 0;
}

int ufp4_experiment_shows(const ufp4_experiment_options_t *options, ufp4_run_kind_t kind,
                          int variant) {
  return ufp4_experiment_takes_part(options, kind, variant) ||
         variant == ufp4_experiment_base(options);
}
