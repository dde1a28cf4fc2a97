// SPDX-License-Identifier: Apache-2.0
#include "checkpoint.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "files/safetensors.h"
#include "train/learn/trainer_state.h"

#define FORMAT "ufp4-train-1"
#define LONGEST 60  // characters of a setting in a message

enum { LOSSES, WEIGHTS, FIRST, SECOND, PARTS };
static const char *const names[PARTS] = {"losses", "weights", "first_moment", "second_moment"};
static const safetensors_dtype_t dtypes[PARTS] = {SAFETENSORS_F64, SAFETENSORS_F32, SAFETENSORS_F32,
                                                  SAFETENSORS_F32};

// Lists the data of a trainer after @p step steps, in the order of the file.
static void list_parts(const ufp4_trainer_t *t, const double *losses, int64_t step,
                       file_part_t parts[PARTS]) {
  const size_t bytes = (size_t)t->weights.count * sizeof(float);
  parts[LOSSES] = (file_part_t){losses, (size_t)step * sizeof(double)};
  parts[WEIGHTS] = (file_part_t){t->weights.all, bytes};
  for (int i = 0; i < 2; i++) parts[FIRST + i] = (file_part_t){t->moment[i], bytes};
}

static uint32_t checksum(const file_part_t parts[PARTS]) {
  uLong crc = crc32_z(0, NULL, 0);
  for (int i = 0; i < PARTS; i++) {
    if (parts[i].size != 0) crc = crc32_z(crc, parts[i].data, parts[i].size);
  }
  return (uint32_t)crc;
}

static ufp4_status_t fail_memory(const char *path, ufp4_message_t *message) {
  ufp4_message_set(message, "%s: the host is out of memory", path);
  return UFP4_ERROR_MEMORY;
}

// --- What was trained ---------------------------------------------------------------------------

static json_t *recipe_settings(const ufp4_recipe_t *recipe) {
  char *text = ufp4_recipe_text(recipe);
  json_t *settings = text != NULL ? json_string(text) : NULL;
  free(text);
  return settings;
}

// JSON cannot hold a name that is not UTF-8; the settings distinguish such recipes.
static json_t *recipe_name(const ufp4_recipe_t *recipe) {
  json_t *name = json_string(recipe->name);
  return name != NULL ? name : json_string("?");
}

// Length and checksum identify the text.
static json_t *text_settings(const ufp4_text_t *text) {
  uLong crc = crc32_z(0, NULL, 0);
  if (text->train_bytes != 0) crc = crc32_z(crc, text->train, (size_t)text->train_bytes);
  return json_sprintf("%" PRId64 " bytes to train on, checksum %08lx", text->train_bytes, crc);
}

// Returns the settings that must be equal to continue a training run, as metadata strings; NULL if
// memory is exhausted. The keys are the options of the command train.
static json_t *describe(const ufp4_trainer_t *t) {
  const ufp4_trainer_options_t *o = &t->options;
  return json_pack(
      "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "format", FORMAT,
      "d-model", json_sprintf("%" PRId64, o->shape.d_model), "heads",
      json_sprintf("%" PRId64, o->shape.heads), "layers", json_sprintf("%" PRId64, o->shape.blocks),
      "ff", json_sprintf("%" PRId64, o->shape.ff), "context",
      json_sprintf("%" PRId64, o->shape.context), "batch", json_sprintf("%" PRId64, o->batch),
      "steps", json_sprintf("%" PRId64, o->steps), "lr", json_sprintf("%.9g", (double)o->rate),
      "seed", json_sprintf("%" PRIu64, o->seed), "text", text_settings(t->text), "perturbation",
      json_sprintf("%.9g", (double)o->perturbation), "recipe",
      t->plain ? json_string("none") : recipe_name(&t->recipe), "settings",
      t->plain ? json_string("none") : recipe_settings(&t->recipe));
}

// --- Writing ------------------------------------------------------------------------------------

static json_t *make_entry(int part, size_t begin, size_t bytes) {
  const size_t width = dtypes[part] == SAFETENSORS_F64 ? sizeof(double) : sizeof(float);
  return json_pack("{s:s, s:[I], s:[I,I]}", "dtype", width == sizeof(double) ? "F64" : "F32",
                   "shape", (json_int_t)(bytes / width), "data_offsets", (json_int_t)begin,
                   (json_int_t)(begin + bytes));
}

// Returns NULL if memory is exhausted. Empty tensors, such as the losses of no steps, are left out.
static json_t *make_header(const ufp4_trainer_t *t, const file_part_t parts[PARTS]) {
  json_t *header = json_object(), *metadata = describe(t);
  int bad = json_object_set_new(metadata, "step", json_sprintf("%" PRId64, t->step));
  bad |= json_object_set_new(metadata, "crc32", json_sprintf("%08" PRIx32, checksum(parts)));
  bad |= json_object_set_new(header, "__metadata__", metadata);
  size_t at = 0;
  for (int i = 0; i < PARTS; i++) {
    if (parts[i].size != 0)
      bad |= json_object_set_new(header, names[i], make_entry(i, at, parts[i].size));
    at += parts[i].size;
  }
  if (!bad) return header;
  json_decref(header);
  return NULL;
}

ufp4_status_t ufp4_trainer_save(const ufp4_trainer_t *trainer, const double *losses,
                                const char *path, ufp4_message_t *message) {
  file_part_t parts[PARTS];
  list_parts(trainer, losses, trainer->step, parts);
  json_t *header = make_header(trainer, parts);
  if (header == NULL) return fail_memory(path, message);
  ufp4_status_t status = safetensors_write(path, header, parts, PARTS, message);
  json_decref(header);
  return status;
}

// --- Reading ------------------------------------------------------------------------------------

static ufp4_status_t fail_damaged(const char *path, const char *why, ufp4_message_t *message) {
  ufp4_message_set(message, "%s: %s: the checkpoint is damaged", path, why);
  return UFP4_ERROR_FORMAT;
}

static int of_the_recipe(const char *key) {
  return strcmp(key, "recipe") == 0 || strcmp(key, "settings") == 0 ||
         strcmp(key, "perturbation") == 0;
}

// Checks that a checkpoint has the settings of the trainer. @p branch: the recipe may differ.
static ufp4_status_t check_settings(const safetensors_t *file, const ufp4_trainer_t *t, int branch,
                                    ufp4_message_t *message) {
  json_t *wanted = describe(t), *value;
  const char *key;
  ufp4_status_t status = wanted != NULL ? UFP4_OK : fail_memory(file->path, message);
  json_object_foreach(wanted, key, value) {
    const char *want = json_string_value(value), *got = safetensors_metadata(file, key);
    if ((branch && of_the_recipe(key)) || (got != NULL && strcmp(got, want) == 0)) continue;
    if (strlen(want) > LONGEST) {
      ufp4_message_set(message, "%s: this checkpoint is of another training: its %s differ",
                       file->path, key);
    } else {
      ufp4_message_set(message, "%s: a checkpoint of this training has the %s '%s', not '%s'",
                       file->path, key, want, got != NULL ? got : "");
    }
    status = UFP4_ERROR_FORMAT;
    break;
  }
  json_decref(wanted);
  return status;
}

// Reads the number of steps taken; -1 if it is invalid.
static int64_t read_step(const safetensors_t *file, int64_t steps) {
  const char *text = safetensors_metadata(file, "step");
  char *end;
  if (text == NULL || text[0] < '0' || text[0] > '9') return -1;
  const intmax_t step = strtoimax(text, &end, 10);
  return *end == '\0' && step <= steps ? step : -1;
}

// Finds a tensor with the length of @p part; its data are valid until the file is closed.
static ufp4_status_t read_part(safetensors_t *file, int i, file_part_t *part,
                               ufp4_message_t *message) {
  safetensors_entry_t entry;
  const uint8_t *data;
  ufp4_status_t status = safetensors_entry(file, names[i], &entry, message);
  if (status != UFP4_OK) return status;
  if (entry.dtype != dtypes[i] || entry.bytes != part->size)
    return fail_damaged(file->path, "a tensor does not have the length that its settings give",
                        message);
  status = safetensors_read(file, &entry, 0, entry.bytes, &data, message);
  part->data = data;
  return status;
}

static ufp4_status_t read_parts(safetensors_t *file, file_part_t parts[PARTS],
                                ufp4_message_t *message) {
  for (int i = 0; i < PARTS; i++) {
    if (parts[i].size == 0) continue;
    ufp4_status_t status = read_part(file, i, &parts[i], message);
    if (status != UFP4_OK) return status;
  }
  char want[16];
  snprintf(want, sizeof want, "%08" PRIx32, checksum(parts));
  const char *got = safetensors_metadata(file, "crc32");
  return got != NULL && strcmp(got, want) == 0
             ? UFP4_OK
             : fail_damaged(file->path, "its data do not match its checksum", message);
}

static void take(ufp4_trainer_t *t, double *losses, int64_t step, const file_part_t parts[PARTS]) {
  void *const to[PARTS] = {losses, t->weights.all, t->moment[0], t->moment[1]};
  for (int i = 0; i < PARTS; i++) {
    if (parts[i].size != 0) memcpy(to[i], parts[i].data, parts[i].size);
  }
  t->step = step;
}

static ufp4_status_t restore(ufp4_trainer_t *t, double *losses, const char *path, int branch,
                             ufp4_message_t *message) {
  safetensors_t file;
  file_part_t parts[PARTS];
  ufp4_status_t status = safetensors_open(path, &file, message);
  if (status != UFP4_OK) return status;
  status = check_settings(&file, t, branch, message);
  const int64_t step = read_step(&file, t->options.steps);
  if (status == UFP4_OK && step < 0)
    status = fail_damaged(path, "its number of steps is invalid for this training", message);
  if (status == UFP4_OK) {
    list_parts(t, losses, step, parts);
    status = read_parts(&file, parts, message);
  }
  if (status == UFP4_OK) take(t, losses, step, parts);
  safetensors_close(&file);
  return status;
}

ufp4_status_t ufp4_trainer_load(ufp4_trainer_t *trainer, double *losses, const char *path,
                                ufp4_message_t *message) {
  return restore(trainer, losses, path, 0, message);
}

ufp4_status_t ufp4_trainer_branch(ufp4_trainer_t *trainer, double *losses, const char *path,
                                  ufp4_message_t *message) {
  const ufp4_trainer_options_t *o = &trainer->options;
  ufp4_status_t status = restore(trainer, losses, path, 1, message);
  if (status == UFP4_OK && o->perturbation > 0)
    ufp4_weights_perturb(&trainer->weights, o->seed, o->perturbation);
  return status;
}

int ufp4_checkpoint_is(const char *path) {
  safetensors_t file;
  if (safetensors_open(path, &file, NULL) != UFP4_OK) return 0;
  const char *format = safetensors_metadata(&file, "format");
  const int is = format != NULL && strcmp(format, FORMAT) == 0;
  safetensors_close(&file);
  return is;
}
