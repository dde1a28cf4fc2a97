// SPDX-License-Identifier: Apache-2.0
// Packing of the AVX-512 GEMM (exact.h): codes and scale bytes to panels.
#include "gemm/avx512/exact.h"
#include "gemm/pack.h"
#include "number/lanes.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512DQ__) && defined(__AVX512VNNI__)
#include "gemm/avx512/codes.h"
#include "gemm/avx512/scales.h"

#define OFFSET 16  // larger than any quanta

// Puts the quads of each pair of blocks side by side.
INLINE __m512i interleave_pairs(__m512i quanta) {
  const __m512i order = _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
  return _mm512_permutexvar_epi32(order, quanta);
}

// Values of A's rows that are gathered before they are transposed: those of a row's 16 pairs.
typedef struct {
  _Alignas(64) int32_t start[ROWS][PAIRS][2];
  __m512i shift[ROWS], scale[ROWS], entry[ROWS];
} a_rows_t;

static void pack_a_elements(const uint8_t *codes, int64_t blocks, const quanta_tables_t *tables,
                            const scales_t *s, __m512i absorbed, int r, a_rows_t *rows,
                            a_panel_t *panel) {
  // Shifts bytes: shifts words and clears the bits that cross a byte. A zero scale makes its
  // elements zero.
  __m512i keep = _mm512_sllv_epi16(_mm512_set1_epi16(0xFF), absorbed);
  keep = _mm512_and_si512(keep, _mm512_set1_epi16(0xFF));
  keep = _mm512_or_si512(keep, _mm512_slli_epi16(keep, 8));
  keep = _mm512_mask_mov_epi16(keep, s->zero, _mm512_setzero_si512());
  for (int g = 0; 4 * g < blocks; g++) {
    __m512i quanta = load_quanta(codes + 4 * CODE_BYTES * g, four_of(blocks, g),
                                 table_of(tables, s->bit >> 4 * g));
    quanta = _mm512_and_si512(_mm512_sllv_epi16(quanta, spread(absorbed, g)), spread(keep, g));
    const __m512i pairs = interleave_pairs(quanta);
    _mm256_store_si256((__m256i *)panel->pair[2 * g].elements[r], _mm512_castsi512_si256(pairs));
    _mm256_store_si256((__m256i *)panel->pair[2 * g + 1].elements[r],
                       _mm512_extracti64x4_epi64(pairs, 1));
    _mm_store_si128((__m128i *)rows->start[r][2 * g], starts(quanta, OFFSET));
  }
}

// The largest numbers significand << shift of two blocks each.
static __m512i larger_scales(__m512i largest, __m512i significand, __m512i shift) {
  const __m512i low = _mm512_set1_epi32(0xFFFF);
  const __m512i even =
      _mm512_sllv_epi32(_mm512_and_si512(significand, low), _mm512_and_si512(shift, low));
  const __m512i odd =
      _mm512_sllv_epi32(_mm512_srli_epi32(significand, 16), _mm512_srli_epi32(shift, 16));
  return _mm512_max_epi32(largest, _mm512_max_epi32(even, odd));
}

// The largest value of each pair, and of all pairs.
static int32_t pack_largest(__m512i largest, int32_t pair_max[PAIRS]) {
  _mm512_store_si512(pair_max, _mm512_min_epi32(largest, _mm512_set1_epi32(PAIR_MAX)));
  return _mm512_reduce_max_epi32(largest);
}

static void pack_a_scales(const scales_t *s, __m512i absorbed, int r, a_rows_t *rows,
                          a_panel_t *panel) {
  const __m512i eight = _mm512_set1_epi16(8);
  const double norm2 = scales_norm2(s);
  rows->shift[r] = _mm512_sub_epi16(s->excess, absorbed);
  rows->scale[r] = _mm512_sllv_epi16(s->significand, rows->shift[r]);
  rows->entry[r] =
      _mm512_slli_epi16(_mm512_sub_epi16(_mm512_max_epi16(s->significand, eight), eight), 6);
  if (norm2 > panel->norm2) panel->norm2 = norm2;
  panel->base[r] = s->base;
}

// 8 x 8 transpose of 64-bit numbers.
INLINE void transpose_qwords(__m512i v[8]) {
  __m512i t[8];
  for (int i = 0; i < 4; i++) {
    t[2 * i] = _mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]);
  }
  // t[2i + h]: lane l holds qword 2l + h of vectors 2i, 2i + 1.
  for (int h = 0; h < 2; h++) {
    __m512i low01 = _mm512_shuffle_i64x2(t[h], t[2 + h], 0x88),
            high01 = _mm512_shuffle_i64x2(t[h], t[2 + h], 0xDD);
    __m512i low23 = _mm512_shuffle_i64x2(t[4 + h], t[6 + h], 0x88);
    __m512i high23 = _mm512_shuffle_i64x2(t[4 + h], t[6 + h], 0xDD);
    v[h] = _mm512_shuffle_i64x2(low01, low23, 0x88);
    v[4 + h] = _mm512_shuffle_i64x2(low01, low23, 0xDD);
    v[2 + h] = _mm512_shuffle_i64x2(high01, high23, 0x88);
    v[6 + h] = _mm512_shuffle_i64x2(high01, high23, 0xDD);
  }
}

static void transpose_starts(const a_rows_t *rows, a_panel_t *panel) {
  for (int p = 0; p < PAIRS; p += 8) {
    __m512i v[ROWS];
    for (int r = 0; r < ROWS; r++) v[r] = _mm512_load_si512(rows->start[r][p]);
    transpose_qwords(v);
    for (int i = 0; i < 8; i++) _mm512_store_si512(panel->pair[p + i].start, v[i]);
  }
}

static void transpose_factors(const a_rows_t *rows, a_panel_t *panel) {
  __m512i v[16], w[16];
  for (int r = 0; r < ROWS; r++) {
    v[r] = rows->shift[r];
    v[ROWS + r] = rows->scale[r];
    w[r] = w[ROWS + r] = rows->entry[r];
  }
  transpose_dwords(v);
  transpose_dwords(w);
  for (int p = 0; p < PAIRS; p++) {
    _mm256_store_si256((__m256i *)panel->pair[p].shift, _mm512_castsi512_si256(v[p]));
    _mm256_store_si256((__m256i *)panel->scale[p], _mm512_extracti64x4_epi64(v[p], 1));
    _mm256_store_si256((__m256i *)panel->pair[p].entry, _mm512_castsi512_si256(w[p]));
  }
}

void gemm_avx512_pack_a(const gemm_job_t *job, int64_t row, int64_t block, void *out,
                        uint8_t *poisoned) {
  const ufp4_operand_t *a = job->a;
  const int64_t blocks = gemm_chunk_blocks(a, block, CHUNK);
  const quanta_tables_t tables = quanta_tables(a->elem, 0);
  const __m512i absorb = _mm512_set1_epi16((short)gemm_absorb_of(a->elem));
  __m512i absorbed[ROWS], largest = _mm512_set1_epi32(SMALLEST_MAX);
  const uint8_t *codes[ROWS];
  scales_t s[ROWS];
  a_rows_t rows;
  a_panel_t *panel = out;
  int subnormal = 0;
  panel->pairs = (int32_t)((blocks + 1) / 2);
  panel->norm2 = SMALLEST_MAX * SMALLEST_MAX;
  for (int r = 0; r < ROWS; r++) {
    // Rows beyond the operand repeat the last one, because their sums are not stored.
    const int64_t at = (row + r < a->rows ? row + r : a->rows - 1) * a->blocks + block;
    codes[r] = a->codes + at * CODE_BYTES;
    s[r] = load_scales(a->scales + at, blocks);
    if (s[r].nan && row + r < a->rows) poisoned[r] = 1;
    absorbed[r] = _mm512_min_epi16(s[r].excess, absorb);
    pack_a_scales(&s[r], absorbed[r], r, &rows, panel);
    largest = larger_scales(largest, s[r].significand, rows.shift[r]);
    subnormal |= s[r].subnormal;
  }
  panel->scale_max = pack_largest(largest, panel->pair_max);
  if (subnormal) panel->scale_max = SUBNORMAL;
  // This follows the scales of all rows, which have a long latency.
  for (int r = 0; r < ROWS; r++)
    pack_a_elements(codes[r], blocks, &tables, &s[r], absorbed[r], r, &rows, panel);
  // The values beyond the chunk's blocks are transposed but never used.
  transpose_starts(&rows, panel);
  transpose_factors(&rows, panel);
}

// The columns of each half, in the order of a vector's 64-bit lanes.
static const uint8_t half_columns[2][8] = {{0, 1, 4, 5, 8, 9, 12, 13},
                                           {2, 3, 6, 7, 10, 11, 14, 15}};

static void pack_b_elements(const uint8_t *const codes[COLS], const __mmask32 bits[COLS],
                            int64_t blocks, const quanta_tables_t *tables, b_panel_t *panel) {
  for (int g = 0; 4 * g < blocks; g++) {
    for (int half = 0; half < 2; half++) {
      __m512i v[8];
      for (int i = 0; i < 8; i++) {
        const int c = half_columns[half][i];
        const uint8_t *from = codes[c] + 4 * CODE_BYTES * g;
        const __m512i table = table_of(tables, bits[c] >> 4 * g);
        v[i] = interleave_pairs(load_quanta(from, four_of(blocks, g), table));
      }
      transpose_qwords(v);
      for (int q = 0; q < 4; q++) {
        _mm512_store_si512(panel->elements[2 * g][4 * half + q], v[q]);
        _mm512_store_si512(panel->elements[2 * g + 1][4 * half + q], v[4 + q]);
      }
    }
  }
}

static void pack_b_scales(const __m512i scales[COLS], uint16_t out[PAIRS][COLS][2]) {
  __m512i v[COLS];
  for (int c = 0; c < COLS; c++) v[c] = scales[c];
  transpose_dwords(v);
  for (int p = 0; p < PAIRS; p++) _mm512_store_si512(out[p], v[p]);
}

void gemm_avx512_pack_b(const gemm_job_t *job, int64_t row, int64_t block, void *out,
                        uint8_t *poisoned) {
  const ufp4_operand_t *b = job->b;
  const int64_t blocks = gemm_chunk_blocks(b, block, CHUNK);
  const quanta_tables_t tables = quanta_tables(b->elem, OFFSET);
  const uint8_t *codes[COLS];
  __mmask32 bits[COLS];
  __m512i significand[COLS], shift[COLS], largest = _mm512_setzero_si512();
  b_panel_t *panel = out;
  panel->norm2 = 0;
  for (int c = 0; c < COLS; c++) {
    const int64_t at = (row + c < b->rows ? row + c : b->rows - 1) * b->blocks + block;
    const scales_t s = load_scales(b->scales + at, blocks);
    const double norm2 = scales_norm2(&s);
    if (s.nan && row + c < b->rows) poisoned[c] = 1;
    largest = larger_scales(largest, s.significand, s.excess);
    if (norm2 > panel->norm2) panel->norm2 = norm2;
    codes[c] = b->codes + at * CODE_BYTES;
    bits[c] = s.bit;
    panel->base[c % 2][c / 2] = s.base;
    significand[c] = s.significand;
    shift[c] = s.excess;
  }
  panel->scale_max = pack_largest(largest, panel->pair_max);
  // The bound includes the largest dot, which depends on both formats; it is charged to B.
  double dot = BLOCK * gemm_largest_quanta(job->a->elem) * gemm_largest_quanta(b->elem);
  panel->norm2 *= dot * dot;
  pack_b_elements(codes, bits, blocks, &tables, panel);
  pack_b_scales(significand, panel->significand);
  pack_b_scales(shift, panel->shift);
}

#endif
