// SPDX-License-Identifier: Apache-2.0
// The buffer of ufp4_quant_units for the wide engine: Slots groups of each copy (0 row, 1 column),
// of four units each (with pair_i two), read as beats of 128 bytes.
//
// take_i stores a block of each unit of a group (with pair_i one block, of unit take_half_i, from
// lane 0). load_i reads a unit: its 16 blocks are at codes_o and its scales at scales_o from the
// next cycle up to and in the cycle of the next load_i. error_o is high for one cycle, three cycles
// after load_i, if a loaded bit or its parity has changed. Block j of unit u is in bank j xor 4u,
// so that the blocks of four units go to four banks, and those of one unit to all 16.
// Tests: tests/rtl/quant (inside the engine).
module ufp4_quant_units_wide #(
  parameter int unsigned Slots = 4,
  localparam int unsigned SlotW = $clog2(Slots)
) (
  input  logic                  clk_i,

  input  logic                  pair_i,
  input  logic [1:0]            take_i,
  input  logic [1:0][SlotW-1:0] take_slot_i,
  input  logic [1:0][3:0]       take_block_i,
  input  logic [1:0]            take_half_i,
  input  logic [1:0][3:0][63:0] codes_i,
  input  logic [1:0][3:0][7:0]  scale_i,

  input  logic                  load_i,
  input  logic                  load_copy_i,
  input  logic [SlotW-1:0]      load_slot_i,
  input  logic [1:0]            load_unit_i,
  output logic [15:0][63:0]     codes_o,
  output logic [15:0][7:0]      scales_o,
  output logic                  error_o
);

  logic [1:0][15:0][71:0] loaded;  // scale and codes of a block, by copy and bank
  logic [1:0][15:0]       error;

  for (genvar c = 0; c < 2; c++) begin : gen_copy
    for (genvar q = 0; q < 4; q++) begin : gen_quad
      logic [1:0]  unit;           // the unit whose block goes to these four banks
      logic        take;
      logic [71:0] word;

      assign unit = 2'(q) ^ take_block_i[c][3:2];
      assign take = take_i[c] && (!pair_i || unit == {1'b0, take_half_i[c]});
      assign word = pair_i ? {scale_i[c][0], codes_i[c][0]} : {scale_i[c][unit], codes_i[c][unit]};

      for (genvar k = 0; k < 4; k++) begin : gen_bank
        ufp4_sram_checked #(
          .Width(72),
          .Depth(4 * Slots)
        ) u_sram (
          .clk_i,
          .we_i   (take && take_block_i[c][1:0] == 2'(k)),
          .waddr_i({take_slot_i[c], unit}),
          .wdata_i(word),
          .re_i   (load_i && load_copy_i == 1'(c)),
          .raddr_i({load_slot_i, load_unit_i}),
          .rdata_o(loaded[c][4*q+k]),
          .error_o(error[c][4*q+k])
        );
      end
    end
  end

  logic       copy_q;
  logic [1:0] unit_q;
  logic [3:0] bank;

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      copy_q <= load_copy_i;
      unit_q <= load_unit_i;
    end
  end

  always_comb begin
    bank = 4'd0;
    for (int unsigned j = 0; j < 16; j++) begin
      bank = 4'(j) ^ {unit_q, 2'b00};
      {scales_o[j], codes_o[j]} = loaded[copy_q][bank];
    end
  end

  assign error_o = |error;

endmodule
