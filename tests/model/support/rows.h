// SPDX-License-Identifier: Apache-2.0
// Tables of changes to a legal call, most of which make it illegal.
#ifndef UFP4_TEST_ROWS_H
#define UFP4_TEST_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** The members that a row changes in a call_t, a type that the test defines; a member of 0 bytes is
 * unused. Values are written little-endian. */
typedef struct {
  const char *what;
  struct {
    size_t offset, bytes;
    uint64_t value;
  } set[6];
} row_t;

#define SET(member, value) \
  {offsetof(call_t, member), sizeof(((call_t *)0)->member), (uint64_t)(value)}

static inline void row_apply(const row_t *row, void *call) {
  for (int i = 0; i < 6; i++) {
    memcpy((char *)call + row->set[i].offset, &row->set[i].value, row->set[i].bytes);
  }
}

#endif
