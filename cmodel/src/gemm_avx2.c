// SPDX-License-Identifier: Apache-2.0
// Exact GEMM for AVX2. A tile is 6 rows of A by 16 rows of B, in chunks of 32 blocks.
//
// A vector holds quads of k of 8 columns of B. A's quad is broadcast against it: vpmaddubsw and three 16-bit additions
// make two half dots of a block for each of the 8 columns. One 16-bit product of the scales, doubled into both halves,
// and one vpmaddwd then scale and add the two. vpmaddubsw wants one side unsigned, so B's quanta carry OFFSET; its
// correction is where the half dots start.
//
// As in gemm_avx512.c scales are taken relative to the smallest exponent of the row's chunk, and what A's exceed it
// goes first into A's elements. Where that leaves nothing, products of scales come from a table: A's 8 normal
// significands times the panel's scales of B. All this holds where a product of scales stays under 2^15 and the sum
// under 2^31 by Cauchy-Schwarz (on its way there it may wrap). Else the whole dot is multiplied by A's scale in 32
// bits, then by B's in 64.
#include "gemm_kernel.h"
#include "internal.h"
#include "ufp4/format.h"

#ifdef __AVX2__
#include <string.h>

#include "gemm_avx2_codes.h"
#include "gemm_avx2_row.h"

#define ROWS 6
#define COLS 16
#define CHUNK 32
#define VECTOR 32
#define FEW_ROWS 3  // of which the registers hold the half dots and sums
#define MAX_ABSORB 4
#define SIGNIFICANDS 8
#define TABLE_LINE (COLS * 2)  // bytes

// A block of A's rows; whole cache lines, read in order.
typedef struct {
  int8_t elements[ROWS][BLOCK];
  int16_t start[ROWS][2];   // where the half dots start
  uint16_t scale[ROWS][2];  // significand << shift, twice
  uint32_t entry[ROWS];     // of the table, in bytes
  uint8_t padding[24];
} a_block_t;

typedef struct {
  a_block_t block[CHUNK];
  int32_t base[ROWS];  // smallest exponent of a row
  int32_t blocks;
  int32_t scale_max;
  double norm2;    // the largest over the rows of the sum of squares of significand << (exponent - base)
  int32_t tabled;  // all scales are normal significands, or zero
  uint8_t padding[20];
} a_panel_t;

typedef struct {
  uint8_t elements[CHUNK][4][COLS][4];  // by quad, column
  int32_t scale[CHUNK][COLS];
  int64_t base[COLS];
  int32_t scale_max;
  int32_t reserved;
  double norm2;
  uint8_t padding[48];
} b_panel_t;

// Entry s of a block: (8 + s) times B's scales as words, of columns 0..3 8..11 4..7 12..15, so that doubling each
// within 128-bit lanes gives columns 0..7 and 8..15. Used only where all are under 2^15.
typedef struct {
  uint16_t entries[CHUNK][SIGNIFICANDS][COLS];
} table_t;

static_assert(sizeof(a_panel_t) % 64 == 0 && sizeof(b_panel_t) % 64 == 0, "panels are whole cache lines");

// --- Packing -----------------------------------------------------------------------------------------

// The scales of one row's chunk, in the bytes of a vector.
typedef struct {
  uint8_t significand[VECTOR], excess[VECTOR];  // 0 where the scale is zero or NaN, and beyond the operand
  int base;
  int nan, subnormal;
} scales_t;

static int smallest_byte(__m256i bytes) {
  __m128i least = _mm_min_epu8(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  __m128i words = _mm_min_epu8(_mm_and_si128(least, _mm_set1_epi16(0xFF)), _mm_srli_epi16(least, 8));
  return _mm_extract_epi16(_mm_minpos_epu16(words), 0);
}

static void load_scales(const uint8_t *bytes, int64_t blocks, scales_t *s) {
  const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi8(1), largest = _mm256_set1_epi8(0x7F);
  uint8_t padded[VECTOR] = {0};
  memcpy(padded, bytes, (size_t)blocks);
  __m256i byte = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)padded), largest);
  __m256i nan = _mm256_cmpeq_epi8(byte, largest);
  byte = _mm256_andnot_si256(nan, byte);
  __m256i field = _mm256_and_si256(_mm256_srli_epi16(byte, 3), _mm256_set1_epi8(15));
  __m256i normal = _mm256_cmpgt_epi8(field, zero), empty = _mm256_cmpeq_epi8(byte, zero);
  __m256i low = _mm256_and_si256(byte, _mm256_set1_epi8(7));
  __m256i significand = _mm256_or_si256(low, _mm256_and_si256(normal, _mm256_set1_epi8(8)));
  __m256i exponent = _mm256_sub_epi8(field, _mm256_and_si256(normal, one));
  // Any number does where all scales are zero.
  s->base = smallest_byte(_mm256_or_si256(exponent, _mm256_and_si256(empty, _mm256_set1_epi8(15))));
  s->nan = !_mm256_testz_si256(nan, nan);
  s->subnormal = _mm256_movemask_epi8(_mm256_or_si256(normal, empty)) != -1;
  __m256i excess = _mm256_andnot_si256(empty, _mm256_sub_epi8(exponent, _mm256_set1_epi8((char)s->base)));
  _mm256_storeu_si256((__m256i *)s->significand, significand);
  _mm256_storeu_si256((__m256i *)s->excess, excess);
}

INLINE __m256i widened(const uint8_t bytes[8]) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)bytes));
}

// Folds one row into a panel's bounds: significand << excess is under 2^18, the sum of squares under 2^41.
// scale [CHUNK] = significand << shift.
INLINE void bound_scales(const scales_t *s, const uint8_t shift[CHUNK], int32_t *scale, double *norm2,
                         int32_t *scale_max) {
  float sums[8];
  int32_t tops[8];
  __m256 sum = _mm256_setzero_ps();
  __m256i top = _mm256_setzero_si256();
  for (int k = 0; k < CHUNK; k += 8) {
    __m256i significand = widened(s->significand + k);
    __m256 whole = _mm256_cvtepi32_ps(_mm256_sllv_epi32(significand, widened(s->excess + k)));
    __m256i part = _mm256_sllv_epi32(significand, widened(shift + k));
    sum = _mm256_add_ps(sum, _mm256_mul_ps(whole, whole));
    top = _mm256_max_epi32(top, part);
    _mm256_storeu_si256((__m256i *)(scale + k), part);
  }
  _mm256_storeu_ps(sums, sum);
  _mm256_storeu_si256((__m256i *)tops, top);
  double total = 0;
  for (int l = 0; l < 8; l++) total += (double)sums[l];
  for (int l = 0; l < 8; l++) *scale_max = tops[l] > *scale_max ? tops[l] : *scale_max;
  if (total > *norm2) *norm2 = total;
}

static int largest_quanta(ufp4_elem_t elem) {
  return elem == UFP4_ELEM_INT4 ? 8 : ufp4_elem_qmax_quanta(elem);
}

// How far A's elements may be shifted: E2M1's 12 becomes 96, E1M2's 7 112, INT4's -8 -128. A dot with any B, whose
// largest is 12, then is 24576 at most.
static int absorb_of(ufp4_elem_t elem) {
  return elem == UFP4_ELEM_E2M1 ? 3 : 4;
}

static int64_t chunk_blocks(const ufp4_operand_t *x, int64_t block) {
  return x->blocks - block < CHUNK ? x->blocks - block : CHUNK;
}

// How far each block's elements are shifted (one more: they are zero, as is its scale), and what is left for the scale.
INLINE void split_excess(const scales_t *s, int absorb, uint8_t absorbed[VECTOR], uint8_t shift[VECTOR]) {
  __m256i excess = _mm256_loadu_si256((const __m256i *)s->excess);
  __m256i significand = _mm256_loadu_si256((const __m256i *)s->significand);
  __m256i empty = _mm256_cmpeq_epi8(significand, _mm256_setzero_si256());
  __m256i part = _mm256_min_epu8(excess, _mm256_set1_epi8((char)absorb));
  _mm256_storeu_si256((__m256i *)shift, _mm256_sub_epi8(excess, part));
  part = _mm256_or_si256(part, _mm256_and_si256(empty, _mm256_set1_epi8(MAX_ABSORB + 1)));
  _mm256_storeu_si256((__m256i *)absorbed, part);
}

static void pack_a_row(const uint8_t *codes, const scales_t *s, int absorb, const __m128i tables[MAX_ABSORB + 2], int r,
                       a_panel_t *panel) {
  uint8_t absorbed[VECTOR], shift[VECTOR];
  int32_t scale[CHUNK];
  split_excess(s, absorb, absorbed, shift);
  bound_scales(s, shift, scale, &panel->norm2, &panel->scale_max);
  for (int k = 0; k < panel->blocks; k++) {
    __m128i elements = decode(codes + k * CODE_BYTES, tables[absorbed[k]]);
    _mm_store_si128((__m128i *)panel->block[k].elements[r], elements);
    put_start(elements, panel->block[k].start[r]);
  }
  int shifted = s->subnormal;
  for (int k = 0; k < CHUNK; k++) {
    int twice = scale[k] | scale[k] << 16;
    memcpy(panel->block[k].scale[r], &twice, sizeof twice);
    panel->block[k].entry[r] = (s->significand[k] & 7u) * TABLE_LINE;
    shifted |= shift[k];
  }
  if (shifted) panel->tabled = 0;
}

static void pack_a(const gemm_job_t *job, int64_t row, int64_t block, void *to, uint8_t *poisoned) {
  const ufp4_operand_t *a = job->a;
  const int absorb = absorb_of(a->elem);
  __m128i tables[MAX_ABSORB + 2];
  a_panel_t *panel = to;
  for (int shift = 0; shift <= absorb; shift++) tables[shift] = quanta_table(a->elem, shift, 0);
  tables[MAX_ABSORB + 1] = _mm_setzero_si128();
  panel->blocks = (int32_t)chunk_blocks(a, block);
  panel->scale_max = 0;
  panel->norm2 = 0;
  panel->tabled = 1;
  for (int r = 0; r < ROWS; r++) {
    // Rows beyond the operand are the last one once more: their sums are not stored.
    int64_t at = (row + r < a->rows ? row + r : a->rows - 1) * a->blocks + block;
    scales_t s;
    load_scales(a->scales + at, panel->blocks, &s);
    if (s.nan && row + r < a->rows) poisoned[r] = 1;
    panel->base[r] = s.base;
    pack_a_row(a->codes + at * CODE_BYTES, &s, absorb, tables, r, panel);
  }
}

static void pack_b(const gemm_job_t *job, int64_t row, int64_t block, void *to, uint8_t *poisoned) {
  const ufp4_operand_t *b = job->b;
  const int64_t blocks = chunk_blocks(b, block);
  const __m128i table = quanta_table(b->elem, 0, OFFSET);
  const uint8_t *codes[COLS];
  b_panel_t *panel = to;
  panel->scale_max = 0;
  panel->norm2 = 0;
  for (int c = 0; c < COLS; c++) {
    int64_t at = (row + c < b->rows ? row + c : b->rows - 1) * b->blocks + block;
    scales_t s;
    int32_t scale[CHUNK];
    load_scales(b->scales + at, blocks, &s);
    if (s.nan && row + c < b->rows) poisoned[c] = 1;
    panel->base[c] = s.base;
    bound_scales(&s, s.excess, scale, &panel->norm2, &panel->scale_max);
    for (int k = 0; k < CHUNK; k++) panel->scale[k][c] = scale[k];
    codes[c] = b->codes + at * CODE_BYTES;
  }
  // The largest dot belongs to the pair of formats: it is charged to B.
  double dot = BLOCK * largest_quanta(job->a->elem) * largest_quanta(b->elem);
  panel->norm2 *= dot * dot;
  for (int k = 0; k < blocks; k++) {
    __m128i bytes[COLS];
    for (int c = 0; c < COLS; c++) bytes[c] = decode(codes[c] + k * CODE_BYTES, table);
    store_quads(bytes, panel->elements[k][0][0], sizeof panel->elements[k][0]);
    store_quads(bytes + 8, panel->elements[k][0][8], sizeof panel->elements[k][0]);
  }
}

static void prepare(const void *from, void *to) {
  const b_panel_t *b = from;
  table_t *table = to;
  for (int k = 0; k < CHUNK; k++) {
    const __m256i *scales = (const __m256i *)b->scale[k];
    __m256i scale = _mm256_packus_epi32(_mm256_load_si256(scales), _mm256_load_si256(scales + 1));
    __m256i entry = _mm256_slli_epi16(scale, 3);
    for (int s = 0; s < SIGNIFICANDS; s++) {
      _mm256_store_si256((__m256i *)table->entries[k][s], entry);
      entry = _mm256_add_epi16(entry, scale);
    }
  }
}

// --- Products ----------------------------------------------------------------------------------------

INLINE __m256i broadcast4(const void *from) {
  int32_t value;
  memcpy(&value, from, sizeof value);
  return _mm256_set1_epi32(value);
}

INLINE __m256i load(const void *from) {
  return _mm256_load_si256(from);
}

// Says that v is changed here: so the compiler keeps it in a register, and adds in the order written. Left alone it
// adds in another, which needs more registers than there are, or loads v for each use.
INLINE void settle(__m256i *v) {
  __asm__("" : "+x"(*v));
}

// Half dots of FEW_ROWS rows and 16 columns with one block.
INLINE void half_dots(const a_panel_t *a, const b_panel_t *b, int k, int r0, __m256i dot[FEW_ROWS][2]) {
#pragma GCC unroll 3
  for (int r = 0; r < FEW_ROWS; r++) dot[r][0] = dot[r][1] = broadcast4(a->block[k].start[r0 + r]);
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++) {
    __m256i b0 = load(b->elements[k][q][0]), b1 = load(b->elements[k][q][8]);
    settle(&b0);
    settle(&b1);
#pragma GCC unroll 3
    for (int r = 0; r < FEW_ROWS; r++) {
      __m256i quad = broadcast4(a->block[k].elements[r0 + r] + 4 * q);
      dot[r][0] = _mm256_add_epi16(dot[r][0], _mm256_maddubs_epi16(b0, quad));
      dot[r][1] = _mm256_add_epi16(dot[r][1], _mm256_maddubs_epi16(b1, quad));
      settle(&dot[r][0]);
      settle(&dot[r][1]);
    }
  }
}

INLINE __m256i base_of(const a_panel_t *a, const b_panel_t *b, int r, int c) {
  return _mm256_add_epi64(_mm256_set1_epi64x(a->base[r]), load(b->base + c));
}

// Adds 4 sums times 2^(the exponents they are relative to).
INLINE void add_four(const a_panel_t *a, const b_panel_t *b, int r, int c, __m256i sum, int first, int64_t *sums) {
  __m256i *to = (__m256i *)(sums + r * COLS + c);
  sum = _mm256_sllv_epi64(sum, base_of(a, b, r, c));
  if (!first) sum = _mm256_add_epi64(sum, load(to));
  _mm256_store_si256(to, sum);
}

typedef enum { TABLED, MULTIPLIED } products_t;

// The products of the scales, twice each.
INLINE void scale_products(const a_panel_t *a, const b_panel_t *b, const table_t *table, products_t how, int k, int r,
                           __m256i scale[2]) {
  if (how == TABLED) {
    __m256i once = load((const char *)table->entries[k] + a->block[k].entry[r]);
    scale[0] = _mm256_unpacklo_epi16(once, once);
    scale[1] = _mm256_unpackhi_epi16(once, once);
    return;
  }
  __m256i scale_a = broadcast4(a->block[k].scale[r]);
  for (int half = 0; half < 2; half++) {
    __m256i scale_b = load(&b->scale[k][8 * half]);
    scale[half] = _mm256_mullo_epi16(scale_a, _mm256_or_si256(scale_b, _mm256_slli_epi32(scale_b, 16)));
  }
}

INLINE void narrow_rows(const a_panel_t *a, const b_panel_t *b, const table_t *table, products_t how, int r0, int first,
                        int64_t *sums) {
  __m256i sum[FEW_ROWS][2], dot[FEW_ROWS][2], scale[2];
#pragma GCC unroll 3
  for (int r = 0; r < FEW_ROWS; r++) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
  for (int k = 0; k < a->blocks; k++) {
    half_dots(a, b, k, r0, dot);
#pragma GCC unroll 3
    for (int r = 0; r < FEW_ROWS; r++) {
      scale_products(a, b, table, how, k, r0 + r, scale);
      sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(dot[r][0], scale[0]));
      sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(dot[r][1], scale[1]));
    }
  }
  for (int r = 0; r < FEW_ROWS; r++) {
    for (int c = 0; c < COLS; c += 4) {
      __m256i eight = sum[r][c / 8];
      __m128i four = c % 8 ? _mm256_extracti128_si256(eight, 1) : _mm256_castsi256_si128(eight);
      add_four(a, b, r0 + r, c, _mm256_cvtepi32_epi64(four), first, sums);
    }
  }
}

// Of 8 columns: the even ones' sums and the odd ones'. The dot times A's scale is under 24576 * 15 * 2^11 < 2^30.
INLINE void add_wide(__m256i dot, __m256i scale_a, __m256i scale_b, __m256i sum[2]) {
  __m256i scaled = _mm256_mullo_epi32(_mm256_madd_epi16(dot, _mm256_set1_epi16(1)), scale_a);
  sum[0] = _mm256_add_epi64(sum[0], _mm256_mul_epi32(scaled, scale_b));
  sum[1] = _mm256_add_epi64(sum[1], _mm256_mul_epi32(_mm256_srli_epi64(scaled, 32), _mm256_srli_epi64(scale_b, 32)));
}

INLINE void wide_rows(const a_panel_t *a, const b_panel_t *b, int r0, int first, int64_t *sums) {
  __m256i sum[FEW_ROWS][2][2], dot[FEW_ROWS][2];
  memset(sum, 0, sizeof sum);
  for (int k = 0; k < a->blocks; k++) {
    half_dots(a, b, k, r0, dot);
#pragma GCC unroll 3
    for (int r = 0; r < FEW_ROWS; r++) {
      __m256i scale = _mm256_srli_epi32(broadcast4(a->block[k].scale[r0 + r]), 16);
      add_wide(dot[r][0], scale, load(&b->scale[k][0]), sum[r][0]);
      add_wide(dot[r][1], scale, load(&b->scale[k][8]), sum[r][1]);
    }
  }
  for (int r = 0; r < FEW_ROWS; r++) {
    for (int half = 0; half < 2; half++) {
      __m256i low = _mm256_unpacklo_epi64(sum[r][half][0], sum[r][half][1]);   // columns 0 1 4 5
      __m256i high = _mm256_unpackhi_epi64(sum[r][half][0], sum[r][half][1]);  // columns 2 3 6 7
      add_four(a, b, r0 + r, 8 * half, _mm256_permute2x128_si256(low, high, 0x20), first, sums);
      add_four(a, b, r0 + r, 8 * half + 4, _mm256_permute2x128_si256(low, high, 0x31), first, sums);
    }
  }
}

// The margin covers the rounding of the norms.
static int is_narrow(const a_panel_t *a, const b_panel_t *b) {
  return (int64_t)a->scale_max * b->scale_max < 1 << 15 && a->norm2 * b->norm2 < 0x1p62 * 0.999;
}

static void multiply(const void *a_panel, const void *b, const void *table, int first, void *sums) {
  const a_panel_t *a = a_panel;
  int narrow = is_narrow(a, b);
  for (int r = 0; r < ROWS; r += FEW_ROWS) {
    if (narrow && a->tabled) {
      narrow_rows(a, b, table, TABLED, r, first, sums);
    } else if (narrow) {
      narrow_rows(a, b, table, MULTIPLIED, r, first, sums);
    } else {
      wide_rows(a, b, r, first, sums);
    }
  }
}

// --- Results -----------------------------------------------------------------------------------------

// 8 sums that are_small as FP32: exact as doubles, then rounded once, times 2^exponent exactly.
INLINE __m256 rounded(const int64_t *sums, __m256 unit) {
  const __m256i magic = _mm256_set1_epi64x(0x4338000000000000);  // 1.5 * 2^52
  __m256d low = _mm256_castsi256_pd(_mm256_add_epi64(load(sums), magic));
  __m256d high = _mm256_castsi256_pd(_mm256_add_epi64(load(sums + 4), magic));
  __m128 four = _mm256_cvtpd_ps(_mm256_sub_pd(low, _mm256_castsi256_pd(magic)));
  __m128 next = _mm256_cvtpd_ps(_mm256_sub_pd(high, _mm256_castsi256_pd(magic)));
  return _mm256_mul_ps(_mm256_insertf128_ps(_mm256_castps128_ps256(four), next, 1), unit);
}

// Whether -2^51 <= sum < 2^51 for all of a tile's.
static int are_small(const int64_t *sums) {
  const __m256i half = _mm256_set1_epi64x(INT64_C(1) << 51);
  __m256i bits = _mm256_setzero_si256();
  for (int i = 0; i < ROWS * COLS; i += 4) bits = _mm256_or_si256(bits, _mm256_add_epi64(load(sums + i), half));
  return _mm256_testz_si256(bits, _mm256_set1_epi64x((int64_t)0xFFF0000000000000));
}

static void store(const gemm_job_t *job, const gemm_tile_t *tile, const void *from) {
  const int64_t *sums = from;
  const ufp4_gemm_t *how = job->how;
  // Where 2^exponent times any sum is a normal number, or Inf as it should.
  int normal = how->d_dtype != UFP4_DTYPE_I64 && job->exponent >= -126 && job->exponent <= 127;
  if (!normal || how->accumulate != NULL || is_poisoned(tile, ROWS) || !are_small(sums)) {
    gemm_store_tile(job, tile, sums, COLS);
    return;
  }
  const __m256 unit = _mm256_castsi256_ps(_mm256_set1_epi32((127 + job->exponent) << 23));
  const int plain = is_plain(job, tile);
  for (int r = 0; r < tile->rows; r++) {
    const __m256 low = rounded(sums + r * COLS, unit), high = rounded(sums + r * COLS + 8, unit);
    store_halves(job, tile, r, plain, low, high);
  }
}

static const gemm_kernel_t kernel = {
    .tile_rows = ROWS,
    .tile_cols = COLS,
    .chunk_blocks = CHUNK,
    .sum_bytes = sizeof(int64_t),
    .a_bytes = sizeof(a_panel_t),
    .b_bytes = sizeof(b_panel_t),
    .table_bytes = sizeof(table_t),
    .pack_a = pack_a,
    .pack_b = pack_b,
    .prepare = prepare,
    .multiply = multiply,
    .store = store,
    .finish = stream_finish,
};

const gemm_kernel_t *gemm_avx2(void) {
  return &kernel;
}

#else

const gemm_kernel_t *gemm_avx2(void) {
  return NULL;
}

#endif
