// SPDX-License-Identifier: Apache-2.0
#include "jobs.h"

#define FLAG_OVERLAP 2u

static uint32_t below(twin_t *twin, uint32_t bound) {
  return check_below(&twin->random, bound);
}

// Returns a size from 1 to @p limit; small sizes are frequent.
static uint32_t size(twin_t *twin, uint32_t limit) {
  return 1 + below(twin, below(twin, 3) ? limit : 20);
}

// Returns an address in a region of its own, at any distance from a page boundary.
static uint64_t place(twin_t *twin, unsigned index) {
  return TWIN_BASE + (1 + index % TWIN_PLACES) * TWIN_PLACE_BYTES +
         (uint64_t)UFP4_ALIGN_BYTES * below(twin, 256);
}

static uint32_t block_stride(twin_t *twin, uint32_t length) {
  return ((length + 15) / 16 + 7) / 8 * 8 + 8 * below(twin, 3);
}

static uint32_t byte_stride(twin_t *twin, uint64_t bytes) {
  return ((uint32_t)bytes + 127) / 128 * 128 + 128 * below(twin, 3);
}

// Returns an element format that this core multiplies.
static uint8_t elem(twin_t *twin) {
  switch (twin->configuration.formats) {
    case UFP4_FORMATS_E2M1:
      return UFP4_ELEM_E2M1;
    case UFP4_FORMATS_E1M2:
      return UFP4_ELEM_E1M2;
    case UFP4_FORMATS_UNIFORM:
      return (uint8_t)(UFP4_ELEM_E1M2 + below(twin, 2));
    default: {
      const uint8_t drawn = (uint8_t)below(twin, UFP4_ELEM_KINDS);
      const int nv = twin->configuration.contract == UFP4_CONTRACT_NV;
      return nv && drawn == UFP4_ELEM_INT4 ? UFP4_ELEM_MIXED : drawn;
    }
  }
}

static uint8_t gemm_scale(twin_t *twin, const ufp4_gemm_descriptor_t *gemm) {
  const int mixed = gemm->a_elem == UFP4_ELEM_MIXED || gemm->b_elem == UFP4_ELEM_MIXED;
  const int nvfp4 = (gemm->a_elem == UFP4_ELEM_E2M1 || gemm->a_elem == UFP4_ELEM_MIXED) &&
                    (gemm->b_elem == UFP4_ELEM_E2M1 || gemm->b_elem == UFP4_ELEM_MIXED);
  if (nvfp4 && below(twin, 2)) return UFP4_SCALE_NVFP4;
  if (!mixed && twin->configuration.contract != UFP4_CONTRACT_EXACT && below(twin, 2))
    return UFP4_SCALE_E8M0;
  return UFP4_SCALE_E4M3;
}

static void what_enters_d(twin_t *twin, ufp4_gemm_descriptor_t *gemm) {
  const uint32_t contract = twin->configuration.contract;
  gemm->d_mode = (uint8_t)(below(twin, 2) * below(twin, 8));
  if (gemm->d_dtype == UFP4_DTYPE_I64) gemm->d_mode &= UFP4_D_MODE_SUMS;
  if (contract != UFP4_CONTRACT_EXACT) gemm->d_mode &= (uint8_t)~UFP4_D_MODE_SUMS;
  if (contract == UFP4_CONTRACT_NV) gemm->d_mode &= (uint8_t)~UFP4_D_MODE_C;
  gemm->sums_addr = place(twin, 5);
  gemm->sums_stride_bytes = byte_stride(twin, 8ull * gemm->n);
  gemm->c_addr = place(twin, 6);
  gemm->c_stride_bytes = byte_stride(twin, 4ull * gemm->n);
}

twin_job_t timing_gemm(twin_t *twin, uint32_t m, uint32_t n, uint32_t k) {
  ufp4_gemm_descriptor_t gemm = {.opcode = UFP4_OPCODE_GEMM, .m = m, .n = n, .k = k};
  const int exact = twin->configuration.contract == UFP4_CONTRACT_EXACT;
  gemm.a_elem = elem(twin);
  gemm.b_elem = elem(twin);
  gemm.contract = (uint8_t)twin->configuration.contract;
  gemm.d_dtype = (uint8_t)below(twin, exact ? 3 : 2);
  gemm.scale = gemm_scale(twin, &gemm);
  gemm.a_codes_addr = place(twin, 0);
  gemm.a_scales_addr = place(twin, 1);
  gemm.b_codes_addr = place(twin, 2);
  gemm.b_scales_addr = place(twin, 3);
  gemm.a_stride_blocks = block_stride(twin, k);
  gemm.b_stride_blocks = block_stride(twin, k);
  gemm.d_addr = place(twin, 4);
  const uint32_t bytes = gemm.d_dtype == UFP4_DTYPE_BF16  ? 2
                         : gemm.d_dtype == UFP4_DTYPE_I64 ? 8
                                                          : 4;
  gemm.d_stride_bytes = byte_stride(twin, (uint64_t)bytes * n);
  what_enters_d(twin, &gemm);
  return (twin_job_t){.gemm = gemm};
}

twin_job_t timing_quant(twin_t *twin, uint32_t rows, uint32_t cols, int amax) {
  ufp4_quant_descriptor_t quant = {.opcode = amax ? UFP4_OPCODE_AMAX : UFP4_OPCODE_QUANT,
                                   .rows = rows,
                                   .cols = cols,
                                   .src_addr = place(twin, 7)};
  const uint32_t copies = 1 + below(twin, 3);
  quant.src_dtype = (uint8_t)below(twin, 2);
  quant.src_stride_bytes =
      byte_stride(twin, (quant.src_dtype == UFP4_DTYPE_BF16 ? 2ull : 4ull) * cols);
  quant.elem = (uint8_t)below(twin, UFP4_ELEM_COUNT);
  quant.round = (uint8_t)below(twin, UFP4_ROUND_COUNT);
  quant.scale = !amax && below(twin, 2) ? UFP4_SCALE_E8M0 : UFP4_SCALE_E4M3;
  if (quant.scale == UFP4_SCALE_E4M3 && twin->configuration.mixed && below(twin, 2))
    quant.elem = UFP4_ELEM_MIXED;
  quant.scale_round = UFP4_SCALE_ROUND_UP;
  const uint32_t rht = quant.scale == UFP4_SCALE_E8M0 ? 0 : UFP4_MODE_RHT * below(twin, 2);
  quant.row_mode = (uint8_t)((copies & 1) * UFP4_MODE_ENABLE | rht);
  quant.col_mode = (uint8_t)((copies >> 1) * UFP4_MODE_ENABLE | rht);
  quant.row_codes_addr = place(twin, 8);
  quant.row_scales_addr = place(twin, 9);
  quant.col_codes_addr = place(twin, 10);
  quant.col_scales_addr = place(twin, 11);
  quant.row_stride_blocks = block_stride(twin, cols);
  quant.col_stride_blocks = block_stride(twin, rows);
  return (twin_job_t){.quant = quant};
}

static twin_job_t refused(twin_t *twin, twin_job_t job) {
  const int gemm = job.header.opcode == UFP4_OPCODE_GEMM;
  switch (below(twin, 6)) {
    case 0:
      job.header.opcode = 9;
      break;
    case 1:
      job.gemm.m = 0;  // the rows of a QUANT
      break;
    case 2:
      job.header.flags = 4;
      break;
    case 3:
      if (gemm) job.gemm.a_codes_addr += 8;
      if (!gemm) job.quant.src_addr += 8;
      break;
    case 4:
      if (gemm) job.gemm.d_addr = 1ull << UFP4_ADDR_BITS;
      // The first row lies within the address space, the second one outside.
      if (!gemm) job.quant.src_addr = (1ull << UFP4_ADDR_BITS) - UFP4_ALIGN_BYTES;
      if (!gemm) job.quant.rows = 2;
      break;
    default:
      // A slot that no job has written, or that does not exist.
      if (gemm) job.gemm.a_mode = UFP4_MODE_SLOT, job.gemm.a_exponent = 63;
      if (!gemm) job.quant.row_exponent = 64, job.quant.row_mode |= UFP4_MODE_SLOT;
  }
  return job;
}

twin_job_t timing_job(twin_t *twin, uint32_t limit) {
  const uint32_t kind = below(twin, 24);
  if (kind == 0) return (twin_job_t){.header = {.opcode = UFP4_OPCODE_FENCE}};
  twin_job_t job =
      kind % 2 && twin->configuration.quant != 0
          ? timing_quant(twin, size(twin, limit), size(twin, limit), kind % 4 == 1)
          : timing_gemm(twin, size(twin, limit), size(twin, limit), size(twin, 2 * limit));
  return kind == 2 || kind == 3 ? refused(twin, job) : job;
}

// Draws which earlier jobs a job names.
static void name_dependences(twin_t *twin, twin_job_t *jobs, unsigned job) {
  ufp4_header_descriptor_t *header = &jobs[job].header;
  if (below(twin, 8) == 0) return;
  header->flags |= FLAG_OVERLAP;
  if (below(twin, 3) == 0) header->after = (uint8_t)below(twin, job + 1);
  if (header->opcode != UFP4_OPCODE_GEMM) return;
  for (unsigned operand = 0; operand < 2; operand++) {
    const unsigned distance = below(twin, job + 1);
    if (distance != 0 && jobs[job - distance].header.opcode == UFP4_OPCODE_QUANT)
      header->panels = (uint8_t)(header->panels | distance << 4 * operand);
  }
}

unsigned timing_list(twin_t *twin, uint32_t limit, twin_job_t jobs[16]) {
  const unsigned count = 2 + below(twin, 14);
  for (unsigned i = 0; i < count; i++) {
    jobs[i] = timing_job(twin, limit);
    name_dependences(twin, jobs, i);
  }
  return count;
}

unsigned timing_step(twin_t *twin, uint32_t limit, twin_job_t jobs[16]) {
  const uint32_t tokens = size(twin, limit), cin = size(twin, limit), cout = size(twin, limit);
  const uint32_t tensors[3][2] = {{tokens, cin}, {cout, cin}, {tokens, cout}};
  const uint32_t gemms[3][3] = {{tokens, cout, cin}, {tokens, cin, cout}, {cout, cin, tokens}};
  unsigned count = 0;
  for (unsigned i = 0; i < 6 && twin->configuration.quant != 0; i++)
    jobs[count++] = timing_quant(twin, tensors[i / 2][0], tensors[i / 2][1], i % 2 == 0);
  for (unsigned i = 0; i < 3; i++) {
    jobs[count] = timing_gemm(twin, gemms[i][0], gemms[i][1], gemms[i][2]);
    if (i == 0 && count != 0) jobs[count].header.panels = 1;
    count++;
  }
  for (unsigned i = 0; i < count; i++) {
    jobs[i].header.flags |= FLAG_OVERLAP;
    jobs[i].header.after = (uint8_t)(i % 3 == 2);
  }
  return count;
}
