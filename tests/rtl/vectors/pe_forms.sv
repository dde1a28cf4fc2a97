// SPDX-License-Identifier: Apache-2.0
// What a PE does with a block, in its three forms (Target) side by side: decoders, dot product, scales, running sum, and
// what the drain makes of the sum. loaded_i is a word as in the memories of the form for cells: three carries and 64
// bits; the others load its value. Operands are held from the cycle of valid1_i until the sums are there, which is
// CYCLES after it, for the form with the most stages. Tests only.
module pe_forms (
  input  logic         clk_i,
  input  logic [7:0]   a_elem_i,
  input  logic [7:0]   b_elem_i,
  input  logic [63:0]  a_planes_i,
  input  logic [63:0]  b_planes_i,
  input  logic [6:0]   a_scale_i,
  input  logic [6:0]   b_scale_i,
  input  logic         valid1_i,
  input  logic         valid2_i,
  input  logic         valid3_i,
  input  logic         keep_i,
  input  logic         load_i,
  input  logic [66:0]  loaded_i,
  output logic [12:0]  dot_o,
  output logic         nan_o,
  output logic [191:0] sums_o      // {simulator, FPGA, cells}
);
  localparam int unsigned TARGETS = 3;
  localparam int unsigned CYCLES = 32'(ufp4_pe_pkg::DotStages) + 7;
  logic [3:0] a_sig, a_exp, b_sig, b_exp;
  logic [1:0] nan;
  ufp4_scale_decode u_a_scale (.byte_i(a_scale_i), .sig_o(a_sig), .exp_o(a_exp), .nan_o(nan[0]));
  ufp4_scale_decode u_b_scale (.byte_i(b_scale_i), .sig_o(b_sig), .exp_o(b_exp), .nan_o(nan[1]));
  assign nan_o = |nan;

  logic [63:0] loaded;
  logic [TARGETS-1:0][12:0] dots;
  ufp4_sum_resolve #(.Target(32'(ufp4_spec_pkg::TARGET_ASIC))) u_loaded (.word_i(loaded_i), .sum_o(loaded));
  assign dot_o = dots[ufp4_spec_pkg::TARGET_ASIC];

  for (genvar t = 0; t < TARGETS; t++) begin : gen_target
    localparam bit BINARY = t == 32'(ufp4_spec_pkg::TARGET_SIMULATOR);
    localparam int unsigned WIDTH = t == 32'(ufp4_spec_pkg::TARGET_ASIC) ? 67 : 64;
    logic [15:0] a_sign, b_sign;
    logic [63:0] a_mag, b_mag;
    ufp4_elem_decode #(.Binary(BINARY)) u_a (.elem_i(a_elem_i), .code_i(a_planes_i), .sign_o(a_sign), .mag_o(a_mag));
    ufp4_elem_decode #(.Binary(BINARY)) u_b (.elem_i(b_elem_i), .code_i(b_planes_i), .sign_o(b_sign), .mag_o(b_mag));

    logic [12:0] relative;
    logic negative;
    if (t == 32'(ufp4_spec_pkg::TARGET_SIMULATOR)) begin : gen_planes
      ufp4_dot_planes u_dot (.a_sign_i(a_sign), .a_mag_i(a_mag), .b_sign_i(b_sign), .b_mag_i(b_mag), .dot_o(dots[t]));
    end else if (t == 32'(ufp4_spec_pkg::TARGET_FPGA)) begin : gen_relative
      ufp4_dot_relative u_dot (
        .clk_i, .a_sign_i(a_sign), .a_mag_i(a_mag), .b_sign_i(b_sign), .b_mag_i(b_mag), .dot_o(relative),
        .negative_o(negative)
      );
      assign dots[t] = negative ? -relative : relative;
    end else begin : gen_cells
      ufp4_dot u_dot (.a_sign_i(a_sign), .a_mag_i(a_mag), .b_sign_i(b_sign), .b_mag_i(b_mag), .dot_o(dots[t]));
    end

    logic [WIDTH-1:0] word, loaded_word;
    logic [63:0] result;
    assign sums_o[64*t+:64] = result;
    if (WIDTH == 67) begin : gen_carries
      assign loaded_word = loaded_i;
    end else begin : gen_plain
      assign loaded_word = loaded;
    end
    if (t == 32'(ufp4_spec_pkg::TARGET_FPGA)) begin : gen_chains
      // Control as late as the sum needs it, which is two stages before the last.
      logic [CYCLES-4:1] valid_q, keep_q;
      logic [CYCLES-6:1] load_q;
      always_ff @(posedge clk_i) begin
        valid_q <= {valid_q[CYCLES-5:1], valid3_i};
        keep_q <= {keep_q[CYCLES-5:1], keep_i};
        load_q <= {load_q[CYCLES-7:1], load_i & valid3_i};
      end
      ufp4_sum_chains u_sum (
        .clk_i,
        .dot_i(relative),
        .negative_i(negative),
        .sig_i(8'(a_sig) * 8'(b_sig)),
        .exp_i(5'(a_exp) + 5'(b_exp)),
        .load_i(load_q[CYCLES-6]),
        .loaded_i(loaded_word),
        .valid_i(valid_q[CYCLES-4]),
        .keep_i(keep_q[CYCLES-4]),
        .sum_o(word)
      );
      assign result = word;
    end else begin : gen_steps
      logic [63:0] sum;
      logic valid_base;
      assign valid_base = (t == 32'(ufp4_spec_pkg::TARGET_ASIC)) ? valid2_i : valid3_i;
      ufp4_sum_exact #(.Target(t)) u_sum (
        .clk_i,
        .valid1_i,
        .dot_i(dots[t]),
        .a_sig_i(a_sig),
        .a_exp_i(a_exp),
        .b_sig_i(b_sig),
        .b_exp_i(b_exp),
        .valid2_i,
        .valid3_i,
        .keep_i(keep_i | ~valid_base),
        .load_i(load_i & valid_base),
        .loaded_i(loaded_word),
        .sum_o(word)
      );
      ufp4_sum_resolve #(.Target(t)) u_resolve (.word_i(word), .sum_o(sum));
      always_ff @(posedge clk_i) begin
        if (valid3_i) result <= sum;
      end
    end
  end
endmodule
