// SPDX-License-Identifier: Apache-2.0
// ufp4_threefry with Shared, without parameters, because a netlist has none. Tests only.
module threefry_shared (
  input  logic         clk_i,
  input  logic [7:0]   en_i,
  input  logic         stop_i,
  input  logic [63:0]  seed_i,
  input  logic [63:0]  tensor_id_i,
  input  logic [63:0]  group_i,
  output logic [127:0] words_o
);
  ufp4_threefry #(.Shared(1'b1)) u_threefry (.*);
endmodule
