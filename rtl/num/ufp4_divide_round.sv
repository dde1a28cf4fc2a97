// SPDX-License-Identifier: Apache-2.0
// Lanes of the quantizer as a pipeline: code = round(|x| * 2^t / s) on the element grid, from the
// exact quotient, saturating.
//
// Contract: a lane of payload_i is {sign, 3 bits, 28-bit significand} with shift = base_i (rht_i),
// or an FP32 number with shift = base_i - its biased exponent; ufp4_e4m3_scale gives base_i. With
// s = sig_i * 2^(exp - 9), the dividend |x| * 2^(t + frac + 9 - exp) is significand * 2^(8 -
// shift), and dividend / sig_i is the quotient in quanta. 4 integer bits (more saturates), 9
// fraction bits and a sticky bit decide every rounding: to nearest, ties to even; or, stochastic,
// up if and only if the fraction within its cell exceeds (random_i + 1/2)/256.
// Stages: stage k moves with en_i[k]: align, four divider stages (4, 3, 3, 3 steps of a restoring
// divider with a 5-bit subtractor), round. sig_i[k] belongs to stage k, payload_i and base_i to
// stage 0, random_i to stage 5. quotient_o = {16 quanta or more, quotient without its sticky bit}
// is the input of stage 5.
// Golden: ufp4_quantize_block. Spec: numerics.md 4. Test: tests/rtl/vectors.
module ufp4_divide_round #(
  parameter int unsigned Lanes = 16
) (
  input  logic              clk_i,
  input  logic [5:0]        en_i,

  input  logic              rht_i,
  input  logic [7:0]        elem_i,
  input  logic              sr_i,
  input  logic [Lanes-1:0][31:0] payload_i,
  input  logic [8:0]        base_i,
  input  logic [4:0][3:0]   sig_i,
  input  logic [Lanes-1:0][7:0]  random_i,
  output logic [Lanes-1:0][13:0] quotient_o,
  output logic [Lanes-1:0][3:0]  codes_o
);

  import ufp4_spec_pkg::ELEM_E2M1;
  import ufp4_spec_pkg::ELEM_INT4;

  // A lane fills a machine word, because simulators move words fastest.
  typedef struct packed {
    logic [11:0] zero;
    logic        sign;
    logic        over;       // the quotient is 16 quanta or more
    logic        sticky;     // dividend bits below the fixed point
    logic [3:0]  remainder;
    logic [12:0] quotient;   // unused dividend bits above, quotient bits below
  } state_t;

  // The dividend in fixed point, with 8 integer and 9 fraction bits: the significand times 2^17,
  // shifted right.
  function automatic state_t align(input logic [31:0] payload, input logic [8:0] base, input logic rht,
                                   input logic [3:0] sig);
    state_t            out;
    logic [27:0]       significand;
    logic [7:0]        exponent;
    logic signed [9:0] distance;
    logic [5:0]        shift;
    logic [44:0]       wide, fixed;
    significand = rht ? payload[27:0] : {4'd0, payload[30:23] != 8'd0, payload[22:0]};
    exponent    = rht ? 8'd0 : payload[30:23] == 8'd0 ? 8'd1 : payload[30:23];
    distance    = signed'({1'b0, base}) - signed'({2'd0, exponent});
    shift       = distance < 10'sd0 ? 6'd0 : distance > 10'sd63 ? 6'd63 : distance[5:0];
    wide        = {significand, 17'd0};
    fixed       = wide >> shift;
    out.zero    = '0;
    out.sign    = payload[31];
    out.over    = fixed[44:17] != 28'd0 || fixed[16:13] >= sig;
    out.sticky  = (wide & ~(45'h1FFF_FFFF_FFFF << shift)) != 45'd0;
    {out.remainder, out.quotient} = fixed[16:0];
    return out;
  endfunction

  // The remainder is below sig_i, so the difference lies in -15..14 and bit 4 is its sign.
  function automatic state_t divide_step(input state_t in, input logic [3:0] sig);
    state_t     out;
    logic [4:0] difference;
    difference    = {in.remainder, in.quotient[12]} - {1'b0, sig};
    out           = in;
    out.remainder = difference[4] ? {in.remainder[2:0], in.quotient[12]} : difference[3:0];
    out.quotient  = {in.quotient[11:0], !difference[4]};
    return out;
  endfunction

  function automatic state_t three_steps(input state_t in, input logic [3:0] sig);
    return divide_step(divide_step(divide_step(in, sig), sig), sig);
  endfunction

  function automatic logic [3:0] round(input state_t in, input logic [7:0] elem, input logic sr,
                                       input logic [7:0] random);
    logic [3:0]  whole;
    logic [11:0] fraction, threshold;  // fraction within the cell, with the sticky bit last
    logic [2:0]  below, magnitude;     // below: code of the lower end of the cell
    logic        sticky, up, full, unused_zero;
    unused_zero = ^in.zero;
    whole    = in.quotient[12:9];
    sticky   = in.sticky || in.remainder != 4'd0;
    below    = whole[2:0];
    fraction = {in.quotient[8:0], 2'd0, sticky};
    full     = in.over || whole >= 4'd7;
    if (elem == ELEM_E2M1) begin
      // Cells of 1 quantum up to 4, of 2 up to 8, of 4 up to 12.
      full = in.over || whole >= 4'd12;
      if (whole[3]) begin
        below    = 3'd6;
        fraction = {whole[1:0], in.quotient[8:0], sticky};
      end else if (whole[2]) begin
        below    = {2'b10, whole[1]};
        fraction = {whole[0], in.quotient[8:0], 1'b0, sticky};
      end
    end
    threshold = {sr ? random : 8'h80, sr, 3'd0};
    up        = fraction > threshold || (!sr && below[0] && fraction == threshold);
    magnitude = full ? 3'd7 : below + {2'd0, up};
    if (elem == ELEM_INT4 && in.sign) return -{1'b0, magnitude};
    return {elem != ELEM_INT4 && in.sign, magnitude};
  endfunction

  state_t [Lanes-1:0]    aligned_q, first_q, second_q, third_q, fourth_q;
  logic [Lanes-1:0][3:0] codes_q;

  assign codes_o = codes_q;
  for (genvar i = 0; i < Lanes; i++) begin : gen_quotient
    assign quotient_o[i] = {fourth_q[i].over, fourth_q[i].quotient};
  end

  always_ff @(posedge clk_i) begin
    if (en_i[0]) begin
      for (int unsigned i = 0; i < Lanes; i++) aligned_q[i] <= align(payload_i[i], base_i, rht_i, sig_i[0]);
    end
    if (en_i[1]) begin
      for (int unsigned i = 0; i < Lanes; i++) first_q[i] <= divide_step(three_steps(aligned_q[i], sig_i[1]), sig_i[1]);
    end
    if (en_i[2]) begin
      for (int unsigned i = 0; i < Lanes; i++) second_q[i] <= three_steps(first_q[i], sig_i[2]);
    end
    if (en_i[3]) begin
      for (int unsigned i = 0; i < Lanes; i++) third_q[i] <= three_steps(second_q[i], sig_i[3]);
    end
    if (en_i[4]) begin
      for (int unsigned i = 0; i < Lanes; i++) fourth_q[i] <= three_steps(third_q[i], sig_i[4]);
    end
    if (en_i[5]) begin
      for (int unsigned i = 0; i < Lanes; i++) codes_q[i] <= round(fourth_q[i], elem_i, sr_i, random_i[i]);
    end
  end

endmodule
