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

/** The linear layers of a Transformer block in the order of their numbers: layer = 4 * block +
 * matrix. */
typedef enum {
  UFP4_MATRIX_QKV,
  UFP4_MATRIX_PROJ,
  UFP4_MATRIX_FC1,
  UFP4_MATRIX_FC2
} ufp4_block_matrix_t;
#define UFP4_MATRIX_COUNT 4
/** Returns "qkv", "proj", "fc1" or "fc2". */
const char *ufp4_matrix_name(unsigned matrix);

/** The signs of the transform: always rht_mask, or drawn anew for each step (numerics.md 3). */
typedef enum { UFP4_SIGNS_FIXED = 0, UFP4_SIGNS_STEP = 1 } ufp4_signs_t;

/** A number of whole blocks at one end of a model: the larger of the two. */
typedef struct {
  unsigned blocks;   ///< at least this many blocks
  unsigned percent;  ///< at least this share of all blocks, rounded up
} ufp4_model_end_t;

/** The linear layers of a model that are computed by the recipe bf16. */
typedef struct {
  ufp4_model_end_t first, last;
  unsigned matrices;  ///< these matrices of every block, a bit per ufp4_block_matrix_t
} ufp4_bf16_layers_t;

/** A recipe (numerics.md 6): how each operand of each training GEMM is quantized. Each copy of a
 * tensor, indexed by role and axis, enters exactly one GEMM (ufp4_pass_operands). */
typedef struct {
  char name[80];       ///< includes the suffix (ufp4_recipe_vary)
  int quantized;       ///< 0: all GEMMs run in FP32 on the host
  ufp4_dtype_t dtype;  ///< if not quantized: the type to which operands are rounded, BF16 or FP32
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  ufp4_rht_t rht[UFP4_PASS_COUNT];  ///< RHT on both operands of this GEMM
  uint64_t rht_mask;                ///< one bit per point
  ufp4_signs_t signs;
  ufp4_round_t round[UFP4_ROLE_COUNT][2];              ///< by role and axis
  ufp4_scale_round_t scale_round[UFP4_ROLE_COUNT][2];  ///< by role and axis
  ufp4_layout_t layout[UFP4_ROLE_COUNT];
  ufp4_contract_t contract;
  int requantize;        ///< backward passes quantize FPROP's decoded X and W
  unsigned bf16_passes;  ///< passes computed by the recipe bf16, a bit per ufp4_pass_t
  ufp4_bf16_layers_t bf16_layers;
  int block;     ///< elements per scale, as in ufp4_quantize_t
  int rht_size;  ///< points of the transform, as in ufp4_quantize_t
} ufp4_recipe_t;

/** The built-in recipes. */
#define UFP4_RECIPE_NAMES                                                                        \
  "fp32, bf16, ufp4, ufp4-mixed, e2m1, e2m1-46, e2m1-mixed, nvfp4, nvfp4-full, nvint4, nve1m2, " \
  "mxfp4, mxfp4-rht"
/** Looks up one of UFP4_RECIPE_NAMES, with or without a suffix. UFP4_ERROR_ARGUMENT: any other
 * name. */
ufp4_status_t ufp4_recipe_named(const char *name, ufp4_recipe_t *recipe);
/** Returns where the suffix of @p name begins: the trailing parts that each begin with / and
 * contain =. */
const char *ufp4_recipe_suffix(const char *name);
/** Applies @p suffix to a recipe without a suffix and appends it to the name. "/rht=GEMMS" applies
 * the transform in exactly these GEMMs, and "/sr=GEMMS" stochastic rounding; GEMMS is "none", or
 * some of fprop, dgrad and wgrad joined by + (numerics.md 6). UFP4_ERROR_ARGUMENT: no such suffix,
 * or one that does not apply to the recipe; the recipe is then unchanged. */
ufp4_status_t ufp4_recipe_vary(ufp4_recipe_t *recipe, const char *suffix, ufp4_message_t *message);
/** Returns whether @p recipe quantizes the operands of @p pass. */
int ufp4_recipe_quantizes(const ufp4_recipe_t *recipe, ufp4_pass_t pass);
/** Returns the JSON key of a setting of @p recipe that only the training of a whole model can
 * honour, or NULL. */
const char *ufp4_recipe_model_key(const ufp4_recipe_t *recipe);
/** Returns the recipe of linear layer @p layer (numbered as in ufp4_block_matrix_t) of a model of
 * @p blocks blocks: the recipe bf16 if bf16_layers selects the layer, otherwise @p recipe with
 * bf16_layers cleared. */
ufp4_recipe_t ufp4_recipe_of_layer(const ufp4_recipe_t *recipe, unsigned layer, unsigned blocks);
/** Checks that every copy and GEMM of @p passes (a bit per ufp4_pass_t) is legal on @p backend
 * (NULL: on any), as ufp4_combination_quantize and ufp4_combination_gemm do. A recipe that does not
 * quantize is always legal. */
ufp4_status_t ufp4_recipe_check(const ufp4_recipe_t *recipe, unsigned passes, const char *backend,
                                ufp4_message_t *message);
/** Returns the roles of operands A and B of a pass and the axis along which each is blocked: FPROP
 * x row, w row; DGRAD dy row, w col; WGRAD dy col, x col. */
void ufp4_pass_operands(ufp4_pass_t pass, ufp4_role_t role[2], ufp4_axis_t axis[2]);
/** Returns the default mask of a transform of @p points: UFP4_RHT_DEFAULT_MASK, repeated. */
uint64_t ufp4_default_mask(int points);
/** Returns the signs of the transform in step @p step of a training run with @p seed. */
uint64_t ufp4_recipe_mask(const ufp4_recipe_t *recipe, uint64_t seed, uint64_t step);
/** Returns how @p recipe quantizes the copy of @p role along @p axis, with seed and tensor_id 0
 * and the mask rht_mask. */
ufp4_quantize_t ufp4_recipe_quantize(const ufp4_recipe_t *recipe, ufp4_role_t role,
                                     ufp4_axis_t axis);

#ifdef __cplusplus
}
#endif

#endif
