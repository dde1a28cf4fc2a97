// SPDX-License-Identifier: Apache-2.0
// An MXFP4 converter as somebody might have one: 32 FP32 numbers to an E8M0 scale and 32 E2M1 codes, by OCP's rule,
// scale = 2^(floor(log2 of the largest) - 2), nearest even, saturating. mx_converter_tb checks it.
module mx_converter (
  input  logic [32*32-1:0] words_i,  // element i at bit 32 i
  output logic [7:0]       scale_o,
  output logic [32*4-1:0]  codes_o   // element i at bit 4 i
);
  logic [7:0] largest;
  logic       nan;

  always_comb begin
    largest = 8'd0;
    nan     = 1'b0;
    for (int i = 0; i < 32; i++) begin
      if (words_i[32*i+23 +: 8] == 8'hFF) nan = 1'b1;
      if (words_i[32*i+23 +: 8] > largest) largest = words_i[32*i+23 +: 8];
    end
    scale_o = nan ? 8'hFF : (largest > 8'd2) ? largest - 8'd2 : 8'd0;
  end

  // Twice the quotient, in 3.20 fixed point and a sticky bit, to a code.
  function automatic logic [2:0] round(logic [23:0] value);
    logic [23:0] step, up;
    step = (value >= 24'h800000) ? 24'h400000 : (value >= 24'h400000) ? 24'h200000 : 24'h100000;
    up   = value / step;  // grid point below, in steps
    if ((value % step > step / 2) || (value % step == step / 2 && up[0])) up = up + 24'd1;
    up = (step == 24'h400000) ? up + 24'd4 : (step == 24'h200000) ? up + 24'd2 : up;
    return (up > 24'd7) ? 3'd7 : up[2:0];
  endfunction

  for (genvar i = 0; i < 32; i++) begin : gen_code
    logic [31:0] word;
    logic [7:0]  exponent;
    logic [23:0] significand, shifted;
    logic [8:0]  shift;
    logic        zero_block;
    always_comb begin
      word        = words_i[32*i +: 32];
      exponent    = (word[30:23] == 8'd0) ? 8'd1 : word[30:23];
      significand = {word[30:23] != 8'd0, word[22:0]};
      shift       = 9'd2 + {1'b0, scale_o} - {1'b0, exponent};
      shifted     = (shift > 9'd24) ? 24'(significand != 24'd0)
                                    : (significand >> shift) | 24'((significand & ~(24'hFFFFFF << shift)) != 24'd0);
      zero_block  = 1'b1;
      for (int j = 0; j < 32; j++) if (words_i[32*j +: 31] != 31'd0) zero_block = 1'b0;
      codes_o[4*i +: 4] = (nan || zero_block) ? 4'd0 : {word[31], round(shifted)};
    end
  end
endmodule
