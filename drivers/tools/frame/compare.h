// SPDX-License-Identifier: Apache-2.0
// Compares the results of two backends bit by bit.
#ifndef UFP4_COMPARE_H
#define UFP4_COMPARE_H

#include <stddef.h>

#include "ufp4.h"

/** A comparison. Its first differences, with index and both values in hex, are printed to stderr
 * unless it is silent; the very first one is kept. */
typedef struct {
  const char *got_name;   ///< name of the backend under test
  const char *want_name;  ///< name of the reference backend
  const char *place;      ///< prefix of differences, such as "block 3, fc2, wgrad: "; NULL: none
  int silent;
  int64_t mismatches;
  char first[200];  ///< the first difference in words; empty if there is none
} compare_t;

void compare_value(compare_t *compare, const char *what, int64_t index, uint64_t got,
                   uint64_t want);
/** Compares every code (including padding), every scale, the tensor exponent and the flags of two
 * operands of the same shape. */
void compare_operands(compare_t *compare, const char *what, const ufp4_operand_t *got,
                      const ufp4_operand_t *want);
/** Compares @p count elements of @p bytes (at most 8) each. */
void compare_elements(compare_t *compare, const char *what, const void *got, const void *want,
                      size_t bytes, int64_t count);

#endif
