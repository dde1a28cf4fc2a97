// SPDX-License-Identifier: Apache-2.0
// The architecture of a model, as a transformers configuration gives it.
#ifndef UFP4_CLI_EXPLORE_ARCHITECTURE_H
#define UFP4_CLI_EXPLORE_ARCHITECTURE_H

#include "explore/model/model.h"

/** An architecture. The numbers apply to one block, unless a comment says otherwise. Parts that a
 * model does not have are 0. */
typedef struct {
  const char *name, *what;
  int64_t blocks, width, inner;  ///< inner: width of the MLP, or of each expert
  int64_t heads, kv_heads, head;
  int64_t experts, chosen;     ///< a token sees `chosen` of the experts
  int64_t shared;              ///< total inner width of experts that every token sees
  int64_t dense, dense_inner;  ///< blocks without experts, and the inner width of their MLP
  int64_t q_rank, kv_rank, rope,
      v_head;             ///< of latent attention; head is that of q and k, rope of it
  int64_t state, groups;  ///< of a Mamba-2 block, whose inner width has heads of head
  int64_t keys, values, key_head,
      value_head;  ///< heads of a gated delta net in place of attention, and their widths
  int64_t every;   ///< every n-th block has attention, or experts; 0: all, or the last ones
  int gated;       ///< attention has a gate, as wide as q
  int plain;       ///< its MLP has no gate
} architecture_t;

/** Makes the layers of a model with this architecture. */
void explore_build(const architecture_t *a, explore_model_t *model);

#endif
