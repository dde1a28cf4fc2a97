// SPDX-License-Identifier: Apache-2.0
// The operand memories of one row or column of the array, and the decoder behind them, which drives
// the array at that edge position.
//
// A read (read_i with the address {slot, sub-tile, block}) in cycle t gives the decoded operand in
// cycle t + 2: mag_o, and rest_o = {sign, sig, exp}. The contract decides the form of sig and exp:
// ufp4_scale_decode for exact, ufp4_scale_number, which also decodes E8M0, for fp32, and
// ufp4_scale_split with one more bit for E1M2 elements for nv. The memory holds a block per word as
// bit planes (ufp4_elem_decode), and a scale byte per block. With ELEM_MIXED bit 7 of the scale
// byte gives the grid of the block; both grids decode to the same unit, so nothing behind the
// decoder depends on it. With fewer than 16 Lanes a block is read in 16 / Lanes steps, one per
// read_i, beginning with the one that has first_i.
//
// The lane keeps a NaN flag per sub-tile, for the macro-tile that is fed and the one before
// (parity): nan_o is the flag of (nan_parity_i, nan_tile_i), set when a block read had a NaN scale.
// A read with clear_i first clears the flag of its sub-tile. error_o pulses three cycles after a
// read that finds a parity error (ufp4_sram_checked).
// Tests: tests/rtl/array.
module ufp4_lane #(
  parameter int unsigned Tiles = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned Lanes = 16,
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC),
  parameter bit Parity = Target != 32'(ufp4_spec_pkg::TARGET_SIMULATOR),
  parameter int unsigned Contract = 32'(ufp4_spec_pkg::CONTRACT_EXACT),
  localparam int unsigned RestWidth = Lanes + ((Contract == 32'(ufp4_spec_pkg::CONTRACT_EXACT)) ? 8 : 13),
  localparam int unsigned TileWidth = $clog2(Tiles),
  localparam int unsigned AddrWidth = 1 + TileWidth + $clog2(Chunk)
) (
  input  logic                 clk_i,
  input  logic [7:0]           elem_i,
  input  logic                 e8m0_i,
  input  logic                 we_i,
  input  logic [AddrWidth-1:0] waddr_i,
  input  logic [63:0]          wcode_i,
  input  logic [7:0]           wscale_i,
  input  logic                 read_i,
  input  logic                 first_i,
  input  logic [AddrWidth-1:0] raddr_i,
  input  logic                 parity_i,
  input  logic                 clear_i,
  output logic [4*Lanes-1:0]   mag_o,
  output logic [RestWidth-1:0] rest_o,
  input  logic                 nan_parity_i,
  input  logic [TileWidth-1:0] nan_tile_i,
  output logic                 nan_o,
  output logic                 error_o
);
  localparam int unsigned BlockWidth = $clog2(Chunk);

  logic code_error, scale_error;
  logic [63:0] code;
  ufp4_sram_checked #(.Width(64), .Depth(1 << AddrWidth), .Parity(Parity)) u_codes (
    .clk_i,
    .we_i,
    .waddr_i,
    .wdata_i(wcode_i),
    .re_i(read_i & first_i),
    .raddr_i,
    .rdata_o(code),
    .error_o(code_error)
  );
  logic [7:0] scale;
  ufp4_sram_checked #(.Width(8), .Depth(1 << AddrWidth), .Parity(Parity)) u_scales (
    .clk_i,
    .we_i,
    .waddr_i,
    .wdata_i(wscale_i),
    .re_i(read_i & first_i),
    .raddr_i,
    .rdata_o(scale),
    .error_o(scale_error)
  );
  assign error_o = code_error | scale_error;

  logic read_q, clear_q;
  logic [TileWidth:0] flag_q;
  always_ff @(posedge clk_i) begin
    read_q <= read_i;
    if (read_i) begin
      clear_q <= clear_i;
      flag_q <= {parity_i, raddr_i[BlockWidth+:TileWidth]};
    end
  end

  // The planes of the elements of this step.
  logic [4*Lanes-1:0] part;
  if (Lanes < 16) begin : gen_steps
    logic [$clog2(16 / Lanes)-1:0] step_q;
    always_ff @(posedge clk_i) begin
      if (read_i) step_q <= first_i ? '0 : step_q + 1'b1;
    end
    for (genvar p = 0; p < 4; p++) begin : gen_plane
      assign part[Lanes*p+:Lanes] = code[16*p+Lanes*step_q+:Lanes];
    end
  end else begin : gen_block
    assign part = code;
  end

  logic [Lanes-1:0] sign;
  logic [4*Lanes-1:0] mag;
  logic [3:0] sig;
  logic [RestWidth-Lanes-5:0] exp;
  logic nan;
  localparam bit Binary = Lanes < 16 || Target != 32'(ufp4_spec_pkg::TARGET_FPGA);
  ufp4_elem_decode #(.Lanes(Lanes), .Binary(Binary)) u_elem_decode (
    .elem_i,
    .uniform_i(scale[7]),
    .code_i(part),
    .sign_o(sign),
    .mag_o(mag)
  );
  if (Contract == 32'(ufp4_spec_pkg::CONTRACT_EXACT)) begin : gen_exact
    ufp4_scale_decode u_scale_decode (.byte_i(scale[6:0]), .sig_o(sig), .exp_o(exp), .nan_o(nan));
    logic unused_scale;
    assign unused_scale = e8m0_i;
  end else if (Contract == 32'(ufp4_spec_pkg::CONTRACT_NV)) begin : gen_nv
    assign exp[8] = elem_i == ufp4_spec_pkg::ELEM_E1M2;
    ufp4_scale_split u_scale_split (.byte_i(scale), .e8m0_i, .sig_o(sig), .exp_o(exp[7:0]), .nan_o(nan));
  end else begin : gen_fp32
    ufp4_scale_number u_scale_number (.byte_i(scale), .e8m0_i, .elem_i, .sig_o(sig), .exp_o(exp), .nan_o(nan));
  end

  logic [(2<<TileWidth)-1:0] nan_q;
  always_ff @(posedge clk_i) begin
    if (read_q) begin
      mag_o <= mag;
      rest_o <= {sign, sig, exp};
      nan_q[flag_q] <= nan | (nan_q[flag_q] & ~clear_q);
    end
  end
  assign nan_o = nan_q[{nan_parity_i, nan_tile_i}];
endmodule
