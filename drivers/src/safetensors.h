// SPDX-License-Identifier: Apache-2.0
// .safetensors files: a header in JSON, and tensors by name.
#ifndef UFP4_SAFETENSORS_H
#define UFP4_SAFETENSORS_H

#include "tensor_file.h"

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
/** Finds a 2-D tensor by name and reads it; its data stays until @p file is closed. */
ufp4_status_t safetensors_find(safetensors_t *file, const char *name, file_tensor_t *out, ufp4_message_t *message);
/** The metadata value of @p key, or NULL. */
const char *safetensors_metadata(const safetensors_t *file, const char *key);

#endif
