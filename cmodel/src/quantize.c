// SPDX-License-Identifier: Apache-2.0
// Whole tensors with E4M3 scales for blocks of one row: one walk for the tensor exponent, one for the rest. The
// arithmetic is in tile.c, all other scales in shared.c.
#include "ufp4/quantize.h"

#include "internal.h"
#include "kernel.h"
#include "quantize_kernel.h"
#include "ufp4/combination.h"

unsigned ufp4_quantize_block(const uint32_t bits[16], const ufp4_quantize_t *how, int exponent,
                             const uint8_t random[16], uint8_t codes[16], uint8_t *scale) {
  ulanes_t lanes[BLOCK] = {{0}}, draws[4] = {{0}}, words[2];
  lanes_t bytes;
  tile_t tile;
  for (unsigned i = 0; i < BLOCK; i++) {
    lanes[i][0] = bits[i];
    if (how->round == UFP4_ROUND_SR) draws[i / 4][0] |= (uint32_t)random[i] << 8 * (i % 4);
  }
  if (how->rht == UFP4_RHT_BF16) ufp4_rht_tile_bf16(lanes, how->rht_mask);
  ufp4_tile_unpack(lanes, how, &tile);
  unsigned flags = ufp4_tile_encode(&tile, how, exponent, draws, &bytes, words);
  for (unsigned i = 0; i < BLOCK; i++) codes[i] = (uint8_t)(words[i / 8][0] >> 4 * (i % 8) & 15);
  *scale = (uint8_t)bytes[0];
  return flags;
}

static void store_tile(const place_t *place, const lanes_t *scale, const ulanes_t codes[2], ufp4_operand_t *out) {
  for (unsigned l = 0; l < place->lanes; l++) {
    int64_t g = place->first + l * place->step;
    store_codes(codes, l, out->codes + g * CODE_BYTES);
    out->scales[g] = (uint8_t)(*scale)[l];
  }
}

// --- Tensor exponent ---------------------------------------------------------------------------------

int ufp4_exponent_from_amax(int32_t m, int32_t x, ufp4_elem_t elem) {
  const qmax_t qmax = ufp4_elem_qmax(elem);
  int limit = 7 * qmax.odd;  // 448 = 7 * 2^6
  int shift = __builtin_clz((unsigned)limit) - 4;
  return 6 + qmax.exponent - shift - x - (m > limit << shift);
}

// Lane by lane, the larger of (amax, exponent) and the tile's; both normalized.
HOT static void raise_amax(const tile_t *tile, lanes_t *amax, lanes_t *exponent) {
  lanes_t larger = (tile->amax_exponent > *exponent) | ((tile->amax_exponent == *exponent) & (tile->amax > *amax));
  *amax = select_lanes(larger, tile->amax, *amax);
  *exponent = select_lanes(larger, tile->amax_exponent, *exponent);
}

static int largest_exponent(const lanes_t *amax, const lanes_t *exponent, ufp4_elem_t elem) {
  int t = INT32_MAX;
  for (unsigned l = 0; l < LANES; l++) {
    if ((*amax)[l] == 0) continue;
    int lane_t = ufp4_exponent_from_amax((*amax)[l], (*exponent)[l], elem);
    t = lane_t < t ? lane_t : t;
  }
  return t;
}

static int source_exponent(const source_t *source, const ufp4_quantize_t *how) {
  lanes_t amax = {0}, exponent = all_lanes(INT32_MIN);
  place_t place;
  for (int more = ufp4_first_place(source, &place); more; more = ufp4_next_place(source, &place)) {
    ulanes_t bits[BLOCK];
    tile_t tile;
    ufp4_load_tile(source, how, &place, bits);
    ufp4_tile_unpack(bits, how, &tile);
    raise_amax(&tile, &amax, &exponent);
  }
  int t = largest_exponent(&amax, &exponent, how->elem);
  return t == INT32_MAX ? 0 : t;
}

void ufp4_place_exponent(const source_t *source, const ufp4_quantize_t *how, const place_t *place, int *exponent) {
  ulanes_t bits[BLOCK];
  tile_t tile;
  ufp4_load_tile(source, how, place, bits);
  ufp4_tile_unpack(bits, how, &tile);
  int t = largest_exponent(&tile.amax, &tile.amax_exponent, how->elem);
  *exponent = t < *exponent ? t : *exponent;
}

// --- Public ------------------------------------------------------------------------------------------

static int matrix_ok(const ufp4_matrix_t *in) {
  return in != NULL && in->data != NULL && in->rows >= 1 && in->rows <= UFP4_MAX_DIM && in->cols >= 1 &&
         in->cols <= UFP4_MAX_DIM && in->ld >= in->cols &&
         (in->dtype == UFP4_DTYPE_F32 || in->dtype == UFP4_DTYPE_BF16);
}

static int how_ok(const ufp4_quantize_t *how) {
  return how != NULL && (how->axis == UFP4_AXIS_ROW || how->axis == UFP4_AXIS_COL) &&
         (unsigned)how->round < UFP4_ROUND_COUNT && (unsigned)how->kernel < UFP4_KERNEL_COUNT &&
         (!how->exponent_given || (how->exponent >= INT16_MIN && how->exponent <= INT16_MAX)) &&
         ufp4_combination_quantize(how, 0, NULL, NULL) == UFP4_OK;
}

// NULL: the portable code below.
static const quantize_kernel_t *fast_kernel(const source_t *source, const ufp4_quantize_t *how) {
  const int covered = how->scale == UFP4_SCALE_E4M3 && how->layout == UFP4_LAYOUT_1D &&
                      (how->rht == UFP4_RHT_NONE || how->rht == UFP4_RHT_INTEGER) &&
                      source->blocks <= UINT32_MAX / source->rows;
  if (!covered) return NULL;
  switch (ufp4_kernel_chosen(how->kernel)) {
    case UFP4_KERNEL_AVX512:
      return quantize_avx512();
    case UFP4_KERNEL_AVX2:
      return quantize_avx2();
    default:
      return NULL;
  }
}

ufp4_status_t ufp4_tensor_exponent(const ufp4_matrix_t *in, const ufp4_quantize_t *how, int *exponent) {
  if (!matrix_ok(in) || !how_ok(how) || how->scale != UFP4_SCALE_E4M3 || exponent == NULL) return UFP4_ERROR_ARGUMENT;
  if (!ufp4_kernel_available(how->kernel)) return UFP4_ERROR_UNSUPPORTED;
  const source_t source = ufp4_source_of(in, how->axis);
  if (how->layout == UFP4_LAYOUT_2D) return ufp4_shared_exponent(&source, how, exponent);
  const quantize_kernel_t *kernel = fast_kernel(&source, how);
  *exponent = kernel != NULL ? kernel->exponent(&source, how) : source_exponent(&source, how);
  return UFP4_OK;
}

void ufp4_quantize_place(const source_t *source, const ufp4_quantize_t *how, const place_t *place,
                         ufp4_operand_t *out) {
  ulanes_t bits[BLOCK], draws[4], codes[2];
  lanes_t scale;
  tile_t tile;
  ufp4_load_tile(source, how, place, bits);
  ufp4_random_place(how, place, draws);
  ufp4_tile_unpack(bits, how, &tile);
  out->flags |= ufp4_tile_encode(&tile, how, out->exponent, draws, &scale, codes);
  store_tile(place, &scale, codes, out);
}

static void quantize_tiles(const source_t *source, const ufp4_quantize_t *how, ufp4_operand_t *out) {
  out->exponent = how->exponent_given ? how->exponent : source_exponent(source, how);
  place_t place;
  for (int more = ufp4_first_place(source, &place); more; more = ufp4_next_place(source, &place)) {
    ufp4_quantize_place(source, how, &place, out);
  }
}

ufp4_status_t ufp4_quantize(const ufp4_matrix_t *in, const ufp4_quantize_t *how, ufp4_operand_t *out) {
  if (!matrix_ok(in) || !how_ok(how) || out == NULL) return UFP4_ERROR_ARGUMENT;
  if (!ufp4_kernel_available(how->kernel)) return UFP4_ERROR_UNSUPPORTED;
  const source_t source = ufp4_source_of(in, how->axis);
  const int all_codes = how->scale == UFP4_SCALE_E4M3 && how->layout == UFP4_LAYOUT_1D;
  ufp4_operand_t made;
  ufp4_status_t status = all_codes ? ufp4_operand_allocate(how->elem, how->scale, source.rows, source.cols, &made)
                                   : ufp4_operand_create_scaled(how->elem, how->scale, source.rows, source.cols, &made);
  if (status != UFP4_OK) return status;
  const quantize_kernel_t *kernel = fast_kernel(&source, how);
  if (kernel != NULL) {
    status = kernel->quantize(&source, how, &made);
  } else if (all_codes) {
    quantize_tiles(&source, how, &made);
  } else {
    status = ufp4_quantize_shared(&source, how, &made);
  }
  if (status == UFP4_OK) {
    *out = made;
  } else {
    ufp4_operand_free(&made);
  }
  return status;
}
