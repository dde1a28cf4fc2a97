// SPDX-License-Identifier: Apache-2.0
// The memories of a PE (ufp4_sum_banks) in the form that the defines select, one for each distance
// from a load to the write of its sum (Lag) that the PEs have, with 64-bit words and a way to flip
// a bit. Tests only.
module sum_banks #(
  localparam int unsigned Width = 64,
  localparam int unsigned Depth = 16,
  localparam int unsigned IndexWidth = $clog2(Depth)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [1:0]            pe_i,  // the index in Lags; the other memories see neither writes nor reads
  input  logic [1:0]            write_i,
  input  logic [IndexWidth-1:0] write_index_i,
  input  logic [Width-1:0]      sum_i,
  input  logic                  load_i,
  input  logic [IndexWidth-1:0] load_index_i,
  input  logic                  write_mark_i,
  input  logic                  load_mark_i,
  input  logic [1:0]            drain_i,
  input  logic [IndexWidth-1:0] drain_index_i,
  input  logic [1:0]            flip_i,  // flips a bit in the memory of a bank
  input  logic [1:0]            flip_parity_i,  // flips a bit in the memory of its parity
  input  logic [IndexWidth-1:0] flip_index_i,
  input  logic [5:0]            flip_bit_i,
  output logic [Width-1:0]      data0_o,
  output logic [Width-1:0]      data1_o,
  output logic [1:0]            parity_o,
  output logic [31:0]           lag_o,
  output logic [31:0]           turns_o,
  output logic [31:0]           marks_o
);
  localparam int unsigned Pes = 4;
  localparam int unsigned Lags[Pes] = '{
    ufp4_spec_pkg::TURN_CYCLES_NV,  // contract nv
    ufp4_pe_pkg::stages(32'(ufp4_spec_pkg::TARGET_ASIC), 32'(ufp4_spec_pkg::CONTRACT_EXACT)) -
      ufp4_pe_pkg::stage_load(32'(ufp4_spec_pkg::TARGET_ASIC)),
    ufp4_pe_pkg::stages(32'(ufp4_spec_pkg::TARGET_FPGA), 32'(ufp4_spec_pkg::CONTRACT_EXACT)) -
      ufp4_pe_pkg::stage_load(32'(ufp4_spec_pkg::TARGET_FPGA)),
    4  // contract fp32
  };
  localparam int unsigned Turns[Pes] = '{1, 1, 1, ufp4_spec_pkg::TURN_CYCLES};
  localparam int unsigned Marks[Pes] = '{2, 1, 1, 1};
  logic [Pes-1:0][Width-1:0] data0, data1;
  logic [Pes-1:0][1:0] parity;
  for (genvar p = 0; p < Pes; p++) begin : gen_pe
    logic here;
    assign here = pe_i == 2'(p);
    ufp4_sum_banks #(.Width(Width), .Depth(Depth), .Lag(Lags[p]), .Turns(Turns[p]), .Marks(Marks[p])) u_banks (
      .*,
      .write_i(write_i & {2{here}}),
      .load_i(load_i & here),
      .drain_i(drain_i & {2{here}}),
      .data0_o(data0[p]),
      .data1_o(data1[p]),
      .parity_o(parity[p])
    );
    always_ff @(posedge clk_i) begin
      if (here && flip_i[0]) begin
        u_banks.u_bank0.mem[flip_index_i][flip_bit_i] <= ~u_banks.u_bank0.mem[flip_index_i][flip_bit_i];
      end
      if (here && flip_i[1]) begin
        u_banks.u_bank1.mem[flip_index_i][flip_bit_i] <= ~u_banks.u_bank1.mem[flip_index_i][flip_bit_i];
      end
`ifdef UFP4_PARITY_IN_WORD
      if (here && flip_parity_i[0]) u_banks.u_bank0.mem[flip_index_i][Width] <= ~u_banks.u_bank0.mem[flip_index_i][Width];
      if (here && flip_parity_i[1]) u_banks.u_bank1.mem[flip_index_i][Width] <= ~u_banks.u_bank1.mem[flip_index_i][Width];
`else
      if (here && flip_parity_i[0]) begin
        u_banks.gen_parity.gen_beside.u_parity0.mem[flip_index_i] <= ~u_banks.gen_parity.gen_beside.u_parity0.mem[flip_index_i];
      end
      if (here && flip_parity_i[1]) begin
        u_banks.gen_parity.gen_beside.u_parity1.mem[flip_index_i] <= ~u_banks.gen_parity.gen_beside.u_parity1.mem[flip_index_i];
      end
`endif
    end
  end
  assign {data0_o, data1_o, parity_o} = {data0[pe_i], data1[pe_i], parity[pe_i]};
  assign lag_o = Lags[pe_i];
  assign turns_o = Turns[pe_i];
  assign marks_o = Marks[pe_i];
endmodule
