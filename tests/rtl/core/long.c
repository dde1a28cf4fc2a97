// SPDX-License-Identifier: Apache-2.0
// Jobs with a long side.
#include "long.h"

#include <string.h>

#include "random_jobs.h"

void long_sides(const setting_t *setting) {
  pair_t pair = pair_open_long(setting, 5000);
  pair_scramble(&pair);
  for (uint32_t side = 0; side < 3; side++) {
    uint32_t sides[3] = {1 + below(&pair, 20), 1 + below(&pair, 20), 1 + below(&pair, 20)};
    sides[side] = LONG_SIDE / 2 + 1 + below(&pair, LONG_SIDE / 2);
    chain_of(&pair, sides[0], sides[1], sides[2]);
    for (uint32_t power = 64; power < LONG_SIDE; power *= 2) {
      sides[side] = power + 1 + below(&pair, 16);
      gemms(&pair, sides[0], sides[1], sides[2], 1);
    }
  }
  pair_close(&pair);
}

void long_k(const setting_t *setting) {
  pair_t pair = pair_open_long(setting, 5500);
  pair_scramble(&pair);
  gemms(&pair, 1 + below(&pair, 4), 1 + below(&pair, 4), LONG_K + 1 + below(&pair, 16), 1);
  pair_close(&pair);
}

// Both copies, rounded stochastically, of a tensor with a side a little over LONG_K: each index of
// a block has its own random bits. The source takes seven places, the copies the others.
static void long_quant(pair_t *pair, uint32_t rows, uint32_t cols) {
  ufp4_descriptor_t quant = random_quant(pair, rows, cols, 0, X_CODES, 0);
  ufp4_quant_descriptor_t *q = &quant.quant;
  q->src_dtype = UFP4_DTYPE_BF16;
  q->src_addr = pair->address;
  q->src_stride_bytes = (2 * cols + UFP4_ALIGN_BYTES - 1) / UFP4_ALIGN_BYTES * UFP4_ALIGN_BYTES;
  q->row_stride_blocks = (cols + 127) / 128 * 8;
  q->col_stride_blocks = (rows + 127) / 128 * 8;
  q->round = UFP4_ROUND_SR;
  q->row_mode = q->col_mode = UFP4_MODE_ENABLE;
  q->row_exponent = q->col_exponent = 0;
  const uint64_t source_places = 7, panel = UFP4_PANEL_CODE_BYTES + UFP4_PANEL_SCALE_BYTES;
  // Codes, then scales.
  q->row_codes_addr = pair->address + source_places * pair->place_bytes;
  q->row_scales_addr =
      q->row_codes_addr + (uint64_t)(rows + 15) / 16 * q->row_stride_blocks * UFP4_PANEL_CODE_BYTES;
  q->col_codes_addr = q->row_codes_addr + (uint64_t)(rows + 15) / 16 * q->row_stride_blocks * panel;
  q->col_scales_addr =
      q->col_codes_addr + (uint64_t)(cols + 15) / 16 * q->col_stride_blocks * UFP4_PANEL_CODE_BYTES;
  // Numbers of 1/2 to 2.
  for (uint64_t at = 0; at < source_places * pair->place_bytes; at += sizeof(uint64_t)) {
    const uint64_t four = (check_next(&pair->random) & 0x80FF80FF80FF80FF) | 0x3F003F003F003F00;
    memcpy(pair->memory[0] + at, &four, sizeof four);
  }
  pair_write(pair, pair->address, pair->memory[0], source_places * pair->place_bytes);
  pair_job(pair, &quant, "QUANT with a long side");
  pair_compare(pair, "QUANT with a long side");
}

void long_quants(const setting_t *setting) {
  pair_t pair = pair_open_long(setting, 6000);
  pair_scramble(&pair);
  // Two blocks more, so that something is added to a sum with the uppermost bit; and two long
  // strips.
  const uint32_t side = LONG_K + 17 + below(&pair, 16);
  long_quant(&pair, side, 1 + below(&pair, 4));
  long_quant(&pair, 17 + below(&pair, 2), side);
  // Rows to come, whose count borrows from each bit in the first strip, or from every third.
  for (uint32_t power = 64; power < LONG_K; power <<= check_draws(3, 1))
    long_quant(&pair, power + 1 + below(&pair, 15), 1);
  // The number of beats is such that the count of the remaining ones starts with a bit of its own,
  // which is gone a chunk later.
  long_quant(&pair, 1 + below(&pair, 4), LONG_K / 4 + 80 + below(&pair, 16));
  pair_close(&pair);
}
