// SPDX-License-Identifier: Apache-2.0
// In place of recipe_file.c where the driver is built without jansson.
#include "ufp4.h"

ufp4_status_t ufp4_recipe_read(const char *path, ufp4_recipe_t *recipe, ufp4_message_t *message) {
  if (path == NULL || recipe == NULL) return UFP4_ERROR_ARGUMENT;
  ufp4_message_set(message, "%s: this build reads no recipes from files; it was made without libjansson-dev", path);
  return UFP4_ERROR_UNSUPPORTED;
}
