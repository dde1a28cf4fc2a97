// SPDX-License-Identifier: Apache-2.0
// user_pe against the golden model: rows of random numbers are quantized, every block's product and the sum of the row
// are compared, and the sum as FP32 with that of a whole GEMM. With an installed ufp4 and Verilator 5:
//
//   $ verilator --binary --top-module user_pe_tb -Wno-fatal -LDFLAGS "$(pkg-config --libs ufp4_dpi)"
//       $(pkg-config --variable=sv ufp4_dpi) user_pe.sv user_pe_tb.sv && obj_dir/Vuser_pe_tb
//
// In other simulators the library is the one that -sv_lib names.
module user_pe_tb;
  import ufp4_spec_pkg::*;
  import ufp4_dpi_pkg::*;

  localparam int Rows = 50;
  localparam int K = 256;
  localparam int Blocks = K / 16;

  logic               clk = 1'b0, clear, valid;
  logic [63:0]        a_codes, b_codes;
  logic [7:0]         a_scale, b_scale;
  logic signed [63:0] sum;

  user_pe u_dut (
    .clk_i(clk), .clear_i(clear), .valid_i(valid), .a_codes_i(a_codes), .b_codes_i(b_codes), .a_scale_i(a_scale),
    .b_scale_i(b_scale), .sum_o(sum)
  );

  int unsigned  x [K], nothing [1], d [1];
  byte unsigned a_row [K], b_row [K];
  int unsigned  a_scales [Blocks], b_scales [Blocks];
  int           t_a, t_b, mismatches, compared;

  // FP32 numbers of either sign, 4 binades from 2^(exponent - 127) on.
  function automatic int unsigned random_number(input bit [7:0] exponent);
    int unsigned bits = $urandom;
    return {bits[31], exponent + {6'd0, bits[24:23]}, bits[22:0]};
  endfunction

  task automatic expect_equal(input string what, input int row, input int block, input longint got, input longint want);
    compared++;
    if (got == want) return;
    mismatches++;
    if (mismatches <= 5) $display("%s, row %0d, block %0d: got %h, want %h", what, row, block, got, want);
  endtask

  // A random row, its scales rounded to nearest, no transform. Blocks differ so much that every kind of scale occurs.
  task automatic draw_row(output byte unsigned codes[K], output int unsigned scales[Blocks], output int exponent);
    quantize_t   how = '{elem: 32'(ELEM_E1M2), default: '0};
    int unsigned tensor_scale;
    int          flags, status;
    bit [7:0]    least;
    for (int i = 0; i < K; i++) begin
      if (i % 16 == 0) least = 8'd104 + 8'($urandom % 24);
      x[i] = random_number(least);
    end
    status = quantize(1, K, how, x, codes, scales, exponent, tensor_scale, flags);
    if (status != 0) $fatal(1, "quantize: status %0d", status);
  endtask

  task automatic check_row(input int row);
    longint sum_before, want;
    gemm_t  how;
    int     status;
    want = 0;
    for (int block = 0; block < Blocks; block++) begin
      for (int i = 0; i < 16; i++) begin
        a_codes[4*i +: 4] = a_row[16*block+i][3:0];
        b_codes[4*i +: 4] = b_row[16*block+i][3:0];
      end
      a_scale = a_scales[block][7:0];
      b_scale = b_scales[block][7:0];
      clear   = block == 0;
      valid   = 1'b1;
      sum_before  = clear ? 0 : sum;
      #1 clk = 1'b1;
      #1 clk = 1'b0;
      want = block_product(32'(ELEM_E1M2), 32'(ELEM_E1M2), a_codes, b_codes, a_scale, b_scale);
      expect_equal("product", row, block, sum - sum_before, want);
    end
    how = '{contract: 32'(CONTRACT_EXACT), alpha: 32'h3F800000, a: '{elem: 32'(ELEM_E1M2), exponent: t_a, default: '0},
            b: '{elem: 32'(ELEM_E1M2), exponent: t_b, default: '0}, default: '0};
    status = gemm(1, 1, K, how, a_row, a_scales, b_row, b_scales, nothing, d);
    if (status != 0) $fatal(1, "gemm: status %0d", status);
    expect_equal("result", row, Blocks, longint'(f32_from_scaled(sum, -22 - t_a - t_b)), longint'(d[0]));
  endtask

  initial begin
    mismatches = 0;
    compared = 0;
    for (int row = 0; row < Rows; row++) begin
      draw_row(a_row, a_scales, t_a);
      draw_row(b_row, b_scales, t_b);
      check_row(row);
    end
    $display("user_pe: %0d compared, %0d mismatches", compared, mismatches);
    if (mismatches != 0) $fatal(1, "user_pe differs from the golden model");
    $finish;
  end
endmodule
