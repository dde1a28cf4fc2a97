// SPDX-License-Identifier: Apache-2.0
// Compares the quantization of tensors, with every legal choice of options, with the reference
// model. The input: options, shape, one byte for the distance between the exponents of the numbers,
// the numbers.
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "fuzz.h"
#include "legal.h"

static uint32_t number(fuzz_input_t *input, uint32_t spread) {
  const uint32_t bits = fuzz_u32(input);
  if (spread == 0) return bits;
  // All numbers lie within at most 31 binades from 1/2 upwards, so that no element makes all the
  // others zero.
  return (bits & 0x807FFFFF) | (126 + (bits >> 23 & 0xFF) % spread) << 23;
}

static void put(fixture_tensor_t *in, int64_t r, int64_t c, ufp4_axis_t axis, uint32_t bits) {
  const int64_t at = r * in->view.ld + c,
                blocked = axis == UFP4_AXIS_COL ? c * in->view.rows + r : r * in->view.cols + c;
  const uint16_t half = (uint16_t)(bits >> 16);
  if (in->view.dtype == UFP4_DTYPE_BF16) memcpy((uint16_t *)in->storage + at, &half, sizeof half);
  if (in->view.dtype == UFP4_DTYPE_F32) in->storage[at] = bits;
  in->blocked[blocked] = in->view.dtype == UFP4_DTYPE_BF16 ? bits & 0xFFFF0000u : bits;
}

static fixture_tensor_t tensor(fuzz_input_t *input, ufp4_axis_t axis) {
  const ufp4_dtype_t dtype = fuzz_below(input, 2) ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
  const int64_t rows = 1 + fuzz_below(input, 20), cols = 1 + fuzz_below(input, 50),
                ld = cols + fuzz_below(input, 3);
  // The allocation has exactly the needed size, so that the sanitizer sees a read beyond it.
  const size_t size = dtype == UFP4_DTYPE_BF16 ? 2 : 4,
               used = (size_t)((rows - 1) * ld + cols) * size;
  fixture_tensor_t in = {
      {dtype, rows, cols, ld, NULL}, calloc(used, 1), calloc((size_t)(rows * cols), 4), rows, cols};
  fuzz_demand(in.storage != NULL && in.blocked != NULL, "there is memory");
  in.view.data = in.storage;
  if (axis == UFP4_AXIS_COL) in.rows = cols, in.cols = rows;
  const uint32_t spread = fuzz_below(input, 32);
  for (int64_t i = 0; i < rows * cols; i++)
    put(&in, i / cols, i % cols, axis, number(input, spread));
  return in;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input_t input = {data, size};
  ufp4_quantize_t how = legal_quantize_combination((int)fuzz_below(&input, LEGAL_QUANTIZE_COUNT));
  if (!legal_quantize(&how)) return 0;
  how.axis = fuzz_below(&input, 2) ? UFP4_AXIS_COL : UFP4_AXIS_ROW;
  how.rht_mask = (uint16_t)fuzz_u32(&input);
  how.seed = fuzz_u64(&input);
  how.tensor_id = fuzz_u64(&input);
  how.exponent_given = how.scale == UFP4_SCALE_E4M3 && fuzz_below(&input, 2);
  how.exponent = how.exponent_given ? (int16_t)fuzz_u32(&input) : 0;
  fixture_tensor_t in = tensor(&input, how.axis);
  fixture_check_tensor(0, &in, &how);
  fixture_tensor_free(&in);
  return 0;
}
