// SPDX-License-Identifier: Apache-2.0
// Two by two processing elements as they share operand registers in an array of the form for cells (ufp4_systolic, Share),
// for the row pe_shared of fpga/ppa.sh: a and b pass on from the second column and the second row.
module pe_shared #(
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL),
  parameter bit Parity = 1'b0
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         valid_i,
  input  logic [10:0]  control_load_i,
  input  logic [1:0]   base_i,
  input  logic [10:0]  control_sum_i,
  input  logic [127:0] a_mag_i,
  input  logic [47:0]  a_rest_i,
  input  logic [127:0] b_mag_i,
  input  logic [47:0]  b_rest_i,
  output logic [127:0] a_mag_o,
  output logic [47:0]  a_rest_o,
  output logic [127:0] b_mag_o,
  output logic [47:0]  b_rest_o,
  input  logic [1:0]   drain_read_i,
  input  logic [5:0]   drain_index_i,
  output logic [267:0] drain_data0_o,
  output logic [267:0] drain_data1_o,
  output logic [7:0]   drain_parity_o
);
  for (genvar r = 0; r < 2; r++) begin : gen_row
    for (genvar c = 0; c < 2; c++) begin : gen_col
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
        .drain_data0_o(drain_data0_o[67*(2*r+c)+:67]),
        .drain_data1_o(drain_data1_o[67*(2*r+c)+:67]),
        .drain_parity_o(drain_parity_o[2*(2*r+c)+:2])
      );
    end
    assign a_mag_o[64*r+:64] = gen_row[r].gen_col[1].a_mag;
    assign a_rest_o[24*r+:24] = gen_row[r].gen_col[1].a_rest;
    assign b_mag_o[64*r+:64] = gen_row[1].gen_col[r].b_mag;
    assign b_rest_o[24*r+:24] = gen_row[1].gen_col[r].b_rest;
  end
endmodule
