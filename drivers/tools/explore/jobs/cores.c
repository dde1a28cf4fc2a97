// SPDX-License-Identifier: Apache-2.0
// The cores of a case that share a memory: concurrent jobs, and a GEMM in parts.
#include "explore/jobs/cores.h"

#include <math.h>
#include <string.h>

#include "explore/jobs/jobs.h"
#include "explore/options/options.h"

// --- Parts of a GEMM ----------------------------------------------------------------------------

static uint64_t element_bytes(const ufp4_gemm_descriptor_t *gemm) {
  return gemm->d_dtype == UFP4_DTYPE_BF16 ? 2 : 4;
}

// Restricts a job to the rows of D from @p first on, which are rows of A.
static void take_rows(ufp4_gemm_descriptor_t *gemm, uint32_t first, uint32_t count) {
  const uint64_t blocks = (uint64_t)first / UFP4_PANEL_ROWS * gemm->a_stride_blocks;
  gemm->m = count;
  gemm->a_codes_addr += blocks * UFP4_PANEL_CODE_BYTES;
  gemm->a_scales_addr += blocks * UFP4_PANEL_SCALE_BYTES;
  gemm->d_addr += (uint64_t)first * gemm->d_stride_bytes;
}

// Restricts a job to columns of D, which are rows of B.
static void take_columns(ufp4_gemm_descriptor_t *gemm, uint32_t first, uint32_t count) {
  const uint64_t blocks = (uint64_t)first / UFP4_PANEL_ROWS * gemm->b_stride_blocks;
  gemm->n = count;
  gemm->b_codes_addr += blocks * UFP4_PANEL_CODE_BYTES;
  gemm->b_scales_addr += blocks * UFP4_PANEL_SCALE_BYTES;
  gemm->d_addr += first * element_bytes(gemm);
}

int explore_split_gemm(const ufp4_descriptor_t *whole, explore_split_t split, int cores,
                       ufp4_descriptor_t parts[EXPLORE_MAX_CORES]) {
  const ufp4_gemm_descriptor_t *gemm = &whole->gemm;
  const int rows = split == EXPLORE_SPLIT_ROWS;
  split_part_t shares[EXPLORE_MAX_CORES];
  const int count =
      split_gemm(!rows, rows ? gemm->m : gemm->n, (ufp4_dtype_t)gemm->d_dtype, cores, shares);
  for (int i = 0; i < count; i++) {
    parts[i] = *whole;
    if (rows) take_rows(&parts[i].gemm, shares[i].first, shares[i].count);
    if (!rows) take_columns(&parts[i].gemm, shares[i].first, shares[i].count);
  }
  return count;
}

// --- At once ------------------------------------------------------------------------------------

static ufp4_status_t counters_of(const explore_cores_t *cores, int count,
                                 uint64_t counters[EXPLORE_MAX_CORES][EXPLORE_COUNTERS]) {
  ufp4_status_t status = UFP4_OK;
  for (int i = 0; i < count && status == UFP4_OK; i++)
    status = explore_counters(cores->devices[i], counters[i]);
  return status;
}

ufp4_status_t explore_measure(const explore_cores_t *cores, const ufp4_descriptor_t *jobs,
                              int count, explore_row_t *const rows[]) {
  uint64_t before[EXPLORE_MAX_CORES][EXPLORE_COUNTERS];
  uint64_t after[EXPLORE_MAX_CORES][EXPLORE_COUNTERS];
  uint32_t numbers[EXPLORE_MAX_CORES];
  ufp4_completion_t done[EXPLORE_MAX_CORES];
  ufp4_status_t status = counters_of(cores, count, before);
  for (int i = 0; i < count && status == UFP4_OK; i++)
    status = ufp4_submit(cores->devices[i], &jobs[i], &numbers[i]);
  for (int i = 0; i < count && status == UFP4_OK; i++)
    status = ufp4_wait(cores->devices[i], numbers[i], 0, &done[i]);
  if (status == UFP4_OK) status = counters_of(cores, count, after);
  for (int i = 0; i < count && status == UFP4_OK; i++) {
    rows[i]->cycles = fmax(rows[i]->cycles, (double)done[i].cycles);
    for (int c = 0; c < EXPLORE_COUNTERS; c++)
      rows[i]->counters[c] += (double)(after[i][c] - before[i][c]);
  }
  return status;
}

const char *explore_cores_message(const explore_cores_t *cores) {
  for (int i = 0; i < cores->count; i++) {
    if (ufp4_device_message(cores->devices[i])[0] != '\0')
      return ufp4_device_message(cores->devices[i]);
  }
  return "";
}

// --- Devices ------------------------------------------------------------------------------------

int explore_cores_open(const explore_plan_t *plan, const explore_case_t *of, uint64_t memory_bytes,
                       explore_cores_t *cores) {
  *cores = (explore_cores_t){.count = 0};
  if (of->cores > 1) {
    cores->bus = ufp4_bus_open(of->mem_latency, explore_bytes_per_cycle(of), explore_dram(of),
                               explore_cycle_fs(of));
    if (cores->bus == NULL) return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
  }
  int end = CLI_GO_ON;
  for (unsigned i = 0; i < of->cores && end == CLI_GO_ON; i++) {
    end = explore_open(plan, of, memory_bytes, cores->bus, &cores->devices[i]);
    if (end == CLI_GO_ON) cores->count++;
  }
  return end;
}

int explore_cores_close(explore_cores_t *cores) {
  int end = CLI_GO_ON;
  for (int i = 0; i < cores->count; i++) {
    const int closed = cli_device_close(&cli_explore, cores->devices[i]);
    if (end == CLI_GO_ON) end = closed;
  }
  ufp4_bus_close(cores->bus);
  return end;
}
