// SPDX-License-Identifier: Apache-2.0
// Exact GEMM for AVX-512 VNNI. A tile is 8 rows of A by 16 rows of B, in chunks of 32 blocks.
//
// A vector holds quads of k of 8 columns of B, of two blocks each: dword 2c is column c's block 2p, dword 2c + 1 its
// block 2p + 1. A's quads of the same two blocks are broadcast against it, so four vpdpbusd give the dots of two blocks
// by 8 columns, and packing two such vectors to int16 puts the two dots of a column side by side. One 16-bit product of
// the scales and one vpdpwssd then scale, add and accumulate 32 block products.
//
// vpdpbusd wants one side unsigned, so B's quanta carry OFFSET; its correction, -OFFSET times the sum of A's block,
// is where the dot starts.
//
// Scales are taken relative to the smallest exponent of the row's chunk. What A's exceed it goes first into A's
// elements, as far as a dot stays in int16; the rest, with B's excess, shifts the product of the significands. That
// product of scales is used whole where all those of a tile and chunk stay under 2^15 and the sum under 2^31 by
// Cauchy-Schwarz (on its way there it may wrap). It is cut into two digits, each with a sum of its own, where the same
// holds for the part above the lowest 11 bits: 32 * 24576 * 2^11 < 2^31. Any other scales are multiplied one after the
// other, in 32 and 64 bits.
//
// All multiplications share two pipes and little else is scarce. So the products of significands come from a table, by
// a load: A's 8 normal ones times the panel's of B. Per row, two blocks and 16 columns that makes 9, 10 or 14
// multiplications, 8 of them the dots'.
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
#define FEW_ROWS 4  // of whose wide sums the registers hold no more
#define OFFSET 16
#define SIGNIFICANDS 8
#define DIGIT 11
#define SUBNORMAL (1 << 30)  // as a largest scale: too large for a table

typedef struct {
  uint8_t elements[PAIRS][ROWS][32];  // quad 0 of both blocks, quad 1 of both, ..; signed
  int32_t start[ROWS][PAIRS][2];      // where the dots start
  uint16_t shift[ROWS][PAIRS][2];     // of the product of significands
  uint16_t scale[ROWS][PAIRS][2];     // significand << shift
  uint8_t entry[ROWS][PAIRS][2];      // of the table, in units of 8 bytes
  int32_t base[ROWS];                 // smallest exponent of a row
  int32_t pairs;
  int32_t scale_max;  // the largest significand << shift
  double norm2;       // the largest over the rows of the sum of squares of significand << (exponent - base)
  uint8_t padding[16];
} a_panel_t;

typedef struct {
  uint8_t elements[PAIRS][8][64];  // quads 0..3 of columns 0 1 4 5 8 9 12 13, then of 2 3 6 7 10 11 14 15; unsigned
  uint16_t significand[PAIRS][COLS][2];
  uint16_t shift[PAIRS][COLS][2];  // exponent - base
  int64_t base[COLS];
  int32_t scale_max;
  int32_t reserved;
  double norm2;
  uint8_t padding[48];
} b_panel_t;

// Entry s of a pair: (8 + s) times the 32 significands of B.
typedef struct {
  uint16_t entries[PAIRS][SIGNIFICANDS][32];
} table_t;

static_assert(sizeof(a_panel_t) % 64 == 0 && sizeof(b_panel_t) % 64 == 0, "panels are whole cache lines");

// --- Packing -----------------------------------------------------------------------------------------

static int largest_quanta(ufp4_elem_t elem) {
  return elem == UFP4_ELEM_INT4 ? 8 : ufp4_elem_qmax_quanta(elem);
}

static __m512i quanta_table(ufp4_elem_t elem, int offset) {
  int8_t bytes[16];
  for (unsigned code = 0; code < 16; code++) bytes[code] = (int8_t)(ufp4_elem_quanta(elem, code) + offset);
  return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)bytes));
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
    _mm_storeu_si128((__m128i *)panel->start[r][2 * g], start);
  }
}

static void pack_a_scales(const scales_t *s, __m512i shift, int r, a_panel_t *panel) {
  const __m512i eight = _mm512_set1_epi16(8);
  __m512i entry = _mm512_slli_epi16(_mm512_sub_epi16(_mm512_max_epi16(s->significand, eight), eight), 3);
  _mm512_store_si512(panel->shift[r], shift);
  _mm512_store_si512(panel->scale[r], _mm512_sllv_epi16(s->significand, shift));
  _mm256_store_si256((__m256i *)panel->entry[r], _mm512_cvtepi16_epi8(entry));
}

static int64_t chunk_blocks(const ufp4_operand_t *x, int64_t block) {
  return x->blocks - block < CHUNK ? x->blocks - block : CHUNK;
}

static void pack_a(const gemm_job_t *job, int64_t row, int64_t block, void *to, uint8_t *poisoned) {
  const ufp4_operand_t *a = job->a;
  const __m512i table = quanta_table(a->elem, 0), absorb = _mm512_set1_epi16((short)absorb_of(a->elem));
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
    if (s.subnormal) panel->scale_max = SUBNORMAL;
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

// 16 x 16 transpose of 32-bit numbers: within 128-bit lanes, then of the lanes.
INLINE void transpose_dwords(__m512i v[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 4) {
    __m512i a = _mm512_unpacklo_epi32(v[i], v[i + 1]), b = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    __m512i c = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]), d = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
    t[i] = _mm512_unpacklo_epi64(a, c);
    t[i + 1] = _mm512_unpackhi_epi64(a, c);
    t[i + 2] = _mm512_unpacklo_epi64(b, d);
    t[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
  // Lane l of t[i + j] holds number 4l + j of vectors i..i+3.
  for (int j = 0; j < 4; j++) {
    __m512i a = _mm512_shuffle_i64x2(t[j], t[4 + j], 0x88), b = _mm512_shuffle_i64x2(t[j], t[4 + j], 0xDD);
    __m512i c = _mm512_shuffle_i64x2(t[8 + j], t[12 + j], 0x88), d = _mm512_shuffle_i64x2(t[8 + j], t[12 + j], 0xDD);
    v[j] = _mm512_shuffle_i64x2(a, c, 0x88);
    v[4 + j] = _mm512_shuffle_i64x2(b, d, 0x88);
    v[8 + j] = _mm512_shuffle_i64x2(a, c, 0xDD);
    v[12 + j] = _mm512_shuffle_i64x2(b, d, 0xDD);
  }
}

static void pack_b_scales(const __m512i scales[COLS], uint16_t to[PAIRS][COLS][2]) {
  __m512i v[COLS];
  for (int c = 0; c < COLS; c++) v[c] = scales[c];
  transpose_dwords(v);
  for (int p = 0; p < PAIRS; p++) _mm512_store_si512(to[p], v[p]);
}

static void pack_b(const gemm_job_t *job, int64_t row, int64_t block, void *to, uint8_t *poisoned) {
  const ufp4_operand_t *b = job->b;
  const int64_t blocks = chunk_blocks(b, block);
  const uint8_t *codes[COLS];
  __m512i significand[COLS], shift[COLS];
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
    significand[c] = s.significand;
    shift[c] = s.excess;
  }
  // The largest dot belongs to the pair of formats: it is charged to B.
  double dot = BLOCK * largest_quanta(job->a->elem) * largest_quanta(b->elem);
  panel->norm2 *= dot * dot;
  pack_b_elements(codes, blocks, quanta_table(b->elem, OFFSET), panel);
  pack_b_scales(significand, panel->significand);
  pack_b_scales(shift, panel->shift);
}

static void prepare(const void *from, void *to) {
  const b_panel_t *b = from;
  table_t *table = to;
  for (int p = 0; p < PAIRS; p++) {
    __m512i significand = _mm512_load_si512(b->significand[p]);
    __m512i entry = _mm512_slli_epi16(significand, 3);
    for (int s = 0; s < SIGNIFICANDS; s++) {
      _mm512_store_si512(table->entries[p][s], entry);
      entry = _mm512_add_epi16(entry, significand);
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
  dot[0] = dot[1] = broadcast8(a->start[r][p]);
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) {
    __m512i quads = broadcast8(a->elements[p][r] + 8 * q);
    dot[0] = _mm512_dpbusd_epi32(dot[0], b[q], quads);
    dot[1] = _mm512_dpbusd_epi32(dot[1], b[4 + q], quads);
  }
}

// As words: the two of a column side by side.
INLINE __m512i packed_dots(const a_panel_t *a, int p, int r, const __m512i b[8]) {
  __m512i dot[2];
  dots(a, p, r, b, dot);
  return _mm512_packs_epi32(dot[0], dot[1]);
}

INLINE void load_pair(const b_panel_t *b, int p, __m512i to[8]) {
#pragma GCC unroll 8
  for (int q = 0; q < 8; q++) to[q] = _mm512_load_si512(b->elements[p][q]);
}

// The products of the significands.
INLINE __m512i looked_up(const a_panel_t *a, int p, int r, const table_t *table) {
  const char *entries = (const char *)table->entries[p];
  __m512i product = _mm512_load_si512(entries + 8 * (size_t)a->entry[r][p][0]);
  return _mm512_mask_loadu_epi16(product, 0xAAAAAAAA, entries + 8 * (size_t)a->entry[r][p][1]);
}

INLINE __m512i base_of(const a_panel_t *a, const b_panel_t *b, int r, int half) {
  return _mm512_add_epi64(_mm512_set1_epi64(a->base[r]), _mm512_load_si512(b->base + 8 * half));
}

INLINE void add_to(int64_t *to, int first, __m512i sum) {
  if (!first) sum = _mm512_add_epi64(sum, _mm512_load_si512(to));
  _mm512_store_si512(to, sum);
}

// Adds a row of 16 sums times 2^(the exponents they are relative to).
INLINE void add_row(const a_panel_t *a, const b_panel_t *b, int r, __m512i sum0, __m512i sum1, int first,
                    int64_t *sums) {
  add_to(sums + r * COLS, first, _mm512_sllv_epi64(sum0, base_of(a, b, r, 0)));
  add_to(sums + r * COLS + 8, first, _mm512_sllv_epi64(sum1, base_of(a, b, r, 1)));
}

INLINE __m512i half_of(__m512i sums, int half) {
  return _mm512_cvtepi32_epi64(half ? _mm512_extracti64x4_epi64(sums, 1) : _mm512_castsi512_si256(sums));
}

INLINE __m512i joined(const __m512i digit[2], int half) {
  return _mm512_add_epi64(half_of(digit[0], half), _mm512_slli_epi64(half_of(digit[1], half), DIGIT));
}

// The next panel of A follows this one; a share of what is read of it each time. (After the last panel it is harmless.)
INLINE void fetch_next(const a_panel_t *a, int p) {
  const char *next = (const char *)(a + 1);
#pragma GCC unroll 4
  for (size_t at = 0; at < sizeof a->elements[p]; at += 64) {
    __builtin_prefetch(next + (size_t)p * sizeof a->elements[p] + at);
  }
  __builtin_prefetch(next + offsetof(a_panel_t, start) + (size_t)p * 64);
  __builtin_prefetch(next + offsetof(a_panel_t, shift) + (size_t)p * 32);
}

static void multiply_one_digit(const a_panel_t *a, const b_panel_t *b, const table_t *table, int first, int64_t *sums) {
  __m512i sum[ROWS];
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) sum[r] = _mm512_setzero_si512();
  for (int p = 0; p < a->pairs; p++) {
    __m512i quads[8], shift_b = _mm512_load_si512(b->shift[p]);
    fetch_next(a, p);
    load_pair(b, p, quads);
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++) {
      __m512i shift = _mm512_add_epi16(shift_b, broadcast4(a->shift[r][p]));
      __m512i scale = _mm512_sllv_epi16(looked_up(a, p, r, table), shift);
      sum[r] = _mm512_dpwssd_epi32(sum[r], packed_dots(a, p, r, quads), scale);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) add_row(a, b, r, half_of(sum[r], 0), half_of(sum[r], 1), first, sums);
}

// For products of scales under 2^26. Where the shift exceeds 11 both significands are 8 at least, so it is 19 at most,
// and the bits above the lowest DIGIT come from shifting product << 8, still a word, down.
static void multiply_two_digits(const a_panel_t *a, const b_panel_t *b, const table_t *table, int first,
                                int64_t *sums) {
  const __m512i low_bits = _mm512_set1_epi16((1 << DIGIT) - 1), top = _mm512_set1_epi16(8 + DIGIT);
  __m512i sum[ROWS][2];
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) sum[r][0] = sum[r][1] = _mm512_setzero_si512();
  for (int p = 0; p < a->pairs; p++) {
    __m512i quads[8];
    fetch_next(a, p);
    load_pair(b, p, quads);
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++) {
      __m512i product = looked_up(a, p, r, table), dot = packed_dots(a, p, r, quads);
      __m512i shift = _mm512_add_epi16(_mm512_load_si512(b->shift[p]), broadcast4(a->shift[r][p]));
      __m512i low = _mm512_and_si512(_mm512_sllv_epi16(product, shift), low_bits);
      __m512i high = _mm512_srlv_epi16(_mm512_slli_epi16(product, 8), _mm512_sub_epi16(top, shift));
      sum[r][0] = _mm512_dpwssd_epi32(sum[r][0], dot, low);
      sum[r][1] = _mm512_dpwssd_epi32(sum[r][1], dot, high);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) add_row(a, b, r, joined(sum[r], 0), joined(sum[r], 1), first, sums);
}

// B's scales as 32-bit numbers in the order of the dots: of the even and of the odd blocks, each in the low half of a
// 64-bit lane, where vpmuldq looks.
INLINE void wide_scales(const b_panel_t *b, int p, __m512i even[2], __m512i odd[2]) {
  const __m512i zero = _mm512_setzero_si512(), significand = _mm512_load_si512(b->significand[p]);
  const __m512i shift = _mm512_load_si512(b->shift[p]);
  even[0] = _mm512_sllv_epi32(_mm512_unpacklo_epi16(significand, zero), _mm512_unpacklo_epi16(shift, zero));
  even[1] = _mm512_sllv_epi32(_mm512_unpackhi_epi16(significand, zero), _mm512_unpackhi_epi16(shift, zero));
  odd[0] = _mm512_srli_epi64(even[0], 32);
  odd[1] = _mm512_srli_epi64(even[1], 32);
}

// The dot times A's scale is under 24576 * 15 * 2^11 < 2^30; times B's, under 2^48.
INLINE void add_wide(const __m512i dot[2], __m512i scale, const __m512i even[2], const __m512i odd[2], __m512i sum[2]) {
#pragma GCC unroll 2
  for (int half = 0; half < 2; half++) {
    __m512i scaled = _mm512_mullo_epi32(dot[half], scale);
    sum[half] = _mm512_add_epi64(sum[half], _mm512_mul_epi32(scaled, even[half]));
    sum[half] = _mm512_add_epi64(sum[half], _mm512_mul_epi32(_mm512_srli_epi64(scaled, 32), odd[half]));
  }
}

INLINE void multiply_few_rows(const a_panel_t *a, const b_panel_t *b, int r0, int first, int64_t *sums) {
  const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  __m512i sum[FEW_ROWS][2];
#pragma GCC unroll 4
  for (int r = 0; r < FEW_ROWS; r++) sum[r][0] = sum[r][1] = _mm512_setzero_si512();
  for (int p = 0; p < a->pairs; p++) {
    __m512i quads[8], even[2], odd[2], dot[2];
    load_pair(b, p, quads);
    wide_scales(b, p, even, odd);
#pragma GCC unroll 4
    for (int r = 0; r < FEW_ROWS; r++) {
      dots(a, p, r0 + r, quads, dot);
      __m512i scale = _mm512_unpacklo_epi16(broadcast4(a->scale[r0 + r][p]), _mm512_setzero_si512());
      add_wide(dot, scale, even, odd, sum[r]);
    }
  }
  for (int r = 0; r < FEW_ROWS; r++) {
    __m512i sum0 = _mm512_permutex2var_epi64(sum[r][0], left, sum[r][1]);
    __m512i sum1 = _mm512_permutex2var_epi64(sum[r][0], right, sum[r][1]);
    add_row(a, b, r0 + r, sum0, sum1, first, sums);
  }
}

static void multiply_wide(const a_panel_t *a, const b_panel_t *b, int first, int64_t *sums) {
  for (int r = 0; r < ROWS; r += FEW_ROWS) multiply_few_rows(a, b, r, first, sums);
}

// The sum's bound, squared; the margin covers the rounding of the norms.
static int fits(const a_panel_t *a, const b_panel_t *b, int bits, double sum2) {
  return (int64_t)a->scale_max * b->scale_max < INT64_C(1) << bits && a->norm2 * b->norm2 < sum2 * 0.999;
}

static void multiply(const void *a, const void *b, const void *table, int first, int64_t *sums) {
  if (fits(a, b, 15, 0x1p62)) {
    multiply_one_digit(a, b, table, first, sums);
  } else if (fits(a, b, 15 + DIGIT, 0x1p62 * (1 << DIGIT) * (1 << DIGIT))) {
    multiply_two_digits(a, b, table, first, sums);
  } else {
    multiply_wide(a, b, first, sums);
  }
}

// --- Results -----------------------------------------------------------------------------------------

// 16 sums of a row of D, and which of them are NaN.
typedef struct {
  __m512i sum[2];
  __mmask16 nan;
} row_sums_t;

INLINE void accumulate(const int64_t *from, __mmask16 inside, row_sums_t *row) {
  const __m512i nan = _mm512_set1_epi64(UFP4_I64_NAN);
  for (int half = 0; half < 2; half++) {
    __m512i earlier = _mm512_maskz_loadu_epi64((__mmask8)(inside >> (8 * half)), from + 8 * half);
    __mmask8 was_nan = _mm512_cmpeq_epi64_mask(earlier, nan);
    row->sum[half] = _mm512_add_epi64(row->sum[half], earlier);
    was_nan = (__mmask8)(was_nan | _mm512_cmpeq_epi64_mask(row->sum[half], nan));
    row->nan = (__mmask16)(row->nan | was_nan << (8 * half));
  }
}

// One rounding, the conversion's: times 2^exponent then is exact.
INLINE __m512 rounded(const row_sums_t *row, __m512 unit) {
  __m512i low = _mm512_castsi256_si512(_mm256_castps_si256(_mm512_cvtepi64_ps(row->sum[0])));
  __m256i high = _mm256_castps_si256(_mm512_cvtepi64_ps(row->sum[1]));
  return _mm512_mul_ps(_mm512_castsi512_ps(_mm512_inserti64x4(low, high, 1)), unit);
}

// Each line is one operation, rounded once.
INLINE __m512 finished(const gemm_job_t *job, const row_sums_t *row, __m512 value, __mmask16 inside, int64_t i,
                       int64_t j) {
  if (job->scale != 1.0f) value = _mm512_mul_ps(value, _mm512_set1_ps(job->scale));
  if (job->how->alpha != 1.0f) value = _mm512_mul_ps(value, _mm512_set1_ps(job->how->alpha));
  if (job->how->c != NULL) {
    value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(inside, job->how->c + i * job->how->c_ld + j));
  }
  __mmask16 nan = (__mmask16)(row->nan | _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q));
  return _mm512_mask_mov_ps(value, nan, _mm512_castsi512_ps(_mm512_set1_epi32(UFP4_F32_NAN)));
}

INLINE __m256i to_bf16(__m512 value) {
  __m512i bits = _mm512_castps_si512(value);
  __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  bits = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16));
}

INLINE void store_i64(int64_t *to, __mmask16 inside, const row_sums_t *row) {
  const __m512i nan = _mm512_set1_epi64(UFP4_I64_NAN);
  for (int half = 0; half < 2; half++) {
    __m512i sum = _mm512_mask_mov_epi64(row->sum[half], (__mmask8)(row->nan >> (8 * half)), nan);
    _mm512_mask_storeu_epi64(to + 8 * half, (__mmask8)(inside >> (8 * half)), sum);
  }
}

// For exponents with which 2^exponent times any sum is a normal number, or Inf as it should.
static void store_rows(const gemm_job_t *job, const gemm_tile_t *tile, __mmask16 col_poisoned, const int64_t *sums) {
  const ufp4_gemm_t *how = job->how;
  const __m512 unit = _mm512_castsi512_ps(_mm512_set1_epi32((127 + job->exponent) << 23));
  const __mmask16 inside = (__mmask16)((1u << tile->cols) - 1);
  for (int r = 0; r < tile->rows; r++) {
    const int64_t i = tile->row + r, j = tile->col, at = i * job->d_ld + j;
    row_sums_t row = {.nan = tile->row_poisoned[r] ? 0xFFFF : col_poisoned};
    row.sum[0] = _mm512_load_si512(sums + r * COLS);
    row.sum[1] = _mm512_load_si512(sums + r * COLS + 8);
    if (how->accumulate != NULL) accumulate(how->accumulate + i * how->accumulate_ld + j, inside, &row);
    if (how->d_dtype == UFP4_DTYPE_I64) {
      store_i64((int64_t *)job->d + at, inside, &row);
      continue;
    }
    __m512 value = finished(job, &row, rounded(&row, unit), inside, i, j);
    if (how->d_dtype == UFP4_DTYPE_F32) {
      _mm512_mask_storeu_ps((float *)job->d + at, inside, value);
    } else {
      _mm256_mask_storeu_epi16((uint16_t *)job->d + at, inside, to_bf16(value));
    }
  }
}

// The usual case: FP32, nothing but the sum, a whole tile.
static void store_plain(const gemm_job_t *job, const gemm_tile_t *tile, const int64_t *sums) {
  const __m512 unit = _mm512_castsi512_ps(_mm512_set1_epi32((127 + job->exponent) << 23));
  float *to = (float *)job->d + tile->row * job->d_ld + tile->col;
  const int64_t ld = job->d_ld;
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++) {
    row_sums_t row = {.sum = {_mm512_load_si512(sums + r * COLS), _mm512_load_si512(sums + r * COLS + 8)}};
    _mm512_storeu_ps(to + r * ld, rounded(&row, unit));
  }
}

static int is_plain(const gemm_job_t *job, const gemm_tile_t *tile, __mmask16 col_poisoned) {
  const ufp4_gemm_t *how = job->how;
  uint64_t row_poisoned;
  memcpy(&row_poisoned, tile->row_poisoned, sizeof row_poisoned);
  return how->d_dtype == UFP4_DTYPE_F32 && how->alpha == 1.0f && job->scale == 1.0f && how->c == NULL &&
         how->accumulate == NULL && tile->rows == ROWS && tile->cols == COLS && row_poisoned == 0 && col_poisoned == 0;
}

static void store(const gemm_job_t *job, const gemm_tile_t *tile, const int64_t *sums) {
  if (job->how->d_dtype == UFP4_DTYPE_I64 || (job->exponent >= -126 && job->exponent <= 127)) {
    __m128i poisoned = _mm_loadu_si128((const __m128i *)tile->col_poisoned);
    __mmask16 col_poisoned = _mm_test_epi8_mask(poisoned, poisoned);
    if (is_plain(job, tile, col_poisoned)) {
      store_plain(job, tile, sums);
    } else {
      store_rows(job, tile, col_poisoned, sums);
    }
    return;
  }
  for (int r = 0; r < tile->rows; r++) {
    for (int c = 0; c < tile->cols; c++) {
      int poisoned = tile->row_poisoned[r] | tile->col_poisoned[c];
      gemm_store(job, poisoned, sums[r * COLS + c], tile->row + r, tile->col + c);
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
