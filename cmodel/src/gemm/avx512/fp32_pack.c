// SPDX-License-Identifier: Apache-2.0
// Packing of the AVX-512 GEMM of the contract fp32 (fp32.h): codes and scales to panels.
#include "gemm/avx512/fp32.h"
#include "gemm/pack.h"
#include "number/lanes.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512DQ__) && defined(__AVX512VNNI__)
#include "gemm/avx512/codes.h"

// The scales of one row's chunk.
typedef struct {
  __m512 value;         // E4M3 and FP32, by group; 0 for NaN
  __m512i exponent;     // E8M0, by block of two groups: the byte, in both lanes of the block
  __mmask16 wanted;     // groups whose codes matter
  __mmask16 bit;        // E4M3: bit 7 of each byte
  int32_t least, most;  // E8M0: smallest and largest byte of non-zero blocks
  int nan;
} scales_t;

static __mmask16 lanes_mask(int64_t count) {
  return (__mmask16)(count >= 16 ? 0xFFFFu : (1u << count) - 1);
}

static scales_t load_e4m3(const uint8_t *bytes, int64_t groups) {
  const __m512i low = _mm512_set1_epi32(7), largest = _mm512_set1_epi32(0x7F);
  const __m128i loaded = _mm_maskz_loadu_epi8(lanes_mask(groups), bytes);
  const __m512i byte = _mm512_and_si512(_mm512_cvtepu8_epi32(loaded), largest);
  const __mmask16 nan = _mm512_cmpeq_epi32_mask(byte, largest);
  const __mmask16 subnormal = _mm512_cmple_epi32_mask(byte, low);
  // A normal scale has the fields of an FP32 number with another exponent bias; a subnormal one is
  // a multiple of 2^-9.
  __m512i bits = _mm512_add_epi32(_mm512_slli_epi32(byte, 20), _mm512_set1_epi32((127 - 7) << 23));
  __m512 value = _mm512_mask_mul_ps(_mm512_castsi512_ps(bits), subnormal, _mm512_cvtepi32_ps(byte),
                                    _mm512_set1_ps(0x1p-9f));
  scales_t s = {.nan = nan != 0, .value = _mm512_mask_mov_ps(value, nan, _mm512_setzero_ps())};
  s.wanted = _mm512_mask_test_epi32_mask((__mmask16)~nan, byte, byte);
  s.bit = _mm_movepi8_mask(loaded);
  return s;
}

static scales_t load_fp32(const float *scales, int64_t groups) {
  const __m512 value = _mm512_maskz_loadu_ps(lanes_mask(groups), scales);
  const __mmask16 clean = _mm512_cmp_ps_mask(value, value, _CMP_ORD_Q);
  return (scales_t){.nan = clean != 0xFFFF,
                    .value = _mm512_maskz_mov_ps(clean, value),
                    .wanted = (__mmask16)(clean & lanes_mask(groups))};
}

// Selects the groups that contain a code with non-zero quanta.
static __mmask16 nonzero_groups(const uint8_t *codes, int64_t groups, ufp4_elem_t elem) {
  // INT4 has no -0: its code 8 is -8.
  const __m512i magnitude = _mm512_set1_epi8(elem == UFP4_ELEM_INT4 ? -1 : 0x77);
  const __mmask16 inside = lanes_mask(groups);
  __m512i low = _mm512_maskz_loadu_epi64((__mmask8)inside, codes);
  __m512i high = _mm512_maskz_loadu_epi64((__mmask8)(inside >> 8), codes + 64);
  __mmask8 some_low = _mm512_test_epi64_mask(low, magnitude),
           some_high = _mm512_test_epi64_mask(high, magnitude);
  return (__mmask16)(some_low | some_high << 8);
}

// The exponent of a block of zeros is arbitrary: the row's smallest does not widen the range.
static scales_t load_e8m0(const uint8_t *bytes, const uint8_t *codes, int64_t groups,
                          ufp4_elem_t elem) {
  const __mmask16 inside = lanes_mask(groups);
  __m512i byte = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes_mask((groups + 1) / 2), bytes));
  const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  byte = _mm512_permutexvar_epi32(twice, byte);
  const __mmask16 nan =
      (__mmask16)(_mm512_cmpeq_epi32_mask(byte, _mm512_set1_epi32(0xFF)) & inside);
  __mmask16 some = nonzero_groups(codes, groups, elem) & (__mmask16)~nan;
  some |= (__mmask16)((some & 0x5555) << 1 | (some & 0xAAAA) >> 1);
  scales_t s = {.nan = nan != 0, .wanted = (__mmask16)(some & inside)};
  s.least = some != 0 ? _mm512_mask_reduce_min_epi32(some, byte) : 127;
  s.most = some != 0 ? _mm512_mask_reduce_max_epi32(some, byte) : 127;
  s.exponent = _mm512_mask_mov_epi32(_mm512_set1_epi32(s.least), some, byte);
  return s;
}

static scales_t load_scales(const ufp4_operand_t *x, int64_t row, int64_t group, int64_t groups) {
  const uint8_t *codes = x->codes + (row * x->blocks + group) * CODE_BYTES;
  if (x->scale == UFP4_SCALE_FP32)
    return load_fp32(x->scales_f32 + row * x->scale_blocks + group, groups);
  if (x->scale != UFP4_SCALE_E8M0)
    return load_e4m3(x->scales + row * x->scale_blocks + group, groups);
  return load_e8m0(x->scales + row * x->scale_blocks + group / 2, codes, groups, x->elem);
}

static void put_scales_a(const scales_t *s, int r, a_panel_t *panel) {
  if (panel->scale_format == UFP4_SCALE_FP32) {
    _mm512_store_ps(panel->scale[r], s->value);
  } else if (panel->scale_format == UFP4_SCALE_E8M0) {
    _mm512_store_si512(panel->exponent[r], _mm512_slli_epi32(s->exponent, 23));
    panel->exponent_min = s->least < panel->exponent_min ? s->least : panel->exponent_min;
    panel->exponent_max = s->most > panel->exponent_max ? s->most : panel->exponent_max;
  } else {
    // value = (8 + line) / 8 * 2^(exponent - 9). The codes of a zero scale do not matter, so any
    // line and exponent will do for it.
    const __m512i bits =
        _mm512_max_epi32(_mm512_castps_si512(s->value), _mm512_set1_epi32((127 - 9) << 23));
    __m512i exponent = _mm512_sub_epi32(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(127 - 9));
    exponent = _mm512_or_si512(_mm512_slli_epi32(exponent, 7), _mm512_slli_epi32(exponent, 23));
    __m512i line =
        _mm512_and_si512(_mm512_srli_epi32(bits, 20), _mm512_set1_epi32(SIGNIFICANDS - 1));
    _mm512_store_si512(panel->exponent[r], exponent);
    _mm512_store_si512(panel->line[r], _mm512_slli_epi32(line, 6));
  }
}

static void put_elements_a(const uint8_t *codes, int64_t groups, __mmask16 wanted, __mmask16 bit,
                           const quanta_tables_t *tables, int r, a_panel_t *panel) {
  const __m128i magic = _mm_set1_epi32((int32_t)ufp4_f32_bits(panel->magic));
  for (int g = 0; g < groups; g += 4) {
    const __m512i quanta = load_quanta(codes + CODE_BYTES * g, (__mmask8)(wanted >> g & 15),
                                       table_of(tables, (unsigned)bit >> g));
    _mm_store_si128((__m128i *)&panel->start[r][g], _mm_add_epi32(starts(quanta, OFFSET), magic));
    _mm_store_si128((__m128i *)panel->elements[g][r], _mm512_castsi512_si128(quanta));
    _mm_store_si128((__m128i *)panel->elements[g + 1][r], _mm512_extracti32x4_epi32(quanta, 1));
    _mm_store_si128((__m128i *)panel->elements[g + 2][r], _mm512_extracti32x4_epi32(quanta, 2));
    _mm_store_si128((__m128i *)panel->elements[g + 3][r], _mm512_extracti32x4_epi32(quanta, 3));
  }
}

void gemm_avx512_fp32_pack_a(const gemm_job_t *job, int64_t first, int64_t group, void *out,
                             uint8_t *poisoned) {
  const ufp4_operand_t *a = job->a;
  const quanta_tables_t tables = quanta_tables(a->elem, 0);
  const uint8_t *codes[ROWS];
  __mmask16 wanted[ROWS], bits[ROWS];
  a_panel_t *panel = out;
  panel->groups = (int32_t)gemm_chunk_blocks(a, group, CHUNK);
  panel->scale_format = (int32_t)a->scale;
  panel->exponent_min = 254;
  panel->exponent_max = 0;
  panel->magic = a->scale == UFP4_SCALE_FP32 ? 1.5f * gemm_power(23 - gemm_frac_of(job)) : 0.0f;
  for (int r = 0; r < ROWS; r++) {
    // Rows beyond the operand repeat the last one, because their sums are not stored.
    const int64_t row = first + r < a->rows ? first + r : a->rows - 1;
    const scales_t s = load_scales(a, row, group, panel->groups);
    if (s.nan && first + r < a->rows) poisoned[r] = 1;
    put_scales_a(&s, r, panel);
    codes[r] = a->codes + (row * a->blocks + group) * CODE_BYTES;
    wanted[r] = s.wanted;
    bits[r] = s.bit;
  }
  // This follows the scales of all rows, which have a long latency.
  for (int r = 0; r < ROWS; r++)
    put_elements_a(codes[r], panel->groups, wanted[r], bits[r], &tables, r, panel);
}

static void put_elements_b(const uint8_t *const codes[16], int64_t groups,
                           const __mmask16 wanted[16], const __mmask16 bits[16],
                           const quanta_tables_t *tables, int half, b_panel_t *panel) {
  for (int g = 0; g < groups; g += 4) {
    __m512i v[16];
    for (int c = 0; c < 16; c++)
      v[c] = load_quanta(codes[c] + CODE_BYTES * g, (__mmask8)(wanted[c] >> g & 15),
                         table_of(tables, (unsigned)bits[c] >> g));
    transpose_dwords(v);
    for (int i = 0; i < 16; i++) _mm512_store_si512(panel->elements[g + i / 4][half][i % 4], v[i]);
  }
}

// Loads the scales of a row of B as FP32 numbers; E8M0 scales stay integers, in the position of the
// exponent field.
static __m512i scale_b(const gemm_job_t *job, const scales_t *s, b_panel_t *panel) {
  const int frac = gemm_frac_of(job);
  if (job->b->scale == UFP4_SCALE_FP32) return _mm512_castps_si512(s->value);
  if (job->b->scale != UFP4_SCALE_E8M0) {
    return _mm512_castps_si512(_mm512_mul_ps(s->value, _mm512_set1_ps(gemm_power(-12 - frac))));
  }
  const int32_t bias = 127 + frac;
  panel->exponent_min =
      s->least - bias < panel->exponent_min ? s->least - bias : panel->exponent_min;
  panel->exponent_max = s->most - bias > panel->exponent_max ? s->most - bias : panel->exponent_max;
  return _mm512_slli_epi32(_mm512_sub_epi32(s->exponent, _mm512_set1_epi32(bias)), 23);
}

static void pack_b_half(const gemm_job_t *job, int64_t first, int64_t group, int half,
                        b_panel_t *panel, uint8_t *poisoned) {
  const ufp4_operand_t *b = job->b;
  const int64_t groups = gemm_chunk_blocks(b, group, CHUNK);
  const quanta_tables_t tables = quanta_tables(b->elem, OFFSET);
  const uint8_t *codes[16];
  __mmask16 wanted[16], bits[16];
  __m512i scales[16];
  for (int c = 0; c < 16; c++) {
    const int64_t row = first + c < b->rows ? first + c : b->rows - 1;
    const scales_t s = load_scales(b, row, group, groups);
    if (s.nan && first + c < b->rows) poisoned[c] = 1;
    codes[c] = b->codes + (row * b->blocks + group) * CODE_BYTES;
    wanted[c] = s.wanted;
    bits[c] = s.bit;
    scales[c] = scale_b(job, &s, panel);
  }
  put_elements_b(codes, groups, wanted, bits, &tables, half, panel);
  transpose_dwords(scales);
  for (int g = 0; g < CHUNK; g++) _mm512_store_si512(&panel->exponent[g][16 * half], scales[g]);
}

void gemm_avx512_fp32_pack_b(const gemm_job_t *job, int64_t row, int64_t group, void *out,
                             uint8_t *poisoned) {
  b_panel_t *panel = out;
  panel->exponent_min = 254;
  panel->exponent_max = -254;
  panel->groups = (int32_t)gemm_chunk_blocks(job->b, group, CHUNK);
  panel->tabled = job->b->scale != UFP4_SCALE_FP32 && job->b->scale != UFP4_SCALE_E8M0;
  for (int half = 0; half < 2; half++)
    pack_b_half(job, row + 16 * half, group, half, panel, poisoned + 16 * half);
}

#endif
