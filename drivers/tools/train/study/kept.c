// SPDX-License-Identifier: Apache-2.0
#include "kept.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "checkpoint.h"

#define SETTINGS "settings.json"
#define PROGRAM "program"  // the only setting that may differ
#define LONGEST 60         // characters of a setting in a message
#define ROWS ".csv"
#define CHECKPOINT UFP4_KEPT_CHECKPOINT
#define END_BYTES 15  // "crc32,XXXXXXXX\n": checksum of everything before it

static ufp4_status_t fail_memory(const char *path, ufp4_message_t *message) {
  ufp4_message_set(message, "%s: the host is out of memory", path);
  return UFP4_ERROR_MEMORY;
}

// --- Names --------------------------------------------------------------------------------------

void ufp4_kept_name(char *name) {
  for (char *at = strchr(name, '/'); at != NULL; at = strchr(at, '/')) *at = '-';
}

// Returns whether an identifier has only characters that are legal in a recipe's name.
static int is_id(const char *id, size_t length) {
  int good = length > 0 && id[0] != '.';
  for (size_t i = 0; i < length; i++) {
    const unsigned char byte = (unsigned char)id[i];
    good &= byte >= 0x80 || isalnum(byte) || strchr("._+-=", byte) != NULL;
  }
  return good;
}

static ufp4_status_t name_file(const char *folder, const char *name, const char *suffix,
                               char path[UFP4_KEPT_PATH], ufp4_message_t *message) {
  if (snprintf(path, UFP4_KEPT_PATH, "%s/%s%s", folder, name, suffix) < UFP4_KEPT_PATH)
    return UFP4_OK;
  ufp4_message_set(message, "the name of the folder of runs is too long");
  return UFP4_ERROR_ARGUMENT;
}

ufp4_status_t ufp4_kept_path(const char *folder, const char *id, const char *suffix,
                             char path[UFP4_KEPT_PATH], ufp4_message_t *message) {
  if (is_id(id, strlen(id))) return name_file(folder, id, suffix, path, message);
  ufp4_message_set(
      message, "'%s' is not the name of a run, which may hold only letters, digits and ._+-=", id);
  return UFP4_ERROR_ARGUMENT;
}

// --- The folder ---------------------------------------------------------------------------------

// Formats a value; a real number gets the fewest digits, at least six, that give the same FP32.
static char *show(const json_t *value) {
  char *text = NULL;
  for (size_t digits = value != NULL && json_is_real(value) ? 6 : 9; value != NULL; digits++) {
    free(text);
    text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(digits));
    if (text == NULL || digits == 9 || strtof(text, NULL) == (float)json_real_value(value)) break;
  }
  return text;
}

static ufp4_status_t fail_differing(const char *folder, const char *key, const json_t *there,
                                    const json_t *wanted, ufp4_message_t *message) {
  char *is = show(there), *asked = show(wanted);
  const char *first = is != NULL ? is : "absent", *second = asked != NULL ? asked : "absent";
  const int shows = strlen(first) <= LONGEST && strlen(second) <= LONGEST;
  ufp4_message_set(message,
                   "%s: this folder holds an unfinished experiment with other settings: %s "
                   "%s%s%s%s; give the same, or another -o",
                   folder, key, shows ? "is " : "differs", shows ? first : "",
                   shows ? ", not " : "", shows ? second : "");
  free(is);
  free(asked);
  return UFP4_ERROR_ARGUMENT;
}

static ufp4_status_t compare(const char *folder, json_t *there, json_t *wanted,
                             ufp4_message_t *message) {
  const char *key;
  json_t *value;
  json_object_foreach(wanted, key, value) {
    const json_t *is = json_object_get(there, key);
    if (is != NULL && json_equal(is, value)) continue;
    if (strcmp(key, PROGRAM) != 0) return fail_differing(folder, key, is, value, message);
    ufp4_message_set(message, "%s: another build of the program started this experiment", folder);
  }
  json_object_foreach(there, key, value) {
    if (json_object_get(wanted, key) == NULL)
      return fail_differing(folder, key, value, NULL, message);
  }
  return UFP4_OK;
}

// Handles an existing experiment, whose settings are in @p path.
static ufp4_status_t meet(const char *folder, const char *path, json_t *wanted, int resume,
                          ufp4_message_t *message) {
  json_error_t error;
  json_t *there = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!json_is_object(there)) {
    json_decref(there);
    ufp4_message_set(message, "%s: not a JSON object; remove %s to use -o again", path, folder);
    return UFP4_ERROR_FORMAT;
  }
  ufp4_status_t status = compare(folder, there, wanted, message);
  if (status == UFP4_OK && !resume) {
    ufp4_message_set(
        message,
        "%s: this folder holds an unfinished experiment with these settings; --resume continues it",
        folder);
    status = UFP4_ERROR_ARGUMENT;
  }
  json_decref(there);
  return status;
}

static ufp4_status_t begin(const char *folder, const char *path, const char *settings,
                           ufp4_message_t *message) {
  struct stat about;
  const int made = mkdir(folder, 0777) == 0;
  if (!made && errno == EEXIST && stat(folder, &about) == 0 && !S_ISDIR(about.st_mode)) {
    ufp4_message_set(message, "%s: already exists and is not a directory", folder);
    return UFP4_ERROR_IO;
  }
  if (!made && errno != EEXIST) return file_fail(folder, "make this directory", message);
  ufp4_status_t status = file_write(path, &(file_part_t){settings, strlen(settings)}, 1, message);
  if (status != UFP4_OK && made) rmdir(folder);
  return status;
}

ufp4_status_t ufp4_kept_open(const char *folder, const char *settings, int resume,
                             ufp4_message_t *message) {
  char path[UFP4_KEPT_PATH];
  json_error_t error;
  ufp4_status_t status = name_file(folder, SETTINGS, "", path, message);
  if (status != UFP4_OK) return status;
  json_t *wanted = json_loads(settings, JSON_REJECT_DUPLICATES, &error);
  if (!json_is_object(wanted)) {
    ufp4_message_set(message, "the settings of an experiment must be a JSON object");
    status = UFP4_ERROR_ARGUMENT;
  } else if (access(path, F_OK) == 0) {
    status = meet(folder, path, wanted, resume, message);
  } else if (resume) {
    ufp4_message_set(message, "%s: this folder holds no unfinished experiment; leave out --resume",
                     folder);
    status = UFP4_ERROR_ARGUMENT;
  } else {
    status = begin(folder, path, settings, message);
  }
  json_decref(wanted);
  return status;
}

// --- One file -----------------------------------------------------------------------------------

static void make_end(const char *text, size_t size, char end[END_BYTES + 1]) {
  const uLong crc = crc32_z(crc32_z(0, NULL, 0), (const Bytef *)text, size);
  snprintf(end, END_BYTES + 1, "crc32,%08lx\n", crc & 0xFFFFFFFFu);
}

ufp4_status_t ufp4_kept_write(const char *folder, const char *id, ufp4_kept_put_t put,
                              const void *context, ufp4_message_t *message) {
  char path[UFP4_KEPT_PATH], end[END_BYTES + 1], *text = NULL;
  size_t size;
  ufp4_status_t status = ufp4_kept_path(folder, id, ROWS, path, message);
  if (status != UFP4_OK) return status;
  FILE *out = open_memstream(&text, &size);
  if (out != NULL) put(context, out);
  const int good = out != NULL && !ferror(out);
  if (out == NULL || fclose(out) != 0 || !good) {
    free(text);
    return fail_memory(path, message);
  }
  make_end(text, size, end);
  status = file_write(path, (file_part_t[]){{text, size}, {end, END_BYTES}}, 2, message);
  free(text);
  return status;
}

// Reads the whole file and appends a zero; malloc'ed.
static ufp4_status_t read_text(const char *path, char **text, size_t *size,
                               ufp4_message_t *message) {
  file_ranges_t file;
  ufp4_status_t status = file_ranges_open(path, &file, message);
  if (status != UFP4_OK) return status;
  *size = (size_t)file.size;
  *text = calloc(*size + 1, 1);
  status = *text != NULL ? file_range_read(&file, 0, file.size, *text, message)
                         : fail_memory(path, message);
  file_ranges_close(&file);
  return status;
}

// Reads the file without its last line, which must match the others. @return UFP4_ERROR_FORMAT if
// it does not.
static ufp4_status_t read_whole(const char *path, char **text, ufp4_message_t *message) {
  char end[END_BYTES + 1] = "";
  size_t size;
  ufp4_status_t status = read_text(path, text, &size, message);
  if (status != UFP4_OK) return status;
  if (size >= END_BYTES) make_end(*text, size - END_BYTES, end);
  if (size < END_BYTES || memcmp(*text + size - END_BYTES, end, END_BYTES) != 0) {
    ufp4_message_set(message,
                     "%s: damaged: its checksum does not match its other lines; remove the file to "
                     "repeat that run",
                     path);
    return UFP4_ERROR_FORMAT;
  }
  (*text)[size - END_BYTES] = '\0';
  return UFP4_OK;
}

ufp4_status_t ufp4_kept_read(const char *folder, const char *id, char **text,
                             ufp4_message_t *message) {
  char path[UFP4_KEPT_PATH];
  *text = NULL;
  ufp4_status_t status = ufp4_kept_path(folder, id, ROWS, path, message);
  if (status != UFP4_OK || (access(path, F_OK) != 0 && errno == ENOENT)) return status;
  status = read_whole(path, text, message);
  if (status == UFP4_OK) return UFP4_OK;
  free(*text);
  *text = NULL;
  return status;
}

// --- Removal ------------------------------------------------------------------------------------

static ufp4_status_t remove_file(const char *path, ufp4_message_t *message) {
  return unlink(path) == 0 || errno == ENOENT ? UFP4_OK : file_fail(path, "remove", message);
}

// Returns whether a run's file with this ending has @p name.
static int is_named(const char *name, const char *suffix) {
  const size_t length = strlen(name), end = strlen(suffix);
  return length > end && strcmp(name + length - end, suffix) == 0 && is_id(name, length - end);
}

static int is_whole(const char *path) {
  char *text = NULL;
  const int whole = read_whole(path, &text, NULL) == UFP4_OK;
  free(text);
  return whole;
}

// Returns whether the name is a temporary one of file_out_t.
static int is_half_written(const char *name) {
  long process;
  int attempt, length = 0;
  return sscanf(name, ".ufp4-%ld-%d.tmp%n", &process, &attempt, &length) == 2 && length > 0 &&
         name[length] == '\0';
}

// The folder may contain a user's own file of this name, so its contents are checked.
static int is_of_a_run(const char *path, const char *name) {
  return is_half_written(name) || (is_named(name, ROWS) && is_whole(path)) ||
         (is_named(name, CHECKPOINT) && ufp4_checkpoint_is(path));
}

static ufp4_status_t remove_runs(const char *folder, DIR *directory, ufp4_message_t *message) {
  char path[UFP4_KEPT_PATH];
  ufp4_status_t status = UFP4_OK;
  for (struct dirent *entry; status == UFP4_OK && (entry = readdir(directory)) != NULL;) {
    status = name_file(folder, entry->d_name, "", path, message);
    if (status == UFP4_OK && is_of_a_run(path, entry->d_name)) status = remove_file(path, message);
  }
  return status;
}

ufp4_status_t ufp4_kept_remove_checkpoint(const char *folder, const char *id,
                                          ufp4_message_t *message) {
  char path[UFP4_KEPT_PATH];
  ufp4_status_t status = ufp4_kept_path(folder, id, CHECKPOINT, path, message);
  return status == UFP4_OK ? remove_file(path, message) : status;
}

ufp4_status_t ufp4_kept_remove(const char *folder, ufp4_message_t *message) {
  char path[UFP4_KEPT_PATH];
  ufp4_status_t status = name_file(folder, SETTINGS, "", path, message);
  if (status != UFP4_OK) return status;
  DIR *directory = opendir(folder);
  if (directory == NULL) return errno == ENOENT ? UFP4_OK : file_fail(folder, "remove", message);
  status = remove_runs(folder, directory, message);
  closedir(directory);
  if (status == UFP4_OK) status = remove_file(path, message);
  if (status == UFP4_OK && rmdir(folder) != 0 && errno != ENOTEMPTY && errno != EEXIST)
    status = file_fail(folder, "remove", message);
  return status;
}
