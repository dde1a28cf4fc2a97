// SPDX-License-Identifier: Apache-2.0
// The send side of the link: makes a frame of the header of an answer and its stored data.
//
// Contract: an answer that is taken with valid_i && ready_o leaves as header (with the level of
// irq_i at that time), its data, which are read from the memory of answers, and CRC-32. While
// busy_o is high the answer has not left, and its data must stay. Throughput: one byte per cycle.
// Test: tests/fpga.
module ufp4_link_send
  import ufp4_link_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,

  input  logic       irq_i,
  input  logic       valid_i,
  output logic       ready_o,
  input  answer_t    answer_i,

  output logic       busy_o,
  output logic [2:0] slot_o,

  // The memory of answers: the byte comes a cycle later.
  output logic       read_o,
  output logic [9:0] read_offset_o,
  input  logic [7:0] read_data_i,

  output logic       tx_valid_o,
  input  logic       tx_ready_i,
  output logic [7:0] tx_data_o
);
  typedef enum logic [1:0] {IDLE, HEADER, STORED, CHECK} state_e;

  state_e      state_d, state_q;
  logic [31:0] header_q, crc_q, crc, check_q;
  logic [9:0]  left_d, left_q, length_q;   // bytes left in this state; bytes of the data
  logic [7:0]  data;
  logic        taken, ends;
  logic [2:0]  slot_q;

  assign ready_o = state_q == IDLE;
  assign busy_o  = state_q != IDLE;
  assign slot_o  = slot_q;
  assign ends    = left_q == 10'd1;

  always_comb begin
    unique case (state_q)
      STORED:  data = read_data_i;
      CHECK:   data = check_q[7:0];
      default: data = header_q[7:0];
    endcase
  end

  // The next data byte is read when the byte before it, or the last of the header, leaves.
  assign read_o        = taken && (state_q == STORED ? !ends : state_q == HEADER && ends);
  assign read_offset_o = state_q == STORED ? length_q - left_q + 10'd1 : 10'd0;

  always_comb begin
    state_d = state_q;
    left_d  = left_q - 10'(taken);
    unique case (state_q)
      IDLE: begin
        left_d = 10'd4;
        if (valid_i) state_d = HEADER;
      end
      HEADER: if (taken && ends) begin
        state_d = length_q == 10'd0 ? CHECK : STORED;
        left_d  = length_q == 10'd0 ? 10'd4 : length_q;
      end
      STORED: if (taken && ends) begin
        state_d = CHECK;
        left_d  = 10'd4;
      end
      CHECK: if (taken && ends) state_d = IDLE;
    endcase
  end

  ufp4_crc32 u_crc (
    .crc_i (crc_q),
    .data_i(data),
    .crc_o (crc)
  );

  ufp4_slip_encode u_encode (
    .clk_i,
    .rst_ni,
    .in_valid_i (busy_o),
    .in_ready_o (taken),
    .in_data_i  (data),
    .in_last_i  (state_q == CHECK && ends),
    .out_valid_o(tx_valid_o),
    .out_ready_i(tx_ready_i),
    .out_data_o (tx_data_o)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= IDLE;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    left_q <= left_d;
    if (state_q == IDLE) begin
      header_q <= {6'd0, answer_i.length, irq_i, answer_i.round, answer_i.status, answer_i.sequence_number};
      length_q <= answer_i.length;
      slot_q   <= answer_i.sequence_number[2:0];
      crc_q    <= ~answer_i.key;
    end else if (taken) begin
      header_q <= header_q >> 8;
      crc_q    <= crc;
    end
    if (state_q != CHECK) check_q <= ~(taken ? crc : crc_q);
    else if (taken) check_q <= check_q >> 8;
  end

endmodule
