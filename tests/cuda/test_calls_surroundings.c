// SPDX-License-Identifier: Apache-2.0
// Tests the calls of ufp4_cuda.h with several threads and GPUs: contexts, captures by other
// threads, failing launches, and the reported abilities of a GPU.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "table.h"

#define STREAM 0x1260

enum { ROWS = 40, COLS = 70 };

// A tensor, its copies, and the GEMM of the row copy with itself.
typedef struct {
  engine_t engine;
  fixture_tensor_t tensor;
  placed_t copies[2];
  float d[ROWS * ROWS];
} work_t;

static work_t *work_create(void) {
  check_random_t random = check_random();
  work_t *work = calloc(1, sizeof *work);
  if (work == NULL) abort();
  work->engine = engine_open(90, STREAM);
  work->tensor =
      fixture_tensor(&random, ROWS, COLS, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, UFP4_AXIS_ROW);
  for (int i = 0; i < 2; i++) {
    const ufp4_quantize_t how = {.elem = UFP4_ELEM_E1M2, .axis = (ufp4_axis_t)i};
    placed_create(&work->tensor.view, &how, &work->copies[i]);
  }
  return work;
}

static void work_free(work_t *work) {
  for (int i = 0; i < 2; i++) placed_free(&work->copies[i]);
  fixture_tensor_free(&work->tensor);
  engine_close(&work->engine);
  free(work);
}

static ufp4_status_t work_run(work_t *work) {
  const ufp4_gemm_t how = {.alpha = 1};
  const ufp4_status_t status =
      engine_quantize(&work->engine, &work->tensor.view, work->copies, 2, NULL);
  return status == UFP4_OK
             ? engine_gemm(&work->engine, &work->copies[0], &work->copies[0], &how, work->d, ROWS)
             : status;
}

// --- Contexts -----------------------------------------------------------------------------------

static void *work_on_second(void *argument) {
  work_t *work = argument;
  emulated_counts_t counts;
  emulated_counts_taken(&counts);
  check_bits(0, ufp4_cuda_open(1, &work->engine.cuda, &work->engine.message), UFP4_OK, "open");
  check_bits(0, work_run(work), UFP4_OK, "%s", work->engine.message.text);
  emulated_counts_taken(&counts);
  check_bits(0, counts.contexts, 2, "GPUs with contexts");
  check_bits(0, counts.works_on_gpu_1, counts.works, "work on the second GPU");
  // The thread's own GPU has not changed.
  ufp4_cuda_t *own;
  check_bits(0, ufp4_cuda_open(-1, &own, NULL), UFP4_OK, "the thread's GPU");
  emulated_counts_taken(&counts);
  check_bits(0, counts.contexts, 1, "the thread's GPU is the first");
  ufp4_cuda_close(own);
  return NULL;
}

// A thread without a context gets none on the first GPU when it works on the second.
TEST(a_thread_gets_no_context_on_another_gpu) {
  work_t *work = work_create();
  pthread_t thread;
  ufp4_cuda_close(work->engine.cuda);
  check_bits(0, (uint64_t)pthread_create(&thread, NULL, work_on_second, work), 0, "thread");
  pthread_join(thread, NULL);
  work_free(work);
}

// --- Captures -----------------------------------------------------------------------------------

static void *open_another(void *argument) {
  ufp4_cuda_t **out = argument;
  check_bits(0, ufp4_cuda_open(0, out, NULL), UFP4_OK, "open");
  return NULL;
}

TEST(opening_a_gpu_leaves_the_capture_of_another_thread) {
  work_t *work = work_create();
  emulated_counts_t counts;
  ufp4_cuda_t *other = NULL;
  pthread_t thread;
  emulated_counts_taken(&counts);
  emulated_capture(work->engine.stream);
  check_bits(0, (uint64_t)pthread_create(&thread, NULL, open_another, &other), 0, "thread");
  pthread_join(thread, NULL);
  check_bits(0, work_run(work), UFP4_OK, "%s", work->engine.message.text);
  emulated_counts_taken(&counts);
  check_bits(0, counts.broken_captures, 0, "broken captures");
  emulated_replay(work->engine.stream);
  ufp4_cuda_close(other);
  work_free(work);
}

// --- Launches that fail -------------------------------------------------------------------------

TEST(a_launch_that_fails_is_reported_and_forgotten) {
  work_t *work = work_create();
  emulated_counts_t counts;
  check_bits(0, work_run(work), UFP4_OK, "%s", work->engine.message.text);
  emulated_counts_taken(&counts);
  const int works = (int)counts.works;
  check_that(0, works > 8, "%d works", works);
  for (int n = 1; n <= works; n++) {
    const emulated_weather_t weather = {.capability = 90, .failing_work = n};
    emulated_set_weather(&weather);
    work->engine.message.text[0] = '\0';
    check_bits(n, work_run(work), UFP4_ERROR_DEVICE, "work %d failed", n);
    check_that(n, strstr(work->engine.message.text, "launch failure") != NULL, "%s",
               work->engine.message.text);
    check_bits(n, work_run(work), UFP4_OK, "after it: %s", work->engine.message.text);
  }
  work_free(work);
}

TEST(a_launch_that_fails_while_a_gpu_is_opened_is_reported) {
  const emulated_weather_t weather = {.capability = 90, .failing_work = 1};
  ufp4_cuda_t *cuda = NULL;
  ufp4_message_t message = {0};
  emulated_set_weather(&weather);
  check_bits(0, ufp4_cuda_open(0, &cuda, &message), UFP4_ERROR_DEVICE, "opened");
  check_that(0, strstr(message.text, "launch failure") != NULL, "%s", message.text);
  check_bits(0, ufp4_cuda_open(0, &cuda, &message), UFP4_OK, "%s", message.text);
  ufp4_cuda_close(cuda);
}

// --- What docs/howto/gpu-library.md says of calls -----------------------------------------------

TEST(workspace_and_kernels_are_what_the_page_says) {
  static const struct {
    int64_t m, n, k;
    ufp4_contract_t contract;
    size_t bytes;
    ufp4_scale_t scale;
  } rows[] = {{8192, 4096, 4096, UFP4_CONTRACT_EXACT, 168359424, UFP4_SCALE_E4M3},
              {8192, 4096, 4096, UFP4_CONTRACT_FP32, 100675840, UFP4_SCALE_E4M3},
              {8192, 8192, 8192, UFP4_CONTRACT_EXACT, 420038912, UFP4_SCALE_E4M3},
              {8192, 8192, 8192, UFP4_CONTRACT_FP32, 268452096, UFP4_SCALE_E4M3},
              {8192, 128000, 8192, UFP4_CONTRACT_EXACT, 3365050368, UFP4_SCALE_E4M3},
              {8192, 128000, 8192, UFP4_CONTRACT_FP32, 2231506176, UFP4_SCALE_E4M3},
              {8192, 8192, 8192, UFP4_CONTRACT_FP32, 436224768, UFP4_SCALE_E8M0}};
  const emulated_weather_t h100 = {.capability = 90, .multiprocessors = 132};
  ufp4_cuda_t *cuda;
  emulated_set_weather(&h100);
  check_bits(0, ufp4_cuda_open(0, &cuda, NULL), UFP4_OK, "open");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const ufp4_cuda_operand_t a = {.scale = rows[i].scale, .rows = rows[i].m, .cols = rows[i].k},
                              b = {.scale = rows[i].scale, .rows = rows[i].n, .cols = rows[i].k};
    const ufp4_gemm_t how = {.contract = rows[i].contract, .alpha = 1};
    check_bits((int64_t)i, ufp4_cuda_gemm_workspace(cuda, &a, &b, &how), rows[i].bytes, "bytes");
  }
  check_bits(0, ufp4_cuda_quantize_workspace(cuda, NULL), 512, "bytes of the quantizer");
  ufp4_cuda_close(cuda);
  work_t *work = work_create();
  emulated_counts_t counts;
  emulated_counts_taken(&counts);
  check_bits(0, work_run(work), UFP4_OK, "%s", work->engine.message.text);
  emulated_counts_taken(&counts);
  check_bits(0, counts.works, 5 + 6, "works of a quantizer and an exact GEMM");
  work_free(work);
}

// --- What a GPU is said to run ------------------------------------------------------------------

const ufp4_cuda_table_t *ufp4_cuda_table(void);

static void check_kernels(const emulated_weather_t *weather, const char *want) {
  ufp4_message_t message = {0};
  ufp4_cuda_description_t description;
  ufp4_cuda_t *cuda;
  emulated_set_weather(weather);
  check_bits(0, ufp4_cuda_table()->open(&message, &cuda), UFP4_OK, "%s", message.text);
  ufp4_cuda_table()->describe(cuda, &description);
  check_that(0, strcmp(description.kernels, want) == 0, "'%s', want '%s'", description.kernels,
             want);
  ufp4_cuda_table()->close(cuda);
}

TEST(slower_kernels_are_said) {
  check_kernels(&(emulated_weather_t){.capability = 90}, "warpgroups");
  check_kernels(&(emulated_weather_t){.capability = 80}, "warps");
  check_kernels(&(emulated_weather_t){.capability = 120}, "warps, the contract nv too");
  check_kernels(&(emulated_weather_t){.capability = 90, .no_copy_engine = 1},
                "warps, which are slower: the driver has no cuTensorMapEncodeTiled");
}
