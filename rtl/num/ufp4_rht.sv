// SPDX-License-Identifier: Apache-2.0
// 16-point random Hadamard transform of one block of FP32 numbers in integers, as a pipeline.
//
// Contract: out_o lane i = {sign, 3'b0, |y_i|}, y = H16 (sign_j v_j), v_j the significand of word j aligned
// to exponent_i (the block's largest, at least 1) and truncated; unit 2^(exponent - 152), the 1/4 included; a
// zero has sign 0.
// bypass_i: the words pass through as they are. Stage k runs in a cycle with en_i[k] high; exponent_i goes
// with stage 0.
// Latency: 4 enabled stages (align, butterflies 1 and 2, 4 and 8, magnitude). No rounding but the truncation.
// Golden: ufp4_rht_block. Spec: numerics.md 3. Test: tests/rtl/vectors.
module ufp4_rht (
  input  logic              clk_i,
  input  logic [3:0]        en_i,

  input  logic              bypass_i,
  input  logic [15:0]       mask_i,      // bit i negates element i
  input  logic [7:0]        exponent_i,
  input  logic [15:0][31:0] words_i,
  output logic [15:0][31:0] out_o
);

  // One stage of butterflies at the distance half: sums below, differences above. 29 bits, two's complement,
  // hold every partial sum: 16 times 24 bits of magnitude.
  function automatic logic [15:0][31:0] butterfly(input logic [15:0][31:0] in, input int unsigned half);
    logic [15:0][31:0] out;
    for (int unsigned i = 0; i < 16; i++) begin
      if ((i & half) == 0) out[i] = {3'd0, in[i][28:0] + in[i+half][28:0]};
      else out[i] = {3'd0, in[i-half][28:0] - in[i][28:0]};
    end
    return out;
  endfunction

  logic [15:0][31:0] aligned;
  for (genvar i = 0; i < 16; i++) begin : gen_align
    ufp4_rht_align u_align (
      .word_i(words_i[i]), .largest_i(exponent_i), .flip_i(mask_i[i]), .aligned_o(aligned[i])
    );
  end

  logic [15:0][31:0] aligned_q, half_q, full_q, out_q;

  assign out_o = out_q;

  always_ff @(posedge clk_i) begin
    if (en_i[0]) aligned_q <= bypass_i ? words_i : aligned;
    if (en_i[1]) half_q <= bypass_i ? aligned_q : butterfly(butterfly(aligned_q, 1), 2);
    if (en_i[2]) full_q <= bypass_i ? half_q : butterfly(butterfly(half_q, 4), 8);
    if (en_i[3]) begin
      for (int unsigned i = 0; i < 16; i++) begin
        out_q[i] <= bypass_i ? full_q[i] :
                    {full_q[i][28], 3'd0, full_q[i][28] ? -full_q[i][27:0] : full_q[i][27:0]};
      end
    end
  end

endmodule
