// SPDX-License-Identifier: Apache-2.0
// Computes a number that follows the walk of the engine over the blocks of a tile, the tiles of a
// strip, and the strips. With pair_i there are twice as many blocks, each in two halves if Halves
// is set.
//
// Contract: index_o = first_i + block * block_step_i + tile * tile_step_i + strip * strip_step_i
// for the current block (0 to Blocks-1), tile (0 to tiles_i-1) and strip. With pair_i block is 0 to
// 2 Blocks-1, and the second half of a block has one more. start_i goes to the first block, step_i
// to the next, from the second cycle after start_i on. The steps are constant from start_i on.
// There is no multiplier, and no adder behind another: the starts of the next tile and strip are
// computed in advance. The numbers are the counter of the random bytes and that of the panel units.
// Test: tests/rtl/quant (inside the engine). Timed model: sim/src/timing/quant/quant_write_wide.
module ufp4_quant_index #(
  parameter int unsigned Width = 40,
  parameter int unsigned Blocks = 16,
  parameter bit Halves = 1'b1
) (
  input  logic             clk_i,

  input  logic             pair_i,
  input  logic             start_i,
  input  logic             step_i,
  input  logic [16:0]      tiles_i,
  input  logic [Width-1:0] first_i,
  input  logic [Width-1:0] block_step_i,
  input  logic [Width-1:0] tile_step_i,
  input  logic [Width-1:0] strip_step_i,
  output logic [Width-1:0] index_o
);

  localparam int unsigned BLOCK_W = $clog2(2 * Blocks);

  logic               half_q;
  logic [BLOCK_W-1:0] block_q;
  logic [16:0]        tiles_q;  // tiles of the strip from this one on
  logic               last_q;   // this tile is the last of the strip
  logic [Width-1:0]   index_q, step_q, tile_q, strip_q;  // tile_q, strip_q: the starts of the next tile and strip
  logic               begun_q;  // tile_q and strip_q still hold the first number
  logic               pair_q;   // a register of its own, to divide the load
  logic               halves, first_half, tile_end, strip_end;

  assign index_o    = index_q;
  assign halves     = Halves && pair_q;
  assign first_half = halves && !half_q;
  assign tile_end   = !first_half && block_q == (pair_q ? BLOCK_W'(2 * Blocks - 1) : BLOCK_W'(Blocks - 1));
  assign strip_end  = tile_end && last_q;

  always_ff @(posedge clk_i) begin
    if (start_i) half_q <= 1'b0;
    else if (step_i) half_q <= first_half;
    if (start_i) begin
      block_q <= '0;
      tiles_q <= tiles_i;
      last_q  <= tiles_i == 17'd1;
    end else if (step_i && tile_end) begin
      block_q <= '0;
      tiles_q <= last_q ? tiles_i : tiles_q - 17'd1;
      last_q  <= (last_q ? tiles_i : tiles_q) == (last_q ? 17'd1 : 17'd2);
    end else if (step_i && !first_half) begin
      block_q <= block_q + 1'b1;
    end
  end

  logic [Width-1:0] step, block_next, tile_next, strip_next;
  logic [3:0]       unused_carry;

  // The step from a second half is one less.
  ufp4_add_halves #(
    .Width(Width)
  ) u_step (
    .a_i(block_step_i), .b_i({Width{halves}}), .sum_o({unused_carry[3], step})
  );

  ufp4_add_halves #(
    .Width(Width)
  ) u_block_next (
    .a_i(index_q), .b_i(first_half ? Width'(1) : step_q), .sum_o({unused_carry[0], block_next})
  );
  ufp4_add_halves #(
    .Width(Width)
  ) u_tile_next (
    .a_i(strip_end ? strip_q : tile_q), .b_i(tile_step_i), .sum_o({unused_carry[1], tile_next})
  );
  ufp4_add_halves #(
    .Width(Width)
  ) u_strip_next (
    .a_i(strip_q), .b_i(strip_step_i), .sum_o({unused_carry[2], strip_next})
  );

  always_ff @(posedge clk_i) begin
    begun_q <= start_i;
    pair_q  <= pair_i;
    step_q  <= step;
    if (start_i) begin
      index_q <= first_i;
      tile_q  <= first_i;
      strip_q <= first_i;
    end else begin
      if (step_i) index_q <= strip_end ? strip_q : tile_end ? tile_q : block_next;
      if (begun_q || (step_i && tile_end)) tile_q <= tile_next;
      if (begun_q || (step_i && strip_end)) strip_q <= strip_next;
    end
  end

  logic unused;
  assign unused = ^unused_carry;

endmodule
