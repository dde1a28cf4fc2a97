// SPDX-License-Identifier: Apache-2.0
#include "tensor/convert.h"

#include <stdlib.h>
#include <string.h>

#include "ufp4/format.h"

// Exact, because a binary16 subnormal is a small integer times 2^-24.
static float f16_value(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = bits >> 10 & 31,
           fraction = bits & 1023u;
  if (exponent == 31) return ufp4_f32_value(sign | 0x7F800000u | fraction << 13);
  if (exponent != 0) return ufp4_f32_value(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = (float)fraction * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

static float element_f32(file_dtype_t dtype, const uint8_t *place) {
  if (dtype == FILE_F16) {
    uint16_t bits;
    memcpy(&bits, place, sizeof bits);
    return f16_value(bits);
  }
  if (dtype == FILE_F64) {
    double wide;
    memcpy(&wide, place, sizeof wide);
    return (float)wide;  // the one rounding: nearest even
  }
  float value;
  memcpy(&value, place, sizeof value);
  return value;
}

static ufp4_dtype_t dtype_in_memory(file_dtype_t dtype) {
  return dtype == FILE_BF16 ? UFP4_DTYPE_BF16 : dtype == FILE_I64 ? UFP4_DTYPE_I64 : UFP4_DTYPE_F32;
}

static void convert_element(const file_tensor_t *in, const uint8_t *place, void *out,
                            int64_t index) {
  if (in->dtype == FILE_BF16) {
    memcpy((uint16_t *)out + index, place, sizeof(uint16_t));
  } else if (in->dtype == FILE_I64) {
    memcpy((int64_t *)out + index, place, sizeof(int64_t));
  } else {
    ((float *)out)[index] = element_f32(in->dtype, place);
  }
}

ufp4_status_t file_tensor_convert(const file_tensor_t *in, const char *path, ufp4_tensor_t *out,
                                  ufp4_message_t *message) {
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
      convert_element(in, file_host_order(at, size, swapped), data, r * in->cols + c);
    }
  }
  *out = (ufp4_tensor_t){{dtype, in->rows, in->cols, in->cols, data}, data};
  return UFP4_OK;
}
