// SPDX-License-Identifier: Apache-2.0
// The executor of the link: takes requests one at a time and in order, and gives answers
// (docs/reference/link.md).
//
// Contract: the request with the expected sequence number is executed once. Its status and length
// are kept, and its data in the memory of answers, in the slot of its number modulo WINDOW; one of
// the last WINDOW requests is answered again from there. Any other number is OUT_OF_ORDER, and
// before the first HELLO since reset every other request is NO_SESSION. HELLO, if its length is
// right, is always executed and restarts the numbers.
// Handshakes: requests and answers are valid/ready; an access holds *_valid_o until *_done_i. A
// request with n bytes of data takes about n + 13 cycles and the time of its accesses.
// Test: tests/fpga.
module ufp4_link_execute
  import ufp4_link_pkg::*;
#(
  parameter int unsigned MemoryBytes = 32'h4_0000,
  parameter int unsigned ClockHz = 25_000_000,
  parameter int unsigned Baud = 3_000_000,
  parameter logic [127:0] Board = "sim",
  parameter bit Sdram = 1'b0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        irq_i,

  // Whole requests, byte by byte.
  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [7:0]  in_data_i,

  // Answers, and the slot whose data have not left.
  output logic        answer_valid_o,
  input  logic        answer_ready_i,
  output answer_t     answer_o,
  input  logic        sending_i,
  input  logic [2:0]  sending_slot_i,
  output logic        repeated_o,

  // The session, for the receive side.
  output logic        session_o,
  output logic [31:0] nonce_o,
  output logic [31:0] expected_o,
  output logic        hello_done_o,

  // The memory of answers.
  output logic        store_o,
  output logic [2:0]  store_slot_o,
  output logic [9:0]  store_offset_o,
  output logic [7:0]  store_data_o,

  // Registers: of the core, or (board_o) of the board.
  output logic        access_valid_o,
  output logic        access_board_o,
  output logic        access_write_o,
  output logic [31:0] access_address_o,
  output logic [31:0] access_data_o,
  input  logic        access_done_i,
  input  status_e     access_status_i,
  input  logic [31:0] access_data_i,

  // A range of memory (ufp4_link_memory).
  output logic        memory_start_o,
  output logic        memory_write_o,
  output logic [31:0] memory_bytes_o,
  output logic [31:0] memory_address_o,
  input  logic        memory_idle_i,
  input  logic        memory_error_i,
  output logic        memory_in_valid_o,
  input  logic        memory_in_ready_i,
  input  logic        memory_out_valid_i,
  output logic        memory_out_ready_o,
  input  logic [7:0]  memory_out_data_i
);
  typedef enum logic [3:0] {
    HEADER,    // takes the header of a request
    DECIDE,    // decides: executed, repeated or refused
    SKIP,      // takes the data of a request that is not executed
    COLLECT,   // takes up to four bytes of data
    IDENTITY, ECHO, STORE, LOAD, SUM, PAUSE, ACCESS,
    RESULT,    // stores the word that an access or a sum gave
    ANSWER
  } state_e;

  localparam logic [31:0] MILLISECOND = 32'(ClockHz / 1000);

  // --- The request -------------------------------------------------------------------------------

  state_e      state_d, state_q;
  request_t    request_q;
  command_e    command;
  logic [31:0] data_d, data_q;
  logic [9:0]  left_d, left_q, done_d, done_q;   // bytes of data not taken; bytes of the answer stored
  logic        take, store, word;

  assign command = command_e'(request_q.command);
  assign take    = in_valid_i && in_ready_o;
  assign word    = request_q.length == 16'd4;

  // --- Sequence numbers --------------------------------------------------------------------------

  logic        session_q, fresh, again, hello, executed_d, executed_q;
  logic [31:0] expected_q, nonce_q;   // the count of the next request; the nonce of the session
  logic [7:0]  back;
  logic [3:0]  stored_q;              // number of answers that may be repeated
  status_e     status_d, status_q;
  logic [9:0]  length_d, length_q;
  logic [13:0] slots [WINDOW];
  logic [13:0] slot;

  assign hello = command == COMMAND_HELLO;
  assign back  = expected_q[7:0] - request_q.sequence_number;
  assign again = back != 8'd0 && back <= 8'(stored_q);
  assign fresh = back == 8'd0;
  assign slot  = slots[request_q.sequence_number[2:0]];

  // --- Refusals ----------------------------------------------------------------------------------

  logic [31:0] range;
  logic        outside, refused, known;

  assign range   = state_q == COLLECT ? data_q : 32'(request_q.length);
  assign outside = 33'(request_q.address) + 33'(range) > 33'(MemoryBytes);

  always_comb begin
    refused = 1'b0;
    known   = 1'b1;
    unique case (command)
      COMMAND_HELLO, COMMAND_MEMORY_CHECKSUM, COMMAND_BOARD_READ, COMMAND_BOARD_WRITE: refused = !word;
      COMMAND_REGISTER_READ, COMMAND_REGISTER_WRITE:
        refused = !word || request_q.address[31:12] != '0 || request_q.address[1:0] != '0;
      COMMAND_MEMORY_READ, COMMAND_MEMORY_WRITE:
        refused = request_q.length == '0 || request_q.length > 16'(DATA_BYTES) || outside;
      COMMAND_WAIT: refused = request_q.length != 16'd2;
      COMMAND_PING: ;
      default: known = 1'b0;
    endcase
  end

  // --- Decision on a header ----------------------------------------------------------------------

  state_e  decided_state;
  status_e decided_status;
  logic    runs, repeats, slot_busy;

  // The previous answer of this slot must have left.
  assign slot_busy = sending_i && sending_slot_i == request_q.sequence_number[2:0];
  assign runs      = hello || (session_q && fresh);
  assign repeats   = !hello && session_q && again;

  always_comb begin
    decided_status = STATUS_OK;
    if (!hello && !session_q) decided_status = STATUS_NO_SESSION;
    else if (repeats) decided_status = status_e'(slot[13:10]);
    else if (!runs) decided_status = STATUS_OUT_OF_ORDER;
    else if (!known) decided_status = STATUS_UNKNOWN;
    else if (refused) decided_status = STATUS_REFUSED;
  end

  always_comb begin
    unique case (command)
      COMMAND_PING:                              decided_state = ECHO;
      COMMAND_REGISTER_READ, COMMAND_BOARD_READ: decided_state = ACCESS;
      COMMAND_MEMORY_READ:                       decided_state = LOAD;
      COMMAND_MEMORY_WRITE:                      decided_state = STORE;
      default:                                   decided_state = COLLECT;
    endcase
    if (runs && slot_busy) decided_state = DECIDE;
    else if (!runs || !known || refused) decided_state = SKIP;
  end

  // --- The states --------------------------------------------------------------------------------

  logic        tick;
  logic [31:0] cycles_q, crc_q, crc;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      HEADER: if (take && done_q == 10'(HEADER_BYTES - 1)) state_d = DECIDE;
      DECIDE: state_d = decided_state;
      COLLECT: if (left_q == '0) begin
        unique case (command)
          COMMAND_HELLO:           state_d = IDENTITY;
          COMMAND_WAIT:            state_d = PAUSE;
          COMMAND_MEMORY_CHECKSUM: state_d = outside ? ANSWER : SUM;
          default:                 state_d = ACCESS;
        endcase
      end
      SKIP, ECHO:  if (left_q == '0) state_d = ANSWER;
      IDENTITY:    if (done_q == 10'(IDENTITY_BYTES - 1)) state_d = ANSWER;
      STORE, LOAD: if (memory_idle_i) state_d = ANSWER;
      SUM:         if (memory_idle_i) state_d = memory_error_i ? ANSWER : RESULT;
      PAUSE:       if (irq_i || data_q[31:16] == '0) state_d = ANSWER;
      ACCESS:      if (access_done_i) state_d = !access_write_o && access_status_i == STATUS_OK ? RESULT : ANSWER;
      RESULT:      if (done_q == 10'd3) state_d = ANSWER;
      default:     if (answer_ready_i) state_d = HEADER;
    endcase
  end

  always_comb begin
    memory_start_o = 1'b0;
    if (state_q == DECIDE) memory_start_o = decided_state == LOAD || decided_state == STORE;
    if (state_q == COLLECT) memory_start_o = state_d == SUM;
  end

  // Counts bytes of the header, then of the data to be taken and of the answer.
  always_comb begin
    left_d = left_q - 10'(take);
    done_d = done_q + 10'(store);
    if (state_q == HEADER) done_d = done_q + 10'(take);
    if (state_q == DECIDE) begin
      left_d = asks(request_q.command) ? 10'd0 : request_q.length[9:0];
      done_d = '0;
    end
    if (state_q == ANSWER && answer_ready_i) done_d = '0;
  end

  // The answer.
  always_comb begin
    status_d   = status_q;
    length_d   = length_q;
    executed_d = executed_q;
    unique case (state_q)
      DECIDE: begin
        status_d   = decided_status;
        length_d   = repeats ? slot[9:0] : 10'd0;
        executed_d = runs && !(hello && refused);
      end
      COLLECT: if (command == COMMAND_MEMORY_CHECKSUM && outside && left_q == '0) status_d = STATUS_REFUSED;
      STORE, SUM: if (memory_idle_i && memory_error_i) status_d = STATUS_BUS;
      LOAD: begin
        length_d = memory_error_i ? 10'd0 : done_d;
        if (memory_idle_i && memory_error_i) status_d = STATUS_BUS;
      end
      ACCESS: if (access_done_i) status_d = access_status_i;
      IDENTITY, ECHO, RESULT: length_d = done_d;
      default: ;
    endcase
  end

  // data_q is the word of a request or of an answer, or the time that a WAIT counts down.
  always_comb begin
    data_d = data_q;
    unique case (state_q)
      COLLECT: if (take) data_d = {in_data_i, data_q[31:8]};
      SUM:     if (memory_idle_i) data_d = ~crc_q;
      PAUSE:   if (tick) data_d[31:16] = data_q[31:16] - 16'd1;
      ACCESS:  if (access_done_i) data_d = access_data_i;
      RESULT:  data_d = data_q >> 8;
      default: ;
    endcase
  end

  always_comb begin
    unique case (state_q)
      HEADER:              in_ready_o = 1'b1;
      SKIP, COLLECT, ECHO: in_ready_o = left_q != '0;
      STORE:               in_ready_o = memory_in_ready_i;
      default:             in_ready_o = 1'b0;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q   <= HEADER;
      done_q    <= '0;
      session_q <= 1'b0;
    end else begin
      state_q <= state_d;
      done_q  <= done_d;
      if (answer_valid_o && answer_ready_i && executed_q && hello) session_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == HEADER && take) request_q <= {in_data_i, request_q[63:8]};
    data_q     <= data_d;
    left_q     <= left_d;
    status_q   <= status_d;
    length_q   <= length_d;
    executed_q <= executed_d;
    if (answer_valid_o && answer_ready_i && executed_q) begin
      expected_q <= (hello ? 32'(request_q.sequence_number) : expected_q) + 32'd1;
      if (hello) nonce_q <= data_q;
      stored_q   <= hello ? 4'd0 : stored_q + 4'(stored_q != 4'(WINDOW));
      slots[request_q.sequence_number[2:0]] <= {status_q, length_q};
    end
  end

  // --- The answer --------------------------------------------------------------------------------

  logic keyless;

  assign keyless        = hello || status_q == STATUS_NO_SESSION || status_q == STATUS_OUT_OF_ORDER;
  assign answer_valid_o = state_q == ANSWER;
  assign repeated_o     = state_q == DECIDE && repeats;
  assign answer_o = '{sequence_number: status_q == STATUS_OUT_OF_ORDER ? expected_q[7:0] : request_q.sequence_number,
                      status: status_q, round: request_q.round[2:0], length: length_q,
                      key: keyless ? '0 : key_of(nonce_q, request_q.sequence_number, expected_q)};
  assign session_o    = session_q;
  assign nonce_o      = nonce_q;
  assign expected_o   = expected_q;
  assign hello_done_o = answer_valid_o && answer_ready_i && hello;

  typedef struct packed {
    logic [31:0]  nonce;
    logic [127:0] board;
    logic [31:0]  baud, clock, memory_bytes, memory_base;
    logic [15:0]  flags, data_bytes, window, version;
  } identity_t;
  identity_t identity;
  assign identity = '{nonce: data_q, board: name(Board), baud: 32'(Baud), clock: 32'(ClockHz),
                      memory_bytes: 32'(MemoryBytes), memory_base: 32'd0, flags: {14'd0, Sdram, Sdram},
                      data_bytes: 16'(DATA_BYTES), window: 16'(WINDOW), version: 16'(VERSION)};

  // The last character of a string is the lowest byte; in the frame the first one is.
  function automatic logic [127:0] name(logic [127:0] text);
    name = '0;
    for (int unsigned i = 0; i < 16; i++) begin
      if (text[8*i+:8] != 8'd0) name = {name[119:0], text[8*i+:8]};
    end
  endfunction

  always_comb begin
    store        = 1'b0;
    store_data_o = in_data_i;
    unique case (state_q)
      IDENTITY: {store, store_data_o} = {1'b1, identity[8*done_q[5:0]+:8]};
      ECHO:     store = take;
      LOAD:     {store, store_data_o} = {memory_out_valid_i, memory_out_data_i};
      RESULT:   {store, store_data_o} = {1'b1, data_q[7:0]};
      default: ;
    endcase
  end
  assign store_o        = store;
  assign store_slot_o   = request_q.sequence_number[2:0];
  assign store_offset_o = done_q;

  // --- Accesses, memory, and time ----------------------------------------------------------------

  assign access_valid_o     = state_q == ACCESS;
  assign access_board_o     = command == COMMAND_BOARD_READ || command == COMMAND_BOARD_WRITE;
  assign access_write_o     = command == COMMAND_REGISTER_WRITE || command == COMMAND_BOARD_WRITE;
  assign access_address_o   = request_q.address;
  assign access_data_o      = data_q;
  assign memory_write_o     = command == COMMAND_MEMORY_WRITE;
  assign memory_address_o   = request_q.address;
  assign memory_bytes_o     = range;
  assign memory_in_valid_o  = in_valid_i && state_q == STORE;
  assign memory_out_ready_o = state_q == LOAD || state_q == SUM;

  ufp4_crc32 u_crc (
    .crc_i (crc_q),
    .data_i(memory_out_data_i),
    .crc_o (crc)
  );

  assign tick = cycles_q == MILLISECOND - 32'd1;

  always_ff @(posedge clk_i) begin
    cycles_q <= state_q != PAUSE || tick ? '0 : cycles_q + 32'd1;
    if (state_q == COLLECT) crc_q <= '1;
    else if (state_q == SUM && memory_out_valid_i) crc_q <= crc;
  end

endmodule
