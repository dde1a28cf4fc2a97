// SPDX-License-Identifier: Apache-2.0
// Reads the header of a .npy file (numpy.lib.format, versions 1 to 3): a Python dictionary of three
// entries.
#include <stdio.h>
#include <string.h>

#include "tensor/npy.h"

// A cursor on the dictionary's text; every read past the end gives 0.
typedef struct {
  const char *at;
  const char *end;
} text_t;

typedef struct {
  char descr[16];
  int has_descr, has_order, has_shape;
  int fortran_order;
  int dimensions;
  int64_t shape[2];
  char key[24];       // key of the entry that is being read
  const char *fault;  // error message
  int of_key;         // the error concerns that entry
} npy_header_t;

static int fail_header(npy_header_t *header, const char *fault) {
  header->fault = fault;
  return 0;
}

static int fail_entry(npy_header_t *header, const char *fault) {
  header->of_key = 1;
  return fail_header(header, fault);
}

static char peek(text_t *text) {
  while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t'))
    text->at++;
  return text->at < text->end ? *text->at : '\0';
}

static int take(text_t *text, char wanted) {
  if (peek(text) != wanted) return 0;
  text->at++;
  return 1;
}

static int take_word(text_t *text, const char *word) {
  size_t length = strlen(word);
  peek(text);
  if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0) return 0;
  text->at += length;
  return 1;
}

static int take_string(text_t *text, char *out, size_t size) {
  char quote = peek(text);
  if (quote != '\'' && quote != '"') return 0;
  text->at++;
  size_t length = 0;
  while (text->at < text->end && *text->at != quote) {
    if (length + 1 >= size || *text->at == '\\') return 0;
    out[length++] = *text->at++;
  }
  out[length] = '\0';
  return take(text, quote);
}

static int take_number(text_t *text, int64_t *out) {
  char digit = peek(text);
  if (digit < '0' || digit > '9') return 0;
  int64_t value = 0;
  while (text->at < text->end && *text->at >= '0' && *text->at <= '9') {
    if (value > INT64_MAX / 10 - 1) return 0;
    value = 10 * value + (*text->at++ - '0');
  }
  *out = value;
  return 1;
}

static int take_shape(text_t *text, npy_header_t *header) {
  if (!take(text, '(')) return 0;
  while (!take(text, ')')) {
    int64_t size;
    if (!take_number(text, &size)) return 0;
    if (header->dimensions < 2) header->shape[header->dimensions] = size;
    header->dimensions++;
    if (!take(text, ',') && peek(text) != ')') return 0;
  }
  return 1;
}

static int take_entry(text_t *text, npy_header_t *header) {
  const char *key = header->key;
  if (!take_string(text, header->key, sizeof header->key) || !take(text, ':')) {
    return fail_header(header, "an entry is not 'key': value");
  }
  if (strcmp(key, "descr") == 0 && !header->has_descr) {
    header->has_descr = 1;
    return take_string(text, header->descr, sizeof header->descr) ||
           fail_entry(header, "is not a short string");
  }
  if (strcmp(key, "fortran_order") == 0 && !header->has_order) {
    header->has_order = 1;
    header->fortran_order = take_word(text, "True");
    return header->fortran_order || take_word(text, "False") ||
           fail_entry(header, "is not True or False");
  }
  if (strcmp(key, "shape") != 0 || header->has_shape)
    return fail_entry(header, "is unknown or given twice");
  header->has_shape = 1;
  return take_shape(text, header) || fail_entry(header, "is not a tuple of whole numbers");
}

static int parse_dictionary(text_t *text, npy_header_t *header) {
  if (!take(text, '{')) return fail_header(header, "it is not a Python dictionary");
  while (!take(text, '}')) {
    if (!take_entry(text, header)) return 0;
    if (!take(text, ',') && peek(text) != '}')
      return fail_entry(header, "is not followed by a comma or '}'");
  }
  if (!header->has_descr) return fail_header(header, "'descr' is missing");
  if (!header->has_order) return fail_header(header, "'fortran_order' is missing");
  if (!header->has_shape) return fail_header(header, "'shape' is missing");
  if (peek(text) != '\0' || text->at != text->end)
    return fail_header(header, "there is more text after the dictionary");
  return 1;
}

static ufp4_status_t fail_dictionary(const char *path, const npy_header_t *header,
                                     ufp4_message_t *message) {
  const char *of = header->of_key ? header->key : "";
  ufp4_message_set(message,
                   "%s: invalid .npy header: %s%s%s%s; it must be {'descr': .., 'fortran_order': "
                   ".., 'shape': (rows, cols)}",
                   path, header->of_key ? "'" : "", of, header->of_key ? "' " : "", header->fault);
  return UFP4_ERROR_FORMAT;
}

// numpy shows ml_dtypes' bfloat16 as '<V2'.
static int dtype_of(const char *descr, int uint16_is_bf16, file_dtype_t *dtype) {
  static const struct {
    const char *descr;
    file_dtype_t dtype;
  } known[] = {{"<f4", FILE_F32},  {"<f8", FILE_F64},       {"<f2", FILE_F16}, {"<V2", FILE_BF16},
               {"|V2", FILE_BF16}, {"bfloat16", FILE_BF16}, {"<i8", FILE_I64}, {"<u2", FILE_BF16}};
  size_t count = sizeof known / sizeof known[0];
  if (!uint16_is_bf16) count--;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(descr, known[i].descr) != 0) continue;
    *dtype = known[i].dtype;
    return 1;
  }
  return 0;
}

static ufp4_status_t fail_dtype(const char *path, const char *descr, ufp4_message_t *message) {
  if (strcmp(descr, "<u2") == 0) {
    ufp4_message_set(message, "%s: its elements are uint16; give --bf16 if they are BF16 patterns",
                     path);
  } else if (descr[0] == '>') {
    ufp4_message_set(message, "%s: its elements are big-endian ('%s'); little-endian is needed",
                     path, descr);
  } else {
    ufp4_message_set(message,
                     "%s: its element type is '%s'; float32, float16, float64 or bfloat16 is "
                     "needed (for sums int64)",
                     path, descr);
  }
  return UFP4_ERROR_FORMAT;
}

static ufp4_status_t check_shape(const char *path, const npy_header_t *header,
                                 ufp4_message_t *message) {
  if (header->dimensions != 2) {
    ufp4_message_set(message, "%s: it has %d dimension%s; 2 are needed", path, header->dimensions,
                     header->dimensions == 1 ? "" : "s");
    return UFP4_ERROR_FORMAT;
  }
  if (header->shape[0] == 0 || header->shape[1] == 0) {
    ufp4_message_set(message, "%s: the tensor is empty (%lld x %lld)", path,
                     (long long)header->shape[0], (long long)header->shape[1]);
    return UFP4_ERROR_FORMAT;
  }
  return UFP4_OK;
}

int npy_begins(const uint8_t first[NPY_MAGIC_BYTES]) {
  return memcmp(first, "\x93NUMPY", NPY_MAGIC_BYTES) == 0;
}

// Finds the dictionary behind the magic, the version and its length.
static ufp4_status_t find_header(const char *path, const file_bytes_t *file, text_t *text,
                                 ufp4_message_t *message) {
  const uint8_t *bytes = file->data;
  if (file->size < 12 || !npy_begins(bytes)) {
    ufp4_message_set(
        message,
        "%s: not a .npy file; name a tensor of a .safetensors file as FILE.safetensors:NAME", path);
    return UFP4_ERROR_FORMAT;
  }
  if (bytes[6] < 1 || bytes[6] > 3) {
    ufp4_message_set(message, "%s: .npy version %d is not supported; 1 to 3 are", path, bytes[6]);
    return UFP4_ERROR_FORMAT;
  }
  size_t start = bytes[6] == 1 ? 10 : 12;
  size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (bytes[6] > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (length > file->size - start) {
    ufp4_message_set(message, "%s: truncated inside its header (%zu bytes)", path, file->size);
    return UFP4_ERROR_FORMAT;
  }
  text->at = (const char *)bytes + start;
  text->end = text->at + length;
  return UFP4_OK;
}

static ufp4_status_t check_size(const char *path, uint64_t have, const file_tensor_t *tensor,
                                ufp4_message_t *message) {
  uint64_t need;
  if (!file_tensor_bytes(tensor->dtype, tensor->rows, tensor->cols, &need)) {
    ufp4_message_set(message, "%s: a shape of %lld x %lld is too large", path,
                     (long long)tensor->rows, (long long)tensor->cols);
    return UFP4_ERROR_FORMAT;
  }
  if (have == need) return UFP4_OK;
  ufp4_message_set(message, "%s: %s: %llu bytes of data, but %lld x %lld elements need %llu", path,
                   have < need ? "truncated" : "extra bytes after the data",
                   (unsigned long long)have, (long long)tensor->rows, (long long)tensor->cols,
                   (unsigned long long)need);
  return UFP4_ERROR_FORMAT;
}

ufp4_status_t npy_parse(const char *path, const file_bytes_t *file, int uint16_is_bf16,
                        file_tensor_t *out, ufp4_message_t *message) {
  text_t text = {0};
  ufp4_status_t status = find_header(path, file, &text, message);
  if (status != UFP4_OK) return status;
  npy_header_t header = {0};
  if (!parse_dictionary(&text, &header)) return fail_dictionary(path, &header, message);
  if (!dtype_of(header.descr, uint16_is_bf16, &out->dtype))
    return fail_dtype(path, header.descr, message);
  status = check_shape(path, &header, message);
  if (status != UFP4_OK) return status;
  out->rows = header.shape[0];
  out->cols = header.shape[1];
  out->row_step = header.fortran_order ? 1 : out->cols;
  out->col_step = header.fortran_order ? out->rows : 1;
  out->data = (const uint8_t *)text.end;
  return check_size(path, file->size - (size_t)(out->data - file->data), out, message);
}
