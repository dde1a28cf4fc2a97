// SPDX-License-Identifier: Apache-2.0
// Quantizes by FP32 products: each number times a factor of its block is rounded to a code. The
// first walk collects the largest pattern of each span (the numbers that share a scale), and the
// second one derives scales and factors and encodes. Each step is a vector of 8 blocks.
//
// With NVFP4 the product is rounded, as its definition requires. With E8M0 the factor is a power of
// two: a product that is a normal number is exact, and a smaller one is so far below every boundary
// between codes that its rounding does not matter.
#include "quantize/product.h"

#include <float.h>
#include <stdlib.h>

#include "quantize/tile.h"
#include "ufp4/format.h"

#define F32_ABS 0x7FFFFFFF
#define F32_INF 0x7F800000
#define F32_ONE 0x3F800000

typedef float flanes_t __attribute__((vector_size(4 * LANES)));

// The magnitudes at which the codes change. Nearest: above this pattern; a tie rounds up from an
// odd code. Stochastic: above low + cell * (draw + 1/2) / 256, which FP32 holds exactly.
typedef struct {
  lanes_t nearest[7];
  flanes_t low[7], cell[7];
} grid_t;

typedef struct {
  spans_t spans;
  peaks_t peaks;
  grid_t grid;
  float qmax;
  ufp4_operand_t *out;
} product_t;

int ufp4_how_has_products(const ufp4_quantize_t *how) {
  return how->scale == UFP4_SCALE_NVFP4 ||
         (how->scale == UFP4_SCALE_E8M0 && how->rht != UFP4_RHT_INTEGER);
}

INLINE flanes_t all_floats(float value) {
  return (flanes_t){0} + value;
}

INLINE flanes_t min_floats(flanes_t a, flanes_t b) {
  return (flanes_t)select_lanes(a < b, (lanes_t)a, (lanes_t)b);
}

static grid_t grid_of(ufp4_elem_t elem) {
  grid_t grid;
  for (unsigned c = 0; c < 7; c++) {
    const int low = ufp4_elem_quanta(elem, c), high = ufp4_elem_quanta(elem, c + 1);
    const uint32_t midpoint = ufp4_f32_from_scaled(low + high, -ufp4_elem_frac(elem) - 1);
    const uint32_t cell = ufp4_f32_from_scaled(high - low, -ufp4_elem_frac(elem));
    grid.nearest[c] = all_lanes((int32_t)(midpoint - (c & 1)));
    grid.low[c] = all_floats(ufp4_f32_value(ufp4_f32_from_scaled(low, -ufp4_elem_frac(elem))));
    grid.cell[c] = all_floats(ufp4_f32_value(cell) * 0x1p-9f);  // per unit of 2 * draw + 1
  }
  return grid;
}

// --- First walk ---------------------------------------------------------------------------------

HOT static void peaks_of(const ulanes_t bits[BLOCK], lanes_t *peaks) {
  lanes_t largest = {0};
  for (unsigned i = 0; i < BLOCK; i++)
    largest = max_lanes(largest, (lanes_t)(bits[i] & (uint32_t)F32_ABS));
  *peaks = largest;
}

static void collect_peaks(void *state, const visit_t *visit) {
  int32_t *of_spans = state;
  lanes_t peaks;
  peaks_of(visit->bits, &peaks);
  for (unsigned l = 0; l < visit->place.lanes; l++) {
    int32_t *peak = &of_spans[visit->spans[l]];
    if (peaks[l] > *peak) *peak = peaks[l];
  }
}

ufp4_status_t ufp4_peaks_of(const spans_t *spans, float top, peaks_t *out) {
  int32_t largest = 0;
  *out =
      (peaks_t){calloc(ufp4_matrix_bytes(spans->count, 1, sizeof *out->of_spans), 1), 1.0f, 1.0f};
  if (out->of_spans == NULL) return UFP4_ERROR_MEMORY;
  ufp4_visit_tiles(spans, 0, collect_peaks, out->of_spans);
  for (int64_t i = 0; i < spans->count; i++) {
    const int32_t peak = out->of_spans[i];
    if (peak < F32_INF && peak > largest) largest = peak;
  }
  if (largest == 0) return UFP4_OK;
  const float encode = top / ufp4_f32_value((uint32_t)largest);
  out->encode = encode < FLT_MAX ? encode : FLT_MAX;
  out->reciprocal = 1.0f / out->encode;
  return UFP4_OK;
}

// --- Scales -------------------------------------------------------------------------------------

// Rounds numbers from 0 to 448 to E4M3, nearest even, and returns their bytes and values.
INLINE void round_e4m3(flanes_t x, lanes_t *byte, flanes_t *value) {
  const lanes_t bits = (lanes_t)x;
  // From 2^-6 on a carry out of the significand correctly increments the exponent field.
  const lanes_t normal = ((bits + 0x7FFFF + (bits >> 20 & 1)) >> 20) - (120 << 3);
  // Adding 2^14 leaves multiples of 2^-9.
  const lanes_t small = (lanes_t)(x + 0x1p14f) - (lanes_t)all_floats(0x1p14f);
  const lanes_t is_small = x < all_floats(0x1p-6f);
  *byte = select_lanes(is_small, small, normal);
  const flanes_t multiple = __builtin_convertvector(*byte, flanes_t) * 0x1p-9f;
  *value = (flanes_t)select_lanes(*byte < 8, (lanes_t)multiple, (*byte + (120 << 3)) << 20);
}

// Computes the scale bytes and the factors of the elements of each lane.
INLINE void nvfp4_scales(const product_t *product, flanes_t peak, lanes_t *byte, flanes_t *factor) {
  const flanes_t quotient = peak * (product->peaks.encode * (1.0f / product->qmax));
  flanes_t scale;
  round_e4m3(min_floats(quotient, all_floats(448.0f)), byte, &scale);
  *factor = min_floats(1.0f / (scale * product->peaks.reciprocal), all_floats(FLT_MAX));
}

// Down: floor(log2 peak) - floor(log2 qmax); up: the smallest k with peak <= qmax * 2^k.
INLINE void e8m0_scales(const product_t *product, flanes_t peak, lanes_t *byte, flanes_t *factor) {
  const ufp4_quantize_t *how = product->spans.how;
  const qmax_t qmax = ufp4_elem_qmax(how->elem);
  const int log2 = 31 - __builtin_clz((unsigned)qmax.odd);
  const lanes_t is_small = peak < all_floats(0x1p-126f);  // subnormal: made normal, exactly
  const lanes_t bits = select_lanes(is_small, (lanes_t)(peak * 0x1p32f), (lanes_t)peak);
  lanes_t k = (bits >> 23) - 127 - (is_small & 32) - (log2 + qmax.exponent);
  const int32_t most = qmax.odd << (23 - log2);  // the significand of qmax
  if (how->scale_round == UFP4_SCALE_ROUND_UP) k -= ((bits & 0x7FFFFF) | 0x800000) > most;
  k = min_lanes(max_lanes(k, all_lanes(-127)), all_lanes(127));
  *byte = k + 127;
  // 2^-127 is a subnormal number.
  *factor = (flanes_t)select_lanes(k == 127, all_lanes(0x400000), (127 - k) << 23);
}

// --- Codes --------------------------------------------------------------------------------------

INLINE void nearest(lanes_t magnitude, const grid_t *grid, lanes_t *code) {
  *code = (lanes_t){0};
  for (unsigned c = 0; c < 7; c++) *code -= magnitude > grid->nearest[c];
}

INLINE void stochastic(lanes_t magnitude, lanes_t draw, const grid_t *grid, lanes_t *code) {
  const flanes_t odd = __builtin_convertvector(2 * draw + 1, flanes_t);
  *code = (lanes_t){0};
  for (unsigned c = 0; c < 7; c++)
    *code -= magnitude > (lanes_t)(grid->low[c] + grid->cell[c] * odd);
}

// Rounds products to codes. Their magnitudes may exceed qmax; none is NaN where @p keep is set.
INLINE void encode(const ulanes_t bits[BLOCK], flanes_t factor, const ufp4_quantize_t *how,
                   const grid_t *grid, const ulanes_t random[4], lanes_t keep, ulanes_t codes[2]) {
  codes[0] = codes[1] = (ulanes_t){0};
  for (unsigned i = 0; i < BLOCK; i++) {
    const lanes_t product = (lanes_t)((flanes_t)bits[i] * factor), negative = product >> 31;
    const lanes_t magnitude = product & F32_ABS;
    lanes_t code;
    if (how->round == UFP4_ROUND_SR) {
      stochastic(magnitude, (lanes_t)(random[i / 4] >> 8 * (i % 4) & 0xFF), grid, &code);
    } else {
      nearest(magnitude, grid, &code);
    }
    code = how->elem == UFP4_ELEM_INT4 ? (code ^ negative) - negative : code | (negative & 8);
    codes[i / 8] |= (ulanes_t)(code & keep & 15) << 4 * (i % 8);
  }
}

HOT static void encode_tile(const product_t *product, const lanes_t *peaks,
                            const ulanes_t bits[BLOCK], const ulanes_t random[4], lanes_t *byte,
                            ulanes_t codes[2]) {
  const lanes_t poisoned = *peaks >= F32_INF, keep = (*peaks != 0) & ~poisoned;
  const int nvfp4 = product->spans.how->scale == UFP4_SCALE_NVFP4;
  // Zero and poisoned blocks are encoded as if their largest magnitude were 1.
  const flanes_t peak = (flanes_t)select_lanes(keep, *peaks, all_lanes(F32_ONE));
  flanes_t factor;
  if (nvfp4) {
    nvfp4_scales(product, peak, byte, &factor);
  } else {
    e8m0_scales(product, peak, byte, &factor);
  }
  *byte = (*byte & keep) | (poisoned & (nvfp4 ? 0x7F : 0xFF));
  encode(bits, factor, product->spans.how, &product->grid, random, keep, codes);
}

// --- Second walk --------------------------------------------------------------------------------

static void encode_visit(void *state, const visit_t *visit) {
  const product_t *product = state;
  ulanes_t codes[2];
  lanes_t peaks = {0}, byte;
  for (unsigned l = 0; l < visit->place.lanes; l++) {
    peaks[l] = product->peaks.of_spans[visit->spans[l]];
    if (peaks[l] >= F32_INF) product->out->flags |= UFP4_FLAG_NAN;
  }
  encode_tile(product, &peaks, visit->bits, visit->random, &byte, codes);
  ufp4_store_visit(&product->spans, visit, &byte, codes, product->out);
}

ufp4_status_t ufp4_quantize_products(const source_t *source, const ufp4_quantize_t *how,
                                     ufp4_operand_t *out) {
  product_t product = {
      .spans = ufp4_spans_of(source, how),
      .grid = grid_of(how->elem),
      .qmax = (float)ufp4_elem_qmax_quanta(how->elem) / (float)(1 << ufp4_elem_frac(how->elem)),
      .out = out};
  ufp4_status_t status = ufp4_peaks_of(&product.spans, 448.0f * product.qmax, &product.peaks);
  if (status != UFP4_OK) return status;
  if (how->scale == UFP4_SCALE_NVFP4) out->tensor_scale = product.peaks.reciprocal;
  ufp4_visit_tiles(&product.spans, 1, encode_visit, &product);
  free(product.peaks.of_spans);
  return UFP4_OK;
}
