// SPDX-License-Identifier: Apache-2.0
// A linear layer of the language model: its three GEMMs on a device with a recipe, or in plain
// FP32.
#ifndef UFP4_TRAIN_LAYER_H
#define UFP4_TRAIN_LAYER_H

#include "ufp4.h"

/** The GEMM that has just been computed. Operands that the pass does not use have data NULL. */
typedef struct {
  unsigned layer;  ///< 4 * block + matrix
  ufp4_pass_t pass;
  ufp4_linear_t *linear;  ///< for reading the quantized copies; NULL in plain FP32
  ufp4_matrix_t x, w, dy;
  ufp4_matrix_t d;  ///< the result
  ufp4_gemm_stats_t stats;
} ufp4_layer_event_t;

/** Called after each GEMM; a status other than UFP4_OK ends the step with it. */
typedef ufp4_status_t (*ufp4_layer_hook_fn_t)(void *context, const ufp4_layer_event_t *event);

typedef struct {
  ufp4_layer_hook_fn_t call;  ///< NULL: none
  void *context;
} ufp4_layer_hook_t;

/** Computes d [m][n] = A B in plain FP32: @p a [m][k], or [k][m] if transposed, @p b [k][n], or
 * [n][k]. */
typedef void (*ufp4_product_fn_t)(void *context, int64_t m, int64_t n, int64_t k, const float *a,
                                  int a_turned, const float *b, int b_turned, float *d);

typedef struct {
  ufp4_product_fn_t call;  ///< NULL: ufp4_sgemm
  void *context;
} ufp4_product_t;

typedef struct {
  ufp4_linear_t *linear;
  ufp4_product_t product;  ///< used if linear is NULL
  int64_t tokens, cin, cout;
  unsigned layer;
  const float *x, *w;  ///< those of the last forward pass
  int fixed;           ///< 1: the weights do not change, so their copies are made once per step
  int held;            ///< the copies are valid for w and step
  uint64_t step;
} ufp4_layer_t;

/** Creates a layer, in plain FP32 if @p device and @p recipe are NULL. */
ufp4_status_t ufp4_layer_create(ufp4_device_t *device, const ufp4_recipe_t *recipe,
                                const ufp4_linear_shape_t *shape, ufp4_layer_t *layer);
void ufp4_layer_free(ufp4_layer_t *layer);
/** Computes y [tokens][cout] = x w^T. @p x [tokens][cin] and @p w [cout][cin] must not change
 * until the backward pass. */
ufp4_status_t ufp4_layer_forward(ufp4_layer_t *layer, const float *x, const float *w, uint64_t step,
                                 float *y, const ufp4_layer_hook_t *hook);
/** Computes dx [tokens][cin] = dy w, dw [cout][cin] = dy^T x. */
ufp4_status_t ufp4_layer_backward(ufp4_layer_t *layer, const float *dy, uint64_t step, float *dx,
                                  float *dw, const ufp4_layer_hook_t *hook);

#endif
