// SPDX-License-Identifier: Apache-2.0
// One copy of the tensor: converts its blocks, in the order of the walk, to codes and scales,
// numbers the panel units, and finds the tensor exponent for AMAX. Lanes tiles side by side pass in
// step, one block of each at a time.
//
// Contract: steps_i drives ufp4_quant_index for the counter of the random bytes (row, tile, strip;
// lane is the distance between the tiles of neighbouring lanes) and for the number of the panel
// unit (row group, tile, strip; with more than one lane and e8m0 two units follow each other and
// share a number). A lane without a tile gets zeros; with e8m0 only the first lane counts. Flags
// and amax_done_o (the last block has been seen) are sticky from start_i on; exponent_o is valid
// from the cycle after finish_i.
// Handshakes: valid/ready. Latency: that of ufp4_quant_block.
// Test: tests/rtl/quant (inside the engine). Timed model: sim/src/timing/quant/quant_block.
module ufp4_quant_copy #(
  parameter int unsigned Lanes = 1,
  parameter bit Mixed = 1'b0
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  input  logic                         start_i,
  input  logic                         finish_i,

  input  ufp4_quant_pkg::job_t         job_i,
  input  logic [16:0]                  tiles_i,       // tiles of a strip in a lane
  input  logic [16:0]                  unit_tiles_i,  // tiles of a strip that have a number
  input  ufp4_quant_pkg::steps_t       steps_i,

  input  logic                         block_valid_i,
  output logic                         block_ready_o,
  input  logic [Lanes-1:0][15:0][31:0] block_words_i,
  input  logic                         block_last_i,
  input  logic                         block_blank_i,

  output logic                         out_valid_o,
  input  logic                         out_ready_i,
  output logic [Lanes-1:0][63:0]       out_codes_o,
  output logic [Lanes-1:0][7:0]        out_scale_o,
  output logic                         out_last_o,
  output logic                         out_blank_o,
  input  logic                         index_step_i,
  output ufp4_quant_pkg::unit_t        index_o,

  output logic                         nan_o,
  output logic                         saturated_o,
  output logic                         amax_done_o,
  output logic [15:0]                  exponent_o
);

  // The amax of a block, or of the blocks of all lanes: the largest clean one.
  typedef struct packed {
    logic        clean;
    logic [8:0]  power;
    logic [27:0] normal;
  } amax_t;

  logic [Lanes-1:0]  group_take, block_ready, lane_valid, lane_last, lane_nan, out_valid, out_last, out_blank, out_nan,
                     out_saturated;
  amax_t [Lanes-1:0] lane_amax;
  amax_t             amax;
  logic              amax_valid, amax_last, amax_nan, out_taken;
  logic              nan_d, nan_q, saturated_d, saturated_q, amax_done_d, amax_done_q;

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic              nan, saturated;
    ufp4_quant_pkg::group_t group;

    ufp4_quant_index #(
      .Width (ufp4_quant_pkg::GROUP_BITS),
      .Blocks(16)
    ) u_group (
      .clk_i,
      .pair_i      (job_i.e8m0),
      .start_i,
      .step_i      (group_take[l]),
      .tiles_i,
      .first_i     (ufp4_quant_pkg::group_t'(l) * steps_i.lane),
      .block_step_i(steps_i.row),
      .tile_step_i (steps_i.tile),
      .strip_step_i(steps_i.strip),
      .index_o     (group)
    );

    ufp4_quant_block #(.Mixed(Mixed)) u_block (
      .clk_i,
      .rst_ni,
      .job_i,
      .group_i        (64'(group)),
      .group_take_o   (group_take[l]),
      .in_valid_i     (block_valid_i),
      .in_ready_o     (block_ready[l]),
      .in_words_i     (block_words_i[l]),
      .in_last_i      (block_last_i),
      .in_blank_i     (block_blank_i),
      .amax_valid_o   (lane_valid[l]),
      .amax_last_o    (lane_last[l]),
      .amax_clean_o   (lane_amax[l].clean),
      .amax_nan_o     (lane_nan[l]),
      .amax_power_o   (lane_amax[l].power),
      .amax_normal_o  (lane_amax[l].normal),
      .out_valid_o    (out_valid[l]),
      .out_ready_i,
      .out_codes_o    (out_codes_o[l]),
      .out_scale_o    (out_scale_o[l]),
      .out_last_o     (out_last[l]),
      .out_blank_o    (out_blank[l]),
      .out_nan_o      (nan),
      .out_saturated_o(saturated)
    );

    assign out_nan[l]       = nan && (l == 0 || !job_i.e8m0);
    assign out_saturated[l] = saturated && (l == 0 || !job_i.e8m0);
  end

  // All lanes are in step, so the first one speaks for all.
  assign block_ready_o = block_ready[0];
  assign out_valid_o   = out_valid[0];
  assign out_last_o    = out_last[0];
  assign out_blank_o   = out_blank[0];

  if (Lanes == 1) begin : gen_one
    assign {amax_valid, amax_last, amax_nan, amax} = {lane_valid, lane_last, lane_nan, lane_amax};
  end else begin : gen_largest
    logic  amax_valid_q, amax_last_q, amax_nan_q;
    amax_t amax_q;

    // A tree in which node n has the children 2n and 2n+1.
    function automatic amax_t largest(input amax_t [Lanes-1:0] in);
      amax_t [2*Lanes-1:0] node;
      node = {in, (Lanes * $bits(amax_t))'(0)};
      for (int unsigned n = Lanes - 1; n > 0; n--) node[n] = node[2*n] > node[2*n+1] ? node[2*n] : node[2*n+1];
      return node[1];
    endfunction

    always_ff @(posedge clk_i) begin
      amax_valid_q <= lane_valid[0];
      amax_last_q  <= lane_last[0];
      amax_nan_q   <= |lane_nan;
      amax_q       <= largest(lane_amax);
    end

    assign {amax_valid, amax_last, amax_nan, amax} = {amax_valid_q, amax_last_q, amax_nan_q, amax_q};

    logic unused_lanes;
    assign unused_lanes = ^{lane_valid, lane_last, out_last, out_blank};
  end

  ufp4_quant_amax #(.Mixed(Mixed)) u_amax (
    .clk_i,
    .start_i,
    .finish_i,
    .rht_i   (job_i.rht),
    .elem_i  (job_i.elem),
    .clean_i (amax_valid && amax.clean),
    .power_i (amax.power),
    .normal_i(amax.normal),
    .exponent_o
  );

  ufp4_quant_index #(
    .Width (ufp4_quant_pkg::UNIT_BITS),
    .Blocks(1),
    .Halves(Lanes == 1)
  ) u_unit (
    .clk_i,
    .pair_i      (job_i.e8m0),
    .start_i,
    .step_i      (index_step_i),
    .tiles_i     (unit_tiles_i),
    .first_i     ('0),
    .block_step_i(steps_i.unit_group),
    .tile_step_i (steps_i.unit_tile),
    .strip_step_i(steps_i.unit_strip),
    .index_o
  );

  assign out_taken   = out_valid_o && out_ready_i;
  assign nan_d       = !start_i && (nan_q || (out_taken && out_nan != '0) || (amax_valid && amax_nan));
  assign saturated_d = !start_i && (saturated_q || (out_taken && out_saturated != '0));
  assign amax_done_d = !start_i && (amax_done_q || (amax_valid && amax_last));

  always_ff @(posedge clk_i) begin
    nan_q       <= nan_d;
    saturated_q <= saturated_d;
    amax_done_q <= amax_done_d;
  end

  assign nan_o       = nan_q;
  assign saturated_o = saturated_q;
  assign amax_done_o = amax_done_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (block_ready == {Lanes{block_ready[0]}} && out_valid == {Lanes{out_valid[0]}})
        else $error("lanes out of step");
    end
  end
`endif

endmodule
