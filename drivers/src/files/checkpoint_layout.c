// SPDX-License-Identifier: Apache-2.0
// The naming schemes of 4-bit layers by producer, and the detection of the producer of a
// checkpoint. All of them pack two E2M1 codes into a byte, the first in the low nibble, along the
// last axis of a weight [out][in].
//
// Sources: compressed-tensors 0.20.0 (compressors/nvfp4/base.py, compressors/mxfp4/base.py),
// nvidia-modelopt 0.47.0 (torch/export/quant_utils.py, torch/quantization/qtensor/), torchao 0.18.0
// (prototype/safetensors/, mx_formats/), transformers 5.24.0 (integrations/mxfp4.py) and
// openai/gpt-oss (gpt_oss/torch/weights.py).
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "checkpoint.h"

static const checkpoint_layout_t layouts[] = {
    {.maker = "compressed-tensors",
     .codes = ".weight_packed",
     .scales = ".weight_scale",
     .rule = CHECKPOINT_DIVIDES,
     .tensor_scale = ".weight_global_scale",
     .ignored = {".input_global_scale"},
     .refused = {".weight_zero_point", ".weight_g_idx"}},
    {.maker = "modelopt",
     .codes = ".weight",
     .scales = ".weight_scale",
     .rule = CHECKPOINT_MULTIPLIES,
     .tensor_scale = ".weight_scale_2",
     .ignored = {".input_scale", ".pre_quant_scale"}},
    {.maker = "torchao",
     .codes = "._weight_qdata",
     .scales = "._weight_scale",
     .rule = CHECKPOINT_MULTIPLIES_IF_THERE,
     .tensor_scale = "._weight_per_tensor_scale",
     .ignored = {"._weight_act_per_tensor_scale"}},
    {.maker = "mxfp4", .codes = "_blocks", .scales = "_scales"},  // gpt-oss
    {.maker = "mxfp4",
     .codes = ".blocks",
     .scales = ".scales"},  // gpt-oss as read by OpenAI's own code
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

// --- The maker ----------------------------------------------------------------------------------

#define MAKER_BYTES 64

static int made_by(const checkpoint_layout_t *layout, const char *maker) {
  return maker[0] == '\0' || strncmp(maker, layout->maker, strlen(layout->maker)) == 0;
}

static ufp4_status_t read_text(const checkpoint_t *checkpoint, const char *file, const char *object,
                               const char *key, char text[MAKER_BYTES], ufp4_message_t *message) {
  json_t *config;
  ufp4_status_t status = checkpoint_json(checkpoint, file, &config, message);
  const char *found = json_string_value(json_object_get(json_object_get(config, object), key));
  if (found != NULL) snprintf(text, MAKER_BYTES, "%s", found);
  json_decref(config);
  return status;
}

// Returns the producer, or an empty string if no file names it.
static ufp4_status_t find_maker(const checkpoint_t *checkpoint, char maker[MAKER_BYTES],
                                ufp4_message_t *message) {
  maker[0] = '\0';
  ufp4_status_t status =
      read_text(checkpoint, "config.json", "quantization_config", "quant_method", maker, message);
  if (status == UFP4_OK && maker[0] == '\0') {
    status = read_text(checkpoint, "hf_quant_config.json", "producer", "name", maker, message);
  }
  if (status != UFP4_OK) return status;
  for (int i = 0; i < LAYOUTS; i++) {
    if (made_by(&layouts[i], maker)) return UFP4_OK;
  }
  ufp4_message_set(message,
                   "%s: according to its configuration '%s' quantized it; only layers of "
                   "compressed-tensors, modelopt, torchao and mxfp4 can be read",
                   checkpoint->place, maker);
  return UFP4_ERROR_FORMAT;
}

// --- Layers that are there ----------------------------------------------------------------------

// Returns whether the tensors of a layer, named by @p length characters, follow this scheme.
static int is_named(const checkpoint_t *checkpoint, const checkpoint_layout_t *layout,
                    const char *layer, size_t length) {
  char name[CHECKPOINT_TEXT];
  const char *const endings[] = {layout->codes, layout->scales};
  for (int i = 0; i < 2; i++) {
    if (length + strlen(endings[i]) >= sizeof name) return 0;
    memcpy(name, layer, length);
    strcpy(name + length, endings[i]);
    if (!checkpoint_has(checkpoint, name)) return 0;
  }
  return 1;
}

// The edit distance: single characters to insert, delete or replace. Only the first 255 characters
// of each text count.
static int distance(const char *a, size_t a_length, const char *b) {
  int row[256];
  const size_t b_all = strlen(b), b_length = b_all < 255 ? b_all : 255;
  if (a_length > 255) a_length = 255;
  for (size_t j = 0; j <= b_length; j++) row[j] = (int)j;
  for (size_t i = 1; i <= a_length; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= b_length; j++) {
      const int replaced = diagonal + (a[i - 1] != b[j - 1]),
                other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      diagonal = row[j];
      row[j] = replaced < other ? replaced : other;
    }
  }
  return row[b_length];
}

/** The search for the layer name nearest to a missing one, for the message. */
typedef struct {
  int count;         // number of 4-bit layers
  const char *name;  // the nearest name is the beginning of this text..
  size_t length;     // ..of this length
  int distance;
} nearest_t;

static void consider(const checkpoint_t *checkpoint, const checkpoint_layout_t *layout,
                     const char *name, const char *layer, nearest_t *nearest) {
  const size_t length = strlen(name), ending = strlen(layout->codes);
  if (length <= ending || strcmp(name + length - ending, layout->codes) != 0) return;
  if (!is_named(checkpoint, layout, name, length - ending)) return;
  const int far = distance(name, length - ending, layer);
  if (nearest->count++ > 0 && far >= nearest->distance) return;
  nearest->name = name;
  nearest->length = length - ending;
  nearest->distance = far;
}

static nearest_t find_nearest(const checkpoint_t *checkpoint, const char *maker,
                              const char *layer) {
  nearest_t nearest = {0};
  json_t *names = (json_t *)(uintptr_t)checkpoint->names, *ignored;
  const char *name;
  json_object_foreach(names, name, ignored) {
    for (int i = 0; i < LAYOUTS; i++) {
      if (made_by(&layouts[i], maker)) consider(checkpoint, &layouts[i], name, layer, &nearest);
    }
  }
  return nearest;
}

static ufp4_status_t fail_layer(const checkpoint_t *checkpoint, const char *maker,
                                const char *layer, ufp4_message_t *message) {
  const nearest_t nearest = find_nearest(checkpoint, maker, layer);
  const int length = (int)nearest.length;
  const char *place = checkpoint->place;
  if (nearest.count == 0) {
    ufp4_message_set(
        message,
        "%s: it has no 4-bit layer%s%s; name a tensor that ufp4 quantize wrote without :LAYER",
        place, maker[0] != '\0' ? " under the names of " : "", maker);
  } else if (layer[0] == '\0') {
    ufp4_message_set(message,
                     "%s: name a layer, as %s:LAYER; it has %d layers in 4 bits, such as %.*s",
                     place, place, nearest.count, length, nearest.name);
  } else {
    ufp4_message_set(message,
                     "%s: it has no layer %s; the closest of its %d layers in 4 bits is %.*s",
                     place, layer, nearest.count, length, nearest.name);
  }
  return UFP4_ERROR_FORMAT;
}

// Reports a layer that is not in 4 bits, or is missing.
static ufp4_status_t fail_unnamed(checkpoint_t *checkpoint, const char *maker, const char *layer,
                                  ufp4_message_t *message) {
  char name[CHECKPOINT_TEXT];
  safetensors_t *file;
  safetensors_entry_t entry;
  if (snprintf(name, sizeof name, "%s.weight", layer) >= (int)sizeof name ||
      !checkpoint_has(checkpoint, name)) {
    return fail_layer(checkpoint, maker, layer, message);
  }
  ufp4_status_t status = checkpoint_entry(checkpoint, name, &file, &entry, message);
  if (status != UFP4_OK) return status;
  ufp4_message_set(message, "%s: layer %s is not quantized: the elements of %s are %s",
                   checkpoint->place, layer, name, entry.dtype_name);
  return UFP4_ERROR_FORMAT;
}

ufp4_status_t checkpoint_layout(checkpoint_t *checkpoint, const char *layer,
                                const checkpoint_layout_t **out, ufp4_message_t *message) {
  char maker[MAKER_BYTES];
  ufp4_status_t status = find_maker(checkpoint, maker, message);
  if (status != UFP4_OK) return status;
  for (int i = 0; i < LAYOUTS; i++) {
    *out = &layouts[i];
    if (made_by(*out, maker) && is_named(checkpoint, *out, layer, strlen(layer))) return UFP4_OK;
  }
  return fail_unnamed(checkpoint, maker, layer, message);
}
