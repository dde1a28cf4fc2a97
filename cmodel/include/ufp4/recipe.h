// SPDX-License-Identifier: Apache-2.0
// Recipes (docs/reference/numerics.md, 6): how the operands of the three training GEMMs of a linear
// layer are quantized.
#ifndef UFP4_RECIPE_H
#define UFP4_RECIPE_H

#include <stdint.h>

#include "ufp4/quantize.h"
#include "ufp4/spec.h"
#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { UFP4_ROLE_X = 0, UFP4_ROLE_W = 1, UFP4_ROLE_DY = 2 } ufp4_role_t;
typedef enum { UFP4_PASS_FPROP = 0, UFP4_PASS_DGRAD = 1, UFP4_PASS_WGRAD = 2 } ufp4_pass_t;
#define UFP4_ROLE_COUNT 3
#define UFP4_PASS_COUNT 3
#define UFP4_PASSES_ALL 7u

/** A recipe (numerics.md 6): how each operand of each training GEMM is quantized. */
typedef struct {
  char name[32];
  int quantized;       ///< 0: FP32 GEMM on the host
  ufp4_dtype_t dtype;  ///< where not quantized: what operands are rounded to, BF16 or FP32
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  ufp4_rht_t rht[UFP4_PASS_COUNT];  ///< RHT on both operands of this GEMM
  uint16_t rht_mask;
  ufp4_round_t round[UFP4_ROLE_COUNT];
  ufp4_scale_round_t scale_round[UFP4_ROLE_COUNT];
  ufp4_layout_t layout[UFP4_ROLE_COUNT];
  ufp4_contract_t contract;
} ufp4_recipe_t;

/** "fp32", "bf16", "ufp4", "e2m1", "nvfp4" or "mxfp4"; UFP4_ERROR_ARGUMENT for any other name. */
ufp4_status_t ufp4_recipe_named(const char *name, ufp4_recipe_t *recipe);
/** Whether every copy and GEMM of @p passes (a bit per ufp4_pass_t) may be asked for, on @p backend
 * (NULL: on any): as ufp4_combination_quantize and ufp4_combination_gemm. A recipe that does not
 * quantize always may. */
ufp4_status_t ufp4_recipe_check(const ufp4_recipe_t *recipe, unsigned passes, const char *backend,
                                ufp4_message_t *message);
/** The roles of operands A and B of a pass and along which axis each is blocked: FPROP x row, w
 * row; DGRAD dy row, w col; WGRAD dy col, x col. */
void ufp4_pass_operands(ufp4_pass_t pass, ufp4_role_t role[2], ufp4_axis_t axis[2]);
/** How @p recipe quantizes the copy of @p role along @p axis (seed and tensor_id are left 0). */
ufp4_quantize_t ufp4_recipe_quantize(const ufp4_recipe_t *recipe, ufp4_role_t role,
                                     ufp4_axis_t axis);

#ifdef __cplusplus
}
#endif

#endif
