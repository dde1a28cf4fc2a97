// SPDX-License-Identifier: Apache-2.0
// The parameters of the language model, and arrays of the same shape (gradients): a flat array with
// matrices first, then the gains of the norms.
#ifndef UFP4_TRAIN_WEIGHTS_H
#define UFP4_TRAIN_WEIGHTS_H

#include <stdint.h>

#include "pool.h"
#include "ufp4/recipe.h"

/** Tokens are bytes. */
#define UFP4_VOCABULARY 256
#define UFP4_MAX_BLOCKS 1000  ///< 4 * block + matrix must fit the 12 bits of a layer number

/** A decoder-only Transformer: RMSNorm before each sub-layer, RoPE, SwiGLU, untied head. */
typedef struct {
  int64_t d_model;
  int64_t heads;
  int64_t blocks;
  int64_t ff;       ///< width between fc1 (which has 2 ff outputs: gate, up) and fc2
  int64_t context;  ///< tokens per sequence
} ufp4_transformer_shape_t;

/** Returns d 64, 2 heads, 4 blocks, ff 192, context 128. */
ufp4_transformer_shape_t ufp4_transformer_small(void);
/** Returns 1 if every size is positive and within its limit and heads divide d_model into even
 * parts. */
int ufp4_transformer_legal(const ufp4_transformer_shape_t *shape);

/** Return outputs and inputs of a matrix (ufp4_block_matrix_t), [outputs][inputs]. */
int64_t ufp4_matrix_outputs(const ufp4_transformer_shape_t *shape, unsigned matrix);
int64_t ufp4_matrix_inputs(const ufp4_transformer_shape_t *shape, unsigned matrix);

typedef struct {
  float *matrix[UFP4_MATRIX_COUNT];
  float *norm[2];
} ufp4_block_weights_t;

typedef struct {
  float *all;
  int64_t count;
  int64_t matrices;   ///< how many of the parameters belong to matrices
  float *embedding;   ///< [256][d]
  float *head;        ///< [256][d]
  float *final_norm;  ///< [d]
  ufp4_block_weights_t *block;
} ufp4_weights_t;

/** Allocates zeroed weights from @p pool, whose failed flag reports errors. */
void ufp4_weights_alloc(const ufp4_transformer_shape_t *shape, ufp4_pool_t *pool,
                        ufp4_weights_t *out);
/** Sets random initial weights: matrices with deviation 0.02, divided by sqrt(2 blocks) in those
 * that end a residual branch (proj, fc2), and gains 1. */
void ufp4_weights_random(const ufp4_transformer_shape_t *shape, uint64_t seed,
                         ufp4_weights_t *weights);
/** Multiplies each element of the matrices by 1 + @p deviation * a normal number, for the control
 * experiment. */
void ufp4_weights_perturb(ufp4_weights_t *weights, uint64_t seed, float deviation);

#endif
