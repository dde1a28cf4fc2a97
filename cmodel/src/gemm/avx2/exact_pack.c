// SPDX-License-Identifier: Apache-2.0
// Packing of the AVX2 GEMM (exact.h): codes and scale bytes to panels.
#include "gemm/avx2/exact.h"
#include "gemm/pack.h"
#include "number/lanes.h"

#ifdef __AVX2__
#include <string.h>

#include "gemm/avx2/codes.h"

#define VECTOR 32
#define MAX_ABSORB 4

// The scales of one row's chunk, one per byte of a vector.
typedef struct {
  uint8_t significand[VECTOR],
      excess[VECTOR];  // 0 where the scale is zero or NaN, and beyond the operand
  uint32_t bit;        // bit 7 of each scale byte
  int base;
  int nan, subnormal;
} scales_t;

static int smallest_byte(__m256i bytes) {
  __m128i least = _mm_min_epu8(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  __m128i words =
      _mm_min_epu8(_mm_and_si128(least, _mm_set1_epi16(0xFF)), _mm_srli_epi16(least, 8));
  return _mm_extract_epi16(_mm_minpos_epu16(words), 0);
}

static void load_scales(const uint8_t *bytes, int64_t blocks, scales_t *s) {
  const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi8(1),
                largest = _mm256_set1_epi8(0x7F);
  uint8_t padded[VECTOR] = {0};
  memcpy(padded, bytes, (size_t)blocks);
  const __m256i loaded = _mm256_loadu_si256((const __m256i *)padded);
  __m256i byte = _mm256_and_si256(loaded, largest);
  __m256i nan = _mm256_cmpeq_epi8(byte, largest);
  byte = _mm256_andnot_si256(nan, byte);
  __m256i field = _mm256_and_si256(_mm256_srli_epi16(byte, 3), _mm256_set1_epi8(15));
  __m256i normal = _mm256_cmpgt_epi8(field, zero), empty = _mm256_cmpeq_epi8(byte, zero);
  __m256i low = _mm256_and_si256(byte, _mm256_set1_epi8(7));
  __m256i significand = _mm256_or_si256(low, _mm256_and_si256(normal, _mm256_set1_epi8(8)));
  __m256i exponent = _mm256_sub_epi8(field, _mm256_and_si256(normal, one));
  // If all scales are zero, any number will do.
  s->base = smallest_byte(_mm256_or_si256(exponent, _mm256_and_si256(empty, _mm256_set1_epi8(15))));
  s->nan = !_mm256_testz_si256(nan, nan);
  s->bit = (uint32_t)_mm256_movemask_epi8(loaded);
  s->subnormal = _mm256_movemask_epi8(_mm256_or_si256(normal, empty)) != -1;
  __m256i excess =
      _mm256_andnot_si256(empty, _mm256_sub_epi8(exponent, _mm256_set1_epi8((char)s->base)));
  _mm256_storeu_si256((__m256i *)s->significand, significand);
  _mm256_storeu_si256((__m256i *)s->excess, excess);
}

INLINE __m256i widened(const uint8_t bytes[8]) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)bytes));
}

INLINE float added(__m256 v) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

INLINE int32_t largest(__m256i v) {
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  four = _mm_max_epi32(four, _mm_srli_si128(four, 8));
  return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_srli_si128(four, 4)));
}

// Folds one row into a panel's bounds: significand << excess is under 2^18, the sum of squares
// under 2^41, and rounded. scale [CHUNK] = significand << shift; @p top gathers the largest.
INLINE void bound_scales(const scales_t *s, const uint8_t shift[CHUNK], int32_t scale[CHUNK],
                         double *norm2, __m256i *top) {
  __m256 sum = _mm256_setzero_ps();
  for (int k = 0; k < CHUNK; k += 8) {
    __m256i significand = widened(s->significand + k);
    __m256 whole = _mm256_cvtepi32_ps(_mm256_sllv_epi32(significand, widened(s->excess + k)));
    __m256i part = _mm256_sllv_epi32(significand, widened(shift + k));
    sum = _mm256_add_ps(sum, _mm256_mul_ps(whole, whole));
    *top = _mm256_max_epi32(*top, part);
    _mm256_storeu_si256((__m256i *)(scale + k), part);
  }
  const double total = (double)added(sum);
  if (total > *norm2) *norm2 = total;
}

// Splits each block's excess into the shift of its elements and the rest, which goes into the
// scale. The shift MAX_ABSORB + 1 marks a zero scale and makes the elements zero.
INLINE void split_excess(const scales_t *s, int absorb, uint8_t absorbed[VECTOR],
                         uint8_t shift[VECTOR]) {
  __m256i excess = _mm256_loadu_si256((const __m256i *)s->excess);
  __m256i significand = _mm256_loadu_si256((const __m256i *)s->significand);
  __m256i empty = _mm256_cmpeq_epi8(significand, _mm256_setzero_si256());
  __m256i part = _mm256_min_epu8(excess, _mm256_set1_epi8((char)absorb));
  _mm256_storeu_si256((__m256i *)shift, _mm256_sub_epi8(excess, part));
  part = _mm256_or_si256(part, _mm256_and_si256(empty, _mm256_set1_epi8(MAX_ABSORB + 1)));
  _mm256_storeu_si256((__m256i *)absorbed, part);
}

INLINE void put_elements_a(__m256i blocks, int r, a_pair_t *pair) {
  const __m128i offset = _mm_set1_epi8(OFFSET);
  const __m128i even = _mm256_castsi256_si128(blocks), odd = _mm256_extracti128_si256(blocks, 1);
  const __m128i low = _mm_unpacklo_epi16(even, odd), high = _mm_unpackhi_epi16(even, odd);
  _mm_store_si128((__m128i *)pair->elements[r], low);
  _mm_store_si128((__m128i *)pair->elements[r] + 1, high);
  put_minus_sums(_mm_add_epi16(_mm_maddubs_epi16(offset, low), _mm_maddubs_epi16(offset, high)),
                 pair->start[r]);
}

static void pack_a_row(const uint8_t *codes, int64_t blocks, const scales_t *s, int absorb,
                       __m128i tables[MAX_ABSORB + 2][2], int r, a_panel_t *panel, __m256i *top) {
  uint8_t absorbed[VECTOR], shift[VECTOR];
  int32_t scale[CHUNK];
  split_excess(s, absorb, absorbed, shift);
  bound_scales(s, shift, scale, &panel->norm2, top);
  for (int k = 0; k < blocks; k += 2) {
    a_pair_t *pair = panel->pair + k / 2;
    const uint32_t bits = s->bit >> k;
    const __m256i both_tables =
        _mm256_set_m128i(tables[absorbed[k + 1]][bits >> 1 & 1], tables[absorbed[k]][bits & 1]);
    put_elements_a(decode_two(codes + k * CODE_BYTES, k + 1 < blocks, both_tables), r, pair);
    for (int i = 0; i < 2; i++) {
      pair->scale[r][i] = (uint16_t)scale[k + i];
      pair->entry[r][i] = (s->significand[k + i] & 7u) * TABLE_LINE;
    }
  }
  const __m256i shifts = _mm256_loadu_si256((const __m256i *)shift);
  if (s->subnormal || !_mm256_testz_si256(shifts, shifts)) panel->tabled = 0;
}

void gemm_avx2_pack_a(const gemm_job_t *job, int64_t row, int64_t block, void *out,
                      uint8_t *poisoned) {
  const ufp4_operand_t *a = job->a;
  const int64_t blocks = gemm_chunk_blocks(a, block, CHUNK);
  const int absorb = gemm_absorb_of(a->elem);
  __m128i tables[MAX_ABSORB + 2][2];
  __m256i top = _mm256_setzero_si256();
  a_panel_t *panel = out;
  for (int shift = 0; shift <= absorb; shift++) quanta_tables(a->elem, shift, 0, tables[shift]);
  tables[MAX_ABSORB + 1][0] = tables[MAX_ABSORB + 1][1] = _mm_setzero_si128();
  panel->pairs = (int32_t)((blocks + 1) / 2);
  panel->norm2 = 0;
  panel->tabled = 1;
  for (int r = 0; r < ROWS; r++) {
    // Rows beyond the operand repeat the last one, because their sums are not stored.
    const int64_t at = (row + r < a->rows ? row + r : a->rows - 1) * a->blocks + block;
    scales_t s;
    load_scales(a->scales + at, blocks, &s);
    if (s.nan && row + r < a->rows) poisoned[r] = 1;
    panel->base[r] = s.base;
    pack_a_row(a->codes + at * CODE_BYTES, blocks, &s, absorb, tables, r, panel, &top);
  }
  panel->scale_max = largest(top);
}

static void pack_scales_b(int32_t scale[COLS][CHUNK], b_panel_t *panel) {
  for (int c = 0; c < COLS; c += 8) {
    for (int k = 0; k < CHUNK; k += 8) {
      __m256i v[8];
      for (int i = 0; i < 8; i++) v[i] = _mm256_loadu_si256((const __m256i *)(scale[c + i] + k));
      transpose_dwords(v);
      for (int i = 0; i < 8; i++) _mm256_store_si256((__m256i *)(panel->scale[k + i] + c), v[i]);
    }
  }
}

// Packs a pair of blocks of 8 columns.
INLINE void pack_elements_b(const uint8_t *const codes[8], const uint32_t bits[8], int k, int both,
                            const __m256i tables[4], uint8_t out[8][COLS][4]) {
  __m256i v[8];
  for (int c = 0; c < 8; c++)
    v[c] = decode_two(codes[c] + k * CODE_BYTES, both, tables[bits[c] >> k & 3]);
  transpose_dwords(v);
  for (int q = 0; q < 4; q++) {
    const __m256i first = _mm256_blend_epi16(v[q], _mm256_slli_epi32(v[4 + q], 16), 0xAA);
    const __m256i second = _mm256_blend_epi16(_mm256_srli_epi32(v[q], 16), v[4 + q], 0xAA);
    _mm256_store_si256((__m256i *)out[2 * q], first);
    _mm256_store_si256((__m256i *)out[2 * q + 1], second);
  }
}

void gemm_avx2_pack_b(const gemm_job_t *job, int64_t row, int64_t block, void *out,
                      uint8_t *poisoned) {
  const ufp4_operand_t *b = job->b;
  const int64_t blocks = gemm_chunk_blocks(b, block, CHUNK);
  const uint8_t *codes[COLS];
  uint32_t bits[COLS];
  __m128i of_bit[2];
  __m256i tables[4];  // of two blocks
  int32_t scale[COLS][CHUNK];
  __m256i top = _mm256_setzero_si256();
  b_panel_t *panel = out;
  panel->norm2 = 0;
  quanta_tables(b->elem, 0, OFFSET, of_bit);
  for (int i = 0; i < 4; i++) tables[i] = _mm256_set_m128i(of_bit[i / 2], of_bit[i % 2]);
  for (int c = 0; c < COLS; c++) {
    const int64_t at = (row + c < b->rows ? row + c : b->rows - 1) * b->blocks + block;
    scales_t s;
    load_scales(b->scales + at, blocks, &s);
    if (s.nan && row + c < b->rows) poisoned[c] = 1;
    panel->base[c] = s.base;
    bits[c] = s.bit;
    bound_scales(&s, s.excess, scale[c], &panel->norm2, &top);
    codes[c] = b->codes + at * CODE_BYTES;
  }
  panel->scale_max = largest(top);
  pack_scales_b(scale, panel);
  // The bound includes the largest dot, which depends on both formats; it is charged to B.
  double dot = BLOCK * gemm_largest_quanta(job->a->elem) * gemm_largest_quanta(b->elem);
  panel->norm2 *= dot * dot;
  for (int k = 0; k < blocks; k += 2) {
    uint8_t(*elements)[COLS][4] = panel->elements[k / 2];
    for (int c = 0; c < COLS; c += 8) {
      pack_elements_b(codes + c, bits + c, k, k + 1 < blocks, tables,
                      (uint8_t(*)[COLS][4])elements[0][c]);
    }
  }
}

#endif
