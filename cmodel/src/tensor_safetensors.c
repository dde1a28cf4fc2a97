// SPDX-License-Identifier: Apache-2.0
// .safetensors: a 64-bit length, that many bytes of JSON, and the data (github.com/huggingface/safetensors).
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_file.h"

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

// "data_offsets": [begin, end], inside the data.
static int entry_range(const json_t *entry, uint64_t limit, uint64_t *begin, uint64_t *end) {
  const json_t *offsets = json_object_get(entry, "data_offsets");
  const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
  if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(last)) return 0;
  json_int_t from = json_integer_value(first), to = json_integer_value(last);
  if (from < 0 || to < from || (uint64_t)to > limit) return 0;
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

// The format demands that the tensors fill the data, one after the other; what is shorter was cut off.
static ufp4_status_t check_places(const safetensors_t *file, range_t *ranges, size_t count, ufp4_message_t *message) {
  uint64_t at = 0;
  qsort(ranges, count, sizeof *ranges, by_place);
  for (size_t i = 0; i < count; i++) {
    if (ranges[i].begin < at) return fail(file, message, "its tensors overlap");
    if (ranges[i].begin > at) break;
    at = ranges[i].end;
  }
  return at == file->data_bytes ? UFP4_OK : fail(file, message, "bytes that belong to no tensor");
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
    if (!entry_range(entry, file->data_bytes, &ranges[count].begin, &ranges[count].end)) {
      ufp4_message_set(message, "%s: tensor %s lies outside the file's data: truncated, or a damaged header",
                       file->path, name);
      status = UFP4_ERROR_FORMAT;
      break;
    }
    count++;
  }
  if (status == UFP4_OK) status = check_places(file, ranges, count, message);
  free(ranges);
  return status;
}

static ufp4_status_t parse(safetensors_t *file, const char *text, uint64_t length, ufp4_message_t *message) {
  json_error_t error = {0};
  file->header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &error);
  // Where an allocation of its own fails, jansson gives this code or none.
  enum json_error_code code = file->header == NULL ? json_error_code(&error) : json_error_invalid_syntax;
  if (code == json_error_out_of_memory || code == json_error_unknown) {
    ufp4_message_set(message, "%s: its header does not fit in memory", file->path);
    return UFP4_ERROR_MEMORY;
  }
  if (!json_is_object(file->header)) {
    ufp4_message_set(message, "%s: its header is no JSON object: %s", file->path, error.text);
    return UFP4_ERROR_FORMAT;
  }
  return check_entries(file, message);
}

static ufp4_status_t read_header(safetensors_t *file, ufp4_message_t *message) {
  uint8_t first[8] = {0};
  if (file->file.size < 8) return fail(file, message, "truncated: a .safetensors starts with 8 bytes of length");
  ufp4_status_t status = file_range_read(&file->file, 0, 8, first, message);
  if (status != UFP4_OK) return status;
  uint64_t length = read_u64(first);
  if (memcmp(first, "\x93NUMPY", 6) == 0) return fail(file, message, "it is a .npy; a .safetensors is needed");
  if (length > MAX_HEADER_BYTES) return fail(file, message, "its header is over 100 MB, or it is no .safetensors");
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

static ufp4_status_t read_part(safetensors_t *file, uint64_t begin, uint64_t bytes, const uint8_t **data,
                               ufp4_message_t *message) {
  safetensors_part_t *part = malloc(sizeof *part + ufp4_matrix_bytes((int64_t)bytes, 1, 1));
  if (part == NULL) {
    ufp4_message_set(message, "%s: does not fit in memory", file->path);
    return UFP4_ERROR_MEMORY;
  }
  part->next = file->parts;
  file->parts = part;
  *data = part->bytes;
  return file_range_read(&file->file, file->data_at + begin, bytes, part->bytes, message);
}

static int dtype_of(const char *text, file_dtype_t *dtype) {
  static const struct {
    const char *text;
    file_dtype_t dtype;
  } known[] = {{"F32", FILE_F32},   {"F64", FILE_F64}, {"F16", FILE_F16},
               {"BF16", FILE_BF16}, {"I64", FILE_I64}, {"U8", FILE_U8}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (text == NULL || strcmp(text, known[i].text) != 0) continue;
    *dtype = known[i].dtype;
    return 1;
  }
  return 0;
}

// As many names as have room, and "..." for the others.
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

static ufp4_status_t fail_missing(const safetensors_t *file, const char *name, ufp4_message_t *message) {
  char names[256];
  list_names(file, names);
  const char *has = names[0] != '\0' ? names : "none";
  if (name[0] != '\0') {
    ufp4_message_set(message, "%s: it has no tensor %s; it has %s", file->path, name, has);
  } else {
    ufp4_message_set(message, "%s: a tensor of it is needed, as FILE.safetensors:NAME; it has %s", file->path, has);
  }
  return UFP4_ERROR_FORMAT;
}

ufp4_status_t safetensors_find(safetensors_t *file, const char *name, file_tensor_t *out, ufp4_message_t *message) {
  const json_t *entry = json_object_get(file->header, name);
  if (entry == NULL || strcmp(name, "__metadata__") == 0) return fail_missing(file, name, message);
  const char *dtype = json_string_value(json_object_get(entry, "dtype"));
  const json_t *shape = json_object_get(entry, "shape");
  if (!dtype_of(dtype, &out->dtype)) {
    ufp4_message_set(message, "%s:%s: its element type is %s; F32, F16, BF16 or F64 is needed (codes and scales: U8)",
                     file->path, name, dtype != NULL ? dtype : "missing");
    return UFP4_ERROR_FORMAT;
  }
  if (json_array_size(shape) != 2 || !json_is_integer(json_array_get(shape, 0)) ||
      !json_is_integer(json_array_get(shape, 1))) {
    ufp4_message_set(message, "%s:%s: it has %zu dimension%s; 2 are needed", file->path, name, json_array_size(shape),
                     json_array_size(shape) == 1 ? "" : "s");
    return UFP4_ERROR_FORMAT;
  }
  out->rows = json_integer_value(json_array_get(shape, 0));
  out->cols = json_integer_value(json_array_get(shape, 1));
  out->row_step = out->cols;
  out->col_step = 1;
  uint64_t begin = 0, end = 0, bytes = 0;
  entry_range(entry, file->data_bytes, &begin, &end);
  if (!file_tensor_bytes(out->dtype, out->rows, out->cols, &bytes) || bytes != end - begin) {
    ufp4_message_set(message, "%s:%s: a shape of %lld x %lld does not go with %llu bytes of data, or is empty",
                     file->path, name, (long long)out->rows, (long long)out->cols, (unsigned long long)(end - begin));
    return UFP4_ERROR_FORMAT;
  }
  return read_part(file, begin, bytes, &out->data, message);
}

const char *safetensors_metadata(const safetensors_t *file, const char *key) {
  return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}
