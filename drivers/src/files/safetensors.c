// SPDX-License-Identifier: Apache-2.0
// .safetensors: a 64-bit length, that many bytes of JSON, and the data
// (github.com/huggingface/safetensors).
#include "safetensors.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER_BYTES 100000000u  // the limit of the reference reader

static ufp4_status_t fail(const safetensors_t *file, ufp4_message_t *message, const char *why) {
  ufp4_message_set(message, "%s: %s", file->path, why);
  return UFP4_ERROR_FORMAT;
}

static uint64_t read_u64(const uint8_t *bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; i--) value = value << 8 | bytes[i];
  return value;
}

// Reads "data_offsets": [begin, end].
static int entry_range(const json_t *entry, uint64_t *begin, uint64_t *end) {
  const json_t *offsets = json_object_get(entry, "data_offsets");
  const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
  if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last)) return 0;
  json_int_t from = json_integer_value(first), to = json_integer_value(last);
  if (from < 0 || to < from) return 0;
  *begin = (uint64_t)from;
  *end = (uint64_t)to;
  return 1;
}

typedef struct {
  uint64_t begin, end;
} range_t;

static int by_place(const void *left, const void *right) {
  const range_t *a = left, *b = right;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  return (a->end > b->end) - (a->end < b->end);
}

// The format requires that tensors fill the data without gaps; a shorter file has been truncated.
static ufp4_status_t check_places(const safetensors_t *file, range_t *ranges, size_t count,
                                  ufp4_message_t *message) {
  uint64_t at = 0;
  qsort(ranges, count, sizeof *ranges, by_place);
  for (size_t i = 0; i < count; i++) {
    if (ranges[i].begin < at) return fail(file, message, "its tensors overlap: a damaged header");
    if (ranges[i].begin > at) break;
    at = ranges[i].end;
  }
  return at == file->data_bytes
             ? UFP4_OK
             : fail(file, message, "some of its data belong to no tensor: a damaged header");
}

static ufp4_status_t check_range(const safetensors_t *file, const char *name, const json_t *entry,
                                 range_t *range, ufp4_message_t *message) {
  if (!entry_range(entry, &range->begin, &range->end)) {
    ufp4_message_set(
        message,
        "%s:%s: its data_offsets are not two whole numbers, [begin, end]: a damaged header",
        file->path, name);
    return UFP4_ERROR_FORMAT;
  }
  if (range->end <= file->data_bytes) return UFP4_OK;
  ufp4_message_set(
      message,
      "%s:%s: its data end at byte %llu of %llu: the file is truncated, or its header damaged",
      file->path, name, (unsigned long long)range->end, (unsigned long long)file->data_bytes);
  return UFP4_ERROR_FORMAT;
}

static ufp4_status_t check_entries(const safetensors_t *file, ufp4_message_t *message) {
  size_t count = 0;
  const char *name;
  json_t *entry;
  range_t *ranges = malloc((json_object_size(file->header) + 1) * sizeof *ranges);
  if (ranges == NULL) {
    ufp4_message_set(message, "%s: its header does not fit in memory", file->path);
    return UFP4_ERROR_MEMORY;
  }
  ufp4_status_t status = UFP4_OK;
  json_object_foreach(file->header, name, entry) {
    if (strcmp(name, "__metadata__") == 0) continue;
    status = check_range(file, name, entry, &ranges[count++], message);
    if (status != UFP4_OK) break;
  }
  if (status == UFP4_OK) status = check_places(file, ranges, count, message);
  free(ranges);
  return status;
}

static ufp4_status_t parse(safetensors_t *file, const char *text, uint64_t length,
                           ufp4_message_t *message) {
  json_error_t error = {0};
  file->header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &error);
  // jansson returns this code, or none, if one of its own allocations fails.
  enum json_error_code code =
      file->header == NULL ? json_error_code(&error) : json_error_invalid_syntax;
  if (code == json_error_out_of_memory || code == json_error_unknown) {
    ufp4_message_set(message, "%s: its header does not fit in memory", file->path);
    return UFP4_ERROR_MEMORY;
  }
  if (file->header == NULL) {
    ufp4_message_set(message, "%s: its header is not valid JSON: %s", file->path, error.text);
    return UFP4_ERROR_FORMAT;
  }
  if (!json_is_object(file->header)) {
    return fail(
        file, message,
        "its header is a JSON array; it must be an object, {\"NAME\": {\"dtype\": ..}, ..}");
  }
  return check_entries(file, message);
}

static ufp4_status_t read_header(safetensors_t *file, ufp4_message_t *message) {
  uint8_t first[8] = {0};
  if (file->file.size < 8)
    return fail(
        file, message,
        "truncated: a .safetensors file starts with 8 bytes that hold the length of its header");
  ufp4_status_t status = file_range_read(&file->file, 0, 8, first, message);
  if (status != UFP4_OK) return status;
  uint64_t length = read_u64(first);
  if (memcmp(first, "\x93NUMPY", 6) == 0)
    return fail(file, message, "it is a .npy file; a .safetensors file is needed");
  if (length > MAX_HEADER_BYTES)
    return fail(file, message, "not a .safetensors file, or its header is over 100 MB");
  if (length > file->file.size - 8) return fail(file, message, "truncated inside its header");
  file->data_at = 8 + length;
  file->data_bytes = file->file.size - file->data_at;
  char *text = malloc((size_t)length + 1);
  if (text == NULL) {
    ufp4_message_set(message, "%s: its header does not fit in memory", file->path);
    return UFP4_ERROR_MEMORY;
  }
  status = file_range_read(&file->file, 8, length, text, message);
  if (status == UFP4_OK) status = parse(file, text, length, message);
  free(text);
  return status;
}

ufp4_status_t safetensors_open(const char *path, safetensors_t *out, ufp4_message_t *message) {
  *out = (safetensors_t){.path = path};
  ufp4_status_t status = file_ranges_open(path, &out->file, message);
  if (status == UFP4_OK) status = read_header(out, message);
  if (status != UFP4_OK) safetensors_close(out);
  return status;
}

void safetensors_close(safetensors_t *file) {
  for (safetensors_part_t *part = file->parts, *next; part != NULL; part = next) {
    next = part->next;
    free(part);
  }
  json_decref(file->header);
  file_ranges_close(&file->file);
  *file = (safetensors_t){0};
}

ufp4_status_t safetensors_read(safetensors_t *file, const safetensors_entry_t *entry,
                               uint64_t offset, uint64_t bytes, const uint8_t **data,
                               ufp4_message_t *message) {
  safetensors_part_t *part =
      bytes < SIZE_MAX - sizeof *part ? malloc(sizeof *part + (size_t)bytes) : NULL;
  if (part == NULL) {
    ufp4_message_set(message, "%s:%s: does not fit in memory", file->path, entry->name);
    return UFP4_ERROR_MEMORY;
  }
  part->next = file->parts;
  file->parts = part;
  *data = part->bytes;
  return file_range_read(&file->file, file->data_at + entry->at + offset, bytes, part->bytes,
                         message);
}

static const struct {
  const char *name;
  unsigned bits;
} dtypes[SAFETENSORS_OTHER] = {
    [SAFETENSORS_F32] = {"F32", 32},        [SAFETENSORS_F64] = {"F64", 64},
    [SAFETENSORS_F16] = {"F16", 16},        [SAFETENSORS_BF16] = {"BF16", 16},
    [SAFETENSORS_I64] = {"I64", 64},        [SAFETENSORS_U8] = {"U8", 8},
    [SAFETENSORS_F4] = {"F4", 4},           [SAFETENSORS_F8_E4M3] = {"F8_E4M3", 8},
    [SAFETENSORS_F8_E8M0] = {"F8_E8M0", 8},
};

static safetensors_dtype_t dtype_of(const char *text) {
  int dtype = 0;
  while (dtype < SAFETENSORS_OTHER && strcmp(text, dtypes[dtype].name) != 0) dtype++;
  return (safetensors_dtype_t)dtype;
}

// Lists as many names as fit, and "..." for the rest.
static void list_names(const safetensors_t *file, char names[256]) {
  static const char more[] = ", ...";
  size_t used = 0;
  const char *key;
  json_t *entry;
  names[0] = '\0';
  json_object_foreach(file->header, key, entry) {
    const size_t length = strlen(key), comma = used == 0 ? 0 : 2;
    if (strcmp(key, "__metadata__") == 0) continue;
    if (used + comma + length + sizeof more > 256) {
      memcpy(names + used, used == 0 ? more + 2 : more, used == 0 ? sizeof more - 2 : sizeof more);
      return;
    }
    memcpy(names + used, ", ", comma);
    memcpy(names + used + comma, key, length + 1);
    used += comma + length;
  }
}

static ufp4_status_t fail_missing(const safetensors_t *file, const char *name,
                                  ufp4_message_t *message) {
  char names[256];
  list_names(file, names);
  const char *has = names[0] != '\0' ? names : "none";
  if (name[0] != '\0') {
    ufp4_message_set(message, "%s: it has no tensor %s; it has %s", file->path, name, has);
  } else {
    ufp4_message_set(message, "%s: name one of its tensors, as FILE.safetensors:NAME; it has %s",
                     file->path, has);
  }
  return UFP4_ERROR_FORMAT;
}

static ufp4_status_t read_shape(const safetensors_t *file, const json_t *shape,
                                safetensors_entry_t *out, ufp4_message_t *message) {
  const size_t dimensions = json_array_size(shape);
  int whole = json_is_array(shape);
  for (size_t i = 0; i < dimensions; i++) {
    const json_t *side = json_array_get(shape, i);
    whole &= json_is_integer(side) && json_integer_value(side) >= 0;
    if (i < SAFETENSORS_DIMENSIONS) out->shape[i] = json_integer_value(side);
  }
  out->dimensions =
      dimensions <= SAFETENSORS_DIMENSIONS ? (int)dimensions : SAFETENSORS_DIMENSIONS + 1;
  if (whole) return UFP4_OK;
  ufp4_message_set(message, "%s:%s: its shape must hold whole numbers, [rows, cols]", file->path,
                   out->name);
  return UFP4_ERROR_FORMAT;
}

// Formats "2 x 3".
static const char *shape_text(const safetensors_entry_t *entry, char text[96]) {
  size_t used = 0;
  strcpy(text, "1");  // no dimensions
  for (int i = 0; i < entry->dimensions && i < SAFETENSORS_DIMENSIONS; i++) {
    used += (size_t)snprintf(text + used, 96 - used, "%s%lld", i == 0 ? "" : " x ",
                             (long long)entry->shape[i]);
  }
  return text;
}

// The data of a known type must have the length given by the shape, and no tensor is empty.
static ufp4_status_t check_size(const safetensors_t *file, const safetensors_entry_t *entry,
                                ufp4_message_t *message) {
  const uint64_t bits = dtypes[entry->dtype].bits;
  uint64_t count = 1;
  char text[96];
  for (int i = 0; i < entry->dimensions; i++) {
    const uint64_t side = (uint64_t)entry->shape[i];
    if (side == 0) {
      ufp4_message_set(message, "%s:%s: it is empty (%s)", file->path, entry->name,
                       shape_text(entry, text));
      return UFP4_ERROR_FORMAT;
    }
    count = side > (8 * entry->bytes + 8) / count
                ? 0
                : count * side;  // longer than the data, so the exact product does not matter
    if (count == 0) break;
  }
  if (count != 0 && count * bits == 8 * entry->bytes) return UFP4_OK;
  ufp4_message_set(message, "%s:%s: %s elements of type %s do not match %llu bytes of data",
                   file->path, entry->name, shape_text(entry, text), entry->dtype_name,
                   (unsigned long long)entry->bytes);
  return UFP4_ERROR_FORMAT;
}

ufp4_status_t safetensors_entry(const safetensors_t *file, const char *name,
                                safetensors_entry_t *out, ufp4_message_t *message) {
  const json_t *entry = json_object_get(file->header, name);
  if (entry == NULL || strcmp(name, "__metadata__") == 0) return fail_missing(file, name, message);
  const char *dtype = json_string_value(json_object_get(entry, "dtype"));
  uint64_t end = 0;
  *out = (safetensors_entry_t){.name = name, .dtype_name = dtype};
  if (dtype == NULL) {
    ufp4_message_set(message, "%s:%s: its dtype is missing: a damaged header", file->path, name);
    return UFP4_ERROR_FORMAT;
  }
  out->dtype = dtype_of(dtype);
  entry_range(entry, &out->at, &end);
  out->bytes = end - out->at;
  ufp4_status_t status = read_shape(file, json_object_get(entry, "shape"), out, message);
  if (status != UFP4_OK || out->dimensions > SAFETENSORS_DIMENSIONS ||
      out->dtype == SAFETENSORS_OTHER)
    return status;
  return check_size(file, out, message);
}

ufp4_status_t safetensors_dimensions(const safetensors_t *file, const safetensors_entry_t *entry,
                                     int wanted, ufp4_message_t *message) {
  if (entry->dimensions == wanted) return UFP4_OK;
  ufp4_message_set(
      message, "%s:%s: it has %s%d dimension%s; %d are needed", file->path, entry->name,
      entry->dimensions > SAFETENSORS_DIMENSIONS ? "over " : "",
      entry->dimensions > SAFETENSORS_DIMENSIONS ? SAFETENSORS_DIMENSIONS : entry->dimensions,
      entry->dimensions == 1 ? "" : "s", wanted);
  return UFP4_ERROR_FORMAT;
}

ufp4_status_t safetensors_find(safetensors_t *file, const char *name, file_tensor_t *out,
                               ufp4_message_t *message) {
  static const file_dtype_t plain[SAFETENSORS_U8] = {[SAFETENSORS_F32] = FILE_F32,
                                                     [SAFETENSORS_F64] = FILE_F64,
                                                     [SAFETENSORS_F16] = FILE_F16,
                                                     [SAFETENSORS_BF16] = FILE_BF16,
                                                     [SAFETENSORS_I64] = FILE_I64};
  safetensors_entry_t entry;
  ufp4_status_t status = safetensors_entry(file, name, &entry, message);
  if (status != UFP4_OK) return status;
  if (entry.dtype >= SAFETENSORS_U8) {
    ufp4_message_set(message, "%s:%s: its element type is %s; F32, F16, BF16 or F64 is needed",
                     file->path, name, entry.dtype_name);
    return UFP4_ERROR_FORMAT;
  }
  status = safetensors_dimensions(file, &entry, 2, message);
  if (status != UFP4_OK) return status;
  *out =
      (file_tensor_t){plain[entry.dtype], entry.shape[0], entry.shape[1], entry.shape[1], 1, NULL};
  return safetensors_read(file, &entry, 0, entry.bytes, &out->data, message);
}

const char *safetensors_metadata(const safetensors_t *file, const char *key) {
  return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}
