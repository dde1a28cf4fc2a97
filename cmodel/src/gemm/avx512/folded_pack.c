// SPDX-License-Identifier: Apache-2.0
// Packing of the AVX-512 GEMM of uniform formats (folded.h): codes and scale bytes to panels.
#include "gemm/avx512/folded.h"
#include "gemm/pack.h"
#include "number/lanes.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && \
    defined(__AVX512DQ__) && defined(__AVX512VNNI__)
#include "gemm/avx512/codes.h"
#include "gemm/avx512/scales.h"

INLINE void store_half(__m512i v, int64_t half, int32_t out[ROWS]) {
  _mm256_store_si256((__m256i *)out,
                     half ? _mm512_extracti64x4_epi64(v, 1) : _mm512_castsi512_si256(v));
}

static void pack_a_row(const uint8_t *codes, __m512i table, const scales_t *s, int r,
                       __m512i start[16], a_panel_t *panel) {
  for (int g = 0; 4 * g < panel->blocks; g++) {
    __m512i quanta = load_quanta(codes + 4 * CODE_BYTES * g, four_of(panel->blocks, g), table);
    quanta = times(quanta, spread(s->significand, g));
    _mm_store_si128((__m128i *)&start[ROWS * (g / 4) + r] + g % 4, starts(quanta, FOLDED_OFFSET));
    _mm_store_si128((__m128i *)panel->block[4 * g].elements[r], _mm512_castsi512_si128(quanta));
    _mm_store_si128((__m128i *)panel->block[4 * g + 1].elements[r],
                    _mm512_extracti32x4_epi32(quanta, 1));
    _mm_store_si128((__m128i *)panel->block[4 * g + 2].elements[r],
                    _mm512_extracti32x4_epi32(quanta, 2));
    _mm_store_si128((__m128i *)panel->block[4 * g + 3].elements[r],
                    _mm512_extracti32x4_epi32(quanta, 3));
  }
}

void gemm_avx512_folded_pack_a(const gemm_job_t *job, int64_t row, int64_t block, void *out,
                               uint8_t *poisoned) {
  const ufp4_operand_t *a = job->a;
  const __m512i table = quanta_table(a->elem, 0);
  // Vector 8h + r: row r's blocks 16h to 16h + 15; transposed, vector k: rows 0 to 7 of block k,
  // then of 16 + k.
  __m512i excess[16], start[16];
  a_panel_t *panel = out;
  panel->blocks = gemm_chunk_blocks(a, block, CHUNK);
  panel->norm2 = 0;
  for (int r = 0; r < ROWS; r++) {
    // Rows beyond the operand repeat the last one, because their sums are not stored.
    const int64_t at = (row + r < a->rows ? row + r : a->rows - 1) * a->blocks + block;
    const scales_t s = load_scales(a->scales + at, panel->blocks);
    const double norm2 = scales_norm2(&s);
    if (s.nan && row + r < a->rows) poisoned[r] = 1;
    if (norm2 > panel->norm2) panel->norm2 = norm2;
    panel->base[r] = s.base;
    excess[r] = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(s.excess));
    excess[ROWS + r] = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(s.excess, 1));
    pack_a_row(a->codes + at * CODE_BYTES, table, &s, r, start, panel);
  }
  // The values beyond the chunk's blocks are transposed but never used.
  transpose_dwords(excess);
  transpose_dwords(start);
  for (int64_t k = 0; k < panel->blocks; k++) {
    store_half(excess[k % 16], k / 16, panel->block[k].excess);
    store_half(start[k % 16], k / 16, panel->block[k].start);
  }
}

static void pack_elements_b(const uint8_t *const codes[16], const scales_t s[16], int64_t blocks,
                            __m512i table, int half, b_panel_t *panel) {
  for (int g = 0; 4 * g < blocks; g++) {
    __m512i v[16];
    for (int c = 0; c < 16; c++) {
      v[c] = load_quanta(codes[c] + 4 * CODE_BYTES * g, four_of(blocks, g), table);
      v[c] = _mm512_add_epi8(times(v[c], spread(s[c].significand, g)),
                             _mm512_set1_epi8(-FOLDED_OFFSET));
    }
    transpose_dwords(v);
    for (int i = 0; i < 16; i++)
      _mm512_store_si512(panel->elements[4 * g + i / 4][half][i % 4], v[i]);
  }
}

static void pack_excess_b(const scales_t s[16], int half, b_panel_t *panel) {
  for (int high = 0; high < 2; high++) {
    __m512i v[16];
    for (int c = 0; c < 16; c++) {
      v[c] = _mm512_cvtepi16_epi32(high ? _mm512_extracti64x4_epi64(s[c].excess, 1)
                                        : _mm512_castsi512_si256(s[c].excess));
    }
    transpose_dwords(v);
    for (int k = 0; k < 16; k++) _mm512_store_si512(&panel->excess[16 * high + k][16 * half], v[k]);
  }
}

static void pack_half_b(const gemm_job_t *job, int64_t first, int64_t block, int half,
                        b_panel_t *panel, uint8_t *poisoned) {
  const ufp4_operand_t *b = job->b;
  const int64_t blocks = gemm_chunk_blocks(b, block, CHUNK);
  const uint8_t *codes[16];
  scales_t s[16];
  for (int c = 0; c < 16; c++) {
    const int64_t at = (first + c < b->rows ? first + c : b->rows - 1) * b->blocks + block;
    s[c] = load_scales(b->scales + at, blocks);
    const double norm2 = scales_norm2(&s[c]);
    if (s[c].nan && first + c < b->rows) poisoned[c] = 1;
    if (norm2 > panel->norm2) panel->norm2 = norm2;
    panel->base[half][c % 2][c / 2] = s[c].base;
    codes[c] = b->codes + at * CODE_BYTES;
  }
  pack_elements_b(codes, s, blocks, quanta_table(b->elem, 0), half, panel);
  pack_excess_b(s, half, panel);
}

void gemm_avx512_folded_pack_b(const gemm_job_t *job, int64_t row, int64_t block, void *out,
                               uint8_t *poisoned) {
  b_panel_t *panel = out;
  panel->norm2 = 0;
  for (int half = 0; half < 2; half++)
    pack_half_b(job, row + 16 * half, block, half, panel, poisoned + 16 * half);
  // The bound includes the largest dot, which depends on both formats; it is charged to B.
  const double dot = BLOCK * gemm_largest_quanta(job->a->elem) * gemm_largest_quanta(job->b->elem);
  panel->norm2 *= dot * dot;
}

#endif
