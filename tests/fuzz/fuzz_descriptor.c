// SPDX-License-Identifier: Apache-2.0
// Runs jobs of any content on the model backend. The input is a list of operations, each a good job
// with some of its fields changed. A job changes the outputs that its own fields name and no other
// byte of the device's memory; a job that ends with another status than ok changes nothing; and
// after all of them good jobs still give their results.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "port/backend.h"
#include "ufp4.h"

#define MEMORY (1u << 18)
#define MAX_OPERATIONS 12
#define ROWS 20
#define COLS 40

// Good jobs: AMAX and QUANT of a small tensor, a GEMM of its row copy with itself, and a FENCE.
typedef struct {
  ufp4_device_t *device;
  ufp4_descriptor_t good[4];
  uint8_t *before, *after;
} stand_t;

static uint64_t alloc(stand_t *stand, uint64_t bytes) {
  uint64_t address = 0;
  fuzz_demand(ufp4_buffer_alloc(stand->device, bytes, &address) == UFP4_OK, "the buffers fit");
  return address;
}

static void describe_quant(stand_t *stand, ufp4_quant_descriptor_t *quant) {
  quant->opcode = UFP4_OPCODE_QUANT;
  quant->rows = ROWS;
  quant->cols = COLS;
  quant->src_stride_bytes = 256;
  quant->src_dtype = UFP4_DTYPE_F32;
  quant->row_mode = quant->col_mode = UFP4_MODE_ENABLE | UFP4_MODE_SLOT;
  quant->row_exponent = 1;
  quant->col_exponent = 2;
  quant->row_stride_blocks = quant->col_stride_blocks = 8;
  quant->src_addr = alloc(stand, 256 * ROWS);
  quant->row_codes_addr = alloc(stand, 2 * 8 * 128);
  quant->row_scales_addr = alloc(stand, 2 * 8 * 16);
  quant->col_codes_addr = alloc(stand, 3 * 8 * 128);
  quant->col_scales_addr = alloc(stand, 3 * 8 * 16);
}

static void describe_gemm(stand_t *stand, const ufp4_quant_descriptor_t *quant,
                          ufp4_gemm_descriptor_t *gemm) {
  gemm->opcode = UFP4_OPCODE_GEMM;
  gemm->m = gemm->n = ROWS;
  gemm->k = COLS;
  gemm->a_mode = gemm->b_mode = UFP4_MODE_SLOT;
  gemm->a_exponent = gemm->b_exponent = 1;
  gemm->a_codes_addr = gemm->b_codes_addr = quant->row_codes_addr;
  gemm->a_scales_addr = gemm->b_scales_addr = quant->row_scales_addr;
  gemm->a_stride_blocks = gemm->b_stride_blocks = 8;
  gemm->d_stride_bytes = 128;
  gemm->d_addr = alloc(stand, 128 * ROWS);
}

static stand_t stand_open(void) {
  stand_t stand = {.before = malloc(MEMORY), .after = malloc(MEMORY)};
  ufp4_device_options_t options = ufp4_device_options_default();
  options.configuration = "small";
  options.memory_bytes = MEMORY;
  options.threads = 1;
  fuzz_demand(stand.before != NULL && stand.after != NULL, "there is memory");
  fuzz_demand(ufp4_device_open("model", &options, &stand.device) == UFP4_OK, "the device opens");
  describe_quant(&stand, &stand.good[1].quant);
  stand.good[0] = stand.good[1];
  stand.good[0].header.opcode = UFP4_OPCODE_AMAX;
  describe_gemm(&stand, &stand.good[1].quant, &stand.good[2].gemm);
  stand.good[3].header.opcode = UFP4_OPCODE_FENCE;
  return stand;
}

static ufp4_status_t run(stand_t *stand, const ufp4_descriptor_t *descriptor,
                         ufp4_completion_t *done) {
  uint32_t job = 0;
  ufp4_status_t status = ufp4_submit(stand->device, descriptor, &job);
  return status == UFP4_OK ? ufp4_wait(stand->device, job, 0, done) : status;
}

// --- The outputs of a job -----------------------------------------------------------------------

static void read_memory(stand_t *stand, uint8_t *out) {
  const uint64_t first = UFP4_MEMORY_BASE + UFP4_MEMORY_RESERVED_BYTES;
  fuzz_demand(
      ufp4_buffer_read(stand->device, first, out, MEMORY - UFP4_MEMORY_RESERVED_BYTES) == UFP4_OK,
      "memory can be read");
}

// Accepts the new bytes of an output.
static void allow(stand_t *stand, uint64_t address, uint64_t bytes) {
  const uint64_t at = address - UFP4_MEMORY_BASE - UFP4_MEMORY_RESERVED_BYTES,
                 size = MEMORY - UFP4_MEMORY_RESERVED_BYTES;
  fuzz_demand(at <= size && bytes <= size - at, "a job that ended well stayed inside the memory");
  memcpy(stand->before + at, stand->after + at, bytes);
}

static void allow_panels(stand_t *stand, uint64_t codes, uint64_t scales, uint32_t stride,
                         uint32_t rows, uint32_t k) {
  for (uint64_t group = 0; group < (rows + 15) / 16; group++) {
    allow(stand, codes + 128 * group * stride, 128 * (uint64_t)((k + 15) / 16));
    allow(stand, scales + 16 * group * stride, 16 * (uint64_t)((k + 15) / 16));
  }
}

static void allow_outputs(stand_t *stand, const ufp4_descriptor_t *job) {
  const ufp4_quant_descriptor_t *q = &job->quant;
  const ufp4_gemm_descriptor_t *g = &job->gemm;
  if (job->header.opcode == UFP4_OPCODE_QUANT && q->row_mode & UFP4_MODE_ENABLE) {
    allow_panels(stand, q->row_codes_addr, q->row_scales_addr, q->row_stride_blocks, q->rows,
                 q->cols);
  }
  if (job->header.opcode == UFP4_OPCODE_QUANT && q->col_mode & UFP4_MODE_ENABLE) {
    allow_panels(stand, q->col_codes_addr, q->col_scales_addr, q->col_stride_blocks, q->cols,
                 q->rows);
  }
  const unsigned d_bytes = g->d_dtype == UFP4_DTYPE_BF16 ? 2 : g->d_dtype == UFP4_DTYPE_I64 ? 8 : 4;
  for (uint64_t row = 0; job->header.opcode == UFP4_OPCODE_GEMM && row < g->m; row++) {
    allow(stand, g->d_addr + row * g->d_stride_bytes, (uint64_t)g->n * d_bytes);
  }
}

static void check_job(stand_t *stand, const ufp4_descriptor_t *job) {
  ufp4_completion_t done = {.status = 0xFFFF};
  read_memory(stand, stand->before);
  ufp4_status_t status = run(stand, job, &done);
  read_memory(stand, stand->after);
  fuzz_demand(status == UFP4_OK || status == UFP4_ERROR_JOB || status == UFP4_ERROR_ARGUMENT,
              "a known end");
  if (status == UFP4_OK) fuzz_demand(done.status == UFP4_CORE_STATUS_OK, "ok is ok");
  if (status == UFP4_ERROR_JOB)
    fuzz_demand(done.status > 0 && done.status < UFP4_CORE_STATUS_COUNT, "a known status");
  if (status == UFP4_OK) allow_outputs(stand, job);
  fuzz_demand(memcmp(stand->before, stand->after, MEMORY - UFP4_MEMORY_RESERVED_BYTES) == 0,
              "no other byte changed");
}

// --- Jobs ---------------------------------------------------------------------------------------

// Changes a field of 1, 2, 4 or 8 bytes anywhere to a small number, by a small step, or to any
// value.
static void change(fuzz_input_t *input, ufp4_descriptor_t *job) {
  const unsigned size = 1u << fuzz_below(input, 4),
                 at = fuzz_below(input, UFP4_DESCRIPTOR_BYTES / size) * size;
  uint64_t value = 0;
  memcpy(&value, job->bytes + at, size);
  switch (fuzz_below(input, 4)) {
    case 0:
      value = fuzz_u8(input);
      break;
    case 1:
      value += (uint64_t)(int8_t)fuzz_u8(input);
      break;
    case 2:
      value += (uint64_t)((int64_t)(int8_t)fuzz_u8(input) * UFP4_ALIGN_BYTES);
      break;
    default:
      value = fuzz_u64(input);
  }
  memcpy(job->bytes + at, &value, size);
}

static void check_serving(stand_t *stand) {
  float x[64 * ROWS], d[32 * ROWS];
  for (int i = 0; i < 64 * ROWS; i++) x[i] = 1.5f;
  fuzz_demand(
      ufp4_buffer_write(stand->device, stand->good[1].quant.src_addr, x, sizeof x) == UFP4_OK,
      "write");
  for (int i = 0; i < 4; i++)
    fuzz_demand(run(stand, &stand->good[i], NULL) == UFP4_OK, "a good job ends well");
  fuzz_demand(ufp4_buffer_read(stand->device, stand->good[2].gemm.d_addr, d, sizeof d) == UFP4_OK,
              "read");
  for (int i = 0; i < 32 * ROWS; i++)
    fuzz_demand(i % 32 >= ROWS || d[i] == 90.0f, "40 times 1.5 squared is 90");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input_t input = {data, size};
  stand_t stand = stand_open();
  check_serving(&stand);
  for (int i = 0; i < MAX_OPERATIONS && input.left != 0; i++) {
    ufp4_descriptor_t job = stand.good[fuzz_below(&input, 4)];
    for (uint32_t changes = fuzz_below(&input, 4); changes > 0; changes--) change(&input, &job);
    check_job(&stand, &job);
  }
  check_serving(&stand);
  ufp4_device_close(stand.device);
  free(stand.before);
  free(stand.after);
  return 0;
}
