// SPDX-License-Identifier: Apache-2.0
// Processing element of the contract exact in the form for simulators, which computes in one step
// what ufp4_pe computes in several stages.
//
//   sum = base + dot(a, b) * a_scale * b_scale        unit 2^-(18 + fracA + fracB), 64 bits, exact
//
// base is zero, the running sum (keep), or the loaded sum (load). Operands are words
// (ufp4_words_pkg); with fewer than 16 Lanes the words of a step are the first Lanes / 4, and the
// others are zero. Scales are numbers in units of 2^-9. step_i marks a step and first_i the first
// step of a block; valid_i, with the last step, makes sum_o the running sum. sum_o is
// combinational.
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/vectors, tests/rtl/array.
module ufp4_pe_words #(
  parameter int unsigned Lanes = 16
) (
  input  logic        clk_i,
  input  logic        step_i,
  input  logic        first_i,
  input  logic        valid_i,
  input  logic        keep_i,
  input  logic        load_i,
  input  logic [63:0] loaded_i,
  input  logic [63:0] a0_i,
  input  logic [63:0] a1_i,
  input  logic [63:0] a2_i,
  input  logic [63:0] a3_i,
  input  logic [63:0] a_scale_i,
  input  logic [63:0] b0_i,
  input  logic [63:0] b1_i,
  input  logic [63:0] b2_i,
  input  logic [63:0] b3_i,
  input  logic [63:0] b_scale_i,
  output logic [63:0] sum_o
);
  // verilator lint_off UNUSEDSIGNAL
  logic [63:0] products, dot;
  // verilator lint_on UNUSEDSIGNAL
  assign products = a0_i * b0_i + a1_i * b1_i + a2_i * b2_i + a3_i * b3_i + ufp4_words_pkg::Half;
  if (Lanes < 16) begin : gen_steps
    logic [63:0] dot_q;
    assign dot = (first_i ? 64'd0 : dot_q) + {{48{products[63]}}, products[63:48]};
    always_ff @(posedge clk_i) begin
      if (step_i) dot_q <= dot;
    end
  end else begin : gen_block
    assign dot = {{48{products[63]}}, products[63:48]};
    logic unused_step;
    assign unused_step = step_i ^ first_i;
  end

  logic [63:0] sum_q;
  assign sum_o = (keep_i ? sum_q : load_i ? loaded_i : 64'd0) + dot * (a_scale_i * b_scale_i);
  always_ff @(posedge clk_i) begin
    if (valid_i) sum_q <= sum_o;
  end
endmodule
