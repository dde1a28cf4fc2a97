// SPDX-License-Identifier: Apache-2.0
// 16-point random Hadamard transform of one block of FP32 numbers in integers, as a pipeline.
//
// Contract: lane i of out_o is {sign, 3'b0, |y_i|}, with y = H16 (sign_j v_j) and v_j the
// significand of word j aligned to exponent_i (the largest of the block, at least 1) and truncated.
// The unit is 2^(exponent - 152), which includes the factor 1/4; a zero has sign 0. With bypass_i
// the words pass unchanged.
// Latency: six stages (align, butterflies 1, 2, 4, 8, magnitude); stage k moves with en_i[k], and
// exponent_i belongs to stage 0. The truncation is the only rounding.
// Golden: ufp4_rht_block. Spec: numerics.md 3. Test: tests/rtl/vectors.
module ufp4_rht (
  input  logic              clk_i,
  input  logic [5:0]        en_i,

  input  logic              bypass_i,
  input  logic [15:0]       mask_i,      // bit i negates element i
  input  logic [7:0]        exponent_i,
  input  logic [15:0][31:0] words_i,
  output logic [15:0][31:0] out_o
);

  logic [15:0][31:0] aligned;
  for (genvar i = 0; i < 16; i++) begin : gen_align
    ufp4_rht_align u_align (
      .word_i(words_i[i]), .largest_i(exponent_i), .flip_i(mask_i[i]), .aligned_o(aligned[i])
    );
  end

  // Two's complement: aligned numbers have 25 bits, and each stage of butterflies adds one.
  logic [4:0][15:0][31:0] stage_q;
  logic [15:0][31:0]      out_q;

  assign out_o = out_q;

  always_ff @(posedge clk_i) begin
    if (en_i[0]) stage_q[0] <= bypass_i ? words_i : aligned;
  end

  // Butterflies at distances 1, 2, 4 and 8: the lower lane gets the sum, the upper one the
  // difference.
  for (genvar s = 1; s < 5; s++) begin : gen_stage
    localparam int unsigned HALF = 1 << (s - 1);
    localparam int unsigned WIDTH = 25 + s;
    logic [15:0][31:0] summed;
    for (genvar i = 0; i < 16; i++) begin : gen_lane
      logic [WIDTH-1:0] below, above, sum;
      assign below     = WIDTH'(signed'(stage_q[s-1][i & ~HALF][WIDTH-2:0]));
      assign above     = WIDTH'(signed'(stage_q[s-1][i | HALF][WIDTH-2:0]));
      assign sum       = (i & HALF) == 0 ? below + above : below - above;
      assign summed[i] = 32'(sum);
    end
    always_ff @(posedge clk_i) begin
      if (en_i[s]) stage_q[s] <= bypass_i ? stage_q[s-1] : summed;
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i[5]) begin
      for (int unsigned i = 0; i < 16; i++) begin
        out_q[i] <= bypass_i ? stage_q[4][i] :
                    {stage_q[4][i][28], 3'd0, stage_q[4][i][28] ? -stage_q[4][i][27:0] : stage_q[4][i][27:0]};
      end
    end
  end

endmodule
