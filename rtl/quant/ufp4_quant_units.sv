// SPDX-License-Identifier: Apache-2.0
// Buffer in which QUANT collects blocks: four units of each copy (0 row, 1 column), of 16 blocks
// each, with codes and scales, read as beats of the bus.
//
// take_i stores a block of a copy in its unit; the blocks of a unit come in order. load_i reads a
// beat of the codes or the scales of a unit, which is at data_o from the next cycle up to and in
// the cycle of the next load_i; a wide beat repeats the scales at every place they can have. A unit
// may be loaded from the second cycle after its last block on. Every 64 bits have a parity bit,
// written a cycle after them; error_o is high for one cycle, two cycles after load_i, if a loaded
// bit or its parity has changed. Several words are read at once in the cycle of load_i, so the
// memory is flip-flops, or the tables of an FPGA.
// Tests: tests/rtl/quant (inside the engine), tests/rtl/fault.
module ufp4_quant_units #(
  parameter int unsigned BusBytes = 64,
  localparam int unsigned DataW = 8 * BusBytes
) (
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
  output logic [DataW-1:0] data_o,
  output logic             error_o
);

  localparam int unsigned WORDS = BusBytes / 8;  // words of 64 bits per beat: blocks of codes, or halves of the scales

  logic [63:0]  codes [128];         // {copy, unit, block}
  logic [0:0]   codes_parity [128];
  logic [127:0] scales [8];          // {copy, unit}
  logic [0:0]   scales_parity [16];  // {copy, unit, half}

  logic [1:0]      take_q, codes_odd_q, scale_odd_q, begun;
  logic [1:0][1:0] unit_q;
  logic [1:0][3:0] block_q;

  for (genvar c = 0; c < 2; c++) begin : gen_copy
    assign begun[c] = block_q[c][2:0] != 3'd0;
  end

  // One process writes for both copies, because no other process may write a memory that an
  // always_ff writes.
  always_ff @(posedge clk_i) begin
    for (int unsigned c = 0; c < 2; c++) begin
      if (take_i[c]) begin
        codes[{1'(c), take_unit_i[c], take_block_i[c]}] <= codes_i[c];
        scales[{1'(c), take_unit_i[c]}] <= {scale_i[c], scales[{1'(c), take_unit_i[c]}][127:8]};
        codes_odd_q[c] <= ^codes_i[c];
        scale_odd_q[c] <= ^scale_i[c];
        unit_q[c]      <= take_unit_i[c];
        block_q[c]     <= take_block_i[c];
      end
      if (take_q[c]) begin
        codes_parity[{1'(c), unit_q[c], block_q[c]}] <= codes_odd_q[c];
        scales_parity[{1'(c), unit_q[c], block_q[c][3]}] <=
            scale_odd_q[c] ^ (begun[c] & scales_parity[{1'(c), unit_q[c], block_q[c][3]}]);
      end
    end
    take_q <= take_i;
  end

  logic             load_q;
  logic [WORDS-1:0] parity_q, differs_q;

  for (genvar w = 0; w < WORDS; w++) begin : gen_word
    logic [3:0]  block;
    logic        half;
    logic [63:0] of_scales;

    assign block     = 4'(load_beat_i * WORDS + w);
    assign half      = (WORDS == 1) ? load_beat_i[0] : 1'(w);
    assign of_scales = half ? scales[{load_copy_i, load_unit_i}][127:64] : scales[{load_copy_i, load_unit_i}][63:0];

    always_ff @(posedge clk_i) begin
      if (load_i && load_scales_i) begin
        data_o[64*w+:64] <= of_scales;
        parity_q[w]      <= scales_parity[{load_copy_i, load_unit_i, half}];
      end else if (load_i) begin
        data_o[64*w+:64] <= codes[{load_copy_i, load_unit_i, block}];
        parity_q[w]      <= codes_parity[{load_copy_i, load_unit_i, block}];
      end
      differs_q[w] <= load_q & (parity_q[w] ^ ^data_o[64*w+:64]);
    end
  end

  always_ff @(posedge clk_i) begin
    load_q <= load_i;
  end

  assign error_o = |differs_q;

endmodule
