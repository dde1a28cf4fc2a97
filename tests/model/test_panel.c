// SPDX-License-Identifier: Apache-2.0
// Tests the panel-major layout of operands (docs/ip/architecture.md, "Operands in memory").
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "ufp4/panel.h"

static const int shapes[][2] = {{1, 1},    {1, 17},  {16, 16},   {17, 16},
                                {15, 130}, {33, 47}, {100, 128}, {5, 129}};
#define SHAPES ((int)(sizeof shapes / sizeof shapes[0]))

typedef struct {
  int64_t stride, code_bytes, scale_bytes;
  uint8_t *codes, *scales;
} panels_t;

/** Allocates panel memory and fills it with 0xA5, so that unwritten bytes show. */
static panels_t panels(int64_t rows, int64_t stride) {
  panels_t p = {stride, ufp4_panel_codes_bytes(rows, stride), ufp4_panel_scales_bytes(rows, stride),
                NULL, NULL};
  p.codes = malloc((size_t)p.code_bytes);
  p.scales = malloc((size_t)p.scale_bytes);
  if (!p.codes || !p.scales) abort();
  memset(p.codes, 0xA5, (size_t)p.code_bytes);
  memset(p.scales, 0xA5, (size_t)p.scale_bytes);
  return p;
}

static void panels_free(panels_t *p) {
  free(p->codes);
  free(p->scales);
}

TEST(stride_is_whole_groups_of_eight_blocks) {
  static const int table[][2] = {{1, 8},
                                 {16, 8},
                                 {128, 8},
                                 {129, 16},
                                 {256, 16},
                                 {257, 24},
                                 {UFP4_MAX_DIM, UFP4_MAX_DIM / 16}};
  for (int i = 0; i < 7; i++)
    check_bits(i, (uint64_t)ufp4_panel_stride_blocks(table[i][0]), (uint64_t)table[i][1], "cols %d",
               table[i][0]);
}

TEST(bytes_of_whole_row_groups) {
  for (int64_t rows = 1; rows < 100; rows++) {
    const int64_t units = (rows + 15) / 16 * 24;
    check_bits(rows, (uint64_t)ufp4_panel_codes_bytes(rows, 24), (uint64_t)(128 * units), "codes");
    check_bits(rows, (uint64_t)ufp4_panel_scales_bytes(rows, 24), (uint64_t)(16 * units), "scales");
  }
}

TEST(bytes_do_not_overflow_32_bits) {
  check_bits(0, (uint64_t)ufp4_panel_codes_bytes(UFP4_MAX_DIM, UFP4_MAX_DIM / 16), 1ull << 39,
             "codes");
  check_bits(1, (uint64_t)ufp4_panel_scales_bytes(UFP4_MAX_DIM, UFP4_MAX_DIM / 16), 1ull << 36,
             "scales");
}

// E4M3 has scales of 16 elements, E8M0 of 32.
static const ufp4_scale_t scales[] = {UFP4_SCALE_E4M3, UFP4_SCALE_E8M0};

TEST(pack_matches_second_model) {
  check_random_t random = check_random();
  for (int i = 0; i < SHAPES * 6; i++) {
    ufp4_operand_t in =
        fixture_operand_scaled(&random, UFP4_ELEM_E1M2, scales[i % 2], shapes[i / 6][0],
                               shapes[i / 6][1], FIXTURE_SCALES_ANY);
    reference_operand_t slow = fixture_slow_operand(&in);
    const int64_t stride = ufp4_panel_stride_blocks(in.cols) + 8 * (i % 3);
    panels_t got = panels(in.rows, stride), want = panels(in.rows, stride);
    ufp4_panel_pack(&in, stride, got.codes, got.scales);
    reference_panel_pack(&slow, stride, want.codes, want.scales);
    for (int64_t j = 0; j < got.code_bytes; j++)
      check_bits(j, got.codes[j], want.codes[j], "codes, shape %d", i / 6);
    for (int64_t j = 0; j < got.scale_bytes; j++)
      check_bits(j, got.scales[j], want.scales[j], "scales %d, shape %d", (int)scales[i % 2],
                 i / 6);
    panels_free(&got);
    panels_free(&want);
    reference_operand_free(&slow);
    ufp4_operand_free(&in);
  }
}

TEST(place_of_one_code) {
  // Row 21, k 37 is row 5 of group 1 and element 5 of block 2: byte 2 of the block's 8, high
  // nibble.
  ufp4_operand_t in;
  if (ufp4_operand_create(UFP4_ELEM_E2M1, 22, 40, &in) != UFP4_OK) abort();
  in.codes[21 * in.blocks * 8 + 37 / 2] = 0xC0;
  in.scales[21 * in.blocks + 2] = 0x42;
  panels_t p = panels(22, 8);
  ufp4_panel_pack(&in, 8, p.codes, p.scales);
  check_bits(0, p.codes[128 * (8 + 2) + 8 * 5 + 2], 0xC0, "code");
  check_bits(1, p.scales[16 * (8 + 2) + 5], 0x42, "scale");
  check_bits(2, p.codes[128 * (8 + 2) + 8 * 6], 0, "a row that pads the group");
  check_bits(3, p.codes[128 * 3], 0xA5, "a block that pads the stride");
  panels_free(&p);
  ufp4_operand_free(&in);
}

TEST(unpack_inverts_pack) {
  check_random_t random = check_random();
  for (int i = 0; i < SHAPES * 2; i++) {
    const int *shape = shapes[i / 2];
    ufp4_operand_t out, in = fixture_operand_scaled(&random, UFP4_ELEM_INT4, scales[i % 2],
                                                    shape[0], shape[1], FIXTURE_SCALES_NAN);
    if (ufp4_operand_create_scaled(in.elem, in.scale, in.rows, in.cols, &out) != UFP4_OK) abort();
    panels_t p = panels(in.rows, ufp4_panel_stride_blocks(in.cols));
    ufp4_panel_pack(&in, p.stride, p.codes, p.scales);
    ufp4_panel_unpack(p.codes, p.scales, p.stride, &out);
    for (int64_t j = 0; j < in.rows * in.blocks * 8; j++)
      check_bits(j, out.codes[j], in.codes[j], "codes, shape %d", i / 2);
    for (int64_t j = 0; j < in.rows * in.scale_blocks; j++)
      check_bits(j, out.scales[j], in.scales[j], "scales %d, shape %d", (int)in.scale, i / 2);
    panels_free(&p);
    ufp4_operand_free(&in);
    ufp4_operand_free(&out);
  }
}
