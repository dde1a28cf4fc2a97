// SPDX-License-Identifier: Apache-2.0
// Panel writer of the wide engine, on a bus of 128 bytes: collects the blocks of four tiles side by
// side into panel units of both copies (0 row, 1 column), and writes them to memory.
//
// Contract: 16 blocks of a copy from each of four lanes are a group of up to four units: four, or
// two with two_i, or last_units_i in the last of the groups_i groups of a strip. The units of the
// row copy follow each other in memory, so a group has one request of codes, cut at 4 KiB, and one
// of scales; each unit of the column copy has two requests of its own. With pair_i only lane 0
// counts, and 32 blocks are, alternately, two units of either copy that follow each other;
// in_blank_i units are left out, and groups_i counts the groups of two strips. A unit has the place
// that ufp4_quant_write gives it for n = index_i, where n belongs to the first unit of the group if
// its units follow each other, and otherwise to each unit; index_step_o then advances the index.
// done_o, strip_end_o and memory_error_o are as in ufp4_quant_write, except that memory_error_o
// comes a cycle later. No request crosses 4 KiB. Slots groups of each copy fit.
// Handshakes: valid/ready. Throughput: one request and one beat per cycle: a group of four takes 5
// cycles for the row copy, 8 for the column copy. Requests run up to four ahead of their beats.
// Test: tests/rtl/quant (inside the engine). Timed model: sim/src/timing/quant/quant_write_wide.
module ufp4_quant_write_wide #(
  parameter int unsigned Slots = 4,
  localparam int unsigned AddrW = ufp4_spec_pkg::ADDR_BITS,
  localparam int unsigned IndexW = AddrW - 7
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,

  input  logic                             pair_i,
  input  logic                             two_i,
  input  logic [2:0]                       last_units_i,
  input  logic [17:0]                      groups_i,
  input  logic                             start_i,
  input  logic [1:0][AddrW-1:0]            codes_addr_i,
  input  logic [1:0][AddrW-1:0]            scales_addr_i,
  input  logic [1:0][IndexW-1:0]           index_i,
  output logic [1:0]                       index_step_o,
  output logic [1:0]                       done_o,
  output logic                             strip_end_o,
  output logic                             memory_error_o,

  input  logic [1:0]                       in_valid_i,
  output logic [1:0]                       in_ready_o,
  input  logic [1:0][3:0][63:0]            in_codes_i,
  input  logic [1:0][3:0][7:0]             in_scale_i,
  input  logic [1:0]                       in_last_i,
  input  logic [1:0]                       in_blank_i,

  output ufp4_memory_pkg::request_t        wr_req_o,
  input  ufp4_memory_pkg::write_response_t wr_rsp_i,
  output logic                             wr_dat_valid_o,
  output logic [1023:0]                    wr_dat_data_o,
  output logic [127:0]                     wr_dat_strb_o
);

  localparam int unsigned SLOT_W  = $clog2(Slots);
  localparam int unsigned COUNT_W = $clog2(Slots + 1);

  // --- Collect -----------------------------------------------------------------------------------

  // The place of a block.
  typedef struct packed {
    logic [SLOT_W-1:0] slot;
    logic [3:0]        block;
    logic              half;
  } place_t;

  logic                       ask_end, ask_copy_d, ask_copy_q;
  logic [1:0]                 take, fill, asked, free;
  place_t [1:0]               in_d, in_q;
  logic [1:0][SLOT_W-1:0]     ask_d, ask_q, out_d, out_q;   // slots of the next request and of the next load
  logic [1:0][COUNT_W-1:0]    filled_d, filled_q;           // full slots
  logic [1:0][COUNT_W-1:0]    waiting_d, waiting_q;         // full slots that are not requested
  logic [1:0][Slots-1:0]      last_d, last_q;
  logic [1:0][Slots-1:0][1:0] blank_d, blank_q;             // by half

  always_comb begin
    for (int unsigned c = 0; c < 2; c++) begin
      in_ready_o[c] = filled_q[c] != COUNT_W'(Slots);
      take[c]       = in_valid_i[c] && in_ready_o[c];
      fill[c]       = take[c] && in_q[c].block == 4'd15 && in_q[c].half == pair_i;
      asked[c]      = ask_end && ask_copy_q == 1'(c);
      in_d[c]       = in_q[c];
      if (take[c]) in_d[c] = in_q[c] + (pair_i ? (SLOT_W+5)'(1) : (SLOT_W+5)'(2));
      ask_d[c]      = ask_q[c] + SLOT_W'(asked[c]);
      out_d[c]      = out_q[c] + SLOT_W'(free[c]);
      filled_d[c]   = filled_q[c] + COUNT_W'(fill[c]) - COUNT_W'(free[c]);
      waiting_d[c]  = waiting_q[c] + COUNT_W'(fill[c]) - COUNT_W'(asked[c]);
      last_d[c]     = last_q[c];
      blank_d[c]    = blank_q[c];
      if (take[c] && in_q[c].block == 4'd15) begin
        last_d[c][in_q[c].slot]                = in_last_i[c];
        blank_d[c][in_q[c].slot][in_q[c].half] = in_blank_i[c];
      end
      // The next job begins with the first slot.
      if (start_i) begin
        in_d[c]  = '0;
        ask_d[c] = '0;
        out_d[c] = '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_q      <= '0;
      ask_q     <= '0;
      out_q     <= '0;
      filled_q  <= '0;
      waiting_q <= '0;
    end else begin
      in_q      <= in_d;
      ask_q     <= ask_d;
      out_q     <= out_d;
      filled_q  <= filled_d;
      waiting_q <= waiting_d;
    end
    last_q  <= last_d;
    blank_q <= blank_d;
  end

  // --- Units of a group --------------------------------------------------------------------------

  logic [1:0][17:0]  left_d, left_q;  // groups of this strip that are not requested
  logic [SLOT_W-1:0] slot;
  logic              joined;          // the units follow each other
  logic [2:0]        count;

  assign slot        = ask_q[ask_copy_q];
  assign joined      = !ask_copy_q || pair_i;
  assign strip_end_o = asked[0] && left_q[0] == 18'd1;

  always_comb begin
    if (pair_i) count = blank_q[ask_copy_q][slot][0] ? 3'd0 : blank_q[ask_copy_q][slot][1] ? 3'd1 : 3'd2;
    else count = left_q[ask_copy_q] == 18'd1 ? last_units_i : two_i ? 3'd2 : 3'd4;
    for (int unsigned c = 0; c < 2; c++) begin
      left_d[c] = left_q[c] - 18'(asked[c]);
      if (start_i || (asked[c] && left_q[c] == 18'd1)) left_d[c] = groups_i;
    end
  end

  always_ff @(posedge clk_i) begin
    left_q <= left_d;
  end

  // --- Requests: codes, then scales --------------------------------------------------------------

  // Attributes of a request that its beats need.
  typedef struct packed {
    logic       copy;
    logic       joined;
    logic       scales;
    logic       empty;    // no request: a group without units
    logic       release_slot;
    logic [1:0] first;    // unit
    logic [2:0] count;    // beats of codes, or units in the beat of scales
    logic [2:0] place;    // place of the scales of the first unit in the beat
  } note_t;

  logic             busy_d, busy_q, scales_d, scales_q, note_ready, note_valid, note_pop;
  logic [1:0]       first_d, first_q;    // unit of the request
  logic [AddrW-1:0] addr_d, addr_q;
  logic [1:0]       done_d, done_q;
  logic [1:0]       others;              // the copy has a group besides the current one
  logic [2:0]       rest, to_page, run, after;
  logic             request_end, codes_end, set_end, step_over, begin_slot;
  note_t            note_in, note;

  assign rest    = count - 3'(first_q);
  assign to_page = addr_q[11:9] == 3'd7 ? 3'd4 - {1'b0, addr_q[8:7]} : 3'd4;
  assign run     = !joined ? 3'd1 : rest < to_page ? rest : to_page;
  assign after   = 3'(first_q) + run;    // the unit after those of the request

  assign step_over   = busy_q && note_ready && count == 3'd0;
  assign wr_req_o    = '{valid: busy_q && note_ready && count != 3'd0, addr: {addr_q[AddrW-1:7], 7'd0},
                         beats: scales_q ? 9'd1 : 9'(run)};
  assign request_end = wr_req_o.valid && wr_rsp_i.req_ready;
  assign codes_end   = request_end && !scales_q && (!joined || after == count);
  assign set_end     = request_end && scales_q;
  assign ask_end     = step_over || (set_end && (joined || after == count));

  for (genvar c = 0; c < 2; c++) begin : gen_others
    assign others[c]       = waiting_q[c] > COUNT_W'(busy_q && ask_copy_q == 1'(c));
    assign index_step_o[c] = (codes_end || step_over) && ask_copy_q == 1'(c);
  end
  // After a skipped group the index is not valid yet.
  assign begin_slot = (!busy_q || (ask_end && !step_over)) && others != '0;

  always_comb begin
    busy_d     = busy_q;
    ask_copy_d = ask_copy_q;
    scales_d   = scales_q;
    first_d    = first_q;
    done_d     = start_i ? 2'b00 : done_q;
    if (request_end && !scales_q && !codes_end) first_d = after[1:0];
    if (codes_end) scales_d = 1'b1;
    if (set_end) begin
      scales_d = 1'b0;
      first_d  = after[1:0];
    end
    if (ask_end) begin
      busy_d  = 1'b0;
      first_d = 2'd0;
      if (last_q[ask_copy_q][slot]) done_d[ask_copy_q] = 1'b1;
    end
    if (begin_slot) begin
      // The other copy has priority.
      busy_d     = 1'b1;
      ask_copy_d = others[!ask_copy_q] ? !ask_copy_q : ask_copy_q;
    end
  end

  // codes_at: where the next codes of each copy go; scales_at: where the scales of the current
  // units go. The index was stepped with the codes, at least a cycle before the next ones begin.
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
    .a_i  (scales_addr_i[ask_copy_q][AddrW-1:4]),
    .b_i  ({3'd0, index_i[ask_copy_q]}),
    .sum_o({unused_carry[2], scales_at[AddrW-1:4]})
  );
  assign scales_at[3:0] = scales_addr_i[ask_copy_q][3:0];

  always_comb begin
    addr_d = addr_q;
    if (codes_end) addr_d = scales_at;
    else if (set_end || begin_slot) addr_d = codes_at[ask_copy_d];
    else if (request_end) addr_d = addr_q + AddrW'({run, 7'd0});
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q     <= 1'b0;
      scales_q   <= 1'b0;
      first_q    <= 2'd0;
      ask_copy_q <= 1'b0;
    end else begin
      busy_q     <= busy_d;
      scales_q   <= scales_d;
      first_q    <= first_d;
      ask_copy_q <= ask_copy_d;
    end
    done_q <= done_d;
    addr_q <= addr_d;
  end

  assign note_in = '{copy: ask_copy_q, joined: joined, scales: scales_q, empty: step_over, release_slot: ask_end,
                     first: first_q, count: !joined ? 3'd1 : scales_q ? count : run, place: addr_q[6:4]};

  ufp4_fifo #(
    .Width($bits(note_t)),
    .Depth(4)
  ) u_notes (
    .clk_i,
    .rst_ni,
    .in_valid_i (request_end || step_over),
    .in_ready_o (note_ready),
    .in_data_i  (note_in),
    .out_valid_o(note_valid),
    .out_ready_i(note_pop),
    .out_data_o (note)
  );

  // --- Beats -------------------------------------------------------------------------------------

  logic              dat_valid_d, dat_valid_q, load, load_codes, scales_out_q, fresh_q, fresh_joined_q;
  logic [1:0]        beat_d, beat_q, load_unit, fresh_unit_q;
  logic [15:0][63:0] codes;
  logic [15:0][7:0]  scales;
  logic [3:0][127:0] places_q;     // scales at the places of half a beat; both halves are the same
  logic [63:0]       scale_strobe;
  logic [127:0]      strb_q;

  assign load       = note_valid && !note.empty && (!dat_valid_q || wr_rsp_i.dat_ready);
  assign note_pop   = note_valid && (note.empty || (load && (note.scales || 3'(beat_q) + 3'd1 == note.count)));
  assign load_codes = load && !note.scales;
  assign load_unit  = note.first + beat_q;

  for (genvar c = 0; c < 2; c++) begin : gen_free
    assign free[c] = note_pop && note.release_slot && note.copy == 1'(c);
  end

  always_comb begin
    beat_d = beat_q + 2'(load_codes);
    if (note_pop) beat_d = 2'd0;
    dat_valid_d = load || (dat_valid_q && !wr_rsp_i.dat_ready);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q      <= 2'd0;
      dat_valid_q <= 1'b0;
    end else begin
      beat_q      <= beat_d;
      dat_valid_q <= dat_valid_d;
    end
  end

  ufp4_quant_units_wide #(
    .Slots(Slots)
  ) u_units (
    .clk_i,
    .pair_i,
    .take_i      (take),
    .take_slot_i ({in_q[1].slot, in_q[0].slot}),
    .take_block_i({in_q[1].block, in_q[0].block}),
    .take_half_i ({in_q[1].half, in_q[0].half}),
    .codes_i     (in_codes_i),
    .scale_i     (in_scale_i),
    .load_i      (load_codes),
    .load_copy_i (note.copy),
    .load_slot_i (out_q[note.copy]),
    .load_unit_i (load_unit),
    .codes_o     (codes),
    .scales_o    (scales),
    .error_o     (memory_error_o)
  );

  // One bit for each byte of the scales.
  assign scale_strobe = ~(~64'd0 << {note.count, 4'd0});

  always_ff @(posedge clk_i) begin
    fresh_q <= load_codes;
    if (load_codes) begin
      fresh_joined_q <= note.joined;
      fresh_unit_q   <= load_unit;
    end
    // The scales of a unit go to its place, or to all places if they can be anywhere.
    for (int unsigned i = 0; i < 4; i++) begin
      if (fresh_q && (!fresh_joined_q || (two_i ? fresh_unit_q[0] == i[0] : fresh_unit_q == 2'(i)))) begin
        places_q[i] <= scales;
      end
    end
    if (load) begin
      scales_out_q <= note.scales;
      strb_q       <= note.scales ? {64'd0, scale_strobe} << {note.place, 4'd0} : '1;
    end
  end

  assign wr_dat_valid_o = dat_valid_q;
  assign wr_dat_data_o  = scales_out_q ? {places_q, places_q} : codes;
  assign wr_dat_strb_o  = strb_q;
  assign done_o         = done_q & {2{!note_valid && !dat_valid_q}};

  // The engine uses the rest of the response.
  logic unused;
  assign unused = ^{unused_carry, addr_q[3:0], wr_rsp_i.idle, wr_rsp_i.err, wr_rsp_i.answer};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && wr_req_o.valid) begin
      assert (scales_q || 6'(addr_q[11:7]) + 6'(run) <= 6'd32) else $error("a request crosses 4 KiB");
    end
  end
`endif

endmodule
