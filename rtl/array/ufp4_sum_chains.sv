// SPDX-License-Identifier: Apache-2.0
// Scales a dot product and adds it to the running sum of a PE of the contract exact: the form for
// FPGAs.
//
//   sum = base + ((-1)^negative * dot * sig << exp)          64 bits, exact
//
// base is zero, the running sum (keep), or a sum from memory (load). Adders have two operands, each
// on a carry chain of its own; the last step of the shift inverts for the sign. One block enters
// per cycle. Stage 1 chooses the rows of the product, 2 and 3 add them, 4 and 5 shift, 6 adds the
// lower half, 7 the upper half with the carry of the lower one; then sum_o is complete. dot_i,
// negative_i, sig_i and exp_i belong to stage 1, load_i and loaded_i to stage 4, valid_i and keep_i
// to stage 6. loaded_i has a register of its own, because a block RAM is slow.
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_sum_chains (
  input  logic               clk_i,
  input  logic signed [12:0] dot_i,
  input  logic               negative_i,
  input  logic [7:0]         sig_i,
  input  logic [4:0]         exp_i,
  input  logic               load_i,
  input  logic [63:0]        loaded_i,
  input  logic               valid_i,
  input  logic               keep_i,
  output logic [63:0]        sum_o
);
  // The dot product, or zero, for each bit of the significand product sig_i. The reset of the
  // flip-flops gates it without logic.
  logic [7:0][12:0] gated_q;
  for (genvar i = 0; i < 8; i++) begin : gen_gated
    always_ff @(posedge clk_i) begin
      if (!sig_i[i]) begin
        gated_q[i] <= '0;
      end else begin
        gated_q[i] <= dot_i;
      end
    end
  end

  // Sums of two rows of the product, then of all.
  (* keep *) logic [3:0][14:0] rows;
  (* keep *) logic [1:0][17:0] pairs;
  (* keep *) logic [19:0] product;
  logic [3:0][14:0] rows_q;
  for (genvar i = 0; i < 4; i++) begin : gen_rows
    assign rows[i] = {{2{gated_q[2*i][12]}}, gated_q[2*i]} + {gated_q[2*i+1][12], gated_q[2*i+1], 1'b0};
  end
  for (genvar i = 0; i < 2; i++) begin : gen_pairs
    assign pairs[i] = {{3{rows_q[2*i][14]}}, rows_q[2*i]} + {rows_q[2*i+1][14], rows_q[2*i+1], 2'd0};
  end
  assign product = {{2{pairs[0][17]}}, pairs[0]} + {pairs[1][15:0], 4'd0};
  logic unused_pairs;
  assign unused_pairs = ^pairs[1][17:16];

  // The shift by 0 to 28, one step per bit of the exponent.
  logic signed [19:0] product_q;
  logic signed [20:0] by1;
  logic signed [22:0] by2;
  logic signed [26:0] by4, by4_q;
  logic signed [34:0] by8;
  logic [63:0] by16, term_q;
  logic [3:0][4:0] exp_q;
  logic [5:1] negative_q;
  assign by1 = exp_q[2][0] ? {product_q, 1'b0} : 21'(product_q);
  assign by2 = exp_q[2][1] ? {by1, 2'd0} : 23'(by1);
  assign by4 = exp_q[2][2] ? {by2, 4'd0} : 27'(by2);
  assign by8 = exp_q[3][3] ? {by4_q, 8'd0} : 35'(by4_q);
  assign by16 = exp_q[3][4] ? 64'(signed'({by8, 16'd0})) : 64'(by8);
  always_ff @(posedge clk_i) begin
    rows_q <= rows;
    product_q <= product;
    by4_q <= by4;
    term_q <= by16 ^ {64{negative_q[4]}};
    exp_q <= {exp_q[2:0], exp_i};
    negative_q <= {negative_q[4:1], negative_i};
  end

  // The lower half, and one stage later the upper half.
  logic load_q;
  logic [63:0] shown_q, loaded_q;
  logic [31:0] base_low, low, low_q, late_q, high_q, term_high_q, loaded_high_q;
  logic valid_q, keep_q, carry, carry_q;
  assign base_low = keep_i ? low_q : loaded_q[31:0];
  assign {carry, low} = 33'(base_low) + 33'(term_q[31:0]) + 33'(negative_q[5]);
  always_ff @(posedge clk_i) begin
    {load_q, shown_q} <= {load_i, loaded_i};
    if (!load_q) begin
      loaded_q <= '0;
    end else begin
      loaded_q <= shown_q;
    end
    if (valid_i) {carry_q, low_q} <= {carry, low};
    {valid_q, keep_q} <= {valid_i, keep_i};
    term_high_q <= term_q[63:32];
    loaded_high_q <= loaded_q[63:32];
    if (valid_q) {high_q, late_q} <= {(keep_q ? high_q : loaded_high_q) + term_high_q + 32'(carry_q), low_q};
  end
  assign sum_o = {high_q, late_q};
endmodule
