// SPDX-License-Identifier: Apache-2.0
// Records of hexadecimal columns with the operands and results of a unit; and the tables of units
// (vectors_multiply.c, vectors_fp32.c, vectors_nv.c, vectors_scale.c, vectors_transform.c,
// vectors_quantize.c).
#ifndef UFP4_VECTORS_H
#define UFP4_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ufp4.h"

#define VECTORS_MAX_COLUMNS 12
#define VECTORS_WORDS 16  // of the widest column: 512 bits

/** The meaning of a column with an element format. */
#define VECTORS_ELEM "element format: 0 E2M1, 1 E1M2, 2 INT4"

/** A column; results are those whose meaning begins with "result: ". */
typedef struct {
  const char *name;
  int bits;
  const char *meaning;
} vectors_column_t;

/** A record, with the low words of each column first. */
typedef struct {
  uint32_t column[VECTORS_MAX_COLUMNS][VECTORS_WORDS];
} vectors_record_t;

/** The sink of a unit's records, which are printed, or only counted if @p out is NULL. */
typedef struct {
  FILE *out;
  const struct vectors_unit *unit;
  uint64_t random;   ///< state of the random generator
  uint64_t records;  ///< so far
} vectors_t;

typedef struct vectors_unit {
  const char *name;  ///< name of the RTL module without ufp4_
  const char *what;
  vectors_column_t columns[VECTORS_MAX_COLUMNS];
  void (*boundary)(vectors_t *vectors);  ///< makes all boundary cases
  void (*draw)(vectors_t *vectors);      ///< draws a random record; NULL if the boundary cases are
                                         ///< exhaustive
} vectors_unit_t;

extern const vectors_unit_t vectors_multiply[], vectors_fp32[], vectors_nv[], vectors_scale[],
    vectors_transform[], vectors_quantize[];
extern const size_t vectors_multiply_count, vectors_fp32_count, vectors_nv_count,
    vectors_scale_count, vectors_transform_count, vectors_quantize_count;

int vectors_columns(const vectors_unit_t *unit);

/** Prints one record. */
void vectors_put(vectors_t *vectors, const vectors_record_t *record);
/** SplitMix64, and a number in [0, bound). */
uint64_t vectors_next(vectors_t *vectors);
uint32_t vectors_below(vectors_t *vectors, uint32_t bound);

/** Draw an element format, and codes. */
ufp4_elem_t vectors_draw_elem(vectors_t *vectors);
void vectors_draw_codes(vectors_t *vectors, uint8_t codes[16]);
/** Draws 16 FP32 numbers of one of several kinds; NaN and Inf only with @p special. */
void vectors_draw_block(vectors_t *vectors, int special, uint32_t bits[16]);

// Parts of records: a number, words, and 16 codes as one number, the first in its lowest bits.
void vectors_set(vectors_record_t *record, int column, uint64_t value);
void vectors_set_words(vectors_record_t *record, int column, const uint32_t *words, size_t count);
uint64_t vectors_join_codes(const uint8_t codes[16]);

/** Converts transformed lanes to the RTL's format: sign, three zeros, magnitude. */
void vectors_transformed_words(const int32_t numbers[16], uint32_t words[16]);

/** Searches for a block of elements mixed whose errors on both grids are equal, or differ by @p
 * apart units. t is 0, or 9 for a block that saturates: two of its numbers exceed 16 quanta, where
 * E2M1 has the smaller errors, and others are near 5 and 7 quanta, which E2M1 lacks. @return 1 if
 * one was found. */
int vectors_near_equal(vectors_t *vectors, int apart, int t, uint32_t bits[16]);

/** FP32 numbers at which formats begin, end and round. */
#define VECTORS_SPECIAL_NUMBERS 15
extern const uint32_t vectors_special_numbers[VECTORS_SPECIAL_NUMBERS];
/** Passes to @p put blocks of one of these numbers with another one in one place, or in half of
 * the places. */
typedef void (*vectors_put_block_t)(vectors_t *vectors, const uint32_t bits[16]);
void vectors_boundary_blocks(vectors_t *vectors, vectors_put_block_t put);

#endif
