// SPDX-License-Identifier: Apache-2.0
// Converts a layer of a checkpoint to an operand: codes, scales in row order, and the tensor scale.
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "operand_shared.h"
#include "ufp4/format.h"

/** A layer and its tensors. */
typedef struct {
  checkpoint_t *checkpoint;
  const checkpoint_layout_t *layout;
  char name[CHECKPOINT_TEXT];  // DIR_OR_FILE:LAYER, as in messages
  char layer[CHECKPOINT_TEXT];
  int64_t expert;  // -1: none given
  ufp4_message_t *message;
} layer_t;

typedef struct {
  char name[CHECKPOINT_TEXT];
  safetensors_t *file;
  safetensors_entry_t entry;
} tensor_t;

// --- Tensors ------------------------------------------------------------------------------------

static ufp4_status_t fail(const layer_t *layer, const char *why) {
  ufp4_message_set(layer->message, "%s: %s", layer->name, why);
  return UFP4_ERROR_FORMAT;
}

// Makes the name of a tensor; returns 0 if it does not exist.
static int name_tensor(const layer_t *layer, const char *ending, char name[CHECKPOINT_TEXT]) {
  if (ending == NULL ||
      snprintf(name, CHECKPOINT_TEXT, "%s%s", layer->layer, ending) >= CHECKPOINT_TEXT)
    return 0;
  return checkpoint_has(layer->checkpoint, name);
}

// Finds a tensor; @p accepted has a bit for each accepted type, and @p wanted has their names.
static ufp4_status_t find_tensor(const layer_t *layer, const char *ending, unsigned accepted,
                                 const char *wanted, tensor_t *out) {
  if (!name_tensor(layer, ending, out->name)) {
    ufp4_message_set(layer->message, "%s: tensor %s%s is missing", layer->name, layer->layer,
                     ending);
    return UFP4_ERROR_FORMAT;
  }
  ufp4_status_t status =
      checkpoint_entry(layer->checkpoint, out->name, &out->file, &out->entry, layer->message);
  if (status != UFP4_OK) return status;
  if (accepted >> out->entry.dtype & 1) return UFP4_OK;
  ufp4_message_set(layer->message, "%s: the elements of %s are %s; %s is needed", layer->name,
                   out->name, out->entry.dtype_name, wanted);
  return UFP4_ERROR_FORMAT;
}

// --- Shapes -------------------------------------------------------------------------------------

/** Sizes derived from the shapes of codes and scales. */
typedef struct {
  ufp4_scale_t scale;
  int64_t experts;  // 0: the tensors hold one weight
  int64_t rows, cols, groups;
  int64_t scale_rows, scale_cols;  // of one weight, in the file
  int swizzled;
} shape_t;

static int64_t divided_up(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

static ufp4_status_t fail_shape(const layer_t *layer, const shape_t *shape) {
  ufp4_message_set(layer->message,
                   "%s: %lld x %lld codes do not match %lld x %lld scales; %lld x %lld scales are "
                   "needed, or swizzled %lld x %lld",
                   layer->name, (long long)shape->rows, (long long)shape->cols,
                   (long long)shape->scale_rows, (long long)shape->scale_cols,
                   (long long)shape->rows, (long long)shape->groups,
                   (long long)(32 * divided_up(shape->rows, 128)),
                   (long long)(16 * divided_up(shape->groups, 4)));
  return UFP4_ERROR_FORMAT;
}

static ufp4_status_t check_scales(const layer_t *layer, shape_t *shape) {
  shape->groups = divided_up(shape->cols, ufp4_scale_block(shape->scale));
  if (shape->scale_rows == shape->rows && shape->scale_cols == shape->groups) return UFP4_OK;
  shape->swizzled = 1;
  if (shape->scale_rows != 32 * divided_up(shape->rows, 128)) return fail_shape(layer, shape);
  return shape->scale_cols == 16 * divided_up(shape->groups, 4) ? UFP4_OK
                                                                : fail_shape(layer, shape);
}

// Scales are [rows][groups], for experts [experts][rows][groups]. Codes have the same shape, except
// that the last dimension counts the bytes of the weight's columns, two to a byte, or that the
// bytes of a group follow as another dimension.
static ufp4_status_t find_shape(const layer_t *layer, const safetensors_entry_t *codes,
                                const safetensors_entry_t *scales, shape_t *shape) {
  const int first = scales->dimensions - 2;
  if (first < 0 || first > 1 || codes->dimensions < first + 2 || codes->dimensions > first + 3) {
    ufp4_message_set(layer->message,
                     "%s: codes of %d dimensions do not match scales of %d dimensions", layer->name,
                     codes->dimensions, scales->dimensions);
    return UFP4_ERROR_FORMAT;
  }
  shape->scale = scales->dtype == SAFETENSORS_F8_E4M3 ? UFP4_SCALE_NVFP4 : UFP4_SCALE_E8M0;
  shape->experts = first == 1 ? scales->shape[0] : 0;
  shape->rows = codes->shape[first];
  shape->cols = codes->dtype == SAFETENSORS_F4 ? 1 : 2;
  for (int i = first + 1; i < codes->dimensions; i++) shape->cols *= codes->shape[i];
  shape->scale_rows = scales->shape[first];
  shape->scale_cols = scales->shape[first + 1];
  if (shape->cols % 2 != 0)
    return fail(layer, "the number of columns is odd; 4-bit codes need an even one");
  if (first == 1 && codes->shape[0] != shape->experts)
    return fail(layer, "codes and scales have different numbers of experts");
  ufp4_status_t status = check_scales(layer, shape);
  // The bytes of a group must be the last dimension.
  if (status == UFP4_OK && shape->scale == UFP4_SCALE_E8M0 && codes->dimensions == first + 3 &&
      codes->shape[first + 1] != shape->scale_cols) {
    return fail(layer, "codes and scales have different numbers of blocks");
  }
  return status;
}

static ufp4_status_t check_expert(const layer_t *layer, const shape_t *shape) {
  const long long experts = shape->experts;
  if (experts == 0 && layer->expert < 0) return UFP4_OK;
  if (experts == 0) return fail(layer, "this layer has no experts; leave out the number after it");
  if (layer->expert >= 0 && layer->expert < experts) return UFP4_OK;
  ufp4_message_set(layer->message, "%s: it has %lld experts; name one, as LAYER:0 to LAYER:%lld",
                   layer->name, experts, experts - 1);
  return UFP4_ERROR_FORMAT;
}

// --- Contents -----------------------------------------------------------------------------------

// Selects the part of a tensor that belongs to the weight: all of it, or one expert's.
static ufp4_status_t read_part(const layer_t *layer, const tensor_t *tensor, const shape_t *shape,
                               const uint8_t **data) {
  const uint64_t parts = shape->experts == 0 ? 1 : (uint64_t)shape->experts,
                 bytes = tensor->entry.bytes / parts;
  const uint64_t at = shape->experts == 0 ? 0 : bytes * (uint64_t)layer->expert;
  return safetensors_read(tensor->file, &tensor->entry, at, bytes, data, layer->message);
}

static void copy_codes(const shape_t *shape, const uint8_t *from, ufp4_operand_t *out) {
  const size_t bytes = (size_t)(shape->cols / 2);
  for (int64_t r = 0; r < out->rows; r++)
    memcpy(out->codes + r * out->blocks * 8, from + (size_t)r * bytes, bytes);
}

// Undoes swizzling: scales are in padded tiles of 128 rows and 4 groups, and row r of a tile is
// quarter r / 32 of the 16 bytes number r % 32 (docs.nvidia.com/cuda/cublas, "1D Block Scaling
// Factors Layout").
static int64_t scale_place(const shape_t *shape, int64_t r, int64_t g) {
  if (!shape->swizzled) return r * shape->groups + g;
  const int64_t tile = r / 128 * divided_up(shape->groups, 4) + g / 4;
  return tile * 512 + r % 32 * 16 + r % 128 / 32 * 4 + g % 4;
}

static ufp4_status_t copy_scales(const layer_t *layer, const shape_t *shape, const uint8_t *from,
                                 ufp4_operand_t *out) {
  for (int64_t r = 0; r < out->rows; r++) {
    for (int64_t g = 0; g < out->scale_blocks; g++) {
      out->scales[r * out->scale_blocks + g] = from[scale_place(shape, r, g)];
    }
  }
  if (shape->scale != UFP4_SCALE_NVFP4 || operand_signs_clear(out)) return UFP4_OK;
  return fail(layer, "a scale is negative");
}

static ufp4_status_t read_one_float(const layer_t *layer, const tensor_t *tensor, float *value) {
  const uint8_t *data;
  if (tensor->entry.bytes != sizeof *value) {
    ufp4_message_set(layer->message, "%s: %s holds %llu numbers; 1 is needed", layer->name,
                     tensor->name, (unsigned long long)tensor->entry.bytes / sizeof *value);
    return UFP4_ERROR_FORMAT;
  }
  ufp4_status_t status =
      safetensors_read(tensor->file, &tensor->entry, 0, sizeof *value, &data, layer->message);
  if (status == UFP4_OK) memcpy(value, data, sizeof *value);
  return status;
}

// The division rounds once, to the nearest reciprocal.
static ufp4_status_t read_tensor_scale(const layer_t *layer, const shape_t *shape, float *scale) {
  const checkpoint_layout_t *layout = layer->layout;
  tensor_t tensor;
  const int there = name_tensor(layer, layout->tensor_scale, tensor.name);
  *scale = 1.0f;
  if (shape->scale == UFP4_SCALE_E8M0) {
    return there ? fail(layer, "it has a tensor scale, which E8M0 scales cannot have") : UFP4_OK;
  }
  if (layout->rule == CHECKPOINT_NO_TENSOR_SCALE)
    return fail(layer, "its scales are F8_E4M3; U8 is needed");
  if (!there && layout->rule == CHECKPOINT_MULTIPLIES_IF_THERE) return UFP4_OK;
  ufp4_status_t status =
      find_tensor(layer, layout->tensor_scale, 1u << SAFETENSORS_F32, "F32", &tensor);
  if (status == UFP4_OK) status = read_one_float(layer, &tensor, scale);
  if (status != UFP4_OK) return status;
  if (layout->rule == CHECKPOINT_DIVIDES) *scale = 1.0f / *scale;
  return *scale > 0.0f && *scale <= FLT_MAX
             ? UFP4_OK
             : fail(layer, "its tensor scale is not a finite number above 0");
}

static ufp4_status_t fill(const layer_t *layer, const tensor_t *codes, const tensor_t *scales,
                          const shape_t *shape, ufp4_operand_t *out) {
  const uint8_t *data;
  ufp4_status_t status = read_tensor_scale(layer, shape, &out->tensor_scale);
  if (status == UFP4_OK) status = read_part(layer, codes, shape, &data);
  if (status != UFP4_OK) return status;
  copy_codes(shape, data, out);
  status = read_part(layer, scales, shape, &data);
  return status == UFP4_OK ? copy_scales(layer, shape, data, out) : status;
}

static ufp4_status_t read_layer(const layer_t *layer, ufp4_operand_t *out) {
  const unsigned bytes = 1u << SAFETENSORS_U8;
  tensor_t codes, scales;
  shape_t shape = {0};
  ufp4_status_t status =
      find_tensor(layer, layer->layout->codes, bytes | 1u << SAFETENSORS_F4, "U8 or F4", &codes);
  if (status == UFP4_OK) {
    status = find_tensor(layer, layer->layout->scales,
                         bytes | 1u << SAFETENSORS_F8_E4M3 | 1u << SAFETENSORS_F8_E8M0,
                         "F8_E4M3 (NVFP4), F8_E8M0 or U8 (MXFP4)", &scales);
  }
  if (status == UFP4_OK) status = find_shape(layer, &codes.entry, &scales.entry, &shape);
  if (status == UFP4_OK) status = check_expert(layer, &shape);
  if (status != UFP4_OK) return status;
  status = ufp4_operand_create_scaled(UFP4_ELEM_E2M1, shape.scale, shape.rows, shape.cols, out);
  if (status != UFP4_OK) {
    operand_not_created(layer->name, shape.rows, shape.cols, status, layer->message);
    return status;
  }
  status = fill(layer, &codes, &scales, &shape, out);
  if (status != UFP4_OK) ufp4_operand_free(out);
  return status;
}

// --- The layer ----------------------------------------------------------------------------------

static ufp4_status_t check_refused(const layer_t *layer) {
  char name[CHECKPOINT_TEXT];
  for (int i = 0; i < 2; i++) {
    if (!name_tensor(layer, layer->layout->refused[i], name)) continue;
    ufp4_message_set(layer->message, "%s: it has %s, which changes the values and is not supported",
                     layer->name, name);
    return UFP4_ERROR_FORMAT;
  }
  return UFP4_OK;
}

// Lists the ignored tensors in the message, although the call succeeds.
static void note_ignored(const layer_t *layer) {
  char name[CHECKPOINT_TEXT], all[2 * CHECKPOINT_TEXT] = "";
  for (int i = 0; i < 2; i++) {
    if (!name_tensor(layer, layer->layout->ignored[i], name)) continue;
    const size_t used = strlen(all);
    snprintf(all + used, sizeof all - used, "%s%s", used == 0 ? "" : " and ", name);
  }
  if (all[0] != '\0')
    ufp4_message_set(layer->message, "%s: ignored, for activations: %s", layer->name, all);
}

// Splits LAYER:EXPERT if the part behind the last colon is a number.
static int split_layer(const char *text, layer_t *layer) {
  const char *colon = strrchr(text, ':');
  size_t length = strlen(text);
  layer->expert = -1;
  if (colon != NULL && colon[1] != '\0' && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
    layer->expert = strlen(colon + 1) < 10 ? strtol(colon + 1, NULL, 10) : INT64_MAX;
    length = (size_t)(colon - text);
  }
  if (length >= sizeof layer->layer) return 0;
  memcpy(layer->layer, text, length);
  layer->layer[length] = '\0';
  return 1;
}

ufp4_status_t checkpoint_operand_read(const char *path, size_t length, ufp4_operand_t *out,
                                      ufp4_quantize_t *how, ufp4_message_t *message) {
  checkpoint_t checkpoint;
  layer_t layer = {.checkpoint = &checkpoint, .message = message};
  snprintf(layer.name, sizeof layer.name, "%s", path);
  if (!split_layer(path[length] == ':' ? path + length + 1 : "", &layer))
    return fail(&layer, "the name is too long");
  ufp4_status_t status = checkpoint_open(path, length, &checkpoint, message);
  if (status != UFP4_OK) return status;
  status = checkpoint_layout(&checkpoint, layer.layer, &layer.layout, message);
  if (status == UFP4_OK) status = check_refused(&layer);
  if (status == UFP4_OK) status = read_layer(&layer, out);
  if (status == UFP4_OK) {
    note_ignored(&layer);
    how->elem = out->elem;
    how->scale = out->scale;
    how->scale_round = out->scale == UFP4_SCALE_E8M0 ? UFP4_SCALE_ROUND_DOWN : UFP4_SCALE_ROUND_RNE;
  }
  checkpoint_close(&checkpoint);
  return status;
}
