// SPDX-License-Identifier: Apache-2.0
// Writes the tensors of the linear layers in one step as .npy: layerN.NAME.X.npy, .W.npy and
// .dY.npy, where N is the block and NAME the matrix.
#ifndef UFP4_TRAIN_CAPTURE_H
#define UFP4_TRAIN_CAPTURE_H

#include "train/model/layer.h"
#include "ufp4/tensor.h"

typedef struct {
  const char *folder;      ///< created if it does not exist; its parent must exist
  ufp4_message_t message;  ///< the error, if a call failed
} ufp4_capture_t;

/** A hook of one step; @p capture must outlive it. */
ufp4_layer_hook_t ufp4_capture_hook(ufp4_capture_t *capture);

/** Removes tensors that runs of any size have captured in @p folder, except those of the first @p
 * blocks blocks. A folder that does not exist is empty. */
void ufp4_capture_clean(const char *folder, int64_t blocks);

/** Checks, as far as possible in advance, that the tensors of a model of @p blocks blocks can be
 * written to @p folder. */
ufp4_status_t ufp4_capture_check(const char *folder, int64_t blocks, ufp4_message_t *message);
/** Moves the tensors that hooks have written from a temporary folder to their names, replacing
 * earlier ones. */
ufp4_status_t ufp4_capture_commit(const char *folder, int64_t blocks, ufp4_message_t *message);
/** Removes tensors that hooks have written and that have no names yet, and @p folder if it is
 * empty. */
void ufp4_capture_discard(const char *folder, int64_t blocks);

#endif
