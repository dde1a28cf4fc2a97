// SPDX-License-Identifier: Apache-2.0
// bench_timing [configuration]: measures the speed of the timed model, with and without skipping
// cycles.
#include <stdio.h>
#include <string.h>

#include "alone.h"

#define LATENCY 100u
#define LIMIT 100000000000ull

static void measure(const char *configuration, const char *what, const twin_job_t *jobs,
                    unsigned count, int every_cycle) {
  const twin_memory_t memory = {.latency = LATENCY};
  const alone_t alone = alone_run(configuration, memory, jobs, count, every_cycle);
  printf("timed %s config=%s skips=%d cycles=%.0f seconds=%.4f mcycles_per_second=%.1f\n", what,
         configuration, !every_cycle, (double)alone.cycles, alone.seconds,
         1e-6 * (double)alone.cycles / alone.seconds);
}

static twin_job_t gemm(uint32_t m, uint32_t n, uint32_t k) {
  const uint64_t mib = 1 << 20, base = 2048 * mib;
  const ufp4_gemm_descriptor_t job = {.opcode = UFP4_OPCODE_GEMM,
                                      .m = m,
                                      .n = n,
                                      .k = k,
                                      .a_codes_addr = base + 1024 * mib,
                                      .a_scales_addr = base + 1280 * mib,
                                      .b_codes_addr = base + 1536 * mib,
                                      .b_scales_addr = base + 1792 * mib,
                                      .d_addr = base + 4096 * mib,
                                      .a_stride_blocks = (k + 127) / 128 * 8,
                                      .b_stride_blocks = (k + 127) / 128 * 8,
                                      .d_stride_bytes = (4 * n + 127) / 128 * 128};
  return (twin_job_t){.gemm = job};
}

static twin_job_t quant(uint32_t rows, uint32_t cols) {
  const uint64_t mib = 1 << 20;
  const ufp4_quant_descriptor_t job = {.opcode = UFP4_OPCODE_QUANT,
                                       .rows = rows,
                                       .cols = cols,
                                       .src_addr = 8192 * mib,
                                       .row_codes_addr = 9216 * mib,
                                       .row_scales_addr = 9728 * mib,
                                       .col_codes_addr = 10240 * mib,
                                       .col_scales_addr = 10752 * mib,
                                       .src_stride_bytes = (4 * cols + 127) / 128 * 128,
                                       .row_mode = UFP4_MODE_ENABLE,
                                       .col_mode = UFP4_MODE_ENABLE,
                                       .row_stride_blocks = (cols + 127) / 128 * 8,
                                       .col_stride_blocks = (rows + 127) / 128 * 8};
  return (twin_job_t){.quant = job};
}

// Measures the Verilated core for comparison.
static void measure_rtl(const char *configuration, twin_job_t job) {
  char message[200] = "";
  const ufp4_sim_options_t options = {.configuration = configuration,
                                      .memory_base = TWIN_BASE,
                                      .memory_bytes = 1ull << 34,
                                      .latency_cycles = LATENCY};
  ufp4_sim_t *sim = ufp4_sim_open(&options, message, sizeof message);
  if (sim == NULL) {
    printf("%s\n", message);
    return;
  }
  job.header.flags = 1;
  memcpy(ufp4_sim_memory(sim, TWIN_BASE, sizeof job), &job, sizeof job);
  ufp4_sim_register_write(sim, UFP4_REG_RING_BASE_LO, (uint32_t)TWIN_BASE);
  ufp4_sim_register_write(sim, UFP4_REG_RING_LOG2, TWIN_RING_LOG2);
  ufp4_sim_register_write(sim, UFP4_REG_COMPLETION_BASE_LO, (uint32_t)TWIN_BASE + 8192);
  ufp4_sim_register_write(sim, UFP4_REG_IRQ_MASK, 1);
  const double start = alone_seconds();
  ufp4_sim_register_write(sim, UFP4_REG_RING_TAIL, 1);
  if (ufp4_sim_wait_interrupt(sim, LIMIT) != UFP4_SIM_OK) printf("%s\n", ufp4_sim_message(sim));
  const double spent = alone_seconds() - start, cycles = (double)ufp4_sim_cycles(sim);
  printf("rtl config=%s cycles=%.0f seconds=%.4f mcycles_per_second=%.3f\n", configuration, cycles,
         spent, 1e-6 * cycles / spent);
  ufp4_sim_close(sim);
}

// Makes the jobs of a layer of a 7B model, forward and backward, on 4096 tokens: the GEMMs of its
// linear layers, and an AMAX and a QUANT of each operand before them.
static unsigned layer_7b(twin_job_t jobs[TWIN_RING]) {
  static const uint32_t shapes[7][2] = {{4096, 4096},  {4096, 4096},  {4096, 4096}, {4096, 4096},
                                        {4096, 11008}, {4096, 11008}, {11008, 4096}};
  const uint32_t tokens = 4096;
  unsigned count = 0;
  for (unsigned i = 0; i < 7; i++) {
    const uint32_t in = shapes[i][0], out = shapes[i][1];
    const uint32_t operands[3][2] = {{tokens, in}, {out, in}, {tokens, out}};
    for (unsigned j = 0; j < 6; j++) {
      jobs[count] = quant(operands[j / 2][0], operands[j / 2][1]);
      jobs[count].quant.src_dtype = UFP4_DTYPE_BF16;
      jobs[count++].header.opcode = j % 2 ? UFP4_OPCODE_QUANT : UFP4_OPCODE_AMAX;
    }
    jobs[count++] = gemm(tokens, out, in);
    jobs[count++] = gemm(tokens, in, out);
    jobs[count++] = gemm(out, in, tokens);
  }
  return count;
}

int main(int argc, char **argv) {
  const char *configuration = argc > 1 ? argv[1] : "default";
  twin_job_t gemms[8], both[16];
  for (unsigned i = 0; i < 8; i++) gemms[i] = gemm(256 + 100 * i, 300, 512 + 64 * i);
  for (unsigned i = 0; i < 16; i++) {
    both[i] = i % 2 ? gemm(512, 512, 256) : quant(256, 512);
    both[i].header.flags = 2;
  }
  const twin_job_t middle = gemm(1024, 1024, 1024), large = gemm(4096, 4096, 4096);
  const twin_job_t source = quant(1024, 2048);
  twin_job_t beside[4] = {gemm(4096, 2048, 4096), quant(4096, 4096), quant(4096, 4096),
                          quant(4096, 4096)};
  for (unsigned i = 0; i < 4; i++) beside[i].header.flags = 2;
  beside[2].quant.src_dtype = UFP4_DTYPE_BF16;
  measure_rtl(configuration, gemm(256, 256, 1024));
  measure_rtl(configuration, quant(256, 512));
  for (int every_cycle = 1; every_cycle >= 0; every_cycle--) {
    measure(configuration, "gemm_list", gemms, 8, every_cycle);
    measure(configuration, "gemm_beside_quant", both, 16, every_cycle);
    measure(configuration, "quant_1024x2048", &source, 1, every_cycle);
    measure(configuration, "gemm_1024", &middle, 1, every_cycle);
    measure(configuration, "gemm_large_beside_quant", beside, 4, every_cycle);
  }
  measure(configuration, "gemm_4096", &large, 1, 0);
  twin_job_t layer[TWIN_RING];
  measure(configuration, "layer_7b", layer, layer_7b(layer), 0);
  return 0;
}
