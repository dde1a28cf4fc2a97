// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#define SOURCE_STRIDE 640  // bytes for 70 columns, with room for 129

ufp4_descriptor_t good_quant(uint8_t opcode) {
  return (ufp4_descriptor_t){.quant = {.opcode = opcode,
                                       .flags = 1,
                                       .job = 5,
                                       .rows = 40,
                                       .cols = 70,
                                       .src_addr = RULES_DATA,
                                       .src_stride_bytes = SOURCE_STRIDE,
                                       .src_dtype = UFP4_DTYPE_F32,
                                       .elem = UFP4_ELEM_E1M2,
                                       .row_mode = UFP4_MODE_ENABLE,
                                       .col_mode = UFP4_MODE_ENABLE | UFP4_MODE_RHT,
                                       .row_codes_addr = RULES_DATA + 0x10000,
                                       .row_scales_addr = RULES_DATA + 0x20000,
                                       .col_codes_addr = RULES_DATA + 0x30000,
                                       .col_scales_addr = RULES_DATA + 0x40000,
                                       .row_stride_blocks = 8,
                                       .col_stride_blocks = 8}};
}

ufp4_descriptor_t good_gemm(void) {
  return (ufp4_descriptor_t){.gemm = {.opcode = UFP4_OPCODE_GEMM,
                                      .flags = 1,
                                      .job = 6,
                                      .m = 20,
                                      .n = 33,
                                      .k = 100,
                                      .a_codes_addr = RULES_DATA,
                                      .a_scales_addr = RULES_DATA + 0x10000,
                                      .b_codes_addr = RULES_DATA + 0x20000,
                                      .b_scales_addr = RULES_DATA + 0x30000,
                                      .d_addr = RULES_DATA + 0x40000,
                                      .a_stride_blocks = 8,
                                      .b_stride_blocks = 8,
                                      .d_stride_bytes = 256,
                                      .sums_addr = RULES_DATA + 0x50000,
                                      .c_addr = RULES_DATA + 0x60000}};
}

ufp4_descriptor_t good_addends(void) {
  ufp4_descriptor_t gemm = good_gemm();
  gemm.gemm.d_mode = UFP4_D_MODE_SUMS | UFP4_D_MODE_C;
  gemm.gemm.sums_stride_bytes = 384;
  gemm.gemm.c_stride_bytes = 256;
  return gemm;
}

ufp4_descriptor_t good_e8m0(void) {
  ufp4_descriptor_t quant = good_quant(UFP4_OPCODE_QUANT);
  quant.quant.scale = UFP4_SCALE_E8M0;
  quant.quant.scale_round = UFP4_SCALE_ROUND_DOWN;
  quant.quant.row_mode = quant.quant.col_mode = UFP4_MODE_ENABLE;
  quant.quant.row_exponent = quant.quant.col_exponent = 0;
  return quant;
}

#define QUANT_FIELD(name) \
  offsetof(ufp4_quant_descriptor_t, name), sizeof(((ufp4_quant_descriptor_t *)0)->name)
#define GEMM_FIELD(name) \
  offsetof(ufp4_gemm_descriptor_t, name), sizeof(((ufp4_gemm_descriptor_t *)0)->name)
#define BYTE(offset) offset, 1

const rule_t header_rules[] = {
    {"opcode none", BYTE(0), UFP4_OPCODE_NONE, UFP4_CORE_STATUS_BAD_OPCODE},
    {"opcode 5", BYTE(0), 5, UFP4_CORE_STATUS_BAD_OPCODE},
    {"opcode 255", BYTE(0), 255, UFP4_CORE_STATUS_BAD_OPCODE},
    {"an unknown flag", BYTE(1), 5, UNSUPPORTED},
    {"after 16", BYTE(2), 16, UNSUPPORTED},
    {"after 128", BYTE(2), 128, UNSUPPORTED},
    {0},
};

const rule_t amax_rules[] = {
    {"panels of A", QUANT_FIELD(panels), 1, UNSUPPORTED},
    {"panels of B", QUANT_FIELD(panels), 0x80, UNSUPPORTED},
    {"rows 0", QUANT_FIELD(rows), 0, SIZE},
    {"rows over the limit", QUANT_FIELD(rows), UFP4_MAX_DIM + 1, SIZE},
    {"rows 2^31", QUANT_FIELD(rows), 1u << 31, SIZE},
    {"cols 0", QUANT_FIELD(cols), 0, SIZE},
    {"cols over the limit", QUANT_FIELD(cols), 0xFFFFFFFF, SIZE},
    {"the source misaligned", QUANT_FIELD(src_addr), RULES_DATA + 64, MISALIGNED},
    {"the source stride misaligned", QUANT_FIELD(src_stride_bytes), SOURCE_STRIDE + 64, MISALIGNED},
    {"the source stride short", QUANT_FIELD(src_stride_bytes), 256, MISALIGNED},
    {"the source stride 0", QUANT_FIELD(src_stride_bytes), 0, MISALIGNED},
    {"a source stride of 2^32 - 128", QUANT_FIELD(src_stride_bytes), 0xFFFFFF80, READ},
    {"the source beyond 40 bits", QUANT_FIELD(src_addr), TOP, ADDRESS},
    {"the source far beyond 40 bits", QUANT_FIELD(src_addr), 1ull << 63, ADDRESS},
    {"the source ending at 2^40", QUANT_FIELD(src_addr), TOP - 39 * SOURCE_STRIDE - 384, READ},
    {"the source ending beyond 2^40", QUANT_FIELD(src_addr), TOP - 39 * SOURCE_STRIDE - 256,
     ADDRESS},
    {"the source of i64", QUANT_FIELD(src_dtype), UFP4_DTYPE_I64, UNSUPPORTED},
    {"elem mixed", QUANT_FIELD(elem), UFP4_ELEM_MIXED, UNSUPPORTED},
    {"elem 4", QUANT_FIELD(elem), UFP4_ELEM_KINDS, UNSUPPORTED},
    {"an unknown row mode", QUANT_FIELD(row_mode), UFP4_MODE_ENABLE | 8, UNSUPPORTED},
    {"an unknown col mode", QUANT_FIELD(col_mode), 0x80, UNSUPPORTED},
    {"the source outside memory", QUANT_FIELD(src_addr), 0x80, READ},
    {"the source's end outside memory", QUANT_FIELD(src_addr), RULES_END - 4096, READ},
    {0},
};

const rule_t amax_only_rules[] = {
    {"row slot 64", QUANT_FIELD(row_exponent), 64, SLOT},
    {"col slot 65535", QUANT_FIELD(col_exponent), 0xFFFF, SLOT},
    {"round ignored", QUANT_FIELD(round), 9, OK},
    {"scale_round ignored", QUANT_FIELD(scale_round), 9, OK},
    {"row codes ignored", QUANT_FIELD(row_codes_addr), 3, OK},
    {"row stride ignored", QUANT_FIELD(row_stride_blocks), 3, OK},
    {"scale ignored", QUANT_FIELD(scale), 3, OK},
    {"the last byte ignored", BYTE(127), 3, OK},
    {"a slot bit ignored", QUANT_FIELD(row_mode), UFP4_MODE_ENABLE | UFP4_MODE_SLOT, OK},
    {0},
};

const rule_t quant_rules[] = {
    {"row codes misaligned", QUANT_FIELD(row_codes_addr), RULES_DATA + 1, MISALIGNED},
    {"row scales misaligned", QUANT_FIELD(row_scales_addr), RULES_DATA + 16, MISALIGNED},
    {"col codes misaligned", QUANT_FIELD(col_codes_addr), RULES_DATA + 64, MISALIGNED},
    {"col scales misaligned", QUANT_FIELD(col_scales_addr), RULES_DATA + 8, MISALIGNED},
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
    {"a col stride of 2^32 - 8", QUANT_FIELD(col_stride_blocks), 0xFFFFFFF8, ADDRESS},
    {"round 2", QUANT_FIELD(round), 2, UNSUPPORTED},
    {"scale_round 2", QUANT_FIELD(scale_round), 2, UNSUPPORTED},
    {"scale_round 46", QUANT_FIELD(scale_round), UFP4_SCALE_ROUND_46, UNSUPPORTED},
    {"scale 1", QUANT_FIELD(scale), 1, UNSUPPORTED},
    {"reserved byte 105", BYTE(105), 1, UNSUPPORTED},
    {"reserved byte 127", BYTE(127), 0x80, UNSUPPORTED},
    {"row codes outside memory", QUANT_FIELD(row_codes_addr), 0, WRITE},
    {"col scales outside memory", QUANT_FIELD(col_scales_addr), RULES_END, WRITE},
    {0},
};

const rule_t gemm_rules[] = {
    {"m 0", GEMM_FIELD(m), 0, SIZE},
    {"m over the limit", GEMM_FIELD(m), UFP4_MAX_DIM + 1, SIZE},
    {"n 0", GEMM_FIELD(n), 0, SIZE},
    {"n over the limit", GEMM_FIELD(n), UFP4_MAX_DIM + 1, SIZE},
    {"k 0", GEMM_FIELD(k), 0, SIZE},
    {"k over the limit", GEMM_FIELD(k), 0x80000000, SIZE},
    {"a codes misaligned", GEMM_FIELD(a_codes_addr), RULES_DATA + 64, MISALIGNED},
    {"a scales misaligned", GEMM_FIELD(a_scales_addr), RULES_DATA + 16, MISALIGNED},
    {"b codes misaligned", GEMM_FIELD(b_codes_addr), RULES_DATA + 1, MISALIGNED},
    {"b scales misaligned", GEMM_FIELD(b_scales_addr), RULES_DATA + 127, MISALIGNED},
    {"k beyond the strides", GEMM_FIELD(k), 129, MISALIGNED},
    {"d misaligned", GEMM_FIELD(d_addr), RULES_DATA + 4, MISALIGNED},
    {"a stride misaligned", GEMM_FIELD(a_stride_blocks), 12, MISALIGNED},
    {"a stride short", GEMM_FIELD(a_stride_blocks), 0, MISALIGNED},
    {"b stride misaligned", GEMM_FIELD(b_stride_blocks), 1, MISALIGNED},
    {"b stride short", GEMM_FIELD(b_stride_blocks), 0, MISALIGNED},
    {"d stride misaligned", GEMM_FIELD(d_stride_bytes), 260, MISALIGNED},
    {"d stride short", GEMM_FIELD(d_stride_bytes), 128, MISALIGNED},
    {"a codes beyond 40 bits", GEMM_FIELD(a_codes_addr), TOP - 2 * 8 * 128 + 128, ADDRESS},
    {"a scales beyond 40 bits", GEMM_FIELD(a_scales_addr), TOP - 2 * 8 * 16 + 128, ADDRESS},
    {"b codes beyond 40 bits", GEMM_FIELD(b_codes_addr), TOP - 3 * 8 * 128 + 128, ADDRESS},
    {"b scales beyond 40 bits", GEMM_FIELD(b_scales_addr), TOP - 3 * 8 * 16 + 128, ADDRESS},
    {"d beyond 40 bits", GEMM_FIELD(d_addr), TOP - 19 * 256 - 128, ADDRESS},
    {"d ending before 2^40", GEMM_FIELD(d_addr), TOP - 19 * 256 - 256, WRITE},
    {"a stride of 2^32 - 8", GEMM_FIELD(a_stride_blocks), 0xFFFFFFF8, ADDRESS},
    {"b stride of 2^32 - 8", GEMM_FIELD(b_stride_blocks), 0xFFFFFFF8, ADDRESS},
    {"a in mixed", GEMM_FIELD(a_elem), UFP4_ELEM_MIXED, OK},
    {"b in mixed", GEMM_FIELD(b_elem), UFP4_ELEM_MIXED, OK},
    {"a_elem 4", GEMM_FIELD(a_elem), UFP4_ELEM_KINDS, UNSUPPORTED},
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
    {0},
};

const rule_t addend_rules[] = {
    {"sums misaligned", GEMM_FIELD(sums_addr), RULES_DATA + 0x50008, MISALIGNED},
    {"the sums' stride misaligned", GEMM_FIELD(sums_stride_bytes), 388, MISALIGNED},
    {"the sums' stride short", GEMM_FIELD(sums_stride_bytes), 256, MISALIGNED},
    {"sums beyond 40 bits", GEMM_FIELD(sums_addr), TOP, ADDRESS},
    {"sums ending at 2^40", GEMM_FIELD(sums_addr), TOP - 19 * 384 - 384, READ},
    {"sums ending beyond 2^40", GEMM_FIELD(sums_addr), TOP - 19 * 384 - 256, ADDRESS},
    {"sums outside memory", GEMM_FIELD(sums_addr), 0, READ},
    {"c misaligned", GEMM_FIELD(c_addr), RULES_DATA + 0x60040, MISALIGNED},
    {"c's stride misaligned", GEMM_FIELD(c_stride_bytes), 192, MISALIGNED},
    {"c's stride short", GEMM_FIELD(c_stride_bytes), 128, MISALIGNED},
    {"c beyond 40 bits", GEMM_FIELD(c_addr), 1ull << 63, ADDRESS},
    {"c ending at 2^40", GEMM_FIELD(c_addr), TOP - 19 * 256 - 256, READ},
    {"c ending beyond 2^40", GEMM_FIELD(c_addr), TOP - 19 * 256 - 128, ADDRESS},
    {"c outside memory", GEMM_FIELD(c_addr), 0x80, READ},
    {"every d mode and one more", GEMM_FIELD(d_mode), 15, UNSUPPORTED},
    {"no sums, but c", GEMM_FIELD(d_mode), UFP4_D_MODE_C, OK},
    {"no c, but sums", GEMM_FIELD(d_mode), UFP4_D_MODE_SUMS, OK},
    {0},
};

const rule_t nv_rules[] = {
    {"contract exact", GEMM_FIELD(contract), UFP4_CONTRACT_EXACT, UNSUPPORTED},
    {"contract fp32", GEMM_FIELD(contract), UFP4_CONTRACT_FP32, UNSUPPORTED},
    {"a in INT4", GEMM_FIELD(a_elem), UFP4_ELEM_INT4, UNSUPPORTED},
    {"b in INT4", GEMM_FIELD(b_elem), UFP4_ELEM_INT4, UNSUPPORTED},
    {"a in E1M2", GEMM_FIELD(a_elem), UFP4_ELEM_E1M2, OK},
    {"a in mixed", GEMM_FIELD(a_elem), UFP4_ELEM_MIXED, OK},
    {"scale e8m0", GEMM_FIELD(scale), UFP4_SCALE_E8M0, OK},
    {"scale nvfp4", GEMM_FIELD(scale), UFP4_SCALE_NVFP4, OK},
    {"scale fp32", GEMM_FIELD(scale), UFP4_SCALE_FP32, UNSUPPORTED},
    {"d of unrounded sums", GEMM_FIELD(d_dtype), UFP4_DTYPE_I64, UNSUPPORTED},
    {"d in BF16", GEMM_FIELD(d_dtype), UFP4_DTYPE_BF16, OK},
    {"earlier sums", GEMM_FIELD(d_mode), UFP4_D_MODE_SUMS, UNSUPPORTED},
    {"C", GEMM_FIELD(d_mode), UFP4_D_MODE_C, UNSUPPORTED},
    {"alpha and C", GEMM_FIELD(d_mode), UFP4_D_MODE_ALPHA | UFP4_D_MODE_C, UNSUPPORTED},
    {"alpha", GEMM_FIELD(d_mode), UFP4_D_MODE_ALPHA, OK},
    {0},
};

const rule_t e8m0_rules[] = {
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
    {"elem mixed", QUANT_FIELD(elem), UFP4_ELEM_MIXED, UNSUPPORTED},
    {0},
};

const rule_t gemm_e8m0_rules[] = {
    {"a in E2M1", GEMM_FIELD(a_elem), UFP4_ELEM_E2M1, OK},
    {"a in mixed", GEMM_FIELD(a_elem), UFP4_ELEM_MIXED, UNSUPPORTED},
    {"b in mixed", GEMM_FIELD(b_elem), UFP4_ELEM_MIXED, UNSUPPORTED},
    {"scale fp32", GEMM_FIELD(scale), UFP4_SCALE_FP32, UNSUPPORTED},
    {0},
};
