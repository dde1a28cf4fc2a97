// SPDX-License-Identifier: Apache-2.0
// Tests the scalar casts against NVIDIA's own, as the CUDA headers compute them on the host: a
// third-party witness.
#include "fixture.h"
#include "ufp4/format.h"
#include "witness_cuda.h"

TEST(e2m1_cast_of_every_bf16) {
  for (uint32_t i = 0; i < 65536; i++) {
    const float x = ufp4_f32_value(i << 16);
    check_bits(i, ufp4_elem_cast(UFP4_ELEM_E2M1, x), witness_e2m1(x), "%08x", i << 16);
  }
}

TEST(e4m3_cast_of_every_bf16) {
  for (uint32_t i = 0; i < 65536; i++) {
    const float x = ufp4_f32_value(i << 16);
    check_bits(i, ufp4_e4m3_cast(x), witness_e4m3(x), "%08x", i << 16);
  }
}

TEST(e8m0_cast_of_every_bf16) {
  for (uint32_t i = 0; i < 65536; i++) {
    const float x = ufp4_f32_value(i << 16);
    check_bits(i, ufp4_e8m0_cast(x, 0), witness_e8m0(x, 0), "%08x down", i << 16);
    check_bits(i, ufp4_e8m0_cast(x, 1), witness_e8m0(x, 1), "%08x up", i << 16);
  }
}

TEST(casts_of_random_numbers) {
  check_random_t random = check_random();
  for (int i = 0; i < 300000; i++) {
    const uint32_t bits =
        fixture_number(&random, (fixture_distribution_t)(i % FIXTURE_DISTRIBUTIONS));
    const float x = ufp4_f32_value(bits);
    check_bits(i, ufp4_elem_cast(UFP4_ELEM_E2M1, x), witness_e2m1(x), "e2m1 of %08x", bits);
    check_bits(i, ufp4_e4m3_cast(x), witness_e4m3(x), "e4m3 of %08x", bits);
    check_bits(i, ufp4_e8m0_cast(x, 0), witness_e8m0(x, 0), "e8m0 down of %08x", bits);
    check_bits(i, ufp4_e8m0_cast(x, 1), witness_e8m0(x, 1), "e8m0 up of %08x", bits);
  }
}
