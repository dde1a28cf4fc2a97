// SPDX-License-Identifier: Apache-2.0
// Tests random bytes and signs that depend on device memory (ufp4_cuda_random_t); test_calls.c
// captures a training step with them.
#include "calls.h"

#define STREAM 0x1250

// The tensor has whole tiles, which the quick quantizer takes.
TEST(whole_tiles_draw_by_what_is_in_device_memory) {
  check_random_t random = check_random();
  engine_t engine = engine_open(90, STREAM);
  const ufp4_cuda_random_t now = {check_next(&random), 77, check_next(&random)};
  static float data[64 * 128] __attribute__((aligned(16)));
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 64, 128, 128, data};
  const ufp4_recipe_t drawn = {.rht_size = 16, .signs = UFP4_SIGNS_STEP};
  for (int i = 0; i < 64 * 128; i++)
    data[i] = ufp4_f32_value(fixture_number(&random, FIXTURE_GAUSSIAN));
  for (int n = 0; n < 4; n++) {
    placed_t copies[2];
    for (int i = 0; i < 2; i++) {
      const ufp4_quantize_t how = {.elem = n < 3 ? (ufp4_elem_t)n : UFP4_ELEM_E1M2,
                                   .axis = (ufp4_axis_t)i,
                                   .rht = n < 3 ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
                                   .round = UFP4_ROUND_SR,
                                   .tensor_id = (uint64_t)i};
      placed_create(&in, &how, &copies[i]);
    }
    engine.random = &now;
    engine.signs = UFP4_SIGNS_STEP;
    check_bits(n, engine_quantize(&engine, &in, copies, 2, NULL), UFP4_OK, "%s",
               engine.message.text);
    for (int i = 0; i < 2; i++) {
      ufp4_operand_t want;
      copies[i].how.seed = now.seed;
      copies[i].how.tensor_id += now.tensor_id;
      copies[i].how.rht_mask = ufp4_recipe_mask(&drawn, now.seed, now.step);
      check_bits(i, ufp4_quantize(&in, &copies[i].how, &want), UFP4_OK, "golden");
      placed_check(&copies[i], &want, "drawn");
      ufp4_operand_free(&want);
      placed_free(&copies[i]);
    }
  }
  engine_close(&engine);
}
