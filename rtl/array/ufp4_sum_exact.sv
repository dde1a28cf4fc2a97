// SPDX-License-Identifier: Apache-2.0
// Scales a dot product and adds it to the running sum of a PE of the contract exact: the form for
// cells. (The form for FPGAs is ufp4_sum_chains; the form for simulators is in ufp4_pe_words.)
//
//   sum = base + (dot * a_sig * b_sig << (a_exp + b_exp))          64 bits, exact
//
// base is zero, the running sum (keep), or a sum from memory (load). Stage 1 takes dot_i and the
// scales, 2 multiplies and shifts, 3 adds. valid_i belongs to stage 1; keep_i, load_i and loaded_i
// belong to stage 2, where keep_i must be set and load_i clear while the stage has no block. sum_o
// is the result of stage 3 before its register.
//
// The sum is four segments of 16 bits. The carry out of each of the lower three is kept in a bit of
// its own, {carries[2:0], sum[63:0]}, and enters the next segment with the next block, so that no
// carry passes more than one segment in a cycle. A word in memory therefore has 67 bits, and
// ufp4_sum_resolve adds the carries at the drain. The bits above every block product only count: up
// for a carry, down for a sign. No register has an enable: without a block the significand product
// of a stage is zero, and the sum does not change. The register behind the adder holds base for the
// next block, inverted, which saves one inverter per bit in libraries whose gates and flip-flops
// invert. Nothing but this register is in front of the adder: base is selected behind the adder,
// and the select signals, of wide fan-out, have as long as the adder takes. With E2M1 among the
// Formats a dot product reaches 16 * 12 * 12 = 2304, otherwise 16 * 8 * 8 = 1024, which needs one
// bit less: dot_i[12] is then unused.
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/vectors.
module ufp4_sum_exact #(
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL)
) (
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
  localparam bit Uniform = Formats == 32'(ufp4_spec_pkg::FORMATS_UNIFORM) ||
                           Formats == 32'(ufp4_spec_pkg::FORMATS_E1M2);
  localparam int unsigned DotWidth = Uniform ? 12 : 13;
  // The dot product times the significand product, at most 15 * 15, has seven bits more than the
  // dot product.
  localparam int unsigned ScaledWidth = DotWidth + 7;
  localparam int unsigned TermWidth = ScaledWidth + 6;  // after a shift by up to seven, without the sign
  logic [DotWidth-1:0] dot;
  assign dot = dot_i[DotWidth-1:0];

  // The dot product and three times it, which share bit 0 and the sign.
  logic [DotWidth-1:1] triple;
  logic unused_triple;
  ufp4_ripple #(.Width(DotWidth - 1)) u_triple (
    .a_i(dot[DotWidth-1:1]),
    .b_i(dot[DotWidth-2:0]),
    .c_i(1'b0),
    .sum_o(triple),
    .carry_o(unused_triple)
  );
  // The product of the significands, row by row: smaller than the multiplier that yosys builds,
  // with and without the full adders of a library.
  logic [3:0] a_sig;
  logic [7:0] sig;
  assign a_sig = a_sig_i & {4{valid_i}};
  assign sig[0] = a_sig[0] & b_sig_i[0];
  for (genvar i = 1; i < 4; i++) begin : gen_sig
    logic [3:0] above, added;
    logic carry;
    if (i == 1) begin : gen_first
      assign above = {1'b0, {3{a_sig[0]}} & b_sig_i[3:1]};
    end else begin : gen_next
      assign above = {gen_sig[i-1].carry, gen_sig[i-1].added[3:1]};
    end
    ufp4_ripple #(.Width(4)) u_added (
      .a_i(above),
      .b_i({4{a_sig[i]}} & b_sig_i),
      .c_i(1'b0),
      .sum_o(added),
      .carry_o(carry)
    );
    if (i < 3) begin : gen_bit
      assign sig[i] = added[0];
    end else begin : gen_bits
      assign sig[7:3] = {carry, added};
    end
  end

  // Registers of stage 2: the dot product, three times it, and for every two bits of the
  // significand product the multiple they choose (three, two or one).
  logic [DotWidth-1:0] once;
  logic [DotWidth-1:1] thrice;
  logic [3:0][2:0] digit_d, digit;
  logic [4:0] exp;
  for (genvar j = 0; j < 4; j++) begin : gen_digit
    assign digit_d[j] = {&sig[2*j+:2], sig[2*j+1] & ~sig[2*j], ~sig[2*j+1] & sig[2*j]};
  end
  always_ff @(posedge clk_i) begin
    once <= dot;
    thrice <= triple;
    digit <= digit_d;
    exp <= 5'(a_exp_i) + 5'(b_exp_i);
  end

  // One row for every two bits of the significand product: the chosen multiple and its sign.
  logic [3:0][DotWidth-1:0] times;
  logic [3:0] minus;
  for (genvar j = 0; j < 4; j++) begin : gen_times
    assign times[j] = ({DotWidth{digit[j][2]}} & {thrice, once[0]}) |
                      ({DotWidth{digit[j][1]}} & {once[DotWidth-2:0], 1'b0}) | ({DotWidth{digit[j][0]}} & once);
    assign minus[j] = once[DotWidth-1] & |digit[j];
  end

  // Row 3 keeps its sign. In the other rows the sign -2^n is replaced by 2^n where the row is not
  // negative; in row 0 it is moved two columns up, to that of row 1. With n = DotWidth this adds
  // 2^(n+3) too much in rows 0 and 1 together and 2^(n+4) in row 2; the constant 13 * 2^(n+3)
  // completes them to 16 * 2^(n+3), which is 0 modulo 2^ScaledWidth.
  logic [3:0][ScaledWidth-1:0] row;
  assign row[0] = {4'd13, ~minus[0], {2{minus[0]}}, times[0]};
  for (genvar j = 1; j < 4; j++) begin : gen_row
    assign row[j] = ScaledWidth'({minus[j] ^ (j < 3), times[j]}) << (2 * j);
  end
  logic [ScaledWidth-1:0] sum1, carry1, sum2, carry2, scaled;
  logic unused_scaled;
  ufp4_carry_save #(.Width(ScaledWidth)) u_rows1 (
    .a_i(row[0]),
    .b_i(row[1]),
    .c_i(row[2]),
    .vacant_ni(1'b1),
    .carry_no(carry1),
    .sum_no(sum1)
  );
  ufp4_carry_save #(.Width(ScaledWidth)) u_rows2 (
    .a_i(sum1),
    .b_i(carry1),
    .c_i(~row[3]),
    .vacant_ni(1'b0),
    .carry_no(carry2),
    .sum_no(sum2)
  );
  ufp4_ripple #(.Width(ScaledWidth), .Cells(8)) u_scaled (
    .a_i(sum2),
    .b_i(carry2),
    .c_i(1'b0),
    .sum_o(scaled),
    .carry_o(unused_scaled)
  );
  // The shift by up to seven.
  logic signed [TermWidth:0] by1, by2, by4;
  logic [TermWidth-1:0] bits;
  assign by1 = exp[0] ? (TermWidth+1)'(signed'({scaled, 1'b0})) : (TermWidth+1)'(signed'(scaled));
  assign by2 = exp[1] ? by1 <<< 2 : by1;
  assign by4 = exp[2] ? by2 <<< 4 : by2;
  always_ff @(posedge clk_i) begin
    bits <= by4[TermWidth-1:0];
  end

  // The sign of the term is that of the dot product, known before its bits. Sign bits above the
  // term come from registers of their own, so that fewer gates are in front of the adder.
  logic [3:0] by_d, by_q, sign_d, sign_q;
  assign by_d = {exp[4:3] == 2'd3, exp[4:3] == 2'd2, exp[4:3] == 2'd1, exp[4:3] == 2'd0};
  assign sign_d = {4{|minus}} & {1'b1, ~by_d[3], by_d[0] | by_d[1], by_d[0]};
  always_ff @(posedge clk_i) begin
    by_q <= by_d;
    sign_q <= sign_d;
  end

  // The term below Counted; above, only the sign is added.
  localparam int unsigned Counted = TermWidth + 24;
  logic [Counted-1:0] term;
  assign term = ({Counted{by_q[0]}} & Counted'(bits)) | ({Counted{by_q[1]}} & Counted'({bits, 8'd0})) |
                ({Counted{by_q[2]}} & Counted'({bits, 16'd0})) | ({Counted{by_q[3]}} & {bits, 24'd0}) |
                {{8{sign_q[2]}}, {8{sign_q[1]}}, {8{sign_q[0]}}, TermWidth'(0)};

  logic [66:0] base, base_nq;
  assign base = ~base_nq;
  logic [3:0] carry;
  for (genvar i = 0; i < 4; i++) begin : gen_segment
    localparam int unsigned Width = (i < 3) ? 16 : Counted - 48;
    ufp4_ripple #(.Width(Width), .Cells(6)) u_segment (
      .a_i(base[16*i+:Width]),
      .b_i(term[16*i+:Width]),
      .c_i((i == 0) ? 1'b0 : base[63+i]),
      .sum_o(sum_o[16*i+:Width]),
      .carry_o(carry[i])
    );
  end
  // A carry without a sign counts up, a sign without a carry counts down: a bit toggles if all bits
  // below it have toggled and propagate.
  for (genvar i = Counted; i < 64; i++) begin : gen_counted
    logic turn;
    if (i == Counted) begin : gen_first
      assign turn = carry[3] ^ sign_q[3];
    end else begin : gen_next
      assign turn = gen_counted[i-1].turn & (base[i-1] ^ sign_q[3]);
    end
    assign sum_o[i] = base[i] ^ turn;
  end
  assign sum_o[66:64] = carry[2:0];
  always_ff @(posedge clk_i) begin
    base_nq <= ~(({67{keep_i}} & sum_o) | ({67{load_i}} & loaded_i));
  end

  logic unused_bits;
  assign unused_bits = by4[TermWidth] ^ dot_i[12];
endmodule
