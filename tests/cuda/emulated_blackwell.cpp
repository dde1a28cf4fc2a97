// SPDX-License-Identifier: Apache-2.0
// The product of FP4 elements with scales. The fragments follow the PTX ISA, "Matrix Fragments for
// mma.m16n8k64"; "Block Scaling for mma.sync" says which lanes hold scales. The arithmetic is the
// golden model's.
#include "emulated_blackwell.h"

#include "emulated_machine.h"
#include "emulated_nv.h"

namespace emulated {

namespace {

// The operands of one lane.
struct product_t {
  float *d;
  const uint32_t *a, *b;
  uint32_t scales_a, scales_b;
};

void read_codes(uint32_t word, uint8_t *codes) {
  for (unsigned i = 0; i < 8; i++) codes[i] = word >> (4 * i) & 15;
}

void read_scales(uint32_t word, uint8_t scales[4]) {
  // The ISA does not define a scale with bit 7, so a GPU may do anything with it.
  if ((word & 0x80808080u) != 0) give_up("an E4M3 scale with bit 7");
  for (unsigned i = 0; i < 4; i++) {
    const unsigned group = weather.fault == EMULATED_FAULT_NV_BYTES ? 3 - i : i;
    scales[group] = (uint8_t)(word >> (8 * i) & 255);
  }
}

// With lane = 4 g + t, register r of A's fragment is in row g, + 8 if r is odd, and columns 8 t to
// 8 t + 7, + 32 for r >= 2; of B's in column g, rows 8 t to 8 t + 7, + 32 for r = 1.
void read_lane(const product_t &lane, unsigned g, unsigned t, emulated_nv_line_t a[16],
               emulated_nv_line_t b[8]) {
  for (unsigned r = 0; r < 4; r++) {
    const bool wrong = weather.fault == EMULATED_FAULT_NV_A;
    const unsigned odd = wrong ? r / 2 : r % 2, upper = wrong ? r % 2 : r / 2;
    read_codes(lane.a[r], a[g + 8 * odd].codes + 8 * t + 32 * upper);
  }
  for (unsigned r = 0; r < 2; r++) {
    const unsigned upper = weather.fault == EMULATED_FAULT_NV_B ? 1 - r : r;
    read_codes(lane.b[r], b[g].codes + 8 * t + 32 * upper);
  }
  const unsigned first = weather.fault == EMULATED_FAULT_NV_SCALES ? 1 : 0;
  if (t == first) read_scales(lane.scales_a, a[g].scales);
  if (t == 1 - first) read_scales(lane.scales_a, a[g + 8].scales);
  if (t == 0) read_scales(lane.scales_b, b[g].scales);
}

// D's fragment has the layout of all products of 16 x 8.
unsigned row_of(unsigned lane, unsigned e) {
  return lane / 4 + e / 2 * 8;
}
unsigned column_of(unsigned lane, unsigned e) {
  return lane % 4 * 2 + (weather.fault == EMULATED_FAULT_NV_D ? 1 - e % 2 : e % 2);
}

void multiply(void *const *lanes) {
  emulated_nv_line_t a[16], b[8];
  float sums[16][8];
  products++;
  for (unsigned lane = 0; lane < 32; lane++) {
    const product_t &own = *(const product_t *)lanes[lane];
    read_lane(own, lane / 4, lane % 4, a, b);
    for (unsigned e = 0; e < 4; e++) sums[row_of(lane, e)][column_of(lane, e)] = own.d[e];
  }
  emulated_nv_step(a, b, sums);
  for (unsigned lane = 0; lane < 32; lane++) {
    float *d = ((const product_t *)lanes[lane])->d;
    for (unsigned e = 0; e < 4; e++) d[e] = sums[row_of(lane, e)][column_of(lane, e)];
  }
}

}  // namespace

void mma_nvfp4(float d[4], const uint32_t a[4], const uint32_t b[2], uint32_t scales_a,
               uint32_t scales_b) {
  product_t own = {d, a, b, scales_a, scales_b};
  together(&own, multiply);
}

}  // namespace emulated
