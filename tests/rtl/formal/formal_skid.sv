// SPDX-License-Identifier: Apache-2.0
// ufp4_skid: no word is lost, doubled, changed or reordered; it holds at most two; an offered word stays; both handshakes
// come from flip-flops. For an arbitrary word of the stream, by k-induction.
module formal_skid #(
  parameter int unsigned Width = 4
) (
  input logic             clk_i,
  input logic             in_valid_i,
  input logic [Width-1:0] in_data_i,
  input logic             out_ready_i,
  input logic             mark_i       // this word, if it is accepted, is the one that is followed
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic in_ready, out_valid;
  logic [Width-1:0] out_data;
  ufp4_skid #(.Width(Width)) u_dut (
    .clk_i, .rst_ni(rst_n), .in_valid_i, .in_ready_o(in_ready), .in_data_i,
    .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data)
  );

  logic push, pop;
  assign push = in_valid_i & in_ready;
  assign pop = out_valid & out_ready_i;

  logic [1:0]       count;
  logic             ahead, following, waiting;
  logic [Width-1:0] data, held;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      count <= '0;
      following <= 1'b0;
      waiting <= 1'b0;
    end else begin
      count <= count + 2'(push) - 2'(pop);
      if (push && mark_i && !following) begin
        following <= 1'b1;
        data <= in_data_i;
        ahead <= 1'(count - 2'(pop));
      end else if (following && pop) begin
        following <= ahead;
        ahead <= 1'b0;
      end
      waiting <= out_valid & ~out_ready_i;
      held <= out_data;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assert (out_valid == (count != 0));
      assert (in_ready == (count != 2));
      assert (count <= 2);
      if (following && !ahead) assert (out_data == data);
      if (waiting) assert (out_valid && out_data == held);
      // Invariants that make it inductive.
      if (following) assert (2'(ahead) < count);
      if (following && ahead) assert (u_dut.skid_data_q == data);
      cover (count == 2);
      cover (following && !ahead && pop);
    end
  end
endmodule
