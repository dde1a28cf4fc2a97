// SPDX-License-Identifier: Apache-2.0
#include "ablation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// A recipe, and its name in the table.
typedef struct {
  const char *recipe, *name;
  double paper_loss;
} row_t;

static const row_t rows[] = {{"bf16", "bf16", (double)NAN},
                             {"ufp4", "ufp4", 1.88079},
                             {"ufp4/rht=none", "e1m2-rht-none", 1.89202},
                             {"ufp4/rht=wgrad", "e1m2-rht-dw", 1.88721},
                             {"ufp4/rht=dgrad+wgrad", "e1m2-rht-dx-dw", 1.88912},
                             {"ufp4/rht=fprop+wgrad", "e1m2-rht-y-dw", 1.88558},
                             {"e2m1", "e2m1", (double)NAN},
                             {"e2m1/rht=none", "e2m1-rht-none", (double)NAN},
                             {"e2m1/rht=dgrad+wgrad", "e2m1-rht-dx-dw", (double)NAN},
                             {"e2m1/rht=fprop+wgrad", "e2m1-rht-y-dw", (double)NAN},
                             {"e2m1/rht=fprop+dgrad+wgrad", "e2m1-rht-all", (double)NAN},
                             {"ufp4/sr=none", "ufp4-without-sr", 1.88535},
                             {"e2m1/sr=none", "e2m1-without-sr", (double)NAN}};

static void begin(ufp4_variant_t *v, const char *of, const char *name, double paper_loss) {
  *v = (ufp4_variant_t){.paper_loss = paper_loss};
  (void)ufp4_recipe_named(of, &v->recipe);
  snprintf(v->recipe.name, sizeof v->recipe.name, "%s", name);
}

int ufp4_ablation(ufp4_variant_t *out) {
  int n = 0;
  for (; n < (int)(sizeof rows / sizeof *rows); n++)
    begin(&out[n], rows[n].recipe, rows[n].name, rows[n].paper_loss);
  begin(&out[n], "ufp4", "ufp4-scale-nearest", NAN);
  for (int axis = 0; axis < 2; axis++)
    out[n].recipe.scale_round[UFP4_ROLE_DY][axis] = UFP4_SCALE_ROUND_RNE;
  n++;
  begin(&out[n], "ufp4", "ufp4-fp32-scale", NAN);
  out[n].recipe.scale = UFP4_SCALE_FP32;
  out[n].recipe.contract = ufp4_gemm_default_contract(UFP4_SCALE_FP32);
  memset(out[n].recipe.scale_round, 0, sizeof out[n].recipe.scale_round);
  n++;
  begin(&out[n], "ufp4", "ufp4-int4", NAN);
  out[n++].recipe.elem = UFP4_ELEM_INT4;
  for (int i = 0; i < n; i++) out[i].name = out[i].recipe.name;
  return n;
}
