// SPDX-License-Identifier: Apache-2.0
#include "stand.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void give_up(const char *what) {
  fprintf(stderr, "stand: %s\n", what);
  abort();
}

// --- Devices ------------------------------------------------------------------------------------

const char *stand_backend(void) {
  const char *name = getenv("UFP4_TEST_BACKEND");
  return name != NULL ? name : "model";
}

static int is_board(void) {
  return strcmp(stand_backend(), "board") == 0;
}

int stand_is_core(void) {
  return stand_is_timed() || strcmp(stand_backend(), "rtl") == 0 ||
         strcmp(stand_backend(), "systemc") == 0 || is_board();
}

int stand_is_timed(void) {
  return strcmp(stand_backend(), "tlm") == 0 || strcmp(stand_backend(), "systemc:timed") == 0;
}

static pid_t board;

static void end_board(void) {
  kill(board, SIGTERM);
  waitpid(board, NULL, 0);
}

const char *stand_board(const char *const *options) {
  static char name[80] = "fpga:";
  enum { PREFIX = sizeof "fpga:" - 1 };
  const char *program = getenv("UFP4_BOARD_SIM");
  const char *words[16] = {program};
  int ends[2];
  if (board != 0) return name;
  for (int i = 0; i < 14 && options[i] != NULL; i++) words[i + 1] = options[i];
  if (program == NULL || pipe(ends) != 0) give_up("UFP4_BOARD_SIM names no program");
  board = fork();
  if (board == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    execv(program, (char *const *)words);
    _exit(3);
  }
  close(ends[1]);
  FILE *out = fdopen(ends[0], "r");
  if (out == NULL || fgets(name + PREFIX, sizeof name - PREFIX, out) == NULL)
    give_up("the board names no terminal");
  fclose(out);
  name[strcspn(name, "\n")] = '\0';
  atexit(end_board);
  return name;
}

ufp4_device_options_t stand_options(void) {
  ufp4_device_options_t options = ufp4_device_options_default();
  options.configuration = "small";
  options.memory_bytes = 16u << 20;
  options.mem_latency = 5;
  return options;
}

ufp4_device_t *stand_device(void) {
  ufp4_device_options_t options = stand_options();
  ufp4_message_t message = {0};
  const char *backend = stand_backend();
  ufp4_device_t *device;
  options.message = &message;
  if (is_board()) {
    options.configuration = NULL;
    backend = stand_board((const char *const[]){"--config", "board", NULL});
  }
  if (ufp4_device_open(backend, &options, &device) != UFP4_OK) give_up(message.text);
  return device;
}

uint64_t stand_alloc(ufp4_device_t *device, uint64_t bytes) {
  uint64_t address = 0;
  if (ufp4_buffer_alloc(device, bytes, &address) != UFP4_OK) give_up(ufp4_device_message(device));
  return address;
}

ufp4_status_t stand_run(ufp4_device_t *device, const ufp4_descriptor_t *descriptor,
                        ufp4_completion_t *completion) {
  uint32_t job = 0;
  ufp4_status_t status = ufp4_submit(device, descriptor, &job);
  return status == UFP4_OK ? ufp4_wait(device, job, 0, completion) : status;
}

enum { ROWS = 32, COLS = 48, SRC_STRIDE = 256, D_STRIDE = 128 };

static void describe_gemm(ufp4_device_t *device, const ufp4_quant_descriptor_t *quant,
                          ufp4_gemm_descriptor_t *gemm) {
  gemm->opcode = UFP4_OPCODE_GEMM;
  gemm->m = gemm->n = ROWS;
  gemm->k = COLS;
  gemm->a_elem = gemm->b_elem = quant->elem;
  gemm->a_mode = gemm->b_mode = UFP4_MODE_SLOT;
  gemm->a_exponent = gemm->b_exponent = quant->row_exponent;
  gemm->a_codes_addr = gemm->b_codes_addr = quant->row_codes_addr;
  gemm->a_scales_addr = gemm->b_scales_addr = quant->row_scales_addr;
  gemm->a_stride_blocks = gemm->b_stride_blocks = quant->row_stride_blocks;
  gemm->d_stride_bytes = D_STRIDE;
  gemm->d_addr = stand_alloc(device, ROWS * D_STRIDE);
}

stand_jobs_t stand_jobs(ufp4_device_t *device) {
  float values[SRC_STRIDE / 4 * ROWS];
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) values[i] = 1.5f;
  stand_jobs_t jobs = {0};
  ufp4_quant_descriptor_t *quant = &jobs.quant.quant;
  quant->opcode = UFP4_OPCODE_QUANT;
  quant->rows = ROWS;
  quant->cols = COLS;
  quant->src_stride_bytes = SRC_STRIDE;
  quant->src_dtype = UFP4_DTYPE_F32;
  quant->elem = UFP4_ELEM_E2M1;
  quant->row_mode = quant->col_mode = UFP4_MODE_ENABLE | UFP4_MODE_SLOT;
  quant->row_exponent = 3;
  quant->col_exponent = 63;
  quant->row_stride_blocks = quant->col_stride_blocks = 8;
  quant->src_addr = stand_alloc(device, sizeof values);
  quant->row_codes_addr = stand_alloc(device, 2 * 8 * 128);
  quant->row_scales_addr = stand_alloc(device, 2 * 8 * 16);
  quant->col_codes_addr = stand_alloc(device, 3 * 8 * 128);
  quant->col_scales_addr = stand_alloc(device, 3 * 8 * 16);
  if (ufp4_buffer_write(device, quant->src_addr, values, sizeof values) != UFP4_OK)
    give_up(ufp4_device_message(device));
  jobs.amax = jobs.quant;
  jobs.amax.quant.opcode = UFP4_OPCODE_AMAX;
  describe_gemm(device, quant, &jobs.gemm.gemm);
  return jobs;
}

void stand_check_serving(int64_t index, ufp4_device_t *device, const stand_jobs_t *jobs) {
  const ufp4_descriptor_t *all[] = {&jobs->amax, &jobs->quant, &jobs->gemm};
  static const float blank[ROWS * D_STRIDE / 4];
  float d[ROWS * D_STRIDE / 4];
  ufp4_buffer_write(device, jobs->gemm.gemm.d_addr, blank, sizeof blank);
  for (int i = 0; i < 3; i++) {
    ufp4_completion_t done = {.status = 0xFFFF};
    check_bits(index, stand_run(device, all[i], &done), UFP4_OK, "good job %d: %s", i,
               ufp4_device_message(device));
    check_bits(index, done.status, UFP4_CORE_STATUS_OK, "completion of good job %d", i);
  }
  ufp4_buffer_read(device, jobs->gemm.gemm.d_addr, d, sizeof d);
  for (int i = 0; i < ROWS * D_STRIDE / 4; i++) {
    if (!check_bits(index, ufp4_f32_bits(d[i]), ufp4_f32_bits(108.0f), "D[%d][%d] of the good job",
                    i / 32, i % 32))
      return;
  }
}

// --- Numbers ------------------------------------------------------------------------------------

float stand_number(check_random_t *random) {
  int32_t sum = 0;
  for (int i = 0; i < 12; i++) sum += (int32_t)check_below(random, 1u << 16);
  return (float)(sum - 6 * (1 << 16)) / 65536.0f;
}

float *stand_tensor(check_random_t *random, int64_t count, float factor) {
  float *values = malloc((size_t)count * sizeof *values);
  if (values == NULL) give_up("no memory");
  for (int64_t i = 0; i < count; i++) values[i] = factor * stand_number(random);
  return values;
}
