// SPDX-License-Identifier: Apache-2.0
// A word of an accumulator memory to the 64 bits that the drain takes: adds the carries between segments that
// ufp4_sum_exact left in bits of their own.
// Combinational. Tests: tests/rtl/vectors.
module ufp4_sum_resolve #(
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC),
  localparam int unsigned SumWidth = ufp4_pe_pkg::sum_width(Target)
) (
  input  logic [SumWidth-1:0] word_i,
  output logic [63:0]         sum_o
);
  if (SumWidth == 64) begin : gen_plain
    assign sum_o = word_i;
  end else begin : gen_segments
    assign sum_o[15:0] = word_i[15:0];
    assign sum_o[63:16] = word_i[63:16] + {15'd0, word_i[66], 15'd0, word_i[65], 15'd0, word_i[64]};
  end
endmodule
