// SPDX-License-Identifier: Apache-2.0
// value_i + carry_i, modulo 2^Width, in parts of 16 bits, which find each for itself whether all below are ones: synthesis
// makes of `+` a carry that passes every bit.
// Combinational. Tests: those of what has it inside.
module ufp4_increment #(
  parameter int unsigned Width = 64
) (
  input  logic [Width-1:0] value_i,
  input  logic             carry_i,
  output logic [Width-1:0] sum_o
);
  localparam int unsigned Part = 16;
  localparam int unsigned Parts = (Width + Part - 1) / Part;
  for (genvar i = 0; i < Parts; i++) begin : gen_part
    localparam int unsigned Bits = (i == Parts - 1) ? Width - Part * i : Part;
    logic carry;
    if (i == 0) begin : gen_lowest
      assign carry = carry_i;
    end else begin : gen_higher
      assign carry = carry_i & (&value_i[Part*i-1:0]);
    end
    assign sum_o[Part*i+:Bits] = value_i[Part*i+:Bits] + Bits'(carry);
  end
endmodule
