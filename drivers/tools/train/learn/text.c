// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"
#include "text_kind.h"
#include "train/model/draw.h"

static int is_space(uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

int64_t ufp4_text_collapse(uint8_t *bytes, int64_t count) {
  int64_t out = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!is_space(bytes[i])) {
      bytes[out++] = bytes[i];
    } else if (out == 0 || bytes[out - 1] != ' ') {
      bytes[out++] = ' ';
    }
  }
  return out;
}

ufp4_status_t ufp4_text_split(const uint8_t *bytes, int64_t count, ufp4_text_t *out) {
  *out = (ufp4_text_t){0};
  int64_t chunk =
      count / UFP4_TEXT_PERIOD < UFP4_TEXT_CHUNK ? count / UFP4_TEXT_PERIOD : UFP4_TEXT_CHUNK;
  if (chunk < 1) chunk = 1;
  out->train = malloc((size_t)count + 1);
  out->held = malloc((size_t)count + 1);
  if (!out->train || !out->held) {
    ufp4_text_free(out);
    return UFP4_ERROR_MEMORY;
  }
  for (int64_t at = 0, i = 0; at < count; at += chunk, i++) {
    int64_t size = count - at < chunk ? count - at : chunk;
    int held = i % UFP4_TEXT_PERIOD == UFP4_TEXT_PERIOD - 1;
    memcpy(held ? out->held + out->held_bytes : out->train + out->train_bytes, bytes + at,
           (size_t)size);
    *(held ? &out->held_bytes : &out->train_bytes) += size;
  }
  return UFP4_OK;
}

static ufp4_status_t split_checked(const char *path, int64_t context, text_bytes_t *bytes,
                                   ufp4_text_t *out, ufp4_message_t *message) {
  int64_t count = ufp4_text_collapse(bytes->data, bytes->count);
  ufp4_status_t status = ufp4_text_split(bytes->data, count, out);
  if (status) return status;
  if (out->held_bytes > context && out->train_bytes > context) return UFP4_OK;
  ufp4_text_free(out);
  snprintf(message->text, sizeof message->text,
           "%s: %lld characters are too few for --context %lld; at least %lld are needed", path,
           (long long)count, (long long)context, (long long)((context + 1) * UFP4_TEXT_PERIOD));
  return UFP4_ERROR_FORMAT;
}

ufp4_status_t ufp4_text_read(const char *path, int64_t context, ufp4_text_t *out,
                             ufp4_message_t *message) {
  text_bytes_t bytes = {0};
  *out = (ufp4_text_t){0};
  message->text[0] = '\0';
  ufp4_status_t status = text_file_read(path, &bytes, message);
  if (!status) status = text_kind_check(path, &bytes, message);
  if (!status) status = split_checked(path, context, &bytes, out, message);
  free(bytes.data);
  if (status && !message->text[0])
    snprintf(message->text, sizeof message->text, "%s: %s", path, ufp4_status_string(status));
  return status;
}

void ufp4_text_free(ufp4_text_t *text) {
  free(text->train);
  free(text->held);
  *text = (ufp4_text_t){0};
}

static void copy_sequence(const uint8_t *from, int64_t context, uint8_t *inputs, uint8_t *targets) {
  memcpy(inputs, from, (size_t)context);
  memcpy(targets, from + 1, (size_t)context);
}

void ufp4_text_batch(const ufp4_text_t *text, uint64_t seed, int64_t step, int64_t batch,
                     int64_t context, uint8_t *inputs, uint8_t *targets) {
  ufp4_draw_t draw = ufp4_draw_start(seed, UFP4_DRAW_DATA);
  uint64_t places = (uint64_t)(text->train_bytes - context);
  for (int64_t i = 0; i < batch; i++) {
    uint64_t at = ufp4_draw_at(&draw, (uint64_t)step << 20 | (uint64_t)i) % places;
    copy_sequence(text->train + at, context, inputs + i * context, targets + i * context);
  }
}

int64_t ufp4_text_held_sequences(const ufp4_text_t *text, int64_t context, int64_t wanted) {
  int64_t available = (text->held_bytes - 1) / context;
  return available < wanted ? available : wanted;
}

void ufp4_text_held_sequence(const ufp4_text_t *text, int64_t index, int64_t count, int64_t context,
                             uint8_t *inputs, uint8_t *targets) {
  int64_t stride = (text->held_bytes - 1) / count;
  copy_sequence(text->held + index * stride, context, inputs, targets);
}
