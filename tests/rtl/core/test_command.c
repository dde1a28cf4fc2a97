// SPDX-License-Identifier: Apache-2.0
// The command unit: its statuses for malformed descriptors, and exponent slots.
#include <string.h>

#include "rules.h"
#include "stand.h"

_Static_assert(RULES_DATA == STAND_DATA && RULES_END == STAND_MEMORY + STAND_MEMORY_BYTES,
               "the rules are of another memory");

// A refused job changes nothing in memory except its completion.
static void check_rules(stand_t *stand, const ufp4_descriptor_t *good, const rule_t *rules) {
  static uint8_t before[STAND_MEMORY + STAND_MEMORY_BYTES - STAND_DATA];
  const uint8_t *data = ufp4_sim_memory(stand->sim, STAND_DATA, sizeof before);
  for (int64_t i = 0; rules[i].what; i++) {
    ufp4_descriptor_t descriptor = *good;
    memcpy(before, data, sizeof before);
    memcpy(descriptor.bytes + rules[i].offset, &rules[i].value, rules[i].bytes);  // little-endian
    const ufp4_completion_t done = stand_job(stand, &descriptor);
    check_bits(i, done.status, rules[i].want, "status with %s", rules[i].what);
    check_bits(i, done.job, good->header.job, "job with %s", rules[i].what);
    if (done.status != OK) check_bits(i, done.flags, 0, "flags with %s", rules[i].what);
    if (done.status == OK || done.status >= READ) continue;
    check_bits(i, done.cycles, 0, "cycles with %s", rules[i].what);
    check_that(i, memcmp(before, data, sizeof before) == 0, "memory has changed with %s",
               rules[i].what);
  }
  const ufp4_completion_t after = stand_job(stand, good);
  check_bits(-1, after.status, OK, "status of the legal descriptor");
}

static void check_all(const char *configuration, ufp4_descriptor_t good, const rule_t *rules,
                      const rule_t *more) {
  stand_t stand = stand_open(configuration, 1, 0, 0);
  check_rules(&stand, &good, rules);
  if (more != NULL) check_rules(&stand, &good, more);
  stand_close(&stand);
}

TEST(rejects_bad_headers) {
  check_all("small", stand_fence(1), header_rules, NULL);
  check_all("small", good_quant(UFP4_OPCODE_QUANT), header_rules, NULL);
  check_all("small", good_gemm(), header_rules, NULL);
}
TEST(rejects_bad_amax) {
  check_all("small", good_quant(UFP4_OPCODE_AMAX), amax_rules, amax_only_rules);
}
TEST(rejects_bad_quant) {
  check_all("small", good_quant(UFP4_OPCODE_QUANT), amax_rules, quant_rules);
}
TEST(rejects_bad_e8m0_quant) {
  check_all("small", good_e8m0(), e8m0_rules, NULL);
}
TEST(rejects_bad_gemm) {
  check_all("small", good_gemm(), gemm_rules, NULL);
}
TEST(rejects_bad_addends) {
  check_all("small", good_addends(), addend_rules, NULL);
}

TEST(rejects_no_copy) {
  stand_t stand = stand_open("small", 1, 0, 0);
  ufp4_descriptor_t quant = good_quant(UFP4_OPCODE_QUANT);
  quant.quant.row_mode = UFP4_MODE_RHT;
  quant.quant.col_mode = 0;
  check_bits(0, stand_job(&stand, &quant).status, UNSUPPORTED, "status without any copy");
  stand_close(&stand);
}

// The fields of a disabled copy may have any value, but its mode bits must be known ones.
TEST(ignores_the_copy_that_is_not_wanted) {
  stand_t stand = stand_open("small", 1, 0, 0);
  ufp4_descriptor_t quant = good_quant(UFP4_OPCODE_QUANT);
  quant.quant.col_mode = UFP4_MODE_RHT | UFP4_MODE_SLOT;
  quant.quant.col_codes_addr = quant.quant.col_scales_addr = ~0ull;
  quant.quant.col_stride_blocks = 3;
  quant.quant.col_exponent = 0xFFFF;
  check_bits(0, stand_job(&stand, &quant).status, OK, "status with only the row copy");
  quant = good_quant(UFP4_OPCODE_QUANT);
  quant.quant.row_mode = UFP4_MODE_SLOT;
  quant.quant.row_codes_addr = quant.quant.row_scales_addr = ~0ull;
  quant.quant.row_stride_blocks = 0;
  quant.quant.row_exponent = 0x7FFF;
  check_bits(1, stand_job(&stand, &quant).status, OK, "status with only the column copy");
  stand_close(&stand);
}

// Sizes at the limit pass the checks if the tensors fit in the address space.
TEST(accepts_sizes_at_the_limit) {
  stand_t stand = stand_open("small", 1, 0, 0);
  ufp4_descriptor_t gemm = good_gemm();
  gemm.gemm.k = UFP4_MAX_DIM;
  gemm.gemm.a_stride_blocks = gemm.gemm.b_stride_blocks = UFP4_MAX_DIM / 16;
  gemm.gemm.a_codes_addr = TOP - 2ull * (UFP4_MAX_DIM / 16) * 128;
  gemm.gemm.a_mode =
      UFP4_MODE_SLOT;  // a slot that was never written, so that no job of this size is executed
  check_bits(0, stand_job(&stand, &gemm).status, SLOT, "status with k at the limit");
  gemm.gemm.a_codes_addr += 128;
  check_bits(1, stand_job(&stand, &gemm).status, ADDRESS, "status with A over the top");
  gemm = good_gemm();
  gemm.gemm.n = UFP4_MAX_DIM;
  gemm.gemm.d_stride_bytes = 4 * UFP4_MAX_DIM;
  gemm.gemm.d_addr = TOP - 20ull * 4 * UFP4_MAX_DIM;
  gemm.gemm.a_mode = UFP4_MODE_SLOT;
  check_bits(2, stand_job(&stand, &gemm).status, SLOT, "status with n at the limit");
  gemm.gemm.d_addr += 128;
  check_bits(3, stand_job(&stand, &gemm).status, ADDRESS, "status with D over the top");
  gemm.gemm.d_stride_bytes -= 128;
  check_bits(4, stand_job(&stand, &gemm).status, MISALIGNED,
             "status with a row longer than its stride");
  stand_close(&stand);
}

// A row that just fits in its stride, and rows longer by each power of two of elements. Slots that
// were never written end a GEMM that passes the other checks.
static void try_row(stand_t *stand, const ufp4_descriptor_t *fits, uint32_t *length,
                    ufp4_descriptor_t *job, ufp4_core_status_t passes) {
  const uint32_t whole = *length;
  check_bits(whole, stand_job(stand, fits).status, passes,
             "status with a row that fills its stride");
  for (uint32_t more = 1; more < whole; more <<= 1) {
    *length = whole + more;
    check_bits(whole, stand_job(stand, job).status, MISALIGNED, "status with %u elements more",
               more);
  }
}

TEST(rejects_rows_longer_than_their_stride) {
  stand_t stand = stand_open("small", 1, 0, 0);
  ufp4_descriptor_t amax = good_quant(UFP4_OPCODE_AMAX), gemm = good_gemm(), job;
  for (uint32_t bf16 = 0; bf16 < 2; bf16++) {
    amax.quant.rows = gemm.gemm.m = 1;
    amax.quant.src_dtype = bf16 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
    amax.quant.src_stride_bytes = 4096;
    amax.quant.cols = bf16 ? 2048 : 1024;
    job = amax;
    try_row(&stand, &amax, &job.quant.cols, &job, OK);
    gemm.gemm.a_mode = UFP4_MODE_SLOT;
    gemm.gemm.a_exponent = 63;
    gemm.gemm.d_dtype = bf16 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
    gemm.gemm.d_stride_bytes = 4096;
    gemm.gemm.n = bf16 ? 2048 : 1024;
    job = gemm;
    try_row(&stand, &gemm, &job.gemm.n, &job, SLOT);
  }
  gemm.gemm.n = 1;
  gemm.gemm.a_stride_blocks = gemm.gemm.b_stride_blocks = 64;
  gemm.gemm.k = 1024;
  job = gemm;
  try_row(&stand, &gemm, &job.gemm.k, &job, SLOT);
  stand_close(&stand);
}

TEST(rejects_bad_gemm_of_nv) {
  ufp4_descriptor_t gemm = good_gemm();
  gemm.gemm.contract = UFP4_CONTRACT_NV;
  gemm.gemm.sums_stride_bytes = gemm.gemm.c_stride_bytes = 512;
  gemm.gemm.d_stride_bytes = 512;
  check_all("small-nv", gemm, nv_rules, NULL);
}

// An E8M0 byte has no bit that says which grid a block of elements mixed is on.
TEST(rejects_bad_gemm_with_e8m0_scales) {
  ufp4_descriptor_t gemm = good_gemm();
  gemm.gemm.scale = UFP4_SCALE_E8M0;
  gemm.gemm.contract = UFP4_CONTRACT_FP32;
  check_all("small-fp32", gemm, gemm_e8m0_rules, NULL);
  gemm.gemm.contract = UFP4_CONTRACT_NV;
  check_all("small-nv", gemm, gemm_e8m0_rules, NULL);
}

// The descriptor breaks one rule more at each step: the lowest status that applies wins.
TEST(rejects_with_the_lowest_status) {
  stand_t stand = stand_open("small", 1, 0, 0);
  ufp4_descriptor_t gemm = good_gemm(), quant = good_quant(UFP4_OPCODE_QUANT);
  gemm.gemm.a_mode = UFP4_MODE_SLOT;
  gemm.gemm.d_addr = 0;  // outside memory too
  check_bits(0, stand_job(&stand, &gemm).status, SLOT, "status");
  gemm.gemm.contract = 9;
  check_bits(1, stand_job(&stand, &gemm).status, UNSUPPORTED, "status");
  gemm.gemm.b_codes_addr = TOP;
  check_bits(2, stand_job(&stand, &gemm).status, ADDRESS, "status");
  gemm.gemm.a_stride_blocks = 9;
  check_bits(3, stand_job(&stand, &gemm).status, MISALIGNED, "status");
  gemm.gemm.n = 0;
  check_bits(4, stand_job(&stand, &gemm).status, SIZE, "status");
  gemm.gemm.opcode = 9;
  check_bits(5, stand_job(&stand, &gemm).status, UFP4_CORE_STATUS_BAD_OPCODE, "status");
  quant.quant.src_addr = 0;
  quant.quant.row_codes_addr = 0;
  check_bits(6, stand_job(&stand, &quant).status, READ,
             "status of a job that can neither read nor write");
  stand_close(&stand);
}

TEST(slots_are_kept) {
  stand_t stand = stand_open("small", 1, 0, 0);
  ufp4_descriptor_t amax = good_quant(UFP4_OPCODE_AMAX), gemm = good_gemm();
  const float one = 1.0f;  // the row copy's amax; the column copy's, after its transform, is 1/4
  memcpy(ufp4_sim_memory(stand.sim, STAND_DATA, sizeof one), &one, sizeof one);
  amax.quant.row_exponent = 63;
  amax.quant.col_exponent = 0;
  gemm.gemm.a_mode = gemm.gemm.b_mode = UFP4_MODE_SLOT;
  gemm.gemm.a_exponent = 63;
  check_bits(0, stand_job(&stand, &gemm).status, SLOT, "status before the slots are written");
  check_bits(1, stand_job(&stand, &amax).status, OK, "status of AMAX");
  // The largest t with 1 * 2^t / 1.75 <= 448: 9; of 1/4: 11.
  check_bits(2, stand_read(&stand, UFP4_REG_SLOT_BASE + 4 * 63), 0x10009, "slot of the row copy");
  check_bits(3, stand_read(&stand, UFP4_REG_SLOT_BASE), 0x1000B, "slot of the column copy");
  check_bits(4, stand_read(&stand, UFP4_REG_SLOT_BASE + 4), 0, "a slot that was not written");
  check_bits(5, stand_job(&stand, &gemm).status, OK, "status once they are written");
  gemm.gemm.b_exponent = 1;
  check_bits(6, stand_job(&stand, &gemm).status, SLOT, "status with another slot");
  amax.quant.src_addr = 0;
  amax.quant.row_exponent = 7;
  check_bits(7, stand_job(&stand, &amax).status, READ, "status of AMAX outside memory");
  check_bits(8, stand_read(&stand, UFP4_REG_SLOT_BASE + 4 * 7), 0, "a failed AMAX's slot");
  const float large = 0x1p100f;
  memcpy(ufp4_sim_memory(stand.sim, STAND_DATA, sizeof large), &large, sizeof large);
  amax.quant.src_addr = STAND_DATA;
  check_bits(9, stand_job(&stand, &amax).status, OK, "status of AMAX of a large number");
  check_bits(10, stand_read(&stand, UFP4_REG_SLOT_BASE + 4 * 7), 0x1FFA5,
             "the row copy's slot, which has -91");
  stand_close(&stand);
}
