// SPDX-License-Identifier: Apache-2.0
// The E4M3 scale of a block as a pipeline: s = amax * 2^t / qmax, the exact quotient rounded once,
// to nearest even or up.
//
// Contract: amax = amax_i * 2^(exponent_i - (rht_i ? 152 : 154)). After stage 0: normal_o is amax_i
// with its leading one at bit 27, and power_o = exponent_i + 27 - leading zeros, so amax = normal_o
// * 2^(power_o - (rht_i ? 179 : 181)); zero_o. After stage 2: the byte scale_o (1 to 0x7E; for
// amax_i > 0); saturated_o, if the quotient exceeds 448; and the inputs of the divider
// (ufp4_divide_round): sig_o, with scale = sig_o * 2^(exp - 9), and base_o, the right shift of an
// element significand, with rht_i low plus its biased exponent, clamped to 0..511.
// Stages: stage k moves with en_i[k]; exponent_i belongs to stage 0 (power), exponent_base_i to
// stage 1 (base). qmax is 3 or 7 times a power of two, so a table gives the leading bits of the
// quotient from 8 leading bits. Synthesizers that do not see through a division by a constant would
// build a chain of one subtractor per bit.
// Golden: ufp4_quantize_block. Spec: numerics.md 2. Test: tests/rtl/vectors.
module ufp4_e4m3_scale (
  input  logic        clk_i,
  input  logic [2:0]  en_i,

  input  logic        rht_i,
  input  logic [7:0]  elem_i,
  input  logic        up_i,
  input  logic [15:0] tensor_exponent_i,  // t, signed
  input  logic [7:0]  exponent_i,         // 1..254, with stage 0
  input  logic [27:0] amax_i,
  input  logic [7:0]  exponent_base_i,    // the same exponent, a stage later

  output logic        zero_o,
  output logic [8:0]  power_o,
  output logic [27:0] normal_o,
  output logic [7:0]  scale_o,
  output logic        saturated_o,
  output logic [3:0]  sig_o,
  output logic [8:0]  base_o
);

  import ufp4_spec_pkg::*;

  localparam logic [7:0] LARGEST = 8'h7E;  // 448
  localparam logic [7:0] ODD_E2M1 = 8'(QMAX_ODD_E2M1);
  localparam logic [7:0] ODD_UNIFORM = 8'(QMAX_ODD_INT4);

  if (QMAX_ODD_E1M2 != QMAX_ODD_INT4) begin : gen_check_grid
    $error("ufp4_e4m3_scale: qmax of E1M2 and INT4 must be the same but for a power of two");
  end

  typedef struct packed {
    logic        zero;
    logic [8:0]  power;
    logic [27:0] normal;
  } normal_t;

  // Quotient of the leading bits, rounded down; rest: the division leaves a remainder.
  typedef struct packed {
    logic signed [9:0] base;
    logic [6:0]        quotient;  // 18..36 (by 7) or 42..85 (by 3)
    logic              rest;
    logic signed [5:0] place;     // scale = exact quotient * 2^(place - 9); place is clamped to -8..16
  } quotient_t;

  typedef struct packed {
    logic [7:0] scale;
    logic       saturated;
    logic [3:0] sig;
    logic [8:0] base;
  } scale_t;

  // Table of quotients, rounded down, and whether there is a remainder; its index is the divisor
  // (1: that of E2M1) and the seven bits after the leading one. There is one table for both
  // divisors because a synthesizer would otherwise move the register of the index behind the table.
  function automatic logic [255:0][7:0] quotients();
    logic [255:0][7:0] out;
    for (int unsigned k = 0; k < 256; k++) begin
      logic [7:0] top, odd;
      top = 8'(k) | 8'h80;
      odd = k[7] ? ODD_E2M1 : ODD_UNIFORM;
      out[k] = {7'(top / odd), top % odd != 8'd0};
    end
    return out;
  endfunction
  localparam logic [255:0][7:0] QUOTIENTS = quotients();

  // The power of two in qmax, and the fraction bits of the element.
  function automatic logic signed [2:0] qmax_power(input logic [7:0] elem);
    return elem == ELEM_E2M1 ? 3'(QMAX_EXPONENT_E2M1) : elem == ELEM_E1M2 ? 3'(QMAX_EXPONENT_E1M2) :
                                                                            3'(QMAX_EXPONENT_INT4);
  endfunction
  function automatic logic [1:0] frac(input logic [7:0] elem);
    return elem == ELEM_E2M1 ? 2'(FRAC_E2M1) : elem == ELEM_E1M2 ? 2'(FRAC_E1M2) : 2'(FRAC_INT4);
  endfunction

  function automatic normal_t normalize(input logic [27:0] amax, input logic [7:0] exponent);
    normal_t    out;
    logic [4:0] zeros;
    out.normal = amax;
    zeros      = 5'd0;
    for (int unsigned k = 5; k > 0; k--) begin
      if (out.normal[27 -: 16] >> (16 - (1 << (k-1))) == 16'd0) begin
        out.normal = out.normal << (1 << (k-1));
        zeros[k-1] = 1'b1;
      end
    end
    out.zero  = !out.normal[27];
    out.power = {1'b0, exponent} + 9'd27 - {4'd0, zeros};
    return out;
  endfunction

  function automatic quotient_t divide(input logic [26:0] normal, input logic [8:0] power, input logic rht,
                                       input logic [7:0] elem, input logic [15:0] t,
                                       input logic [7:0] exponent);
    quotient_t          out;
    logic               rest;
    logic signed [17:0] place;
    {out.quotient, rest} = QUOTIENTS[{elem == ELEM_E2M1, normal[26:20]}];
    out.rest     = rest || normal[19:0] != 20'd0;
    place        = 18'(signed'({1'b0, power})) + 18'(signed'(t)) - 18'(qmax_power(elem)) -
                   (rht ? 18'sd150 : 18'sd152);
    out.place    = place < -18'sd8 ? -6'sd8 : place > 18'sd16 ? 6'sd16 : 6'(place);
    out.base     = base_of_block(rht, elem, t, exponent);
    return out;
  endfunction

  // base_o without the exponent of the scale, clamped to a range beyond which the result is the
  // same.
  function automatic logic signed [9:0] base_of_block(input logic rht, input logic [7:0] elem, input logic [15:0] t,
                                                      input logic [7:0] exponent);
    logic signed [17:0] base;
    base = (rht ? 18'sd151 - 18'(signed'({1'b0, exponent})) : 18'sd149) - 18'(signed'(t)) -
           18'(signed'({1'b0, frac(elem)}));
    return base < -18'sd16 ? -10'sd16 : base > 18'sd511 ? 10'sd511 : 10'(base);
  endfunction

  // The scale, significand and base for a byte: bytes above LARGEST become LARGEST, and 0 becomes
  // 1.
  function automatic scale_t of_byte(input logic [7:0] in, input logic signed [9:0] base_block);
    scale_t             out;
    logic [3:0]         exp_scale;
    logic signed [10:0] base;
    out.saturated = 1'b0;
    out.scale     = in > LARGEST ? LARGEST : in == 8'd0 ? 8'd1 : in;
    out.sig       = {out.scale[6:3] != 4'd0, out.scale[2:0]};
    exp_scale     = out.scale[6:3] == 4'd0 ? 4'd0 : out.scale[6:3] - 4'd1;
    base          = 11'(base_block) + 11'(signed'({1'b0, exp_scale}));
    out.base      = base < 11'sd0 ? 9'd0 : base > 11'sd511 ? 9'd511 : 9'(base);
    return out;
  endfunction

  // Rounds to four significant bits, fewer for a subnormal. The byte of a subnormal is its
  // significand, and that of a normal number is 8 * exp + significand, so a carry gives the right
  // byte. Both bytes are computed to the end, because the carry is known last.
  function automatic scale_t round(input quotient_t in, input logic up);
    scale_t            out;
    logic signed [5:0] field;           // the exponent field if the number is normal
    logic [11:0]       normal, kept;
    logic [7:0]        floor;
    logic              rest, increment;
    field     = in.place + (in.quotient[6] ? 6'sd4 : in.quotient[5] ? 6'sd3 : 6'sd2);
    normal    = in.quotient[6] ? {in.quotient, 5'd0} :
                in.quotient[5] ? {in.quotient[5:0], 6'd0} : {in.quotient[4:0], 7'd0};
    kept      = field > 6'sd0 ? normal : 12'({in.quotient, 8'd0} >> 4'(-in.place));
    floor     = field > 6'sd0 ? {field[4:0], normal[10:8]} : {4'd0, kept[11:8]};
    rest      = kept[6:0] != 7'd0 || in.rest;
    increment = up ? kept[7] || rest : kept[7] && (rest || kept[8]);
    out       = increment ? of_byte(floor + 8'd1, in.base) : of_byte(floor, in.base);
    out.saturated = floor > LARGEST || (floor == LARGEST && (kept[7] || rest));
    return out;
  endfunction

  normal_t   normal_q;
  quotient_t quotient_q;
  scale_t    scale_q;

  assign zero_o      = normal_q.zero;
  assign power_o     = normal_q.power;
  assign normal_o    = normal_q.normal;
  assign scale_o     = scale_q.scale;
  assign saturated_o = scale_q.saturated;
  assign sig_o       = scale_q.sig;
  assign base_o      = scale_q.base;

  always_ff @(posedge clk_i) begin
    if (en_i[0]) normal_q <= normalize(amax_i, exponent_i);
    if (en_i[1]) begin
      quotient_q <= divide(normal_q.normal[26:0], normal_q.power, rht_i, elem_i, tensor_exponent_i, exponent_base_i);
    end
    if (en_i[2]) scale_q <= round(quotient_q, up_i);
  end

endmodule
