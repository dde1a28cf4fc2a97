// SPDX-License-Identifier: Apache-2.0
#include "selftest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/compare.h"
#include "frame/report.h"

enum { TOKENS = 80, CIN = 96, COUT = 48 };

typedef struct {
  const cli_command_t *command;
  ufp4_device_t *device, *model;
  ufp4_linear_t *linear, *golden;
  float x[TOKENS * CIN], w[COUT * CIN], y[2][TOKENS * COUT];
  json_t *lines;  ///< NULL: print
  int failed;
} selftest_t;

static void report(selftest_t *test, const char *what, int64_t compared, int64_t wrong) {
  test->failed |= wrong != 0;
  if (test->lines != NULL) {
    json_array_append_new(
        test->lines,
        json_pack("{s:s, s:I, s:I, s:s}", "test", what, "compared", (json_int_t)compared,
                  "mismatches", (json_int_t)wrong, "verdict", report_verdict(wrong)));
  } else {
    printf("  %-8s %9" PRId64 " %10" PRId64 " %s\n", what, compared, wrong, report_verdict(wrong));
    fflush(stdout);
  }
}

static int fail(const selftest_t *test, ufp4_status_t status) {
  return cli_fail_status(test->command, status, ufp4_device_message(test->device));
}

static int test_memory(selftest_t *test) {
  ufp4_memory_test_t result;
  const ufp4_status_t status = ufp4_device_memory_test(test->device, &result);
  if (status != UFP4_OK) return fail(test, status);
  report(test, "memory", (int64_t)result.bytes, (int64_t)result.failed);
  if (result.failed != 0)
    fprintf(stderr, "ufp4 %s: memory: the first mismatch is at 0x%" PRIx64 "\n",
            test->command->name, result.address);
  return CLI_GO_ON;
}

// Makes numbers of many sizes, the same on every machine.
static void fill(float *to, int count, uint32_t seed) {
  for (int i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    to[i] = (float)((int32_t)seed >> 8) / (float)(1 << (16 + (seed & 7)));
  }
}

// Returns the first recipe that the device supports, with its contract; cores also differ in
// formats.
static int create_layers(selftest_t *test) {
  static const char *const names[] = {"ufp4", "e2m1", "mxfp4", "nvfp4"};
  const ufp4_linear_shape_t shape = {
      .tokens = TOKENS, .cin = CIN, .cout = COUT, .passes = 1u << UFP4_PASS_FPROP};
  ufp4_status_t status = UFP4_ERROR_UNSUPPORTED;
  ufp4_device_info_t info;
  ufp4_recipe_t recipe;
  ufp4_device_info(test->device, &info);
  for (size_t i = 0; i < sizeof names / sizeof names[0] && test->linear == NULL; i++) {
    status = ufp4_recipe_named(names[i], &recipe);
    recipe.contract = (ufp4_contract_t)info.configuration.contract;
    if (status == UFP4_OK)
      status = ufp4_linear_create(test->device, &shape, &recipe, &test->linear);
  }
  if (status != UFP4_OK) return fail(test, status);
  status = ufp4_linear_create(test->model, &shape, &recipe, &test->golden);
  return status == UFP4_OK ? CLI_GO_ON : cli_fail_status(test->command, status, NULL);
}

static ufp4_status_t load(selftest_t *test, ufp4_linear_t *linear) {
  const ufp4_matrix_t x = {UFP4_DTYPE_F32, TOKENS, CIN, CIN, test->x};
  const ufp4_matrix_t w = {UFP4_DTYPE_F32, COUT, CIN, CIN, test->w};
  const ufp4_status_t status = ufp4_linear_load(linear, UFP4_ROLE_X, &x, 0);
  return status == UFP4_OK ? ufp4_linear_load(linear, UFP4_ROLE_W, &w, 0) : status;
}

static ufp4_status_t compare_copy(selftest_t *test, ufp4_role_t role, compare_t *compare) {
  ufp4_operand_t got = {0}, want = {0};
  ufp4_status_t status = ufp4_linear_operand(test->linear, role, UFP4_AXIS_ROW, &got);
  if (status == UFP4_OK) status = ufp4_linear_operand(test->golden, role, UFP4_AXIS_ROW, &want);
  if (status == UFP4_OK) compare_operands(compare, role == UFP4_ROLE_X ? "X" : "W", &got, &want);
  ufp4_operand_free(&got);
  ufp4_operand_free(&want);
  return status;
}

// If the device does not quantize, the host does so for both.
static int test_quant(selftest_t *test) {
  compare_t compare = {.got_name = "the device", .want_name = "the model"};
  ufp4_status_t status = load(test, test->linear);
  if (status == UFP4_OK) status = load(test, test->golden);
  if (status == UFP4_OK) status = compare_copy(test, UFP4_ROLE_X, &compare);
  if (status == UFP4_OK) status = compare_copy(test, UFP4_ROLE_W, &compare);
  if (status != UFP4_OK) return fail(test, status);
  if (!ufp4_linear_quantizes_on_host(test->linear))
    report(test, "quant", (TOKENS + COUT) * CIN, compare.mismatches);
  return CLI_GO_ON;
}

static int test_gemm(selftest_t *test) {
  compare_t compare = {.got_name = "the device", .want_name = "the model"};
  ufp4_status_t status = ufp4_linear_run(test->linear, UFP4_PASS_FPROP, test->y[0], COUT, NULL);
  if (status == UFP4_OK)
    status = ufp4_linear_run(test->golden, UFP4_PASS_FPROP, test->y[1], COUT, NULL);
  if (status != UFP4_OK) return fail(test, status);
  compare_elements(&compare, "Y", test->y[0], test->y[1], sizeof(float), TOKENS * COUT);
  report(test, "gemm", TOKENS * COUT, compare.mismatches);
  return CLI_GO_ON;
}

static int run_all(selftest_t *test) {
  const ufp4_device_options_t options = ufp4_device_options_default();
  const ufp4_status_t status = ufp4_device_open("model", &options, &test->model);
  if (status != UFP4_OK) return cli_fail_status(test->command, status, NULL);
  fill(test->x, TOKENS * CIN, 1);
  fill(test->w, COUT * CIN, 2);
  int end = test_memory(test);
  if (end == CLI_GO_ON) end = create_layers(test);
  if (end == CLI_GO_ON) end = test_quant(test);
  if (end == CLI_GO_ON) end = test_gemm(test);
  return end == CLI_GO_ON && test->failed ? CLI_MISMATCH : end;
}

int selftest_run(const cli_command_t *command, ufp4_device_t *device, json_t *json) {
  selftest_t *test = calloc(1, sizeof *test);
  if (test == NULL) return cli_fail_status(command, UFP4_ERROR_MEMORY, NULL);
  test->command = command;
  test->device = device;
  if (json != NULL) {
    test->lines = json_array();
    json_object_set_new(json, "selftest", test->lines);
  } else {
    printf("%% test    compared mismatches verdict\n");
  }
  const int end = run_all(test);
  ufp4_linear_free(test->linear);
  ufp4_linear_free(test->golden);
  ufp4_device_close(test->model);
  free(test);
  return end;
}
