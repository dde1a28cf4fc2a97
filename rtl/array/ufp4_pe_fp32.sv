// SPDX-License-Identifier: Apache-2.0
// Processing element of the contract fp32: adds one 16-element block product per cycle to a running
// FP32 sum, and owns one output of each sub-tile.
//
//   sum = RNE32(base + block)        one rounding per block of scales (ufp4_sum_fp32)
//
// It differs from ufp4_pe in the rest of the operands, {sign[Lanes-1:0], sig[3:0], exp[8:0]}
// (ufp4_scale_number), and in two more bits of control, {valid, hold, join, keep, load, write,
// bank, index}: hold keeps a dot product for the next one of the same sum, which joins it. The
// banks hold FP32 numbers. With fewer than 16 Lanes ufp4_dot_part adds up the steps of a block;
// step_i and first_i belong to stage 1, with TARGET_FPGA to stage 2. A sum takes TURN_CYCLES to
// return, so the blocks of one output are a multiple of that apart, and blocks of other outputs
// fill the cycles between (ufp4_sequencer).
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/array.
module ufp4_pe_fp32 #(
  parameter int unsigned Depth = 64,
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC),
  parameter bit Parity = Target != 32'(ufp4_spec_pkg::TARGET_SIMULATOR),
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL),
  parameter int unsigned Lanes = 16,
  localparam int unsigned RestWidth = Lanes + 13,
  localparam int unsigned IndexWidth = $clog2(Depth),
  localparam int unsigned ControlWidth = 7 + IndexWidth
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    valid1_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control2_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control3_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control4_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control7_i  /*verilator public_flat_rd*/,
  input  logic [4*Lanes-1:0]      a_mag_i  /*verilator public_flat_rd*/,
  input  logic [RestWidth-1:0]    a_rest_i  /*verilator public_flat_rd*/,
  input  logic [4*Lanes-1:0]      b_mag_i  /*verilator public_flat_rd*/,
  input  logic [RestWidth-1:0]    b_rest_i  /*verilator public_flat_rd*/,
  output logic [4*Lanes-1:0]      a_mag_o,
  output logic [RestWidth-1:0]    a_rest_o,
  output logic [4*Lanes-1:0]      b_mag_o,
  output logic [RestWidth-1:0]    b_rest_o,
  input  logic                    step_i,
  input  logic                    first_i,
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
  if (Lanes < 16) begin : gen_part
    logic signed [12:0] part;
    ufp4_dot_part #(
      .Lanes(Lanes),
      .Registered(ufp4_pe_pkg::part_registered(Target, 32'(ufp4_spec_pkg::CONTRACT_FP32)))
    ) u_dot (
      .clk_i,
      .a_sign_i(a_rest_i[RestWidth-1:13]),
      .a_mag_i,
      .b_sign_i(b_rest_i[RestWidth-1:13]),
      .b_mag_i,
      .step_i,
      .first_i,
      .dot_o(part)
    );
    if (Target == 32'(ufp4_spec_pkg::TARGET_FPGA)) begin : gen_delay
      ufp4_delay #(.Width(13), .Cycles(ufp4_pe_pkg::DotStages - 1)) u_part (
        .clk_i,
        .word_i(part),
        .word_o(dot)
      );
      ufp4_delay #(.Width(26), .Cycles(ufp4_pe_pkg::DotStages)) u_scales (
        .clk_i,
        .word_i({a_rest_i[12:0], b_rest_i[12:0]}),
        .word_o({dot_a, dot_b})
      );
    end else begin : gen_now
      assign dot = part;
      assign {dot_a, dot_b} = {a_rest_i[12:0], b_rest_i[12:0]};
    end
  end else begin : gen_whole
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
    logic unused_step;
    assign unused_step = step_i ^ first_i;
  end

  // Only the simulated form has an enable here; in hardware it would cost gates.
  always_ff @(posedge clk_i) begin
    if (valid1_i || Target != 32'(ufp4_spec_pkg::TARGET_SIMULATOR)) begin
      a_mag_o <= a_mag_i;
      a_rest_o <= a_rest_i;
      b_mag_o <= b_mag_i;
      b_rest_o <= b_rest_i;
    end
  end

  // Each stage uses only some bits of its control word.
  logic valid2, hold2, join2, load, keep4, load4, write, bank7;
  logic [IndexWidth-1:0] index3, index7;
  assign {valid2, hold2, join2} = control2_i[ControlWidth-1-:3];
  assign load = control3_i[ControlWidth-1] & control3_i[IndexWidth+2];
  assign index3 = control3_i[IndexWidth-1:0];
  assign {keep4, load4} = control4_i[IndexWidth+2+:2];
  assign write = control7_i[ControlWidth-1] & control7_i[IndexWidth+1];
  assign {bank7, index7} = control7_i[IndexWidth:0];
  logic unused_control;
  assign unused_control = ^{control2_i, control3_i, control4_i, control7_i};

  logic [31:0] sum;
  ufp4_sum_fp32 u_sum (
    .clk_i,
    .valid1_i,
    .dot_i(dot),
    .a_sig_i(dot_a[12:9]),
    .a_exp_i(dot_a[8:0]),
    .b_sig_i(dot_b[12:9]),
    .b_exp_i(dot_b[8:0]),
    .valid2_i(valid2),
    .add_i(valid2 & ~hold2),
    .join_i(join2),
    .keep_i(keep4),
    .load_i(load4),
    .loaded_i(drain_data0_o),
    .sum_o(sum)
  );

  ufp4_sum_banks #(
    .Width(32),
    .Depth(Depth),
    .Parity(Parity),
    .Lag(4),
    .Turns(ufp4_spec_pkg::TURN_CYCLES)
  ) u_banks (
    .clk_i,
    .rst_ni,
    .write_i({2{write}} & {bank7, ~bank7}),
    .write_index_i(index7),
    .sum_i(sum),
    .load_i(load),
    .load_index_i(index3),
    .write_mark_i(1'b0),
    .load_mark_i(1'b0),
    .drain_i(drain_read_i),
    .drain_index_i,
    .data0_o(drain_data0_o),
    .data1_o(drain_data1_o),
    .parity_o(drain_parity_o)
  );
endmodule
