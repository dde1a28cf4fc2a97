// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t place(unsigned index) {
  return STAND_DATA + index * PLACE_BYTES;
}

uint8_t *image(rig_t *rig) {
  return ufp4_sim_memory(rig->stand.sim, STAND_DATA, IMAGE_BYTES);
}

ufp4_descriptor_t quant_job(unsigned opcode, unsigned source, unsigned codes, uint32_t rows,
                            uint16_t slot) {
  return (ufp4_descriptor_t){
      .quant = {.opcode = (uint8_t)opcode,
                .flags = 1,
                .job = opcode * 16 + source,
                .rows = rows,
                .cols = K,
                .src_addr = place(source),
                .src_stride_bytes = STRIDE_BYTES,
                .src_dtype = UFP4_DTYPE_F32,
                .elem = UFP4_ELEM_E1M2,
                .round = UFP4_ROUND_SR,
                .row_mode = UFP4_MODE_ENABLE | UFP4_MODE_RHT | UFP4_MODE_SLOT,
                .col_mode = UFP4_MODE_ENABLE | UFP4_MODE_SLOT,
                .rht_mask = UFP4_RHT_DEFAULT_MASK,
                .row_exponent = slot,
                .col_exponent = (uint16_t)(slot + 1),
                .row_codes_addr = place(codes),
                .row_scales_addr = place(codes + 1),
                .col_codes_addr = place(codes + 2),
                .col_scales_addr = place(codes + 3),
                .row_stride_blocks = 8,
                .col_stride_blocks = 8,
                .seed = 77}};
}

ufp4_descriptor_t job(unsigned which) {
  switch (which) {
    case AMAX_X:
      return quant_job(UFP4_OPCODE_AMAX, X, X_CODES, M, 0);
    case QUANT_X:
      return quant_job(UFP4_OPCODE_QUANT, X, X_CODES, M, 0);
    case AMAX_W:
      return quant_job(UFP4_OPCODE_AMAX, W, W_CODES, N, 2);
    case QUANT_W:
      return quant_job(UFP4_OPCODE_QUANT, W, W_CODES, N, 2);
    default:
      return (ufp4_descriptor_t){.gemm = {.opcode = UFP4_OPCODE_GEMM,
                                          .flags = 1,
                                          .job = 99,
                                          .m = M,
                                          .n = N,
                                          .k = K,
                                          .a_elem = UFP4_ELEM_E1M2,
                                          .b_elem = UFP4_ELEM_E1M2,
                                          .a_mode = UFP4_MODE_SLOT,
                                          .b_mode = UFP4_MODE_SLOT,
                                          .a_exponent = 0,
                                          .b_exponent = 2,
                                          .a_codes_addr = place(X_CODES),
                                          .a_scales_addr = place(X_SCALES),
                                          .b_codes_addr = place(W_CODES),
                                          .b_scales_addr = place(W_SCALES),
                                          .d_addr = place(D),
                                          .a_stride_blocks = 8,
                                          .b_stride_blocks = 8,
                                          .d_stride_bytes = STRIDE_BYTES}};
  }
}

// The model's memory lies elsewhere.
static ufp4_descriptor_t for_model(ufp4_descriptor_t descriptor) {
  const uint64_t shift = UFP4_MEMORY_BASE - STAND_MEMORY;
  if (descriptor.header.opcode == UFP4_OPCODE_GEMM) {
    descriptor.gemm.a_codes_addr += shift;
    descriptor.gemm.a_scales_addr += shift;
    descriptor.gemm.b_codes_addr += shift;
    descriptor.gemm.b_scales_addr += shift;
    descriptor.gemm.d_addr += shift;
    descriptor.gemm.c_addr += shift;
    descriptor.gemm.sums_addr += shift;
  } else {
    descriptor.quant.src_addr += shift;
    descriptor.quant.row_codes_addr += shift;
    descriptor.quant.row_scales_addr += shift;
    descriptor.quant.col_codes_addr += shift;
    descriptor.quant.col_scales_addr += shift;
  }
  return descriptor;
}

static void must(rig_t *rig, ufp4_status_t status) {
  if (status == UFP4_OK) return;
  fprintf(stderr, "rig: %s\n", ufp4_device_message(rig->model));
  exit(1);
}

static void set_up(stand_t *stand) {
  stand_rings(stand, STAND_RING, STAND_COMPLETIONS);
  stand_write(stand, UFP4_REG_IRQ_MASK, 7);
  stand_write(stand, UFP4_REG_WATCHDOG, WATCHDOG_CYCLES);
}

rig_t rig_open(const char *configuration, unsigned latency, uint64_t stall_seed) {
  rig_t rig = {.stand = stand_open(configuration, latency, 0, stall_seed),
               .configuration = configuration};
  rig.stall_seed = stall_seed;
  rig.random = check_random();
  rig.before = malloc(IMAGE_BYTES);
  ufp4_device_options_t options = ufp4_device_options_default();
  options.configuration = configuration;
  options.memory_bytes = STAND_MEMORY_BYTES;
  check_bits(0, ufp4_device_open("model", &options, &rig.model), UFP4_OK, "open");
  set_up(&rig.stand);
  rig.contract = stand_read(&rig.stand, UFP4_REG_CONFIG_ARRAY) >> 24 & 3;
  return rig;
}

void rig_close(rig_t *rig) {
  stand_close(&rig->stand);
  ufp4_device_close(rig->model);
  free(rig->before);
}

void rig_copy_to_model(rig_t *rig) {
  must(rig, ufp4_buffer_write(rig->model, UFP4_MEMORY_BASE + 0x10000, image(rig), IMAGE_BYTES));
}

void rig_fill(rig_t *rig) {
  uint64_t *words = (uint64_t *)image(rig);
  for (uint64_t i = 0; i < IMAGE_BYTES / sizeof *words; i++) words[i] = check_next(&rig->random);
  for (unsigned tensor = X; tensor <= W; tensor++) {
    float *values = (float *)(image(rig) + tensor * PLACE_BYTES);
    for (uint64_t i = 0; i < PLACE_BYTES / sizeof *values; i++) {
      values[i] = (float)(int32_t)check_next(&rig->random) * 0x1p-30f;
    }
  }
  rig_copy_to_model(rig);
}

void rig_run_model(rig_t *rig, const ufp4_descriptor_t *descriptor) {
  const ufp4_descriptor_t moved = for_model(*descriptor);
  uint32_t number;
  must(rig, ufp4_submit(rig->model, &moved, &number));
  must(rig, ufp4_wait(rig->model, number, 0, NULL));
}

ufp4_completion_t rig_run_both(rig_t *rig, const ufp4_descriptor_t *descriptor) {
  rig_run_model(rig, descriptor);
  const ufp4_completion_t done = stand_job(&rig->stand, descriptor);
  check_bits(rig->runs, done.status, UFP4_CORE_STATUS_OK,
             "status of good job %u, %s, stall seed %llu", descriptor->header.job,
             rig->configuration, (unsigned long long)rig->stall_seed);
  check_bits(rig->runs, done.job, descriptor->header.job, "number of good job");
  return done;
}

ufp4_descriptor_t rig_job(const rig_t *rig, unsigned which) {
  ufp4_descriptor_t descriptor = job(which);
  if (which == GEMM) descriptor.gemm.contract = rig->contract;
  return descriptor;
}

ufp4_completion_t run_good(rig_t *rig, unsigned which) {
  const ufp4_descriptor_t descriptor = rig_job(rig, which);
  return rig_run_both(rig, &descriptor);
}

void rig_read_model(rig_t *rig, uint8_t *want) {
  must(rig, ufp4_buffer_read(rig->model, UFP4_MEMORY_BASE + 0x10000, want, IMAGE_BYTES));
}

void rig_compare(rig_t *rig, const char *after) {
  uint8_t *want = malloc(IMAGE_BYTES);
  rig_read_model(rig, want);
  const uint8_t *got = image(rig);
  for (uint64_t i = 0; i < IMAGE_BYTES; i++) {
    if (got[i] == want[i]) continue;
    check_bits(rig->runs, got[i], want[i], "byte 0x%llx of place %d after %s; %s, stall seed %llu",
               (unsigned long long)(i % PLACE_BYTES), (int)(i / PLACE_BYTES), after,
               rig->configuration, (unsigned long long)rig->stall_seed);
  }
  free(want);
}

void rig_chain(rig_t *rig, uint64_t cycles[JOBS], const char *after) {
  rig_fill(rig);
  for (unsigned which = 0; which < JOBS; which++) {
    const ufp4_completion_t done = run_good(rig, which);
    if (cycles) cycles[which] = done.cycles;
  }
  rig_compare(rig, after);
}

// The bytes that a job may write: in the place, rows of this many bytes at multiples of `stride`.
typedef struct {
  uint64_t rows, bytes, stride;
} output_t;

static output_t output_of(unsigned which, unsigned index) {
  const unsigned codes = which == QUANT_X ? X_CODES : W_CODES;
  const uint32_t rows = which == QUANT_X ? M : N;
  const uint64_t groups = (rows + 15) / 16, blocks = (K + 15) / 16;
  if (which == GEMM && index == D) return (output_t){M, N * sizeof(float), STRIDE_BYTES};
  if (which != QUANT_X && which != QUANT_W) return (output_t){0};
  if (index == codes) return (output_t){groups, blocks * 128, 8 * 128};
  if (index == codes + 1) return (output_t){groups, blocks * 16, 8 * 16};
  if (index == codes + 2) return (output_t){blocks, groups * 128, 8 * 128};
  if (index == codes + 3) return (output_t){blocks, groups * 16, 8 * 16};
  return (output_t){0};
}

int rig_is_output(unsigned which, uint64_t address) {
  if (which == ALL)
    return rig_is_output(QUANT_X, address) || rig_is_output(QUANT_W, address) ||
           rig_is_output(GEMM, address);
  const output_t output = output_of(which, (unsigned)(address / PLACE_BYTES));
  address %= PLACE_BYTES;
  return output.stride && address / output.stride < output.rows &&
         address % output.stride < output.bytes;
}

void check_outside(rig_t *rig, unsigned which, const char *after) {
  const uint8_t *got = image(rig);
  for (uint64_t i = 0; i < IMAGE_BYTES; i++) {
    if (got[i] == rig->before[i] || rig_is_output(which, i)) continue;
    check_bits(rig->runs, got[i], rig->before[i],
               "byte 0x%llx of place %d, outside the output of job %u, after %s",
               (unsigned long long)(i % PLACE_BYTES), (int)(i / PLACE_BYTES), which, after);
  }
}

void prepare(rig_t *rig, unsigned which) {
  rig->runs++;
  rig_fill(rig);
  for (unsigned i = 0; i < which; i++) run_good(rig, i);
  memcpy(rig->before, image(rig), IMAGE_BYTES);
}

void rig_prepare(rig_t *rig) {
  prepare(rig, 0);
  stand_write(&rig->stand, UFP4_REG_IRQ_STATUS, 7);
}

const unsigned rig_side_by_side[SIDE_BY_SIDE] = {AMAX_X, AMAX_W, QUANT_W, QUANT_X, GEMM, AMAX_X};

void rig_submit_side_by_side(rig_t *rig) {
  for (unsigned i = 0; i < SIDE_BY_SIDE; i++) {
    ufp4_descriptor_t descriptor = rig_job(rig, rig_side_by_side[i]);
    descriptor.header.flags = 3;
    if (rig_side_by_side[i] == GEMM) descriptor.header.panels = 1 | 2 << 4;
    stand_submit(&rig->stand, &descriptor);
  }
}

uint64_t rig_count(rig_t *rig, ufp4_counter_t counter) {
  uint64_t counters[UFP4_COUNTER_COUNT];
  stand_counters(&rig->stand, counters);
  return counters[counter];
}

static void check_reset(rig_t *rig, uint32_t status, const char *after) {
  check_bits(rig->runs, status, 2, "status after %s", after);
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_RING_HEAD), 0, "head after %s", after);
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_RING_TAIL), 0, "tail after %s", after);
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_IRQ_STATUS), 0, "irq_status after %s",
             after);
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_FATAL), 0, "fatal after %s", after);
  rig->stand.tail = 0;
}

void check_slots(rig_t *rig, const char *after) {
  for (uint32_t slot = 0; slot < UFP4_SLOTS; slot++) {
    check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_SLOT_BASE + 4 * slot), 0,
               "slot %u after %s", slot, after);
  }
}

void pin_reset(rig_t *rig) {
  check_bits(rig->runs, ufp4_sim_reset(rig->stand.sim), UFP4_SIM_OK, "reset: %s",
             ufp4_sim_message(rig->stand.sim));
  check_reset(rig, stand_read(&rig->stand, UFP4_REG_STATUS), "a reset");
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_RING_BASE_LO), 0,
             "ring_base after a reset");
  check_bits(rig->runs, stand_read(&rig->stand, UFP4_REG_IRQ_MASK), 0, "irq_mask after a reset");
  uint64_t counters[UFP4_COUNTER_COUNT];
  stand_counters(&rig->stand, counters);
  check_that(rig->runs, counters[UFP4_COUNTER_CYCLES] < 2000,
             "%llu cycles are counted soon after a reset",
             (unsigned long long)counters[UFP4_COUNTER_CYCLES]);
  for (int i = UFP4_COUNTER_CYCLES + 1; i < UFP4_COUNTER_COUNT; i++) {
    const uint64_t want = i == UFP4_COUNTER_IDLE ? counters[UFP4_COUNTER_CYCLES] : 0;
    check_bits(rig->runs, counters[i], want, "counter %d after a reset", i);
  }
  set_up(&rig->stand);
}

void soft_reset(rig_t *rig) {
  stand_write(&rig->stand, UFP4_REG_CONTROL, CONTROL_SOFT_RESET);
  uint32_t status = STATUS_RESETTING;
  for (uint32_t waited = 0; waited < 4 * WATCHDOG_CYCLES && (status & STATUS_RESETTING);
       waited += 10) {
    check_bits(rig->runs, ufp4_sim_run(rig->stand.sim, 10), UFP4_SIM_OK, "run: %s",
               ufp4_sim_message(rig->stand.sim));
    status = stand_read(&rig->stand, UFP4_REG_STATUS);
  }
  check_reset(rig, status, "a soft reset");
}
