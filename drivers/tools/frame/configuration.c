// SPDX-License-Identifier: Apache-2.0
// Resolves --config: a configuration, the parameters of one, or a file of parameters.
#include "base/configuration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/cli.h"

enum { TEXT = 512, MOST = 1 << 20 };  // longer than any configuration file

static const char header[] = "[[configuration]]";
static const char no_line[] = "KEY = VALUE of a configuration is needed";

// --- FILE.toml ----------------------------------------------------------------------------------

static int ends_in_toml(const char *word) {
  static const char ending[] = ".toml";
  const size_t length = strlen(word), end = sizeof ending - 1;
  return length > end && strcmp(word + length - end, ending) == 0;
}

// Removes blanks and quotes at both ends.
static char *trim(char *text) {
  static const char blanks[] = " \t\r\n\"";
  text += strspn(text, blanks);
  for (size_t n = strlen(text); n > 0 && strchr(blanks, text[n - 1]) != NULL; n--)
    text[n - 1] = '\0';
  return text;
}

// Returns whether a key does not describe the core; the core's name is made from the others.
static int is_skipped(const char *key) {
  return strcmp(key, "name") == 0 || strcmp(key, "on_demand") == 0;
}

// Adds the setting of a line to @p text. @return an error message, or NULL.
static const char *add_line(char *line, char text[TEXT]) {
  line[strcspn(line, "#")] = '\0';
  line = trim(line);
  if (strcmp(line, header) == 0 && text[0] != '\0') return "a file holds only one configuration";
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
  return wrote < (int)(TEXT - length) ? NULL : "the configuration is too long";
}

// Reads up to MOST bytes and appends a zero. @return malloc'ed, or NULL with the reason.
static char *load_file(const char *path, size_t *size, ufp4_message_t *message) {
  FILE *file = fopen(path, "r");
  char *bytes = file != NULL ? malloc(MOST + 1) : NULL;
  const char *why = NULL;
  if (bytes != NULL) {
    *size = fread(bytes, 1, MOST + 1, file);
    if (*size > MOST) why = "it is too long for a configuration";
  }
  if (bytes == NULL || ferror(file)) why = strerror(errno);
  if (file != NULL) fclose(file);
  if (why == NULL) {
    bytes[*size] = '\0';
    return bytes;
  }
  free(bytes);
  ufp4_message_set(message, "cannot read '%s': %s", path, why);
  return NULL;
}

static ufp4_status_t read_file(const char *path, char text[TEXT], ufp4_message_t *message) {
  size_t size = 0;
  char *bytes = load_file(path, &size, message), *rest = bytes;
  if (bytes == NULL) return UFP4_ERROR_ARGUMENT;
  const char *wrong = NULL;
  int at = 0;
  for (; rest != NULL && wrong == NULL; at++) {
    char *line = strsep(&rest, "\n");
    // A line that contains a zero byte is refused.
    const char *end = rest != NULL ? rest - 1 : bytes + size;
    wrong = line + strlen(line) == end ? add_line(line, text) : no_line;
  }
  free(bytes);
  if (wrong != NULL) {
    ufp4_message_set(message, "%s, line %d: %s", path, at, wrong);
    return UFP4_ERROR_ARGUMENT;
  }
  if (text[0] != '\0') return UFP4_OK;
  ufp4_message_set(message, "%s: the file holds no configuration", path);
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
