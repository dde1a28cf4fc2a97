// SPDX-License-Identifier: Apache-2.0
// What --config names: a configuration, the parameters of one, or a file of these.
#include "base/configuration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/cli.h"

enum { TEXT = 512 };

static const char header[] = "[[configuration]]";
static const char no_line[] = "no KEY = VALUE of a configuration";

// --- FILE.toml ----------------------------------------------------------------------------------

static int ends_in_toml(const char *word) {
  static const char ending[] = ".toml";
  const size_t length = strlen(word), end = sizeof ending - 1;
  return length > end && strcmp(word + length - end, ending) == 0;
}

// Cuts the blanks and quotes at both ends.
static char *trim(char *text) {
  static const char blanks[] = " \t\r\n\"";
  text += strspn(text, blanks);
  for (size_t n = strlen(text); n > 0 && strchr(blanks, text[n - 1]) != NULL; n--)
    text[n - 1] = '\0';
  return text;
}

// What says nothing of the core: the name is made of the rest.
static int is_skipped(const char *key) {
  return strcmp(key, "name") == 0 || strcmp(key, "on_demand") == 0;
}

// Adds what a line says to @p text. @return what is wrong with it, or NULL.
static const char *add_line(char *line, char text[TEXT]) {
  line[strcspn(line, "#")] = '\0';
  line = trim(line);
  if (strcmp(line, header) == 0 && text[0] != '\0') return "one configuration a file";
  if (*line == '\0' || strcmp(line, header) == 0) return NULL;
  char *value = strchr(line, '=');
  if (value == NULL) return no_line;
  *value++ = '\0';
  const char *key = trim(line);
  value = trim(value);
  if (is_skipped(key)) return NULL;
  const size_t length = strlen(text);
  const int wrote =
      snprintf(text + length, TEXT - length, "%s%s=%s", length > 0 ? ":" : "", key, value);
  return wrote < (int)(TEXT - length) ? NULL : "what is said up to here is too long";
}

static ufp4_status_t read_file(const char *path, char text[TEXT], ufp4_message_t *message) {
  char *line = NULL;
  size_t size = 0;
  ssize_t length;
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    ufp4_message_set(message, "cannot read '%s': %s", path, strerror(errno));
    return UFP4_ERROR_ARGUMENT;
  }
  ufp4_status_t status = UFP4_OK;
  for (int at = 1; status == UFP4_OK && (length = getline(&line, &size, file)) >= 0; at++) {
    const char *wrong = strlen(line) == (size_t)length ? add_line(line, text) : no_line;
    if (wrong == NULL) continue;
    ufp4_message_set(message, "%s, line %d: %s", path, at, wrong);
    status = UFP4_ERROR_ARGUMENT;
  }
  free(line);
  fclose(file);
  if (status != UFP4_OK || text[0] != '\0') return status;
  ufp4_message_set(message, "%s: there is no configuration in it", path);
  return UFP4_ERROR_ARGUMENT;
}

// --- --config -----------------------------------------------------------------------------------

ufp4_status_t cli_configuration(const char *word, ufp4_configuration_t *core,
                                ufp4_message_t *message) {
  char text[TEXT] = "";
  if (!ends_in_toml(word)) return configuration_find(word, core, NULL, message);
  const ufp4_status_t status = read_file(word, text, message);
  return status == UFP4_OK ? configuration_find(text, core, NULL, message) : status;
}
