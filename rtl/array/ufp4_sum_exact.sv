// SPDX-License-Identifier: Apache-2.0
// What a PE of the exact contract does with a dot product: scales it, and adds it to a running sum.
//
//   sum = base + (dot * a_sig * b_sig << (a_exp + b_exp))          64 bits, exact
//
// base is zero, the running sum (keep), or a sum from memory (load). Stages: 1 takes dot_i and the scales, 2 multiplies
// and shifts by up to 7, 3 shifts by 0, 8, 16 or 24 and adds. valid1_i is of stage 1, the rest of the control of
// stage 3; sum_o is stage 3's result before its register.
//
// Form for cells (TARGET_ASIC): the sum is four segments of 16 bits, and a carry out of the lower three stays in a bit
// of its own, {carries[2:0], sum[63:0]}, which enters the next segment with the next block. So a word in memory has 67
// bits; ufp4_sum_resolve adds the carries at the drain. No register waits for valid: where a stage has no block its
// significand product is zero, and the sum stays.
// Form for FPGAs: adders of two operands, on carry chains, kept apart; registers with enables.
// Form for simulators: few operations on words.
// Golden: ufp4_gemm; docs/numerics.md, 5; tests/rtl/array.
module ufp4_sum_exact #(
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC),
  localparam int unsigned SumWidth = (Target == 32'(ufp4_spec_pkg::TARGET_ASIC)) ? 67 : 64
) (
  input  logic                clk_i,
  input  logic                valid1_i,
  input  logic signed [12:0]  dot_i,
  input  logic [3:0]          a_sig_i,
  input  logic [3:0]          a_exp_i,
  input  logic [3:0]          b_sig_i,
  input  logic [3:0]          b_exp_i,
  input  logic                valid2_i,
  input  logic                valid3_i,
  input  logic                keep_i,
  input  logic                load_i,
  input  logic [SumWidth-1:0] loaded_i,
  output logic [SumWidth-1:0] sum_o
);
  if (Target == 32'(ufp4_spec_pkg::TARGET_SIMULATOR)) begin : gen_words
    logic signed [12:0] dot_q;
    logic [7:0] sig_q;
    logic [4:0] exp_q;
    always_ff @(posedge clk_i) begin
      if (valid1_i) begin
        dot_q <= dot_i;
        sig_q <= 8'(a_sig_i) * 8'(b_sig_i);
        exp_q <= 5'(a_exp_i) + 5'(b_exp_i);
      end
    end

    // At most 2304 * 225 << 28, 48 bits with the sign.
    logic signed [19:0] scaled;
    logic signed [47:0] term_q;
    assign scaled = 20'(dot_q) * signed'(20'(sig_q));
    always_ff @(posedge clk_i) begin
      if (valid2_i) term_q <= 48'(scaled) <<< exp_q;
    end

    logic [63:0] base, sum_q;
    assign base = keep_i ? sum_q : (load_i ? loaded_i : 64'd0);
    assign sum_o = base + unsigned'(64'(term_q));
    always_ff @(posedge clk_i) begin
      if (valid3_i) sum_q <= sum_o;
    end
  end else if (Target == 32'(ufp4_spec_pkg::TARGET_FPGA)) begin : gen_chains
    logic [12:0] dot_q;
    logic [7:0] sig_q;
    logic [4:0] exp_q;
    always_ff @(posedge clk_i) begin
      if (valid1_i) begin
        dot_q <= dot_i;
        sig_q <= 8'(a_sig_i) * 8'(b_sig_i);
        exp_q <= 5'(a_exp_i) + 5'(b_exp_i);
      end
    end

    // Two rows of the product, then pairs of those, then the product.
    (* keep *) logic [3:0][14:0] rows;
    (* keep *) logic [1:0][17:0] pairs;
    (* keep *) logic [19:0] scaled;
    for (genvar i = 0; i < 4; i++) begin : gen_rows
      assign rows[i] = ({{2{dot_q[12]}}, dot_q} & {15{sig_q[2*i]}}) + ({dot_q[12], dot_q, 1'b0} & {15{sig_q[2*i+1]}});
    end
    for (genvar i = 0; i < 2; i++) begin : gen_pairs
      assign pairs[i] = {{3{rows[2*i][14]}}, rows[2*i]} + {rows[2*i+1][14], rows[2*i+1], 2'd0};
    end
    assign scaled = {{2{pairs[0][17]}}, pairs[0]} + {pairs[1][15:0], 4'd0};
    logic signed [26:0] by1, by2, fine_q;
    logic [1:0] coarse_q;
    assign by1 = exp_q[0] ? 27'(signed'({scaled, 1'b0})) : 27'(signed'(scaled));
    assign by2 = exp_q[1] ? by1 <<< 2 : by1;
    always_ff @(posedge clk_i) begin
      if (valid2_i) begin
        fine_q <= exp_q[2] ? by2 <<< 4 : by2;
        coarse_q <= exp_q[4:3];
      end
    end

    (* keep *) logic [63:0] base, term;
    logic signed [34:0] by8;
    logic [63:0] sum_q;
    assign by8 = coarse_q[0] ? {fine_q, 8'd0} : 35'(fine_q);
    assign term = coarse_q[1] ? 64'(signed'({by8, 16'd0})) : 64'(by8);
    assign base = ({64{keep_i}} & sum_q) | ({64{load_i & ~keep_i}} & loaded_i);
    assign sum_o = base + term;
    always_ff @(posedge clk_i) begin
      if (valid3_i) sum_q <= sum_o;
    end

    logic unused_pairs;
    assign unused_pairs = ^pairs[1][17:16];
  end else begin : gen_segments
    logic [12:0] dot_q;
    logic [3:0] a_sig;
    logic [7:0] sig_q;
    logic [4:0] exp_q;
    assign a_sig = a_sig_i & {4{valid1_i}};
    always_ff @(posedge clk_i) begin
      dot_q <= dot_i;
      sig_q <= 8'(a_sig) * 8'(b_sig_i);
      exp_q <= 5'(a_exp_i) + 5'(b_exp_i);
    end

    // Rows of the product with the sign's column inverted: each row is then too large by 2^(12 + j).
    logic [19:0] scaled;
    always_comb begin
      scaled = '0;
      for (int unsigned j = 0; j < 8; j++) begin
        scaled = scaled + (20'({~(dot_q[12] & sig_q[j]), dot_q[11:0] & {12{sig_q[j]}}}) << j);
      end
      scaled = scaled - 20'(255 << 12);
    end
    logic signed [26:0] by1, by2, fine, fine_q;
    logic [1:0] coarse_q;
    assign by1 = exp_q[0] ? 27'(signed'({scaled, 1'b0})) : 27'(signed'(scaled));
    assign by2 = exp_q[1] ? by1 <<< 2 : by1;
    assign fine = exp_q[2] ? by2 <<< 4 : by2;
    always_ff @(posedge clk_i) begin
      fine_q <= fine;
      coarse_q <= exp_q[4:3];
    end

    logic [3:0] by;
    logic [63:0] term;
    assign by = {coarse_q == 2'd3, coarse_q == 2'd2, coarse_q == 2'd1, coarse_q == 2'd0};
    assign term = ({64{by[0]}} & 64'(fine_q)) | ({64{by[1]}} & 64'(signed'({fine_q, 8'd0}))) |
                  ({64{by[2]}} & 64'(signed'({fine_q, 16'd0}))) | ({64{by[3]}} & 64'(signed'({fine_q, 24'd0})));

    logic [66:0] base, sum_q;
    assign base = ({67{keep_i | ~valid3_i}} & sum_q) | ({67{load_i & valid3_i}} & loaded_i);
    assign {sum_o[64], sum_o[15:0]} = 17'(base[15:0]) + 17'(term[15:0]);
    assign {sum_o[65], sum_o[31:16]} = 17'(base[31:16]) + 17'(term[31:16]) + 17'(base[64]);
    assign {sum_o[66], sum_o[47:32]} = 17'(base[47:32]) + 17'(term[47:32]) + 17'(base[65]);
    assign sum_o[63:48] = base[63:48] + term[63:48] + 16'(base[66]);
    always_ff @(posedge clk_i) begin
      sum_q <= sum_o;
    end

    logic unused_valid2;
    assign unused_valid2 = valid2_i;
  end
endmodule
