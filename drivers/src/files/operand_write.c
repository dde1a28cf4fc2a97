// SPDX-License-Identifier: Apache-2.0
// Writes quantized operands to .safetensors of format "ufp4-1".
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "operand_shared.h"
#include "safetensors.h"
#include "ufp4/format.h"
#include "ufp4_file.h"

// A JSON object, and whether all insertions have succeeded.
typedef struct {
  json_t *object;
  int complete;
} entries_t;

// Inserts a value, which is NULL if memory is exhausted, and takes ownership of it.
static void put(entries_t *entries, const char *key, json_t *value) {
  if (json_object_set_new(entries->object, key, value) != 0) entries->complete = 0;
}

static void put_signed(entries_t *entries, const char *key, int64_t value) {
  put(entries, key, json_sprintf("%" PRId64, value));
}

static void put_unsigned(entries_t *entries, const char *key, uint64_t value) {
  put(entries, key, json_sprintf("%" PRIu64, value));
}

static json_t *make_rht(const ufp4_quantize_t *how) {
  if (how->rht == UFP4_RHT_NONE) return json_string("none");
  return json_sprintf("%s0x%0*" PRIX64, how->rht == UFP4_RHT_BF16 ? "bf16:" : "",
                      ufp4_how_points(how) / 4, how->rht_mask);
}

static json_t *make_flags(unsigned flags) {
  int nan = (flags & UFP4_FLAG_NAN) != 0, saturated = (flags & UFP4_FLAG_ROW_SATURATED) != 0;
  return json_sprintf("%s%s%s", nan ? "nan" : "", nan && saturated ? "," : "",
                      saturated ? "saturated" : "");
}

// Returns the object, or NULL if an insertion has failed.
static json_t *finished(const entries_t *entries) {
  if (entries->complete) return entries->object;
  json_decref(entries->object);
  return NULL;
}

static json_t *make_metadata(const ufp4_operand_t *operand, const ufp4_quantize_t *how) {
  entries_t out = {json_object(), 1};
  put(&out, "format", json_string("ufp4-1"));
  put(&out, "elem", json_string(elem_names[operand->elem]));
  put(&out, "scale", json_string(scale_names[operand->scale]));
  put_signed(&out, "block", operand->block);
  put(&out, "axis", json_string(axis_names[how->axis]));
  put(&out, "rht", make_rht(how));
  if (ufp4_how_points(how) > 16) put_signed(&out, "rht_size", how->rht_size);
  put(&out, "round", json_string(round_names[how->round]));
  put(&out, "scale_round", json_string(scale_round_names[how->scale_round]));
  put_unsigned(&out, "seed", how->seed);
  put_unsigned(&out, "tensor_id", how->tensor_id);
  if (operand->scale == UFP4_SCALE_NVFP4) {
    put(&out, "tensor_scale", json_sprintf("%.9g", (double)operand->tensor_scale));
  } else {
    put_signed(&out, "tensor_exponent", operand->exponent);
  }
  put_signed(&out, "rows", operand->rows);
  put_signed(&out, "cols", operand->cols);
  put(&out, "flags", make_flags(operand->flags));
  return finished(&out);
}

static json_t *make_entry(const char *dtype, int64_t rows, int64_t cols, int64_t begin,
                          int64_t bytes) {
  return json_pack("{s:s, s:[I,I], s:[I,I]}", "dtype", dtype, "shape", (json_int_t)rows,
                   (json_int_t)cols, "data_offsets", (json_int_t)begin,
                   (json_int_t)(begin + bytes));
}

// FP32 scales come first, so that they are aligned to 4 bytes.
static json_t *make_entries(const ufp4_operand_t *operand, const ufp4_quantize_t *how,
                            int64_t width) {
  int f32 = operand->scales_f32 != NULL;
  int64_t codes = operand->rows * width,
          scales = operand->rows * operand->scale_blocks * (f32 ? 4 : 1);
  entries_t out = {json_object(), 1};
  put(&out, "__metadata__", make_metadata(operand, how));
  put(&out, "codes", make_entry("U8", operand->rows, width, f32 ? scales : 0, codes));
  put(&out, "scales",
      make_entry(f32 ? "F32" : "U8", operand->rows, operand->scale_blocks, f32 ? 0 : codes,
                 scales));
  return finished(&out);
}

static uint8_t *make_codes(const ufp4_operand_t *operand, int64_t stored, int packed,
                           int64_t width) {
  uint8_t *out = calloc((size_t)operand->rows, (size_t)width);
  if (out == NULL) return NULL;
  for (int64_t r = 0; r < operand->rows; r++) {
    const uint8_t *from = operand->codes + r * operand->blocks * 8;
    uint8_t *to = out + r * width;
    for (int64_t c = 0; c < stored; c++) {
      unsigned code = (unsigned)from[c / 2] >> (c % 2 * 4) & 15u;
      int64_t at = packed ? c / 2 : c;
      to[at] = (uint8_t)(to[at] | code << (packed ? c % 2 * 4 : 0));
    }
  }
  return out;
}

ufp4_status_t ufp4_operand_write(const char *path, const ufp4_operand_t *operand,
                                 const ufp4_quantize_t *how, int packed, ufp4_message_t *message) {
  int64_t stored = operand_stored_cols(operand->cols, how->rht),
          width = packed ? (stored + 1) / 2 : stored;
  json_t *header = make_entries(operand, how, width);
  uint8_t *codes = make_codes(operand, stored, packed, width);
  ufp4_status_t status = UFP4_ERROR_MEMORY;
  if (header == NULL || codes == NULL) {
    ufp4_message_set(message, "%s: the host is out of memory", path);
  } else {
    const size_t scales = (size_t)(operand->rows * operand->scale_blocks);
    const file_part_t body = {codes, (size_t)(operand->rows * width)};
    const file_part_t bytes[2] = {body, {operand->scales, scales}};
    const file_part_t floats[2] = {{operand->scales_f32, 4 * scales}, body};
    status =
        safetensors_write(path, header, operand->scales_f32 != NULL ? floats : bytes, 2, message);
  }
  json_decref(header);
  free(codes);
  return status;
}
