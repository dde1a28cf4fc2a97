// SPDX-License-Identifier: Apache-2.0
// Tests the quantization of one tensor by the device: on a core by its engine whenever that is able
// to, and always with the bits of the golden model.
#include <math.h>
#include <string.h>

#include "port/backend.h"
#include "stand.h"

static const struct {
  int64_t rows, cols;
} shapes[] = {{1, 1}, {17, 33}, {5, 70}, {40, 16}, {16, 128}, {33, 50}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static ufp4_device_t *open_core(const char *configuration) {
  ufp4_device_options_t options = stand_options();
  ufp4_device_t *device = NULL;
  options.configuration = configuration;
  const ufp4_status_t status = ufp4_device_open(stand_backend(), &options, &device);
  // Not every build simulates every configuration.
  if (strcmp(configuration, "small") == 0) check_bits(0, status, UFP4_OK, "open %s", configuration);
  return device;
}

static void check_same(int64_t index, const ufp4_operand_t *got, const ufp4_operand_t *want) {
  int64_t bytes = 0, want_bytes = 0;
  const uint8_t *scales = ufp4_operand_scale_bytes(got, &bytes);
  const uint8_t *want_scales = ufp4_operand_scale_bytes(want, &want_bytes);
  check_that(index, got->rows == want->rows && got->cols == want->cols && bytes == want_bytes,
             "%lld x %lld", (long long)got->rows, (long long)got->cols);
  for (int64_t i = 0; i < want->rows * want->blocks * 8; i++)
    check_bits(index, got->codes[i], want->codes[i], "codes %lld", (long long)i);
  for (int64_t i = 0; i < want_bytes; i++)
    check_bits(index, scales[i], want_scales[i], "scale %lld", (long long)i);
  check_bits(index, (uint32_t)got->exponent, (uint32_t)want->exponent, "exponent");
  check_bits(index, ufp4_f32_bits(got->tensor_scale), ufp4_f32_bits(want->tensor_scale), "Sd");
  check_bits(index, got->flags, want->flags, "flags");
}

// Compares the result with the golden model's, and checks whether the engine made it.
static void compare(int64_t index, ufp4_device_t *device, const ufp4_matrix_t *in,
                    const ufp4_quantize_t *how, int on_core) {
  ufp4_operand_t got, want;
  ufp4_quantize_stats_t stats;
  const int finds = on_core && how->scale == UFP4_SCALE_E4M3 && !how->exponent_given;
  check_bits(index, ufp4_quantize(in, how, &want), UFP4_OK, "golden model");
  if (!check_bits(index, ufp4_device_quantize_stats(device, in, how, &got, &stats), UFP4_OK, "%s",
                  ufp4_device_message(device)))
    return;
  check_same(index, &got, &want);
  check_that(index, stats.on_core == on_core, "on the core: %d, %s", stats.on_core, stats.why.text);
  check_that(index, (stats.quant_cycles != 0) == on_core, "cycles of QUANT");
  check_that(index, (stats.amax_cycles != 0) == finds, "cycles of AMAX");
  check_that(index, (stats.why.text[0] != '\0') == (stand_is_core() && !on_core), "a reason");
  ufp4_operand_free(&got);
  ufp4_operand_free(&want);
}

static ufp4_quantize_t draw_how(check_random_t *random) {
  ufp4_quantize_t how = {.elem = (ufp4_elem_t)check_below(random, UFP4_ELEM_COUNT),
                         .scale = check_below(random, 3) ? UFP4_SCALE_E4M3 : UFP4_SCALE_E8M0,
                         .axis = (ufp4_axis_t)check_below(random, 2),
                         .round = (ufp4_round_t)check_below(random, UFP4_ROUND_COUNT),
                         .seed = check_next(random),
                         .tensor_id = check_next(random)};
  const int up = (int)check_below(random, 2);
  if (how.scale == UFP4_SCALE_E8M0) {
    how.scale_round = up ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_DOWN;
    return how;
  }
  how.scale_round = up ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE;
  how.rht = check_below(random, 2) ? UFP4_RHT_INTEGER : UFP4_RHT_NONE;
  how.rht_mask = (uint16_t)check_next(random);
  how.exponent_given = check_below(random, 4) == 0;
  how.exponent = how.exponent_given ? (int)check_below(random, 30) - 10 : 0;
  return how;
}

// Draws the numbers of one tensor: some blocks are large, and now and then a number is NaN or Inf.
static void *draw_tensor(check_random_t *random, ufp4_matrix_t *in) {
  static float numbers[64 * 160];
  static uint16_t halves[64 * 160];
  for (int64_t i = 0; i < in->rows * in->ld; i++) {
    numbers[i] = stand_number(random) * (check_below(random, 40) ? 1 : 300);
    if (check_below(random, 500) == 0) numbers[i] = check_below(random, 2) ? INFINITY : NAN;
    halves[i] = ufp4_bf16_cast(numbers[i]);
  }
  return in->dtype == UFP4_DTYPE_F32 ? (void *)numbers : halves;
}

static void compare_many(const char *configuration, unsigned runs) {
  ufp4_device_t *device = open_core(configuration);
  check_random_t random = check_random();
  if (device == NULL) return;
  for (unsigned i = 0; i < runs; i++) {
    ufp4_matrix_t in = {.dtype = check_below(&random, 2) ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16,
                        .rows = shapes[i % SHAPES].rows,
                        .cols = shapes[i % SHAPES].cols};
    in.ld = in.cols + (check_below(&random, 2) ? 3 : 0);
    in.data = draw_tensor(&random, &in);
    const ufp4_quantize_t how = draw_how(&random);
    compare(i, device, &in, &how, stand_is_core());
  }
  ufp4_device_close(device);
}

TEST(equals_the_golden_model) {
  compare_many("small", 90);
}

/** This configuration's engine takes two numbers a cycle. */
TEST(equals_the_golden_model_on_a_narrow_engine) {
  compare_many("tiny-quant", 90);
  check_that(0, 1, "not every build has it");
}

static ufp4_matrix_t plain(check_random_t *random) {
  ufp4_matrix_t in = {.dtype = UFP4_DTYPE_F32, .rows = 33, .cols = 70, .ld = 70};
  float *numbers = draw_tensor(random, &in);
  for (int i = 0; i < 33 * 70; i++) {
    if (!isfinite(numbers[i])) numbers[i] = 1;
  }
  in.data = numbers;
  return in;
}

TEST(the_host_does_what_the_engine_cannot) {
  ufp4_device_t *device = open_core("small");
  check_random_t random = check_random();
  const ufp4_matrix_t in = plain(&random);
  const ufp4_quantize_t hows[] = {
      {.elem = UFP4_ELEM_E2M1, .scale = UFP4_SCALE_NVFP4},
      {.elem = UFP4_ELEM_E2M1, .scale = UFP4_SCALE_NVFP4, .scale_round = UFP4_SCALE_ROUND_46},
      {.elem = UFP4_ELEM_E1M2, .layout = UFP4_LAYOUT_2D},
      {.elem = UFP4_ELEM_E1M2, .rht = UFP4_RHT_BF16, .rht_mask = 0x1234},
      {.elem = UFP4_ELEM_INT4,
       .scale = UFP4_SCALE_E8M0,
       .scale_round = UFP4_SCALE_ROUND_DOWN,
       .rht = UFP4_RHT_INTEGER,
       .rht_mask = 0x1234}};
  for (unsigned i = 0; i < sizeof hows / sizeof *hows; i++) compare(i, device, &in, &hows[i], 0);
  ufp4_device_close(device);
}

TEST(a_core_without_an_engine_leaves_it_to_the_host) {
  static const ufp4_configuration_t known[UFP4_CONFIGURATION_COUNT] = UFP4_CONFIGURATIONS;
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_E1M2};
  ufp4_message_t why;
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++) {
    check_bits(i, ufp4_quantize_on_core(&how, &known[i], &why),
               known[i].quant ? UFP4_OK : UFP4_ERROR_UNSUPPORTED, "%s", known[i].name);
  }
  ufp4_device_t *device = open_core("tiny");
  if (device == NULL) return;
  check_random_t random = check_random();
  const ufp4_matrix_t in = plain(&random);
  compare(0, device, &in, &how, 0);
  ufp4_device_close(device);
}

TEST(what_has_no_room_is_left_to_the_host) {
  ufp4_device_t *device = open_core("small");
  ufp4_device_info_t info;
  uint64_t address = 0;
  check_random_t random = check_random();
  const ufp4_matrix_t in = plain(&random);
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_E1M2};
  ufp4_device_info(device, &info);
  // There is room for the tensor, but not for its copy too.
  const uint64_t all = info.memory_bytes - UFP4_MEMORY_RESERVED_BYTES;
  check_bits(0, ufp4_buffer_alloc(device, all - 33 * 384 - 1024, &address), UFP4_OK, "alloc");
  compare(0, device, &in, &how, 0);
  check_bits(1, strlen(ufp4_device_message(device)), 0, "no error");
  ufp4_buffer_free(device, address);
  compare(2, device, &in, &how, stand_is_core());
  // All memory has been freed.
  check_bits(3, ufp4_buffer_alloc(device, all, &address), UFP4_OK, "all of it");
  ufp4_device_close(device);
}

/** The driver waits for jobs under way, because they may use this tensor's exponent slot. */
TEST(follows_jobs_that_are_queued) {
  ufp4_device_t *device = open_core("small");
  stand_jobs_t jobs = stand_jobs(device);
  check_random_t random = check_random();
  const ufp4_matrix_t in = plain(&random);
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_E2M1, .rht = UFP4_RHT_INTEGER, .rht_mask = 0xBEEF};
  ufp4_descriptor_t amax = jobs.amax;
  uint32_t number = 0;
  amax.quant.row_exponent = UFP4_LAYER_SLOTS;
  check_bits(0, ufp4_submit(device, &amax, &number), UFP4_OK, "submit");
  compare(1, device, &in, &how, stand_is_core());
  check_bits(2, ufp4_wait(device, number, 0, NULL), UFP4_OK, "its completion is kept");
  ufp4_device_close(device);
}

TEST(rejects_missing_arguments) {
  ufp4_device_t *device = open_core("small");
  float number = 1;
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 1, 1, 1, &number};
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_E2M1};
  ufp4_quantize_t bad = how;
  ufp4_operand_t out;
  ufp4_message_t why;
  const ufp4_configuration_t none = {.name = "none"};
  bad.round = (ufp4_round_t)9;
  check_bits(0, ufp4_device_quantize(NULL, &in, &how, &out), UFP4_ERROR_ARGUMENT, "device");
  check_bits(1, ufp4_device_quantize(device, NULL, &how, &out), UFP4_ERROR_ARGUMENT, "tensor");
  check_bits(2, ufp4_device_quantize(device, &in, NULL, &out), UFP4_ERROR_ARGUMENT, "how");
  check_bits(3, ufp4_device_quantize(device, &in, &how, NULL), UFP4_ERROR_ARGUMENT, "operand");
  check_bits(4, ufp4_device_quantize(device, &in, &bad, &out), UFP4_ERROR_ARGUMENT, "rounding");
  check_bits(5, ufp4_quantize_on_core(NULL, &none, &why), UFP4_ERROR_ARGUMENT, "how");
  check_bits(6, ufp4_quantize_on_core(&how, NULL, &why), UFP4_ERROR_ARGUMENT, "core");
  check_bits(7, ufp4_quantize_on_core(&how, &none, NULL), UFP4_ERROR_UNSUPPORTED, "no engine");
  ufp4_device_close(device);
}
