// SPDX-License-Identifier: Apache-2.0
// The checks of a descriptor that need no arithmetic over several cycles: all except regions and
// slots.
//
// Contract: an output is high if any rule of its status is broken (docs/ip/registers.md, "Values of
// core_status"). Several may be high: the command unit reports the lowest status. Fields that the
// command ignores are not checked: those of a copy that is not enabled, and for AMAX round,
// scale_round and everything after col_exponent.
// Latency: two cycles, during which desc_i is stable. Golden: drivers/backends/model. Test:
// tests/rtl/core (one descriptor per rule, then random ones). Timed model:
// sim/src/timing/host/descriptor.
module ufp4_check
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned Contract = 32'(CONTRACT_EXACT),
  parameter int unsigned Formats = 32'(FORMATS_ALL),
  parameter int unsigned Quant = 16,
  parameter bit Mixed = 1'b0
) (
  input  logic                          clk_i,
  input  logic [8*DESCRIPTOR_BYTES-1:0] desc_i,
  output logic                          bad_opcode_o,
  output logic                          bad_size_o,
  output logic                          misaligned_o,
  output logic                          unsupported_o
);

  localparam int unsigned ALIGN_W = $clog2(ALIGN_BYTES);
  localparam int unsigned BLOCKS_W = $clog2(ALIGN_BLOCKS);
  localparam logic [7:0] COPY_MODES = 8'((1 << MODE_ENABLE_BIT) | (1 << MODE_RHT_BIT) | (1 << MODE_SLOT_BIT));
  localparam logic [7:0] OPERAND_MODES = 8'(1 << MODE_SLOT_BIT);
  localparam logic [7:0] D_MODES = 8'((1 << D_MODE_SUMS_BIT) | (1 << D_MODE_ALPHA_BIT) | (1 << D_MODE_C_BIT));
  localparam logic [7:0] FLAGS = 8'd3;
  localparam logic [7:0] DISTANCES = 8'd15;

  function automatic logic bad_size(logic [31:0] size);
    return size == '0 || size > MAX_DIM;
  endfunction

  // An unknown dtype counts as four bytes; unsupported reports it.
  function automatic logic [1:0] log2_bytes(logic [7:0] dtype);
    return (dtype == DTYPE_BF16) ? 2'd1 : (dtype == DTYPE_I64) ? 2'd3 : 2'd2;
  endfunction

  // The PEs multiply this element format.
  function automatic logic multiplies(logic [7:0] elem);
    return (elem == ELEM_E2M1 && Formats inside {32'(FORMATS_ALL), 32'(FORMATS_E2M1)}) ||
           (elem == ELEM_E1M2 && Formats != 32'(FORMATS_E2M1)) ||
           (elem == ELEM_INT4 && Formats inside {32'(FORMATS_ALL), 32'(FORMATS_UNIFORM)}) ||
           (elem == ELEM_MIXED && Formats == 32'(FORMATS_ALL));
  endfunction

  // a < b, in two halves, whose carry chains are half as long.
  function automatic logic below(logic [35:0] a, logic [35:0] b);
    return a[35:18] < b[35:18] || (a[35:18] == b[35:18] && a[17:0] < b[17:0]);
  endfunction

  // A row of `length` elements does not fit in the stride in bytes, or the stride is misaligned.
  function automatic logic bad_stride(logic [31:0] stride, logic [31:0] length, logic [7:0] dtype);
    return stride[ALIGN_W-1:0] != '0 || below(36'(stride), 36'(length) << log2_bytes(dtype));
  endfunction

  // A row of `length` elements does not fit in the stride in 16-element blocks, or it is misaligned.
  function automatic logic bad_blocks(logic [31:0] stride, logic [31:0] length);
    return stride[BLOCKS_W-1:0] != '0 || below({stride, 4'd0}, 36'(length));
  endfunction

  header_descriptor_t header;
  quant_descriptor_t  quant;
  gemm_descriptor_t   gemm;
  logic               is_quant, is_amax, is_gemm, is_fence, row, col;

  assign header = desc_i[$bits(header_descriptor_t)-1:0];
  assign quant  = desc_i;
  assign gemm   = desc_i;

  assign is_quant = header.opcode == OPCODE_QUANT;
  assign is_amax  = header.opcode == OPCODE_AMAX;
  assign is_gemm  = header.opcode == OPCODE_GEMM;
  assign is_fence = header.opcode == OPCODE_FENCE;
  assign row      = quant.row_mode[MODE_ENABLE_BIT];
  assign col      = quant.col_mode[MODE_ENABLE_BIT];

  // --- QUANT and AMAX ----------------------------------------------------------------------------

  logic src_misaligned, row_misaligned, col_misaligned, source_unsupported, copies_unsupported;
  logic e4m3_unsupported, e8m0_unsupported;

  assign src_misaligned = quant.src_addr[ALIGN_W-1:0] != '0 ||
      bad_stride(quant.src_stride_bytes, quant.cols, quant.src_dtype);
  assign row_misaligned = row && (quant.row_codes_addr[ALIGN_W-1:0] != '0 || quant.row_scales_addr[ALIGN_W-1:0] != '0 ||
      bad_blocks(quant.row_stride_blocks, quant.cols));
  assign col_misaligned = col && (quant.col_codes_addr[ALIGN_W-1:0] != '0 || quant.col_scales_addr[ALIGN_W-1:0] != '0 ||
      bad_blocks(quant.col_stride_blocks, quant.rows));

  assign source_unsupported = !(quant.src_dtype inside {DTYPE_F32, DTYPE_BF16}) ||
      !(quant.elem inside {ELEM_E2M1, ELEM_E1M2, ELEM_INT4} || (Mixed && quant.elem == ELEM_MIXED)) ||
      (quant.row_mode & ~COPY_MODES) != '0 || (quant.col_mode & ~COPY_MODES) != '0 || !(row || col);
  // E8M0 has no transform, no tensor exponent, its own directions of rounding, and no bit for the
  // grid of an ELEM_MIXED block.
  assign e4m3_unsupported = quant.scale != SCALE_E4M3 || !(quant.scale_round inside {SCALE_ROUND_RNE, SCALE_ROUND_UP});
  assign e8m0_unsupported = quant.scale != SCALE_E8M0 || (Mixed && quant.elem == ELEM_MIXED) ||
      !(quant.scale_round inside {SCALE_ROUND_UP, SCALE_ROUND_DOWN}) ||
      ((quant.row_mode | quant.col_mode) & ~8'(1 << MODE_ENABLE_BIT)) != '0 ||
      (row && quant.row_exponent != '0) || (col && quant.col_exponent != '0);
  assign copies_unsupported = !(quant.round inside {ROUND_RNE, ROUND_SR}) || (e4m3_unsupported && e8m0_unsupported) ||
      quant.reserved0 != '0;

  // --- GEMM --------------------------------------------------------------------------------------

  logic gemm_misaligned, gemm_unsupported, sums_misaligned, c_misaligned, nvfp4, wide, has_sums, has_alpha, has_c;

  assign has_sums  = gemm.d_mode[D_MODE_SUMS_BIT];
  assign has_alpha = gemm.d_mode[D_MODE_ALPHA_BIT];
  assign has_c     = gemm.d_mode[D_MODE_C_BIT];
  assign nvfp4     = gemm.scale == SCALE_NVFP4;
  assign wide      = gemm.d_dtype == DTYPE_I64;

  assign sums_misaligned = has_sums && (gemm.sums_addr[ALIGN_W-1:0] != '0 ||
      bad_stride(gemm.sums_stride_bytes, gemm.n, DTYPE_I64));
  assign c_misaligned = has_c && (gemm.c_addr[ALIGN_W-1:0] != '0 || bad_stride(gemm.c_stride_bytes, gemm.n, DTYPE_F32));
  assign gemm_misaligned = gemm.a_codes_addr[ALIGN_W-1:0] != '0 || gemm.a_scales_addr[ALIGN_W-1:0] != '0 ||
      gemm.b_codes_addr[ALIGN_W-1:0] != '0 || gemm.b_scales_addr[ALIGN_W-1:0] != '0 || gemm.d_addr[ALIGN_W-1:0] != '0 ||
      bad_blocks(gemm.a_stride_blocks, gemm.k) || bad_blocks(gemm.b_stride_blocks, gemm.k) ||
      bad_stride(gemm.d_stride_bytes, gemm.n, gemm.d_dtype) || sums_misaligned || c_misaligned;

  // Rules: only the contract exact has unrounded sums, and a D of unrounded sums has no alpha and
  // no C. Only fp32 and nv have E8M0, which has no bit for the grid of an ELEM_MIXED block. NVFP4
  // requires E2M1 or ELEM_MIXED, and a tensor scale that is neither negative nor NaN. nv has no
  // INT4, and no C, because its sums would have to begin with C.
  localparam bit Exact = Contract == 32'(CONTRACT_EXACT);
  localparam bit Nv = Contract == 32'(CONTRACT_NV);
  logic any_mixed;
  assign any_mixed = gemm.a_elem == ELEM_MIXED || gemm.b_elem == ELEM_MIXED;
  assign gemm_unsupported = !(gemm.d_dtype inside {DTYPE_F32, DTYPE_BF16, DTYPE_I64}) ||
      (!Exact && (wide || has_sums)) ||
      (Nv && (has_c || gemm.a_elem == ELEM_INT4 || gemm.b_elem == ELEM_INT4)) ||
      !multiplies(gemm.a_elem) || !multiplies(gemm.b_elem) ||
      gemm.contract != 8'(Contract) ||
      !(gemm.scale inside {SCALE_E4M3, SCALE_NVFP4} || (!Exact && !any_mixed && gemm.scale == SCALE_E8M0)) ||
      (nvfp4 && (!(gemm.a_elem inside {ELEM_E2M1, ELEM_MIXED}) || !(gemm.b_elem inside {ELEM_E2M1, ELEM_MIXED}) ||
                 gemm.tensor_scale > 32'h7F80_0000)) ||
      (gemm.a_mode & ~OPERAND_MODES) != '0 || (gemm.b_mode & ~OPERAND_MODES) != '0 ||
      (gemm.d_mode & ~D_MODES) != '0 || (wide && (has_alpha || has_c)) || gemm.reserved0 != '0;

  // --- Verdicts: the broken rules, then those that apply to the command --------------------------

  typedef struct packed {
    logic opcode, header, no_gemm_panels;
    logic quant_size, source_stride, row, col, source, copies;
    logic gemm_size, gemm, gemm_unsupported;
  } broken_t;
  broken_t broken_d, broken_q;
  logic    size_d, misaligned_d, unsupported_d;

  assign broken_d = '{opcode: !(is_quant || is_amax || is_gemm || is_fence),
                      header: (header.flags & ~FLAGS) != '0 || (header.after & ~DISTANCES) != '0,
                      no_gemm_panels: header.panels != '0,
                      quant_size: bad_size(quant.rows) || bad_size(quant.cols),
                      source_stride: src_misaligned, row: row_misaligned, col: col_misaligned,
                      source: Quant == 0 || source_unsupported, copies: copies_unsupported,
                      gemm_size: bad_size(gemm.m) || bad_size(gemm.n) || bad_size(gemm.k),
                      gemm: gemm_misaligned, gemm_unsupported: gemm_unsupported};

  always_comb begin
    size_d        = 1'b0;
    misaligned_d  = 1'b0;
    unsupported_d = broken_q.header || (broken_q.no_gemm_panels && !is_gemm);
    if (is_quant || is_amax) begin
      size_d         = broken_q.quant_size;
      misaligned_d   = broken_q.source_stride || (is_quant && (broken_q.row || broken_q.col));
      unsupported_d |= broken_q.source || (is_quant && broken_q.copies);
    end
    if (is_gemm) begin
      size_d         = broken_q.gemm_size;
      misaligned_d   = broken_q.gemm;
      unsupported_d |= broken_q.gemm_unsupported;
    end
  end

  always_ff @(posedge clk_i) begin
    broken_q      <= broken_d;
    bad_opcode_o  <= broken_q.opcode;
    bad_size_o    <= size_d;
    misaligned_o  <= misaligned_d;
    unsupported_o <= unsupported_d;
  end

  // Other units read the remaining fields.
  logic unused;
  assign unused = ^{header, quant, gemm};

endmodule
