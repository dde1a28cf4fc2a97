// SPDX-License-Identifier: Apache-2.0
// Summaries of an experiment over its seeds.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"

// A sample over seeds: the loss, or with a base its relative gap in percent.
static ufp4_paired_t sample(const ufp4_experiment_t *e, int variant, int base) {
  int seeds = e->options->seeds;
  double *values = malloc((size_t)seeds * sizeof *values);
  if (!values) return ufp4_paired(NULL, 0);
  for (int s = 0; s < seeds; s++) {
    double loss = ufp4_experiment_at(e, variant, s)->held_loss;
    double reference = base < 0 ? 0 : ufp4_experiment_at(e, base, s)->held_loss;
    values[s] = base < 0 ? loss : 100 * (loss - reference) / reference;
  }
  ufp4_paired_t out = ufp4_paired(values, seeds);
  free(values);
  return out;
}

ufp4_paired_t ufp4_experiment_losses(const ufp4_experiment_t *experiment, int variant) {
  return sample(experiment, variant, -1);
}

ufp4_paired_t ufp4_experiment_gap(const ufp4_experiment_t *experiment, int variant, int base) {
  return sample(experiment, variant, base);
}

const char *ufp4_gap_verdict(const ufp4_paired_t *gap) {
  if (!gap->separated) return "not separated";
  return gap->mean > 0 ? "worse" : "better";
}

// bf16; where it takes no part, fp32.
static int find_base(const ufp4_experiment_options_t *o) {
  int base = -1;
  for (int v = 0; v < o->variant_count; v++) {
    const ufp4_recipe_t *recipe = &o->variants[v].recipe;
    if (recipe->quantized || o->variants[v].perturbation > 0) continue;
    if (recipe->dtype == UFP4_DTYPE_BF16) return v;
    if (base < 0) base = v;
  }
  return base;
}

int ufp4_experiment_comparisons(const ufp4_experiment_t *experiment, ufp4_comparison_t *out) {
  const ufp4_experiment_options_t *o = experiment->options;
  int count = 0, base = find_base(o);
  for (int v = 0; base >= 0 && v < o->variant_count; v++) {
    if (v != base) out[count++] = (ufp4_comparison_t){v, base};
  }
  for (int v = 0; v < o->variant_count; v++) {
    for (int w = 0; w < v; w++) {
      if (o->variants[v].recipe.quantized && o->variants[w].recipe.quantized)
        out[count++] = (ufp4_comparison_t){v, w};
    }
  }
  return count;
}
