// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PRINTED 5

void compare_value(compare_t *compare, const char *what, int64_t index, uint64_t got,
                   uint64_t want) {
  if (got == want) return;
  if (compare->mismatches++ >= PRINTED) return;
  char words[sizeof compare->first];
  snprintf(words, sizeof words, "%s%s, index %" PRId64 ": %s 0x%" PRIx64 ", %s 0x%" PRIx64,
           compare->place != NULL ? compare->place : "", what, index, compare->got_name, got,
           compare->want_name, want);
  if (compare->mismatches == 1) memcpy(compare->first, words, sizeof words);
  if (!compare->silent) fprintf(stderr, "%s\n", words);
}

static unsigned code_at(const ufp4_operand_t *operand, int64_t index) {
  return (unsigned)operand->codes[index / 2] >> (index % 2 * 4) & 15u;
}

void compare_operands(compare_t *compare, const char *what, const ufp4_operand_t *got,
                      const ufp4_operand_t *want) {
  int64_t blocks = want->rows * want->blocks;
  char part[64];
  snprintf(part, sizeof part, "%s codes", what);
  for (int64_t i = 0; i < blocks * 16; i++)
    compare_value(compare, part, i, code_at(got, i), code_at(want, i));
  snprintf(part, sizeof part, "%s scales", what);
  int64_t bytes;
  const uint8_t *got_scales = ufp4_operand_scale_bytes(got, &bytes);
  const uint8_t *want_scales = ufp4_operand_scale_bytes(want, &bytes);
  for (int64_t i = 0; i < bytes; i++)
    compare_value(compare, part, i, got_scales[i], want_scales[i]);
  snprintf(part, sizeof part, "%s tensor scale", what);
  compare_value(compare, part, 0, ufp4_f32_bits(got->tensor_scale),
                ufp4_f32_bits(want->tensor_scale));
  snprintf(part, sizeof part, "%s exponent", what);
  compare_value(compare, part, 0, (uint32_t)got->exponent, (uint32_t)want->exponent);
  snprintf(part, sizeof part, "%s flags", what);
  compare_value(compare, part, 0, got->flags, want->flags);
}

static uint64_t element_at(const void *data, size_t bytes, int64_t index) {
  uint64_t bits = 0;  // little-endian, as all supported hosts are
  memcpy(&bits, (const uint8_t *)data + (size_t)index * bytes, bytes);
  return bits;
}

void compare_elements(compare_t *compare, const char *what, const void *got, const void *want,
                      size_t bytes, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    compare_value(compare, what, i, element_at(got, bytes, i), element_at(want, bytes, i));
  }
}
