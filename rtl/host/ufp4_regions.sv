// SPDX-License-Identifier: Apache-2.0
// Checks that every memory region of a descriptor lies within the address width.
//
// Contract: a region starts at addr and ends at addr + ((groups * stride) << shift) + tail. A plain
// tensor has groups = rows - 1, stride in bytes, shift 0 and tail = the bytes of a row; an operand
// has groups = ceil(rows / 16), stride in blocks, and shift 7 for codes or 4 for scales. bad_o: an
// address is 2^ADDR_BITS or more, or an end lies beyond 2^ADDR_BITS. Sizes above MAX_DIM give no
// meaningful answer, which is harmless because bad_size is the lower code. The opcode fence has no
// regions.
// Latency: nine cycles per region in use, two per region that is not, and one more; done_o lasts
// one cycle. Four bits of groups are multiplied per cycle, the lowest first. Golden:
// drivers/backends/model.
// Test: tests/rtl/core. Timed model: sim/src/timing/host/descriptor.
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
  localparam int unsigned DIGITS = 5;             // digits of four bits: groups are below 2^20
  localparam int unsigned CODES_SHIFT = $clog2(PANEL_CODE_BYTES);
  localparam int unsigned SCALES_SHIFT = $clog2(PANEL_SCALE_BYTES);

  typedef struct packed {
    logic        enabled;
    logic [63:0] addr;
    logic [23:0] rows;
    logic        panels;
    logic [31:0] stride;
    logic [2:0]  shift;
    logic [23:0] tail;
  } region_t;

  // An unknown dtype counts as four bytes; ufp4_check refuses it.
  function automatic region_t plain(logic enabled, logic [63:0] addr, logic [23:0] rows, logic [31:0] stride,
                                    logic [20:0] length, logic [7:0] dtype);
    return '{enabled: enabled, addr: addr, rows: rows, panels: 1'b0, stride: stride, shift: 3'd0,
             tail: 24'(length) << ((dtype == DTYPE_BF16) ? 2'd1 : (dtype == DTYPE_I64) ? 2'd3 : 2'd2)};
  endfunction

  function automatic region_t panels(logic enabled, logic [63:0] addr, logic [23:0] rows, logic [31:0] stride,
                                     logic [2:0] shift);
    return '{enabled: enabled, addr: addr, rows: rows, panels: 1'b1, stride: stride, shift: shift, tail: '0};
  endfunction

  quant_descriptor_t quant;
  gemm_descriptor_t  gemm;
  logic              row, col;

  assign quant = desc_i;
  assign gemm  = desc_i;
  assign row   = quant.opcode == OPCODE_QUANT && quant.row_mode[MODE_ENABLE_BIT];
  assign col   = quant.opcode == OPCODE_QUANT && quant.col_mode[MODE_ENABLE_BIT];

  // --- The current region ------------------------------------------------------------------------

  logic [2:0]  index_d, index_q;
  region_t     quant_region, gemm_region, region_d, region_q;

  always_comb begin
    unique case (index_q)
      3'd0:    quant_region = plain(1'b1, quant.src_addr, quant.rows[23:0], quant.src_stride_bytes, quant.cols[20:0],
                                    quant.src_dtype);
      3'd1:    quant_region = panels(row, quant.row_codes_addr, quant.rows[23:0], quant.row_stride_blocks,
                                     3'(CODES_SHIFT));
      3'd2:    quant_region = panels(row, quant.row_scales_addr, quant.rows[23:0], quant.row_stride_blocks,
                                     3'(SCALES_SHIFT));
      3'd3:    quant_region = panels(col, quant.col_codes_addr, quant.cols[23:0], quant.col_stride_blocks,
                                     3'(CODES_SHIFT));
      3'd4:    quant_region = panels(col, quant.col_scales_addr, quant.cols[23:0], quant.col_stride_blocks,
                                     3'(SCALES_SHIFT));
      default: quant_region = '0;
    endcase
    unique case (index_q)
      3'd0:    gemm_region = plain(1'b1, gemm.d_addr, gemm.m[23:0], gemm.d_stride_bytes, gemm.n[20:0], gemm.d_dtype);
      3'd1:    gemm_region = panels(1'b1, gemm.a_codes_addr, gemm.m[23:0], gemm.a_stride_blocks, 3'(CODES_SHIFT));
      3'd2:    gemm_region = panels(1'b1, gemm.a_scales_addr, gemm.m[23:0], gemm.a_stride_blocks, 3'(SCALES_SHIFT));
      3'd3:    gemm_region = panels(1'b1, gemm.b_codes_addr, gemm.n[23:0], gemm.b_stride_blocks, 3'(CODES_SHIFT));
      3'd4:    gemm_region = panels(1'b1, gemm.b_scales_addr, gemm.n[23:0], gemm.b_stride_blocks, 3'(SCALES_SHIFT));
      3'd5:    gemm_region = plain(gemm.d_mode[D_MODE_SUMS_BIT], gemm.sums_addr, gemm.m[23:0], gemm.sums_stride_bytes,
                                   gemm.n[20:0], DTYPE_I64);
      default: gemm_region = plain(gemm.d_mode[D_MODE_C_BIT], gemm.c_addr, gemm.m[23:0], gemm.c_stride_bytes,
                                   gemm.n[20:0], DTYPE_F32);
    endcase
    unique case (gemm.opcode)
      OPCODE_QUANT, OPCODE_AMAX: region_d = quant_region;
      OPCODE_GEMM:               region_d = gemm_region;
      default:                   region_d = '0;
    endcase
  end

  // --- Its end -----------------------------------------------------------------------------------

  // Steps: the region; groups, and where the region would end without them; DIGITS digits times
  // stride, each added in the step after; the end, which the first step of the next region
  // compares.

  localparam logic [3:0] StepGroups = 4'd1;
  localparam logic [3:0] StepDigit = 4'd2;
  localparam logic [3:0] StepEnd = StepDigit + 4'(DIGITS) + 4'd1;

  logic              busy_d, busy_q, done_d, done_q, bad_d, bad_q, last_step, ends_d, ends_q;
  logic [3:0]        step_d, step_q;
  logic [19:0]       groups_d, groups_q;
  logic [23:0]       counted;
  logic [40:0]       base_d, base_q;          // addr + tail
  logic [1:0][19:0]  digit_q;                 // a digit times the halves of stride
  logic [35:0]       upper, columns, carries;
  logic [36:0]       sum;                     // of the products up to this digit, in units of this digit
  logic [32:0]       product_q;               // the product without its lowest digits
  logic [19:0]       low_q;                   // its lowest digits
  logic [58:0]       moved;
  logic [41:0]       end_d, end_q;            // addr + tail + ((groups * stride << shift) modulo 2^41)
  logic              over_q;                  // groups * stride << shift is 2^41 or more
  logic              high_q, region_bad;      // high_q: the address is 2^ADDR_BITS or more

  assign counted  = region_q.rows + (region_q.panels ? 24'd15 : '1);
  assign groups_d = region_q.panels ? counted[23:4] : counted[19:0];
  ufp4_add_halves #(.Width(ADDR_BITS)) u_base (
    .a_i(region_q.addr[ADDR_BITS-1:0]), .b_i(ADDR_BITS'(region_q.tail)), .sum_o(base_d)
  );

  // A carry-save step reduces three terms to two.
  assign upper   = {digit_q[1], 16'd0};
  assign columns = 36'(product_q) ^ upper ^ 36'(digit_q[0]);
  assign carries = 36'({(product_q & upper[32:0]) | ((product_q | upper[32:0]) & 33'(digit_q[0])), 1'b0});
  ufp4_add_halves #(.Width(36)) u_product (.a_i(columns), .b_i(carries), .sum_o(sum));

  assign moved = 59'({product_q, low_q}) << region_q.shift;
  ufp4_add_halves #(.Width(ADDR_BITS + 1)) u_end (.a_i(moved[ADDR_BITS:0]), .b_i(base_q), .sum_o(end_d));

  assign region_bad = high_q || over_q || end_q > 42'(64'd1 << ADDR_BITS);
  assign last_step  = region_q.enabled ? step_q == StepEnd : step_q == StepGroups;
  assign ends_d     = busy_q && region_q.enabled && step_q == StepEnd;

  always_comb begin
    busy_d  = busy_q;
    done_d  = 1'b0;
    index_d = index_q;
    step_d  = step_q;
    bad_d   = bad_q || (ends_q && region_bad);
    if (start_i) begin
      busy_d  = 1'b1;
      bad_d   = 1'b0;
      index_d = '0;
      step_d  = '0;
    end else if (busy_q && step_q != '0 && last_step) begin
      done_d  = index_q == 3'(REGIONS - 1);
      busy_d  = !done_d;
      index_d = index_q + 3'd1;
      step_d  = '0;
    end else if (busy_q) begin
      step_d  = step_q + 4'd1;
    end
  end

  assign done_o = done_q;
  assign bad_o  = bad_d;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) {busy_q, done_q, ends_q} <= '0;
    else {busy_q, done_q, ends_q} <= {busy_d, done_d, ends_d};
  end

  always_ff @(posedge clk_i) begin
    bad_q   <= bad_d;
    index_q <= index_d;
    step_q  <= step_d;
    if (step_q == '0) region_q <= region_d;
    base_q     <= base_d;
    groups_q   <= (step_q == StepGroups) ? groups_d : groups_q >> 4;
    digit_q[0] <= 20'(groups_q[3:0]) * 20'(region_q.stride[15:0]);
    digit_q[1] <= 20'(groups_q[3:0]) * 20'(region_q.stride[31:16]);
    if (step_q == StepDigit) product_q <= '0;
    else if (step_q != StepEnd) {product_q, low_q} <= {sum, low_q[19:4]};
    end_q  <= end_d;
    over_q <= |moved[58:ADDR_BITS+1];
    high_q <= region_q.addr[63:ADDR_BITS] != '0;
  end

  // Other units read the remaining fields.
  logic unused;
  assign unused = ^{quant, gemm};

endmodule
