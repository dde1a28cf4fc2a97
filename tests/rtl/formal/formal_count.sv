// SPDX-License-Identifier: Apache-2.0
// ufp4_count: each count adds one to all 64 bits, also when the low part is full; by k-induction,
// so from every value. The low part has 3 bits here, so that a few cycles reach a bug of its carry.
module formal_count #(
  parameter int unsigned Low = 3
) (
  input logic clk_i,
  input logic clear_i,
  input logic count_i
);
  logic begun = 1'b0;
  logic [63:0] count, wanted;
  ufp4_count #(.Low(Low)) u_dut (.clk_i, .clear_i, .count_i, .count_o(count));

  always_ff @(posedge clk_i) begin
    begun <= 1'b1;
    wanted <= clear_i ? 64'd0 : count + 64'(count_i);
    if (!begun) assume (clear_i);
    if (begun) begin
      assert (count == wanted);
      assert (u_dut.full_q == &u_dut.low_q);  // needed for the induction
      cover (count == 64'd9);
    end
  end
endmodule
