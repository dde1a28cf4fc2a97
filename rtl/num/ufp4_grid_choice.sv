// SPDX-License-Identifier: Apache-2.0
// Chooses the grid of an ELEM_MIXED block from its quotients on both grids, as a pipeline.
//
//   second_o = scale 1 * sum |q1 - 512 c1| < scale 0 * sum |q0 - 512 c0|,
//              where c are the quanta of the nearest code
//
// Contract: quotient_i, on grids 0 (E2M1) and 1 (uniform), is {16 quanta or more, quotient in
// quanta with 9 fraction bits}, as ufp4_divide_round gives it; 16 quanta or more count as 16.
// Scales are sig_i times a power of two, which for grid 1 is twice that of grid 0 if further_i is
// set.
// Stages: stage k moves with en_i[k]: sums of SIDE lanes, the sum of all, the product with sig_i.
// quotient_i belongs to stage 0, first_i to stage 1, sig_i to stage 2, and further_i to second_o,
// which is combinational after stage 2. The distance to a code above is a one's complement plus a
// separate one. With fewer than 16 Lanes a block arrives in several parts: stage 1 accumulates,
// restarting at the first part (first_i), and stage 2 moves after the last. With 16 Lanes first_i
// is always high.
// Golden: ufp4_quantize_block. Spec: numerics.md 4, The choice of a grid. Test: tests/rtl/vectors.
module ufp4_grid_choice #(
  parameter int unsigned Lanes = 16
) (
  input  logic                        clk_i,
  input  logic [2:0]                  en_i,
  input  logic                        first_i,
  input  logic [1:0][Lanes-1:0][13:0] quotient_i,
  input  logic [1:0][3:0]             sig_i,
  input  logic                        further_i,
  output logic                        second_o
);

  localparam int unsigned SIDE = Lanes < 4 ? Lanes : 4;  // lanes per sum of stage 0
  localparam int unsigned PARTS = Lanes / SIDE;

  // A distance is magnitude + one.
  typedef struct packed {
    logic        one;
    logic [12:0] magnitude;
  } distance_t;

  // The codes are 0 1 2 3 4 6 8 12: cells of 1 quantum up to 4, of 2 up to 8, of 4 up to 12. The
  // distance is at most 4 quanta.
  function automatic distance_t of_e2m1(input logic [13:0] quotient);
    distance_t   out;
    logic        from4, from8;
    logic [10:0] offset;  // distance from the code below
    {from8, from4} = quotient[12:11];
    offset  = from8 ? quotient[10:0] : from4 ? {1'b0, quotient[9:0]} : {2'd0, quotient[8:0]};
    out.one = from8 ? quotient[10] && !from4 : from4 ? quotient[9] : quotient[8];
    if (out.one) offset = offset ^ {from8, from8 || from4, 9'h1FF};
    if (quotient[13]) begin
      out.one = 1'b1;
      offset  = '1;
    end
    out.magnitude = {2'd0, offset};
    return out;
  endfunction

  // The codes are 0 to 7. The distance is at most 9 quanta.
  function automatic distance_t of_uniform(input logic [13:0] quotient);
    distance_t  out;
    logic       over;
    logic [3:0] whole, past;
    {over, whole} = quotient[13:9];
    past = whole == 4'd15 ? 4'd8 : {1'b0, whole[2:0] + 3'd1};
    out.one = 1'b0;
    if (over) begin
      out.magnitude = {4'd9, 9'd0};
    end else if (whole >= 4'd7) begin
      out.magnitude = {past, quotient[8:0]};
    end else begin
      out.one = quotient[8];
      out.magnitude = {4'd0, quotient[8:0] ^ {9{quotient[8]}}};
    end
    return out;
  endfunction

  logic [1:0][PARTS-1:0][14:0] part, part_q;
  logic [1:0][16:0]            sum, sum_q;
  logic [1:0][20:0]            weighted_q;
  distance_t [1:0][Lanes-1:0]  distance;

  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) begin
      distance[0][i] = of_e2m1(quotient_i[0][i]);
      distance[1][i] = of_uniform(quotient_i[1][i]);
    end
    part = '0;
    for (int unsigned g = 0; g < 2; g++) begin
      for (int unsigned i = 0; i < Lanes; i++) begin
        part[g][i/SIDE] = part[g][i/SIDE] + 15'(distance[g][i].magnitude) + 15'(distance[g][i].one);
      end
      sum[g] = first_i ? '0 : sum_q[g];
      for (int unsigned i = 0; i < PARTS; i++) sum[g] = sum[g] + 17'(part_q[g][i]);
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned g = 0; g < 2; g++) begin
      if (en_i[0]) part_q[g] <= part[g];
      if (en_i[1]) sum_q[g] <= sum[g];
      if (en_i[2]) weighted_q[g] <= 21'(sum_q[g]) * 21'(sig_i[g]);
    end
  end

  assign second_o = (further_i ? {weighted_q[1], 1'b0} : {1'b0, weighted_q[1]}) < {1'b0, weighted_q[0]};

endmodule
