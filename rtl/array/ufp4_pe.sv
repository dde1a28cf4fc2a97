// SPDX-License-Identifier: Apache-2.0
// Processing element of the contract exact: adds one 16-element block product per cycle to a
// running sum, and owns one output of each sub-tile.
//
//   sum = base + (dot(a, b) * a_sig * b_sig << (a_exp + b_exp))
//                                                unit 2^-(18 + fracA + fracB), 64 bits, exact
//
// base is zero, the running sum (keep), or the partial sum that an earlier chunk left in bank 0
// (load). Operands are bit planes mag (ufp4_elem_decode) and rest {sign[Lanes-1:0], sig[3:0],
// exp[3:0]}; they pass on to the right (a) and down (b) one cycle later.
//
// Stages (their number is in ufp4_pe_pkg): dot product (in the form for cells the tree, then its
// last addition), product with the significands, memory read, accumulation, memory write. The form
// for FPGAs has more stages in between. The control word of a stage is {valid, keep, load, write,
// bank, index}; in a cycle that is not valid, keep is set and load clear. The array delays control
// words along a row, so the stages of a PE use the registers of its column and of the columns after
// it. valid_i belongs to the stage that multiplies the significands, control_load_i to the memory
// read, control_sum_i to the accumulation, and base_i, {keep, load}, to the stage before it, where
// the form for cells chooses base.
//
// Formats limits the formats that the form for cells multiplies; the other forms multiply all of
// them. With fewer than 16 Lanes ufp4_dot_part adds up a block in 16 / Lanes steps. step_i (a step)
// and first_i (the first one of a block) belong to the second stage, and control is valid with the
// last step. With 16 Lanes and ClockEnables step_i says that the first stage has a block; in a
// cycle without one the operand registers hold.
//
// There are two memories (banks) of Depth accumulator words (ufp4_pe_pkg); bank names the one to
// write. A drained sum appears at drain_data0_o or drain_data1_o in the next cycle, and its parity
// one cycle later. Bank 0 is not drained while sums are loaded from it. The array for simulators
// has PEs of its own (ufp4_pe_words).
//
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/array.
module ufp4_pe #(
  parameter int unsigned Depth = 64,
  parameter int unsigned Target = 32'(ufp4_spec_pkg::TARGET_ASIC),
  parameter bit Parity = 1'b1,
  parameter int unsigned Formats = 32'(ufp4_spec_pkg::FORMATS_ALL),
  parameter int unsigned Lanes = 16,
  localparam int unsigned RestWidth = Lanes + 8,
  localparam int unsigned SumWidth = ufp4_pe_pkg::sum_width(Target),
  localparam int unsigned IndexWidth = $clog2(Depth),
  localparam int unsigned ControlWidth = 5 + IndexWidth
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    valid_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control_load_i  /*verilator public_flat_rd*/,
  input  logic [1:0]              base_i  /*verilator public_flat_rd*/,
  input  logic [ControlWidth-1:0] control_sum_i  /*verilator public_flat_rd*/,
  input  logic [4*Lanes-1:0]      a_mag_i  /*verilator public_flat_rd*/,
  input  logic [RestWidth-1:0]    a_rest_i  /*verilator public_flat_rd*/,
  input  logic [4*Lanes-1:0]      b_mag_i  /*verilator public_flat_rd*/,
  input  logic [RestWidth-1:0]    b_rest_i  /*verilator public_flat_rd*/,
  output logic [4*Lanes-1:0]      a_mag_o,
  output logic [RestWidth-1:0]    a_rest_o,
  output logic [4*Lanes-1:0]      b_mag_o,
  output logic [RestWidth-1:0]    b_rest_o,
  input  logic                    step_i,
  input  logic                    first_i,
  input  logic [1:0]              drain_read_i  /*verilator public_flat_rd*/,
  input  logic [IndexWidth-1:0]   drain_index_i  /*verilator public_flat_rd*/,
  output logic [SumWidth-1:0]     drain_data0_o,
  output logic [SumWidth-1:0]     drain_data1_o,
  output logic [1:0]              drain_parity_o
);
  if (Target == 32'(ufp4_spec_pkg::TARGET_SIMULATOR)) begin : gen_check_target
    $error("ufp4_pe: simulators have ufp4_pe_words");
  end

  // This pragma makes one compiled function for all PEs of a simulated array.
  /*verilator no_inline_module*/

  // Without Enabled the registers are clocked in every cycle, because an enable costs gates unless
  // it becomes a clock gate. The uppermost plane of E1M2 magnitudes is always zero.
  localparam bit Enabled = ufp4_pe_pkg::ClockEnables && Target == 32'(ufp4_spec_pkg::TARGET_ASIC) && Lanes == 16;
  localparam int unsigned Planes = (Formats == 32'(ufp4_spec_pkg::FORMATS_E1M2)) ? 3 : 4;
  always_ff @(posedge clk_i) if (!Enabled || step_i) begin
    a_mag_o <= (4*Lanes)'(a_mag_i[Planes*Lanes-1:0]);
    a_rest_o <= a_rest_i;
    b_mag_o <= (4*Lanes)'(b_mag_i[Planes*Lanes-1:0]);
    b_rest_o <= b_rest_i;
  end

  if (Lanes == 16) begin : gen_no_steps
    logic unused_step;
    assign unused_step = step_i ^ first_i;
  end

  logic valid_load, load_wanted, load;
  logic [IndexWidth-1:0] index_load;
  logic [2:0] unused_load;
  assign {valid_load, unused_load[2], load_wanted, unused_load[1:0], index_load} = control_load_i;
  assign load = valid_load & load_wanted;

  logic valid, keep, take, put, bank;
  logic [1:0] write;
  logic [IndexWidth-1:0] index, index_write;
  logic [SumWidth-1:0] sum;
  assign {valid, keep, take, put, bank, index} = control_sum_i;

  if (Target == 32'(ufp4_spec_pkg::TARGET_FPGA)) begin : gen_chains
    logic signed [12:0] dot;
    logic negative;
    if (Lanes < 16) begin : gen_part
      logic [12:0] part;
      ufp4_dot_part #(
        .Lanes(Lanes),
        .Registered(ufp4_pe_pkg::part_registered(Target, 32'(ufp4_spec_pkg::CONTRACT_EXACT)))
      ) u_dot (
        .clk_i,
        .a_sign_i(a_rest_i[RestWidth-1:8]),
        .a_mag_i,
        .b_sign_i(b_rest_i[RestWidth-1:8]),
        .b_mag_i,
        .step_i,
        .first_i,
        .dot_o(part)
      );
      ufp4_delay #(.Width(13), .Cycles(ufp4_pe_pkg::DotStages - 1)) u_part (
        .clk_i,
        .word_i(part),
        .word_o(dot)
      );
      assign negative = 1'b0;
    end else begin : gen_relative
      ufp4_dot_relative u_dot (
        .clk_i,
        .a_sign_i(a_rest_i[23:8]),
        .a_mag_i,
        .b_sign_i(b_rest_i[23:8]),
        .b_mag_i,
        .dot_o(dot),
        .negative_o(negative)
      );
    end

    // The scales are delayed to meet the dot product.
    logic [7:0] sig;
    logic [4:0] exp;
    logic load_q;
    ufp4_delay #(.Width(13), .Cycles(ufp4_pe_pkg::DotStages)) u_scales (
      .clk_i,
      .word_i({8'(a_rest_i[7:4]) * 8'(b_rest_i[7:4]), 5'(a_rest_i[3:0]) + 5'(b_rest_i[3:0])}),
      .word_o({sig, exp})
    );
    always_ff @(posedge clk_i) begin
      load_q <= load;
    end
    ufp4_sum_chains u_sum (
      .clk_i,
      .dot_i(dot),
      .negative_i(negative),
      .sig_i(sig),
      .exp_i(exp),
      .load_i(load_q),
      .loaded_i(drain_data0_o),
      .valid_i(valid),
      .keep_i(keep),
      .sum_o(sum)
    );
    ufp4_delay #(.Width(2 + IndexWidth), .Cycles(2)) u_write (
      .clk_i,
      .word_i({valid & put & bank, valid & put & ~bank, index}),
      .word_o({write, index_write})
    );
    logic unused_control;
    assign unused_control = valid_i ^ take ^ (^base_i);
  end else begin : gen_steps
    // The scales of this dot product are those in the output registers.
    logic signed [12:0] dot;
    if (Lanes < 16) begin : gen_part
      ufp4_dot_part #(
        .Lanes(Lanes),
        .Registered(ufp4_pe_pkg::part_registered(Target, 32'(ufp4_spec_pkg::CONTRACT_EXACT)))
      ) u_dot (
        .clk_i,
        .a_sign_i(a_rest_i[RestWidth-1:8]),
        .a_mag_i,
        .b_sign_i(b_rest_i[RestWidth-1:8]),
        .b_mag_i,
        .step_i,
        .first_i,
        .dot_o(dot)
      );
    end else begin : gen_cells
      // The two words of the tree are added in the next stage. The tree gives them inverted, and
      // the registers of most libraries output the inverse of their input, so the path has no
      // inverter.
      logic [12:0] sum_d, carry_d, sum_nq, carry_nq, added;
      logic unused_carry;
      ufp4_dot_tree #(.Formats(Formats)) u_tree (
        .a_sign_i(a_rest_i[23:8]),
        .a_mag_i,
        .b_sign_i(b_rest_i[23:8]),
        .b_mag_i,
        .sum_o(sum_d),
        .carry_o(carry_d)
      );
      always_ff @(posedge clk_i) if (!Enabled || step_i) begin
        sum_nq <= ~sum_d;
        carry_nq <= ~carry_d;
      end
      ufp4_ripple #(.Width(13)) u_added (
        .a_i(~sum_nq),
        .b_i(~carry_nq),
        .c_i(1'b0),
        .sum_o(added),
        .carry_o(unused_carry)
      );
      assign dot = signed'(added);
    end
    logic unused_control;
    assign unused_control = keep ^ take;
    ufp4_sum_exact #(.Formats(Formats)) u_sum (
      .clk_i,
      .valid_i,
      .dot_i(dot),
      .a_sig_i(a_rest_o[7:4]),
      .a_exp_i(a_rest_o[3:0]),
      .b_sig_i(b_rest_o[7:4]),
      .b_exp_i(b_rest_o[3:0]),
      .keep_i(base_i[1]),
      .load_i(base_i[0]),
      .loaded_i(drain_data0_o),
      .sum_o(sum)
    );
    assign write = {2{valid & put}} & {bank, ~bank};
    assign index_write = index;
  end

  ufp4_sum_banks #(
    .Width(SumWidth),
    .Depth(Depth),
    .Parity(Parity),
    .Lag(ufp4_pe_pkg::stages(Target, 32'(ufp4_spec_pkg::CONTRACT_EXACT)) - ufp4_pe_pkg::stage_load(Target))
  ) u_banks (
    .clk_i,
    .rst_ni,
    .write_i(write),
    .write_index_i(index_write),
    .sum_i(sum),
    .load_i(load),
    .load_index_i(index_load),
    .write_mark_i(1'b0),
    .load_mark_i(1'b0),
    .drain_i(drain_read_i),
    .drain_index_i,
    .data0_o(drain_data0_o),
    .data1_o(drain_data1_o),
    .parity_o(drain_parity_o)
  );
endmodule
