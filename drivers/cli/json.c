// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_begin(json_out_t *json, int digits) {
  *json = (json_out_t){.digits = digits};
  json->out = open_memstream(&json->text, &json->bytes);
}

int json_print(json_out_t *json) {
  if (json->out == NULL || fflush(json->out) != 0 || ferror(json->out)) return -1;
  fwrite(json->text, 1, json->bytes, stdout);
  putchar('\n');
  return 0;
}

void json_free(json_out_t *json) {
  if (json->out != NULL) fclose(json->out);
  free(json->text);
  *json = (json_out_t){0};
}

// --- Text --------------------------------------------------------------------------------------------------

// The bytes of the UTF-8 character at @p at, 0 where there is none. No character is longer than it must be, a
// surrogate, or past U+10FFFF.
static int utf8_bytes(const unsigned char *at) {
  if (at[0] < 0x80) return 1;
  const int bytes = at[0] >= 0xC2 && at[0] < 0xE0   ? 2
                    : (at[0] & 0xF0) == 0xE0        ? 3
                    : at[0] >= 0xF0 && at[0] < 0xF5 ? 4
                                                    : 0;
  for (int i = 1; i < bytes; i++) {
    if ((at[i] & 0xC0) != 0x80) return 0;
  }
  const int second_is_bad = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F) ||
                            (at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F);
  return second_is_bad ? 0 : bytes;
}

static void put_character(FILE *out, const unsigned char *at, int bytes) {
  if (bytes == 0) {
    fputs("\\uFFFD", out);
  } else if (*at == '"' || *at == '\\') {
    fprintf(out, "\\%c", *at);
  } else if (*at < 0x20) {
    fprintf(out, "\\u%04X", *at);
  } else {
    fwrite(at, 1, (size_t)bytes, out);
  }
}

static void put_text(FILE *out, const char *text) {
  fputc('"', out);
  for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
    const int bytes = utf8_bytes(at);
    put_character(out, at, bytes);
    at += bytes > 0 ? bytes : 1;
  }
  fputc('"', out);
}

// --- Values ------------------------------------------------------------------------------------------------

// A value on a line of its own, but the outermost. Gives where it goes, NULL without memory.
static FILE *place(json_out_t *json, const char *key) {
  if (json->out == NULL) return NULL;
  if (json->items++ > 0) fputc(',', json->out);
  if (json->depth > 0) fprintf(json->out, "\n%*s", 2 * json->depth, "");
  if (key == NULL) return json->out;
  put_text(json->out, key);
  fputs(": ", json->out);
  return json->out;
}

static void open_group(json_out_t *json, const char *key, char bracket) {
  FILE *out = place(json, key);
  if (out != NULL) fputc(bracket, out);
  json->depth++;
  json->items = 0;
}

static void close_group(json_out_t *json, char bracket) {
  json->depth--;
  if (json->out == NULL) return;
  if (json->items > 0) fprintf(json->out, "\n%*s", 2 * json->depth, "");
  fputc(bracket, json->out);
  json->items = 1;  // the one that has just ended
}

void json_put_object(json_out_t *json, const char *key) {
  open_group(json, key, '{');
}

void json_put_list(json_out_t *json, const char *key) {
  open_group(json, key, '[');
}

void json_end_list(json_out_t *json) {
  close_group(json, ']');
}

void json_end_object(json_out_t *json) {
  close_group(json, '}');
}

void json_put_text(json_out_t *json, const char *key, const char *value) {
  FILE *out = place(json, key);
  if (out != NULL) put_text(out, value);
}

void json_put_integer(json_out_t *json, const char *key, int64_t value) {
  FILE *out = place(json, key);
  if (out != NULL) fprintf(out, "%" PRId64, value);
}

void json_put_real(json_out_t *json, const char *key, double value) {
  if (!isfinite(value)) {
    json_put_null(json, key);
    return;
  }
  FILE *out = place(json, key);
  char digits[32];
  snprintf(digits, sizeof digits, "%.*g", json->digits, value);
  // A reader may tell integers from real numbers by the point.
  if (out != NULL) fprintf(out, "%s%s", digits, strpbrk(digits, ".e") == NULL ? ".0" : "");
}

void json_put_flag(json_out_t *json, const char *key, int value) {
  FILE *out = place(json, key);
  if (out != NULL) fputs(value ? "true" : "false", out);
}

void json_put_null(json_out_t *json, const char *key) {
  FILE *out = place(json, key);
  if (out != NULL) fputs("null", out);
}
