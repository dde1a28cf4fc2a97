// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: the layers of a model.
#ifndef UFP4_CLI_EXPLORE_MODEL_H
#define UFP4_CLI_EXPLORE_MODEL_H

#include <stdint.h>
#include <stdio.h>

enum { EXPLORE_MAX_LAYERS = 256, EXPLORE_NAME = 48 };

typedef enum {
  EXPLORE_LINEAR,
  EXPLORE_MATMUL,  ///< a product of two activations, the second in the place of W
  EXPLORE_BF16,    ///< the host's: a product of two tensors
  EXPLORE_HOST,    ///< the host's: reads cin and writes cout numbers of each token
} explore_kind_t;

/** In the place of a width: the tokens of a sequence, which are those of the step. */
enum { EXPLORE_SEQUENCE = 0 };

/** The part of a layer that each of the chips has which share it: all of it; some columns of Y, and
 * so rows of W; some columns of X, and so a part of each sum; some of its matrices. */
typedef enum { EXPLORE_WHOLE, EXPLORE_COLUMNS, EXPLORE_ROWS, EXPLORE_HEADS } explore_share_t;

/** Layers of one shape in one block of a model. */
typedef struct {
  char name[EXPLORE_NAME];
  explore_kind_t kind;
  int64_t cin, cout, count;
  int64_t tokens;                ///< that it sees; 0: a share of those of the step
  int64_t tokens_of, tokens_by;  ///< this one
  int64_t group;                 ///< matrices of so many tokens that share one W
  explore_share_t share;
  int64_t parts;   ///< that many chips, or a divisor of it, can share it; 0: any
  int joined;      ///< what it gives is added up with another layer's before it is sent
  unsigned kinds;  ///< of blocks, that have it: bits
  int64_t blocks;  ///< of the model, that have it
} explore_layer_t;

enum { EXPLORE_MAX_KINDS = 2 };

/** Blocks that are alike. */
typedef struct {
  const char *name;  ///< of their total
  int64_t blocks;
} explore_blocks_t;

typedef struct {
  char name[EXPLORE_NAME];
  int64_t blocks;
  int kind_count;
  explore_blocks_t kinds[EXPLORE_MAX_KINDS];  ///< in their order
  int64_t every;  ///< each so many-th block is of the second kind; 0: the first kind's are in front
  int layer_count, host_count;                 ///< the core's, and behind them the host's
  explore_layer_t layers[EXPLORE_MAX_LAYERS];  ///< all of them
} explore_model_t;

static inline int explore_is_host(const explore_layer_t *layer) {
  return layer->kind == EXPLORE_BF16 || layer->kind == EXPLORE_HOST;
}

static inline int explore_is_of(const explore_layer_t *layer, int kind) {
  return layer->kinds >> kind & 1;
}

/** The kind of the block with that number, from 0 on. */
static inline int explore_kind_at(const explore_model_t *model, int64_t block) {
  if (model->every != 0) return (block + 1) % model->every == 0;
  return model->kind_count > 1 && block >= model->kinds[0].blocks;
}

/** A model that is built in, or the layers of a CSV file, which are one block; or with @p hf of a
 * config.json. @p attention: its products are the core's. @p blocks: the first of them, or 0: its
 * own. @return CLI_GO_ON or the exit status. */
int explore_model(const char *shapes, const char *hf, int attention, int64_t blocks,
                  explore_model_t *model);
/** @return whether there is such a model. */
int explore_architecture(const char *name, explore_model_t *model);
void explore_architecture_details(FILE *out);
int explore_hf(const char *path, int64_t blocks, explore_model_t *model);
/** Prints what --help says of models. */
void explore_model_details(FILE *out);

#endif
