// SPDX-License-Identifier: Apache-2.0
// The alignment of ufp4_divide_round, one lane: significand * 2^17 shifted right by base - exponent
// (0 to 63), the bits shifted out in a sticky bit, and whether the result is 16 quanta or more; for
// FP32 numbers, including subnormals, and transformed integers. All inputs are arbitrary and held.
module formal_divide_align (
  input logic clk_i
);
  logic rht;
  logic [31:0] payload;
  logic [8:0] base;
  logic [3:0] sig;
  always_ff @(posedge clk_i) begin
    rht <= rht;
    payload <= payload;
    base <= base;
    sig <= sig;
  end

  logic [15:0][3:0] unused_codes;
  ufp4_divide_round u_dut (
    .clk_i,
    .en_i(6'h3F),
    .rht_i(rht),
    .elem_i(8'd0),
    .sr_i(1'b0),
    .payload_i({16{payload}}),
    .base_i(base),
    .sig_i({5{sig}}),
    .random_i('0),
    .codes_o(unused_codes)
  );

  logic [1:0] age = '0;
  always_ff @(posedge clk_i) if (age != 2'd3) age <= age + 1'b1;

  // |x| of an FP32 number is significand * 2^(exponent - 150), with exponent 1 for a subnormal.
  logic [27:0] significand;
  logic [9:0] exponent, shift;
  always_comb begin
    if (rht) begin
      significand = payload[27:0];
      exponent = 10'd0;
    end else begin
      significand = payload[30:23] == 0 ? {5'd0, payload[22:0]} : {5'd1, payload[22:0]};
      exponent = payload[30:23] == 0 ? 10'd1 : {2'd0, payload[30:23]};
    end
    shift = {1'b0, base} - exponent;
    if ({1'b0, base} < exponent) shift = 10'd0;
    if (shift > 10'd63) shift = 10'd63;  // from 45 on every bit is shifted out
  end

  logic [16:0] low;
  logic over, sticky;
  assign {low, over, sticky} = {u_dut.aligned_q[0].remainder, u_dut.aligned_q[0].quotient, u_dut.aligned_q[0].over,
                                u_dut.aligned_q[0].sticky};
  logic [108:0] dividend, floor;
  assign dividend = {significand, 81'd0} >> shift;  // 64 bits of fraction
  assign floor = dividend >> 64;

  always_ff @(posedge clk_i) begin
    if (age == 2'd3) begin
      assert (low == floor[16:0]);
      assert (sticky == (dividend[63:0] != 0));
      assert (over == ((floor >> 13) >= 109'(sig)));
      assert (u_dut.aligned_q[0].sign == payload[31]);
      cover (sticky && !over && low > 100);
      cover (!rht && payload[30:23] == 0 && low != 0);
    end
  end
endmodule
