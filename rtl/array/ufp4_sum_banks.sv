// SPDX-License-Identifier: Apache-2.0
// The two accumulator memories (banks) of a PE, of Depth sums each. One write per cycle goes to the
// banks that write_i names; a load reads bank 0, and a drain reads either bank (not bank 0 during a
// load). Data appear in the next cycle.
//
// A sum has a parity bit in a memory of its own, written and read one cycle after the sum.
// parity_o, of banks 1 and 0, belongs to the drain two cycles ago, and holds until the next read.
// The array compares drained sums with their parity at its edge. Loaded sums are compared here: if
// one has changed, the parity of the sum made of it is inverted on purpose, so that the drain of
// that sum reports it. Hence no sum may be read that was never written. A reset shorter than Lag +
// 1 cycles, or three if that is more, would leave such a check running, which marks the next sum;
// with several sums under way (Turns, Marks) the limit is four cycles. Without Parity parity_o is
// meaningless. With InWord a sum and its parity are one word: parity_o has the same timing, but the
// inversion must be known a cycle earlier.
// Tests: tests/rtl/array, tests/rtl/fault, in both forms.
module ufp4_sum_banks #(
  parameter int unsigned Width = 64,
  parameter int unsigned Depth = 64,
  parameter bit Parity = 1'b1,
  parameter bit InWord = ufp4_memory_pkg::ParityInWord,
  parameter int unsigned Lag = 2,  // least cycles from a load to the write of the sum made of it
  parameter int unsigned Turns = 1,  // running sums, each loaded and written only in every Turns-th cycle
  parameter int unsigned Marks = 1,  // running sums that load_mark_i and write_mark_i tell apart
  localparam int unsigned IndexWidth = $clog2(Depth)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [1:0]            write_i,
  input  logic [IndexWidth-1:0] write_index_i,
  input  logic [Width-1:0]      sum_i,
  input  logic                  load_i,
  input  logic [IndexWidth-1:0] load_index_i,
  input  logic                  write_mark_i,
  input  logic                  load_mark_i,
  input  logic [1:0]            drain_i,
  input  logic [IndexWidth-1:0] drain_index_i,
  output logic [Width-1:0]      data0_o,
  output logic [Width-1:0]      data1_o,
  output logic [1:0]            parity_o
);
  localparam int unsigned Stored = Width + 32'(Parity && InWord);
  logic [Stored-1:0] sum_word, data0, data1;
  ufp4_sram #(.Width(Stored), .Depth(Depth)) u_bank0 (
    .clk_i,
    .we_i(write_i[0]),
    .waddr_i(write_index_i),
    .wdata_i(sum_word),
    .re_i(load_i | drain_i[0]),
    .raddr_i(load_i ? load_index_i : drain_index_i),
    .rdata_o(data0)
  );
  ufp4_sram #(.Width(Stored), .Depth(Depth)) u_bank1 (
    .clk_i,
    .we_i(write_i[1]),
    .waddr_i(write_index_i),
    .wdata_i(sum_word),
    .re_i(drain_i[1]),
    .raddr_i(drain_index_i),
    .rdata_o(data1)
  );
  assign data0_o = data0[Width-1:0];
  assign data1_o = data1[Width-1:0];

  if (Parity && Turns * Marks == 1 && Lag >= ufp4_pe_pkg::ResetCycles) begin : gen_check_reset
    $error("ufp4_sum_banks: a reset of ResetCycles is too short for this Lag");
  end
  if (Parity) begin : gen_parity
    // Cycles from a load to the last one before the parity of the sum is written.
    localparam int unsigned Until = Lag - 32'(InWord);
    // If there is time, the output of the memory is registered before any gate, because block RAMs
    // are slow. The register of ufp4_sum_chains holds the same value, and synthesis merges the two.
    localparam int unsigned Shown = (Until > 3 && Marks == 1) ? 1 : 0;
    logic [1:0] write;  // of the parity memories
    logic write_mark;
    logic load_q, wrong_q, wrong, changed, late;
    // Four bits are folded into one in the first cycle, and all of these into one in the second.
    localparam int unsigned Fold = (Width + 3) / 4;
    logic [4*Fold-1:0] loaded;
    logic [Fold-1:0] loaded_fold_q;
    logic check, check_q, parity0;
    if (Shown == 1) begin : gen_shown
      logic [Width-1:0] shown_q;
      logic shown_check_q, shown_parity_q;
      always_ff @(posedge clk_i) {shown_q, shown_check_q, shown_parity_q} <= {data0_o, load_q, parity_o[0]};
      assign loaded  = (4 * Fold)'(shown_q);
      assign check   = shown_check_q;
      assign parity0 = shown_parity_q;
    end else begin : gen_at_once
      assign loaded  = (4 * Fold)'(data0_o);
      assign check   = load_q;
      assign parity0 = parity_o[0];
    end
    assign changed = check_q & (parity0 ^ ^loaded_fold_q);
    always_ff @(posedge clk_i) begin
      loaded_fold_q <= loaded[0+:Fold] ^ loaded[Fold+:Fold] ^ loaded[2*Fold+:Fold] ^ loaded[3*Fold+:Fold];
      check_q <= check;
    end
    // A mark is set only after the sum of the previous load has been written.
    if (Marks > 1) begin : gen_marks
      logic [Marks-1:0] marks_q;
      logic late_mark;
      ufp4_delay #(.Width(1), .Cycles(2)) u_mark (
        .clk_i,
        .word_i(load_mark_i),
        .word_o(late_mark)
      );
      assign late = changed;
      assign wrong_q = marks_q[write_mark];
      assign wrong = wrong_q;
      always_ff @(posedge clk_i) begin
        for (int unsigned i = 0; i < Marks; i++) begin
          marks_q[i] <= rst_ni & ((marks_q[i] & ~(|write & (write_mark == 1'(i)))) | (late & (late_mark == 1'(i))));
        end
      end
    end else if (Turns > 1) begin : gen_turns
      // Marks rotate with the sums; the mark of a sum is in the last place in the cycles in which
      // its parity may be written.
      localparam int unsigned Place = Turns + 1 + Shown - Lag + 32'(InWord);
      logic [Turns-1:0] marks_q;
      assign late = changed;
      assign wrong_q = marks_q[Turns-1];
      assign wrong = wrong_q;
      always_ff @(posedge clk_i) begin
        for (int unsigned i = 0; i < Turns; i++) begin
          marks_q[i] <= rst_ni & (((i == 0) ? wrong_q & ~|write : marks_q[(i+Turns-1)%Turns]) | (late & (i == Place)));
        end
      end
    end else begin : gen_mark
      always_ff @(posedge clk_i) wrong_q <= rst_ni & ((wrong_q & ~|write) | late);
      if (Until == 1) begin : gen_now
        assign wrong = wrong_q | changed;
        assign late  = changed & ~|write;
      end else if (Until == 2) begin : gen_next
        assign wrong = wrong_q;
        assign late  = changed;
      end else begin : gen_later
        ufp4_delay #(.Width(1), .Cycles(Until - Shown - 2)) u_late (
          .clk_i,
          .word_i(changed),
          .word_o(late)
        );
        assign wrong = wrong_q;
      end
    end
    if (Marks == 1) begin : gen_one_mark
      logic unused_marks;
      assign unused_marks = ^{write_mark, load_mark_i};
    end

    if (InWord) begin : gen_in_word
      logic [1:0] parity_q;
      assign write = write_i;
      assign write_mark = write_mark_i;
      assign sum_word = {^sum_i ^ wrong, sum_i};
      assign parity_o = parity_q;
      always_ff @(posedge clk_i) parity_q <= {data1[Stored-1], data0[Stored-1]};
    end else begin : gen_beside
      logic [4*Fold-1:0] sum;
      logic [Fold-1:0] sum_fold_q;
      logic [IndexWidth-1:0] write_index_q, index0_q, index1_q;
      logic [1:0] write_q, read_q;
      logic write_mark_q;
      assign sum = (4 * Fold)'(sum_i);
      assign write = write_q;
      assign write_mark = write_mark_q;
      assign sum_word = sum_i;

      ufp4_sram #(.Width(1), .Depth(Depth)) u_parity0 (
        .clk_i,
        .we_i(write_q[0]),
        .waddr_i(write_index_q),
        .wdata_i(^sum_fold_q ^ wrong),
        .re_i(read_q[0]),
        .raddr_i(index0_q),
        .rdata_o(parity_o[0])
      );
      ufp4_sram #(.Width(1), .Depth(Depth)) u_parity1 (
        .clk_i,
        .we_i(write_q[1]),
        .waddr_i(write_index_q),
        .wdata_i(^sum_fold_q ^ wrong),
        .re_i(read_q[1]),
        .raddr_i(index1_q),
        .rdata_o(parity_o[1])
      );

      always_ff @(posedge clk_i) begin
        sum_fold_q <= sum[0+:Fold] ^ sum[Fold+:Fold] ^ sum[2*Fold+:Fold] ^ sum[3*Fold+:Fold];
        write_index_q <= write_index_i;
        index0_q <= load_i ? load_index_i : drain_index_i;
        index1_q <= drain_index_i;
        write_q <= write_i;
        write_mark_q <= write_mark_i;
        read_q <= {drain_i[1], load_i | drain_i[0]};
      end
    end

    always_ff @(posedge clk_i) load_q <= load_i;
  end else begin : gen_no_parity
    assign parity_o = 2'b00;
    assign sum_word = sum_i;
    logic unused_inputs;
    assign unused_inputs = ^{rst_ni, write_mark_i, load_mark_i};
  end
endmodule
