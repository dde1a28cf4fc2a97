// SPDX-License-Identifier: Apache-2.0
#include "ablation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { Y = 1 << UFP4_PASS_FPROP, DX = 1 << UFP4_PASS_DGRAD, DW = 1 << UFP4_PASS_WGRAD };

// A recipe that differs from a built-in one in one thing.
typedef struct {
  const char *of, *name;
  int passes;  // with RHT; -1: as it is
  double paper_loss;
} scope_t;

static const scope_t scopes[] = {{"ufp4", "ufp4", -1, 1.88079},
                                 {"ufp4", "e1m2-rht-none", 0, 1.89202},
                                 {"ufp4", "e1m2-rht-dw", DW, 1.88721},
                                 {"ufp4", "e1m2-rht-dx-dw", DX | DW, 1.88912},
                                 {"ufp4", "e1m2-rht-y-dw", Y | DW, 1.88558},
                                 {"e2m1", "e2m1", -1, (double)NAN},
                                 {"e2m1", "e2m1-rht-none", 0, (double)NAN},
                                 {"e2m1", "e2m1-rht-dx-dw", DX | DW, (double)NAN},
                                 {"e2m1", "e2m1-rht-y-dw", Y | DW, (double)NAN},
                                 {"e2m1", "e2m1-rht-all", Y | DX | DW, (double)NAN}};

static void begin(ufp4_variant_t *v, const char *of, const char *name, double paper_loss) {
  *v = (ufp4_variant_t){.paper_loss = paper_loss};
  (void)ufp4_recipe_named(of, &v->recipe);
  snprintf(v->recipe.name, sizeof v->recipe.name, "%s", name);
}

static void without_sr(ufp4_variant_t *v, const char *of, const char *name, double paper_loss) {
  begin(v, of, name, paper_loss);
  for (int axis = 0; axis < 2; axis++) {
    v->recipe.round[UFP4_ROLE_DY][axis] = UFP4_ROUND_RNE;
    v->recipe.scale_round[UFP4_ROLE_DY][axis] = UFP4_SCALE_ROUND_RNE;
  }
}

int ufp4_ablation(ufp4_variant_t *out) {
  int n = 0;
  begin(&out[n++], "bf16", "bf16", NAN);
  for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++, n++) {
    begin(&out[n], scopes[i].of, scopes[i].name, scopes[i].paper_loss);
    for (int pass = 0; pass < UFP4_PASS_COUNT && scopes[i].passes >= 0; pass++)
      out[n].recipe.rht[pass] = scopes[i].passes >> pass & 1 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE;
  }
  without_sr(&out[n++], "ufp4", "ufp4-without-sr", 1.88535);
  without_sr(&out[n++], "e2m1", "e2m1-without-sr", NAN);
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
