// SPDX-License-Identifier: Apache-2.0
// The files of a checkpoint: one .safetensors, or those listed in model.safetensors.index.json.
#include "checkpoint.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX "model.safetensors.index.json"
#define SINGLE "model.safetensors"
#define SUFFIX ".safetensors"

static int is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

size_t checkpoint_length(const char *path) {
  char place[CHECKPOINT_TEXT];
  if (is_folder(path)) return strlen(path);
  if (access(path, F_OK) == 0) return 0;
  for (const char *at = strchr(path, ':'); at != NULL; at = strchr(at + 1, ':')) {
    const size_t length = (size_t)(at - path), suffix = strlen(SUFFIX);
    if (length >= sizeof place) return 0;
    if (length > suffix && memcmp(at - suffix, SUFFIX, suffix) == 0) return length;
    memcpy(place, path, length);
    place[length] = '\0';
    if (is_folder(place)) return length;
  }
  return 0;
}

static ufp4_status_t fail_memory(const char *path, ufp4_message_t *message) {
  ufp4_message_set(message, "%s: the host is out of memory", path);
  return UFP4_ERROR_MEMORY;
}

static ufp4_status_t make_path(const checkpoint_t *checkpoint, const char *name,
                               char path[CHECKPOINT_TEXT], ufp4_message_t *message) {
  const char *between = checkpoint->folder[0] == '\0' ? "" : "/";
  if (snprintf(path, CHECKPOINT_TEXT, "%s%s%s", checkpoint->folder, between, name) <
      CHECKPOINT_TEXT)
    return UFP4_OK;
  ufp4_message_set(message, "%s: the name of a file in it is too long", checkpoint->place);
  return UFP4_ERROR_FORMAT;
}

ufp4_status_t checkpoint_json(const checkpoint_t *checkpoint, const char *name, json_t **out,
                              ufp4_message_t *message) {
  char path[CHECKPOINT_TEXT];
  json_error_t error;
  *out = NULL;
  ufp4_status_t status = make_path(checkpoint, name, path, message);
  if (status != UFP4_OK || access(path, F_OK) != 0) return status;
  *out = json_load_file(path, 0, &error);
  if (*out != NULL) return UFP4_OK;
  ufp4_message_set(message, "%s: invalid JSON: line %d: %s", path, error.line, error.text);
  return UFP4_ERROR_FORMAT;
}

// Returns the file of that name, and opens it on first use.
static ufp4_status_t open_file(checkpoint_t *checkpoint, const char *path, safetensors_t **out,
                               ufp4_message_t *message) {
  for (checkpoint_file_t *file = checkpoint->files; file != NULL; file = file->next) {
    *out = &file->file;
    if (strcmp(file->path, path) == 0) return UFP4_OK;
  }
  checkpoint_file_t *file = malloc(sizeof *file);
  if (file == NULL) return fail_memory(path, message);
  snprintf(file->path, sizeof file->path, "%s", path);
  ufp4_status_t status = safetensors_open(file->path, &file->file, message);
  if (status != UFP4_OK) {
    free(file);
    return status;
  }
  file->next = checkpoint->files;
  checkpoint->files = file;
  *out = &file->file;
  return UFP4_OK;
}

static ufp4_status_t open_single(checkpoint_t *checkpoint, const char *path,
                                 ufp4_message_t *message) {
  safetensors_t *file;
  ufp4_status_t status = open_file(checkpoint, path, &file, message);
  if (status == UFP4_OK) checkpoint->names = file->header;
  return status;
}

static ufp4_status_t open_folder(checkpoint_t *checkpoint, ufp4_message_t *message) {
  char path[CHECKPOINT_TEXT];
  ufp4_status_t status = checkpoint_json(checkpoint, INDEX, &checkpoint->index, message);
  if (status == UFP4_OK) status = make_path(checkpoint, SINGLE, path, message);
  if (status != UFP4_OK) return status;
  checkpoint->names = json_object_get(checkpoint->index, "weight_map");
  if (checkpoint->index != NULL && !json_is_object(checkpoint->names)) {
    ufp4_message_set(message, "%s/" INDEX ": the object weight_map is missing", checkpoint->folder);
    return UFP4_ERROR_FORMAT;
  }
  if (checkpoint->index != NULL) return UFP4_OK;
  if (access(path, F_OK) == 0) return open_single(checkpoint, path, message);
  ufp4_message_set(message, "%s: the folder holds neither " SINGLE " nor " INDEX,
                   checkpoint->place);
  return UFP4_ERROR_FORMAT;
}

ufp4_status_t checkpoint_open(const char *path, size_t length, checkpoint_t *out,
                              ufp4_message_t *message) {
  *out = (checkpoint_t){0};
  if (length >= CHECKPOINT_TEXT) length = CHECKPOINT_TEXT - 1;  // it will not be found
  memcpy(out->place, path, length);
  memcpy(out->folder, path, length);
  const int folder = is_folder(out->place);
  char *slash = strrchr(out->folder, '/');
  if (!folder && slash == NULL) out->folder[0] = '\0';
  if (!folder && slash != NULL) slash[slash == out->folder] = '\0';
  ufp4_status_t status = folder ? open_folder(out, message) : open_single(out, out->place, message);
  if (status != UFP4_OK) checkpoint_close(out);
  return status;
}

void checkpoint_close(checkpoint_t *checkpoint) {
  for (checkpoint_file_t *file = checkpoint->files, *next; file != NULL; file = next) {
    next = file->next;
    safetensors_close(&file->file);
    free(file);
  }
  json_decref(checkpoint->index);
  *checkpoint = (checkpoint_t){0};
}

int checkpoint_has(const checkpoint_t *checkpoint, const char *name) {
  return json_object_get(checkpoint->names, name) != NULL;
}

// Returns the path of the file that contains a tensor according to the index.
static ufp4_status_t find_shard(const checkpoint_t *checkpoint, const char *name,
                                char path[CHECKPOINT_TEXT], ufp4_message_t *message) {
  const char *shard = json_string_value(json_object_get(checkpoint->names, name));
  if (shard == NULL) {
    ufp4_message_set(message, "%s/" INDEX ": weight_map names no file for %s", checkpoint->folder,
                     name);
    return UFP4_ERROR_FORMAT;
  }
  if (strchr(shard, '/') != NULL) {
    ufp4_message_set(message,
                     "%s: " INDEX " says that %s holds it; that must be a file in the same folder",
                     name, shard);
    return UFP4_ERROR_FORMAT;
  }
  ufp4_status_t status = make_path(checkpoint, shard, path, message);
  if (status != UFP4_OK || access(path, F_OK) == 0) return status;
  ufp4_message_set(message, "%s: the file is missing; %s says that it holds %s", path, INDEX, name);
  return UFP4_ERROR_IO;
}

ufp4_status_t checkpoint_entry(checkpoint_t *checkpoint, const char *name, safetensors_t **file,
                               safetensors_entry_t *out, ufp4_message_t *message) {
  char path[CHECKPOINT_TEXT];
  ufp4_status_t status = UFP4_OK;
  if (checkpoint->index == NULL) {
    *file = &checkpoint->files->file;
  } else {
    status = find_shard(checkpoint, name, path, message);
    if (status == UFP4_OK) status = open_file(checkpoint, path, file, message);
  }
  return status == UFP4_OK ? safetensors_entry(*file, name, out, message) : status;
}
