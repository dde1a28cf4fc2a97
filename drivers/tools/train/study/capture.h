// SPDX-License-Identifier: Apache-2.0
// Writes the tensors of the linear layers of one step as .npy: layerN.NAME.X.npy, .W.npy and
// .dY.npy, N the block, NAME the matrix.
#ifndef UFP4_TRAIN_CAPTURE_H
#define UFP4_TRAIN_CAPTURE_H

#include "train/model/layer.h"
#include "ufp4/tensor.h"

typedef struct {
  const char *folder;      ///< made where it is not there; the one above it exists
  ufp4_message_t message;  ///< what went wrong, if a call failed
} ufp4_capture_t;

/** A hook of one step; @p capture must outlive it. */
ufp4_layer_hook_t ufp4_capture_hook(ufp4_capture_t *capture);

/** Removes what runs of any size have captured to @p folder, but for the first @p blocks blocks. A
 * folder that is not there holds nothing. */
void ufp4_capture_clean(const char *folder, int64_t blocks);

/** Whether the tensors of a model of @p blocks blocks can be written to @p folder, as far as can be
 * said beforehand. */
ufp4_status_t ufp4_capture_check(const char *folder, int64_t blocks, ufp4_message_t *message);
/** Gives what hooks have written its names: until then it lies in a folder below, and earlier
 * tensors are as they were. */
ufp4_status_t ufp4_capture_commit(const char *folder, int64_t blocks, ufp4_message_t *message);
/** Removes what hooks have written and that has no names yet, and @p folder if it is empty. */
void ufp4_capture_discard(const char *folder, int64_t blocks);

#endif
