// SPDX-License-Identifier: Apache-2.0
// The calls, and which file quantizes what:
//   E4M3 scales, a row each, blocks of 16     avx512.c or avx2.c; without them, and through the
//                                             transform in BF16, portable.c
//   the same with larger blocks or transforms wide.c
//   NVFP4 that chooses between two scales     choice.c
//   other NVFP4, E8M0 of numbers in memory    product.c
//   all others                                shared.c
// parts.c gives each thread a run of rows; tile.c has the arithmetic of a block.
#include "ufp4/quantize.h"

#include "base/processor.h"
#include "number/lanes.h"
#include "quantize/choice.h"
#include "quantize/parts.h"
#include "quantize/portable.h"
#include "quantize/product.h"
#include "quantize/shared.h"
#include "quantize/tile.h"
#include "quantize/wide.h"
#include "tensor/operand.h"
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
  if (how->rht == UFP4_RHT_BF16) ufp4_rht_tile_bf16(lanes, (uint16_t)how->rht_mask);
  ufp4_tile_unpack(lanes, how, &tile);
  unsigned flags = ufp4_tile_encode(&tile, how, exponent, draws, &bytes, words);
  for (unsigned i = 0; i < BLOCK; i++) codes[i] = (uint8_t)(words[i / 8][0] >> 4 * (i % 8) & 15);
  *scale = (uint8_t)bytes[0];
  return flags;
}

// --- Public -------------------------------------------------------------------------------------

static ufp4_status_t check_matrix(const ufp4_matrix_t *in, ufp4_message_t *message) {
  if (in == NULL || in->data == NULL) {
    ufp4_message_set(message, "in is NULL, or in->data is NULL");
  } else if (in->rows < 1 || in->rows > UFP4_MAX_DIM || in->cols < 1 || in->cols > UFP4_MAX_DIM) {
    ufp4_message_set(message, "the tensor is %lld x %lld; rows and columns must be from 1 to %d",
                     (long long)in->rows, (long long)in->cols, UFP4_MAX_DIM);
  } else if (in->ld < in->cols) {
    ufp4_message_set(message, "in->ld is %lld; it must be at least the tensor's %lld columns",
                     (long long)in->ld, (long long)in->cols);
  } else if (in->dtype != UFP4_DTYPE_F32 && in->dtype != UFP4_DTYPE_BF16) {
    ufp4_message_set(message, "in->dtype must be FP32 or BF16");
  } else {
    return UFP4_OK;
  }
  return UFP4_ERROR_ARGUMENT;
}

static ufp4_status_t check_how(const ufp4_quantize_t *how, ufp4_message_t *message) {
  if (how == NULL) {
    ufp4_message_set(message, "how is NULL");
  } else if ((unsigned)how->axis > UFP4_AXIS_COL || (unsigned)how->round >= UFP4_ROUND_COUNT ||
             (unsigned)how->kernel >= UFP4_KERNEL_COUNT) {
    ufp4_message_set(
        message,
        "axis is %u, round is %u and kernel is %u; at least one of them is not a value of its enum",
        (unsigned)how->axis, (unsigned)how->round, (unsigned)how->kernel);
  } else if (how->threads < 0) {
    ufp4_message_set(message, "threads is %d; it must be 0 or more", how->threads);
  } else if (how->exponent_given && (how->exponent < INT16_MIN || how->exponent > INT16_MAX)) {
    ufp4_message_set(message, "the tensor exponent is %d; it must be from %d to %d", how->exponent,
                     INT16_MIN, INT16_MAX);
  } else {
    return ufp4_combination_quantize(how, 0, NULL, message);
  }
  return UFP4_ERROR_ARGUMENT;
}

ufp4_status_t ufp4_quantize_check(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                                  ufp4_message_t *message) {
  ufp4_status_t status = check_matrix(in, message);
  if (status == UFP4_OK) status = check_how(how, message);
  if (status != UFP4_OK) return status;
  const int64_t k = how->axis == UFP4_AXIS_COL ? in->rows : in->cols;
  if (ufp4_how_points(how) > BLOCK && k % how->rht_size != 0) {
    ufp4_message_set(message,
                     "a transform of %d points does not divide the %lld elements along the blocked "
                     "axis; their number must be a multiple",
                     how->rht_size, (long long)k);
    return UFP4_ERROR_ARGUMENT;
  }
  if (ufp4_kernel_available(how->kernel)) return UFP4_OK;
  ufp4_message_set(message, "this processor does not have the kernel %s",
                   ufp4_kernel_name(how->kernel));
  return UFP4_ERROR_UNSUPPORTED;
}

// Returns whether each block chooses the better of two scales.
static int chooses(const ufp4_quantize_t *how) {
  return how->scale_round == UFP4_SCALE_ROUND_46 ||
         (how->elem == UFP4_ELEM_MIXED && how->scale == UFP4_SCALE_NVFP4);
}

// NULL: portable.c.
static const quantize_kernel_t *fast_kernel(const source_t *source, const ufp4_quantize_t *how) {
  if (ufp4_how_is_wide(how)) return ufp4_quantize_wide();
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

ufp4_status_t ufp4_tensor_exponent(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                                   int *exponent) {
  ufp4_status_t status = ufp4_quantize_check(in, how, NULL);
  if (status == UFP4_OK && (how->scale != UFP4_SCALE_E4M3 || exponent == NULL))
    status = UFP4_ERROR_ARGUMENT;
  if (status != UFP4_OK) return status;
  const source_t source = ufp4_source_of(in, how->axis);
  if (how->layout == UFP4_LAYOUT_2D) return ufp4_shared_exponent(&source, how, exponent);
  const quantize_kernel_t *kernel = fast_kernel(&source, how);
  *exponent = some_exponent(kernel != NULL ? kernel->exponent(&source, how)
                                           : ufp4_source_exponent(&source, how));
  return UFP4_OK;
}

ufp4_status_t ufp4_quantize(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                            ufp4_operand_t *out) {
  ufp4_status_t status = out == NULL ? UFP4_ERROR_ARGUMENT : ufp4_quantize_check(in, how, NULL);
  if (status != UFP4_OK) return status;
  const source_t source = ufp4_source_of(in, how->axis);
  const int all_codes = how->scale == UFP4_SCALE_E4M3 && how->layout == UFP4_LAYOUT_1D;
  ufp4_operand_t made;
  status = all_codes
               ? ufp4_operand_allocate(how->elem, how->scale, ufp4_how_block(how), source.rows,
                                       source.cols, &made)
               : ufp4_operand_create_scaled(how->elem, how->scale, source.rows, source.cols, &made);
  if (status != UFP4_OK) return status;
  const quantize_kernel_t *kernel = fast_kernel(&source, how);
  made.half = ufp4_how_points(how) == 32;
  if (all_codes) {
    status = ufp4_quantize_parts(&source, how, kernel, &made);
  } else if (chooses(how)) {
    status = ufp4_quantize_choice(&source, how, &made);
  } else {
    quantize_rows_t *run =
        ufp4_how_has_products(how) ? ufp4_quantize_products : ufp4_quantize_shared;
    const int by_rows = how->scale == UFP4_SCALE_E8M0 || how->scale == UFP4_SCALE_FP32;
    status = by_rows ? ufp4_quantize_rows(&source, how, run, &made) : run(&source, how, &made);
  }
  if (status == UFP4_OK) {
    *out = made;
  } else {
    ufp4_operand_free(&made);
  }
  return status;
}
