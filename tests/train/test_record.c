// SPDX-License-Identifier: Apache-2.0
// Tests that the demo's comparison finds every difference: one bit is changed at a time.
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "run/record.h"

typedef struct {
  ufp4_device_t *device;
  ufp4_trainer_t *trainer;
  record_t record;
} side_t;

static side_t open_side(const ufp4_text_t *text, const char *recipe) {
  side_t side = {.device = fixture_device(1)};
  ufp4_trainer_options_t options = fixture_options(3);
  ufp4_recipe_t named;
  ufp4_recipe_named(recipe, &named);
  check_bits(0, ufp4_trainer_create(&options, text, side.device, &named, &side.trainer), UFP4_OK,
             "create");
  return side;
}

static void run_step(side_t *side) {
  double loss;
  ufp4_trainer_set_hook(side->trainer, record_hook(&side->record));
  check_bits(0, ufp4_trainer_step(side->trainer, &loss), UFP4_OK, "step");
}

static void close_side(side_t *side) {
  ufp4_trainer_free(side->trainer);
  record_free(&side->record);
  ufp4_device_close(side->device);
}

TEST(equal_steps_are_equal) {
  ufp4_text_t text = fixture_text(40000);
  side_t a = open_side(&text, "ufp4"), b = open_side(&text, "ufp4");
  record_difference_t difference = {
      .compare = {.got_name = "got", .want_name = "want", .silent = 1}};
  run_step(&a), run_step(&b);
  check_bits(0, (uint64_t)a.record.count, 24, "GEMMs");
  for (int i = 0; i < a.record.count; i++)
    record_compare(&a.record.gemms[i], &b.record.gemms[i], &difference);
  check_bits(1, (uint64_t)difference.compare.mismatches, 0, "mismatches: %s",
             difference.compare.first);
  // FPROP and DGRAD of 64 tokens have weights of 32x96, 32x32, 32x96, 48x32; WGRAD has these sizes
  // as outputs.
  int64_t sizes = 2 * (32 * 96 + 32 * 32 + 32 * 96 + 48 * 32),
          outputs = 2 * 64 * (96 + 32 + 96 + 32 + 32 + 32 + 32 + 48);
  check_bits(2, (uint64_t)difference.outputs, (uint64_t)(sizes + outputs), "outputs compared");
  check_bits(3, (uint64_t)difference.codes, (uint64_t)(16 * difference.scales), "codes compared");
  close_side(&a), close_side(&b);
  ufp4_text_free(&text);
}

static void check_found(const record_gemm_t *want, const record_gemm_t *got, const char *words) {
  record_difference_t difference = {
      .compare = {.got_name = "got", .want_name = "want", .silent = 1}};
  check_bits(0, (uint64_t)record_compare(want, got, &difference), 1, "mismatches in %s", words);
  check_that(1, strstr(difference.compare.first, words) != NULL, "'%s' lacks '%s'",
             difference.compare.first, words);
}

// Flips bits in each of the three kinds of data of one GEMM.
static void flip_bits(const record_gemm_t *want, record_gemm_t *got) {
  ufp4_operand_t *w = &got->operand[1];
  for (int64_t bit = 0; bit < 64 * w->rows * w->blocks; bit += 37) {
    w->codes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    check_found(want, got, "W by columns codes");
    w->codes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  for (int64_t bit = 0; bit < 8 * w->rows * w->blocks; bit += 5) {
    w->scales[bit / 8] ^= (uint8_t)(1 << bit % 8);
    check_found(want, got, "W by columns scales");
    w->scales[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  for (int64_t bit = 0; bit < 32 * got->stats.m * got->stats.n; bit += 101) {
    uint8_t *bytes = (uint8_t *)got->d;
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    check_found(want, got, "dgrad: output");
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
}

TEST(each_changed_bit_is_found) {
  ufp4_text_t text = fixture_text(40000);
  side_t a = open_side(&text, "e2m1"), b = open_side(&text, "e2m1");
  run_step(&a), run_step(&b);
  const int gemm = 8;  // the first DGRAD
  check_bits(0, a.record.gemms[gemm].pass, UFP4_PASS_DGRAD, "pass");
  flip_bits(&a.record.gemms[gemm], &b.record.gemms[gemm]);
  b.record.gemms[gemm].operand[0].exponent++;
  check_found(&a.record.gemms[gemm], &b.record.gemms[gemm], "dY by rows exponent");
  b.record.gemms[gemm].operand[0].exponent--;
  b.record.gemms[gemm].operand[0].flags ^= UFP4_FLAG_NAN;
  check_found(&a.record.gemms[gemm], &b.record.gemms[gemm], "dY by rows flags");
  close_side(&a), close_side(&b);
  ufp4_text_free(&text);
}
