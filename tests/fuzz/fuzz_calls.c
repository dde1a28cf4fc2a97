// SPDX-License-Identifier: Apache-2.0
// Calls the golden model with arguments of any value. Small arrays really have the described size,
// to the last byte; for large ones the call must refuse before it reads them. A refused call has
// written nothing.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ufp4/combination.h"
#include "ufp4/format.h"
#include "ufp4/gemm.h"
#include "ufp4/panel.h"
#include "ufp4/quantize.h"
#include "ufp4/random.h"
#include "ufp4/rht.h"

#define SMALL 48

// Returns a size that is mostly small, and now and then any number.
static int64_t any_size(fuzz_input_t *input) {
  const uint8_t kind = fuzz_u8(input);
  if (kind < 240) return kind % SMALL + 1;
  return kind < 248 ? (int64_t)fuzz_u64(input) : (int64_t)fuzz_u32(input) - 100;
}

static int is_small(int64_t size) {
  return size >= 1 && size <= SMALL;
}

// Returns a value that is mostly under count.
static unsigned any_choice(fuzz_input_t *input, unsigned count) {
  const uint8_t kind = fuzz_u8(input);
  return kind < 240 ? kind % count : fuzz_u32(input);
}

static ufp4_quantize_t any_options(fuzz_input_t *input) {
  return (ufp4_quantize_t){
      .elem = (ufp4_elem_t)any_choice(input, UFP4_ELEM_KINDS),
      .scale = (ufp4_scale_t)any_choice(input, UFP4_SCALE_COUNT),
      .axis = (ufp4_axis_t)any_choice(input, 2),
      .layout = (ufp4_layout_t)any_choice(input, UFP4_LAYOUT_COUNT),
      .rht = (ufp4_rht_t)any_choice(input, UFP4_RHT_COUNT),
      .rht_mask = (uint16_t)fuzz_u32(input),
      .round = (ufp4_round_t)any_choice(input, UFP4_ROUND_COUNT),
      .scale_round = (ufp4_scale_round_t)any_choice(input, UFP4_SCALE_ROUND_COUNT),
      .exponent_given = fuzz_u8(input) & 1,
      .exponent = (int)fuzz_u32(input)};
}

static void check_quantize(fuzz_input_t *input) {
  const ufp4_quantize_t how = any_options(input);
  ufp4_matrix_t in = {.dtype = (ufp4_dtype_t)any_choice(input, UFP4_DTYPE_COUNT)};
  in.rows = any_size(input);
  in.cols = any_size(input);
  in.ld = fuzz_u8(input) & 1 ? in.cols : any_size(input);
  const int real = is_small(in.rows) && is_small(in.cols) && is_small(in.ld) && in.ld >= in.cols;
  const size_t element = in.dtype == UFP4_DTYPE_BF16 ? 2 : 4;
  const size_t bytes = real ? (size_t)((in.rows - 1) * in.ld + in.cols) * element : 1;
  uint8_t *data = malloc(bytes);
  fuzz_demand(data != NULL, "there is memory");
  fuzz_bytes(input, data, bytes);
  in.data = data;
  // Large sizes that are legal would need the memory that they describe.
  const int legal_sizes = in.rows >= 1 && in.rows <= UFP4_MAX_DIM && in.cols >= 1 &&
                          in.cols <= UFP4_MAX_DIM && in.ld >= in.cols;
  int t = 12345;
  ufp4_operand_t out = {.rows = -7};
  if (real || !legal_sizes) {
    ufp4_status_t status = ufp4_tensor_exponent(&in, &how, &t);
    fuzz_demand(status == UFP4_OK || (status == UFP4_ERROR_ARGUMENT && t == 12345),
                "an exponent, or nothing written");
    status = ufp4_quantize(&in, &how, &out);
    fuzz_demand(status == UFP4_OK || (status == UFP4_ERROR_ARGUMENT && out.rows == -7),
                "quantized, or nothing written");
    fuzz_demand(
        status != UFP4_OK || (real && ufp4_combination_quantize(&how, 0, NULL, NULL) == UFP4_OK),
        "it was legal");
    if (status == UFP4_OK) ufp4_operand_free(&out);
  }
  free(data);
}

static ufp4_operand_t any_operand(fuzz_input_t *input) {
  ufp4_operand_t out = {0};
  const ufp4_elem_t elem = (ufp4_elem_t)any_choice(input, UFP4_ELEM_KINDS);
  const ufp4_scale_t scale = (ufp4_scale_t)any_choice(input, UFP4_SCALE_COUNT);
  const int64_t rows = any_size(input), cols = any_size(input);
  if (is_small(rows) && is_small(cols)) {
    ufp4_status_t status = ufp4_operand_create_scaled(elem, scale, rows, cols, &out);
    const int known = (unsigned)elem < UFP4_ELEM_KINDS && (unsigned)scale < UFP4_SCALE_COUNT;
    const int has_bit = scale == UFP4_SCALE_E4M3 || scale == UFP4_SCALE_NVFP4;
    fuzz_demand((status == UFP4_OK) == (known && (elem != UFP4_ELEM_MIXED || has_bit)),
                "made if and only if the formats are known and go together");
  }
  if (out.codes == NULL) return out;
  int64_t bytes;
  uint8_t *scales = (uint8_t *)(uintptr_t)ufp4_operand_scale_bytes(&out, &bytes);
  fuzz_bytes(input, scales, (size_t)bytes);
  fuzz_bytes(input, out.codes, (size_t)(out.rows * out.blocks * 8));
  out.exponent = (int)fuzz_u32(input) >> (fuzz_u8(input) & 31);
  out.tensor_scale = ufp4_f32_value(fuzz_u32(input));
  return out;
}

// Changes one field so that it contradicts the others. The arrays keep their sizes.
static void spoil(fuzz_input_t *input, ufp4_operand_t *x) {
  int64_t *const sizes[] = {&x->blocks, &x->scale_blocks};
  switch (fuzz_below(input, 24)) {
    case 0:
    case 1:
      *sizes[fuzz_below(input, 2)] = any_size(input);
      break;
    case 2:
      x->block = (int)any_size(input);
      break;
    case 3:
      x->elem = (ufp4_elem_t)fuzz_u32(input);
      break;
    default:
      break;
  }
}

static void check_gemm(fuzz_input_t *input) {
  ufp4_operand_t a = any_operand(input), b = any_operand(input);
  ufp4_gemm_t how = {.contract = (ufp4_contract_t)any_choice(input, UFP4_CONTRACT_COUNT),
                     .d_dtype = (ufp4_dtype_t)any_choice(input, UFP4_DTYPE_COUNT),
                     .alpha = fuzz_u8(input) & 1 ? 1.0f : ufp4_f32_value(fuzz_u32(input)),
                     .threads = (int)any_choice(input, 4),
                     .kernel = (ufp4_kernel_t)any_choice(input, UFP4_KERNEL_COUNT)};
  const uint8_t extras = fuzz_u8(input);
  const int64_t m = a.rows, n = b.rows, ld = n + extras % 3, outputs = m > 0 ? (m - 1) * ld + n : 1;
  const size_t element = how.d_dtype == UFP4_DTYPE_I64 ? 8 : how.d_dtype == UFP4_DTYPE_BF16 ? 2 : 4;
  uint8_t *d = calloc((size_t)outputs + 1, element);
  float *c = calloc((size_t)outputs + 1, sizeof *c);
  int64_t *sums = calloc((size_t)outputs + 1, sizeof *sums);
  fuzz_demand(d != NULL && c != NULL && sums != NULL, "there is memory");
  if (extras & 4) how.c = c, how.c_ld = ld - (extras >> 7);
  if (extras & 8) how.accumulate = sums, how.accumulate_ld = ld - (extras >> 7);
  if (extras & 16) b.cols = a.cols, b.blocks = a.blocks, b.scale_blocks = a.scale_blocks;
  const int same = b.codes == NULL || !(extras & 16);
  spoil(input, &a);
  if (same) {
    const ufp4_status_t status = ufp4_gemm(&a, &b, &how, d, ld);
    fuzz_demand(
        status == UFP4_OK || status == UFP4_ERROR_ARGUMENT || status == UFP4_ERROR_UNSUPPORTED,
        "a known end");
    for (size_t i = 0; status != UFP4_OK && i < (size_t)outputs * element; i++)
      fuzz_demand(d[i] == 0, "D is as it was");
  } else {
    b = (ufp4_operand_t){.codes = b.codes, .scales = b.scales, .scales_f32 = b.scales_f32};
  }
  free(d);
  free(c);
  free(sums);
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

static void check_dequantize(fuzz_input_t *input) {
  ufp4_operand_t x = any_operand(input);
  const int64_t padded = x.blocks * 16, cols = fuzz_u8(input) & 1 ? x.cols : padded,
                ld = cols + fuzz_below(input, 3);
  float *out = calloc((size_t)(x.rows * ld) + 1, sizeof *out);
  fuzz_demand(out != NULL, "there is memory");
  spoil(input, &x);
  const ufp4_status_t status = ufp4_dequantize(&x, cols, out, ld);
  fuzz_demand(status == UFP4_OK || status == UFP4_ERROR_ARGUMENT, "decoded, or refused");
  free(out);
  ufp4_operand_free(&x);
}

static void check_panels(fuzz_input_t *input) {
  ufp4_operand_t x = any_operand(input), back;
  if (x.codes == NULL || x.scale != UFP4_SCALE_E4M3) {
    ufp4_operand_free(&x);
    return;
  }
  const int64_t stride = ufp4_panel_stride_blocks(x.cols);
  uint8_t *codes = malloc((size_t)ufp4_panel_codes_bytes(x.rows, stride));
  uint8_t *scales = malloc((size_t)ufp4_panel_scales_bytes(x.rows, stride));
  fuzz_demand(codes != NULL && scales != NULL, "there is memory");
  fuzz_demand(ufp4_operand_create(x.elem, x.rows, x.cols, &back) == UFP4_OK,
              "it can be made again");
  ufp4_panel_pack(&x, stride, codes, scales);
  ufp4_panel_unpack(codes, scales, stride, &back);
  fuzz_demand(memcmp(back.codes, x.codes, (size_t)(x.rows * x.blocks * 8)) == 0, "codes come back");
  fuzz_demand(memcmp(back.scales, x.scales, (size_t)(x.rows * x.blocks)) == 0, "scales come back");
  free(codes);
  free(scales);
  ufp4_operand_free(&x);
  ufp4_operand_free(&back);
}

static void check_blocks(fuzz_input_t *input) {
  const ufp4_quantize_t how = any_options(input);
  uint32_t bits[16], key[4], counter[4], words[4], bf16[16];
  uint8_t random[16], codes[16], scale;
  int32_t transformed[16];
  fuzz_bytes(input, bits, sizeof bits);
  fuzz_bytes(input, random, sizeof random);
  fuzz_bytes(input, key, sizeof key);
  fuzz_bytes(input, counter, sizeof counter);
  const int t = (int16_t)fuzz_u32(input);
  const int exponent = ufp4_rht_block(bits, (uint16_t)how.rht_mask, transformed);
  fuzz_demand(exponent >= 0 && exponent <= 254, "a biased exponent");
  ufp4_rht_block_bf16(bits, (uint16_t)how.rht_mask, bf16);
  ufp4_threefry4x32((int)fuzz_below(input, 73), key, counter, words);
  if ((unsigned)how.elem >= UFP4_ELEM_KINDS || (unsigned)how.rht >= UFP4_RHT_COUNT) return;
  if ((unsigned)how.round >= UFP4_ROUND_COUNT || (unsigned)how.scale_round > UFP4_SCALE_ROUND_UP)
    return;
  const unsigned flags = ufp4_quantize_block(bits, &how, t, random, codes, &scale);
  fuzz_demand((flags & ~(UFP4_FLAG_NAN | UFP4_FLAG_ROW_SATURATED)) == 0, "known flags");
  fuzz_demand(((flags & UFP4_FLAG_NAN) != 0) == (scale == 0x7F),
              "the flag nan goes with the scale NaN");
  for (int i = 0; i < 16; i++) fuzz_demand(codes[i] < 16, "a code has 4 bits");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const checks[])(fuzz_input_t *) = {check_quantize, check_gemm, check_dequantize,
                                                   check_panels, check_blocks};
  fuzz_input_t input = {data, size};
  checks[fuzz_below(&input, sizeof checks / sizeof checks[0])](&input);
  return 0;
}
