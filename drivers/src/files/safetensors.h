// SPDX-License-Identifier: Apache-2.0
// .safetensors files: a header in JSON, and tensors by name.
#ifndef UFP4_SAFETENSORS_H
#define UFP4_SAFETENSORS_H

#include "base/file.h"
#include "tensor/convert.h"

/** Element types that are known. F4 is E2M1, two elements to a byte, the first in the low nibble; a
 * shape counts elements (safetensors 0.8.0 writes torch.float4_e2m1fn_x2 so, whose nibbles
 * PyTorch's Float4_e2m1fn_x2.h defines). */
typedef enum {
  SAFETENSORS_F32,
  SAFETENSORS_F64,
  SAFETENSORS_F16,
  SAFETENSORS_BF16,
  SAFETENSORS_I64,
  SAFETENSORS_U8,
  SAFETENSORS_F8_E4M3,
  SAFETENSORS_F8_E8M0,
  SAFETENSORS_F4,
  SAFETENSORS_OTHER,
} safetensors_dtype_t;

#define SAFETENSORS_DIMENSIONS 4

/** A tensor's entry in the header. */
typedef struct {
  const char *name, *dtype_name;  // for messages
  safetensors_dtype_t dtype;
  int dimensions;
  int64_t shape[SAFETENSORS_DIMENSIONS];
  uint64_t at, bytes;  // in the file's data
} safetensors_entry_t;

/** A tensor's bytes, read from a .safetensors. */
typedef struct safetensors_part {
  struct safetensors_part *next;
  uint8_t bytes[];
} safetensors_part_t;

/** An opened .safetensors. */
typedef struct {
  const char *path;
  file_ranges_t file;
  struct json_t *header;
  uint64_t data_at, data_bytes;  // behind the header
  safetensors_part_t *parts;     // what was found
} safetensors_t;

/** Reads and checks the header, and every tensor's place. */
ufp4_status_t safetensors_open(const char *path, safetensors_t *out, ufp4_message_t *message);
void safetensors_close(safetensors_t *file);
/** Finds a tensor by name; checks its shape, and its size where the element type is known. */
ufp4_status_t safetensors_entry(const safetensors_t *file, const char *name,
                                safetensors_entry_t *out, ufp4_message_t *message);
/** UFP4_ERROR_FORMAT where it has not so many dimensions. */
ufp4_status_t safetensors_dimensions(const safetensors_t *file, const safetensors_entry_t *entry,
                                     int wanted, ufp4_message_t *message);
/** Reads @p bytes of an entry from its byte @p offset on; they stay until @p file is closed. */
ufp4_status_t safetensors_read(safetensors_t *file, const safetensors_entry_t *entry,
                               uint64_t offset, uint64_t bytes, const uint8_t **data,
                               ufp4_message_t *message);
/** Finds a plain 2-D tensor by name and reads it; its data stays until @p file is closed. */
ufp4_status_t safetensors_find(safetensors_t *file, const char *name, file_tensor_t *out,
                               ufp4_message_t *message);
/** The metadata value of @p key, or NULL. */
const char *safetensors_metadata(const safetensors_t *file, const char *key);

/** Writes @p header, whose offsets are those of the parts one after the other, and the parts; whole
 * or not at all. The data begin on a multiple of 8. */
ufp4_status_t safetensors_write(const char *path, const struct json_t *header,
                                const file_part_t *parts, int count, ufp4_message_t *message);

#endif
