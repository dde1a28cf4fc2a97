// SPDX-License-Identifier: Apache-2.0
// Dot product of 16 pairs of elements for the PEs of the contracts fp32 and nv, in the form that
// Target chooses, and the scales that belong to it.
//
//   dot_o = sum over i of a[i] * b[i], each element in its quanta (ufp4_elem_decode)
//   scale_a_o, scale_b_o = the scales that came with these elements
//   combinational; with TARGET_FPGA DotStages cycles (ufp4_pe_pkg)
//
// The rest of a side is {sign[15:0], scale[12:0]}; magnitudes and signs come from ufp4_elem_decode
// in the form for the Target.
// Golden: none of its own, part of ufp4_gemm; tests/rtl/array.
module ufp4_pe_dot #(
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC),
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL)
) (
  input  logic               clk_i,
  input  logic        [63:0] a_mag_i,
  input  logic        [28:0] a_rest_i,
  input  logic        [63:0] b_mag_i,
  input  logic        [28:0] b_rest_i,
  output logic signed [12:0] dot_o,
  output logic        [12:0] scale_a_o,
  output logic        [12:0] scale_b_o
);
  if (Target == 32'(ufp4_spec_pkg::TARGET_FPGA)) begin : gen_relative
    logic signed [12:0] relative;
    logic negative;
    ufp4_dot_relative u_dot (
      .clk_i,
      .a_sign_i(a_rest_i[28:13]),
      .a_mag_i,
      .b_sign_i(b_rest_i[28:13]),
      .b_mag_i,
      .dot_o(relative),
      .negative_o(negative)
    );
    assign dot_o = (relative ^ {13{negative}}) + 13'(negative);
    ufp4_delay #(.Width(26), .Cycles(ufp4_pe_pkg::DotStages)) u_scales (
      .clk_i,
      .word_i({a_rest_i[12:0], b_rest_i[12:0]}),
      .word_o({scale_a_o, scale_b_o})
    );
  end else begin : gen_combinational
    logic unused_clock;
    assign unused_clock = clk_i;
    assign {scale_a_o, scale_b_o} = {a_rest_i[12:0], b_rest_i[12:0]};
    if (Target == 32'(ufp4_spec_pkg::TARGET_SIMULATOR)) begin : gen_planes
      ufp4_dot_planes u_dot (
        .a_sign_i(a_rest_i[28:13]),
        .a_mag_i,
        .b_sign_i(b_rest_i[28:13]),
        .b_mag_i,
        .dot_o
      );
    end else begin : gen_cells
      ufp4_dot #(.Formats(Formats)) u_dot (
        .a_sign_i(a_rest_i[28:13]),
        .a_mag_i,
        .b_sign_i(b_rest_i[28:13]),
        .b_mag_i,
        .dot_o
      );
    end
  end
endmodule
