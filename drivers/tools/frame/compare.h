// SPDX-License-Identifier: Apache-2.0
// Bit for bit comparison of what two backends computed.
#ifndef UFP4_COMPARE_H
#define UFP4_COMPARE_H

#include <stddef.h>

#include "ufp4.h"

/** One comparison. Its first differences, index and both values in hex, are printed to stderr,
 * unless it is silent; the very first is kept. */
typedef struct {
  const char *got_name;   ///< of the backend under test
  const char *want_name;  ///< of the one it is checked against
  const char *place;      ///< goes before what differs, as "block 3, fc2, wgrad: "; NULL: nothing
  int silent;
  int64_t mismatches;
  char first[200];  ///< the first difference in words; empty if there is none
} compare_t;

void compare_value(compare_t *compare, const char *what, int64_t index, uint64_t got,
                   uint64_t want);
/** Every code (padding included), scale, the tensor exponent and the flags of two operands of one
 * shape. */
void compare_operands(compare_t *compare, const char *what, const ufp4_operand_t *got,
                      const ufp4_operand_t *want);
/** @p count elements of @p bytes (at most 8) each. */
void compare_elements(compare_t *compare, const char *what, const void *got, const void *want,
                      size_t bytes, int64_t count);

#endif
