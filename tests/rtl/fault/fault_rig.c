// SPDX-License-Identifier: Apache-2.0
#include "fault_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_BYTES 0x20000ull
enum { X, W, CODES_X, SCALES_X, CODES_XT, SCALES_XT, CODES_W, SCALES_W, C, SUMS, D, PLACES };
#define IMAGE_BYTES (PLACES * PLACE_BYTES)
#define STRIDE_BYTES 2048u
#define STRIDE_BLOCKS 32u  // of codes and scales along k
#define CHUNK 256u         // elements of k after which sums wait in the accumulator memories
#define WATCHDOG_CYCLES 3000u
#define STATUS_FATAL 4u
#define STATUS_RESETTING 8u
#define SOFT_RESET 4u

rig_t rig_open(uint64_t seed) {
  rig_t rig = {.random = {.state = seed}};
  rig.before = calloc(1, IMAGE_BYTES);
  for (int i = GEMM_JOB; i <= QUANT_JOB; i++) rig.after[i] = malloc(IMAGE_BYTES);
  return rig;
}

void rig_close(rig_t *rig) {
  free(rig->before);
  for (int i = GEMM_JOB; i <= QUANT_JOB; i++) free(rig->after[i]);
}

static uint64_t place(unsigned index) {
  return STAND_DATA + index * PLACE_BYTES;
}

void restore_memory(const rig_t *rig, stand_t *stand) {
  memcpy(ufp4_sim_memory(stand->sim, STAND_DATA, IMAGE_BYTES), rig->before, IMAGE_BYTES);
}

stand_t open_core(const rig_t *rig) {
  stand_t stand = stand_open("small", 10, 0, 0);
  stand_write(&stand, UFP4_REG_WATCHDOG, WATCHDOG_CYCLES);
  restore_memory(rig, &stand);
  return stand;
}

static ufp4_descriptor_t quant_job(unsigned source, unsigned codes, uint32_t rows, uint32_t cols,
                                   uint8_t elem) {
  return (ufp4_descriptor_t){.quant = {.opcode = UFP4_OPCODE_QUANT,
                                       .flags = 1,
                                       .job = 100 + source,
                                       .rows = rows,
                                       .cols = cols,
                                       .src_addr = place(source),
                                       .src_stride_bytes = STRIDE_BYTES,
                                       .src_dtype = UFP4_DTYPE_F32,
                                       .elem = elem,
                                       .round = UFP4_ROUND_SR,
                                       .row_mode = UFP4_MODE_ENABLE | UFP4_MODE_RHT,
                                       .col_mode = source == X ? UFP4_MODE_ENABLE : 0,
                                       .rht_mask = UFP4_RHT_DEFAULT_MASK,
                                       .row_exponent = 4,
                                       .col_exponent = 4,
                                       .row_codes_addr = place(codes),
                                       .row_scales_addr = place(codes + 1),
                                       .col_codes_addr = source == X ? place(CODES_XT) : 0,
                                       .col_scales_addr = source == X ? place(SCALES_XT) : 0,
                                       .row_stride_blocks = STRIDE_BLOCKS,
                                       .col_stride_blocks = source == X ? 8 : 0,
                                       .seed = 77}};
}

static ufp4_descriptor_t gemm_job(uint32_t m, uint32_t n, uint32_t k, uint8_t elem, uint8_t mode) {
  return (ufp4_descriptor_t){
      .gemm = {.opcode = UFP4_OPCODE_GEMM,
               .flags = 1,
               .job = 99,
               .m = m,
               .n = n,
               .k = k,
               .a_elem = elem,
               .b_elem = elem,
               .a_exponent = 4,
               .b_exponent = 4,
               .a_codes_addr = place(CODES_X),
               .a_scales_addr = place(SCALES_X),
               .b_codes_addr = place(CODES_W),
               .b_scales_addr = place(SCALES_W),
               .d_addr = place(D),
               .a_stride_blocks = STRIDE_BLOCKS,
               .b_stride_blocks = STRIDE_BLOCKS,
               .d_stride_bytes = STRIDE_BYTES,
               .d_mode = mode,
               .c_addr = mode & UFP4_D_MODE_C ? place(C) : 0,
               .c_stride_bytes = mode & UFP4_D_MODE_C ? STRIDE_BYTES : 0,
               .sums_addr = mode & UFP4_D_MODE_SUMS ? place(SUMS) : 0,
               .sums_stride_bytes = mode & UFP4_D_MODE_SUMS ? STRIDE_BYTES : 0}};
}

static void run_good(rig_t *rig, kind_t kind, const ufp4_descriptor_t *job, uint8_t *after) {
  stand_t stand = open_core(rig);
  const uint64_t start = ufp4_sim_cycles(stand.sim);
  const ufp4_completion_t done = stand_job(&stand, job);
  if (done.status != UFP4_CORE_STATUS_OK) {
    fprintf(stderr, "test_fault: a job without a fault ended with status %u\n", done.status);
    exit(1);
  }
  rig->done[kind] = done;
  rig->cycles[kind] = ufp4_sim_cycles(stand.sim) - start;
  stand_counters(&stand, rig->counters[kind]);
  memcpy(after, ufp4_sim_memory(stand.sim, STAND_DATA, IMAGE_BYTES), IMAGE_BYTES);
  stand_close(&stand);
}

void draw_jobs(rig_t *rig, uint32_t second_chunk) {
  const int is_long = second_chunk > 0;
  uint64_t *words = (uint64_t *)rig->before;
  for (uint64_t i = 0; i < IMAGE_BYTES / sizeof *words; i++) words[i] = check_next(&rig->random);
  int64_t *sums = (int64_t *)(rig->before + SUMS * PLACE_BYTES);
  for (uint64_t i = 0; i < PLACE_BYTES / sizeof *sums; i++) sums[i] >>= 24;
  for (unsigned tensor = X; tensor <= C; tensor = tensor == X ? W : tensor == W ? C : PLACES) {
    float *values = (float *)(rig->before + tensor * PLACE_BYTES);
    for (uint64_t i = 0; i < PLACE_BYTES / sizeof *values; i++) {
      values[i] = (float)(int32_t)check_next(&rig->random) * 0x1p-30f;
    }
  }
  static const uint8_t modes[] = {0, UFP4_D_MODE_C, UFP4_D_MODE_SUMS,
                                  UFP4_D_MODE_C | UFP4_D_MODE_SUMS};
  const uint32_t rows = 3 + 2 * check_below(&rig->random, 7);
  const uint32_t m = is_long ? rows : 1 + check_below(&rig->random, 60);
  const uint32_t n =
      is_long ? 5 + check_below(&rig->random, 16) : 1 + check_below(&rig->random, 40);
  const uint32_t k = 1 + (is_long ? CHUNK + check_below(&rig->random, second_chunk)
                                  : check_below(&rig->random, 100));
  const uint8_t elem = (uint8_t)check_below(&rig->random, UFP4_ELEM_COUNT);
  rig->jobs[QUANT_JOB] = quant_job(X, CODES_X, m, k, elem);
  rig->jobs[GEMM_JOB] = gemm_job(m, n, k, elem, modes[check_below(&rig->random, 4)]);
  const ufp4_descriptor_t other = quant_job(W, CODES_W, n, k, elem);
  run_good(rig, QUANT_JOB, &other, rig->before);
  run_good(rig, QUANT_JOB, &rig->jobs[QUANT_JOB], rig->before);
  // The QUANT job under fault then has something to change.
  memset(rig->before + CODES_XT * PLACE_BYTES, 0x5A, 2 * PLACE_BYTES);
  for (int kind = GEMM_JOB; kind <= QUANT_JOB; kind++)
    run_good(rig, (kind_t)kind, &rig->jobs[kind], rig->after[kind]);
}

uint64_t hash_after(const rig_t *rig, int kind) {
  const uint64_t *words = (const uint64_t *)rig->after[kind];
  uint64_t hash = 0xcbf29ce484222325u;
  for (uint64_t i = 0; i < IMAGE_BYTES / sizeof *words; i++)
    hash = (hash ^ words[i]) * 0x100000001b3u;
  return hash;
}

outcome_t drain(const rig_t *rig, stand_t *stand, kind_t kind) {
  const uint64_t limit = 20 * rig->cycles[kind] + 3 * WATCHDOG_CYCLES;
  for (uint64_t cycles = 0; cycles < limit; cycles += 50) {
    uint32_t head = 0, status = 0;
    if (ufp4_sim_register_read(stand->sim, UFP4_REG_RING_HEAD, &head) != UFP4_SIM_OK ||
        ufp4_sim_register_read(stand->sim, UFP4_REG_STATUS, &status) != UFP4_SIM_OK) {
      return BUS_RULE;
    }
    if (status & STATUS_FATAL) return WATCHDOG;
    if (head == stand->tail) return MASKED;
    if (ufp4_sim_run(stand->sim, 50) == UFP4_SIM_FAILED) return BUS_RULE;
  }
  return NO_END;
}

outcome_t run_one(const rig_t *rig, stand_t *stand, kind_t kind) {
  const ufp4_descriptor_t *job = &rig->jobs[kind];
  memset(ufp4_sim_memory(stand->sim, STAND_COMPLETIONS, 0x400), 0xEE, 0x400);
  stand_submit(stand, job);
  const outcome_t outcome = drain(rig, stand, kind);
  if (outcome != MASKED) return outcome;
  const ufp4_completion_t done = stand_completion(stand, stand->tail - 1);
  if (done.status != UFP4_CORE_STATUS_OK) return done.job == job->header.job ? STATUS : SILENT;
  const uint8_t *got = ufp4_sim_memory(stand->sim, STAND_DATA, IMAGE_BYTES);
  return done.job == job->header.job && memcmp(got, rig->after[kind], IMAGE_BYTES) == 0 ? MASKED
                                                                                        : SILENT;
}

int soft_reset(const rig_t *rig, stand_t *stand) {
  stand_write(stand, UFP4_REG_CONTROL, SOFT_RESET);
  uint32_t resetting = STATUS_RESETTING;
  for (unsigned cycles = 0; resetting && cycles < 2 * WATCHDOG_CYCLES; cycles += 50) {
    ufp4_sim_run(stand->sim, 50);
    resetting = stand_read(stand, UFP4_REG_STATUS) & STATUS_RESETTING;
  }
  stand->tail = 0;
  restore_memory(rig, stand);
  return resetting != 0;
}
