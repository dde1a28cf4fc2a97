// SPDX-License-Identifier: Apache-2.0
// Allocations that fail. Every call is made once undisturbed, then again with its first, second, .. allocation failing,
// alone or with all that follow. Each time it must say so (or do with less, with the same bits), leave what the caller
// sees as it was, and give back all that it had taken. The linker sends the library's allocations here (--wrap).
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "pair.h"
#include "ufp4/format.h"
#include "ufp4/tensor.h"

// --- The allocator -----------------------------------------------------------------------------------

static struct {
  atomic_long asked;        // allocations since the last arm()
  atomic_long outstanding;  // not freed yet
  long fail_at;             // this one fails; -1: none
  int and_after;            // and so do all that follow
} heap = {.fail_at = -1};

static int fails(void) {
  long number = atomic_fetch_add(&heap.asked, 1);
  return heap.fail_at >= 0 && (number == heap.fail_at || (heap.and_after && number > heap.fail_at));
}

static void *counted(void *memory) {
  if (memory != NULL) atomic_fetch_add(&heap.outstanding, 1);
  return memory;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strndup(const char *text, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strndup(const char *text, size_t size);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size) {
  return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size) {
  if (fails()) return NULL;
  void *grown = __real_realloc(memory, size);
  return memory == NULL ? counted(grown) : grown;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

char *__wrap_strndup(const char *text, size_t size) {
  return fails() ? NULL : counted(__real_strndup(text, size));
}

void __wrap_free(void *memory) {
  if (memory != NULL) atomic_fetch_sub(&heap.outstanding, 1);
  __real_free(memory);
}

static void arm(long fail_at, int and_after) {
  heap.fail_at = fail_at;
  heap.and_after = and_after;
  atomic_store(&heap.asked, 0);
}

// --- What is called ----------------------------------------------------------------------------------

/** A call and what it left, reduced to one number. */
typedef struct {
  const char *name;
  ufp4_status_t (*call)(const void *input, uint64_t *result);
  const void *input;
} scenario_t;

static uint64_t digest(uint64_t so_far, const void *data, size_t bytes) {
  const uint8_t *at = data;
  for (size_t i = 0; i < bytes; i++) so_far = (so_far ^ at[i]) * 0x100000001B3u;
  return so_far;
}

static uint64_t digest_operand(const ufp4_operand_t *operand) {
  int64_t bytes;
  const uint8_t *scales = ufp4_operand_scale_bytes(operand, &bytes);
  uint64_t out = digest(1, operand->codes, (size_t)(operand->rows * operand->blocks * 8));
  out = digest(out, scales, (size_t)bytes);
  out = digest(out, &operand->tensor_scale, sizeof operand->tensor_scale);
  return digest(out, &operand->exponent, sizeof operand->exponent);
}

// One call with the allocations from fail_at on, or fail_at alone, failing. @return 1 if one did fail.
static int check_once(const scenario_t *what, long fail_at, int and_after, uint64_t undisturbed, int *refused) {
  uint64_t result = 0;
  const long before = atomic_load(&heap.outstanding);
  arm(fail_at, and_after);
  ufp4_status_t status = what->call(what->input, &result);
  const long asked = atomic_load(&heap.asked);
  arm(-1, 0);
  check_bits(fail_at, (uint64_t)atomic_load(&heap.outstanding), (uint64_t)before, "%s: memory kept", what->name);
  if (status == UFP4_OK) {
    check_bits(fail_at, result, undisturbed, "%s: another result with less memory", what->name);
  } else {
    check_bits(fail_at, status, UFP4_ERROR_MEMORY, "%s: status", what->name);
    ++*refused;
  }
  return asked > fail_at;
}

static void check_scenario(const scenario_t *what) {
  uint64_t undisturbed = 0;
  int refused = 0;
  check_bits(-1, what->call(what->input, &undisturbed), UFP4_OK, "%s: undisturbed", what->name);
  for (int and_after = 0; and_after < 2; and_after++) {
    long n = 0;
    while (n < 10000 && check_once(what, n, and_after, undisturbed, &refused)) n++;
    check_that(n, n > 0 && n < 10000, "%s: %ld allocations", what->name, n);
  }
  check_that(0, refused > 0, "%s: never refused", what->name);
}

// --- Operands and GEMMs --------------------------------------------------------------------------------

static ufp4_status_t call_create(const void *input, uint64_t *result) {
  ufp4_operand_t made = {.rows = -7};
  ufp4_status_t status = ufp4_operand_create_scaled(UFP4_ELEM_E2M1, *(const ufp4_scale_t *)input, 3, 70, &made);
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
    check_scenario(&what);
  }
}

static ufp4_matrix_t small_matrix(void) {
  static float values[20 * 40];
  check_random_t random = check_random();
  for (int i = 0; i < 20 * 40; i++) values[i] = ufp4_f32_value(fixture_number(&random, FIXTURE_OUTLIERS));
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
    if (legal_quantize(&how)) check_scenario(&what);
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
  check_scenario(&what);
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
    for (int kernel = 0; kernel < (c.contract == UFP4_CONTRACT_EXACT ? UFP4_KERNEL_COUNT : 1); kernel++) {
      const gemm_input_t input = {&pair, (ufp4_kernel_t)kernel, threads};
      const scenario_t what = {"gemm", call_gemm, &input};
      if (ufp4_kernel_available(input.kernel)) check_scenario(&what);
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

// Without memory for panels of B that all threads share, each packs its own; without any for itself, others do its
// part.
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
    check_that(kernel, check_once(&what, 0, 0, undisturbed, &refused), "no allocation");
    check_bits(kernel, (uint64_t)refused, 0, "refused without the shared panels");
    for (int n = 2; n < 4; n++) {
      check_that(n, check_once(&what, n, 0, undisturbed, &refused), "no allocation for thread %d", n - 1);
      check_bits(n, (uint64_t)refused, 0, "refused without memory for thread %d", n - 1);
    }
    pair_free(&pair);
  }
}

// --- Files -------------------------------------------------------------------------------------------

static const char *path_of(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "memory-%ld-%s", (long)getpid(), name);
  return path;
}

static uint64_t digest_file(const char *path) {
  char bytes[8192];
  FILE *file = fopen(path, "rb");
  if (file == NULL) return 0;
  uint64_t out = digest(2, bytes, fread(bytes, 1, sizeof bytes, file));
  fclose(file);
  return out;
}

static ufp4_status_t call_tensor_write(const void *input, uint64_t *result) {
  ufp4_message_t message = {0};
  unlink(path_of("t.npy"));
  ufp4_status_t status = ufp4_tensor_write(path_of("t.npy"), input, &message);
  check_that(0, status == UFP4_OK || message.text[0] != '\0', "no message");
  *result = digest_file(path_of("t.npy"));
  check_that(0, (status == UFP4_OK) == (*result != 0), "a file is there if and only if the call succeeds");
  return status;
}

static ufp4_status_t call_tensor_read(const void *input, uint64_t *result) {
  ufp4_message_t message = {0};
  ufp4_tensor_t made;
  ufp4_status_t status = ufp4_tensor_read(input, 0, &made, &message);
  check_that(0, status == UFP4_OK || (made.data == NULL && message.text[0] != '\0'), "a tensor, or no message");
  if (status != UFP4_OK) return status;
  *result = digest(3, made.data, (size_t)(made.view.rows * made.view.cols) * sizeof(float));
  ufp4_tensor_free(&made);
  return status;
}

static void write_safetensors(const char *path) {
  static const char header[] = "{\"x\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}";
  const uint8_t length[8] = {sizeof header - 1};
  const float values[2] = {1.5f, -3};
  FILE *file = fopen(path, "wb");
  if (file == NULL) abort();
  fwrite(length, 1, 8, file);
  fwrite(header, 1, sizeof header - 1, file);
  fwrite(values, 4, 2, file);
  fclose(file);
}

// Reading leaves jansson its memory: without, its parser may lose characters of a token and take what is left.
TEST(tensor_files) {
  const ufp4_matrix_t in = small_matrix();
  char npy[128], named[160];
  const scenario_t write = {"tensor_write", call_tensor_write, &in};
  check_scenario(&write);
  snprintf(npy, sizeof npy, "%s", path_of("t.npy"));
  ufp4_message_t message;
  check_bits(0, ufp4_tensor_write(npy, &in, &message), UFP4_OK, "write");
  const scenario_t read = {"tensor_read npy", call_tensor_read, npy};
  check_scenario(&read);
  snprintf(named, sizeof named, "%s:x", path_of("t.safetensors"));
  write_safetensors(path_of("t.safetensors"));
  const scenario_t read_named = {"tensor_read safetensors", call_tensor_read, named};
  check_scenario(&read_named);
  unlink(npy);
  unlink(path_of("t.safetensors"));
}

typedef struct {
  ufp4_operand_t operand;
  ufp4_quantize_t how;
  char path[128];
} file_input_t;

static ufp4_status_t call_operand_write(const void *input, uint64_t *result) {
  const file_input_t *in = input;
  ufp4_message_t message = {0};
  unlink(in->path);
  ufp4_status_t status = ufp4_operand_write(in->path, &in->operand, &in->how, 1, &message);
  check_that(0, status == UFP4_OK || message.text[0] != '\0', "no message");
  *result = digest_file(in->path);
  check_that(0, (status == UFP4_OK) == (*result != 0), "a file is there if and only if the call succeeds");
  return status;
}

static ufp4_status_t call_operand_read(const void *input, uint64_t *result) {
  const file_input_t *in = input;
  ufp4_message_t message = {0};
  ufp4_operand_t made;
  ufp4_quantize_t how;
  ufp4_status_t status = ufp4_operand_read(in->path, &made, &how, &message);
  check_that(0, status == UFP4_OK || (made.codes == NULL && message.text[0] != '\0'), "an operand, or no message");
  if (status != UFP4_OK) return status;
  *result = digest_operand(&made);
  ufp4_operand_free(&made);
  return status;
}

static void *malloc_for_json(size_t size) {
  return __real_malloc(size);
}

static void free_for_json(void *memory) {
  __real_free(memory);
}

static void *no_memory_for_json(size_t size) {
  (void)size;
  return NULL;
}

TEST(rejects_a_header_without_memory_for_it) {
  char named[160];
  snprintf(named, sizeof named, "%s:x", path_of("t.safetensors"));
  write_safetensors(path_of("t.safetensors"));
  json_set_alloc_funcs(no_memory_for_json, free_for_json);
  uint64_t ignored;
  check_bits(0, call_tensor_read(named, &ignored), UFP4_ERROR_MEMORY, "status");
  json_set_alloc_funcs(malloc_for_json, free_for_json);
  check_bits(1, call_tensor_read(named, &ignored), UFP4_OK, "status, with memory again");
  unlink(path_of("t.safetensors"));
}

TEST(operand_files) {
  const ufp4_matrix_t in = small_matrix();
  for (int scale = 0; scale < UFP4_SCALE_COUNT; scale++) {
    file_input_t input = {.how = {.scale = (ufp4_scale_t)scale}};
    if (scale == UFP4_SCALE_E8M0) input.how.scale_round = UFP4_SCALE_ROUND_DOWN;
    snprintf(input.path, sizeof input.path, "%s", path_of("q.safetensors"));
    check_bits(scale, ufp4_quantize(&in, &input.how, &input.operand), UFP4_OK, "quantize");
    const scenario_t write = {"operand_write", call_operand_write, &input};
    const scenario_t read = {"operand_read", call_operand_read, &input};
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
    check_scenario(&write);
    json_set_alloc_funcs(malloc_for_json, free_for_json);
    ufp4_message_t message;
    check_bits(scale, ufp4_operand_write(input.path, &input.operand, &input.how, 0, &message), UFP4_OK, "write");
    check_scenario(&read);
    unlink(input.path);
    ufp4_operand_free(&input.operand);
  }
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(creating_operands),
      CHECK_TEST(quantizing),
      CHECK_TEST(exponent_of_tiles),
      CHECK_TEST(multiplying),
      CHECK_TEST(multiplying_with_threads),
      CHECK_TEST(multiplying_where_one_allocation_fails),
      CHECK_TEST(tensor_files),
      CHECK_TEST(rejects_a_header_without_memory_for_it),
      CHECK_TEST(operand_files),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
