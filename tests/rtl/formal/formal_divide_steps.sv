// SPDX-License-Identifier: Apache-2.0
// One lane of ufp4_divide_round after its alignment, against the specification by multiplication
// (docs/reference/numerics.md, 4): with q = fixed / (Sig * 2^9) in quanta, the code reaches c if q
// is above the threshold between c - 1 and c: the midpoint (nearest; also at the midpoint if c is
// even), or (r + 1/2)/256 of the cell (stochastic). The shift is 18, so that fixed has one bit more
// than the divider sees, the sticky bit; formal_divide_align proves the alignment for all shifts.
// All inputs are arbitrary, and held while they pass through the pipeline.
module formal_divide_steps #(
  parameter int unsigned Elem = 0,
  parameter int unsigned Sig = 15
) (
  input logic clk_i
);
  // Registers that nothing writes are arbitrary and constant.
  logic sr, sign;
  logic [27:0] significand;
  logic [7:0] random;
  always_ff @(posedge clk_i) begin
    sr <= sr;
    sign <= sign;
    significand <= significand;
    random <= random;
  end

  logic [15:0][3:0] codes;
  ufp4_divide_round u_dut (
    .clk_i,
    .en_i(6'h3F),
    .rht_i(1'b1),
    .elem_i(8'(Elem)),
    .sr_i(sr),
    .payload_i({16{sign, 3'd0, significand}}),
    .base_i(9'd18),
    .sig_i({5{4'(Sig)}}),
    .random_i({16{random}}),
    .codes_o(codes)
  );

  logic [2:0] age = '0;
  always_ff @(posedge clk_i) if (age != 3'd7) age <= age + 1'b1;

  localparam int unsigned E2M1 = 32'(ufp4_spec_pkg::ELEM_E2M1);
  localparam int unsigned INT4 = 32'(ufp4_spec_pkg::ELEM_INT4);
  function automatic int unsigned quanta(int unsigned c);
    return Elem != E2M1 || c < 5 ? c : c == 5 ? 6 : c == 6 ? 8 : 12;
  endfunction

  // significand / 2 against Sig * 2^9 * threshold / 512: both sides times 2.
  logic [2:0] magnitude;
  logic [3:0] want;
  logic [18:0] bound;
  logic tie;  // exactly between two codes
  always_comb begin
    magnitude = '0;
    bound = '0;
    tie = 1'b0;
    for (int unsigned c = 1; c < 8; c++) begin
      bound = 19'(Sig * 2) * (19'(512 * quanta(c - 1)) +
                              19'(quanta(c) - quanta(c - 1)) * (sr ? {10'd0, random, 1'b1} : 19'd256));
      tie |= significand == 28'(bound);
      if (significand > 28'(bound) || (significand == 28'(bound) && !sr && c % 2 == 0)) magnitude = 3'(c);
    end
    want = Elem == INT4 ? (sign ? -{1'b0, magnitude} : {1'b0, magnitude}) : {sign, magnitude};
  end

  always_ff @(posedge clk_i) begin
    if (age == 3'd7) begin
      assert (codes[0] == want);
      cover (magnitude == 3'd5 && sr);
      cover (magnitude == 3'd2 && !sr && tie);
      cover (significand > 28'h8000000);
    end
  end
endmodule
