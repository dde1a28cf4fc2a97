// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
