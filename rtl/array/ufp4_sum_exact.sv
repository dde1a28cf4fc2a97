// SPDX-License-Identifier: Apache-2.0
// What a PE of the exact contract does with a dot product: scales it, and adds it to a running sum.
//
//   sum = base + (dot * a_sig * b_sig << (a_exp + b_exp))          64 bits, exact
//
// base is zero, the running sum (keep), or a sum from memory (load). Stages: 1 takes dot_i and the scales, 2 multiplies
// and shifts, 3 adds. valid_i is of stage 1; keep_i, load_i and loaded_i of stage 2, keep_i set and load_i clear where that
// stage has no block. sum_o is stage 3's result before its register.
//
// The sum is four segments of 16 bits, and a carry out of the lower three stays in a bit
// of its own, {carries[2:0], sum[63:0]}, which enters the next segment with the next block. So a word in memory has 67
// bits; ufp4_sum_resolve adds the carries at the drain. No register waits for valid: where a stage has no block its
// significand product is zero, and the sum stays. The register after the adder takes what the next block is added to,
// inverted, which saves an inverter a bit where gates and flip-flops invert: nothing but that stands before the adder, and
// the wide control of the gates behind it has as long as the adder takes.
// The form for cells; that for FPGAs is ufp4_sum_chains, that for simulators in ufp4_pe_words.
// Golden: ufp4_gemm; docs/numerics.md, 5; tests/rtl/array.
module ufp4_sum_exact (
  input  logic               clk_i,
  input  logic               valid_i,
  input  logic signed [12:0] dot_i,
  input  logic [3:0]         a_sig_i,
  input  logic [3:0]         a_exp_i,
  input  logic [3:0]         b_sig_i,
  input  logic [3:0]         b_exp_i,
  input  logic               keep_i,
  input  logic               load_i,
  input  logic [66:0]        loaded_i,
  output logic [66:0]        sum_o
);
  // The dot product and three times it, of which bit 0 is the same; the scales' product, each two bits of it as what
  // they choose: three times, twice, once; their exponent.
  logic [14:1] triple;
  logic unused_triple;
  ufp4_ripple #(.Width(14)) u_triple (
    .a_i({{2{dot_i[12]}}, dot_i[12:1]}),
    .b_i({dot_i[12], dot_i}),
    .c_i(1'b0),
    .sum_o(triple),
    .carry_o(unused_triple)
  );
  logic [12:0] dot_q;
  logic [14:1] triple_q;
  logic [3:0] a_sig;
  logic [7:0] sig;
  logic [3:0][2:0] digit_d, digit_q;
  logic [4:0] exp_q;
  assign a_sig = a_sig_i & {4{valid_i}};
  assign sig   = 8'(a_sig) * 8'(b_sig_i);
  for (genvar j = 0; j < 4; j++) begin : gen_digit
    assign digit_d[j] = {sig[2*j+1] & sig[2*j], sig[2*j+1] & ~sig[2*j], ~sig[2*j+1] & sig[2*j]};
  end
  always_ff @(posedge clk_i) begin
    dot_q <= dot_i;
    triple_q <= triple;
    digit_q <= digit_d;
    exp_q <= 5'(a_exp_i) + 5'(b_exp_i);
  end

  // A row for every two bits of the product.
  logic [3:0][14:0] times;
  for (genvar j = 0; j < 4; j++) begin : gen_times
    assign times[j] = ({15{digit_q[j][2]}} & {triple_q, dot_q[0]}) |
                      ({15{digit_q[j][1]}} & {dot_q[12], dot_q, 1'b0}) |
                      ({15{digit_q[j][0]}} & {{2{dot_q[12]}}, dot_q});
  end

  // In place of -2^n for a sign stands 2^n for none; in row 0, two columns above the sign. That is 2^16 too much in rows
  // 0 and 1, 2^18 in row 2 and 2^20 in row 3: ones in columns 17 and 19 complete it.
  logic [3:0][19:0] row;
  assign row[0] = {3'b101, ~times[0][14], {2{times[0][14]}}, times[0][13:0]};
  for (genvar j = 1; j < 4; j++) begin : gen_row
    assign row[j] = 20'({~times[j][14], times[j][13:0]}) << (2 * j);
  end
  logic [19:0] sum1, carry1, sum2, carry2, scaled;
  logic unused_scaled;
  ufp4_carry_save #(.Width(20)) u_rows1 (
    .a_i(row[0]),
    .b_i(row[1]),
    .c_i(row[2]),
    .vacant_ni(1'b1),
    .carry_no(carry1),
    .sum_no(sum1)
  );
  ufp4_carry_save #(.Width(20)) u_rows2 (
    .a_i(sum1),
    .b_i(carry1),
    .c_i(~row[3]),
    .vacant_ni(1'b0),
    .carry_no(carry2),
    .sum_no(sum2)
  );
  ufp4_ripple #(.Width(20), .Cells(8)) u_scaled (
    .a_i(sum2),
    .b_i(carry2),
    .c_i(1'b0),
    .sum_o(scaled),
    .carry_o(unused_scaled)
  );
  // Its sign is that of the dot product, and there before its bits: above them it has registers of its own, so that few
  // gates stand before the adder.
  logic signed [26:0] by1, by2, by4;
  logic [25:0] bits_q;
  logic [3:0] by_d, by_q, sign_d, sign_q;
  assign by1 = exp_q[0] ? 27'(signed'({scaled, 1'b0})) : 27'(signed'(scaled));
  assign by2 = exp_q[1] ? by1 <<< 2 : by1;
  assign by4 = exp_q[2] ? by2 <<< 4 : by2;
  assign by_d = {exp_q[4:3] == 2'd3, exp_q[4:3] == 2'd2, exp_q[4:3] == 2'd1, exp_q[4:3] == 2'd0};
  assign sign_d = {4{dot_q[12] & (|digit_q)}} & {1'b1, ~by_d[3], by_d[0] | by_d[1], by_d[0]};
  always_ff @(posedge clk_i) begin
    bits_q <= by4[25:0];
    by_q <= by_d;
    sign_q <= sign_d;
  end

  logic [63:0] term;
  assign term = ({64{by_q[0]}} & 64'(bits_q)) | ({64{by_q[1]}} & 64'({bits_q, 8'd0})) |
                ({64{by_q[2]}} & 64'({bits_q, 16'd0})) | ({64{by_q[3]}} & 64'({bits_q, 24'd0})) |
                {{14{sign_q[3]}}, {8{sign_q[2]}}, {8{sign_q[1]}}, {8{sign_q[0]}}, 26'd0};

  logic [66:0] base, base_nq;
  assign base = ~base_nq;
  logic [3:0] carry;
  for (genvar i = 0; i < 4; i++) begin : gen_segment
    ufp4_ripple #(.Width(16), .Cells(6)) u_segment (
      .a_i(base[16*i+:16]),
      .b_i(term[16*i+:16]),
      .c_i((i == 0) ? 1'b0 : base[63+i]),
      .sum_o(sum_o[16*i+:16]),
      .carry_o(carry[i])
    );
  end
  assign sum_o[66:64] = carry[2:0];
  always_ff @(posedge clk_i) begin
    base_nq <= ~(({67{keep_i}} & sum_o) | ({67{load_i}} & loaded_i));
  end

  logic unused_bits;
  assign unused_bits = carry[3] ^ by4[26];
endmodule
