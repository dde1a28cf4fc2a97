// SPDX-License-Identifier: Apache-2.0
// Packing of the AVX-512 GEMM (gemm_avx512.h): codes and scale bytes to panels.
#include "gemm_avx512.h"
#include "internal.h"
#include "ufp4/format.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && \
    defined(__AVX512VNNI__)
#include "gemm_avx512_codes.h"

#define OFFSET 16          // more than any quanta
#define FOLDED_OFFSET 128  // more than any quanta times a significand

static int largest_quanta(ufp4_elem_t elem) {
  return elem == UFP4_ELEM_INT4 ? 8 : ufp4_elem_qmax_quanta(elem);
}

// How far A's elements may be shifted: E2M1's 12 becomes 96, E1M2's 7 112, INT4's -8 -128. A dot with any B, whose
// largest is 12, then is 24576 at most.
static int absorb_of(ufp4_elem_t elem) {
  return elem == UFP4_ELEM_E2M1 ? 3 : 4;
}

// The scales of one row's chunk, a block per 16-bit lane.
typedef struct {
  __m512i significand, excess;  // of blocks whose scale is zero or NaN: 0
  __mmask32 zero;
  int base;
  int subnormal;  // some non-zero significand is under 8
  int nan;
} scales_t;

static __mmask32 blocks_mask(int64_t blocks) {
  return blocks >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << blocks) - 1;
}

static scales_t load_scales(const uint8_t *bytes, int64_t blocks) {
  const __m512i zero = _mm512_setzero_si512();
  __m512i byte = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(blocks_mask(blocks), bytes));
  byte = _mm512_and_si512(byte, _mm512_set1_epi16(0x7F));
  __mmask32 nan = _mm512_cmpeq_epi16_mask(byte, _mm512_set1_epi16(0x7F));
  byte = _mm512_mask_mov_epi16(byte, nan, zero);
  __m512i field = _mm512_srli_epi16(byte, 3);
  __mmask32 normal = _mm512_test_epi16_mask(field, field);
  __m512i low = _mm512_and_si512(byte, _mm512_set1_epi16(7));
  scales_t s = {.nan = nan != 0, .zero = _mm512_testn_epi16_mask(byte, byte)};
  s.significand = _mm512_or_si512(low, _mm512_maskz_set1_epi16(normal, 8));
  s.subnormal = (__mmask32)(~normal & ~s.zero) != 0;
  __m512i exponent = _mm512_maskz_sub_epi16(normal, field, _mm512_set1_epi16(1));
  // The smallest exponent, among those of non-zero scales only; any number does where there are none.
  __m512i among = _mm512_mask_mov_epi16(exponent, s.zero, _mm512_set1_epi16(15));
  __m512i wide = _mm512_min_epi16(among, _mm512_srli_epi32(among, 16));
  s.base = _mm512_reduce_min_epi32(_mm512_and_si512(wide, _mm512_set1_epi32(0xFFFF)));
  s.excess = _mm512_maskz_sub_epi16(~s.zero, exponent, _mm512_set1_epi16((short)s.base));
  return s;
}

// Folds one row into a panel's bounds. significand << excess, as 32-bit numbers under 2^18.
static void bound_scales(const scales_t *s, __m512i shift, double *norm2, int32_t *scale_max) {
  const __m512i low = _mm512_set1_epi32(0xFFFF);
  __m512 sum = _mm512_setzero_ps();
  __m512i largest = _mm512_setzero_si512();
  for (int odd = 0; odd < 2; odd++) {
    __m512i significand = odd ? _mm512_srli_epi32(s->significand, 16) : _mm512_and_si512(s->significand, low);
    __m512i excess = odd ? _mm512_srli_epi32(s->excess, 16) : _mm512_and_si512(s->excess, low);
    __m512i by = odd ? _mm512_srli_epi32(shift, 16) : _mm512_and_si512(shift, low);
    __m512 whole = _mm512_cvtepi32_ps(_mm512_sllv_epi32(significand, excess));
    sum = _mm512_fmadd_ps(whole, whole, sum);
    largest = _mm512_max_epi32(largest, _mm512_sllv_epi32(significand, by));
  }
  double total = (double)_mm512_reduce_add_ps(sum);
  int32_t top = _mm512_reduce_max_epi32(largest);
  if (total > *norm2) *norm2 = total;
  if (top > *scale_max) *scale_max = top;
}

// Which of blocks 4g..4g+3 exist.
INLINE __mmask8 four_of(int64_t blocks, int g) {
  return (__mmask8)(blocks >= 4 * g + 4 ? 15u : (1u << (blocks - 4 * g)) - 1);
}

// Quads of each pair of blocks side by side.
INLINE __m512i interleave_pairs(__m512i quanta) {
  const __m512i order = _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
  return _mm512_permutexvar_epi32(order, quanta);
}

// Bytes times a factor, the same for both bytes of a word; products fit a byte.
INLINE __m512i times(__m512i bytes, __m512i factor) {
  const __m512i low = _mm512_set1_epi16(0xFF);
  __m512i even = _mm512_mullo_epi16(_mm512_and_si512(bytes, low), factor);
  __m512i odd = _mm512_mullo_epi16(_mm512_andnot_si512(low, bytes), factor);
  return _mm512_mask_mov_epi8(odd, 0x5555555555555555, even);
}

// The words of blocks 4g..4g+3, each over its 128-bit lane.
INLINE __m512i spread(__m512i words, int g) {
  const __m512i lanes = _mm512_set_epi64(0x0003000300030003, 0x0003000300030003, 0x0002000200020002, 0x0002000200020002,
                                         0x0001000100010001, 0x0001000100010001, 0, 0);
  return _mm512_permutexvar_epi16(_mm512_add_epi16(lanes, _mm512_set1_epi16((short)(4 * g))), words);
}

INLINE void put_a(__m512i quanta, int offset, int g, int r, a_panel_t *panel) {
  __m512i pairs = interleave_pairs(quanta);
  _mm256_storeu_si256((__m256i *)panel->elements[2 * g][r], _mm512_castsi512_si256(pairs));
  _mm256_storeu_si256((__m256i *)panel->elements[2 * g + 1][r], _mm512_extracti64x4_epi64(pairs, 1));
  _mm_storeu_si128((__m128i *)panel->start[r][2 * g], starts(quanta, offset));
}

static void pack_a_folded(const uint8_t *codes, int64_t blocks, __m512i table, const scales_t *s, int r,
                          a_panel_t *panel) {
  for (int g = 0; 4 * g < blocks; g++) {
    __m512i quanta = load_quanta(codes + 32 * g, four_of(blocks, g), table);
    put_a(times(quanta, spread(s->significand, g)), FOLDED_OFFSET, g, r, panel);
  }
  __m512i low = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(s->excess));
  _mm512_store_si512(panel->excess[r][0], low);
  _mm512_store_si512(panel->excess[r][PAIRS / 2], _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(s->excess, 1)));
}

static void pack_a_shifted(const uint8_t *codes, int64_t blocks, __m512i table, const scales_t *s, __m512i absorbed,
                           int r, a_panel_t *panel) {
  // A shift of bytes: of words, without the bits that cross. A zero scale makes its elements zero.
  __m512i keep = _mm512_sllv_epi16(_mm512_set1_epi16(0xFF), absorbed);
  keep = _mm512_and_si512(keep, _mm512_set1_epi16(0xFF));
  keep = _mm512_or_si512(keep, _mm512_slli_epi16(keep, 8));
  keep = _mm512_mask_mov_epi16(keep, s->zero, _mm512_setzero_si512());
  for (int g = 0; 4 * g < blocks; g++) {
    __m512i quanta = load_quanta(codes + 32 * g, four_of(blocks, g), table);
    quanta = _mm512_and_si512(_mm512_sllv_epi16(quanta, spread(absorbed, g)), spread(keep, g));
    put_a(quanta, OFFSET, g, r, panel);
  }
}

static void pack_a_scales(const scales_t *s, __m512i shift, int r, a_panel_t *panel) {
  const __m512i eight = _mm512_set1_epi16(8);
  __m512i entry = _mm512_slli_epi16(_mm512_sub_epi16(_mm512_max_epi16(s->significand, eight), eight), 2);
  _mm512_store_si512(panel->shift[r], shift);
  _mm512_store_si512(panel->scale[r], _mm512_sllv_epi16(s->significand, shift));
  _mm256_store_si256((__m256i *)panel->entry[r], _mm512_cvtepi16_epi8(entry));
}

static int64_t chunk_blocks(const ufp4_operand_t *x, int64_t block) {
  return x->blocks - block < CHUNK ? x->blocks - block : CHUNK;
}

static int is_folded(const gemm_job_t *job) {
  return job->a->elem != UFP4_ELEM_E2M1 && job->b->elem != UFP4_ELEM_E2M1;
}

static void pack_a_row(const gemm_job_t *job, int64_t at, int64_t blocks, const scales_t *s, int r, a_panel_t *panel) {
  const uint8_t *codes = job->a->codes + at * CODE_BYTES;
  const __m512i table = quanta_table(job->a->elem, 0);
  if (panel->folded) {
    bound_scales(s, s->excess, &panel->norm2, &panel->scale_max);
    pack_a_folded(codes, blocks, table, s, r, panel);
    return;
  }
  __m512i absorbed = _mm512_min_epi16(s->excess, _mm512_set1_epi16((short)absorb_of(job->a->elem)));
  __m512i shift = _mm512_sub_epi16(s->excess, absorbed);
  bound_scales(s, shift, &panel->norm2, &panel->scale_max);
  if (s->subnormal) panel->scale_max = SUBNORMAL;
  pack_a_shifted(codes, blocks, table, s, absorbed, r, panel);
  pack_a_scales(s, shift, r, panel);
}

void gemm_avx512_pack_a(const gemm_job_t *job, int64_t row, int64_t block, void *to, uint8_t *poisoned) {
  const ufp4_operand_t *a = job->a;
  const int64_t blocks = chunk_blocks(a, block);
  a_panel_t *panel = to;
  panel->pairs = (int32_t)((blocks + 1) / 2);
  panel->scale_max = 0;
  panel->norm2 = 0;
  panel->folded = is_folded(job);
  for (int r = 0; r < ROWS; r++) {
    // Rows beyond the operand are the last one once more: their sums are not stored.
    int64_t at = (row + r < a->rows ? row + r : a->rows - 1) * a->blocks + block;
    scales_t s = load_scales(a->scales + at, blocks);
    if (s.nan && row + r < a->rows) poisoned[r] = 1;
    panel->base[r] = s.base;
    pack_a_row(job, at, blocks, &s, r, panel);
  }
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
    __m512i low01 = _mm512_shuffle_i64x2(t[h], t[2 + h], 0x88), high01 = _mm512_shuffle_i64x2(t[h], t[2 + h], 0xDD);
    __m512i low23 = _mm512_shuffle_i64x2(t[4 + h], t[6 + h], 0x88);
    __m512i high23 = _mm512_shuffle_i64x2(t[4 + h], t[6 + h], 0xDD);
    v[h] = _mm512_shuffle_i64x2(low01, low23, 0x88);
    v[4 + h] = _mm512_shuffle_i64x2(low01, low23, 0xDD);
    v[2 + h] = _mm512_shuffle_i64x2(high01, high23, 0x88);
    v[6 + h] = _mm512_shuffle_i64x2(high01, high23, 0xDD);
  }
}

// The columns of each half, in the order of a vector's 64-bit lanes.
static const uint8_t half_columns[2][8] = {{0, 1, 4, 5, 8, 9, 12, 13}, {2, 3, 6, 7, 10, 11, 14, 15}};

static void pack_b_elements(const uint8_t *const codes[COLS], int64_t blocks, __m512i table,
                            const __m512i significand[COLS], b_panel_t *panel) {
  for (int g = 0; 4 * g < blocks; g++) {
    for (int half = 0; half < 2; half++) {
      __m512i v[8];
      for (int i = 0; i < 8; i++) {
        const int c = half_columns[half][i];
        v[i] = load_quanta(codes[c] + 32 * g, four_of(blocks, g), table);
        if (panel->folded) v[i] = _mm512_add_epi8(times(v[i], spread(significand[c], g)), _mm512_set1_epi8(-128));
        v[i] = interleave_pairs(v[i]);
      }
      transpose_qwords(v);
      for (int q = 0; q < 4; q++) {
        _mm512_store_si512(panel->elements[2 * g][4 * half + q], v[q]);
        _mm512_store_si512(panel->elements[2 * g + 1][4 * half + q], v[4 + q]);
      }
    }
  }
}

static void pack_b_scales(const __m512i scales[COLS], uint16_t to[PAIRS][COLS][2]) {
  __m512i v[COLS];
  for (int c = 0; c < COLS; c++) v[c] = scales[c];
  transpose_dwords(v);
  for (int p = 0; p < PAIRS; p++) _mm512_store_si512(to[p], v[p]);
}

void gemm_avx512_pack_b(const gemm_job_t *job, int64_t row, int64_t block, void *to, uint8_t *poisoned) {
  const ufp4_operand_t *b = job->b;
  const int64_t blocks = chunk_blocks(b, block);
  const uint8_t *codes[COLS];
  __m512i significand[COLS], shift[COLS];
  b_panel_t *panel = to;
  panel->scale_max = 0;
  panel->norm2 = 0;
  panel->folded = is_folded(job);
  for (int c = 0; c < COLS; c++) {
    int64_t at = (row + c < b->rows ? row + c : b->rows - 1) * b->blocks + block;
    scales_t s = load_scales(b->scales + at, blocks);
    bound_scales(&s, s.excess, &panel->norm2, &panel->scale_max);
    if (s.nan && row + c < b->rows) poisoned[c] = 1;
    codes[c] = b->codes + at * CODE_BYTES;
    panel->base[c] = s.base;
    significand[c] = s.significand;
    shift[c] = s.excess;
  }
  // The largest dot belongs to the pair of formats: it is charged to B.
  double dot = BLOCK * largest_quanta(job->a->elem) * largest_quanta(b->elem);
  panel->norm2 *= dot * dot;
  pack_b_elements(codes, blocks, quanta_table(b->elem, panel->folded ? 0 : OFFSET), significand, panel);
  pack_b_scales(significand, panel->significand);
  pack_b_scales(shift, panel->shift);
}

#endif
