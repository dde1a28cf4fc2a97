// SPDX-License-Identifier: Apache-2.0
// .safetensors files: a JSON header, and tensors by name.
#ifndef UFP4_SAFETENSORS_H
#define UFP4_SAFETENSORS_H

#include "base/file.h"
#include "tensor/convert.h"

/** Known element types. F4 is E2M1, two elements to a byte, the first in the low nibble, and its
 * shape counts elements (safetensors 0.8.0 writes torch.float4_e2m1fn_x2 this way; PyTorch's
 * Float4_e2m1fn_x2.h defines the nibbles). */
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
  uint64_t at, bytes;  // position in the file's data
} safetensors_entry_t;

/** The bytes of a tensor that have been read. */
typedef struct safetensors_part {
  struct safetensors_part *next;
  uint8_t bytes[];
} safetensors_part_t;

/** An opened .safetensors. */
typedef struct {
  const char *path;
  file_ranges_t file;
  struct json_t *header;
  uint64_t data_at, data_bytes;  // the data behind the header
  safetensors_part_t *parts;     // parts that have been read
} safetensors_t;

/** Reads and checks the header and the position of every tensor. */
ufp4_status_t safetensors_open(const char *path, safetensors_t *out, ufp4_message_t *message);
void safetensors_close(safetensors_t *file);
/** Finds a tensor by name and checks its shape, and its size if the element type is known. */
ufp4_status_t safetensors_entry(const safetensors_t *file, const char *name,
                                safetensors_entry_t *out, ufp4_message_t *message);
/** Returns UFP4_ERROR_FORMAT unless it has this many dimensions. */
ufp4_status_t safetensors_dimensions(const safetensors_t *file, const safetensors_entry_t *entry,
                                     int wanted, ufp4_message_t *message);
/** Reads @p bytes of an entry from its byte @p offset on; they are valid until @p file is
 * closed. */
ufp4_status_t safetensors_read(safetensors_t *file, const safetensors_entry_t *entry,
                               uint64_t offset, uint64_t bytes, const uint8_t **data,
                               ufp4_message_t *message);
/** Finds and reads a plain 2-D tensor by name; its data are valid until @p file is closed. */
ufp4_status_t safetensors_find(safetensors_t *file, const char *name, file_tensor_t *out,
                               ufp4_message_t *message);
/** Returns the metadata value of @p key, or NULL. */
const char *safetensors_metadata(const safetensors_t *file, const char *key);

/** Writes @p header and the parts, completely or not at all. The offsets in @p header are those of
 * the parts in sequence. The data start at a multiple of 8. */
ufp4_status_t safetensors_write(const char *path, const struct json_t *header,
                                const file_part_t *parts, int count, ufp4_message_t *message);

#endif
