// SPDX-License-Identifier: Apache-2.0
// Four by four processing elements as they share operand registers in an array of the form for cells (ufp4_systolic,
// Share), for the rows pe_shared of fpga/ppa.sh: a and b pass on from the fourth column and the fourth row.
module pe_shared #(
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL),
  parameter bit Parity = 1'b0,
  localparam int unsigned Share = 4
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      valid_i,
  input  logic [10:0]               control_load_i,
  input  logic [1:0]                base_i,
  input  logic [10:0]               control_sum_i,
  input  logic [64*Share-1:0]       a_mag_i,
  input  logic [24*Share-1:0]       a_rest_i,
  input  logic [64*Share-1:0]       b_mag_i,
  input  logic [24*Share-1:0]       b_rest_i,
  output logic [64*Share-1:0]       a_mag_o,
  output logic [24*Share-1:0]       a_rest_o,
  output logic [64*Share-1:0]       b_mag_o,
  output logic [24*Share-1:0]       b_rest_o,
  input  logic [1:0]                drain_read_i,
  input  logic [5:0]                drain_index_i,
  output logic [67*Share*Share-1:0] drain_data0_o,
  output logic [67*Share*Share-1:0] drain_data1_o,
  output logic [2*Share*Share-1:0]  drain_parity_o
);
  for (genvar r = 0; r < Share; r++) begin : gen_row
    for (genvar c = 0; c < Share; c++) begin : gen_col
      localparam int unsigned Place = Share * r + c;
      logic [63:0] a_mag, b_mag;
      logic [23:0] a_rest, b_rest;
      ufp4_pe #(.Formats(Formats), .Parity(Parity)) u_pe (
        .clk_i,
        .rst_ni,
        .valid_i,
        .control_load_i,
        .base_i,
        .control_sum_i,
        .a_mag_i(a_mag_i[64*r+:64]),
        .a_rest_i(a_rest_i[24*r+:24]),
        .b_mag_i(b_mag_i[64*c+:64]),
        .b_rest_i(b_rest_i[24*c+:24]),
        .a_mag_o(a_mag),
        .a_rest_o(a_rest),
        .b_mag_o(b_mag),
        .b_rest_o(b_rest),
        .step_i(1'b0),
        .first_i(1'b0),
        .drain_read_i,
        .drain_index_i,
        .drain_data0_o(drain_data0_o[67*Place+:67]),
        .drain_data1_o(drain_data1_o[67*Place+:67]),
        .drain_parity_o(drain_parity_o[2*Place+:2])
      );
    end
    assign a_mag_o[64*r+:64] = gen_row[r].gen_col[Share-1].a_mag;
    assign a_rest_o[24*r+:24] = gen_row[r].gen_col[Share-1].a_rest;
    assign b_mag_o[64*r+:64] = gen_row[Share-1].gen_col[r].b_mag;
    assign b_rest_o[24*r+:24] = gen_row[Share-1].gen_col[r].b_rest;
  end
endmodule
