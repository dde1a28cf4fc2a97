// SPDX-License-Identifier: Apache-2.0
// This file is also part of the driver without an operating system (ufp4_bare.h), so it includes no
// header of a C library.
#include "ufp4/panel.h"

#define ROW_CODE_BYTES (UFP4_PANEL_CODE_BYTES / UFP4_PANEL_ROWS)
#define BLOCK (2 * ROW_CODE_BYTES)

static int64_t groups(int64_t rows) {
  return (rows + UFP4_PANEL_ROWS - 1) / UFP4_PANEL_ROWS;
}

int64_t ufp4_panel_stride_blocks(int64_t cols) {
  int64_t blocks = (cols + BLOCK - 1) / BLOCK;
  return (blocks + UFP4_ALIGN_BLOCKS - 1) / UFP4_ALIGN_BLOCKS * UFP4_ALIGN_BLOCKS;
}

int64_t ufp4_panel_codes_bytes(int64_t rows, int64_t stride_blocks) {
  return groups(rows) * stride_blocks * UFP4_PANEL_CODE_BYTES;
}

int64_t ufp4_panel_scales_bytes(int64_t rows, int64_t stride_blocks) {
  return groups(rows) * stride_blocks * UFP4_PANEL_SCALE_BYTES;
}

// A row of an operand and its position in the panels: k block b is at code_bytes * b and
// scale_bytes * b behind it. A scale of 32 elements has a copy in both of its k blocks.
typedef struct {
  int64_t codes, scales;              // in the panels, of k block 0
  int64_t codes_plain, scales_plain;  // in the operand
} row_t;

static row_t row_at(const ufp4_operand_t *operand, int64_t row, int64_t stride_blocks) {
  const int64_t first = row / UFP4_PANEL_ROWS * stride_blocks, lane = row % UFP4_PANEL_ROWS;
  return (row_t){first * UFP4_PANEL_CODE_BYTES + lane * ROW_CODE_BYTES,
                 first * UFP4_PANEL_SCALE_BYTES + lane, row * operand->blocks * ROW_CODE_BYTES,
                 row * operand->scale_blocks};
}

// Returns the index of a k block's scale; two blocks share a scale of 32 elements. (On 32-bit
// processors a shift by a variable would call libgcc.)
static int64_t scale_of(const ufp4_operand_t *operand, int64_t block) {
  return operand->block > BLOCK ? block >> 1 : block;
}

static void pack_row(const ufp4_operand_t *in, row_t row, uint8_t *codes, uint8_t *scales) {
  for (int64_t b = 0; b < in->blocks; b++) {
    __builtin_memcpy(codes + row.codes + b * UFP4_PANEL_CODE_BYTES,
                     in->codes + row.codes_plain + b * ROW_CODE_BYTES, ROW_CODE_BYTES);
    scales[row.scales + b * UFP4_PANEL_SCALE_BYTES] =
        in->scales[row.scales_plain + scale_of(in, b)];
  }
}

static void pack_padding(int64_t blocks, row_t row, uint8_t *codes, uint8_t *scales) {
  for (int64_t b = 0; b < blocks; b++) {
    __builtin_memset(codes + row.codes + b * UFP4_PANEL_CODE_BYTES, 0, ROW_CODE_BYTES);
    scales[row.scales + b * UFP4_PANEL_SCALE_BYTES] = 0;
  }
}

void ufp4_panel_pack(const ufp4_operand_t *in, int64_t stride_blocks, uint8_t *codes,
                     uint8_t *scales) {
  for (int64_t row = 0; row < groups(in->rows) * UFP4_PANEL_ROWS; row++) {
    const row_t place = row_at(in, row, stride_blocks);
    if (row < in->rows) {
      pack_row(in, place, codes, scales);
    } else {
      pack_padding(in->blocks, place, codes, scales);
    }
  }
}

void ufp4_panel_unpack(const uint8_t *codes, const uint8_t *scales, int64_t stride_blocks,
                       ufp4_operand_t *out) {
  for (int64_t row = 0; row < out->rows; row++) {
    const row_t place = row_at(out, row, stride_blocks);
    for (int64_t b = 0; b < out->blocks; b++) {
      __builtin_memcpy(out->codes + place.codes_plain + b * ROW_CODE_BYTES,
                       codes + place.codes + b * UFP4_PANEL_CODE_BYTES, ROW_CODE_BYTES);
      out->scales[place.scales_plain + scale_of(out, b)] =
          scales[place.scales + b * UFP4_PANEL_SCALE_BYTES];
    }
  }
}
