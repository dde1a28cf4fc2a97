// SPDX-License-Identifier: Apache-2.0
// Threefry-4x32 with 12 rounds as a pipeline: 16 random bytes a cycle from a position, no multiplier.
//
// Contract: words_o = threefry4x32_12(key = (seed, 0, 0), counter = (group, tensor_id)), low words first;
// element i of a block uses byte i of words_o. Stage k runs in a cycle with en_i[k] high; words_o belongs to
// the group_i taken by en_i[0]. seed_i and tensor_id_i must hold still while anything is inside.
// Shared: one stage does the work of all, a block at a time: one bit of en_i is high in a cycle, the next one in the next.
// Latency: 16 enabled stages, each a round or a key; Shared: 7, each two rounds and perhaps a key.
// Golden: ufp4_random_block. Spec: numerics.md 4. Source: Salmon et al., SC'11; Random123.
// Test: tests/rtl/vectors.
module ufp4_threefry #(
  parameter bit Shared = 1'b0,
  localparam int unsigned STAGES = Shared ? 7 : 16
) (
  input  logic              clk_i,
  input  logic [STAGES-1:0] en_i,

  input  logic [63:0]       seed_i,
  input  logic [63:0]       tensor_id_i,
  input  logic [63:0]       group_i,
  output logic [127:0]      words_o
);

  typedef logic [3:0][31:0] words_t;

  // Rotations by round modulo 8, and the parity of the key schedule (Random123, threefry.h).
  localparam logic [7:0][4:0] ROTATE_LOW  = {5'd18, 5'd25, 5'd17, 5'd6, 5'd23, 5'd13, 5'd11, 5'd10};
  localparam logic [7:0][4:0] ROTATE_HIGH = {5'd20, 5'd10, 5'd11, 5'd20, 5'd5, 5'd27, 5'd21, 5'd26};
  localparam logic [31:0] PARITY = 32'h1BD11BDA;

  function automatic logic [31:0] rotate(input logic [31:0] word, input logic [4:0] by);
    return (word << by) | (word >> (6'd32 - {1'b0, by}));
  endfunction

  // An even round pairs words 0,1 and 2,3, an odd one crosswise 0,3 and 2,1.
  function automatic words_t round(input words_t in, input logic [2:0] number);
    words_t x;
    x = in;
    if (number[0]) begin
      x[0] = x[0] + x[3];
      x[3] = rotate(x[3], ROTATE_LOW[number]) ^ x[0];
      x[2] = x[2] + x[1];
      x[1] = rotate(x[1], ROTATE_HIGH[number]) ^ x[2];
    end else begin
      x[0] = x[0] + x[1];
      x[1] = rotate(x[1], ROTATE_LOW[number]) ^ x[0];
      x[2] = x[2] + x[3];
      x[3] = rotate(x[3], ROTATE_HIGH[number]) ^ x[2];
    end
    return x;
  endfunction

  // Key words 2 and 3 are zero, so an injection is at most three additions of a key word and one of a
  // constant.
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
    words_t     words_q, mixed;
    logic [2:0] step, number;

    // Two rounds a step; a key is injected before the first and after every fourth. Steps 1 and 5 begin with round 0 modulo
    // 8, 2 and 6 with round 2, and so on.
    assign step   = {|en_i[6:4], |{en_i[6], en_i[3:2]}, |{en_i[5], en_i[3], en_i[1]}};
    assign number = {step[1:0] - 2'd1, 1'b0};
    assign mixed  = en_i[0] ? {tensor_id_i, group_i} : round(round(words_q, number), number + 3'd1);
    always_ff @(posedge clk_i) begin
      if (en_i != '0) words_q <= step[0] ? mixed : inject(mixed, k0, k1, step[2:1]);
    end
    assign words_o = words_q;
  end else begin : gen_pipeline
    // A key, or a round: stages 0, 5, 10 and 15 inject one. Words 2 and 3 are those of the tensor until round 0.
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
                                    round(gen_stage[s-1].words, 3'(s - s / 5 - 1));
          end
        end
        assign words = words_q;
      end
    end

    assign words_o = gen_stage[STAGES-1].words;
  end

endmodule
