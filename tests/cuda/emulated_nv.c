// SPDX-License-Identifier: Apache-2.0
#include "emulated_nv.h"

#include <math.h>
#include <string.h>

#include "gemm/micro.h"
#include "ufp4/format.h"
#include "ufp4/spec.h"

#define GROUPS 4
#define ROWS 16
#define COLS 8

// The rows of A or the columns of B, in the panels of @p width that micro.h defines.
typedef struct {
  int16_t quanta[ROWS * GROUPS * 16];
  int32_t significands[ROWS * GROUPS], exponents[ROWS * GROUPS];
  uint8_t poisoned[ROWS];
} room_t;

static unpacked_t unpack(const emulated_nv_line_t *lines, int count, int width, room_t *room) {
  static const int8_t quanta[UFP4_ELEM_COUNT][16] = UFP4_ELEM_QUANTA;
  memset(room, 0, sizeof *room);
  for (int i = 0; i < count; i++) {
    for (int g = 0; g < GROUPS; g++) {
      const int block = (i / width * GROUPS + g) * width;
      int significand, exponent;
      room->poisoned[i] |= !ufp4_e4m3_decode(lines[i].scales[g], &significand, &exponent);
      room->significands[block + i % width] = significand;
      room->exponents[block + i % width] = significand == 0 ? -126 : exponent - 6;
      for (int k = 0; k < 16; k++) {
        room->quanta[block * 16 + k * width + i % width] =
            quanta[UFP4_ELEM_E2M1][lines[i].codes[16 * g + k]];
      }
    }
  }
  return (unpacked_t){.rows = count,
                      .width = width,
                      .groups = GROUPS,
                      .block_groups = 1,
                      .quanta = room->quanta,
                      .significands = room->significands,
                      .exponents = room->exponents,
                      .poisoned = room->poisoned};
}

void emulated_nv_step(const emulated_nv_line_t a[16], const emulated_nv_line_t b[8],
                      float sums[16][8]) {
  room_t rooms[2];
  const unpacked_t left = unpack(a, ROWS, MICRO_ROWS, &rooms[0]),
                   right = unpack(b, COLS, MICRO_COLS, &rooms[1]);
  const int frac = 2 * ufp4_elem_frac(UFP4_ELEM_E2M1);
  for (int row = 0; row < ROWS; row += MICRO_ROWS) {
    float tile[MICRO_ROWS][MICRO_COLS] = {{0}};
    for (int i = 0; i < MICRO_ROWS; i++) memcpy(tile[i], sums[row + i], sizeof sums[0]);
    gemm_nv_micro(&left, row, &right, 0, frac, tile);
    for (int i = 0; i < MICRO_ROWS; i++) {
      for (int j = 0; j < COLS; j++)
        sums[row + i][j] = left.poisoned[row + i] | right.poisoned[j] ? NAN : tile[i][j];
    }
  }
}
