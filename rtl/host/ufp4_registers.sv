// SPDX-License-Identifier: Apache-2.0
// The register file that the host sees (docs/ip/registers.md).
//
// Contract: the table of that page, whose offsets and meanings come from cmodel/spec/ufp4.toml.
// Reads of other offsets give zero, and writes to them are ignored. Byte strobes are honoured. An
// event sets its bit of irq_status in the next cycle, and wins over a clear in the same cycle.
// read_data_o is combinational.
// Test: tests/rtl/core. Timed model: sim/src/timing/host/registers.
module ufp4_registers
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned Rows = 16,
  parameter int unsigned Cols = 16,
  parameter int unsigned TileRows = 8,
  parameter int unsigned TileCols = 8,
  parameter int unsigned Chunk = 16,
  parameter int unsigned BusBytes = 64,
  parameter int unsigned Contract = 32'(CONTRACT_EXACT),
  parameter int unsigned Formats = 32'(FORMATS_ALL),
  parameter int unsigned Lanes = 16,
  parameter int unsigned Quant = 16,
  parameter bit Mixed = 1'b0
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  // From ufp4_axil
  input  logic                 write_i,
  input  logic [11:0]          write_addr_i,
  input  logic [31:0]          write_data_i,
  input  logic [3:0]           write_strb_i,
  input  logic [11:0]          read_addr_i,
  output logic [31:0]          read_data_o,

  // Ring, to the command unit
  output logic [ADDR_BITS-1:0] ring_base_o,
  output logic [3:0]           ring_log2_o,
  output logic [31:0]          ring_tail_o,
  output logic [ADDR_BITS-1:0] completion_base_o,
  input  logic [31:0]          ring_head_i,
  input  logic                 running_i,
  input  logic                 irq_done_i,
  input  logic                 irq_error_i,

  // Watchdog and soft reset
  output logic                 soft_reset_o,
  output logic [31:0]          watchdog_o,
  input  logic                 resetting_i,      // empties the ring and clears interrupts
  input  logic                 irq_fatal_i,
  input  logic [3:0]           fatal_code_i,
  output logic                 overflow_o,

  // Counters and slots
  output logic                 snapshot_o,
  output logic                 clear_o,
  output logic [3:0]           counter_select_o,
  input  logic [63:0]          counter_value_i,
  output logic [5:0]           slot_index_o,
  input  logic                 slot_valid_i,
  input  logic [15:0]          slot_exponent_i,

  output logic                 irq_o
);

  localparam logic [2:0] QUANT_LOG2 = Quant == 0 ? 3'd0 : 3'($clog2(Quant));
  localparam int unsigned BASE_LOW = $clog2(ALIGN_BYTES);   // low bits of a ring base that are always zero

  function automatic logic [31:0] strobed(logic [31:0] old, logic [31:0] data, logic [3:0] strb);
    for (int unsigned i = 0; i < 4; i++) begin
      strobed[8*i +: 8] = strb[i] ? data[8*i +: 8] : old[8*i +: 8];
    end
  endfunction

  logic [2:0]           irq_status_d, irq_status_q, irq_mask_d, irq_mask_q;
  logic [ADDR_BITS-1:0] ring_base_d, ring_base_q, completion_base_d, completion_base_q;
  logic [3:0]           ring_log2_d, ring_log2_q;
  logic [31:0]          ring_tail_d, ring_tail_q, watchdog_d, watchdog_q, ahead;
  logic                 back_d, back_q;   // a write moved the tail back

  assign ring_base_o       = ring_base_q;
  assign completion_base_o = completion_base_q;
  assign ring_log2_o       = ring_log2_q;
  assign ring_tail_o       = ring_tail_q;
  assign watchdog_o        = watchdog_q;
  assign ahead             = ring_tail_q - ring_head_i;
  assign overflow_o        = ahead > 32'd1 << ring_log2_q || back_q;
  assign irq_o             = |(irq_status_q & irq_mask_q);

  // --- Writes ------------------------------------------------------------------------------------

  // The new value of the addressed register, if it is a plain one.
  logic [31:0] old, value;

  always_comb begin
    unique case (write_addr_i)
      REG_IRQ_MASK:           old = 32'(irq_mask_q);
      REG_RING_BASE_LO:       old = ring_base_q[31:0];
      REG_RING_BASE_HI:       old = 32'(ring_base_q[ADDR_BITS-1:32]);
      REG_RING_LOG2:          old = 32'(ring_log2_q);
      REG_RING_TAIL:          old = ring_tail_q;
      REG_WATCHDOG:           old = watchdog_q;
      REG_COMPLETION_BASE_LO: old = completion_base_q[31:0];
      REG_COMPLETION_BASE_HI: old = 32'(completion_base_q[ADDR_BITS-1:32]);
      default:                old = '0;                      // control and irq_status: bits without a strobe are zero
    endcase
  end

  assign value = strobed(old, write_data_i, write_strb_i);

  always_comb begin
    irq_mask_d        = irq_mask_q;
    ring_base_d       = ring_base_q;
    ring_log2_d       = ring_log2_q;
    ring_tail_d       = ring_tail_q;
    completion_base_d = completion_base_q;
    irq_status_d      = irq_status_q;
    watchdog_d        = watchdog_q;
    soft_reset_o      = 1'b0;
    snapshot_o        = 1'b0;
    clear_o           = 1'b0;
    back_d            = 1'b0;
    if (write_i) begin
      unique case (write_addr_i)
        REG_CONTROL:            {soft_reset_o, clear_o, snapshot_o} = value[2:0];
        REG_IRQ_STATUS:         irq_status_d = irq_status_q & ~value[2:0];
        REG_IRQ_MASK:           irq_mask_d = value[2:0];
        REG_RING_BASE_LO:       ring_base_d[31:0] = {value[31:BASE_LOW], BASE_LOW'(0)};
        REG_RING_BASE_HI:       ring_base_d[ADDR_BITS-1:32] = value[ADDR_BITS-33:0];
        REG_RING_LOG2:          ring_log2_d = value[3:0];
        REG_RING_TAIL: begin
          ring_tail_d = value;
          back_d      = value - ring_head_i < ahead;
        end
        REG_COMPLETION_BASE_LO: completion_base_d[31:0] = {value[31:BASE_LOW], BASE_LOW'(0)};
        REG_COMPLETION_BASE_HI: completion_base_d[ADDR_BITS-1:32] = value[ADDR_BITS-33:0];
        REG_WATCHDOG:           watchdog_d = value;
        default:                ;
      endcase
    end
    irq_status_d |= {irq_fatal_i, irq_error_i, irq_done_i};
    if (resetting_i) begin
      irq_status_d = '0;
      ring_tail_d  = '0;
      back_d       = 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      irq_status_q      <= '0;
      irq_mask_q        <= '0;
      ring_base_q       <= '0;
      ring_log2_q       <= '0;
      ring_tail_q       <= '0;
      completion_base_q <= '0;
      watchdog_q        <= '0;
      back_q            <= 1'b0;
    end else begin
      irq_status_q      <= irq_status_d;
      irq_mask_q        <= irq_mask_d;
      ring_base_q       <= ring_base_d;
      ring_log2_q       <= ring_log2_d;
      ring_tail_q       <= ring_tail_d;
      completion_base_q <= completion_base_d;
      watchdog_q        <= watchdog_d;
      back_q            <= back_d;
    end
  end

  // --- Reads -------------------------------------------------------------------------------------

  logic [31:0] plain;
  logic        in_counters, in_slots;

  assign counter_select_o = read_addr_i[6:3];
  assign slot_index_o     = read_addr_i[7:2];
  assign in_counters      = read_addr_i[11:7] == 5'(REG_COUNTER_BASE >> 7);
  assign in_slots         = read_addr_i[11:8] == 4'(REG_SLOT_BASE >> 8);

  always_comb begin
    unique case (read_addr_i)
      REG_ID:                 plain = CORE_ID;
      REG_VERSION:            plain = VERSION;
      REG_CONFIG_ARRAY:       plain = {QUANT_LOG2, Quant != 0, 2'(Formats), 2'(Contract), 8'(Lanes), 8'(Cols),
                                       8'(Rows)};
      REG_CONFIG_TILE:        plain = {16'(Cols * TileCols), 16'(Rows * TileRows)};
      REG_CONFIG_MEMORY:      plain = {8'(SLOTS), 8'(Chunk), 8'(ADDR_BITS), 8'(BusBytes)};
      REG_CONFIG_QUANT:       plain = {31'd0, Mixed};
      REG_STATUS:             plain = {28'd0, resetting_i, fatal_code_i[0], ring_head_i == ring_tail_q, running_i};
      REG_IRQ_STATUS:         plain = {29'd0, irq_status_q};
      REG_IRQ_MASK:           plain = {29'd0, irq_mask_q};
      REG_RING_BASE_LO:       plain = ring_base_q[31:0];
      REG_RING_BASE_HI:       plain = 32'(ring_base_q[ADDR_BITS-1:32]);
      REG_RING_LOG2:          plain = {28'd0, ring_log2_q};
      REG_RING_TAIL:          plain = ring_tail_q;
      REG_RING_HEAD:          plain = ring_head_i;
      REG_COMPLETION_BASE_LO: plain = completion_base_q[31:0];
      REG_COMPLETION_BASE_HI: plain = 32'(completion_base_q[ADDR_BITS-1:32]);
      REG_WATCHDOG:           plain = watchdog_q;
      REG_FATAL:              plain = {28'd0, fatal_code_i};
      default:                plain = '0;
    endcase
  end

  always_comb begin
    read_data_o = plain;
    if (in_counters) read_data_o = read_addr_i[2] ? counter_value_i[63:32] : counter_value_i[31:0];
    if (in_slots) read_data_o = {15'd0, slot_valid_i, slot_exponent_i & {16{slot_valid_i}}};
    if (read_addr_i[1:0] != 2'b00) read_data_o = '0;
  end

endmodule
