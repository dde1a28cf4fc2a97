// SPDX-License-Identifier: Apache-2.0
// Reads quantized operands from .safetensors of format "ufp4-1": codes, scales, and metadata
// strings.
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "checkpoint.h"
#include "operand_shared.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"
#include "ufp4_file.h"

// --- Metadata -----------------------------------------------------------------------------------

typedef struct {
  safetensors_t *file;
  ufp4_message_t *message;
} reader_t;

static ufp4_status_t fail_value(const reader_t *reader, const char *key, const char *text,
                                const char *wanted) {
  ufp4_message_set(reader->message, "%s: metadata %s is '%s'; %s is needed", reader->file->path,
                   key, text, wanted);
  return UFP4_ERROR_FORMAT;
}

// Looks up a metadata value in a list of names; without a value *out is unchanged.
static ufp4_status_t read_name(const reader_t *reader, const char *key, const char *const *names,
                               int count, int *value) {
  const char *text = safetensors_metadata(reader->file, key);
  if (text == NULL) return UFP4_OK;
  const unsigned found = names_find(text, strlen(text), names, (unsigned)count);
  if (found < (unsigned)count) {
    *value = (int)found;
    return UFP4_OK;
  }
  char wanted[64] = "";
  for (int i = 0; i < count; i++) {
    const size_t used = strlen(wanted);
    snprintf(wanted + used, sizeof wanted - used, "%s%s",
             i == 0           ? ""
             : i == count - 1 ? " or "
                              : ", ",
             names[i]);
  }
  return fail_value(reader, key, text, wanted);
}

static ufp4_status_t read_number(const reader_t *reader, const char *key, int64_t low, int64_t high,
                                 int64_t *value) {
  const char *text = safetensors_metadata(reader->file, key);
  if (text == NULL) return UFP4_OK;
  char *end;
  errno = 0;
  long long parsed = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || parsed < low || parsed > high) {
    char wanted[64];
    snprintf(wanted, sizeof wanted,
             low == high ? "%" PRId64 : "a number from %" PRId64 " to %" PRId64, low, high);
    return fail_value(reader, key, text, wanted);
  }
  *value = parsed;
  return UFP4_OK;
}

static ufp4_status_t read_u64(const reader_t *reader, const char *key, uint64_t *value) {
  const char *text = safetensors_metadata(reader->file, key);
  if (text == NULL) return UFP4_OK;
  char *end;
  errno = 0;
  unsigned long long parsed = strtoull(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
    return fail_value(reader, key, text, "a number");
  *value = parsed;
  return UFP4_OK;
}

static ufp4_status_t read_rht(const reader_t *reader, ufp4_quantize_t *how) {
  const char *text = safetensors_metadata(reader->file, "rht");
  if (text == NULL || strcmp(text, "none") == 0) return UFP4_OK;
  int64_t points = 16;
  ufp4_status_t status = read_number(reader, "rht_size", 16, 64, &points);
  if (status != UFP4_OK) return status;
  int bf16 = strncmp(text, "bf16:", 5) == 0;
  const char *digits = bf16 ? text + 5 : text;
  char *end;
  errno = 0;
  const uint64_t mask = strtoull(digits, &end, 16);
  if (end == digits || *end != '\0' || errno != 0 || mask >> (points - 1) > 1 || digits[0] == '-') {
    return fail_value(
        reader, "rht", text,
        "none, a mask in hex of rht_size bits (16 by default), or bf16: followed by such a mask");
  }
  how->rht = bf16 ? UFP4_RHT_BF16 : UFP4_RHT_INTEGER;
  how->rht_size = (int)points;
  how->rht_mask = mask;
  return UFP4_OK;
}

// Reads Sd of NVFP4; with other scale formats the value must be 1. read_exponent reads t of E4M3.
static ufp4_status_t read_tensor_scale(const reader_t *reader, ufp4_scale_t scale, float *value) {
  const char *text = safetensors_metadata(reader->file, "tensor_scale");
  *value = 1.0f;
  if (text == NULL) return UFP4_OK;
  char *end;
  float parsed = strtof(text, &end);
  if (end == text || *end != '\0' || !(parsed > 0.0f && parsed <= FLT_MAX)) {
    return fail_value(reader, "tensor_scale", text, "a finite number above 0");
  }
  if (scale != UFP4_SCALE_NVFP4 && parsed != 1.0f) {
    return fail_value(reader, "tensor_scale", text, "1 (only scale nvfp4 has a tensor scale)");
  }
  *value = parsed;
  return UFP4_OK;
}

static ufp4_status_t read_exponent(const reader_t *reader, ufp4_quantize_t *how) {
  const char *text = safetensors_metadata(reader->file, "tensor_exponent");
  int64_t exponent = 0;
  ufp4_status_t status = read_number(reader, "tensor_exponent", INT16_MIN, INT16_MAX, &exponent);
  if (status != UFP4_OK) return status;
  if (how->scale != UFP4_SCALE_E4M3 && exponent != 0) {
    return fail_value(reader, "tensor_exponent", text, "0 (only scale e4m3 has a tensor exponent)");
  }
  how->exponent_given = how->scale == UFP4_SCALE_E4M3;
  how->exponent = (int)exponent;
  return UFP4_OK;
}

static ufp4_status_t read_flags(const reader_t *reader, unsigned *flags) {
  const char *text = safetensors_metadata(reader->file, "flags");
  if (text == NULL) return UFP4_OK;
  if (strstr(text, "nan") != NULL) *flags |= UFP4_FLAG_NAN;
  if (strstr(text, "saturated") != NULL) *flags |= UFP4_FLAG_ROW_SATURATED;
  return UFP4_OK;
}

static ufp4_status_t demand(const reader_t *reader, const char *key) {
  if (safetensors_metadata(reader->file, key) != NULL) return UFP4_OK;
  ufp4_message_set(reader->message,
                   "%s: metadata %s is missing; elem, scale and block are needed (of a checkpoint, "
                   "name a layer as FILE:LAYER)",
                   reader->file->path, key);
  return UFP4_ERROR_FORMAT;
}

// Reads the metadata that determine how the tensors are read.
static ufp4_status_t read_format(const reader_t *reader, ufp4_quantize_t *how) {
  static const char *const formats[] = {"ufp4-1"};
  int index = 0, scale = 0;
  ufp4_status_t status = demand(reader, "scale");
  if (status == UFP4_OK) status = demand(reader, "elem");
  if (status == UFP4_OK) status = demand(reader, "block");
  if (status == UFP4_OK) status = read_name(reader, "format", formats, 1, &index);
  if (status == UFP4_OK) status = read_name(reader, "scale", scale_names, UFP4_SCALE_COUNT, &scale);
  how->scale = (ufp4_scale_t)scale;
  int64_t block = ufp4_scale_block(how->scale);
  const int64_t most = how->scale == UFP4_SCALE_E4M3 ? 128 : block;
  if (status == UFP4_OK) status = read_number(reader, "block", block, most, &block);
  how->block = (int)block;
  if (status == UFP4_OK) status = read_name(reader, "elem", elem_names, UFP4_ELEM_KINDS, &index);
  how->elem = (ufp4_elem_t)index;
  return status == UFP4_OK ? read_rht(reader, how) : status;
}

static ufp4_status_t read_history(const reader_t *reader, ufp4_quantize_t *how) {
  int axis = 0, round = 0;
  int scale_round = how->scale == UFP4_SCALE_E8M0 ? UFP4_SCALE_ROUND_DOWN : UFP4_SCALE_ROUND_RNE;
  ufp4_status_t status = read_name(reader, "axis", axis_names, 2, &axis);
  if (status == UFP4_OK) status = read_name(reader, "round", round_names, UFP4_ROUND_COUNT, &round);
  if (status == UFP4_OK) {
    status =
        read_name(reader, "scale_round", scale_round_names, UFP4_SCALE_ROUND_COUNT, &scale_round);
  }
  if (status == UFP4_OK) status = read_u64(reader, "seed", &how->seed);
  if (status == UFP4_OK) status = read_u64(reader, "tensor_id", &how->tensor_id);
  if (status == UFP4_OK) status = read_exponent(reader, how);
  how->axis = (ufp4_axis_t)axis;
  how->round = (ufp4_round_t)round;
  how->scale_round = (ufp4_scale_round_t)scale_round;
  return status;
}

static ufp4_status_t check_combination(const reader_t *reader, const ufp4_quantize_t *how) {
  ufp4_message_t why;
  if (ufp4_combination_quantize(how, 0, NULL, &why) == UFP4_OK) return UFP4_OK;
  ufp4_message_set(reader->message, "%s: metadata: %s", reader->file->path, why.text);
  return UFP4_ERROR_FORMAT;
}

// --- Codes and scales ---------------------------------------------------------------------------

// A 2-D tensor in memory.
typedef struct {
  safetensors_dtype_t dtype;
  int64_t rows, cols;
  const uint8_t *data;
} part_t;

typedef struct {
  part_t codes, scales;
  int64_t cols;    // logical k
  int64_t stored;  // columns in the file
  int packed;
  int block;
} layout_t;

// Formats the shape in the metadata, " (metadata: rows 3, cols 17)", or nothing.
static void tell_metadata(const reader_t *reader, char told[128]) {
  static const char *const keys[] = {"rows", "cols", "rht", "rht_size"};
  size_t used = 0;
  told[0] = '\0';
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    const char *text = safetensors_metadata(reader->file, keys[i]);
    if (text == NULL) continue;
    snprintf(told + used, 127 - used, "%s%s %.20s", used == 0 ? " (metadata: " : ", ", keys[i],
             text);
    used = strlen(told);
  }
  if (used != 0) strcpy(told + used, ")");
}

static ufp4_status_t fail_shape(const reader_t *reader, const layout_t *layout) {
  char told[128];
  tell_metadata(reader, told);
  ufp4_message_set(reader->message,
                   "%s: codes of %lld x %lld do not match scales of %lld x %lld%s; codes are "
                   "[rows][cols], or packed [rows][ceil(cols/2)], and scales [rows][ceil(cols/%d)]",
                   reader->file->path, (long long)layout->codes.rows, (long long)layout->codes.cols,
                   (long long)layout->scales.rows, (long long)layout->scales.cols, told,
                   layout->block);
  return UFP4_ERROR_FORMAT;
}

// Codes are stored one per byte, or two per byte (F4). Without cols in the metadata only the number
// of scales distinguishes the two; if both fit (up to half a block of bytes per row), codes are one
// per byte.
static ufp4_status_t find_layout(const reader_t *reader, const ufp4_quantize_t *how,
                                 layout_t *layout) {
  int64_t width = layout->codes.cols, blocks = layout->scales.cols, rows = layout->codes.rows;
  if (layout->scales.rows != rows) return fail_shape(reader, layout);
  if (safetensors_metadata(reader->file, "cols") == NULL) {
    layout->packed =
        layout->codes.dtype == SAFETENSORS_F4 || (width - 1) / layout->block + 1 != blocks;
    layout->stored = layout->packed ? 2 * width : width;
    layout->cols = layout->stored;
  } else {
    ufp4_status_t status = read_number(reader, "cols", 1, INT64_MAX / 4, &layout->cols);
    if (status != UFP4_OK) return status;
    layout->stored = operand_stored_cols(layout->cols, how->rht);
    // With one column the code is in the low nibble of both packed and unpacked bytes; in a packed
    // byte the other nibble is padding.
    layout->packed =
        layout->codes.dtype == SAFETENSORS_F4 || layout->stored != width || layout->stored == 1;
  }
  int64_t needed = layout->packed ? (layout->stored + 1) / 2 : layout->stored;
  if (needed != width || (layout->stored - 1) / layout->block + 1 != blocks)
    return fail_shape(reader, layout);
  const int points = ufp4_how_points(how);
  if (how->rht && (points > 16 ? layout->cols : layout->stored) % points != 0)
    return fail_shape(reader, layout);
  int64_t named_rows = rows;
  ufp4_status_t status = read_number(reader, "rows", 1, INT64_MAX / 4, &named_rows);
  if (status != UFP4_OK) return status;
  return named_rows == rows ? UFP4_OK : fail_shape(reader, layout);
}

static int copy_codes(const layout_t *layout, ufp4_operand_t *out) {
  for (int64_t r = 0; r < out->rows; r++) {
    const uint8_t *from = layout->codes.data + r * layout->codes.cols;
    uint8_t *to = out->codes + r * out->blocks * 8;
    for (int64_t c = 0; c < layout->stored; c++) {
      unsigned code = layout->packed ? (unsigned)from[c / 2] >> (c % 2 * 4) & 15u : from[c];
      if (code > 15) return 0;
      to[c / 2] = (uint8_t)(to[c / 2] | code << (c % 2 * 4));
    }
  }
  return 1;
}

// FP32 scales must not be negative or infinite; every NaN becomes the same one.
static int copy_f32_scales(const layout_t *layout, ufp4_operand_t *out) {
  int good = 1;
  for (int64_t i = 0; i < out->rows * out->scale_blocks; i++) {
    float value;
    memcpy(&value, layout->scales.data + 4 * i, sizeof value);
    good &= !(value < 0.0f || value > FLT_MAX);
    out->scales_f32[i] = value != value ? ufp4_f32_value(UFP4_F32_NAN) : value;
  }
  return good;
}

static ufp4_status_t copy_scales(const reader_t *reader, const layout_t *layout,
                                 ufp4_operand_t *out) {
  if (out->scales_f32 == NULL) {
    memcpy(out->scales, layout->scales.data, (size_t)(out->rows * out->scale_blocks));
    if (layout->scales.dtype != SAFETENSORS_F8_E4M3 || operand_signs_clear(out)) return UFP4_OK;
    ufp4_message_set(reader->message, "%s: a scale is negative", reader->file->path);
    return UFP4_ERROR_FORMAT;
  }
  if (copy_f32_scales(layout, out)) return UFP4_OK;
  ufp4_message_set(reader->message,
                   "%s: a scale is negative or infinite; it must be a number from 0 up, or NaN",
                   reader->file->path);
  return UFP4_ERROR_FORMAT;
}

static ufp4_status_t fill_operand(const reader_t *reader, const layout_t *layout,
                                  const ufp4_quantize_t *how, ufp4_operand_t *out) {
  out->exponent = how->exponent;
  out->half = ufp4_how_points(how) == 32;
  ufp4_status_t status = read_tensor_scale(reader, how->scale, &out->tensor_scale);
  if (status == UFP4_OK) status = copy_scales(reader, layout, out);
  if (status != UFP4_OK) return status;
  if (copy_codes(layout, out)) return read_flags(reader, &out->flags);
  ufp4_message_set(reader->message,
                   "%s: a code is greater than 15, although there is one code per byte; if two are "
                   "packed in each byte, metadata cols is missing",
                   reader->file->path);
  return UFP4_ERROR_FORMAT;
}

static ufp4_status_t copy_tensors(const reader_t *reader, const layout_t *layout,
                                  const ufp4_quantize_t *how, ufp4_operand_t *out) {
  ufp4_status_t status = ufp4_operand_create_blocks(how->elem, how->scale, layout->block,
                                                    layout->codes.rows, layout->cols, out);
  if (status != UFP4_OK) {
    operand_not_created(reader->file->path, layout->codes.rows, layout->cols, status,
                        reader->message);
    return status;
  }
  status = fill_operand(reader, layout, how, out);
  if (status != UFP4_OK) ufp4_operand_free(out);
  return status;
}

// Finds a tensor; @p accepted has a bit for each accepted type, and @p wanted has their names.
static ufp4_status_t find_part(const reader_t *reader, const char *name, unsigned accepted,
                               const char *wanted, part_t *out) {
  safetensors_entry_t entry;
  ufp4_status_t status = safetensors_entry(reader->file, name, &entry, reader->message);
  if (status != UFP4_OK) return status;
  if ((accepted >> entry.dtype & 1) == 0) {
    ufp4_message_set(reader->message, "%s:%s: its element type is %s; %s is needed",
                     reader->file->path, name, entry.dtype_name, wanted);
    return UFP4_ERROR_FORMAT;
  }
  status = safetensors_dimensions(reader->file, &entry, 2, reader->message);
  if (status != UFP4_OK) return status;
  *out = (part_t){entry.dtype, entry.shape[0], entry.shape[1], NULL};
  return safetensors_read(reader->file, &entry, 0, entry.bytes, &out->data, reader->message);
}

// The codes' columns become bytes.
static ufp4_status_t check_f4(const reader_t *reader, const ufp4_quantize_t *how, part_t *codes) {
  if (codes->dtype != SAFETENSORS_F4) return UFP4_OK;
  if (how->elem != UFP4_ELEM_E2M1 || codes->cols % 2 != 0) {
    ufp4_message_set(reader->message,
                     "%s:codes: type F4 needs elem e2m1 and an even number of columns; here they "
                     "are %s and %lld",
                     reader->file->path, elem_names[how->elem], (long long)codes->cols);
    return UFP4_ERROR_FORMAT;
  }
  codes->cols /= 2;
  return UFP4_OK;
}

static ufp4_status_t find_tensors(const reader_t *reader, const ufp4_quantize_t *how,
                                  layout_t *layout) {
  static const struct {
    unsigned accepted;
    const char *wanted;
  } scales[UFP4_SCALE_COUNT] = {
      [UFP4_SCALE_E4M3] = {1u << SAFETENSORS_U8 | 1u << SAFETENSORS_F8_E4M3, "U8 or F8_E4M3"},
      [UFP4_SCALE_NVFP4] = {1u << SAFETENSORS_U8 | 1u << SAFETENSORS_F8_E4M3, "U8 or F8_E4M3"},
      [UFP4_SCALE_E8M0] = {1u << SAFETENSORS_U8 | 1u << SAFETENSORS_F8_E8M0, "U8 or F8_E8M0"},
      [UFP4_SCALE_FP32] = {1u << SAFETENSORS_F32, "F32"},
  };
  layout->block = ufp4_how_block(how);
  const unsigned codes = 1u << SAFETENSORS_U8 | 1u << SAFETENSORS_F4;
  ufp4_status_t status = find_part(reader, "codes", codes, "U8 or F4", &layout->codes);
  if (status == UFP4_OK) status = check_f4(reader, how, &layout->codes);
  if (status != UFP4_OK) return status;
  return find_part(reader, "scales", scales[how->scale].accepted, scales[how->scale].wanted,
                   &layout->scales);
}

static ufp4_status_t read_file(const char *path, ufp4_operand_t *out, ufp4_quantize_t *how,
                               ufp4_message_t *message) {
  safetensors_t file;
  layout_t layout = {0};
  ufp4_status_t status = safetensors_open(path, &file, message);
  if (status != UFP4_OK) return status;
  reader_t reader = {&file, message};
  status = read_format(&reader, how);
  if (status == UFP4_OK) status = read_history(&reader, how);
  if (status == UFP4_OK) status = check_combination(&reader, how);
  if (status == UFP4_OK) status = find_tensors(&reader, how, &layout);
  if (status == UFP4_OK) status = find_layout(&reader, how, &layout);
  if (status == UFP4_OK) status = copy_tensors(&reader, &layout, how, out);
  safetensors_close(&file);
  return status;
}

ufp4_status_t ufp4_operand_read(const char *path, ufp4_operand_t *out, ufp4_quantize_t *how,
                                ufp4_message_t *message) {
  *out = (ufp4_operand_t){0};
  *how = (ufp4_quantize_t){0};
  ufp4_message_set(message, "%s", "");
  const size_t checkpoint = checkpoint_length(path);
  return checkpoint != 0 ? checkpoint_operand_read(path, checkpoint, out, how, message)
                         : read_file(path, out, how, message);
}
