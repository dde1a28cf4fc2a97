// SPDX-License-Identifier: Apache-2.0
// Random tensors and descriptors, and chains of jobs from them.
#include "random_jobs.h"

#include "ufp4/format.h"

uint32_t below(pair_t *pair, uint32_t bound) {
  return check_below(&pair->random, bound);
}

// An aligned address in a place, not always at its start.
static uint64_t place(pair_t *pair, uint64_t index) {
  if (index > D) index = D + (index - D) * pair->d_places;
  return pair->address + index * pair->place_bytes + (uint64_t)UFP4_ALIGN_BYTES * below(pair, 64);
}

static uint32_t block_stride(pair_t *pair, uint32_t length) {
  return ((length + 15) / 16 + 7) / 8 * 8 + 8 * below(pair, 3);
}

static uint32_t byte_stride(pair_t *pair, uint32_t bytes) {
  return (bytes + 127) / 128 * 128 + 128 * below(pair, 3);
}

void write_source(pair_t *pair, const ufp4_quant_descriptor_t *quant,
                  fixture_distribution_t distribution) {
  uint32_t row[LONG_SIDE];
  uint16_t row_bf16[LONG_SIDE];
  for (uint32_t r = 0; r < quant->rows; r++) {
    const uint64_t to = quant->src_addr + (uint64_t)r * quant->src_stride_bytes;
    fixture_numbers(&pair->random, distribution, row, quant->cols);
    for (uint32_t c = 0; c < quant->cols; c++) row_bf16[c] = (uint16_t)(row[c] >> 16);
    if (quant->src_dtype == UFP4_DTYPE_BF16) {
      pair_write(pair, to, row_bf16, quant->cols * sizeof row_bf16[0]);
    } else {
      pair_write(pair, to, row, quant->cols * sizeof row[0]);
    }
  }
}

// Quantizes [rows][cols] into the four places from @p codes on; @p slot and slot + 1 take the
// exponents.
ufp4_descriptor_t random_quant(pair_t *pair, uint32_t rows, uint32_t cols, unsigned source,
                               unsigned codes, uint16_t slot) {
  ufp4_quant_descriptor_t q = {
      .opcode = UFP4_OPCODE_QUANT, .rows = rows, .cols = cols, .src_addr = place(pair, source)};
  q.src_dtype = (uint8_t)below(pair, 2);
  q.src_stride_bytes = byte_stride(pair, cols * (q.src_dtype == UFP4_DTYPE_BF16 ? 2 : 4));
  q.elem =
      (uint8_t)below(pair, pair->contract == UFP4_CONTRACT_NV ? UFP4_ELEM_INT4 : UFP4_ELEM_COUNT);
  if (pair->mixed && below(pair, 2)) q.elem = UFP4_ELEM_MIXED;
  q.round = (uint8_t)below(pair, UFP4_ROUND_COUNT);
  q.scale_round = (uint8_t)below(pair, UFP4_SCALE_ROUND_UP + 1);
  const uint32_t copies = 1 + below(pair, 3);
  q.row_mode =
      (uint8_t)((copies & 1) * UFP4_MODE_ENABLE | below(pair, 2) * UFP4_MODE_RHT | UFP4_MODE_SLOT);
  q.col_mode =
      (uint8_t)((copies >> 1) * UFP4_MODE_ENABLE | below(pair, 2) * UFP4_MODE_RHT | UFP4_MODE_SLOT);
  q.rht_mask = below(pair, 2) ? UFP4_RHT_DEFAULT_MASK : (uint16_t)below(pair, 65536);
  q.row_exponent = slot;
  q.col_exponent = (uint16_t)(slot + 1);
  q.row_codes_addr = place(pair, codes);
  q.row_scales_addr = place(pair, codes + 1);
  q.col_codes_addr = place(pair, codes + 2);
  q.col_scales_addr = place(pair, codes + 3);
  q.row_stride_blocks = block_stride(pair, cols);
  q.col_stride_blocks = block_stride(pair, rows);
  q.seed = check_next(&pair->random);
  q.row_tensor_id = check_next(&pair->random);
  q.col_tensor_id = check_next(&pair->random);
  return (ufp4_descriptor_t){.quant = q};
}

// Returns the job with E8M0 scales, which have neither transform nor exponent.
ufp4_descriptor_t e8m0_of(pair_t *pair, const ufp4_descriptor_t *quant) {
  ufp4_descriptor_t e8m0 = *quant;
  e8m0.quant.scale = UFP4_SCALE_E8M0;
  if (e8m0.quant.elem == UFP4_ELEM_MIXED) e8m0.quant.elem = UFP4_ELEM_E1M2;
  e8m0.quant.scale_round = below(pair, 2) ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_DOWN;
  e8m0.quant.row_mode &= UFP4_MODE_ENABLE;
  e8m0.quant.col_mode &= UFP4_MODE_ENABLE;
  e8m0.quant.row_exponent = e8m0.quant.col_exponent = 0;
  return e8m0;
}

ufp4_descriptor_t amax_of(const ufp4_descriptor_t *quant) {
  ufp4_descriptor_t amax = *quant;
  amax.header.opcode = UFP4_OPCODE_AMAX;
  return amax;
}

uint32_t dtype_size(uint8_t dtype) {
  return dtype == UFP4_DTYPE_BF16 ? 2 : dtype == UFP4_DTYPE_I64 ? 8 : 4;
}

// Draws sums of every size, and sometimes NaN.
static void write_sums(pair_t *pair, const ufp4_gemm_descriptor_t *gemm) {
  int64_t row[LONG_SIDE];
  for (uint32_t r = 0; r < gemm->m; r++) {
    for (uint32_t c = 0; c < gemm->n; c++) {
      row[c] = (int64_t)check_next(&pair->random) >> (2 + below(pair, 62));
      if (below(pair, 60) == 0) row[c] = UFP4_I64_NAN;
    }
    pair_write(pair, gemm->sums_addr + (uint64_t)r * gemm->sums_stride_bytes, row,
               gemm->n * sizeof row[0]);
  }
}

// Draws the other inputs of D; C is garbage, which serves as well. All fields are legal, used or
// not.
static void random_addends(pair_t *pair, ufp4_gemm_descriptor_t *g) {
  const float alphas[] = {0.5f, -1.7f, 1e-30f, 2e19f};
  g->d_mode = (uint8_t)below(pair, 8);
  if (g->d_dtype == UFP4_DTYPE_I64) g->d_mode &= UFP4_D_MODE_SUMS;
  if (pair->contract != UFP4_CONTRACT_EXACT) g->d_mode &= (uint8_t)~UFP4_D_MODE_SUMS;
  if (pair->contract == UFP4_CONTRACT_NV) g->d_mode &= (uint8_t)~UFP4_D_MODE_C;
  g->sums_addr = place(pair, SUMS);
  g->sums_stride_bytes = byte_stride(pair, g->n * (uint32_t)sizeof(int64_t));
  g->c_addr = place(pair, C);
  g->c_stride_bytes = byte_stride(pair, g->n * (uint32_t)sizeof(float));
  g->alpha =
      below(pair, 4) ? ufp4_f32_bits(alphas[below(pair, 4)]) : (uint32_t)check_next(&pair->random);
  // Not negative, no NaN.
  g->tensor_scale = below(pair, 4) ? 0x30000000 + below(pair, 1u << 29) : below(pair, 0x7F800001);
  if (g->d_mode & UFP4_D_MODE_SUMS) write_sums(pair, g);
}

// The GEMM of the row copies; an operand that was not quantized is garbage, which serves as well.
ufp4_descriptor_t random_gemm(pair_t *pair, const ufp4_quant_descriptor_t *x,
                              const ufp4_quant_descriptor_t *w) {
  ufp4_gemm_descriptor_t g = {.opcode = UFP4_OPCODE_GEMM, .m = x->rows, .n = w->rows, .k = x->cols};
  g.a_elem = x->elem;
  g.b_elem = w->elem;
  g.contract = (uint8_t)pair->contract;
  g.d_dtype = (uint8_t)below(
      pair, pair->contract == UFP4_CONTRACT_EXACT ? UFP4_DTYPE_COUNT : UFP4_DTYPE_I64);
  const int nvfp4 = (g.a_elem == UFP4_ELEM_E2M1 || g.a_elem == UFP4_ELEM_MIXED) &&
                    (g.b_elem == UFP4_ELEM_E2M1 || g.b_elem == UFP4_ELEM_MIXED);
  if (nvfp4 && below(pair, 2)) g.scale = UFP4_SCALE_NVFP4;
  g.a_exponent = (uint16_t)(below(pair, 60) - 30);
  g.b_exponent = (uint16_t)(below(pair, 60) - 30);
  g.a_codes_addr = x->row_codes_addr;
  g.a_scales_addr = x->row_scales_addr;
  g.b_codes_addr = w->row_codes_addr;
  g.b_scales_addr = w->row_scales_addr;
  g.a_stride_blocks = x->row_stride_blocks;
  g.b_stride_blocks = w->row_stride_blocks;
  g.d_addr = place(pair, D);
  g.d_stride_bytes = byte_stride(pair, g.n * dtype_size(g.d_dtype));
  random_addends(pair, &g);
  if (x->row_mode & UFP4_MODE_ENABLE && below(pair, 2)) {
    g.a_mode = UFP4_MODE_SLOT;
    g.a_exponent = x->row_exponent;
  }
  return (ufp4_descriptor_t){.gemm = g};
}

// --- Chains of legal jobs ---

uint32_t random_size(pair_t *pair, uint32_t limit) {
  return 1 + below(pair, below(pair, 3) ? limit : 20);
}

void quantize(pair_t *pair, const ufp4_descriptor_t *quant, fixture_distribution_t distribution) {
  const ufp4_descriptor_t amax = amax_of(quant);
  write_source(pair, &quant->quant, distribution);
  pair_job(pair, &amax, "AMAX");
  pair_job(pair, quant, "QUANT");
  pair_compare(pair, "QUANT");
}

// Scales of 32 elements, each stored for two units: close to each other, arbitrary, or sometimes
// NaN.
static void write_e8m0(pair_t *pair, uint64_t address, uint32_t rows, uint32_t stride_blocks) {
  const uint32_t kind = below(pair, 3), pairs = (rows + 15) / 16 * stride_blocks / 2;
  for (uint32_t i = 0; i < pairs; i++) {
    uint8_t scales[2 * UFP4_PANEL_SCALE_BYTES];
    for (uint32_t row = 0; row < UFP4_PANEL_SCALE_BYTES; row++) {
      scales[row] = (uint8_t)(kind == 0 ? 120 + below(pair, 14) : below(pair, 255));
      if (kind == 2 && below(pair, 100) == 0) scales[row] = 0xFF;
      scales[row + UFP4_PANEL_SCALE_BYTES] = scales[row];
    }
    pair_write(pair, address + i * sizeof scales, scales, sizeof scales);
  }
}

void chain(pair_t *pair, uint32_t limit) {
  const uint32_t m = random_size(pair, limit), n = random_size(pair, limit),
                 k = random_size(pair, 2 * limit);
  chain_of(pair, m, n, k);
}

void chain_of(pair_t *pair, uint32_t m, uint32_t n, uint32_t k) {
  const uint16_t slot = (uint16_t)(4 * below(pair, UFP4_SLOTS / 4));
  ufp4_descriptor_t x = random_quant(pair, m, k, SOURCE_X, X_CODES, slot);
  ufp4_descriptor_t w = random_quant(pair, n, k, SOURCE_W, W_CODES, (uint16_t)(slot + 2));
  // Sometimes the descriptor gives the exponent instead of a slot, so that scales may saturate.
  if (below(pair, 4) == 0) {
    x.quant.row_mode &= (uint8_t)~UFP4_MODE_SLOT;
    x.quant.row_exponent = (uint16_t)(below(pair, 40) - 20);
  }
  ufp4_descriptor_t gemm = random_gemm(pair, &x.quant, &w.quant);
  if (x.quant.row_mode & UFP4_MODE_SLOT) {
    quantize(pair, &x, (fixture_distribution_t)below(pair, FIXTURE_DISTRIBUTIONS));
  } else {
    write_source(pair, &x.quant, (fixture_distribution_t)below(pair, FIXTURE_DISTRIBUTIONS));
    pair_job(pair, &x, "QUANT with an exponent from outside");
  }
  quantize(pair, &w, (fixture_distribution_t)below(pair, FIXTURE_DISTRIBUTIONS));
  const int mixed = gemm.gemm.a_elem == UFP4_ELEM_MIXED || gemm.gemm.b_elem == UFP4_ELEM_MIXED;
  if (pair->contract != UFP4_CONTRACT_EXACT && !mixed && below(pair, 2)) {
    gemm.gemm.scale = UFP4_SCALE_E8M0;
    write_e8m0(pair, gemm.gemm.a_scales_addr, m, gemm.gemm.a_stride_blocks);
    write_e8m0(pair, gemm.gemm.b_scales_addr, n, gemm.gemm.b_stride_blocks);
  }
  pair_job(pair, &gemm, "GEMM");
  pair_compare(pair, "GEMM");
  const ufp4_descriptor_t e8m0 = e8m0_of(pair, below(pair, 2) ? &x : &w);
  pair_job(pair, &e8m0, "QUANT with E8M0 scales");
  pair_compare(pair, "QUANT with E8M0 scales");
}

// E4M3 scales of every size without NaN, with the bit that only mixed elements use.
static void write_scales(pair_t *pair, const ufp4_quant_descriptor_t *quant) {
  const uint64_t blocks = (uint64_t)((quant->rows + 15) / 16) * quant->row_stride_blocks;
  for (uint64_t i = 0; i < blocks; i++) {
    uint8_t scales[UFP4_PANEL_SCALE_BYTES];
    for (size_t row = 0; row < sizeof scales; row++)
      scales[row] = (uint8_t)(below(pair, 2) << 7 | below(pair, 0x7F));
    pair_write(pair, quant->row_scales_addr + i * sizeof scales, scales, sizeof scales);
  }
}

void gemms(pair_t *pair, uint32_t m, uint32_t n, uint32_t k, int runs) {
  ufp4_descriptor_t x = random_quant(pair, m, k, SOURCE_X, X_CODES, 0);
  ufp4_descriptor_t w = random_quant(pair, n, k, SOURCE_W, W_CODES, 2);
  // Among many garbage scales one is NaN, and would hide everything else.
  if (k > 128) {
    write_scales(pair, &x.quant);
    write_scales(pair, &w.quant);
  }
  for (int run = 0; run < runs; run++) {
    x.quant.elem = below(pair, 2) ? UFP4_ELEM_E2M1 : (uint8_t)below(pair, UFP4_ELEM_KINDS);
    w.quant.elem = below(pair, 2) ? x.quant.elem : (uint8_t)below(pair, UFP4_ELEM_KINDS);
    x.quant.row_mode = w.quant.row_mode = 0;
    ufp4_descriptor_t gemm = random_gemm(pair, &x.quant, &w.quant);
    // The first job, and every second one after it, has neither a D of BF16 nor C, which hide bits
    // of the product.
    while (run % 2 == 0 &&
           (gemm.gemm.d_dtype == UFP4_DTYPE_BF16 || gemm.gemm.d_mode & UFP4_D_MODE_C)) {
      gemm = random_gemm(pair, &x.quant, &w.quant);
    }
    pair_job(pair, &gemm, "GEMM of garbage");
    pair_compare(pair, "GEMM of garbage");
  }
}

void mixed_gemms(pair_t *pair, uint32_t m, uint32_t n, uint32_t k) {
  ufp4_descriptor_t x = random_quant(pair, m, k, SOURCE_X, X_CODES, 0);
  ufp4_descriptor_t w = random_quant(pair, n, k, SOURCE_W, W_CODES, 2);
  x.quant.row_mode = w.quant.row_mode = 0;
  write_scales(pair, &x.quant);
  write_scales(pair, &w.quant);
  for (unsigned i = 0; i < 2 * UFP4_ELEM_KINDS; i++) {
    x.quant.elem = i % 2 ? (uint8_t)(i / 2) : UFP4_ELEM_MIXED;
    w.quant.elem = i % 2 ? UFP4_ELEM_MIXED : (uint8_t)(i / 2);
    ufp4_descriptor_t gemm = random_gemm(pair, &x.quant, &w.quant);
    gemm.gemm.d_mode = 0;
    if (gemm.gemm.d_dtype == UFP4_DTYPE_BF16) gemm.gemm.d_dtype = UFP4_DTYPE_F32;
    pair_job(pair, &gemm, "GEMM of elements mixed");
    pair_compare(pair, "GEMM of elements mixed");
  }
}
