// SPDX-License-Identifier: Apache-2.0
// Adds the pending carries of an accumulator word modulo 2^64. The word is four segments of 16 bits
// and the carries into the upper three, as ufp4_sum_exact keeps them and the first addition of
// ufp4_epilogue makes them. A segment takes its own carry and that of the segment below: none, one
// or both. Each segment is computed plus 0, 1 and 2 before the carries are known, so that a carry
// passes two gates per segment. Combinational. Tests: tests/rtl/vectors.
module ufp4_sum_resolve (
  input  logic [66:0] word_i,
  output logic [63:0] sum_o,
  output logic [2:0]  zero_o    // bit i: segment i of the sum is zero
);
  for (genvar i = 0; i < 4; i++) begin : gen_segment
    logic own, below;  // carries into the segment: of the word, and out of the segment below
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
