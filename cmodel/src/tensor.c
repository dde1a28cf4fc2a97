// SPDX-License-Identifier: Apache-2.0
// Plain tensors: conversion of a file's elements, and .npy output.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_file.h"
#include "ufp4/format.h"

#define SUFFIX ".safetensors"
#define MAX_TENSOR_BYTES ((uint64_t)1 << 46)
#define HOST_IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

size_t file_dtype_bytes(file_dtype_t dtype) {
  static const uint8_t bytes[] = {
      [FILE_F32] = 4, [FILE_F64] = 8, [FILE_F16] = 2, [FILE_BF16] = 2, [FILE_I64] = 8, [FILE_U8] = 1};
  return bytes[dtype];
}

int file_tensor_bytes(file_dtype_t dtype, int64_t rows, int64_t cols, uint64_t *bytes) {
  if (rows < 1 || cols < 1) return 0;
  uint64_t limit = MAX_TENSOR_BYTES / file_dtype_bytes(dtype);
  if ((uint64_t)rows > limit || (uint64_t)cols > limit / (uint64_t)rows) return 0;
  *bytes = (uint64_t)rows * (uint64_t)cols * file_dtype_bytes(dtype);
  return 1;
}

void ufp4_tensor_free(ufp4_tensor_t *tensor) {
  free(tensor->data);
  *tensor = (ufp4_tensor_t){0};
}

// --- Elements ------------------------------------------------------------------------------------------

// Exact: a binary16 subnormal is a small integer times 2^-24.
static float f16_value(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023u;
  if (exponent == 31) return ufp4_f32_value(sign | 0x7F800000u | fraction << 13);
  if (exponent != 0) return ufp4_f32_value(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = (float)fraction * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

static float element_f32(file_dtype_t dtype, const uint8_t *at) {
  if (dtype == FILE_F16) {
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return f16_value(bits);
  }
  if (dtype == FILE_F64) {
    double wide;
    memcpy(&wide, at, sizeof wide);
    return (float)wide;  // the one rounding: nearest even
  }
  float value;
  memcpy(&value, at, sizeof value);
  return value;
}

static ufp4_dtype_t dtype_in_memory(file_dtype_t dtype) {
  return dtype == FILE_BF16 ? UFP4_DTYPE_BF16 : dtype == FILE_I64 ? UFP4_DTYPE_I64 : UFP4_DTYPE_F32;
}

// Files are little-endian: an element of one as the host has it, or the other way round; in @p swapped where that
// differs.
static const uint8_t *host_order(const uint8_t *at, size_t size, uint8_t swapped[8]) {
  if (HOST_IS_LITTLE) return at;
  for (size_t i = 0; i < size; i++) swapped[i] = at[size - 1 - i];
  return swapped;
}

static void convert_element(const file_tensor_t *in, const uint8_t *at, void *out, int64_t index) {
  if (in->dtype == FILE_BF16) {
    memcpy((uint16_t *)out + index, at, sizeof(uint16_t));
  } else if (in->dtype == FILE_I64) {
    memcpy((int64_t *)out + index, at, sizeof(int64_t));
  } else {
    ((float *)out)[index] = element_f32(in->dtype, at);
  }
}

static ufp4_status_t convert(const file_tensor_t *in, const char *path, ufp4_tensor_t *out, ufp4_message_t *message) {
  static const size_t bytes[] = {[UFP4_DTYPE_F32] = 4, [UFP4_DTYPE_BF16] = 2, [UFP4_DTYPE_I64] = 8};
  ufp4_dtype_t dtype = dtype_in_memory(in->dtype);
  void *data = malloc(ufp4_matrix_bytes(in->rows, in->cols, bytes[dtype]));
  if (data == NULL) {
    ufp4_message_set(message, "%s: does not fit in memory", path);
    return UFP4_ERROR_MEMORY;
  }
  size_t size = file_dtype_bytes(in->dtype);
  for (int64_t r = 0; r < in->rows; r++) {
    for (int64_t c = 0; c < in->cols; c++) {
      uint8_t swapped[8];
      const uint8_t *at = in->data + (size_t)(r * in->row_step + c * in->col_step) * size;
      convert_element(in, host_order(at, size, swapped), data, r * in->cols + c);
    }
  }
  *out = (ufp4_tensor_t){{dtype, in->rows, in->cols, in->cols, data}, data};
  return UFP4_OK;
}

// --- Reading -------------------------------------------------------------------------------------------

static ufp4_status_t read_safetensors(const char *path, size_t file_length, ufp4_tensor_t *out,
                                      ufp4_message_t *message) {
  char *file_path = strndup(path, file_length);
  if (file_path == NULL) {
    ufp4_message_set(message, "%s: the host is out of memory", path);
    return UFP4_ERROR_MEMORY;
  }
  const char *name = path[file_length] == ':' ? path + file_length + 1 : "";
  safetensors_t file;
  file_tensor_t found;
  ufp4_status_t status = safetensors_open(file_path, &file, message);
  if (status == UFP4_OK) {
    status = safetensors_find(&file, name, &found, message);
    if (status == UFP4_OK && found.dtype == FILE_U8) {
      ufp4_message_set(message, "%s: its element type is U8; F32, F16, BF16 or F64 is needed", path);
      status = UFP4_ERROR_FORMAT;
    }
    if (status == UFP4_OK) status = convert(&found, path, out, message);
    safetensors_close(&file);
  }
  free(file_path);
  return status;
}

// All of the file, but of one that is no .npy, which may be larger than the memory, its beginning only.
static ufp4_status_t read_npy_bytes(const file_ranges_t *file, file_bytes_t *out, ufp4_message_t *message) {
  uint8_t first[NPY_MAGIC_BYTES] = {0};
  out->size = ufp4_matrix_bytes((int64_t)file->size, 1, 1);
  if (file->size >= sizeof first) {
    ufp4_status_t status = file_range_read(file, 0, sizeof first, first, message);
    if (status != UFP4_OK) return status;
    if (!npy_begins(first)) out->size = sizeof first;
  }
  out->data = malloc(out->size + 1);
  if (out->data != NULL) return file_range_read(file, 0, out->size, out->data, message);
  ufp4_message_set(message, "%s: does not fit in memory", file->path);
  return UFP4_ERROR_MEMORY;
}

static ufp4_status_t read_npy(const char *path, int uint16_is_bf16, ufp4_tensor_t *out, ufp4_message_t *message) {
  file_ranges_t file;
  file_bytes_t bytes = {0};
  file_tensor_t found;
  ufp4_status_t status = file_ranges_open(path, &file, message);
  if (status != UFP4_OK) return status;
  status = read_npy_bytes(&file, &bytes, message);
  file_ranges_close(&file);
  if (status == UFP4_OK) status = npy_parse(path, &bytes, uint16_is_bf16, &found, message);
  if (status == UFP4_OK) status = convert(&found, path, out, message);
  free(bytes.data);
  return status;
}

// Characters of the file's name in FILE.safetensors[:NAME]; 0 if the path is none.
static size_t safetensors_length(const char *path) {
  const char *found = strstr(path, SUFFIX ":");
  if (found != NULL) return (size_t)(found - path) + strlen(SUFFIX);
  size_t length = strlen(path), suffix = strlen(SUFFIX);
  return length > suffix && strcmp(path + length - suffix, SUFFIX) == 0 ? length : 0;
}

ufp4_status_t ufp4_tensor_read(const char *path, int uint16_is_bf16, ufp4_tensor_t *out, ufp4_message_t *message) {
  *out = (ufp4_tensor_t){0};
  size_t file_length = safetensors_length(path);
  return file_length != 0 ? read_safetensors(path, file_length, out, message)
                          : read_npy(path, uint16_is_bf16, out, message);
}

// --- Writing -------------------------------------------------------------------------------------------

// The version 1.0 header, padded so that the data starts on a multiple of 64.
static size_t npy_header(const char *descr, int64_t rows, int64_t cols, char out[192]) {
  static const size_t fixed = 10;
  int length = snprintf(out + fixed, 192 - fixed, "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %lld), }",
                        descr, (long long)rows, (long long)cols);
  size_t total = (fixed + (size_t)length + 1 + 63) / 64 * 64;
  memset(out + fixed + length, ' ', total - fixed - (size_t)length);
  out[total - 1] = '\n';
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  out[8] = (char)((total - fixed) & 255);
  out[9] = (char)((total - fixed) >> 8);
  return total;
}

static ufp4_status_t write_npy(const char *path, const char *descr, int64_t rows, int64_t cols, const void *data,
                               size_t element_bytes, ufp4_message_t *message) {
  char header[192];
  file_part_t parts[2] = {{header, npy_header(descr, rows, cols, header)},
                          {data, (size_t)(rows * cols) * element_bytes}};
  return file_write(path, parts, 2, message);
}

ufp4_status_t ufp4_tensor_write(const char *path, const ufp4_matrix_t *matrix, ufp4_message_t *message) {
  static const struct {
    const char *descr;
    size_t bytes;
  } types[] = {[UFP4_DTYPE_F32] = {"<f4", 4}, [UFP4_DTYPE_BF16] = {"<u2", 2}, [UFP4_DTYPE_I64] = {"<i8", 8}};
  size_t element = types[matrix->dtype].bytes, row = (size_t)matrix->cols * element;
  uint8_t *dense = malloc(ufp4_matrix_bytes(matrix->rows, matrix->cols, element));
  if (dense == NULL) {
    ufp4_message_set(message, "%s: the host is out of memory", path);
    return UFP4_ERROR_MEMORY;
  }
  for (int64_t r = 0; r < matrix->rows; r++) {
    memcpy(dense + (size_t)r * row, (const uint8_t *)matrix->data + (size_t)(r * matrix->ld) * element, row);
  }
  for (int64_t i = 0; !HOST_IS_LITTLE && i < matrix->rows * matrix->cols; i++) {
    uint8_t swapped[8], *at = dense + (size_t)i * element;
    memcpy(at, host_order(at, element, swapped), element);
  }
  ufp4_status_t status =
      write_npy(path, types[matrix->dtype].descr, matrix->rows, matrix->cols, dense, element, message);
  free(dense);
  return status;
}

ufp4_status_t ufp4_tensor_write_u8(const char *path, const uint8_t *data, int64_t rows, int64_t cols,
                                   ufp4_message_t *message) {
  return write_npy(path, "|u1", rows, cols, data, 1, message);
}
