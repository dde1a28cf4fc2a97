// SPDX-License-Identifier: Apache-2.0
// The buffer of ufp4_quant_units for the narrow engine, on a bus of 8 bytes, in one memory.
//
// take_i stores a block of one of the copies, at most one in two cycles. All blocks of a unit (or,
// alternately, of two units) come without a block of another unit in between. load_i works as in
// ufp4_quant_units, except that error_o comes a cycle later.
// Tests: tests/rtl/quant (inside the engine).
module ufp4_quant_units_serial (
  input  logic             clk_i,

  input  logic [1:0]       take_i,
  input  logic [1:0][1:0]  take_unit_i,
  input  logic [1:0][3:0]  take_block_i,
  input  logic [1:0][63:0] codes_i,
  input  logic [1:0][7:0]  scale_i,

  input  logic             load_i,
  input  logic             load_scales_i,
  input  logic             load_copy_i,
  input  logic [1:0]       load_unit_i,
  input  logic [4:0]       load_beat_i,
  output logic [63:0]      data_o,
  output logic             error_o
);

  logic             copy;
  logic [1:0][55:0] scales_q;       // scales of the last blocks of an even and an odd unit
  logic             put_scales_q;   // write a word of eight scales, a cycle after the codes of the last
  logic [63:0]      word_q;
  logic [7:0]       place_q;        // {copy, unit, scales, block or half}

  assign copy = take_i[1];

  always_ff @(posedge clk_i) begin
    put_scales_q <= take_i != '0 && take_block_i[copy][2:0] == 3'd7;
    if (take_i != '0) begin
      word_q  <= {scale_i[copy], scales_q[take_unit_i[copy][0]]};
      place_q <= {copy, take_unit_i[copy], 4'b1000, take_block_i[copy][3]};
      scales_q[take_unit_i[copy][0]] <= {scale_i[copy], scales_q[take_unit_i[copy][0]][55:8]};
    end
  end

  ufp4_sram_checked #(
    .Width(64),
    .Depth(256)
  ) u_sram (
    .clk_i,
    .we_i   (take_i != '0 || put_scales_q),
    .waddr_i(put_scales_q ? place_q : {copy, take_unit_i[copy], 1'b0, take_block_i[copy]}),
    .wdata_i(put_scales_q ? word_q : codes_i[copy]),
    .re_i   (load_i),
    .raddr_i({load_copy_i, load_unit_i, load_scales_i, load_beat_i[3:0]}),
    .rdata_o(data_o),
    .error_o
  );

  logic unused;
  assign unused = ^load_beat_i;

endmodule
