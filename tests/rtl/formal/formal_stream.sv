// SPDX-License-Identifier: Apache-2.0
// ufp4_fifo or ufp4_skid: no word is lost, duplicated, changed or reordered; ready is low only when
// full, valid is low only when empty; an offered word stays. Proved for an arbitrary word of the
// stream by k-induction, so for streams of any length.
module formal_stream #(
  parameter bit Skid = 1'b0,
  parameter int unsigned Width = 4,
  localparam int unsigned DEPTH = Skid ? 2 : 4
) (
  input logic             clk_i,
  input logic             in_valid_i,
  input logic [Width-1:0] in_data_i,
  input logic             out_ready_i,
  input logic             mark_i       // the word pushed in this cycle is the one to follow
);
  localparam int unsigned COUNT_W = $clog2(DEPTH + 1);

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic in_ready, out_valid;
  logic [Width-1:0] out_data;

  logic push, pop;
  assign push = in_valid_i & in_ready;
  assign pop = out_valid & out_ready_i;

  // The number of words inside, and the number of words ahead of the followed one.
  logic [COUNT_W-1:0] count, ahead;
  logic               following;
  logic [Width-1:0]   data;
  logic [Width-1:0]   held;
  logic               waiting;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      count <= '0;
      following <= 1'b0;
      waiting <= 1'b0;
    end else begin
      count <= count + COUNT_W'(push) - COUNT_W'(pop);
      if (push && mark_i && !following) begin
        following <= 1'b1;
        data <= in_data_i;
        ahead <= count - COUNT_W'(pop);
      end else if (following && pop) begin
        if (ahead == 0) following <= 1'b0;
        ahead <= ahead - 1'b1;
      end
      waiting <= out_valid & ~out_ready_i;
      held <= out_data;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assert (in_ready == (count != COUNT_W'(DEPTH)));
      assert (out_valid == (count != 0));
      if (following && ahead == 0) assert (out_data == data);
      if (waiting) assert (out_valid && out_data == held);
      // Invariants needed for the induction.
      assert (count <= COUNT_W'(DEPTH));
      if (following) assert (ahead < count);
      cover (count == COUNT_W'(DEPTH));
      cover (following && ahead == 0 && pop);
    end
  end

  // Invariants of each unit.
  if (Skid) begin : gen_skid
    ufp4_skid #(.Width(Width)) u_dut (
      .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_data_i,
      .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data)
    );
    always_ff @(posedge clk_i) if (rst_n && following && ahead != 0) assert (u_dut.skid_data_q == data);
  end else begin : gen_fifo
    ufp4_fifo #(.Width(Width), .Depth(DEPTH)) u_dut (
      .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_data_i,
      .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data)
    );
    always_ff @(posedge clk_i) begin
      if (rst_n) assert (count == COUNT_W'(u_dut.tail_q - u_dut.head_q));
      if (rst_n && following) assert (u_dut.mem[$clog2(DEPTH)'(u_dut.head_q + ahead)] == data);
    end
  end
endmodule
