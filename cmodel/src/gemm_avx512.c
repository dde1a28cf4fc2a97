// SPDX-License-Identifier: Apache-2.0
// Exact GEMM for AVX-512 VNNI. A tile is 8 rows of A by 16 rows of B, in chunks of 32 blocks.
//
// A vector holds quads of k of 8 columns of B, of two blocks each: dword 2c is column c's block 2p, dword 2c + 1 its
// block 2p + 1. A's quads of the same two blocks are broadcast against it, so four vpdpbusd give the dots of two blocks
// by 8 columns, and packing two such vectors to int16 puts the two dots of a column side by side. One 16-bit product of
// the scales and one vpdpwssd then scale, add and accumulate 32 block products.
//
// vpdpbusd wants one side unsigned, so B's quanta carry OFFSET; its correction, -OFFSET times the sum of A's block,
// is where the dot starts. All multiplications share two pipes and nothing else is scarce, so the products of scales
// come from a table (8 significands of A's scale times the panel's scales of B) by a load and a shift.
//
// Fast path, per tile and chunk: scales are taken relative to the smallest exponent of the row's chunk; the excess goes
// first into A's elements, as far as a dot stays in int16, then into the scale. It holds where a product of scales
// stays under 2^15 and the sum under 2^31 by Cauchy-Schwarz (on the way there it may wrap). Wide path, for all else:
// the dot in int32, times A's scale (under 2^30), times B's scale (under 2^48), summed in int64.
#include "gemm_kernel.h"
#include "internal.h"
#include "ufp4/format.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && \
    defined(__AVX512VNNI__)
#include <immintrin.h>
#include <string.h>

#define ROWS 8
#define COLS 16
#define PAIRS 16
#define CHUNK (2 * PAIRS)
#define HALF_ROWS 4  // the wide path's accumulators are twice as many
#define OFFSET 16
#define SIGNIFICANDS 8
#define TOO_WIDE (1 << 30)  // no product with it is under 2^15, and no scale reaches it

typedef struct {
  uint8_t elements[PAIRS][ROWS][32];  // quad 0 of both blocks, quad 1 of both, ..; signed
  int32_t start[PAIRS][ROWS][2];      // where the dots start
  uint16_t shift[PAIRS][ROWS][2];     // of the product of scales
  uint16_t scale[PAIRS][ROWS][2];     // significand << shift
  uint8_t entry[PAIRS][ROWS][2];      // of the table, in units of 8 bytes
  int32_t base[ROWS];                 // smallest exponent of a row
  int32_t pairs;
  int32_t scale_max;
  double norm2;  // the largest over the rows of the sum of squares of significand << (exponent - base)
  uint8_t padding[16];
} a_panel_t;

typedef struct {
  uint8_t elements[PAIRS][8][64];  // quads 0..3 of columns 0 1 4 5 8 9 12 13, then of 2 3 6 7 10 11 14 15; unsigned
  uint16_t scale[PAIRS][COLS][2];  // significand + 256 (exponent - base)
  int64_t base[COLS];
  int32_t scale_max;
  int32_t reserved;
  double norm2;
  uint8_t padding[48];
} b_panel_t;

// Entry s of a pair: (8 + s) times the 32 scales of B.
typedef struct {
  uint16_t entries[PAIRS][SIGNIFICANDS][32];
} table_t;

static_assert(sizeof(a_panel_t) % 64 == 0 && sizeof(b_panel_t) % 64 == 0, "panels are whole cache lines");

// --- Packing -----------------------------------------------------------------------------------------

// What a format means to the kernel.
typedef struct {
  __m512i quanta;  // by code, in each 128-bit lane
  int absorb;      // how far A's elements may be shifted
  double dot2;     // square of the largest dot
} format_t;

static int largest_quanta(ufp4_elem_t elem) {
  return elem == UFP4_ELEM_INT4 ? 8 : ufp4_elem_qmax_quanta(elem);
}

static __m512i quanta_table(ufp4_elem_t elem, int offset) {
  int8_t bytes[16];
  for (unsigned code = 0; code < 16; code++) bytes[code] = (int8_t)(ufp4_elem_quanta(elem, code) + offset);
  return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)bytes));
}

static int absorb_of(const gemm_job_t *job) {
  int a = largest_quanta(job->a->elem), dot = BLOCK * a * largest_quanta(job->b->elem), absorb = 0;
  // INT4's -8 may become -128; its 7 is then 112.
  int limit = job->a->elem == UFP4_ELEM_INT4 ? 128 : 127;
  while (a << (absorb + 1) <= limit && dot << (absorb + 1) < 1 << 15) absorb++;
  return absorb;
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
  // The smallest exponent, found among those of non-zero scales only.
  __m512i among = _mm512_mask_mov_epi16(exponent, s.zero, _mm512_set1_epi16(15));
  __m512i wide = _mm512_min_epi16(among, _mm512_srli_epi32(among, 16));
  s.base = _mm512_reduce_min_epi32(_mm512_and_si512(wide, _mm512_set1_epi32(0xFFFF)));
  if (s.base == 15) s.base = 0;
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

// 64 quanta of 4 blocks, one block per 128-bit lane; @p valid blocks of them exist.
INLINE __m512i load_quanta(const uint8_t *codes, int64_t valid, __m512i table) {
  __mmask32 mask = valid >= 4 ? ~(__mmask32)0 : ((__mmask32)1 << (8 * valid)) - 1;
  __m512i words = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, codes));
  words = _mm512_and_si512(_mm512_or_si512(words, _mm512_slli_epi16(words, 4)), _mm512_set1_epi8(15));
  return _mm512_shuffle_epi8(table, words);
}

// Quads of each pair of blocks side by side.
INLINE __m512i interleave_pairs(__m512i quanta) {
  const __m512i order = _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
  return _mm512_permutexvar_epi32(order, quanta);
}

// -OFFSET times the sums of the four blocks.
INLINE __m128i starts(__m512i quanta) {
  const __m512i zero = _mm512_setzero_si512();
  __m512i sum = _mm512_dpbusd_epi32(zero, _mm512_set1_epi8(OFFSET), quanta);
  sum = _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_BADC));
  sum = _mm512_sub_epi32(zero, _mm512_add_epi32(sum, _mm512_shuffle_epi32(sum, _MM_PERM_CDAB)));
  const __m512i lanes = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  return _mm512_castsi512_si128(_mm512_permutexvar_epi32(lanes, sum));
}

static void pack_a_elements(const uint8_t *codes, int64_t blocks, __m512i table, const scales_t *s, __m512i absorbed,
                            int r, a_panel_t *panel) {
  // A shift of bytes: of words, without the bits that cross. A zero scale makes its elements zero.
  __m512i keep = _mm512_sllv_epi16(_mm512_set1_epi16(0xFF), absorbed);
  keep = _mm512_and_si512(keep, _mm512_set1_epi16(0xFF));
  keep = _mm512_or_si512(keep, _mm512_slli_epi16(keep, 8));
  keep = _mm512_mask_mov_epi16(keep, s->zero, _mm512_setzero_si512());
  for (int g = 0; 4 * g < blocks; g++) {
    const __m512i lanes =
        _mm512_add_epi16(_mm512_set_epi64(0x0003000300030003, 0x0003000300030003, 0x0002000200020002,
                                          0x0002000200020002, 0x0001000100010001, 0x0001000100010001, 0, 0),
                         _mm512_set1_epi16((short)(4 * g)));
    __m512i quanta = load_quanta(codes + 32 * g, blocks - 4 * g, table);
    quanta = _mm512_sllv_epi16(quanta, _mm512_permutexvar_epi16(lanes, absorbed));
    quanta = _mm512_and_si512(quanta, _mm512_permutexvar_epi16(lanes, keep));
    __m128i start = starts(quanta);
    __m512i pairs = interleave_pairs(quanta);
    _mm256_storeu_si256((__m256i *)panel->elements[2 * g][r], _mm512_castsi512_si256(pairs));
    _mm256_storeu_si256((__m256i *)panel->elements[2 * g + 1][r], _mm512_extracti64x4_epi64(pairs, 1));
    _mm_storel_epi64((__m128i *)panel->start[2 * g][r], start);
    _mm_storel_epi64((__m128i *)panel->start[2 * g + 1][r], _mm_unpackhi_epi64(start, start));
  }
}

static void pack_a_scales(const scales_t *s, __m512i shift, int r, a_panel_t *panel) {
  __m512i entry = _mm512_sub_epi16(_mm512_max_epi16(s->significand, _mm512_set1_epi16(8)), _mm512_set1_epi16(8));
  uint32_t shifts[PAIRS], scales[PAIRS];
  uint16_t entries[PAIRS];
  _mm512_storeu_si512(shifts, shift);
  _mm512_storeu_si512(scales, _mm512_sllv_epi16(s->significand, shift));
  _mm256_storeu_si256((__m256i *)entries, _mm512_cvtepi16_epi8(_mm512_slli_epi16(entry, 3)));
  for (int p = 0; p < PAIRS; p++) {
    memcpy(panel->shift[p][r], &shifts[p], 4);
    memcpy(panel->scale[p][r], &scales[p], 4);
    memcpy(panel->entry[p][r], &entries[p], 2);
  }
}

static int64_t chunk_blocks(const ufp4_operand_t *x, int64_t block) {
  return x->blocks - block < CHUNK ? x->blocks - block : CHUNK;
}

static void pack_a(const gemm_job_t *job, int64_t row, int64_t block, void *to, uint8_t *poisoned) {
  const ufp4_operand_t *a = job->a;
  const __m512i table = quanta_table(a->elem, 0), absorb = _mm512_set1_epi16((short)absorb_of(job));
  const int64_t blocks = chunk_blocks(a, block);
  a_panel_t *panel = to;
  panel->pairs = (int32_t)((blocks + 1) / 2);
  panel->scale_max = 0;
  panel->norm2 = 0;
  for (int r = 0; r < ROWS; r++) {
    // Rows beyond the operand are the last one once more: their sums are not stored.
    int64_t at = (row + r < a->rows ? row + r : a->rows - 1) * a->blocks + block;
    scales_t s = load_scales(a->scales + at, blocks);
    __m512i absorbed = _mm512_min_epi16(s.excess, absorb), shift = _mm512_sub_epi16(s.excess, absorbed);
    bound_scales(&s, shift, &panel->norm2, &panel->scale_max);
    if (s.subnormal) panel->scale_max = TOO_WIDE;  // the table has no such significands
    if (s.nan && row + r < a->rows) poisoned[r] = 1;
    panel->base[r] = s.base;
    pack_a_elements(a->codes + at * CODE_BYTES, blocks, table, &s, absorbed, r, panel);
    pack_a_scales(&s, shift, r, panel);
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

static void pack_b_elements(const uint8_t *const codes[COLS], int64_t blocks, __m512i table, b_panel_t *panel) {
  for (int g = 0; 4 * g < blocks; g++) {
    for (int half = 0; half < 2; half++) {
      __m512i v[8];
      for (int c = 0; c < 8; c++) {
        v[c] = interleave_pairs(load_quanta(codes[half_columns[half][c]] + 32 * g, blocks - 4 * g, table));
      }
      transpose_qwords(v);
      for (int q = 0; q < 4; q++) {
        _mm512_store_si512(panel->elements[2 * g][4 * half + q], v[q]);
        _mm512_store_si512(panel->elements[2 * g + 1][4 * half + q], v[4 + q]);
      }
    }
  }
}

// 16 x 16 transpose of 32-bit numbers, column by column of the result.
static void transpose_scales(const uint32_t from[COLS][PAIRS], b_panel_t *panel) {
  const __m512i rows = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                          _mm512_set1_epi32(PAIRS));
  for (int p = 0; p < PAIRS; p++) {
    _mm512_store_si512(panel->scale[p], _mm512_i32gather_epi32(rows, (const int *)&from[0][p], 4));
  }
}

static void pack_b(const gemm_job_t *job, int64_t row, int64_t block, void *to, uint8_t *poisoned) {
  const ufp4_operand_t *b = job->b;
  const int64_t blocks = chunk_blocks(b, block);
  const uint8_t *codes[COLS];
  uint32_t scales[COLS][PAIRS];
  b_panel_t *panel = to;
  panel->scale_max = 0;
  panel->norm2 = 0;
  for (int c = 0; c < COLS; c++) {
    int64_t at = (row + c < b->rows ? row + c : b->rows - 1) * b->blocks + block;
    scales_t s = load_scales(b->scales + at, blocks);
    bound_scales(&s, s.excess, &panel->norm2, &panel->scale_max);
    if (s.nan && row + c < b->rows) poisoned[c] = 1;
    codes[c] = b->codes + at * CODE_BYTES;
    panel->base[c] = s.base;
    _mm512_storeu_si512(scales[c], _mm512_or_si512(s.significand, _mm512_slli_epi16(s.excess, 8)));
  }
  // The largest dot belongs to the pair of formats: it is charged to B.
  double dot = BLOCK * largest_quanta(job->a->elem) * largest_quanta(b->elem);
  panel->norm2 *= dot * dot;
  pack_b_elements(codes, blocks, quanta_table(b->elem, OFFSET), panel);
  transpose_scales((const uint32_t(*)[PAIRS])scales, panel);
}

static void prepare(const void *from, void *to) {
  const b_panel_t *b = from;
  table_t *table = to;
  for (int p = 0; p < PAIRS; p++) {
    __m512i raw = _mm512_load_si512(b->scale[p]);
    __m512i scale = _mm512_sllv_epi16(_mm512_and_si512(raw, _mm512_set1_epi16(0xFF)), _mm512_srli_epi16(raw, 8));
    __m512i entry = _mm512_slli_epi16(scale, 3);
    for (int s = 0; s < SIGNIFICANDS; s++) {
      _mm512_store_si512(table->entries[p][s], entry);
      entry = _mm512_add_epi16(entry, scale);
    }
  }
}

// --- Products ----------------------------------------------------------------------------------------

INLINE __m512i broadcast8(const void *from) {
  int64_t value;
  memcpy(&value, from, sizeof value);
  return _mm512_set1_epi64(value);
}

INLINE __m512i broadcast4(const void *from) {
  int32_t value;
  memcpy(&value, from, sizeof value);
  return _mm512_set1_epi32(value);
}

// The dots of one row and 16 columns with a pair of blocks.
INLINE void dots(const a_panel_t *a, int p, int r, const __m512i b[8], __m512i dot[2]) {
  dot[0] = dot[1] = broadcast8(a->start[p][r]);
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) {
    __m512i quads = broadcast8(a->elements[p][r] + 8 * q);
    dot[0] = _mm512_dpbusd_epi32(dot[0], b[q], quads);
    dot[1] = _mm512_dpbusd_epi32(dot[1], b[4 + q], quads);
  }
}

INLINE void load_pair(const b_panel_t *b, int p, __m512i to[8]) {
#pragma GCC unroll 8
  for (int q = 0; q < 8; q++) to[q] = _mm512_load_si512(b->elements[p][q]);
}

// The products of the scales of a pair of blocks, as words.
INLINE __m512i scale_products(const a_panel_t *a, int p, int r, const table_t *table) {
  const char *entries = (const char *)table->entries[p];
  __m512i product = _mm512_load_si512(entries + 8 * (size_t)a->entry[p][r][0]);
  product = _mm512_mask_loadu_epi16(product, 0xAAAAAAAA, entries + 8 * (size_t)a->entry[p][r][1]);
  return _mm512_sllv_epi16(product, broadcast4(a->shift[p][r]));
}

INLINE void add_to(int64_t *to, int first, __m512i sum) {
  if (!first) sum = _mm512_add_epi64(sum, _mm512_load_si512(to));
  _mm512_store_si512(to, sum);
}

static void multiply_fast(const a_panel_t *a, const b_panel_t *b, const table_t *table, int first, int64_t *sums) {
  __m512i sum[ROWS];
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) sum[r] = _mm512_setzero_si512();
  for (int p = 0; p < a->pairs; p++) {
    __m512i quads[8];
    load_pair(b, p, quads);
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++) {
      __m512i dot[2];
      dots(a, p, r, quads, dot);
      sum[r] = _mm512_dpwssd_epi32(sum[r], _mm512_packs_epi32(dot[0], dot[1]), scale_products(a, p, r, table));
    }
  }
  const __m512i base0 = _mm512_load_si512(b->base), base1 = _mm512_load_si512(b->base + 8);
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) {
    const __m512i base = _mm512_set1_epi64(a->base[r]);
    __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(sum[r]));
    __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(sum[r], 1));
    add_to(sums + r * COLS, first, _mm512_sllv_epi64(low, _mm512_add_epi64(base, base0)));
    add_to(sums + r * COLS + 8, first, _mm512_sllv_epi64(high, _mm512_add_epi64(base, base1)));
  }
}

// B's scales as 32-bit numbers in the order of the dots: of the even and of the odd blocks, each in the low half of a
// 64-bit lane, where vpmuldq looks.
INLINE void wide_scales(const b_panel_t *b, int p, __m512i even[2], __m512i odd[2]) {
  const __m512i zero = _mm512_setzero_si512(), raw = _mm512_load_si512(b->scale[p]);
  for (int half = 0; half < 2; half++) {
    __m512i wide = half ? _mm512_unpackhi_epi16(raw, zero) : _mm512_unpacklo_epi16(raw, zero);
    even[half] = _mm512_sllv_epi32(_mm512_and_si512(wide, _mm512_set1_epi32(0xFF)), _mm512_srli_epi32(wide, 8));
    odd[half] = _mm512_srli_epi64(even[half], 32);
  }
}

// sums of half a tile, by half of the columns (half_columns).
INLINE void multiply_wide_half(const a_panel_t *a, const b_panel_t *b, int r0, __m512i sum[HALF_ROWS][2]) {
#pragma GCC unroll 4
  for (int r = 0; r < HALF_ROWS; r++) sum[r][0] = sum[r][1] = _mm512_setzero_si512();
  for (int p = 0; p < a->pairs; p++) {
    __m512i quads[8], even[2], odd[2];
    load_pair(b, p, quads);
    wide_scales(b, p, even, odd);
#pragma GCC unroll 4
    for (int r = 0; r < HALF_ROWS; r++) {
      __m512i dot[2], scale = _mm512_unpacklo_epi16(broadcast4(a->scale[p][r0 + r]), _mm512_setzero_si512());
      dots(a, p, r0 + r, quads, dot);
#pragma GCC unroll 2
      for (int half = 0; half < 2; half++) {
        __m512i scaled = _mm512_mullo_epi32(dot[half], scale);
        sum[r][half] = _mm512_add_epi64(sum[r][half], _mm512_mul_epi32(scaled, even[half]));
        sum[r][half] = _mm512_add_epi64(sum[r][half], _mm512_mul_epi32(_mm512_srli_epi64(scaled, 32), odd[half]));
      }
    }
  }
}

static void multiply_wide(const a_panel_t *a, const b_panel_t *b, int first, int64_t *sums) {
  const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  for (int r0 = 0; r0 < ROWS; r0 += HALF_ROWS) {
    __m512i sum[HALF_ROWS][2];
    multiply_wide_half(a, b, r0, sum);
    for (int r = 0; r < HALF_ROWS; r++) {
      const __m512i base = _mm512_set1_epi64(a->base[r0 + r]);
      int64_t *to = sums + (r0 + r) * COLS;
      __m512i low = _mm512_permutex2var_epi64(sum[r][0], left, sum[r][1]);
      __m512i high = _mm512_permutex2var_epi64(sum[r][0], right, sum[r][1]);
      add_to(to, first, _mm512_sllv_epi64(low, _mm512_add_epi64(base, _mm512_load_si512(b->base))));
      add_to(to + 8, first, _mm512_sllv_epi64(high, _mm512_add_epi64(base, _mm512_load_si512(b->base + 8))));
    }
  }
}

// The margin covers the rounding of the norms.
static int is_narrow(const a_panel_t *a, const b_panel_t *b) {
  return (int64_t)a->scale_max * b->scale_max < 1 << 15 && a->norm2 * b->norm2 < 0x1p62 * 0.999;
}

static void multiply(const void *a, const void *b, const void *table, int first, int64_t *sums) {
  if (is_narrow(a, b)) {
    multiply_fast(a, b, table, first, sums);
  } else {
    multiply_wide(a, b, first, sums);
  }
}

// --- Results -----------------------------------------------------------------------------------------

typedef struct {
  __m512i sum[2];
  __mmask16 nan, inside;
} row_sums_t;

static row_sums_t load_row(const gemm_job_t *job, const gemm_tile_t *tile, int r, __mmask16 col_poisoned,
                           const int64_t *sums) {
  const __m512i nan = _mm512_set1_epi64(UFP4_I64_NAN);
  row_sums_t row = {.inside = (__mmask16)((1u << tile->cols) - 1), .nan = col_poisoned};
  if (tile->row_poisoned[r]) row.nan = 0xFFFF;
  for (int half = 0; half < 2; half++) {
    row.sum[half] = _mm512_load_si512(sums + r * COLS + 8 * half);
    if (job->how->accumulate != NULL) {
      const int64_t *from = job->how->accumulate + (tile->row + r) * job->how->accumulate_ld + tile->col + 8 * half;
      __m512i earlier = _mm512_maskz_loadu_epi64((__mmask8)(row.inside >> (8 * half)), from);
      row.nan = (__mmask16)(row.nan | _mm512_cmpeq_epi64_mask(earlier, nan) << (8 * half));
      row.sum[half] = _mm512_add_epi64(row.sum[half], earlier);
      row.nan = (__mmask16)(row.nan | _mm512_cmpeq_epi64_mask(row.sum[half], nan) << (8 * half));
    }
  }
  return row;
}

// Each line is one operation, rounded once. The sum's rounding is the conversion's: 2^exponent then is exact.
static __m512 rounded(const gemm_job_t *job, const row_sums_t *row, int64_t i, int64_t j) {
  __m512i bits = _mm512_castsi256_si512(_mm256_castps_si256(_mm512_cvtepi64_ps(row->sum[0])));
  bits = _mm512_inserti64x4(bits, _mm256_castps_si256(_mm512_cvtepi64_ps(row->sum[1])), 1);
  const __m512 unit = _mm512_castsi512_ps(_mm512_set1_epi32((127 + job->exponent) << 23));
  __m512 value = _mm512_mul_ps(_mm512_castsi512_ps(bits), unit);
  if (job->scale != 1.0f) value = _mm512_mul_ps(value, _mm512_set1_ps(job->scale));
  if (job->how->alpha != 1.0f) value = _mm512_mul_ps(value, _mm512_set1_ps(job->how->alpha));
  if (job->how->c != NULL) {
    value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(row->inside, job->how->c + i * job->how->c_ld + j));
  }
  __mmask16 nan = (__mmask16)(row->nan | _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q));
  return _mm512_mask_mov_ps(value, nan, _mm512_castsi512_ps(_mm512_set1_epi32(UFP4_F32_NAN)));
}

static __m256i to_bf16(__m512 value) {
  __m512i bits = _mm512_castps_si512(value);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  bits = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16));
}

static void store_row(const gemm_job_t *job, const row_sums_t *row, int64_t i, int64_t j) {
  const int64_t at = i * job->d_ld + j;
  if (job->how->d_dtype == UFP4_DTYPE_I64) {
    for (int half = 0; half < 2; half++) {
      __m512i sum =
          _mm512_mask_mov_epi64(row->sum[half], (__mmask8)(row->nan >> (8 * half)), _mm512_set1_epi64(UFP4_I64_NAN));
      _mm512_mask_storeu_epi64((int64_t *)job->d + at + 8 * half, (__mmask8)(row->inside >> (8 * half)), sum);
    }
  } else if (job->how->d_dtype == UFP4_DTYPE_F32) {
    _mm512_mask_storeu_ps((float *)job->d + at, row->inside, rounded(job, row, i, j));
  } else {
    _mm256_mask_storeu_epi16((uint16_t *)job->d + at, row->inside, to_bf16(rounded(job, row, i, j)));
  }
}

static void store(const gemm_job_t *job, const gemm_tile_t *tile, const int64_t *sums) {
  // Where 2^exponent times any sum is a normal number.
  int plain = job->exponent >= -126 && job->exponent <= 64;
  if (job->how->d_dtype == UFP4_DTYPE_I64) plain = 1;
  __m128i poisoned = _mm_loadu_si128((const __m128i *)tile->col_poisoned);
  __mmask16 col_poisoned = _mm_test_epi8_mask(poisoned, poisoned);
  for (int r = 0; r < tile->rows; r++) {
    if (plain) {
      row_sums_t row = load_row(job, tile, r, col_poisoned, sums);
      store_row(job, &row, tile->row + r, tile->col);
    } else {
      for (int c = 0; c < tile->cols; c++) {
        gemm_store(job, tile->row_poisoned[r] | tile->col_poisoned[c], sums[r * COLS + c], tile->row + r,
                   tile->col + c);
      }
    }
  }
}

static const gemm_kernel_t kernel = {
    .name = "avx512",
    .tile_rows = ROWS,
    .tile_cols = COLS,
    .chunk_blocks = CHUNK,
    .a_bytes = sizeof(a_panel_t),
    .b_bytes = sizeof(b_panel_t),
    .table_bytes = sizeof(table_t),
    .pack_a = pack_a,
    .pack_b = pack_b,
    .prepare = prepare,
    .multiply = multiply,
    .store = store,
};

const gemm_kernel_t *gemm_avx512(void) {
  int have = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vnni");
  return have ? &kernel : NULL;
}

#else

const gemm_kernel_t *gemm_avx512(void) {
  return NULL;
}

#endif
