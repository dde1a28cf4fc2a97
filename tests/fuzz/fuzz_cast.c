// SPDX-License-Identifier: Apache-2.0
// Compares the casts and decoders of single numbers with the reference model.
#include "check.h"
#include "fuzz.h"
#include "reference.h"
#include "ufp4/format.h"

static void check_number(int64_t index, uint32_t bits) {
  const float value = ufp4_f32_value(bits);
  for (int elem = 0; elem < UFP4_ELEM_COUNT; elem++) {
    const uint8_t want = reference_elem_cast((reference_elem_t)elem, bits);
    check_bits(index, ufp4_elem_cast((ufp4_elem_t)elem, value), want, "elem %d of %08x", elem,
               bits);
  }
  check_bits(index, ufp4_e4m3_cast(value), reference_e4m3_cast(bits), "e4m3 of %08x", bits);
  check_bits(index, ufp4_e8m0_cast(value, 0), reference_e8m0_cast(bits, 0), "e8m0 down of %08x",
             bits);
  check_bits(index, ufp4_e8m0_cast(value, 1), reference_e8m0_cast(bits, 1), "e8m0 up of %08x",
             bits);
  check_bits(index, ufp4_bf16_cast(value), reference_bf16_cast(bits), "bf16 of %08x", bits);
}

static void check_sum(int64_t sum, int exponent) {
  const uint64_t magnitude = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
  const uint32_t want = sum == 0 ? 0 : reference_f32_round(sum < 0, magnitude, exponent);
  check_bits(sum, ufp4_f32_from_scaled(sum, exponent), want, "times 2^%d", exponent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input_t input = {data, size};
  for (int64_t i = 0; input.left != 0; i++) {
    const uint32_t low = fuzz_u32(&input), high = fuzz_u32(&input);
    check_number(i, low);
    check_sum((int64_t)((uint64_t)high << 32 | low), (int)fuzz_below(&input, 1024) - 512);
  }
  return 0;
}
