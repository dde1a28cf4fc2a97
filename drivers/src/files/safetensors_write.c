// SPDX-License-Identifier: Apache-2.0
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"

typedef struct {
  file_part_t head;
  const file_part_t *parts;
  int count;
} contents_t;

// Allocates room for the length and the padded JSON, and formats the JSON there; NULL if memory is
// exhausted. (json_dumps would silently drop values for which it has no memory.)
static uint8_t *dump(const json_t *header, size_t *length) {
  *length = json_dumpb(header, NULL, 0, JSON_COMPACT);
  uint8_t *out = *length != 0 ? malloc(8 + *length + 7) : NULL;
  if (out == NULL || json_dumpb(header, (char *)out + 8, *length, JSON_COMPACT) == *length)
    return out;
  free(out);
  return NULL;
}

// Writes the length, and pads the JSON with spaces.
static uint8_t *make_head(const json_t *header, size_t *size) {
  size_t length;
  uint8_t *out = dump(header, &length);
  if (out == NULL) return NULL;
  size_t padded = (length + 7) / 8 * 8;
  for (int i = 0; i < 8; i++) out[i] = (uint8_t)((uint64_t)padded >> (8 * i));
  memset(out + 8 + length, ' ', padded - length);
  *size = 8 + padded;
  return out;
}

static void put(const void *context, FILE *stream) {
  const contents_t *all = context;
  fwrite(all->head.data, 1, all->head.size, stream);
  for (int i = 0; i < all->count && !ferror(stream); i++)
    fwrite(all->parts[i].data, 1, all->parts[i].size, stream);
}

ufp4_status_t safetensors_write(const char *path, const json_t *header, const file_part_t *parts,
                                int count, ufp4_message_t *message) {
  size_t size = 0;
  uint8_t *head = make_head(header, &size);
  if (head == NULL) {
    ufp4_message_set(message, "%s: the host is out of memory", path);
    return UFP4_ERROR_MEMORY;
  }
  const contents_t all = {{head, size}, parts, count};
  ufp4_status_t status = file_write_by(path, put, &all, message);
  free(head);
  return status;
}
