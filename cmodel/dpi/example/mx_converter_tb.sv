// SPDX-License-Identifier: Apache-2.0
// mx_converter against the golden model: random blocks of 32, the scale and every code. With an
// installed ufp4 and Verilator 5:
//
//   $ verilator --binary --top-module mx_converter_tb -Wno-fatal -LDFLAGS "$(pkg-config --libs ufp4_dpi)"
//       $(pkg-config --variable=sv ufp4_dpi) mx_converter.sv mx_converter_tb.sv && obj_dir/Vmx_converter_tb
module mx_converter_tb;
  import ufp4_spec_pkg::*;
  import ufp4_dpi_pkg::*;

  localparam int Blocks = 2000;

  // Through a register: Verilator 5.006 does not always see in an instance's port what a process writes by blocking
  // assignments.
  logic             clk = 1'b0;
  logic [32*32-1:0] drawn, words;
  always @(posedge clk) words <= drawn;

  logic [7:0]       scale;
  logic [32*4-1:0]  codes;
  mx_converter u_dut (.words_i(words), .scale_o(scale), .codes_o(codes));

  int unsigned  x [32], want_scale [1], tensor_scale;  // what the golden model takes
  byte unsigned want [32];
  int           exponent, flags, status, mismatches;

  // OCP rounds the scale down; SCALE_ROUND_RNE, which is 0, is no rounding of E8M0 and gives status 1.
  localparam quantize_t How = '{elem: 32'(ELEM_E2M1), scale: 32'(SCALE_E8M0), scale_round: 32'(SCALE_ROUND_DOWN),
                                default: '0};

  // Numbers of six binades, somewhere in the whole range; now and then zeros, subnormal numbers, ties, Inf or NaN.
  task automatic draw_block();
    bit [7:0] base = 8'($urandom % 250);
    for (int i = 0; i < 32; i++) begin
      x[i] = {1'($urandom), base + 8'($urandom % 6), 23'($urandom)};
      if ($urandom % 4 == 0) x[i][20:0] = '0;
      if ($urandom % 8 == 0) x[i][30:0] = '0;
      if ($urandom % 5000 == 0) x[i][30:23] = 8'hFF;
      drawn[32*i +: 32] = x[i];
    end
  endtask

  initial begin
    mismatches = 0;
    for (int block = 0; block < Blocks; block++) begin
      draw_block();
      #1 clk = 1'b1;
      #1 clk = 1'b0;
      status = quantize(1, 32, How, x, want, want_scale, exponent, tensor_scale, flags);
      if (status != 0) $fatal(1, "quantize: status %0d", status);
      if (scale != want_scale[0][7:0]) mismatches++;
      for (int i = 0; i < 32; i++) if (codes[4*i +: 4] != want[i][3:0]) mismatches++;
    end
    $display("mx_converter: %0d compared, %0d mismatches", 33 * Blocks, mismatches);
    if (mismatches != 0) $fatal(1, "mx_converter differs from the golden model");
    $finish;
  end
endmodule
