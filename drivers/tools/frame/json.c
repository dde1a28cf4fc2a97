// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

json_t *json_real_or_null(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_text(const char *value) {
  json_t *text = json_string(value);
  if (text != NULL) return text;
  char *ascii = strdup(value);
  for (char *at = ascii; at != NULL && *at != '\0'; at++) {
    if ((unsigned char)*at >= 0x80) *at = '?';
  }
  text = ascii != NULL ? json_string(ascii) : NULL;
  free(ascii);
  return text;
}

static ufp4_status_t write(json_t *document, file_out_t *file, ufp4_message_t *message) {
  const int whole =
      json_dumpf(document, file->stream, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) == 0;
  if (!whole && !ferror(file->stream)) {
    file_out_discard(file);
    return UFP4_ERROR_MEMORY;
  }
  fputc('\n', file->stream);
  return file_out_close(file, message);
}

ufp4_status_t json_write(const char *path, json_t *document, ufp4_message_t *message) {
  file_out_t file;
  ufp4_status_t status = file_out_open(path, &file, message);
  if (status == UFP4_OK) status = write(document, &file, message);
  json_decref(document);
  return status;
}
