// SPDX-License-Identifier: Apache-2.0
// ufp4_quant_progress: a strip counts only when every write that was requested before it was handed
// over has been answered, and it does count once as many writes have been answered as were under
// way then. Proved for an arbitrary strip of a job and any order of requests, answers and strips,
// by k-induction: for any number of jobs of any length.
module formal_quant_progress (
  input logic clk_i,
  input logic pair_i,
  input logic start_i,
  input logic request_i,
  input logic answer_i,
  input logic strip_end_i,
  input logic mark_i        // the strip handed over in this cycle is the one to follow
);
  localparam logic [9:0] MOST = '1;  // writes under way at once

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [16:0] panels, panels_next;
  ufp4_quant_progress u_dut (
    .clk_i, .rst_ni(rst_n), .pair_i, .start_i, .request_i, .answer_i, .strip_end_i, .panels_o(panels_next)
  );
  // The count for this cycle.
  always_ff @(posedge clk_i) panels <= rst_n ? panels_next : '0;

  // Unanswered writes; strips handed over; for the followed strip: the number of strips before it
  // and with it, the missing answers to its own writes (pending), then those to the writes after it
  // (rest).
  logic        following;
  logic [9:0]  under_way, pending, rest, under_way_next;
  logic [16:0] handed, earlier, with_it;
  logic [1:0]  settled;  // cycles since the last relevant answer
  logic [1:0]  quiet;    // cycles without a write under way or a strip
  assign under_way_next = under_way + 10'(request_i) - 10'(answer_i);
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {under_way, handed, following, settled, quiet} <= '0;
    end else begin
      under_way <= under_way_next;
      quiet <= (under_way_next != '0 || strip_end_i || start_i) ? '0 : quiet + 2'(quiet != 2'd3);
      if (start_i) begin
        {handed, following, settled} <= '0;
      end else begin
        handed <= handed + (17'(strip_end_i) << pair_i);
        if (strip_end_i && mark_i && !following) begin
          following <= 1'b1;
          settled <= '0;
          earlier <= handed;
          with_it <= handed + (17'd1 << pair_i);
          pending <= under_way_next;
          rest <= under_way_next;  // meaningless unless pending is 0
        end else if (pending != '0) begin
          pending <= pending - 10'(answer_i);
          rest <= under_way_next;
          settled <= '0;
        end else begin
          rest <= rest - 10'(answer_i && rest != '0);
          settled <= (rest != '0) ? '0 : settled + 2'(settled != 2'd3);
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assume (!answer_i || under_way != '0);
      assume (!request_i || under_way != MOST);
      assume (!strip_end_i || !handed[16]);  // no tensor has more strips

      if (following && pending != '0) assert (panels <= earlier);
      if (following && pending == '0 && settled >= 2'd2) assert (panels >= with_it);
      if (quiet >= 2'd2) assert (panels == handed);
      assert (panels <= handed);

      // Invariants needed for the induction.
      assert (panels == u_dut.panels_q);
      assert (u_dut.under_way_q == under_way && u_dut.handed_q == handed);
      assert (u_dut.left_q <= under_way && panels <= u_dut.watched_q && u_dut.watched_q <= handed);
      if (quiet >= 2'd1) assert (under_way == '0 && u_dut.watched_q == handed);
      if (following) begin
        assert (earlier < with_it && with_it <= handed && pending <= under_way);
        assert (u_dut.watched_q <= earlier || u_dut.watched_q >= with_it);
        if (pending != '0) begin
          assert (settled == '0);
          if (u_dut.watched_q > earlier) assert (u_dut.left_q >= pending && panels <= earlier);
          else assert (u_dut.left_q <= pending);
        end else begin
          assert (rest <= under_way);
          if (u_dut.watched_q > earlier) assert (u_dut.left_q <= rest || panels >= with_it);
          else assert (u_dut.left_q == '0 && settled == '0);
          if (settled >= 2'd1) assert (u_dut.watched_q >= with_it && (u_dut.left_q == '0 || panels >= with_it));
        end
      end

      cover (following && pending == '0 && panels >= with_it && earlier != '0 && under_way != '0);
      cover (following && pair_i && pending == 10'd2 && u_dut.watched_q > earlier && u_dut.left_q == 10'd3);
    end
  end
endmodule
