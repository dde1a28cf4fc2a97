// SPDX-License-Identifier: Apache-2.0
// Text as byte tokens: whitespace is collapsed, and the text is cut into chunks, of which every
// 40th is held out.
#ifndef UFP4_TRAIN_TEXT_H
#define UFP4_TRAIN_TEXT_H

#include <stdint.h>

#include "ufp4/status.h"
#include "ufp4/tensor.h"

/** The GNU Collaborative International Dictionary of English, of Debian's package dict-gcide. */
#define UFP4_TEXT_GCIDE "/usr/share/dictd/gcide.dict.dz"
#define UFP4_TEXT_CHUNK 65536
#define UFP4_TEXT_PERIOD 40

typedef struct {
  uint8_t *train;
  int64_t train_bytes;
  uint8_t *held;
  int64_t held_bytes;
} ufp4_text_t;

/** Replaces each run of whitespace by one space in place. @return the new length. */
int64_t ufp4_text_collapse(uint8_t *bytes, int64_t count);
/** Splits collapsed bytes: chunk i is held out if i mod 40 is 39. A text of under 40 chunks of 64
 * KiB is cut into chunks of a 40th of it. */
ufp4_status_t ufp4_text_split(const uint8_t *bytes, int64_t count, ufp4_text_t *out);
/** Reads a plain or gzip-compressed (.gz, .dz) file. UFP4_ERROR_IO: it cannot be read;
 * UFP4_ERROR_FORMAT: it is damaged, in UTF-16 or UTF-32, or too short for one sequence of @p
 * context tokens in each part. UFP4_OK: @p message is a note if the file hardly looks like text,
 * otherwise empty. */
ufp4_status_t ufp4_text_read(const char *path, int64_t context, ufp4_text_t *out,
                             ufp4_message_t *message);
void ufp4_text_free(ufp4_text_t *text);

/** Draws the training sequences of a step: @p inputs and @p targets [batch][context], from random
 * positions that depend only on seed, step and row (fewer than 2^20 rows). */
void ufp4_text_batch(const ufp4_text_t *text, uint64_t seed, int64_t step, int64_t batch,
                     int64_t context, uint8_t *inputs, uint8_t *targets);
/** Returns the number of held-out sequences, at most @p wanted. */
int64_t ufp4_text_held_sequences(const ufp4_text_t *text, int64_t context, int64_t wanted);
/** Returns held-out sequence @p index of @p count, which are spread evenly without overlap. */
void ufp4_text_held_sequence(const ufp4_text_t *text, int64_t index, int64_t count, int64_t context,
                             uint8_t *inputs, uint8_t *targets);

#endif
