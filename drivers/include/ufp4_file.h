// SPDX-License-Identifier: Apache-2.0
// Files of quantized operands, and plain tensors in .npy or .safetensors files
// (docs/reference/files.md).
#ifndef UFP4_FILE_PUBLIC_H
#define UFP4_FILE_PUBLIC_H

#include "ufp4/quantize.h"
#include "ufp4/status.h"
#include "ufp4/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Reads a plain 2-D tensor: FILE.npy, as ufp4_tensor_read does, or FILE.safetensors:NAME (F32,
 * F16, BF16, F64, I64). Free it with ufp4_tensor_free. */
ufp4_status_t ufp4_file_read(const char *path, int uint16_is_bf16, ufp4_tensor_t *out,
                             ufp4_message_t *message);

/** Reads a quantized operand: a FILE.safetensors of format "ufp4-1", or an NVFP4 or MXFP4 layer of
 * another producer's checkpoint, DIR:LAYER or FILE.safetensors:LAYER, or LAYER:EXPERT if the layer
 * holds several weights (docs/reference/files.md, "Checkpoints"). @p how receives the metadata
 * (rht, round, seed, ...). With UFP4_OK @p message is empty, or lists the tensors of the layer that
 * were ignored. */
ufp4_status_t ufp4_operand_read(const char *path, ufp4_operand_t *out, ufp4_quantize_t *how,
                                ufp4_message_t *message);
/** Writes a quantized operand in format "ufp4-1", beside the target, which is then replaced by
 * renaming; @p packed: two codes to a byte. */
ufp4_status_t ufp4_operand_write(const char *path, const ufp4_operand_t *operand,
                                 const ufp4_quantize_t *how, int packed, ufp4_message_t *message);

#ifdef __cplusplus
}
#endif

#endif
