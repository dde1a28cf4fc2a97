// SPDX-License-Identifier: Apache-2.0
#include "ufp4/panel.h"

#include <string.h>

#include "number/lanes.h"

#define ROW_CODE_BYTES (UFP4_PANEL_CODE_BYTES / UFP4_PANEL_ROWS)

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

// The scale of k block b: of a scale of 32 elements both of its k blocks have a copy.
static int64_t scale_index(const ufp4_operand_t *operand, int64_t row, int64_t b) {
  return row * operand->scale_blocks + b * BLOCK / operand->block;
}

void ufp4_panel_pack(const ufp4_operand_t *in, int64_t stride_blocks, uint8_t *codes,
                     uint8_t *scales) {
  for (int64_t row = 0; row < groups(in->rows) * UFP4_PANEL_ROWS; row++) {
    int64_t first = row / UFP4_PANEL_ROWS * stride_blocks;
    int64_t lane = row % UFP4_PANEL_ROWS;
    for (int64_t b = 0; b < in->blocks; b++) {
      uint8_t *code = codes + (first + b) * UFP4_PANEL_CODE_BYTES + lane * ROW_CODE_BYTES;
      uint8_t *scale = scales + (first + b) * UFP4_PANEL_SCALE_BYTES + lane;
      if (row < in->rows) {
        memcpy(code, in->codes + (row * in->blocks + b) * ROW_CODE_BYTES, ROW_CODE_BYTES);
        *scale = in->scales[scale_index(in, row, b)];
      } else {
        memset(code, 0, ROW_CODE_BYTES);
        *scale = 0;
      }
    }
  }
}

void ufp4_panel_unpack(const uint8_t *codes, const uint8_t *scales, int64_t stride_blocks,
                       ufp4_operand_t *out) {
  for (int64_t row = 0; row < out->rows; row++) {
    int64_t first = row / UFP4_PANEL_ROWS * stride_blocks;
    int64_t lane = row % UFP4_PANEL_ROWS;
    for (int64_t b = 0; b < out->blocks; b++) {
      memcpy(out->codes + (row * out->blocks + b) * ROW_CODE_BYTES,
             codes + (first + b) * UFP4_PANEL_CODE_BYTES + lane * ROW_CODE_BYTES, ROW_CODE_BYTES);
      out->scales[scale_index(out, row, b)] = scales[(first + b) * UFP4_PANEL_SCALE_BYTES + lane];
    }
  }
}
