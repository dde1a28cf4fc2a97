// SPDX-License-Identifier: Apache-2.0
// Processing element of the contract nv: one 16-element block product per cycle, four of them added to a running FP32
// sum at once; owns one output of each sub-tile.
//
//   sum = RZ32 of base and a group of blocks, aligned and truncated        once for each 64 elements (ufp4_sum_nv)
//
// As ufp4_pe_fp32, but for the operands' rest {sign[15:0], sig[3:0], fine, exp[7:0]} (ufp4_scale_split; fine: the
// elements' unit is 2^-2, else 2^-1) and the control {valid, first, keep, load, write, bank, index}: first is high with the
// first block of a group, whose keep, load, write, bank and index count. A group has four cycles, whether it has four
// blocks or fewer.
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/array.
module ufp4_pe_nv #(
  parameter int unsigned Depth = 64,
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC),
  parameter bit Parity = Target != 32'(ufp4_spec_pkg::TARGET_SIMULATOR),
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL),
  localparam int unsigned IndexWidth = $clog2(Depth),
  localparam int unsigned ControlWidth = 6 + IndexWidth
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [1:0]              valid1_i  /*verilator public_flat_rd*/,
  input  logic                    valid2_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control4_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control5_i  /*verilator public_flat_rd*/,
  input  logic [1:0]              valid6_i  /*verilator public_flat_rd*/,
  input  logic [1:0]              valid7_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control8_i  /*verilator public_flat_rd*/,
  input  logic [63:0]             a_mag_i  /*verilator public_flat_rd*/,
  input  logic [28:0]             a_rest_i  /*verilator public_flat_rd*/,
  input  logic [63:0]             b_mag_i  /*verilator public_flat_rd*/,
  input  logic [28:0]             b_rest_i  /*verilator public_flat_rd*/,
  output logic [63:0]             a_mag_o,
  output logic [28:0]             a_rest_o,
  output logic [63:0]             b_mag_o,
  output logic [28:0]             b_rest_o,
  input  logic [1:0]              drain_read_i  /*verilator public_flat_rd*/,
  input  logic [IndexWidth-1:0]   drain_index_i  /*verilator public_flat_rd*/,
  output logic [31:0]             drain_data0_o,
  output logic [31:0]             drain_data1_o,
  output logic [1:0]              drain_parity_o
);
  // One compiled function for all PEs of a simulated array.
  /*verilator no_inline_module*/

  // What goes with dot: its block's scales, of each side.
  logic signed [12:0] dot;
  logic [12:0] dot_a, dot_b;
  ufp4_pe_dot #(.Target(Target), .Formats(Formats)) u_dot (
    .clk_i,
    .a_mag_i,
    .a_rest_i,
    .b_mag_i,
    .b_rest_i,
    .dot_o(dot),
    .scale_a_o(dot_a),
    .scale_b_o(dot_b)
  );

  // Operands move on in every cycle, where there is no enable to be paid for.
  always_ff @(posedge clk_i) begin
    if (valid1_i[1] || Target != 32'(ufp4_spec_pkg::TARGET_SIMULATOR)) begin
      a_mag_o <= a_mag_i;
      a_rest_o <= a_rest_i;
      b_mag_o <= b_mag_i;
      b_rest_o <= b_rest_i;
    end
  end

  logic valid4, first4, load4, load, valid5, first5, keep5, load5, valid8, first8, write8, bank8;
  logic [IndexWidth-1:0] index4, index8;
  logic unused_keep4, unused_keep8, unused_load8;
  logic [1:0] unused_write4;
  logic [IndexWidth+1:0] unused_index5;
  assign {valid4, first4, unused_keep4, load4, unused_write4, index4} = control4_i;
  assign {valid5, first5, keep5, load5, unused_index5} = control5_i;
  assign {valid8, first8, unused_keep8, unused_load8, write8, bank8, index8} = control8_i;
  assign load = valid4 & first4 & load4;

  logic [31:0] sum;
  logic write;
  ufp4_sum_nv u_sum (
    .clk_i,
    .valid1_i(valid1_i[1]),
    .first_i(valid1_i[0]),
    .dot_i(dot),
    .a_sig_i(dot_a[12:9]),
    .a_fine_i(dot_a[8]),
    .a_exp_i(dot_a[7:0]),
    .b_sig_i(dot_b[12:9]),
    .b_fine_i(dot_b[8]),
    .b_exp_i(dot_b[7:0]),
    .valid2_i,
    .begin_i(valid5 & first5),
    .keep_i(keep5),
    .load_i(load5),
    .loaded_i(drain_data0_o),
    .middle_i(&valid6_i),
    .last_i(&valid7_i),
    .finish_i(valid8 & first8),
    .sum_o(sum)
  );

  assign write = valid8 & first8 & write8;
  ufp4_sum_banks #(.Width(32), .Depth(Depth), .Parity(Parity)) u_banks (
    .clk_i,
    .rst_ni,
    .write_i({2{write}} & {bank8, ~bank8}),
    .write_index_i(index8),
    .sum_i(sum),
    .load_i(load),
    .load_index_i(index4),
    .drain_i(drain_read_i),
    .drain_index_i,
    .data0_o(drain_data0_o),
    .data1_o(drain_data1_o),
    .parity_o(drain_parity_o)
  );
endmodule
