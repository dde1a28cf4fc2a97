// SPDX-License-Identifier: Apache-2.0
// Tensor files: .npy (docs/reference/files.md). The driver reads and writes .safetensors
// (ufp4_file.h).
#ifndef UFP4_TENSOR_H
#define UFP4_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/matrix.h"
#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A plain tensor that owns its data, with ld = cols. */
typedef struct {
  ufp4_matrix_t view;
  void *data;
} ufp4_tensor_t;

void ufp4_tensor_free(ufp4_tensor_t *tensor);

/** Reads a 2-D .npy file. float64 and float16 become F32 (nearest even); BF16 stays BF16; uint16
 * is read as BF16 if @p uint16_is_bf16 is set; int64 is read as I64. Fortran order is
 * transposed. */
ufp4_status_t ufp4_tensor_read(const char *path, int uint16_is_bf16, ufp4_tensor_t *out,
                               ufp4_message_t *message);
/** Writes a .npy file: float32, uint16 (BF16) or int64. The file is written beside the target and
 * then renamed, so that a failure leaves the old file in place. */
ufp4_status_t ufp4_tensor_write(const char *path, const ufp4_matrix_t *matrix,
                                ufp4_message_t *message);
/** Writes uint8 codes [rows][cols] as ufp4_tensor_write does. */
ufp4_status_t ufp4_tensor_write_u8(const char *path, const uint8_t *data, int64_t rows,
                                   int64_t cols, ufp4_message_t *message);

#ifdef __cplusplus
}
#endif

#endif
