// SPDX-License-Identifier: Apache-2.0
// Tests the golden model when allocations fail (heap.h): a failed call does not change its outputs.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "heap.h"
#include "pair.h"
#include "ufp4/format.h"
#include "ufp4/tensor.h"

// --- Operands and GEMMs -------------------------------------------------------------------------

static ufp4_status_t call_create(const void *input, uint64_t *result) {
  ufp4_operand_t made = {.rows = -7};
  ufp4_status_t status =
      ufp4_operand_create_scaled(UFP4_ELEM_E2M1, *(const ufp4_scale_t *)input, 3, 70, &made);
  if (status != UFP4_OK) {
    check_that(0, made.rows == -7, "a failed create wrote its output");
    return status;
  }
  *result = digest_operand(&made);
  ufp4_operand_free(&made);
  return status;
}

TEST(creating_operands) {
  for (int scale = 0; scale < UFP4_SCALE_COUNT; scale++) {
    const ufp4_scale_t input = (ufp4_scale_t)scale;
    const scenario_t what = {"create", call_create, &input};
    heap_check(&what);
  }
}

static ufp4_matrix_t small_matrix(void) {
  static float values[20 * 40];
  check_random_t random = check_random();
  for (int i = 0; i < 20 * 40; i++)
    values[i] = ufp4_f32_value(fixture_number(&random, FIXTURE_OUTLIERS));
  return (ufp4_matrix_t){UFP4_DTYPE_F32, 20, 40, 40, values};
}

static ufp4_status_t call_quantize(const void *input, uint64_t *result) {
  const ufp4_matrix_t in = small_matrix();
  ufp4_operand_t made = {.rows = -7};
  ufp4_status_t status = ufp4_quantize(&in, input, &made);
  if (status != UFP4_OK) {
    check_that(0, made.rows == -7, "a failed quantize wrote its output");
    return status;
  }
  *result = digest_operand(&made);
  ufp4_operand_free(&made);
  return status;
}

TEST(quantizing) {
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    const ufp4_quantize_t how = legal_quantize_combination(n);
    const scenario_t what = {"quantize", call_quantize, &how};
    if (legal_quantize(&how)) heap_check(&what);
  }
}

static ufp4_status_t call_exponent(const void *input, uint64_t *result) {
  const ufp4_matrix_t in = small_matrix();
  int exponent = 4711;
  ufp4_status_t status = ufp4_tensor_exponent(&in, input, &exponent);
  check_that(0, status == UFP4_OK || exponent == 4711, "a failed call wrote its output");
  *result = (uint64_t)exponent;
  return status;
}

TEST(exponent_of_tiles) {
  const ufp4_quantize_t how = {.layout = UFP4_LAYOUT_2D};
  const scenario_t what = {"tensor_exponent", call_exponent, &how};
  heap_check(&what);
}

typedef struct {
  pair_t *pair;
  ufp4_kernel_t kernel;
  int threads;
} gemm_input_t;

static ufp4_status_t call_gemm(const void *input, uint64_t *result) {
  static float d[256 * 256];
  const gemm_input_t *in = input;
  ufp4_gemm_t how = pair_plain(in->pair, UFP4_DTYPE_F32);
  how.kernel = in->kernel;
  how.threads = in->threads;
  memset(d, 0xA5, sizeof d);
  ufp4_status_t status = ufp4_gemm(&in->pair->a, &in->pair->b, &how, d, in->pair->b.rows);
  *result = digest(1, d, sizeof d);
  for (size_t i = 0; status != UFP4_OK && i < sizeof d / sizeof d[0]; i++) {
    if (!check_bits((int64_t)i, ufp4_f32_bits(d[i]), 0xA5A5A5A5, "a failed GEMM wrote D")) break;
  }
  return status;
}

static void check_gemms(const int shape[3], int threads) {
  check_random_t random = check_random();
  for (int n = 0; n < LEGAL_GEMM_COUNT; n += 4) {
    const legal_gemm_t c = legal_gemm_combination(n);
    if (!legal_gemm(&c)) continue;
    pair_t pair = pair_random(&random, n, shape, FIXTURE_SCALES_ANY);
    for (int kernel = 0; kernel < (c.contract == UFP4_CONTRACT_EXACT ? UFP4_KERNEL_COUNT : 1);
         kernel++) {
      const gemm_input_t input = {&pair, (ufp4_kernel_t)kernel, threads};
      const scenario_t what = {"gemm", call_gemm, &input};
      if (ufp4_kernel_available(input.kernel)) heap_check(&what);
    }
    pair_free(&pair);
  }
}

TEST(multiplying) {
  const int shape[3] = {5, 7, 40};
  check_gemms(shape, 1);
}

TEST(multiplying_with_threads) {
  const int shape[3] = {256, 256, 512};
  check_gemms(shape, 3);
}

static int no_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument) {
  return no_threads ? EAGAIN : __real_pthread_create(thread, how, run, argument);
}

// The calling thread does all the work.
TEST(multiplying_where_no_thread_starts) {
  check_random_t random = check_random();
  const int shape[3] = {256, 256, 512};
  for (int kernel = UFP4_KERNEL_PORTABLE; kernel < UFP4_KERNEL_COUNT; kernel++) {
    pair_t pair = pair_random(&random, 0, shape, FIXTURE_SCALES_ANY);
    const gemm_input_t input = {&pair, (ufp4_kernel_t)kernel, 3};
    uint64_t want = 0, got = 0;
    if (!ufp4_kernel_available(input.kernel)) continue;
    check_bits(kernel, call_gemm(&input, &want), UFP4_OK, "with threads");
    no_threads = 1;
    check_bits(kernel, call_gemm(&input, &got), UFP4_OK, "without");
    no_threads = 0;
    check_bits(kernel, got, want, "D");
    pair_free(&pair);
  }
}

TEST(quantizing_where_no_thread_starts) {
  enum { ROWS = 600, COLS = 800 };
  static uint32_t numbers[ROWS * COLS];
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, ROWS, COLS, COLS, numbers};
  check_random_t random = check_random();
  fixture_numbers(&random, FIXTURE_OUTLIERS, numbers, ROWS * COLS);
  for (int kernel = UFP4_KERNEL_PORTABLE; kernel < UFP4_KERNEL_COUNT; kernel++) {
    ufp4_quantize_t how = {
        .elem = UFP4_ELEM_E1M2, .axis = UFP4_AXIS_COL, .kernel = (ufp4_kernel_t)kernel};
    ufp4_operand_t want, got;
    if (!ufp4_kernel_available(how.kernel)) continue;
    check_bits(kernel, ufp4_quantize(&in, &how, &want), UFP4_OK, "one thread");
    how.threads = 4;
    no_threads = 1;
    check_bits(kernel, ufp4_quantize(&in, &how, &got), UFP4_OK, "four that do not start");
    no_threads = 0;
    check_bits(kernel, digest_operand(&got), digest_operand(&want), "operand");
    ufp4_operand_free(&want);
    ufp4_operand_free(&got);
  }
}

// Without memory for panels of B that all threads share, each thread packs its own; a thread
// without memory for its own panels leaves its part to the others.
TEST(multiplying_where_one_allocation_fails) {
  check_random_t random = check_random();
  const int shape[3] = {256, 256, 512};
  for (int kernel = UFP4_KERNEL_AVX2; kernel < UFP4_KERNEL_COUNT; kernel++) {
    pair_t pair = pair_random(&random, 0, shape, FIXTURE_SCALES_ANY);
    const gemm_input_t input = {&pair, (ufp4_kernel_t)kernel, 3};
    const scenario_t what = {"gemm", call_gemm, &input};
    uint64_t undisturbed = 0;
    int refused = 0;
    if (!ufp4_kernel_available(input.kernel)) continue;
    check_bits(kernel, call_gemm(&input, &undisturbed), UFP4_OK, "undisturbed");
    check_that(kernel, heap_check_once(&what, 0, 0, undisturbed, &refused), "no allocation");
    check_bits(kernel, (uint64_t)refused, 0, "refused without the shared panels");
    for (int n = 2; n < 4; n++) {
      check_that(n, heap_check_once(&what, n, 0, undisturbed, &refused),
                 "no allocation for thread %d", n - 1);
      check_bits(n, (uint64_t)refused, 0, "refused without memory for thread %d", n - 1);
    }
    pair_free(&pair);
  }
}

// --- Files --------------------------------------------------------------------------------------

static ufp4_status_t call_tensor_write(const void *input, uint64_t *result) {
  ufp4_message_t message = {0};
  unlink(heap_path("t.npy"));
  ufp4_status_t status = ufp4_tensor_write(heap_path("t.npy"), input, &message);
  check_that(0, status == UFP4_OK || message.text[0] != '\0', "no message");
  *result = digest_file(heap_path("t.npy"));
  check_that(0, (status == UFP4_OK) == (*result != 0),
             "a file is there if and only if the call succeeds");
  return status;
}

static ufp4_status_t call_tensor_read(const void *input, uint64_t *result) {
  ufp4_message_t message = {0};
  ufp4_tensor_t made;
  ufp4_status_t status = ufp4_tensor_read(input, 0, &made, &message);
  check_that(0, status == UFP4_OK || (made.data == NULL && message.text[0] != '\0'),
             "a tensor, or no message");
  if (status != UFP4_OK) return status;
  *result = digest(3, made.data, (size_t)(made.view.rows * made.view.cols) * sizeof(float));
  ufp4_tensor_free(&made);
  return status;
}

TEST(tensor_files) {
  const ufp4_matrix_t in = small_matrix();
  char npy[128];
  const scenario_t write = {"tensor_write", call_tensor_write, &in};
  heap_check(&write);
  snprintf(npy, sizeof npy, "%s", heap_path("t.npy"));
  ufp4_message_t message;
  check_bits(0, ufp4_tensor_write(npy, &in, &message), UFP4_OK, "write");
  const scenario_t read = {"tensor_read", call_tensor_read, npy};
  heap_check(&read);
  unlink(npy);
}
