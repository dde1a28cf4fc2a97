// SPDX-License-Identifier: Apache-2.0
#ifndef UFP4_NPY_H
#define UFP4_NPY_H

#include "base/file.h"
#include "tensor/convert.h"

/** Returns whether these are the first bytes of a .npy file. */
#define NPY_MAGIC_BYTES 6
int npy_begins(const uint8_t first[NPY_MAGIC_BYTES]);
/** Finds the tensor in the bytes of a .npy file. */
ufp4_status_t npy_parse(const char *path, const file_bytes_t *file, int uint16_is_bf16,
                        file_tensor_t *out, ufp4_message_t *message);

/** Writes a .npy: float32, uint16 (BF16) or int64. */
void tensor_put(const ufp4_matrix_t *matrix, FILE *stream);

#endif
