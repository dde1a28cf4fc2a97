// SPDX-License-Identifier: Apache-2.0
// A word of four segments of 16 bits and the carries into the upper three, which no segment has taken in yet, to the sum of
// both, modulo 2^64: what ufp4_sum_exact keeps in the form for cells, and ufp4_epilogue makes of it and earlier sums.
// A segment takes in its own carry and that of the segment below, none, one or both of them. It is there with 0, 1
// and 2 added before the carries are known, so a carry passes two gates a segment.
// Combinational. Tests: tests/rtl/vectors.
module ufp4_sum_resolve (
  input  logic [66:0] word_i,
  output logic [63:0] sum_o,
  output logic [2:0]  zero_o    // the lower three segments of the sum are zero, each for itself
);
  for (genvar i = 0; i < 4; i++) begin : gen_segment
    logic own, below;  // carries into the segment
    logic [15:0] plus0, plus1, plus2;
    assign plus0 = word_i[16*i+:16];
    assign plus1 = plus0 + 16'd1;
    assign plus2 = {plus0[15:1] + 15'd1, plus0[0]};
    assign sum_o[16*i+:16] = (own & below) ? plus2 : (own | below) ? plus1 : plus0;
    if (i == 0) begin : gen_lowest
      assign {own, below} = 2'b00;
    end else begin : gen_higher
      assign own = word_i[63+i];
      assign below = gen_segment[i-1].gen_carry.carry;
    end
    if (i != 3) begin : gen_carry
      logic carry;
      assign zero_o[i] = (own & below) ? plus0 == 16'hFFFE : (own | below) ? plus0 == 16'hFFFF : plus0 == 16'd0;
      assign carry = (&plus0[15:1]) & (plus0[0] ? own | below : own & below);
    end
  end
endmodule
