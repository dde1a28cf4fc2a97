// SPDX-License-Identifier: Apache-2.0
// Processing element of the contract nv: takes one 16-element block product per cycle and adds
// groups of four of them to a running FP32 sum; owns one output of each sub-tile.
//
//   sum = RZ32 of base and a group of blocks, aligned and truncated, once per 64 elements (ufp4_sum_nv)
//
// It differs from ufp4_pe_fp32 in the rest of the operands, {sign[15:0], sig[3:0], fine, exp[7:0]}
// (ufp4_scale_split; with fine the unit of the elements is 2^-2, otherwise 2^-1), and in the
// control, {valid, first, turn, keep, load, write, bank, index}: first marks the first block of a
// group, and the other fields of that block are those of the group. A group takes four cycles even
// if it has fewer blocks. There are two running sums, turn 0 and 1: a sum takes TURN_CYCLES_NV to
// return, during which a group of the other turn may come (ufp4_sequencer).
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/array.
module ufp4_pe_nv #(
  parameter int unsigned Depth = 64,
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC),
  parameter bit Parity = Target != 32'(ufp4_spec_pkg::TARGET_SIMULATOR),
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL),
  localparam int unsigned IndexWidth = $clog2(Depth),
  localparam int unsigned ControlWidth = 7 + IndexWidth
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [1:0]              valid1_i  /*verilator public_flat_rd*/,
  input  logic                    valid2_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control4_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control5_i  /*verilator public_flat_rd*/,
  input  logic [1:0]              valid6_i  /*verilator public_flat_rd*/,
  input  logic [1:0]              valid8_i  /*verilator public_flat_rd*/,
  input  logic [1:0]              valid9_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control12_i  /*verilator public_flat_rd*/,
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
  // This pragma makes one compiled function for all PEs of a simulated array.
  /*verilator no_inline_module*/

  // dot_a and dot_b are the scales of both sides for this dot product.
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

  // Only the simulated form has an enable here; in hardware it would cost gates.
  always_ff @(posedge clk_i) begin
    if (valid1_i[1] || Target != 32'(ufp4_spec_pkg::TARGET_SIMULATOR)) begin
      a_mag_o <= a_mag_i;
      a_rest_o <= a_rest_i;
      b_mag_o <= b_mag_i;
      b_rest_o <= b_rest_i;
    end
  end

  // Each stage uses only some bits of its control word.
  logic load, turn4, turn5, keep5, load5, turn12, write12, bank12, begins, finish, write;
  logic [IndexWidth-1:0] index4, index12;
  assign load = (&control4_i[ControlWidth-1-:2]) & control4_i[IndexWidth+2];
  assign turn4 = control4_i[IndexWidth+4];
  assign index4 = control4_i[IndexWidth-1:0];
  assign begins = &control5_i[ControlWidth-1-:2];
  assign {turn5, keep5, load5} = control5_i[IndexWidth+2+:3];
  assign finish = &control12_i[ControlWidth-1-:2];
  assign turn12 = control12_i[IndexWidth+4];
  assign {write12, bank12, index12} = control12_i[IndexWidth+1:0];
  assign write = finish & write12;
  logic unused_control;
  assign unused_control = ^{control4_i, control5_i, control12_i};

  logic [31:0] sum;
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
    .begin_i(begins),
    .turn_i(turn5),
    .keep_i(keep5),
    .load_i(load5),
    .loaded_i(drain_data0_o),
    .align_i(&valid6_i),
    .last_i(&valid8_i),
    .end_i(&valid9_i),
    .finish_i(finish),
    .finish_turn_i(turn12),
    .sum_o(sum)
  );

  ufp4_sum_banks #(.Width(32), .Depth(Depth), .Parity(Parity), .Lag(8), .Marks(2)) u_banks (
    .clk_i,
    .rst_ni,
    .write_i({2{write}} & {bank12, ~bank12}),
    .write_index_i(index12),
    .sum_i(sum),
    .load_i(load),
    .load_index_i(index4),
    .write_mark_i(turn12),
    .load_mark_i(turn4),
    .drain_i(drain_read_i),
    .drain_index_i,
    .data0_o(drain_data0_o),
    .data1_o(drain_data1_o),
    .parity_o(drain_parity_o)
  );
endmodule
