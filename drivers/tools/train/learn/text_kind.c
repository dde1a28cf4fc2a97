// SPDX-License-Identifier: Apache-2.0
#include "text_kind.h"

#include <stdio.h>
#include <string.h>

#define LOOKED_AT 65536

typedef struct {
  const char *name;
  const char *mark;
  int mark_bytes;
  int unit;          // bytes per character
  unsigned zero_at;  // bit i: Latin letters have a zero in byte i of a unit, and nowhere else
} encoding_t;

// Marks of UTF-32 come first, because one of them begins with one of UTF-16.
static const encoding_t encodings[] = {
    {"UTF-32LE", "\xFF\xFE\0\0", 4, 4, 0xE},
    {"UTF-32BE", "\0\0\xFE\xFF", 4, 4, 0x7},
    {"UTF-16LE", "\xFF\xFE", 2, 2, 0x2},
    {"UTF-16BE", "\xFE\xFF", 2, 2, 0x1},
};

static int has_mark(const encoding_t *e, const uint8_t *data, int64_t count) {
  return count >= e->mark_bytes && !memcmp(data, e->mark, (size_t)e->mark_bytes);
}

// Returns whether more than half of these bytes are zeros, and fewer than one in 16 of the others.
static int has_zeros(const encoding_t *e, const uint8_t *data, int64_t count) {
  int64_t units = count / e->unit;
  if (units < 16) return 0;
  for (int i = 0; i < e->unit; i++) {
    int64_t zeros = 0;
    for (int64_t at = i; at < units * e->unit; at += e->unit) zeros += data[at] == 0;
    if (e->zero_at >> i & 1 ? 2 * zeros <= units : 16 * zeros >= units) return 0;
  }
  return 1;
}

// Returns the bytes of the UTF-8 character at data, or 0 if it is neither printable nor white
// space.
static int character(const uint8_t *data, int64_t left) {
  uint8_t first = data[0];
  if (first < 0x80) return (first >= 0x20 && first < 0x7F) || (first >= '\t' && first <= '\r');
  int bytes = first >= 0xC2 && first < 0xE0   ? 2
              : first >= 0xE0 && first < 0xF0 ? 3
              : first >= 0xF0 && first < 0xF5 ? 4
                                              : 0;
  if (bytes == 0 || bytes > left) return 0;
  for (int i = 1; i < bytes; i++)
    if (data[i] >> 6 != 2) return 0;
  return bytes;
}

static int64_t bytes_of_characters(const uint8_t *data, int64_t count) {
  int64_t sum = 0;
  for (int64_t at = 0; at < count;) {
    int bytes = character(data + at, count - at);
    sum += bytes;
    at += bytes ? bytes : 1;
  }
  return sum;
}

ufp4_status_t text_kind_check(const char *path, const text_bytes_t *bytes,
                              ufp4_message_t *message) {
  int64_t count = bytes->count < LOOKED_AT ? bytes->count : LOOKED_AT;
  for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
    const encoding_t *e = &encodings[i];
    int mark = has_mark(e, bytes->data, count);
    if (!mark && !has_zeros(e, bytes->data, count)) continue;
    snprintf(message->text, sizeof message->text,
             "%s: this text is in %s, according to its %s, but the model needs UTF-8; convert it "
             "with iconv -f %.6s%s -t UTF-8",
             path, e->name, mark ? "byte order mark" : "zeros", e->name, mark ? "" : e->name + 6);
    return UFP4_ERROR_FORMAT;
  }
  int64_t printable = bytes_of_characters(bytes->data, count);
  if (2 * printable < count)
    snprintf(message->text, sizeof message->text,
             "%s: %lld of the first %lld bytes are not printable UTF-8; is this text?", path,
             (long long)(count - printable), (long long)count);
  return UFP4_OK;
}
