// SPDX-License-Identifier: Apache-2.0
// The transform of ufp4_rht at two numbers per cycle: a block passes as eight pairs, with one
// butterfly per stage.
//
// Contract: pair k of a block, elements 2k and 2k+1, enters k cycles after the first; 13 cycles
// later pair k leaves, elements k and k+8, in the form of the lanes of ufp4_rht. Nothing moves in a
// cycle with en_i low. k_i[n] and rht_i[n] describe the pair that entered n cycles ago: its k (0 if
// there is none), and whether it is transformed. exponent_i belongs to words_i. Between two stages
// the lane index is swapped with one bit of k, for which the other lane waits 1, 2 or 4 cycles.
// Golden: ufp4_rht_block. Spec: numerics.md 3. Test: tests/rtl/quant (inside the engine).
module ufp4_rht_pairs (
  input  logic             clk_i,
  input  logic             en_i,

  input  logic [12:0][2:0] k_i,
  input  logic [12:0]      rht_i,
  input  logic [15:0]      mask_i,      // bit i negates element i
  input  logic [7:0]       exponent_i,
  input  logic [1:0][31:0] words_i,
  output logic [1:0][31:0] out_o
);

  typedef logic [1:0][31:0] pair_t;

  function automatic pair_t butterfly(input pair_t in, input logic rht);
    pair_t out;
    out = in;
    if (rht) begin
      out[0] = {3'd0, in[0][28:0] + in[1][28:0]};
      out[1] = {3'd0, in[0][28:0] - in[1][28:0]};
    end
    return out;
  endfunction

  pair_t aligned_q;
  pair_t [3:0] stage_q;
  pair_t [3:1] swapped;

  for (genvar i = 0; i < 2; i++) begin : gen_align
    logic [31:0] aligned;
    ufp4_rht_align u_align (
      .word_i(words_i[i]), .largest_i(exponent_i), .flip_i(mask_i[{k_i[0], 1'(i)}]), .aligned_o(aligned)
    );
    always_ff @(posedge clk_i) begin
      if (en_i) aligned_q[i] <= rht_i[0] ? aligned : words_i[i];
    end
  end

  // The number of cycles after words_i at which stage s computes, and reads rht_i. Before stage s
  // the lane index is swapped with bit s - 1 of k.
  localparam int unsigned AT [4] = '{1, 3, 6, 11};

  for (genvar s = 0; s < 4; s++) begin : gen_stage
    if (s == 0) begin : gen_first
      always_ff @(posedge clk_i) begin
        if (en_i) stage_q[0] <= butterfly(aligned_q, rht_i[AT[0]]);
      end
    end else begin : gen_later
      localparam int unsigned WAIT = 1 << (s - 1);
      logic [WAIT-1:0][31:0] upper_q, lower_q;
      logic                  swap;
      logic [31:0]           early, late;

      assign swap  = k_i[AT[s]-WAIT][s-1];
      assign early = swap ? upper_q[WAIT-1] : stage_q[s-1][0];
      assign late  = swap ? stage_q[s-1][0] : upper_q[WAIT-1];
      assign swapped[s] = {late, lower_q[WAIT-1]};

      always_ff @(posedge clk_i) begin
        if (en_i) begin
          upper_q    <= (32 * WAIT)'({upper_q, stage_q[s-1][1]});
          lower_q    <= (32 * WAIT)'({lower_q, early});
          stage_q[s] <= butterfly(swapped[s], rht_i[AT[s]]);
        end
      end
    end
  end

  pair_t out_q;

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      for (int unsigned i = 0; i < 2; i++) begin
        out_q[i] <= !rht_i[12] ? stage_q[3][i] :
                    {stage_q[3][i][28], 3'd0, stage_q[3][i][28] ? -stage_q[3][i][27:0] : stage_q[3][i][27:0]};
      end
    end
  end

  assign out_o = out_q;

endmodule
