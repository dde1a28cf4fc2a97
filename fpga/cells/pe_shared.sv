// SPDX-License-Identifier: Apache-2.0
// Four by four processing elements that share operand registers, as in an array of the form for
// cells (ufp4_systolic, Share), for the rows pe_shared of ./ufp4 ppa. In front of the group are the
// registers of its neighbours that pass codes to it (a_codes, b_codes); those that would pass codes
// on from its PEs have no reader and vanish in synthesis. The registers that pass scales on are
// those of the PEs, which use their outputs. So the group has as many registers as in the array,
// and paths begin in registers.
// Control: everything else of the array that belongs to a group: registers of its control words and
// of those of the drain, and for each PE the logic that selects the word of a bank and passes it
// down the column.
module pe_shared #(
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL),
  parameter bit Parity = 1'b0,
  parameter bit Control = 1'b0,
  localparam int unsigned Share = ufp4_pe_pkg::share(32'(ufp4_spec_pkg::TARGET_ASIC))
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      valid_i,
  input  logic [10:0]               control_load_i,
  input  logic [1:0]                base_i,
  input  logic [10:0]               control_sum_i,
  input  logic                      codes_step_i,    // with ClockEnables: enable of the code registers
  input  logic                      step_i,          // with ClockEnables: enable of the PEs' registers of stage 1
  input  logic [80*Share-1:0]       a_codes_i,
  input  logic [8*Share-1:0]        a_scales_i,
  input  logic [80*Share-1:0]       b_codes_i,
  input  logic [8*Share-1:0]        b_scales_i,
  output logic [8*Share-1:0]        a_scales_o,
  output logic [8*Share-1:0]        b_scales_o,
  input  logic [2*Share-1:0]        drain_read_i,
  input  logic [5:0]                drain_index_i,
  input  logic [2*Share-1:0]        drain_pick_i,    // for each row: {a word is passed down, it is of bank 1}
  input  logic [67*Share-1:0]       drain_above_i,
  output logic [67*Share-1:0]       drain_below_o,
  output logic [67*Share*Share-1:0] drain_data0_o,
  output logic [67*Share*Share-1:0] drain_data1_o,
  output logic [2*Share*Share-1:0]  drain_parity_o
);
  logic [80*Share-1:0] a_codes, b_codes;
  always_ff @(posedge clk_i) if (!ufp4_pe_pkg::ClockEnables || codes_step_i) begin
    a_codes <= a_codes_i;
    b_codes <= b_codes_i;
  end

  logic valid;
  logic [1:0] base;
  logic [10:0] control_load, control_sum;
  logic [2*Share-1:0] drain_read, drain_pick;
  logic [5:0] drain_index;
  if (Control) begin : gen_control
    always_ff @(posedge clk_i) begin
      {valid, base, control_load, control_sum} <= {valid_i, base_i, control_load_i, control_sum_i};
      {drain_read, drain_index, drain_pick} <= {drain_read_i, drain_index_i, drain_pick_i};
    end
  end else begin : gen_ports
    assign {valid, base, control_load, control_sum} = {valid_i, base_i, control_load_i, control_sum_i};
    assign {drain_read, drain_index, drain_pick} = {drain_read_i, drain_index_i, drain_pick_i};
  end

  for (genvar r = 0; r < Share; r++) begin : gen_row
    for (genvar c = 0; c < Share; c++) begin : gen_col
      localparam int unsigned Place = Share * r + c;
      logic [63:0] a_mag, b_mag;
      logic [23:0] a_rest, b_rest;
      logic [66:0] word0, word1, below;
      ufp4_pe #(.Formats(Formats), .Parity(Parity)) u_pe (
        .clk_i,
        .rst_ni,
        .valid_i(valid),
        .control_load_i(control_load),
        .base_i(base),
        .control_sum_i(control_sum),
        .a_mag_i(a_codes[80*r+:64]),
        .a_rest_i({a_codes[80*r+64+:16], a_scales_i[8*r+:8]}),
        .b_mag_i(b_codes[80*c+:64]),
        .b_rest_i({b_codes[80*c+64+:16], b_scales_i[8*c+:8]}),
        .a_mag_o(a_mag),
        .a_rest_o(a_rest),
        .b_mag_o(b_mag),
        .b_rest_o(b_rest),
        .step_i,
        .first_i(1'b0),
        .drain_read_i(drain_read[2*r+:2]),
        .drain_index_i(drain_index),
        .drain_data0_o(word0),
        .drain_data1_o(word1),
        .drain_parity_o(drain_parity_o[2*Place+:2])
      );
      if (Control) begin : gen_drain
        logic [66:0] above, picked;
        if (r == 0) begin : gen_top
          assign above = drain_above_i[67*c+:67];
        end else begin : gen_inner
          assign above = gen_row[r-1].gen_col[c].below;
        end
        assign picked = drain_pick[2*r] ? word1 : word0;
        assign below = above | ({67{drain_pick[2*r+1]}} & picked);
        assign {drain_data1_o[67*Place+:67], drain_data0_o[67*Place+:67]} = '0;
      end else begin : gen_words
        assign below = '0;
        assign {drain_data1_o[67*Place+:67], drain_data0_o[67*Place+:67]} = {word1, word0};
      end
    end
    assign a_scales_o[8*r+:8] = gen_row[r].gen_col[Share-1].a_rest[7:0];
    assign b_scales_o[8*r+:8] = gen_row[Share-1].gen_col[r].b_rest[7:0];
    assign drain_below_o[67*r+:67] = gen_row[Share-1].gen_col[r].below;
  end
endmodule
