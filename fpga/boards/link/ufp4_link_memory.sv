// SPDX-License-Identifier: Apache-2.0
// The AXI4 master of the link: a stream of bytes to or from a range of memory, at any alignment.
//
// Contract: after start_i, bytes_i bytes from address_i are transferred: a write takes them from
// in_*, a read gives them at out_*, both valid/ready. Transfers are aligned single beats of the
// bus, all with ID 0; the strobes of a write cover its bytes. idle_o rises when the last byte has
// left, or its write was answered; error_o then says that an answer was an error. start_i comes
// only while idle_o is high.
// Throughput: one byte per cycle, if memory answers within the time of Ahead beats. Test:
// tests/fpga.
module ufp4_link_memory #(
  parameter int unsigned BusBytes = 8,
  parameter int unsigned Ahead = 4,
  localparam int unsigned AddrBits = ufp4_spec_pkg::ADDR_BITS
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  start_i,
  input  logic                  write_i,
  input  logic [31:0]           address_i,
  input  logic [31:0]           bytes_i,
  output logic                  idle_o,
  output logic                  error_o,

  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic [7:0]            in_data_i,
  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output logic [7:0]            out_data_o,

  output logic                  m_axi_arvalid_o,
  input  logic                  m_axi_arready_i,
  output logic [AddrBits-1:0]   m_axi_araddr_o,
  input  logic                  m_axi_rvalid_i,
  output logic                  m_axi_rready_o,
  input  logic [8*BusBytes-1:0] m_axi_rdata_i,
  input  logic [1:0]            m_axi_rresp_i,

  output logic                  m_axi_awvalid_o,
  input  logic                  m_axi_awready_i,
  output logic [AddrBits-1:0]   m_axi_awaddr_o,
  output logic                  m_axi_wvalid_o,
  input  logic                  m_axi_wready_i,
  output logic [8*BusBytes-1:0] m_axi_wdata_o,
  output logic [BusBytes-1:0]   m_axi_wstrb_o,
  input  logic                  m_axi_bvalid_i,
  output logic                  m_axi_bready_o,
  input  logic [1:0]            m_axi_bresp_i
);
  localparam int unsigned BEAT_W = $clog2(BusBytes);
  localparam int unsigned DUE_W = $clog2(Ahead + 1);

  // --- The range, byte by byte -------------------------------------------------------------------

  logic [31:0]           address_q, left_q;
  logic [BEAT_W-1:0]     offset;
  logic                  reading_q, writing_q, step, ends, beat_ends;
  logic [DUE_W-1:0]      due_q;     // reads: beats requested and not used up; writes: not answered
  logic                  begins, finished, error_q;

  assign offset    = address_q[BEAT_W-1:0];
  assign ends      = offset == '1 || left_q == 32'd1;
  assign beat_ends = step && ends;
  assign idle_o    = left_q == '0 && due_q == '0;
  assign error_o   = error_q;

  // --- Reads: beats wait in a short queue that has room for all that are due ---------------------

  logic [31-BEAT_W:0]    ask_q, ask_last_q;   // addresses in beats
  logic                  asking_q, queue_valid, queue_ready, queue_error;
  logic [8*BusBytes-1:0] queue_data;
  logic                  ask;

  assign m_axi_arvalid_o = asking_q && due_q != DUE_W'(Ahead);
  assign m_axi_araddr_o  = AddrBits'({ask_q, BEAT_W'(0)});
  assign ask             = m_axi_arvalid_o && m_axi_arready_i;

  ufp4_fifo #(.Width(8 * BusBytes + 1), .Depth(Ahead)) u_beats (
    .clk_i,
    .rst_ni,
    .in_valid_i (m_axi_rvalid_i),
    .in_ready_o (queue_ready),
    .in_data_i  ({m_axi_rresp_i[1], m_axi_rdata_i}),
    .out_valid_o(queue_valid),
    .out_ready_i(beat_ends && reading_q),
    .out_data_o ({queue_error, queue_data})
  );
  assign m_axi_rready_o = queue_ready;
  assign out_valid_o    = queue_valid && reading_q;
  assign out_data_o     = queue_data[8*offset+:8];

  // --- Writes: bytes gather in a beat, which leaves as address and data, each when it is taken ---

  logic                  aw_q, w_q, leaves;
  logic [31-BEAT_W:0]    aw_address_q;
  logic [8*BusBytes-1:0] data_d, data_q, w_data_q;
  logic [BusBytes-1:0]   strb_d, strb_q, w_strb_q;

  assign leaves     = (!aw_q || m_axi_awready_i) && (!w_q || m_axi_wready_i) && due_q != DUE_W'(Ahead);
  assign in_ready_o = writing_q && (leaves || !ends);

  always_comb begin
    data_d = data_q;
    strb_d = strb_q;
    data_d[8*offset+:8] = in_data_i;
    strb_d[offset] = 1'b1;
  end

  assign m_axi_awvalid_o = aw_q;
  assign m_axi_awaddr_o  = AddrBits'({aw_address_q, BEAT_W'(0)});
  assign m_axi_wvalid_o  = w_q;
  assign m_axi_wdata_o   = w_data_q;
  assign m_axi_wstrb_o   = w_strb_q;
  assign m_axi_bready_o  = 1'b1;

  // --- Both --------------------------------------------------------------------------------------

  assign step     = (out_valid_o && out_ready_i) || (in_valid_i && in_ready_o);
  assign begins   = ask || (beat_ends && writing_q);
  assign finished = m_axi_bvalid_i || (beat_ends && reading_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q    <= '0;
      due_q     <= '0;
      reading_q <= 1'b0;
      writing_q <= 1'b0;
      asking_q  <= 1'b0;
      aw_q      <= 1'b0;
      w_q       <= 1'b0;
    end else begin
      due_q <= due_q + DUE_W'(begins) - DUE_W'(finished);
      aw_q  <= (beat_ends && writing_q) || (aw_q && !m_axi_awready_i);
      w_q   <= (beat_ends && writing_q) || (w_q && !m_axi_wready_i);
      if (start_i) begin
        left_q    <= bytes_i;
        reading_q <= !write_i && bytes_i != '0;
        writing_q <= write_i && bytes_i != '0;
        asking_q  <= !write_i && bytes_i != '0;
      end else begin
        left_q <= left_q - 32'(step);
        if (step && left_q == 32'd1) {reading_q, writing_q} <= '0;
        if (ask && ask_q == ask_last_q) asking_q <= 1'b0;
      end
    end
  end

  logic [31:0] last;
  assign last = address_i + bytes_i - 32'd1;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      address_q  <= address_i;
      ask_q      <= address_i[31:BEAT_W];
      ask_last_q <= last[31:BEAT_W];
      error_q    <= 1'b0;
    end else begin
      address_q <= address_q + 32'(step);
      ask_q     <= ask_q + (32 - BEAT_W)'(ask);
      error_q   <= error_q || (m_axi_bvalid_i && m_axi_bresp_i[1]) || (out_valid_o && out_ready_i && queue_error);
    end
    if (step && writing_q) begin
      data_q <= data_d;
      strb_q <= beat_ends ? '0 : strb_d;
    end else if (start_i) begin
      strb_q <= '0;
    end
    if (beat_ends && writing_q) begin
      aw_address_q <= address_q[31:BEAT_W];
      w_data_q     <= data_d;
      w_strb_q     <= strb_d;
    end
  end

  logic unused;
  assign unused = ^{m_axi_rresp_i[0], m_axi_bresp_i[0], last[BEAT_W-1:0]};

endmodule
