// SPDX-License-Identifier: Apache-2.0
// Packing of the AVX2 GEMM of the contract fp32 (fp32.h): codes and scales to panels.
#include "gemm/avx2/fp32.h"
#include "gemm/pack.h"
#include "number/lanes.h"

#ifdef __AVX2__
#include "gemm/avx2/codes.h"

#define MAX_SHIFT 11  // keeps a significand under 16 within 15 bits
#define TOP_SHIFT 14  // the largest shift of E4M3
#define NONE (TOP_SHIFT - MAX_SHIFT + 1)

// The scales of one row's chunk, by group.
typedef struct {
  uint32_t bits[CHUNK];     // E8M0 and E4M3: the byte; FP32: the bit pattern; 0 for NaN
  uint8_t elements[CHUNK];  // shift of A's elements; NONE where the codes do not matter
  uint8_t bit[CHUNK];       // E4M3: bit 7 of the byte
  int32_t least, most;      // E8M0: smallest and largest byte of non-zero blocks
  int nan;
} scales_t;

// Splits a scale byte: a normal scale is (byte & 7) + 8, shifted left by its exponent field minus
// 1, times 2^-9; a subnormal scale is byte * 2^-9.
INLINE uint32_t shift_of(uint32_t byte) {
  return byte < 8 ? 0 : (byte >> 3) - 1;
}

INLINE uint32_t significand_of(uint32_t byte) {
  return byte < 8 ? byte : (byte & 7) + 8;
}

static void load_e4m3(const uint8_t *from, int64_t groups, scales_t *s) {
  uint8_t bytes[CHUNK] = {0};
  uint32_t nan = 0;
  memcpy(bytes, from, (size_t)groups);
  for (int g = 0; g < CHUNK; g++) {
    const uint32_t byte = bytes[g] & 0x7Fu, clean = byte == 0x7F ? 0 : byte,
                   shift = shift_of(clean);
    s->bits[g] = clean;
    s->bit[g] = bytes[g] >> 7;
    s->elements[g] = (uint8_t)(clean == 0 ? NONE : shift > MAX_SHIFT ? shift - MAX_SHIFT : 0);
    nan |= byte == 0x7F;
  }
  s->nan = nan != 0;
}

static void load_fp32(const float *from, int64_t groups, scales_t *s) {
  float scales[CHUNK] = {0};
  uint32_t nan = 0;
  memcpy(scales, from, (size_t)groups * sizeof *scales);
  for (int g = 0; g < CHUNK; g++) {
    s->bits[g] = scales[g] != scales[g] ? 0 : ufp4_f32_bits(scales[g]);
    s->elements[g] = 0;
    nan |= scales[g] != scales[g];
  }
  s->nan = nan != 0;
}

// Returns whether a group contains a code with non-zero quanta.
INLINE int is_nonzero(const uint8_t codes[CODE_BYTES], ufp4_elem_t elem) {
  uint64_t all;
  memcpy(&all, codes, sizeof all);
  // INT4 has no -0: its code 8 is -8.
  return (all & (elem == UFP4_ELEM_INT4 ? UINT64_MAX : UINT64_C(0x7777777777777777))) != 0;
}

// The exponent of a block of zeros is arbitrary: the row's smallest does not widen the range.
static void load_e8m0(const uint8_t *bytes, const uint8_t *codes, int64_t groups, ufp4_elem_t elem,
                      scales_t *s) {
  s->least = 255;
  s->most = 0;
  for (int64_t g = 0; g < groups; g++) {
    const int32_t byte = bytes[g / 2];
    s->bits[g] = (uint32_t)byte;
    s->elements[g] = byte != 0xFF && is_nonzero(codes + g * CODE_BYTES, elem) ? 0 : NONE;
    s->nan |= byte == 0xFF;
    if (s->elements[g] == NONE) continue;
    s->least = byte < s->least ? byte : s->least;
    s->most = byte > s->most ? byte : s->most;
  }
  if (s->least > s->most) s->least = s->most = 127;
  for (int g = 0; g < groups; g += 2) {
    const int some = s->elements[g] != NONE || (g + 1 < groups && s->elements[g + 1] != NONE);
    s->bits[g] = some ? s->bits[g] : (uint32_t)s->least;
  }
}

static void load_scales(const ufp4_operand_t *x, int64_t row, int64_t group, int64_t groups,
                        scales_t *s) {
  const uint8_t *codes = x->codes + (row * x->blocks + group) * CODE_BYTES;
  *s = (scales_t){.nan = 0};
  if (x->scale == UFP4_SCALE_FP32) {
    load_fp32(x->scales_f32 + row * x->scale_blocks + group, groups, s);
  } else if (x->scale == UFP4_SCALE_E8M0) {
    load_e8m0(x->scales + row * x->scale_blocks + group / 2, codes, groups, x->elem, s);
  } else {
    load_e4m3(x->scales + row * x->scale_blocks + group, groups, s);
  }
}

static void put_scales_a(const scales_t *s, int r, a_panel_t *panel) {
  if (panel->scale_format == UFP4_SCALE_FP32) {
    for (int g = 0; g < CHUNK; g++) panel->group[g].scale[r] = ufp4_f32_value(s->bits[g]);
  } else if (panel->scale_format == UFP4_SCALE_E8M0) {
    for (int g = 0; g < CHUNK; g++) panel->group[g].exponent[r] = s->bits[g] << 23;
    panel->exponent_min = s->least < panel->exponent_min ? s->least : panel->exponent_min;
    panel->exponent_max = s->most > panel->exponent_max ? s->most : panel->exponent_max;
  } else {
    for (int g = 0; g < CHUNK; g++) {
      const uint32_t shift = shift_of(s->bits[g]), most = shift < MAX_SHIFT ? shift : MAX_SHIFT;
      panel->group[g].integer[r][0] = panel->group[g].integer[r][1] =
          (uint16_t)(significand_of(s->bits[g]) << most);
    }
  }
}

static void put_elements_a(const uint8_t *codes, const scales_t *s, __m128i tables[NONE + 1][2],
                           int r, a_panel_t *panel) {
  const int pairs = panel->scale_format == UFP4_SCALE_E8M0;
  // E8M0 scales cover two groups.
  for (int g = 0; g < panel->groups + (pairs ? panel->groups % 2 : 0); g++) {
    const int inside = g < panel->groups;
    const __m128i elements = inside
                                 ? decode(codes + g * CODE_BYTES, tables[s->elements[g]][s->bit[g]])
                                 : tables[NONE][0];
    _mm_store_si128((__m128i *)panel->group[g].elements[r], elements);
    put_start(elements, panel->group[g].start[r]);
    if (!pairs || g % 2 == 0) continue;
    for (int i = 0; i < 2; i++) {
      panel->group[g - 1].start[r][i] =
          (int16_t)(panel->group[g - 1].start[r][i] + panel->group[g].start[r][i]);
    }
  }
}

void gemm_avx2_fp32_pack_a(const gemm_job_t *job, int64_t first, int64_t group, void *out,
                           uint8_t *poisoned) {
  const ufp4_operand_t *a = job->a;
  __m128i tables[NONE + 1][2];
  a_panel_t *panel = out;
  for (int shift = 0; shift < NONE; shift++) quanta_tables(a->elem, shift, 0, tables[shift]);
  tables[NONE][0] = tables[NONE][1] = _mm_setzero_si128();
  panel->groups = (int32_t)gemm_chunk_blocks(a, group, CHUNK);
  panel->scale_format = (int32_t)a->scale;
  panel->exponent_min = 254;
  panel->exponent_max = 0;
  panel->unit = gemm_power(-gemm_frac_of(job));
  for (int r = 0; r < ROWS; r++) {
    // Rows beyond the operand repeat the last one, because their sums are not stored.
    const int64_t row = first + r < a->rows ? first + r : a->rows - 1;
    scales_t s;
    load_scales(a, row, group, panel->groups, &s);
    if (s.nan && first + r < a->rows) poisoned[r] = 1;
    put_scales_a(&s, r, panel);
    put_elements_a(a->codes + (row * a->blocks + group) * CODE_BYTES, &s, tables, r, panel);
  }
}

static void put_scales_b(const gemm_job_t *job, const scales_t *s, int c, b_panel_t *panel) {
  const int32_t bias = 127 + gemm_frac_of(job);
  const float unit = gemm_power(-18 - gemm_frac_of(job));
  if (job->b->scale == UFP4_SCALE_FP32) {
    for (int g = 0; g < CHUNK; g++) panel->scale[g][c] = ufp4_f32_value(s->bits[g]);
  } else if (job->b->scale != UFP4_SCALE_E8M0) {
    for (int g = 0; g < CHUNK; g++) {
      panel->scale[g][c] = (float)(int)(significand_of(s->bits[g]) << shift_of(s->bits[g])) * unit;
    }
  } else {
    for (int g = 0; g < CHUNK; g++)
      panel->exponent[g][c] = (int32_t)((s->bits[g] - (uint32_t)bias) << 23);
    panel->exponent_min =
        s->least - bias < panel->exponent_min ? s->least - bias : panel->exponent_min;
    panel->exponent_max =
        s->most - bias > panel->exponent_max ? s->most - bias : panel->exponent_max;
  }
}

void gemm_avx2_fp32_pack_b(const gemm_job_t *job, int64_t first, int64_t group, void *out,
                           uint8_t *poisoned) {
  const ufp4_operand_t *b = job->b;
  const __m128i zeros = _mm_set1_epi8(OFFSET);
  const uint8_t *codes[COLS];
  __m128i tables[2];
  scales_t s[COLS];
  b_panel_t *panel = out;
  const int64_t groups = gemm_chunk_blocks(b, group, CHUNK);
  panel->exponent_min = 254;
  panel->exponent_max = -254;
  quanta_tables(b->elem, 0, OFFSET, tables);
  for (int c = 0; c < COLS; c++) {
    const int64_t row = first + c < b->rows ? first + c : b->rows - 1;
    load_scales(b, row, group, groups, &s[c]);
    if (s[c].nan && first + c < b->rows) poisoned[c] = 1;
    codes[c] = b->codes + (row * b->blocks + group) * CODE_BYTES;
    put_scales_b(job, &s[c], c, panel);
  }
  for (int g = 0; g < groups; g++) {
    __m128i bytes[COLS];
    for (int c = 0; c < COLS; c++) {
      bytes[c] =
          decode(codes[c] + g * CODE_BYTES, s[c].elements[g] == NONE ? zeros : tables[s[c].bit[g]]);
    }
    store_quads(bytes, panel->elements[g][0][0], sizeof panel->elements[g][0]);
    store_quads(bytes + 8, panel->elements[g][0][8], sizeof panel->elements[g][0]);
  }
}

#endif
