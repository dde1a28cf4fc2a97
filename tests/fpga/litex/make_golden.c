// SPDX-License-Identifier: Apache-2.0
// PROGRAM CONFIGURATION BASE writes golden.h for firmware.c: the jobs of a training step of one
// layer, and a GEMM of operands that the firmware packs, with inputs and the golden model's
// outputs. BASE is the address of the SoC's memory.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ufp4.h"
#include "ufp4_schedule.h"

enum { TOKENS = 20, CIN = 24, COUT = 17, M = 18, N = 5, K = 40, PLAIN = 4 };
// The memory addresses of the device that makes the jobs, and of the SoC.
#define MEMORY_BASE 0x80000000ull
static uint64_t base;
static ufp4_device_t *device;

static void must(ufp4_status_t status, const char *what) {
  if (status == UFP4_OK) return;
  fprintf(stderr, "make_golden: %s: %s\n", what, device != NULL ? ufp4_device_message(device) : "");
  exit(3);
}

static uint64_t moved(uint64_t address) {
  return address >= MEMORY_BASE ? address - MEMORY_BASE + base : address;
}

static void print_bytes(const char *name, const void *data, uint64_t bytes) {
  printf("static const uint8_t %s[] = {", name);
  for (uint64_t i = 0; i < bytes; i++)
    printf("%s%u,", i % 24 == 0 ? "\n  " : "", ((const uint8_t *)data)[i]);
  printf("};\n");
}

// --- A layer ------------------------------------------------------------------------------------

static void move_job(ufp4_descriptor_t *job) {
  ufp4_quant_descriptor_t *quant = &job->quant;
  ufp4_gemm_descriptor_t *gemm = &job->gemm;
  uint64_t *const quants[] = {&quant->src_addr, &quant->row_codes_addr, &quant->row_scales_addr,
                              &quant->col_codes_addr, &quant->col_scales_addr};
  uint64_t *const gemms[] = {&gemm->a_codes_addr, &gemm->a_scales_addr, &gemm->b_codes_addr,
                             &gemm->b_scales_addr, &gemm->d_addr};
  for (int i = 0; i < 5; i++) {
    uint64_t *address = job->header.opcode == UFP4_OPCODE_GEMM ? gemms[i] : quants[i];
    *address = moved(*address);
  }
}

static uint64_t stride(int64_t cols) {
  return ((uint64_t)cols * PLAIN + 127) / 128 * 128;
}

static void fill(check_random_t *random, uint64_t address, int64_t rows, int64_t cols) {
  const uint64_t bytes = (uint64_t)rows * stride(cols);
  float *data = calloc(1, bytes);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++)
      data[r * (int64_t)(stride(cols) / PLAIN) + c] = (float)check_below(random, 20001) / 10000 - 1;
  must(ufp4_buffer_write(device, address, data, bytes), "write");
  free(data);
}

static void print_memory(const char *name, uint64_t address, int64_t rows, int64_t cols) {
  const uint64_t bytes = (uint64_t)(rows - 1) * stride(cols) + (uint64_t)cols * PLAIN;
  uint8_t *data = malloc(bytes);
  must(ufp4_buffer_read(device, address, data, bytes), "read");
  print_bytes(name, data, bytes);
  free(data);
}

static void print_entry(const char *name, uint64_t address) {
  printf("  {\"%s\", 0x%" PRIx64 ", sizeof golden_%s, golden_%s},\n", name, moved(address), name,
         name);
}

static void print_layer(const char *configuration, check_random_t *random) {
  const ufp4_schedule_layer_t layer = {TOKENS, CIN, COUT};
  ufp4_schedule_plan_t plan = {.layers = &layer,
                               .layer_count = 1,
                               .batches = 1,
                               .steps = 1,
                               .source = UFP4_DTYPE_F32,
                               .seed = 5};
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_schedule_buffers_t at;
  ufp4_schedule_t schedule;
  options.configuration = configuration;
  options.memory_bytes = 1u << 20;
  must(ufp4_recipe_named("ufp4", &plan.recipe), "recipe");
  must(ufp4_device_open("tlm", &options, &device), "open");
  must(ufp4_schedule_alloc(device, &plan, &at), "alloc");
  must(ufp4_schedule_make(device, &plan, &at, &schedule), "make");
  fill(random, at.x[0].plain, TOKENS, CIN);
  fill(random, at.w.plain, COUT, CIN);
  fill(random, at.dy[0].plain, TOKENS, COUT);
  print_memory("golden_x", at.x[0].plain, TOKENS, CIN);
  print_memory("golden_w", at.w.plain, COUT, CIN);
  print_memory("golden_dy", at.dy[0].plain, TOKENS, COUT);
  must(ufp4_schedule_run(device, &schedule), "run");
  print_memory("golden_y", at.y[0], TOKENS, COUT);
  print_memory("golden_dx", at.dx[0], TOKENS, CIN);
  print_memory("golden_dw", at.dw[0], COUT, CIN);
  printf("static const golden_data_t golden_inputs[] = {\n");
  print_entry("x", at.x[0].plain), print_entry("w", at.w.plain), print_entry("dy", at.dy[0].plain);
  printf("};\nstatic const golden_data_t golden_outputs[] = {\n");
  print_entry("y", at.y[0]), print_entry("dx", at.dx[0]), print_entry("dw", at.dw[0]);
  printf("};\nstatic const uint8_t golden_jobs[][%d] = {\n", UFP4_DESCRIPTOR_BYTES);
  for (int i = 0; i < schedule.count; i++) {
    move_job(&schedule.jobs[i].descriptor);
    printf("{");
    for (int b = 0; b < UFP4_DESCRIPTOR_BYTES; b++)
      printf("%u,", schedule.jobs[i].descriptor.bytes[b]);
    printf("},\n");
  }
  printf("};\n");
}

// --- A GEMM -------------------------------------------------------------------------------------

static ufp4_operand_t make_operand(check_random_t *random, int64_t rows, const char *name,
                                   const char *codes, const char *scales) {
  static float data[M * K];
  ufp4_operand_t out;
  for (int64_t i = 0; i < rows * K; i++) data[i] = (float)check_below(random, 20001) / 10000 - 1;
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, rows, K, K, data};
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_E1M2, .exponent_given = 1};
  must(ufp4_quantize(&in, &how, &out), name);
  print_bytes(codes, out.codes, (uint64_t)(rows * out.blocks * 8));
  print_bytes(scales, out.scales, (uint64_t)(rows * out.scale_blocks));
  return out;
}

static void print_product(check_random_t *random) {
  static float d[M * N];
  const uint64_t at = base + 0x200000;
  const ufp4_operand_t a = make_operand(random, M, "a", "golden_a_codes", "golden_a_scales");
  const ufp4_operand_t b = make_operand(random, N, "b", "golden_b_codes", "golden_b_scales");
  const ufp4_gemm_t how = {.alpha = 1.0f};
  uint8_t rows[M][128] = {{0}};
  const ufp4_descriptor_t job = {.gemm = {.opcode = UFP4_OPCODE_GEMM,
                                          .m = M,
                                          .n = N,
                                          .k = K,
                                          .a_elem = UFP4_ELEM_E1M2,
                                          .b_elem = UFP4_ELEM_E1M2,
                                          .a_codes_addr = at,
                                          .a_scales_addr = at + 0x4000,
                                          .b_codes_addr = at + 0x8000,
                                          .b_scales_addr = at + 0xC000,
                                          .d_addr = at + 0x10000,
                                          .a_stride_blocks = 8,
                                          .b_stride_blocks = 8,
                                          .d_stride_bytes = 128}};
  must(ufp4_gemm(&a, &b, &how, d, N), "gemm");
  printf("static const golden_operand_t golden_operands[] = {\n");
  printf("  {%d, %d, %d, golden_a_codes, golden_a_scales, 0x%" PRIx64 ", 0x%" PRIx64 "},\n", M, K,
         (int)a.blocks, at, at + 0x4000);
  printf("  {%d, %d, %d, golden_b_codes, golden_b_scales, 0x%" PRIx64 ", 0x%" PRIx64 "}};\n", N, K,
         (int)b.blocks, at + 0x8000, at + 0xC000);
  printf("static const uint8_t golden_product_jobs[][%d] = {{", UFP4_DESCRIPTOR_BYTES);
  for (int i = 0; i < UFP4_DESCRIPTOR_BYTES; i++) printf("%u,", job.bytes[i]);
  printf("}};\n");
  for (int r = 0; r < M; r++) memcpy(rows[r], d + (ptrdiff_t)r * N, (size_t)N * sizeof d[0]);
  print_bytes("golden_product_rows", rows, sizeof rows);
  printf("static const golden_data_t golden_product = {\"d\", 0x%" PRIx64
         ", sizeof golden_product_rows, golden_product_rows};\n",
         at + 0x10000);
}

int main(int argc, char **argv) {
  check_random_t random = check_random();
  if (argc != 3) return 2;
  base = strtoull(argv[2], NULL, 0);
  printf(
      "// Made by make_golden.c.\n#include <stdint.h>\n\n"
      "typedef struct {\n  const char *name;\n  uint32_t address, bytes;\n  const uint8_t *data;\n"
      "} golden_data_t;\ntypedef struct {\n  uint32_t rows, cols, blocks;\n"
      "  const uint8_t *codes, *scales;\n  uint32_t codes_address, scales_address;\n"
      "} golden_operand_t;\n\n");
  print_layer(argv[1], &random);
  print_product(&random);
  return 0;
}
