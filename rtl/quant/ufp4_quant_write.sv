// SPDX-License-Identifier: Apache-2.0
// Panel writer: collects the blocks of both copies (0 row, 1 column) into panel units and writes
// them to memory.
//
// Contract: 16 blocks of a copy are one unit; with pair_i 32 blocks are two units, alternately. A
// unit is 128 bytes of codes at codes_addr + 128 n and 16 bytes of scales at scales_addr + 16 n
// (docs/ip/architecture.md), with n = index_i when the unit is written; index_step_o then advances
// the index. A unit of in_blank_i blocks is skipped. done_o: the unit that had in_last_i has been
// handed over. Four units of each copy fit, so that one or two fill while others leave. strip_end_o
// pulses when the last of the units_i units of a strip of the row copy (with pair_i of two strips)
// has been handed over. memory_error_o pulses when a collected bit has changed, two cycles (with
// Serial three) after the load of a beat; that is before the engine ends, because after done_o the
// engine waits for the answers.
// Handshakes: valid/ready. Throughput: 128/BusBytes + max(1, 16/BusBytes) + 1 cycles per unit.
// Test: tests/rtl/quant (inside the engine). Timed model: sim/src/timing/quant/quant_write.
module ufp4_quant_write #(
  parameter int unsigned BusBytes = 64,
  parameter bit Serial = 1'b0,                // blocks of one copy at a time (ufp4_quant_units_serial)
  localparam int unsigned AddrW = ufp4_spec_pkg::ADDR_BITS,
  localparam int unsigned DataW = 8 * BusBytes,
  localparam int unsigned IndexW = AddrW - 7
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,

  input  logic                             pair_i,
  input  logic                             start_i,
  input  logic [1:0][AddrW-1:0]            codes_addr_i,
  input  logic [1:0][AddrW-1:0]            scales_addr_i,
  input  logic [1:0][IndexW-1:0]           index_i,
  output logic [1:0]                       index_step_o,
  output logic [1:0]                       done_o,
  input  logic [18:0]                      units_i,
  output logic                             strip_end_o,
  output logic                             memory_error_o,

  input  logic [1:0]                       in_valid_i,
  output logic [1:0]                       in_ready_o,
  input  logic [1:0][63:0]                 in_codes_i,
  input  logic [1:0][7:0]                  in_scale_i,
  input  logic [1:0]                       in_last_i,
  input  logic [1:0]                       in_blank_i,

  output ufp4_memory_pkg::request_t        wr_req_o,
  input  ufp4_memory_pkg::write_response_t wr_rsp_i,
  output logic                             wr_dat_valid_o,
  output logic [DataW-1:0]                 wr_dat_data_o,
  output logic [BusBytes-1:0]              wr_dat_strb_o
);

  localparam int unsigned BUS_W        = $clog2(BusBytes);
  localparam int unsigned CODE_BEATS   = 128 / BusBytes;
  localparam int unsigned SCALE_BEATS  = BusBytes > 16 ? 1 : 16 / BusBytes;

  // --- Collect -----------------------------------------------------------------------------------

  logic [1:0]      take;
  logic [1:0][5:0] in_count_d, in_count_q;
  logic [1:0][1:0] in_unit_d, in_unit_q, out_unit_d, out_unit_q;
  logic [1:0][3:0] in_block;
  logic [1:0][3:0] full_d, full_q, last_d, last_q, blank_d, blank_q;
  logic            release_unit, copy_d, copy_q;

  always_comb begin
    for (int unsigned c = 0; c < 2; c++) begin
      index_step_o[c] = release_unit && copy_q == 1'(c);
      in_block[c]   = pair_i ? in_count_q[c][4:1] : in_count_q[c][3:0];
      in_ready_o[c] = !full_q[c][in_unit_q[c]];
      take[c]       = in_valid_i[c] && in_ready_o[c];
      full_d[c]     = full_q[c];
      last_d[c]     = last_q[c];
      blank_d[c]    = blank_q[c];
      in_count_d[c] = in_count_q[c] + 6'(take[c]);
      out_unit_d[c] = out_unit_q[c] + 2'(index_step_o[c]);
      if (take[c] && in_block[c] == 4'd15) begin
        full_d[c][in_unit_q[c]]  = 1'b1;
        last_d[c][in_unit_q[c]]  = in_last_i[c];
        blank_d[c][in_unit_q[c]] = in_blank_i[c];
      end
      if (index_step_o[c]) full_d[c][out_unit_q[c]] = 1'b0;
      // The next job begins with the first unit.
      if (start_i) begin
        in_count_d[c] = '0;
        out_unit_d[c] = '0;
      end
      in_unit_d[c] = pair_i ? {in_count_d[c][5], in_count_d[c][0]} : in_count_d[c][5:4];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_count_q <= '0;
      in_unit_q  <= '0;
      out_unit_q <= '0;
      full_q     <= '0;
    end else begin
      in_count_q <= in_count_d;
      in_unit_q  <= in_unit_d;
      out_unit_q <= out_unit_d;
      full_q     <= full_d;
    end
    last_q  <= last_d;
    blank_q <= blank_d;
  end

  // --- Write: a request and its beats for the codes, then for the scales -------------------------

  logic                busy_d, busy_q, scales_phase_d, scales_phase_q, asked_d, asked_q;
  logic [4:0]          beat_d, beat_q;
  logic [1:0]          done_d, done_q;
  logic                all_d, all_q;  // every beat of the phase is loaded
  logic                load, loaded, phase_end, begin_unit, step_over;
  logic                blank_unit_q, last_unit_q;  // of the current unit
  logic [1:0]          unit;
  logic                dat_valid_d, dat_valid_q;
  logic [BusBytes-1:0] strb_q;
  logic [AddrW-1:0]    addr_q;        // address of the phase
  logic [4:0]          beats;

  assign unit     = out_unit_q[copy_q];
  assign beats    = scales_phase_q ? 5'(SCALE_BEATS) : 5'(CODE_BEATS);
  assign wr_req_o = '{valid: busy_q && !asked_q && !step_over, addr: {addr_q[AddrW-1:BUS_W], BUS_W'(0)},
                      beats: 9'(beats)};

  assign load         = busy_q && !step_over && !all_q && (!dat_valid_q || wr_rsp_i.dat_ready);
  assign loaded       = all_q || (load && beat_q + 5'd1 == beats);
  assign phase_end    = busy_q && loaded && (asked_q || wr_rsp_i.req_ready);
  assign begin_unit   = !busy_q && full_q != '0;
  assign step_over    = busy_q && blank_unit_q;
  assign release_unit = step_over || (phase_end && scales_phase_q);

  always_comb begin
    busy_d         = busy_q;
    copy_d         = copy_q;
    scales_phase_d = scales_phase_q;
    asked_d        = asked_q || (wr_req_o.valid && wr_rsp_i.req_ready);
    beat_d         = beat_q + 5'(load);
    all_d          = loaded;
    dat_valid_d    = load || (dat_valid_q && !wr_rsp_i.dat_ready);
    done_d         = start_i ? 2'b00 : done_q;
    if (!busy_q || phase_end || step_over) begin
      asked_d = 1'b0;
      beat_d  = 5'd0;
      all_d   = 1'b0;
    end
    if (!busy_q) begin
      // The other copy has priority, so that neither waits for more than one unit.
      busy_d = begin_unit;
      copy_d = full_q[!copy_q] != '0 ? !copy_q : copy_q;
    end else if (phase_end) begin
      scales_phase_d = !scales_phase_q;
    end
    if (release_unit) busy_d = 1'b0;
    if (release_unit && last_unit_q) done_d[copy_q] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q         <= 1'b0;
      scales_phase_q <= 1'b0;
      asked_q        <= 1'b0;
      all_q          <= 1'b0;
      dat_valid_q    <= 1'b0;
      copy_q         <= 1'b0;
    end else begin
      busy_q         <= busy_d;
      scales_phase_q <= scales_phase_d;
      asked_q        <= asked_d;
      all_q          <= all_d;
      dat_valid_q    <= dat_valid_d;
      copy_q         <= copy_d;
    end
    beat_q <= beat_d;
    done_q <= done_d;
    if (!busy_q) begin
      blank_unit_q <= blank_q[copy_d][out_unit_q[copy_d]];
      last_unit_q  <= last_q[copy_d][out_unit_q[copy_d]];
    end
  end

  // codes_at: where the codes of the next unit of each copy go; scales_at: where the scales of the
  // current unit go.
  logic [1:0][AddrW-1:0] codes_at;
  logic [AddrW-1:0]      scales_at;
  logic [2:0]            unused_carry;

  for (genvar c = 0; c < 2; c++) begin : gen_codes_at
    ufp4_add_halves #(
      .Width(IndexW)
    ) u_add (
      .a_i(codes_addr_i[c][AddrW-1:7]), .b_i(index_i[c]), .sum_o({unused_carry[c], codes_at[c][AddrW-1:7]})
    );
    assign codes_at[c][6:0] = codes_addr_i[c][6:0];
  end

  ufp4_add_halves #(
    .Width(AddrW - 4)
  ) u_scales_at (
    .a_i  (scales_addr_i[copy_q][AddrW-1:4]),
    .b_i  ({3'd0, index_i[copy_q]}),
    .sum_o({unused_carry[2], scales_at[AddrW-1:4]})
  );
  assign scales_at[3:0] = scales_addr_i[copy_q][3:0];

  always_ff @(posedge clk_i) begin
    if (begin_unit) addr_q <= codes_at[copy_d];
    else if (phase_end) addr_q <= scales_at;
  end

  // The engine uses the rest of the response.
  logic unused;
  assign unused = ^{unused_carry, addr_q[3:0], wr_rsp_i.idle, wr_rsp_i.err, wr_rsp_i.answer};

  logic [18:0] units_d, units_q;  // units of this strip of the row copy that are not handed over

  assign strip_end_o = index_step_o[0] && units_q == 19'd1;

  always_comb begin
    units_d = units_q;
    if (start_i || strip_end_o) units_d = units_i;
    else if (index_step_o[0]) units_d = units_q - 19'd1;
  end

  always_ff @(posedge clk_i) begin
    units_q <= units_d;
  end

  if (Serial) begin : gen_serial
    ufp4_quant_units_serial u_units (
      .clk_i,
      .take_i       (take),
      .take_unit_i  (in_unit_q),
      .take_block_i (in_block),
      .codes_i      (in_codes_i),
      .scale_i      (in_scale_i),
      .load_i       (load),
      .load_scales_i(scales_phase_q),
      .load_copy_i  (copy_q),
      .load_unit_i  (unit),
      .load_beat_i  (beat_q),
      .data_o       (wr_dat_data_o),
      .error_o      (memory_error_o)
    );

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni) assert (take != 2'b11 && !(u_units.put_scales_q && take != '0)) else $error("two blocks at once");
    end
`endif
  end else begin : gen_parallel
    ufp4_quant_units #(
      .BusBytes(BusBytes)
    ) u_units (
      .clk_i,
      .take_i       (take),
      .take_unit_i  (in_unit_q),
      .take_block_i (in_block),
      .codes_i      (in_codes_i),
      .scale_i      (in_scale_i),
      .load_i       (load),
      .load_scales_i(scales_phase_q),
      .load_copy_i  (copy_q),
      .load_unit_i  (unit),
      .load_beat_i  (beat_q),
      .data_o       (wr_dat_data_o),
      .error_o      (memory_error_o)
    );
  end

  // The strobe selects one of the places that a wide beat of scales fills.
  logic [BusBytes-1:0] scale_strobe;

  if (BusBytes > 16) begin : gen_place
    assign scale_strobe = BusBytes'(16'hFFFF) << {addr_q[BUS_W-1:4], 4'd0};
  end else begin : gen_whole
    assign scale_strobe = '1;
  end

  always_ff @(posedge clk_i) begin
    if (load) strb_q <= scales_phase_q ? scale_strobe : '1;
  end

  assign wr_dat_valid_o = dat_valid_q;
  assign wr_dat_strb_o  = strb_q;
  assign done_o         = done_q & {2{!dat_valid_q}};

endmodule
