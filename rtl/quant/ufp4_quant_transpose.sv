// SPDX-License-Identifier: Apache-2.0
// Transposing tile buffer, double-buffered: takes 16 rows of 16 elements and gives the 16 columns;
// with pair_i 32 rows of 32, where each row and each column passes in two halves. Lanes tiles pass
// side by side, of 32x32 only the first.
//
// Contract: the j-th output of a tile is element j of each of its rows, in order; out_last_o marks
// the last column of the tile whose last row had in_last_i. With pair_i the halves of a row, and
// those of a column, follow each other; in_blank_i and out_blank_o say that the 16x16 quarter of a
// half is outside the tensor. Element (i, j) of a quarter is in bank i xor j at address i, so that
// a row and a column are each one access per bank.
// Throughput: one row in and one column out per cycle. Handshakes: valid/ready.
// Test: tests/rtl/quant (inside the engine). Timed model: sim/src/timing/quant/quant_strip.
module ufp4_quant_transpose #(
  parameter int unsigned Lanes = 1
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  input  logic                         pair_i,
  input  logic                         in_valid_i,
  output logic                         in_ready_o,
  input  logic [Lanes-1:0][15:0][31:0] in_words_i,
  input  logic                         in_last_i,
  input  logic                         in_blank_i,

  output logic                         out_valid_o,
  input  logic                         out_ready_i,
  output logic [Lanes-1:0][15:0][31:0] out_words_o,
  output logic                         out_last_o,
  output logic                         out_blank_o,
  output logic                         memory_error_o   // parity of the memory, a pulse
);

  // Lane i of the result is lane i xor index of the input.
  function automatic logic [15:0][31:0] exchange(input logic [15:0][31:0] in, input logic [3:0] index);
    logic [15:0][31:0] out, prior;
    out = in;
    for (int unsigned s = 0; s < 4; s++) begin
      prior = out;
      for (int unsigned i = 0; i < 16; i++) out[i] = index[s] ? prior[i ^ (1 << s)] : prior[i];
    end
    return out;
  endfunction

  // A row or a column, and its half.
  typedef struct packed {
    logic       upper;  // the upper 16 of 32 lines
    logic [3:0] line;
    logic       half;
  } line_t;

  function automatic line_t next_line(input line_t at, input logic pair);
    return at + (pair ? 6'd1 : 6'd2);
  endfunction

  function automatic logic is_last(input line_t at, input logic pair);
    return at.line == 4'd15 && (!pair || (at.upper && at.half));
  endfunction

  logic              w_take, w_finish, r_issue, r_finish, b_ready, c_ready;
  logic              w_tile_d, w_tile_q, r_tile_d, r_tile_q;
  logic              s_valid_q, s_finish_q, s_last_q, s_tile_q;
  logic [5:0]        s_place_q;               // quarter {lower, right}, row
  line_t             w_line_d, w_line_q, r_line_d, r_line_q;
  logic [3:0]        b_col_d, b_col_q;
  logic [1:0]        full_d, full_q, last_d, last_q;
  logic [1:0]        right_d, right_q, lower_d, lower_q;  // the right and the lower quarters are blank
  logic              b_valid_d, b_valid_q, b_last_d, b_last_q, b_blank_d, b_blank_q, c_valid_d, c_valid_q;
  logic [Lanes-1:0][15:0][31:0] stored_q, fetched;

  // A row may enter while the last column leaves, because it is stored a cycle later.
  assign in_ready_o = !full_q[w_tile_q] || (r_finish && r_tile_q == w_tile_q);
  assign w_take     = in_valid_i && in_ready_o;
  assign w_finish   = w_take && is_last(w_line_q, pair_i);
  assign c_ready    = !c_valid_q || out_ready_i;
  assign b_ready    = !b_valid_q || c_ready;
  assign r_issue    = full_q[r_tile_q] && b_ready;
  assign r_finish   = r_issue && is_last(r_line_q, pair_i);

  always_comb begin
    full_d = full_q;
    last_d  = last_q;
    right_d = right_q;
    lower_d = lower_q;
    // The right half of the first row, and the first row of the lower half, decide which quarters
    // are blank.
    if (w_take && w_line_q == 6'd1) right_d[w_tile_q] = in_blank_i;
    if (w_take && w_line_q == 6'd32) lower_d[w_tile_q] = in_blank_i;
    if (s_finish_q) begin
      full_d[s_tile_q] = 1'b1;
      last_d[s_tile_q] = s_last_q;
    end
    if (r_finish) full_d[r_tile_q] = 1'b0;
    w_line_d  = w_finish ? '0 : w_take ? next_line(w_line_q, pair_i) : w_line_q;
    w_tile_d  = w_tile_q ^ w_finish;
    r_line_d  = r_finish ? '0 : r_issue ? next_line(r_line_q, pair_i) : r_line_q;
    r_tile_d  = r_tile_q ^ r_finish;
    b_valid_d = r_issue || (b_valid_q && !c_ready);
    b_col_d   = r_issue ? r_line_q.line : b_col_q;
    b_last_d  = r_issue ? r_finish && last_q[r_tile_q] : b_last_q;
    b_blank_d = b_blank_q;
    if (r_issue) begin
      b_blank_d = (r_line_q.upper && right_q[r_tile_q]) || (r_line_q.half && lower_q[r_tile_q]);
    end
    c_valid_d = b_valid_q || (c_valid_q && !out_ready_i);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      s_valid_q  <= 1'b0;
      s_finish_q <= 1'b0;
      full_q    <= 2'b00;
      w_line_q  <= '0;
      w_tile_q  <= 1'b0;
      r_line_q  <= '0;
      r_tile_q  <= 1'b0;
      b_valid_q <= 1'b0;
      c_valid_q <= 1'b0;
    end else begin
      s_valid_q  <= w_take;
      s_finish_q <= w_finish;
      full_q    <= full_d;
      w_line_q  <= w_line_d;
      w_tile_q  <= w_tile_d;
      r_line_q  <= r_line_d;
      r_tile_q  <= r_tile_d;
      b_valid_q <= b_valid_d;
      c_valid_q <= c_valid_d;
    end
    last_q    <= last_d;
    right_q   <= right_d;
    lower_q   <= lower_d;
    b_col_q   <= b_col_d;
    b_last_q  <= b_last_d;
    b_blank_q <= b_blank_d;
  end

  // A row is exchanged first and stored a cycle later.
  always_ff @(posedge clk_i) begin
    if (w_take) begin
      for (int unsigned l = 0; l < Lanes; l++) stored_q[l] <= exchange(in_words_i[l], w_line_q.line);
      s_last_q  <= in_last_i;
      s_tile_q  <= w_tile_q;
      s_place_q <= {w_line_q.upper, w_line_q.half, w_line_q.line};
    end
  end

  logic [Lanes-1:0][15:0] error;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    localparam int unsigned PLACE_W = l == 0 ? 6 : 4;  // the other lanes have no quarters
    for (genvar b = 0; b < 16; b++) begin : gen_bank
      ufp4_sram_checked #(
        .Width(32),
        .Depth(2 << PLACE_W)
      ) u_sram (
        .clk_i,
        .we_i   (s_valid_q && (l == 0 || !pair_i)),
        .waddr_i({s_tile_q, PLACE_W'(s_place_q)}),
        .wdata_i(stored_q[l][b]),
        .re_i   (r_issue && (l == 0 || !pair_i)),
        .raddr_i({r_tile_q, PLACE_W'({r_line_q.half, r_line_q.upper, r_line_q.line ^ 4'(b)})}),
        .rdata_o(fetched[l][b]),
        .error_o(error[l][b])
      );
    end
  end
  assign memory_error_o = |error;

  logic [Lanes-1:0][15:0][31:0] words_q;
  logic              c_last_q, c_blank_q;

  always_ff @(posedge clk_i) begin
    if (b_valid_q && c_ready) begin
      for (int unsigned l = 0; l < Lanes; l++) words_q[l] <= exchange(fetched[l], b_col_q);
      c_last_q  <= b_last_q;
      c_blank_q <= b_blank_q;
    end
  end

  assign out_valid_o = c_valid_q;
  assign out_words_o = words_q;
  assign out_last_o  = c_last_q;
  assign out_blank_o = c_blank_q;

endmodule
