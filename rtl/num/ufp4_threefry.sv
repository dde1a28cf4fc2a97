// SPDX-License-Identifier: Apache-2.0
// Threefry-4x32 with 12 rounds as a pipeline: 16 random bytes per cycle from a position, without a
// multiplier.
//
// Contract: words_o = threefry4x32_12(key = (seed, 0, 0), counter = (group, tensor_id)), low words
// first; element i of a block uses byte i of words_o. Stage k moves with en_i[k]; words_o belongs
// to the group_i that en_i[0] took. seed_i and tensor_id_i are stable while anything is inside.
// With Shared one stage does the work of all, for one block at a time: en_i has one bit set per
// cycle, in the order 0 to 7, and the same bit stays set while stop_i is high. stop_i comes late in
// a cycle, so it only decides whether the stage keeps its words. Without Shared stop_i is ignored.
// Latency: 16 stages, each a round or a key injection; with Shared 8, each two of these.
// Golden: ufp4_random_block. Spec: numerics.md 4. Source: Salmon et al., SC'11; Random123.
// Test: tests/rtl/vectors.
module ufp4_threefry #(
  parameter bit Shared = 1'b0,
  localparam int unsigned STAGES = Shared ? 8 : 16
) (
  input  logic              clk_i,
  input  logic [STAGES-1:0] en_i,
  input  logic              stop_i,  // used only with Shared

  input  logic [63:0]       seed_i,
  input  logic [63:0]       tensor_id_i,
  input  logic [63:0]       group_i,
  output logic [127:0]      words_o
);

  typedef logic [3:0][31:0] words_t;

  // Rotations by the number of the round modulo 8, and the parity of the key schedule (Random123,
  // threefry.h).
  localparam logic [7:0][4:0] ROTATE_LOW  = {5'd18, 5'd25, 5'd17, 5'd6, 5'd23, 5'd13, 5'd11, 5'd10};
  localparam logic [7:0][4:0] ROTATE_HIGH = {5'd20, 5'd10, 5'd11, 5'd20, 5'd5, 5'd27, 5'd21, 5'd26};
  localparam logic [31:0] PARITY = 32'h1BD11BDA;

  function automatic logic [31:0] rotate(input logic [31:0] word, input logic [4:0] by);
    return (word << by) | (word >> (6'd32 - {1'b0, by}));
  endfunction

  // An even round pairs words 0,1 and 2,3. An odd round pairs 0,3 and 2,1, so words 1 and 3 are
  // exchanged before and after it.
  function automatic words_t change(input words_t x, input logic places);
    return places ? {x[1], x[2], x[3], x[0]} : x;
  endfunction
  function automatic words_t round(input words_t x, input logic [2:0] number, input logic odd);
    return change(pairs(change(x, odd), number), odd);
  endfunction
  function automatic words_t pairs(input words_t in, input logic [2:0] number);
    words_t x;
    x[0] = in[0] + in[1];
    x[1] = rotate(in[1], ROTATE_LOW[number]) ^ x[0];
    x[2] = in[2] + in[3];
    x[3] = rotate(in[3], ROTATE_HIGH[number]) ^ x[2];
    return x;
  endfunction

  // Key words 2 and 3 are zero, so an injection adds at most three key words and one constant.
  function automatic words_t inject(input words_t x, input logic [31:0] k0, input logic [31:0] k1,
                                    input logic [1:0] step);
    logic [31:0] k4;
    k4 = PARITY ^ k0 ^ k1;
    unique case (step)
      2'd0: return {x[3], x[2], x[1] + k1, x[0] + k0};
      2'd1: return {x[3] + k4 + 32'd1, x[2], x[1], x[0] + k1};
      2'd2: return {x[3] + k0 + 32'd2, x[2] + k4, x[1], x[0]};
      2'd3: return {x[3] + k1 + 32'd3, x[2] + k0, x[1] + k4, x[0]};
    endcase
  endfunction

  logic [31:0] k0, k1;

  assign {k1, k0} = seed_i;

  if (Shared) begin : gen_shared
    // Each step does two of the 12 rounds and 4 injections, in their order: K0 0, 1 2, 3 K1, 4 5, 6
    // 7, K2 8, 9 10, 11 K3.
    words_t     words_q, first, second;
    logic       first_odd;  // the first of the two rounds is odd, and the second even
    logic [2:0] number_first, number_second;

    always_comb begin
      first_odd     = !(en_i[3] || en_i[4]);
      number_first  = en_i[3] ? 3'd4 : en_i[4] ? 3'd6 : en_i[2] || en_i[7] ? 3'd3 : 3'd1;
      number_second = en_i[3] ? 3'd5 : en_i[4] ? 3'd7 : en_i[1] || en_i[6] ? 3'd2 : 3'd0;
      first         = round(words_q, number_first, first_odd);
      if (en_i[0]) first = inject({tensor_id_i, group_i}, k0, k1, 2'd0);
      if (en_i[5]) first = inject(words_q, k0, k1, 2'd2);
      second        = round(first, number_second, !first_odd);
      if (en_i[2]) second = inject(first, k0, k1, 2'd1);
      if (en_i[7]) second = inject(first, k0, k1, 2'd3);
    end

    always_ff @(posedge clk_i) begin
      if (en_i != '0 && !stop_i) words_q <= second;
    end
    assign words_o = words_q;
  end else begin : gen_pipeline
    // Stages 0, 5, 10 and 15 inject a key, the others do a round. Words 2 and 3 are those of the
    // tensor until round 0.
    for (genvar s = 0; s < STAGES; s++) begin : gen_stage
      words_t words;
      if (s == 0) begin : gen_first
        logic [1:0][31:0] words_q;
        always_ff @(posedge clk_i) begin
          if (en_i[s]) words_q <= 64'(inject({64'd0, group_i}, k0, k1, 2'd0));
        end
        assign words = {tensor_id_i, words_q};
      end else begin : gen_later
        words_t words_q;
        always_ff @(posedge clk_i) begin
          if (en_i[s]) begin
            words_q <= s % 5 == 0 ? inject(gen_stage[s-1].words, k0, k1, 2'(s / 5)) :
                                    round(gen_stage[s-1].words, 3'(s - s / 5 - 1), (s - s / 5 - 1) % 2 == 1);
          end
        end
        assign words = words_q;
      end
    end

    assign words_o = gen_stage[STAGES-1].words;
    logic unused;
    assign unused = stop_i;
  end

endmodule
