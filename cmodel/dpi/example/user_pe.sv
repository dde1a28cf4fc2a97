// SPDX-License-Identifier: Apache-2.0
// Somebody's processing element, to show how one is checked: 16 E1M2 codes of A and of B a cycle, each with an E4M3
// scale, and one exact 64-bit sum in units of 2^-22.
//
//   sum <= (clear ? 0 : sum) + dot(a, b) * sigA * sigB * 2^(expA + expB)      where valid
module user_pe (
  input  logic               clk_i,
  input  logic               clear_i,
  input  logic               valid_i,
  input  logic [63:0]        a_codes_i,
  input  logic [63:0]        b_codes_i,
  input  logic [7:0]         a_scale_i,
  input  logic [7:0]         b_scale_i,
  output logic signed [63:0] sum_o
);

  function automatic logic signed [63:0] quanta(input logic [3:0] code);
    return code[3] ? -64'(code[2:0]) : 64'(code[2:0]);
  endfunction

  function automatic logic signed [63:0] significand(input logic [7:0] scale);
    return 64'({scale[6:3] != 4'd0, scale[2:0]});
  endfunction

  function automatic logic [4:0] exponent(input logic [7:0] scale);
    return scale[6:3] == 4'd0 ? 5'd0 : 5'(scale[6:3]) - 5'd1;
  endfunction

  logic signed [63:0] dot, term;

  always_comb begin
    dot = 64'sd0;
    for (int i = 0; i < 16; i++) dot = dot + quanta(a_codes_i[4*i +: 4]) * quanta(b_codes_i[4*i +: 4]);
    term = (dot * significand(a_scale_i) * significand(b_scale_i)) <<< (exponent(a_scale_i) + exponent(b_scale_i));
  end

  always_ff @(posedge clk_i) begin
    if (valid_i) sum_o <= (clear_i ? 64'sd0 : sum_o) + term;
  end

endmodule
