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
  EXPLORE_BF16,    ///< on the host: a product of two tensors
  EXPLORE_HOST,    ///< on the host: reads cin and writes cout numbers per token
} explore_kind_t;

/** Used as a width: the tokens of a sequence, which are those of the step. */
enum { EXPLORE_SEQUENCE = 0 };

/** How chips divide a layer that they share: not at all; by columns of Y, that is rows of W; by
 * columns of X, which gives partial sums; by matrices. */
typedef enum { EXPLORE_WHOLE, EXPLORE_COLUMNS, EXPLORE_ROWS, EXPLORE_HEADS } explore_share_t;

/** Layers of one shape in a block of a model. */
typedef struct {
  char name[EXPLORE_NAME];
  explore_kind_t kind;
  int64_t cin, cout, count;
  int64_t tokens;                ///< tokens of the layer; 0: a share of the step's tokens
  int64_t tokens_of, tokens_by;  ///< that share
  int64_t group;                 ///< number of matrices whose tokens share one W
  explore_share_t share;
  int64_t parts;   ///< how many chips, or a divisor of it, can share it; 0: any
  int joined;      ///< its output is added to another layer's before it is sent
  unsigned kinds;  ///< bit set of the kinds of blocks that have it
  int64_t blocks;  ///< number of the model's blocks that have it
} explore_layer_t;

enum { EXPLORE_MAX_KINDS = 2 };

/** Blocks with the same layers. */
typedef struct {
  const char *name;  ///< name of their total
  int64_t blocks;
} explore_blocks_t;

typedef struct {
  char name[EXPLORE_NAME];
  int64_t blocks;
  int kind_count;
  explore_blocks_t kinds[EXPLORE_MAX_KINDS];  ///< in their order
  int64_t every;  ///< every n-th block is of the second kind; 0: blocks of the first kind come
                  ///< first
  int layer_count, host_count;                 ///< the core's layers, followed by the host's
  explore_layer_t layers[EXPLORE_MAX_LAYERS];  ///< all of them
} explore_model_t;

static inline int explore_is_host(const explore_layer_t *layer) {
  return layer->kind == EXPLORE_BF16 || layer->kind == EXPLORE_HOST;
}

static inline int explore_is_of(const explore_layer_t *layer, int kind) {
  return layer->kinds >> kind & 1;
}

/** Returns the kind of the block with that number, from 0 on. */
static inline int explore_kind_at(const explore_model_t *model, int64_t block) {
  if (model->every != 0) return (block + 1) % model->every == 0;
  return model->kind_count > 1 && block >= model->kinds[0].blocks;
}

/** Finds a built-in model, or reads the layers of a block from a CSV file, or with @p hf a
 * config.json. @p attention: its products run on the core. @p blocks: number of blocks, or 0: the
 * model's own. @return CLI_GO_ON or the exit status. */
int explore_model(const char *shapes, const char *hf, int attention, int64_t blocks,
                  explore_model_t *model);
/** Makes a built-in model. @return whether there is one of this name. */
int explore_architecture(const char *name, explore_model_t *model);
void explore_architecture_details(FILE *out);
int explore_hf(const char *path, int64_t blocks, explore_model_t *model);
/** Prints the text about models in --help. */
void explore_model_details(FILE *out);

#endif
