// SPDX-License-Identifier: Apache-2.0
// Measures the effect of recipes on one trained model without further training: on each operand of
// its GEMMs, and on its loss on held-out text. The choice of held-out text is the only random
// influence.
#ifndef UFP4_TRAIN_FORWARD_H
#define UFP4_TRAIN_FORWARD_H

#include <stdio.h>

#include "train/learn/trainer.h"
#include "ufp4/rounding.h"

#define UFP4_FORWARD_RECIPES 32

typedef struct {
  const ufp4_recipe_t *recipes;
  int recipe_count;                       ///< at most UFP4_FORWARD_RECIPES
  int64_t tokens;                         ///< upper limit of held-out tokens; INT64_MAX: all
  ufp4_device_t *(*open)(void *context);  ///< opens a device for one worker, or NULL
  void *open_context;
  int workers;        ///< threads; the results do not depend on it
  int (*stop)(void);  ///< returns whether to stop, called now and then; NULL: never
  /** Called, never concurrently, with the number of batches since the last call; the total is
   * recipe_count times the batches of ufp4_trainer_evaluation. NULL: none. */
  void (*progress)(void *context, int64_t batches);
  void *progress_context;
} ufp4_forward_options_t;

/** An operand of a GEMM on one grid, with E4M3 scales for blocks of 16. */
typedef struct {
  unsigned layer;  ///< 4 * block + matrix
  ufp4_pass_t pass;
  ufp4_role_t role;
  ufp4_round_t round;  ///< RNE: elements and scales; SR, for dY: scales are rounded up, as in
                       ///< recipes
  ufp4_elem_t elem;    ///< E2M1, E1M2 or mixed
  int rht;
  ufp4_rounding_t rounding;
} ufp4_forward_row_t;

/** The grids without and with RHT, in this order: E2M1, E2M1 with RHT, E1M2, E1M2 with RHT, mixed,
 * mixed with RHT. */
#define UFP4_FORWARD_WAYS 6

/** The rows of a matrix as means over all blocks. */
typedef struct {
  unsigned matrix;
  ufp4_pass_t pass;
  ufp4_role_t role;
  ufp4_round_t round;
  double kept[UFP4_FORWARD_WAYS], sqnr_db[UFP4_FORWARD_WAYS];
  double bucket_ratio[UFP4_FORWARD_WAYS];  ///< NaN for mixed
  double uniform[UFP4_FORWARD_WAYS];       ///< NaN for all but mixed
} ufp4_forward_line_t;

/** 4 matrices with 6 operands, of which the two dY are measured with both roundings. */
#define UFP4_FORWARD_LINES 32

typedef struct {
  ufp4_recipe_t recipe;
  /** By pass, the product over all layers of the kept signal of both operands, as the recipe
   * quantizes them. It is an index of a recipe's shrinkage, not the attenuation of the network,
   * because the residual stream bypasses the layers and norms undo a common factor. NaN if not
   * quantized, or if requantized, which is not measured. */
  double kept[UFP4_PASS_COUNT];
  double *layer_kept[UFP4_PASS_COUNT];  ///< [layers]: the factor of each layer
  double *losses;                       ///< [sequences], nats per token
  double loss;                          ///< their mean
} ufp4_forward_recipe_t;

typedef struct {
  ufp4_forward_row_t *rows;  ///< by layer, pass, operand, rounding and grid
  int64_t row_count;
  int layers;  ///< linear layers of the model
  ufp4_forward_recipe_t *recipes;
  int recipe_count;
  int64_t sequences, tokens;  ///< held out, measured
  int stopped;                ///< 1: it was stopped, and the results above are invalid
  ufp4_pool_t pool;
  ufp4_message_t message;  ///< the error, if there is one
} ufp4_forward_t;

/** Measures X, W and dY of the next step of @p trainer, which is not taken. @p text is the
 * trainer's. On failure the message in @p out says why; it must be freed in any case. */
ufp4_status_t ufp4_forward_measure(ufp4_trainer_t *trainer, const ufp4_text_t *text,
                                   const ufp4_forward_options_t *options, ufp4_forward_t *out);
void ufp4_forward_free(ufp4_forward_t *forward);

/** Makes a line for each matrix, pass, operand and rounding. */
void ufp4_forward_lines(const ufp4_forward_t *forward,
                        ufp4_forward_line_t lines[UFP4_FORWARD_LINES]);
/** Return "X", "W" or "dY"; "fprop", "dgrad" or "wgrad". */
const char *ufp4_role_name(ufp4_role_t role);
const char *ufp4_pass_name(ufp4_pass_t pass);

/** Writes all rows: layer,matrix,tensor,pass,grid,rht,round,alpha,sqnr_db,bucket_ratio,uniform,
 * where layer is the number of the block; beside the target, then renamed. */
ufp4_status_t ufp4_forward_write_csv(const ufp4_forward_t *forward, const char *path,
                                     ufp4_message_t *message);

#endif
