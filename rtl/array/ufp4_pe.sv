// SPDX-License-Identifier: Apache-2.0
// Processing element: one 16-element block product per cycle, added to a running sum; owns one output of each
// sub-tile.
//
//   sum = base + (dot(a, b) * a_sig * b_sig << (a_exp + b_exp))      unit 2^-(18 + fracA + fracB), 64 bits, exact
//
// base is zero, the running sum (keep), or the partial sum that an earlier chunk left in bank 0 (load).
// Operands, as bit planes mag and as rest {sign[15:0], sig[3:0], exp[3:0]}, pass on to the right (a) and down
// (b) one cycle later. Stages: 1 dot product, 2 scale and shift, memory read, 3 accumulate, memory write. The
// control word of a stage is {valid, keep, load, write, bank, index}: the array's control registers of this
// column and the next two.
// Two memories, banks, of Depth sums; bank says where to write. What a drain reads
// appears at drain_data_o in the next cycle; there is no drain of bank 0 while there are loads.
// Simulation speed hangs on the shape of this module: nets at module level, sequential outputs, ports read in place.
// Golden: ufp4_gemm; docs/numerics.md, 5; tests/rtl/array.
module ufp4_pe #(
  parameter int unsigned Depth = 64,
  localparam int unsigned IndexWidth = $clog2(Depth),
  localparam int unsigned ControlWidth = 5 + IndexWidth
) (
  input  logic                    clk_i,
  input  logic                    valid1_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control2_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control3_i  /*verilator public_flat_rd*/,
  input  logic [63:0]             a_mag_i  /*verilator public_flat_rd*/,
  input  logic [23:0]             a_rest_i  /*verilator public_flat_rd*/,
  input  logic [63:0]             b_mag_i  /*verilator public_flat_rd*/,
  input  logic [23:0]             b_rest_i  /*verilator public_flat_rd*/,
  output logic [63:0]             a_mag_o,
  output logic [23:0]             a_rest_o,
  output logic [63:0]             b_mag_o,
  output logic [23:0]             b_rest_o,
  input  logic [1:0]              drain_read_i  /*verilator public_flat_rd*/,
  input  logic [IndexWidth-1:0]   drain_index_i  /*verilator public_flat_rd*/,
  output logic [63:0]             drain_data0_o,
  output logic [63:0]             drain_data1_o
);
  // One compiled function for all PEs of a simulated array.
  /*verilator no_inline_module*/

  // Stage 1: dot product; significand product and exponent beside it.
  logic signed [12:0] dot, dot_q;
  logic [7:0] sig_q;
  logic [4:0] exp_q;
  ufp4_dot u_dot (
    .a_sign_i(a_rest_i[23:8]),
    .a_mag_i,
    .b_sign_i(b_rest_i[23:8]),
    .b_mag_i,
    .dot_o(dot)
  );
  always_ff @(posedge clk_i) begin
    if (valid1_i) begin
      a_mag_o <= a_mag_i;
      a_rest_o <= a_rest_i;
      b_mag_o <= b_mag_i;
      b_rest_o <= b_rest_i;
      dot_q <= dot;
      sig_q <= 8'(a_rest_i[7:4]) * 8'(b_rest_i[7:4]);
      exp_q <= 5'(a_rest_i[3:0]) + 5'(b_rest_i[3:0]);
    end
  end

  // Stage 2: at most 2304 * 225 << 28, 48 bits with the sign.
  logic valid2, load2, load;
  logic [IndexWidth-1:0] index2;
  logic [2:0] unused_control2;
  assign {valid2, unused_control2[2], load2, unused_control2[1:0], index2} = control2_i;
  assign load = valid2 & load2;
  logic signed [19:0] scaled;
  assign scaled = 20'(dot_q) * signed'(20'(sig_q));
  logic signed [47:0] term_q;
  always_ff @(posedge clk_i) begin
    if (valid2) term_q <= 48'(scaled) <<< exp_q;
  end

  // Stage 3.
  logic valid3, keep3, load3, write3, bank3;
  logic [IndexWidth-1:0] index3;
  assign {valid3, keep3, load3, write3, bank3, index3} = control3_i;
  logic [63:0] base, sum, sum_q;
  assign base = keep3 ? sum_q : (load3 ? drain_data0_o : 64'd0);
  assign sum = base + unsigned'(64'(term_q));
  always_ff @(posedge clk_i) begin
    if (valid3) sum_q <= sum;
  end

  ufp4_sram #(.Width(64), .Depth(Depth)) u_bank0 (
    .clk_i,
    .we_i(valid3 & write3 & ~bank3),
    .waddr_i(index3),
    .wdata_i(sum),
    .re_i(load | drain_read_i[0]),
    .raddr_i(load ? index2 : drain_index_i),
    .rdata_o(drain_data0_o)
  );
  ufp4_sram #(.Width(64), .Depth(Depth)) u_bank1 (
    .clk_i,
    .we_i(valid3 & write3 & bank3),
    .waddr_i(index3),
    .wdata_i(sum),
    .re_i(drain_read_i[1]),
    .raddr_i(drain_index_i),
    .rdata_o(drain_data1_o)
  );
endmodule
