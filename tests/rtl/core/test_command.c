// SPDX-License-Identifier: Apache-2.0
// The command unit: what it says to malformed descriptors, and exponent slots.
#include <string.h>

#include "bench.h"

#define SOURCE_STRIDE 640  // of 70 columns, with room for 129

// A legal descriptor of each kind, one field of it set to something, and the status that this must
// have.

static ufp4_descriptor_t good_quant(uint8_t opcode) {
  return (ufp4_descriptor_t){.quant = {.opcode = opcode,
                                       .flags = 1,
                                       .job = 5,
                                       .rows = 40,
                                       .cols = 70,
                                       .src_addr = BENCH_DATA,
                                       .src_stride_bytes = SOURCE_STRIDE,
                                       .src_dtype = UFP4_DTYPE_F32,
                                       .elem = UFP4_ELEM_E1M2,
                                       .row_mode = UFP4_MODE_ENABLE,
                                       .col_mode = UFP4_MODE_ENABLE | UFP4_MODE_RHT,
                                       .row_codes_addr = BENCH_DATA + 0x10000,
                                       .row_scales_addr = BENCH_DATA + 0x20000,
                                       .col_codes_addr = BENCH_DATA + 0x30000,
                                       .col_scales_addr = BENCH_DATA + 0x40000,
                                       .row_stride_blocks = 8,
                                       .col_stride_blocks = 8}};
}

static ufp4_descriptor_t good_gemm(void) {
  return (ufp4_descriptor_t){.gemm = {.opcode = UFP4_OPCODE_GEMM,
                                      .flags = 1,
                                      .job = 6,
                                      .m = 20,
                                      .n = 33,
                                      .k = 100,
                                      .a_codes_addr = BENCH_DATA,
                                      .a_scales_addr = BENCH_DATA + 0x10000,
                                      .b_codes_addr = BENCH_DATA + 0x20000,
                                      .b_scales_addr = BENCH_DATA + 0x30000,
                                      .d_addr = BENCH_DATA + 0x40000,
                                      .a_stride_blocks = 8,
                                      .b_stride_blocks = 8,
                                      .d_stride_bytes = 256}};
}

typedef struct {
  const char *what;
  size_t offset, bytes;
  uint64_t value;
  ufp4_core_status_t want;
} rule_t;

#define QUANT_FIELD(name) \
  offsetof(ufp4_quant_descriptor_t, name), sizeof(((ufp4_quant_descriptor_t *)0)->name)
#define GEMM_FIELD(name) \
  offsetof(ufp4_gemm_descriptor_t, name), sizeof(((ufp4_gemm_descriptor_t *)0)->name)
#define BYTE(offset) offset, 1
#define OK UFP4_CORE_STATUS_OK
#define SIZE UFP4_CORE_STATUS_BAD_SIZE
#define MISALIGNED UFP4_CORE_STATUS_MISALIGNED
#define ADDRESS UFP4_CORE_STATUS_BAD_ADDRESS
#define UNSUPPORTED UFP4_CORE_STATUS_UNSUPPORTED
#define SLOT UFP4_CORE_STATUS_BAD_SLOT
#define READ UFP4_CORE_STATUS_READ_ERROR
#define WRITE UFP4_CORE_STATUS_WRITE_ERROR
#define TOP (1ull << 40)

static const rule_t header_rules[] = {
    {"opcode none", BYTE(0), UFP4_OPCODE_NONE, UFP4_CORE_STATUS_BAD_OPCODE},
    {"opcode 5", BYTE(0), 5, UFP4_CORE_STATUS_BAD_OPCODE},
    {"opcode 255", BYTE(0), 255, UFP4_CORE_STATUS_BAD_OPCODE},
    {"an unknown flag", BYTE(1), 5, UNSUPPORTED},
    {"after 16", BYTE(2), 16, UNSUPPORTED},
    {"after 128", BYTE(2), 128, UNSUPPORTED},
};

static const rule_t amax_rules[] = {
    {"panels of A", QUANT_FIELD(panels), 1, UNSUPPORTED},
    {"panels of B", QUANT_FIELD(panels), 0x80, UNSUPPORTED},
    {"rows 0", QUANT_FIELD(rows), 0, SIZE},
    {"rows over the limit", QUANT_FIELD(rows), UFP4_MAX_DIM + 1, SIZE},
    {"rows 2^31", QUANT_FIELD(rows), 1u << 31, SIZE},
    {"cols 0", QUANT_FIELD(cols), 0, SIZE},
    {"cols over the limit", QUANT_FIELD(cols), 0xFFFFFFFF, SIZE},
    {"the source misaligned", QUANT_FIELD(src_addr), BENCH_DATA + 64, MISALIGNED},
    {"the source stride misaligned", QUANT_FIELD(src_stride_bytes), SOURCE_STRIDE + 64, MISALIGNED},
    {"the source stride short", QUANT_FIELD(src_stride_bytes), 256, MISALIGNED},
    {"the source beyond 40 bits", QUANT_FIELD(src_addr), TOP, ADDRESS},
    {"the source far beyond 40 bits", QUANT_FIELD(src_addr), 1ull << 63, ADDRESS},
    {"the source ending at 2^40", QUANT_FIELD(src_addr), TOP - 39 * SOURCE_STRIDE - 384, READ},
    {"the source ending beyond 2^40", QUANT_FIELD(src_addr), TOP - 39 * SOURCE_STRIDE - 256,
     ADDRESS},
    {"the source of i64", QUANT_FIELD(src_dtype), UFP4_DTYPE_I64, UNSUPPORTED},
    {"elem 3", QUANT_FIELD(elem), 3, UNSUPPORTED},
    {"an unknown row mode", QUANT_FIELD(row_mode), UFP4_MODE_ENABLE | 8, UNSUPPORTED},
    {"an unknown col mode", QUANT_FIELD(col_mode), 0x80, UNSUPPORTED},
    {"the source outside memory", QUANT_FIELD(src_addr), 0x80, READ},
    {"the source's end outside memory", QUANT_FIELD(src_addr),
     BENCH_MEMORY + BENCH_MEMORY_BYTES - 4096, READ},
};

static const rule_t amax_only_rules[] = {
    {"row slot 64", QUANT_FIELD(row_exponent), 64, SLOT},
    {"col slot 65535", QUANT_FIELD(col_exponent), 0xFFFF, SLOT},
    {"round ignored", QUANT_FIELD(round), 9, OK},
    {"scale_round ignored", QUANT_FIELD(scale_round), 9, OK},
    {"row codes ignored", QUANT_FIELD(row_codes_addr), 3, OK},
    {"row stride ignored", QUANT_FIELD(row_stride_blocks), 3, OK},
    {"scale ignored", QUANT_FIELD(scale), 3, OK},
    {"the last byte ignored", BYTE(127), 3, OK},
    {"a slot bit ignored", QUANT_FIELD(row_mode), UFP4_MODE_ENABLE | UFP4_MODE_SLOT, OK},
};

static const rule_t quant_rules[] = {
    {"row codes misaligned", QUANT_FIELD(row_codes_addr), BENCH_DATA + 1, MISALIGNED},
    {"row scales misaligned", QUANT_FIELD(row_scales_addr), BENCH_DATA + 16, MISALIGNED},
    {"col codes misaligned", QUANT_FIELD(col_codes_addr), BENCH_DATA + 64, MISALIGNED},
    {"col scales misaligned", QUANT_FIELD(col_scales_addr), BENCH_DATA + 8, MISALIGNED},
    {"row stride misaligned", QUANT_FIELD(row_stride_blocks), 9, MISALIGNED},
    {"row stride short", QUANT_FIELD(row_stride_blocks), 0, MISALIGNED},
    {"col stride misaligned", QUANT_FIELD(col_stride_blocks), 12, MISALIGNED},
    {"col stride short", QUANT_FIELD(col_stride_blocks), 0, MISALIGNED},
    {"rows beyond the col stride", QUANT_FIELD(rows), 129, MISALIGNED},
    {"cols beyond the row stride", QUANT_FIELD(cols), 129, MISALIGNED},
    {"row codes beyond 40 bits", QUANT_FIELD(row_codes_addr), TOP - 3 * 8 * 128 + 128, ADDRESS},
    {"row codes ending at 2^40", QUANT_FIELD(row_codes_addr), TOP - 3 * 8 * 128, WRITE},
    {"row scales beyond 40 bits", QUANT_FIELD(row_scales_addr), TOP - 3 * 8 * 16 + 128, ADDRESS},
    {"row scales ending at 2^40", QUANT_FIELD(row_scales_addr), TOP - 3 * 8 * 16, WRITE},
    {"col codes beyond 40 bits", QUANT_FIELD(col_codes_addr), TOP - 5 * 8 * 128 + 128, ADDRESS},
    {"col codes ending at 2^40", QUANT_FIELD(col_codes_addr), TOP - 5 * 8 * 128, WRITE},
    {"col scales beyond 40 bits", QUANT_FIELD(col_scales_addr), TOP - 5 * 8 * 16 + 128, ADDRESS},
    {"a row stride of 2^32 - 8", QUANT_FIELD(row_stride_blocks), 0xFFFFFFF8, ADDRESS},
    {"round 2", QUANT_FIELD(round), 2, UNSUPPORTED},
    {"scale_round 2", QUANT_FIELD(scale_round), 2, UNSUPPORTED},
    {"scale 1", QUANT_FIELD(scale), 1, UNSUPPORTED},
    {"reserved byte 105", BYTE(105), 1, UNSUPPORTED},
    {"reserved byte 127", BYTE(127), 0x80, UNSUPPORTED},
    {"row codes outside memory", QUANT_FIELD(row_codes_addr), 0, WRITE},
    {"col scales outside memory", QUANT_FIELD(col_scales_addr), BENCH_MEMORY + BENCH_MEMORY_BYTES,
     WRITE},
};

static const rule_t gemm_rules[] = {
    {"m 0", GEMM_FIELD(m), 0, SIZE},
    {"n over the limit", GEMM_FIELD(n), UFP4_MAX_DIM + 1, SIZE},
    {"k 0", GEMM_FIELD(k), 0, SIZE},
    {"k over the limit", GEMM_FIELD(k), 0x80000000, SIZE},
    {"a codes misaligned", GEMM_FIELD(a_codes_addr), BENCH_DATA + 64, MISALIGNED},
    {"a scales misaligned", GEMM_FIELD(a_scales_addr), BENCH_DATA + 16, MISALIGNED},
    {"b codes misaligned", GEMM_FIELD(b_codes_addr), BENCH_DATA + 1, MISALIGNED},
    {"b scales misaligned", GEMM_FIELD(b_scales_addr), BENCH_DATA + 127, MISALIGNED},
    {"k beyond the strides", GEMM_FIELD(k), 129, MISALIGNED},
    {"d misaligned", GEMM_FIELD(d_addr), BENCH_DATA + 4, MISALIGNED},
    {"a stride misaligned", GEMM_FIELD(a_stride_blocks), 12, MISALIGNED},
    {"a stride short", GEMM_FIELD(a_stride_blocks), 0, MISALIGNED},
    {"b stride misaligned", GEMM_FIELD(b_stride_blocks), 1, MISALIGNED},
    {"d stride misaligned", GEMM_FIELD(d_stride_bytes), 260, MISALIGNED},
    {"d stride short", GEMM_FIELD(d_stride_bytes), 128, MISALIGNED},
    {"a codes beyond 40 bits", GEMM_FIELD(a_codes_addr), TOP - 2 * 8 * 128 + 128, ADDRESS},
    {"b scales beyond 40 bits", GEMM_FIELD(b_scales_addr), TOP - 3 * 8 * 16 + 128, ADDRESS},
    {"d beyond 40 bits", GEMM_FIELD(d_addr), TOP - 19 * 256 - 128, ADDRESS},
    {"d ending before 2^40", GEMM_FIELD(d_addr), TOP - 19 * 256 - 256, WRITE},
    {"a stride of 2^32 - 8", GEMM_FIELD(a_stride_blocks), 0xFFFFFFF8, ADDRESS},
    {"a_elem 3", GEMM_FIELD(a_elem), 3, UNSUPPORTED},
    {"b_elem 255", GEMM_FIELD(b_elem), 255, UNSUPPORTED},
    {"d of i64 in rows too short", GEMM_FIELD(d_dtype), UFP4_DTYPE_I64, MISALIGNED},
    {"d dtype 3", GEMM_FIELD(d_dtype), 3, UNSUPPORTED},
    {"contract 1", GEMM_FIELD(contract), 1, UNSUPPORTED},
    {"scale 2", GEMM_FIELD(scale), 2, UNSUPPORTED},
    {"scale 255", GEMM_FIELD(scale), 255, UNSUPPORTED},
    {"a mode enable", GEMM_FIELD(a_mode), UFP4_MODE_ENABLE, UNSUPPORTED},
    {"b mode rht", GEMM_FIELD(b_mode), UFP4_MODE_RHT, UNSUPPORTED},
    {"b mode bit 7", GEMM_FIELD(b_mode), 0x80, UNSUPPORTED},
    {"d mode bit 3", GEMM_FIELD(d_mode), 8, UNSUPPORTED},
    {"sums without a stride", GEMM_FIELD(d_mode), UFP4_D_MODE_SUMS, MISALIGNED},
    {"c without a stride", GEMM_FIELD(d_mode), UFP4_D_MODE_C, MISALIGNED},
    {"alpha of 0", GEMM_FIELD(d_mode), UFP4_D_MODE_ALPHA, OK},
    {"c ignored", GEMM_FIELD(c_addr), ~0ull, OK},
    {"c's stride ignored", GEMM_FIELD(c_stride_bytes), 1, OK},
    {"sums ignored", GEMM_FIELD(sums_addr), ~0ull, OK},
    {"the sums' stride ignored", GEMM_FIELD(sums_stride_bytes), 1, OK},
    {"the tensor scale ignored", GEMM_FIELD(tensor_scale), ~0ull, OK},
    {"reserved byte 116", BYTE(116), 1, UNSUPPORTED},
    {"reserved byte 127", BYTE(127), 1, UNSUPPORTED},
    {"a slot never written", GEMM_FIELD(a_mode), UFP4_MODE_SLOT, SLOT},
    {"b slot never written", GEMM_FIELD(b_mode), UFP4_MODE_SLOT, SLOT},
    {"a outside memory", GEMM_FIELD(a_codes_addr), 0, READ},
    {"b scales outside memory", GEMM_FIELD(b_scales_addr), 0x100000000, READ},
    {"d outside memory", GEMM_FIELD(d_addr), 0x80, WRITE},
};

// Of a legal job with sums and C.
static const rule_t addend_rules[] = {
    {"sums misaligned", GEMM_FIELD(sums_addr), BENCH_DATA + 0x50008, MISALIGNED},
    {"the sums' stride misaligned", GEMM_FIELD(sums_stride_bytes), 388, MISALIGNED},
    {"the sums' stride short", GEMM_FIELD(sums_stride_bytes), 256, MISALIGNED},
    {"sums beyond 40 bits", GEMM_FIELD(sums_addr), TOP, ADDRESS},
    {"sums ending at 2^40", GEMM_FIELD(sums_addr), TOP - 19 * 384 - 384, READ},
    {"sums ending beyond 2^40", GEMM_FIELD(sums_addr), TOP - 19 * 384 - 256, ADDRESS},
    {"sums outside memory", GEMM_FIELD(sums_addr), 0, READ},
    {"c misaligned", GEMM_FIELD(c_addr), BENCH_DATA + 0x60040, MISALIGNED},
    {"c's stride misaligned", GEMM_FIELD(c_stride_bytes), 192, MISALIGNED},
    {"c's stride short", GEMM_FIELD(c_stride_bytes), 128, MISALIGNED},
    {"c beyond 40 bits", GEMM_FIELD(c_addr), 1ull << 63, ADDRESS},
    {"c ending at 2^40", GEMM_FIELD(c_addr), TOP - 19 * 256 - 256, READ},
    {"c ending beyond 2^40", GEMM_FIELD(c_addr), TOP - 19 * 256 - 128, ADDRESS},
    {"c outside memory", GEMM_FIELD(c_addr), 0x80, READ},
    {"no sums, but c", GEMM_FIELD(d_mode), UFP4_D_MODE_C, OK},
    {"no c, but sums", GEMM_FIELD(d_mode), UFP4_D_MODE_SUMS, OK},
};

// Of a legal job of the contract nv.
static const rule_t nv_rules[] = {
    {"contract exact", GEMM_FIELD(contract), UFP4_CONTRACT_EXACT, UNSUPPORTED},
    {"contract fp32", GEMM_FIELD(contract), UFP4_CONTRACT_FP32, UNSUPPORTED},
    {"a in INT4", GEMM_FIELD(a_elem), UFP4_ELEM_INT4, UNSUPPORTED},
    {"b in INT4", GEMM_FIELD(b_elem), UFP4_ELEM_INT4, UNSUPPORTED},
    {"a in E1M2", GEMM_FIELD(a_elem), UFP4_ELEM_E1M2, OK},
    {"scale e8m0", GEMM_FIELD(scale), UFP4_SCALE_E8M0, OK},
    {"scale nvfp4", GEMM_FIELD(scale), UFP4_SCALE_NVFP4, OK},
    {"scale fp32", GEMM_FIELD(scale), UFP4_SCALE_FP32, UNSUPPORTED},
    {"d of unrounded sums", GEMM_FIELD(d_dtype), UFP4_DTYPE_I64, UNSUPPORTED},
    {"d in BF16", GEMM_FIELD(d_dtype), UFP4_DTYPE_BF16, OK},
    {"earlier sums", GEMM_FIELD(d_mode), UFP4_D_MODE_SUMS, UNSUPPORTED},
    {"C", GEMM_FIELD(d_mode), UFP4_D_MODE_C, UNSUPPORTED},
    {"alpha and C", GEMM_FIELD(d_mode), UFP4_D_MODE_ALPHA | UFP4_D_MODE_C, UNSUPPORTED},
    {"alpha", GEMM_FIELD(d_mode), UFP4_D_MODE_ALPHA, OK},
};

// Of a legal job with E8M0 scales.
static const rule_t e8m0_rules[] = {
    {"scale_round rne", QUANT_FIELD(scale_round), UFP4_SCALE_ROUND_RNE, UNSUPPORTED},
    {"scale_round up", QUANT_FIELD(scale_round), UFP4_SCALE_ROUND_UP, OK},
    {"scale_round 3", QUANT_FIELD(scale_round), 3, UNSUPPORTED},
    {"the transform of rows", QUANT_FIELD(row_mode), UFP4_MODE_ENABLE | UFP4_MODE_RHT, UNSUPPORTED},
    {"the transform of columns", QUANT_FIELD(col_mode), UFP4_MODE_ENABLE | UFP4_MODE_RHT,
     UNSUPPORTED},
    {"a row slot", QUANT_FIELD(row_mode), UFP4_MODE_ENABLE | UFP4_MODE_SLOT, UNSUPPORTED},
    {"a column slot", QUANT_FIELD(col_mode), UFP4_MODE_SLOT, UNSUPPORTED},
    {"a row exponent", QUANT_FIELD(row_exponent), 1, UNSUPPORTED},
    {"a column exponent", QUANT_FIELD(col_exponent), 0x8000, UNSUPPORTED},
    {"scale e4m3", QUANT_FIELD(scale), UFP4_SCALE_E4M3, UNSUPPORTED},
    {"scale fp32", QUANT_FIELD(scale), UFP4_SCALE_FP32, UNSUPPORTED},
};

// A refused job leaves memory as it was, but for its completion.
static void check_rules(bench_t *bench, const ufp4_descriptor_t *good, const rule_t *rules,
                        size_t count) {
  static uint8_t before[BENCH_MEMORY + BENCH_MEMORY_BYTES - BENCH_DATA];
  const uint8_t *data = ufp4_sim_memory(bench->sim, BENCH_DATA, sizeof before);
  for (size_t i = 0; i < count; i++) {
    ufp4_descriptor_t descriptor = *good;
    memcpy(before, data, sizeof before);
    memcpy(descriptor.bytes + rules[i].offset, &rules[i].value, rules[i].bytes);  // little-endian
    const ufp4_completion_t done = bench_job(bench, &descriptor);
    check_bits((int64_t)i, done.status, rules[i].want, "status with %s", rules[i].what);
    check_bits((int64_t)i, done.job, good->header.job, "job with %s", rules[i].what);
    if (done.status != OK) check_bits((int64_t)i, done.flags, 0, "flags with %s", rules[i].what);
    if (done.status == OK || done.status >= READ) continue;
    check_bits((int64_t)i, done.cycles, 0, "cycles with %s", rules[i].what);
    check_that((int64_t)i, memcmp(before, data, sizeof before) == 0, "memory has changed with %s",
               rules[i].what);
  }
  const ufp4_completion_t after = bench_job(bench, good);
  check_bits(-1, after.status, OK, "status of the legal descriptor");
}

#define CHECK_RULES(bench, good, rules) \
  check_rules(bench, good, rules, sizeof(rules) / sizeof(rules)[0])

TEST(rejects_bad_headers) {
  bench_t bench = bench_open("small", 1, 0, 0);
  const ufp4_descriptor_t fence = bench_fence(1), quant = good_quant(UFP4_OPCODE_QUANT),
                          gemm = good_gemm();
  CHECK_RULES(&bench, &fence, header_rules);
  CHECK_RULES(&bench, &quant, header_rules);
  CHECK_RULES(&bench, &gemm, header_rules);
  bench_close(&bench);
}

TEST(rejects_bad_amax) {
  bench_t bench = bench_open("small", 1, 0, 0);
  const ufp4_descriptor_t amax = good_quant(UFP4_OPCODE_AMAX);
  CHECK_RULES(&bench, &amax, amax_rules);
  CHECK_RULES(&bench, &amax, amax_only_rules);
  bench_close(&bench);
}

TEST(rejects_bad_quant) {
  bench_t bench = bench_open("small", 1, 0, 0);
  const ufp4_descriptor_t quant = good_quant(UFP4_OPCODE_QUANT);
  CHECK_RULES(&bench, &quant, amax_rules);
  CHECK_RULES(&bench, &quant, quant_rules);
  bench_close(&bench);
}

TEST(rejects_bad_e8m0_quant) {
  bench_t bench = bench_open("small", 1, 0, 0);
  ufp4_descriptor_t quant = good_quant(UFP4_OPCODE_QUANT);
  quant.quant.scale = UFP4_SCALE_E8M0;
  quant.quant.scale_round = UFP4_SCALE_ROUND_DOWN;
  quant.quant.row_mode = quant.quant.col_mode = UFP4_MODE_ENABLE;
  quant.quant.row_exponent = quant.quant.col_exponent = 0;
  CHECK_RULES(&bench, &quant, e8m0_rules);
  bench_close(&bench);
}

TEST(rejects_bad_gemm) {
  bench_t bench = bench_open("small", 1, 0, 0);
  const ufp4_descriptor_t gemm = good_gemm();
  CHECK_RULES(&bench, &gemm, gemm_rules);
  bench_close(&bench);
}

TEST(rejects_bad_addends) {
  bench_t bench = bench_open("small", 1, 0, 0);
  ufp4_descriptor_t gemm = good_gemm();
  gemm.gemm.d_mode = UFP4_D_MODE_SUMS | UFP4_D_MODE_C;
  gemm.gemm.sums_addr = BENCH_DATA + 0x50000;
  gemm.gemm.sums_stride_bytes = 384;
  gemm.gemm.c_addr = BENCH_DATA + 0x60000;
  gemm.gemm.c_stride_bytes = 256;
  CHECK_RULES(&bench, &gemm, addend_rules);
  bench_close(&bench);
}

TEST(rejects_no_copy) {
  bench_t bench = bench_open("small", 1, 0, 0);
  ufp4_descriptor_t quant = good_quant(UFP4_OPCODE_QUANT);
  quant.quant.row_mode = UFP4_MODE_RHT;
  quant.quant.col_mode = 0;
  check_bits(0, bench_job(&bench, &quant).status, UNSUPPORTED, "status without any copy");
  bench_close(&bench);
}

// A copy that is not wanted may say anything; its mode bits must still be known ones.
TEST(ignores_the_copy_that_is_not_wanted) {
  bench_t bench = bench_open("small", 1, 0, 0);
  ufp4_descriptor_t quant = good_quant(UFP4_OPCODE_QUANT);
  quant.quant.col_mode = UFP4_MODE_RHT | UFP4_MODE_SLOT;
  quant.quant.col_codes_addr = quant.quant.col_scales_addr = ~0ull;
  quant.quant.col_stride_blocks = 3;
  quant.quant.col_exponent = 0xFFFF;
  check_bits(0, bench_job(&bench, &quant).status, OK, "status with only the row copy");
  quant = good_quant(UFP4_OPCODE_QUANT);
  quant.quant.row_mode = UFP4_MODE_SLOT;
  quant.quant.row_codes_addr = quant.quant.row_scales_addr = ~0ull;
  quant.quant.row_stride_blocks = 0;
  quant.quant.row_exponent = 0x7FFF;
  check_bits(1, bench_job(&bench, &quant).status, OK, "status with only the column copy");
  bench_close(&bench);
}

// The sizes at the limit pass the checks where the address space holds them.
TEST(accepts_sizes_at_the_limit) {
  bench_t bench = bench_open("small", 1, 0, 0);
  ufp4_descriptor_t gemm = good_gemm();
  gemm.gemm.k = UFP4_MAX_DIM;
  gemm.gemm.a_stride_blocks = gemm.gemm.b_stride_blocks = UFP4_MAX_DIM / 16;
  gemm.gemm.a_codes_addr = TOP - 2ull * (UFP4_MAX_DIM / 16) * 128;
  gemm.gemm.a_mode =
      UFP4_MODE_SLOT;  // never written: a job of this size is not what is tested here
  check_bits(0, bench_job(&bench, &gemm).status, SLOT, "status with k at the limit");
  gemm.gemm.a_codes_addr += 128;
  check_bits(1, bench_job(&bench, &gemm).status, ADDRESS, "status with A over the top");
  gemm = good_gemm();
  gemm.gemm.n = UFP4_MAX_DIM;
  gemm.gemm.d_stride_bytes = 4 * UFP4_MAX_DIM;
  gemm.gemm.d_addr = TOP - 20ull * 4 * UFP4_MAX_DIM;
  gemm.gemm.a_mode = UFP4_MODE_SLOT;
  check_bits(2, bench_job(&bench, &gemm).status, SLOT, "status with n at the limit");
  gemm.gemm.d_addr += 128;
  check_bits(3, bench_job(&bench, &gemm).status, ADDRESS, "status with D over the top");
  gemm.gemm.d_stride_bytes -= 128;
  check_bits(4, bench_job(&bench, &gemm).status, MISALIGNED,
             "status with a row longer than its stride");
  bench_close(&bench);
}

// A row that its stride just holds, and one that is longer by each power of two of elements. Slots
// that were never written end a GEMM that passes the checks.
static void try_row(bench_t *bench, const ufp4_descriptor_t *fits, uint32_t *length,
                    ufp4_descriptor_t *job, ufp4_core_status_t passes) {
  const uint32_t whole = *length;
  check_bits(whole, bench_job(bench, fits).status, passes,
             "status with a row that fills its stride");
  for (uint32_t more = 1; more < whole; more <<= 1) {
    *length = whole + more;
    check_bits(whole, bench_job(bench, job).status, MISALIGNED, "status with %u elements more",
               more);
  }
}

TEST(rejects_rows_longer_than_their_stride) {
  bench_t bench = bench_open("small", 1, 0, 0);
  ufp4_descriptor_t amax = good_quant(UFP4_OPCODE_AMAX), gemm = good_gemm(), job;
  for (uint32_t bf16 = 0; bf16 < 2; bf16++) {
    amax.quant.rows = gemm.gemm.m = 1;
    amax.quant.src_dtype = bf16 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
    amax.quant.src_stride_bytes = 4096;
    amax.quant.cols = bf16 ? 2048 : 1024;
    job = amax;
    try_row(&bench, &amax, &job.quant.cols, &job, OK);
    gemm.gemm.a_mode = UFP4_MODE_SLOT;
    gemm.gemm.a_exponent = 63;
    gemm.gemm.d_dtype = bf16 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
    gemm.gemm.d_stride_bytes = 4096;
    gemm.gemm.n = bf16 ? 2048 : 1024;
    job = gemm;
    try_row(&bench, &gemm, &job.gemm.n, &job, SLOT);
  }
  gemm.gemm.n = 1;
  gemm.gemm.a_stride_blocks = gemm.gemm.b_stride_blocks = 64;
  gemm.gemm.k = 1024;
  job = gemm;
  try_row(&bench, &gemm, &job.gemm.k, &job, SLOT);
  bench_close(&bench);
}

TEST(rejects_bad_gemm_of_nv) {
  bench_t bench = bench_open("small-nv", 1, 0, 0);
  ufp4_descriptor_t gemm = good_gemm();
  gemm.gemm.contract = UFP4_CONTRACT_NV;
  gemm.gemm.sums_addr = BENCH_DATA + 0x50000;
  gemm.gemm.c_addr = BENCH_DATA + 0x60000;
  gemm.gemm.sums_stride_bytes = gemm.gemm.c_stride_bytes = 512;
  gemm.gemm.d_stride_bytes = 512;
  CHECK_RULES(&bench, &gemm, nv_rules);
  bench_close(&bench);
}

// A descriptor that breaks one rule more at each step: the lowest status that applies wins.
TEST(rejects_with_the_lowest_status) {
  bench_t bench = bench_open("small", 1, 0, 0);
  ufp4_descriptor_t gemm = good_gemm(), quant = good_quant(UFP4_OPCODE_QUANT);
  gemm.gemm.a_mode = UFP4_MODE_SLOT;
  gemm.gemm.d_addr = 0;  // outside memory too
  check_bits(0, bench_job(&bench, &gemm).status, SLOT, "status");
  gemm.gemm.contract = 9;
  check_bits(1, bench_job(&bench, &gemm).status, UNSUPPORTED, "status");
  gemm.gemm.b_codes_addr = TOP;
  check_bits(2, bench_job(&bench, &gemm).status, ADDRESS, "status");
  gemm.gemm.a_stride_blocks = 9;
  check_bits(3, bench_job(&bench, &gemm).status, MISALIGNED, "status");
  gemm.gemm.n = 0;
  check_bits(4, bench_job(&bench, &gemm).status, SIZE, "status");
  gemm.gemm.opcode = 9;
  check_bits(5, bench_job(&bench, &gemm).status, UFP4_CORE_STATUS_BAD_OPCODE, "status");
  quant.quant.src_addr = 0;
  quant.quant.row_codes_addr = 0;
  check_bits(6, bench_job(&bench, &quant).status, READ,
             "status of a job that can neither read nor write");
  bench_close(&bench);
}

TEST(slots_are_kept) {
  bench_t bench = bench_open("small", 1, 0, 0);
  ufp4_descriptor_t amax = good_quant(UFP4_OPCODE_AMAX), gemm = good_gemm();
  const float one = 1.0f;  // amax 1 in both copies, the RHT of it 1/4
  memcpy(ufp4_sim_memory(bench.sim, BENCH_DATA, sizeof one), &one, sizeof one);
  amax.quant.row_exponent = 63;
  amax.quant.col_exponent = 0;
  gemm.gemm.a_mode = gemm.gemm.b_mode = UFP4_MODE_SLOT;
  gemm.gemm.a_exponent = 63;
  check_bits(0, bench_job(&bench, &gemm).status, SLOT, "status before the slots are written");
  check_bits(1, bench_job(&bench, &amax).status, OK, "status of AMAX");
  // The largest t with 1 * 2^t / 1.75 <= 448: 9; of 1/4: 11.
  check_bits(2, bench_read(&bench, UFP4_REG_SLOT_BASE + 4 * 63), 0x10009, "slot of the row copy");
  check_bits(3, bench_read(&bench, UFP4_REG_SLOT_BASE), 0x1000B, "slot of the column copy");
  check_bits(4, bench_read(&bench, UFP4_REG_SLOT_BASE + 4), 0, "a slot that was not written");
  check_bits(5, bench_job(&bench, &gemm).status, OK, "status once they are written");
  gemm.gemm.b_exponent = 1;
  check_bits(6, bench_job(&bench, &gemm).status, SLOT, "status with another slot");
  amax.quant.src_addr = 0;
  amax.quant.row_exponent = 7;
  check_bits(7, bench_job(&bench, &amax).status, READ, "status of AMAX outside memory");
  check_bits(8, bench_read(&bench, UFP4_REG_SLOT_BASE + 4 * 7), 0, "a failed AMAX's slot");
  const float large = 0x1p100f;
  memcpy(ufp4_sim_memory(bench.sim, BENCH_DATA, sizeof large), &large, sizeof large);
  amax.quant.src_addr = BENCH_DATA;
  check_bits(9, bench_job(&bench, &amax).status, OK, "status of AMAX of a large number");
  check_bits(10, bench_read(&bench, UFP4_REG_SLOT_BASE + 4 * 7), 0x1FFA5,
             "the row copy's slot, which has -91");
  bench_close(&bench);
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(rejects_bad_headers),
      CHECK_TEST(rejects_bad_amax),
      CHECK_TEST(rejects_bad_quant),
      CHECK_TEST(rejects_bad_e8m0_quant),
      CHECK_TEST(rejects_bad_gemm),
      CHECK_TEST(rejects_bad_addends),
      CHECK_TEST(rejects_rows_longer_than_their_stride),
      CHECK_TEST(rejects_bad_gemm_of_nv),
      CHECK_TEST(rejects_no_copy),
      CHECK_TEST(ignores_the_copy_that_is_not_wanted),
      CHECK_TEST(accepts_sizes_at_the_limit),
      CHECK_TEST(rejects_with_the_lowest_status),
      CHECK_TEST(slots_are_kept),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
