// SPDX-License-Identifier: Apache-2.0
// Checks that every region of memory that a descriptor names lies within the address width.
//
// Contract: a region starts at addr and ends at addr + ((groups * stride) << shift) + tail: a plain tensor has
// groups = rows - 1, stride in bytes, shift 0, tail = the bytes of a row; an operand has groups = ceil(rows / 16),
// stride in blocks, shift 7 for codes and 4 for scales. bad_o: an address has a bit above ADDR_BITS, or an end lies
// beyond 2^ADDR_BITS. Sizes over MAX_DIM give no sensible answer, and need none: bad_size is the lower code.
// Latency: six cycles for each region in use, one for each that is not; done_o for one cycle. Four bits of groups are
// multiplied per cycle. Opcode fence has no regions. Golden: drivers/backends/model. Test: tests/rtl/core.
// Timed model: sim/src/timing/host/descriptor.
module ufp4_regions
  import ufp4_spec_pkg::*;
(
  input  logic                          clk_i,
  input  logic                          rst_ni,

  input  logic                          start_i,
  input  logic [8*DESCRIPTOR_BYTES-1:0] desc_i,   // stable from the cycle after start_i until done_o
  output logic                          done_o,
  output logic                          bad_o     // with done_o
);

  localparam int unsigned REGIONS = 7;
  localparam int unsigned DIGITS = 5;             // of four bits: groups below 2^20
  localparam int unsigned CODES_SHIFT = $clog2(PANEL_CODE_BYTES);
  localparam int unsigned SCALES_SHIFT = $clog2(PANEL_SCALE_BYTES);

  typedef struct packed {
    logic        enabled;
    logic [63:0] addr;
    logic [19:0] groups;
    logic [31:0] stride;
    logic [2:0]  shift;
    logic [23:0] tail;
  } region_t;

  // An unknown dtype counts as four bytes.
  function automatic region_t plain(logic enabled, logic [63:0] addr, logic [31:0] rows, logic [31:0] stride,
                                    logic [20:0] length, logic [7:0] dtype);
    return '{enabled: enabled, addr: addr, groups: 20'(rows - 32'd1), stride: stride, shift: 3'd0,
             tail: 24'(length) << ((dtype == DTYPE_BF16) ? 2'd1 : (dtype == DTYPE_I64) ? 2'd3 : 2'd2)};
  endfunction

  function automatic region_t panels(logic enabled, logic [63:0] addr, logic [31:0] rows, logic [31:0] stride,
                                     logic [2:0] shift);
    return '{enabled: enabled, addr: addr, groups: 20'((rows + 32'd15) >> 4), stride: stride, shift: shift, tail: '0};
  endfunction

  quant_descriptor_t quant;
  gemm_descriptor_t  gemm;
  logic              row, col;

  assign quant = desc_i;
  assign gemm  = desc_i;
  assign row   = quant.opcode == OPCODE_QUANT && quant.row_mode[MODE_ENABLE_BIT];
  assign col   = quant.opcode == OPCODE_QUANT && quant.col_mode[MODE_ENABLE_BIT];

  // --- The region at hand ------------------------------------------------------------------------------------------

  logic [2:0]  index_d, index_q;
  region_t     quant_region, gemm_region, region;

  always_comb begin
    unique case (index_q)
      3'd0:    quant_region = plain(1'b1, quant.src_addr, quant.rows, quant.src_stride_bytes, quant.cols[20:0],
                                    quant.src_dtype);
      3'd1:    quant_region = panels(row, quant.row_codes_addr, quant.rows, quant.row_stride_blocks,
                                     3'(CODES_SHIFT));
      3'd2:    quant_region = panels(row, quant.row_scales_addr, quant.rows, quant.row_stride_blocks,
                                     3'(SCALES_SHIFT));
      3'd3:    quant_region = panels(col, quant.col_codes_addr, quant.cols, quant.col_stride_blocks,
                                     3'(CODES_SHIFT));
      3'd4:    quant_region = panels(col, quant.col_scales_addr, quant.cols, quant.col_stride_blocks,
                                     3'(SCALES_SHIFT));
      default: quant_region = '0;
    endcase
    unique case (index_q)
      3'd0:    gemm_region = plain(1'b1, gemm.d_addr, gemm.m, gemm.d_stride_bytes, gemm.n[20:0], gemm.d_dtype);
      3'd1:    gemm_region = panels(1'b1, gemm.a_codes_addr, gemm.m, gemm.a_stride_blocks, 3'(CODES_SHIFT));
      3'd2:    gemm_region = panels(1'b1, gemm.a_scales_addr, gemm.m, gemm.a_stride_blocks, 3'(SCALES_SHIFT));
      3'd3:    gemm_region = panels(1'b1, gemm.b_codes_addr, gemm.n, gemm.b_stride_blocks, 3'(CODES_SHIFT));
      3'd4:    gemm_region = panels(1'b1, gemm.b_scales_addr, gemm.n, gemm.b_stride_blocks, 3'(SCALES_SHIFT));
      3'd5:    gemm_region = plain(gemm.d_mode[D_MODE_SUMS_BIT], gemm.sums_addr, gemm.m, gemm.sums_stride_bytes,
                                   gemm.n[20:0], DTYPE_I64);
      default: gemm_region = plain(gemm.d_mode[D_MODE_C_BIT], gemm.c_addr, gemm.m, gemm.c_stride_bytes, gemm.n[20:0],
                                   DTYPE_F32);
    endcase
    unique case (gemm.opcode)
      OPCODE_QUANT, OPCODE_AMAX: region = quant_region;
      OPCODE_GEMM:               region = gemm_region;
      default:                   region = '0;
    endcase
  end

  // --- Its end: DIGITS multiply-and-add steps, then the sum --------------------------------------------------------

  logic        busy_d, busy_q, bad_d, bad_q, last_step, region_bad;
  logic [2:0]  digit_d, digit_q;
  logic [3:0]  digit;
  logic [51:0] product_d, product_q;
  logic [59:0] region_end;

  assign digit       = 4'((region.groups << {digit_q, 2'b00}) >> 16);
  assign region_end  = 60'(region.addr[ADDR_BITS-1:0]) + (60'(product_q) << region.shift) + 60'(region.tail);
  assign region_bad  = region.addr[63:ADDR_BITS] != '0 || region_end > (60'd1 << ADDR_BITS);
  assign last_step   = !region.enabled || digit_q == 3'(DIGITS);

  always_comb begin
    busy_d    = busy_q;
    bad_d     = bad_q;
    index_d   = index_q;
    digit_d   = digit_q;
    product_d = product_q;
    if (start_i) begin
      busy_d    = 1'b1;
      bad_d     = 1'b0;
      index_d   = '0;
      digit_d   = '0;
      product_d = '0;
    end else if (busy_q && last_step) begin
      busy_d    = !done_o;
      bad_d     = bad_o;
      index_d   = index_q + 3'd1;
      digit_d   = '0;
      product_d = '0;
    end else if (busy_q) begin
      digit_d   = digit_q + 3'd1;
      product_d = (product_q << 4) + 52'(digit) * 52'(region.stride);
    end
  end

  assign done_o = busy_q && last_step && index_q == 3'(REGIONS - 1);
  assign bad_o  = bad_q || (region.enabled && region_bad);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) busy_q <= 1'b0;
    else busy_q <= busy_d;
  end

  always_ff @(posedge clk_i) begin
    bad_q     <= bad_d;
    index_q   <= index_d;
    digit_q   <= digit_d;
    product_q <= product_d;
  end

  // The fields that only other units read.
  logic unused;
  assign unused = ^{quant, gemm};

endmodule
