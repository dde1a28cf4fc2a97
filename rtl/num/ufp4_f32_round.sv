// SPDX-License-Identifier: Apache-2.0
// Rounds the results of adders and multipliers to FP32.
//
//   f32 = RNE32(magnitude * 2^exponent) with its sign      exponent unbounded before rounding
//
// IEEE overflow; gradual underflow keeps the sign. A magnitude of zero gives a zero with the sign
// zero_sign_i. nan_i and inf_i override the number with 0x7FC00000 and with an infinity of sign_i.
//
// Latency: four stages; stage n moves with en_i[n], and f32_o is valid after the fourth edge. Stage
// 0 moves the byte of the leading one to the top, 1 the leading one itself, 2 shifts a subnormal
// down to its place, 3 rounds.
// Golden: ufp4_f32_from_scaled; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_f32_round (
  input  logic               clk_i,
  input  logic [3:0]         en_i,
  input  logic [63:0]        magnitude_i,
  input  logic signed [11:0] exponent_i,   // from -1189 (ufp4_f32_scale) to 1065
  input  logic               sign_i,
  input  logic               zero_sign_i,
  input  logic               nan_i,
  input  logic               inf_i,
  output logic [31:0]        f32_o
);
  // Significands have 24 bits, guard and sticky, and after stage 0 up to seven zeros in front.
  localparam int SigBits = 26;
  localparam int HeadBits = SigBits - 1 + 7;

  // The leading zeros of eight bits, or 7 if all are zero.
  function automatic logic [2:0] leading_zeros(logic [7:0] bits);
    logic [2:0] zeros;
    zeros = 3'd7;
    for (int i = 0; i < 8; i++) begin
      if (bits[i]) zeros = 3'(7 - i);
    end
    return zeros;
  endfunction

  logic [2:0] sign_q, nan_q, infinite_q, nonzero_q;  // index: stage

  // Stage 0.
  logic [7:0] bytes;
  logic [2:0] zero_bytes, zero_bytes_q;
  logic [63:0] byte_first;
  logic [HeadBits-1:0] head_q;
  logic rest_q;
  logic signed [11:0] exponent_q;
  for (genvar i = 0; i < 8; i++) begin : gen_byte
    assign bytes[i] = |magnitude_i[8*i+:8];
  end
  assign zero_bytes = leading_zeros(bytes);
  assign byte_first = magnitude_i << {zero_bytes, 3'd0};
  always_ff @(posedge clk_i) begin
    if (en_i[0]) begin
      sign_q[0] <= ((|bytes) | inf_i) ? sign_i : zero_sign_i;
      nan_q[0] <= nan_i;
      infinite_q[0] <= inf_i;
      nonzero_q[0] <= |bytes;
      zero_bytes_q <= zero_bytes;
      {head_q, rest_q} <= {byte_first[63-:HeadBits], |byte_first[63-HeadBits:0]};
      exponent_q <= exponent_i + 12'sd190;
    end
  end

  // Stage 1. biased: the exponent field if the number is normal.
  logic [2:0] zeros;
  logic [HeadBits-1:0] bit_first;
  logic [SigBits-1:0] sig_q;
  logic signed [11:0] biased_q;
  assign zeros = leading_zeros(head_q[HeadBits-1-:8]);
  assign bit_first = head_q << zeros;
  always_ff @(posedge clk_i) begin
    if (en_i[1]) begin
      sign_q[1] <= sign_q[0];
      nan_q[1] <= nan_q[0];
      infinite_q[1] <= infinite_q[0];
      nonzero_q[1] <= nonzero_q[0];
      sig_q <= {bit_first[HeadBits-1-:SigBits-1], (|bit_first[HeadBits-SigBits:0]) | rest_q};
      biased_q <= exponent_q - 12'({zero_bytes_q, zeros});
    end
  end

  // Stage 2. The exponent field implies the leading one of a normal number.
  logic normal, over_q, guard_q, sticky_q;
  logic [4:0] shift;
  logic [2*SigBits-1:0] placed;
  logic [30:0] below_q;
  assign normal = biased_q >= 12'sd1;
  assign shift = normal ? 5'd0 : ((biased_q < -12'sd25) ? 5'd26 : 5'(12'sd1 - biased_q));
  assign placed = {sig_q, {SigBits{1'b0}}} >> shift;
  always_ff @(posedge clk_i) begin
    if (en_i[2]) begin
      sign_q[2] <= sign_q[1];
      nan_q[2] <= nan_q[1];
      infinite_q[2] <= infinite_q[1];
      nonzero_q[2] <= nonzero_q[1];
      over_q <= biased_q > 12'sd254;
      below_q <= {normal ? biased_q[7:0] : 8'd0, placed[2*SigBits-2-:23]};
      guard_q <= placed[SigBits+1];
      sticky_q <= |placed[SigBits:0];
    end
  end

  // Stage 3.
  logic [30:0] rounded;
  assign rounded = below_q + {30'd0, guard_q & (sticky_q | below_q[0])};
  always_ff @(posedge clk_i) begin
    if (en_i[3]) begin
      if (nan_q[2]) f32_o <= 32'h7FC0_0000;
      else if (infinite_q[2] || (over_q && nonzero_q[2])) f32_o <= {sign_q[2], 31'h7F80_0000};
      else f32_o <= {sign_q[2], nonzero_q[2] ? rounded : 31'd0};
    end
  end
endmodule
