// SPDX-License-Identifier: Apache-2.0
// Turns the sums of an array row into elements of D, with one lane per column.
//
//   sum = accumulator + earlier sums, if any; INT64_MIN stands for NaN                 (contract exact)
//   sum = accumulator, an FP32 number                                             (contracts fp32, nv)
//   r   = RNE32(sum * 2^exponent), then, each if present and each RNE32:
//         r * tensor scale, r * alpha, r + C
//
// accumulator_i (words of accumulator memories), poisoned_i and the earlier sums arrive with
// valid_i[2]. sum_o is valid with valid_i[DRAIN_SUM_STAGES], and f32_o with the last stage that the
// job needs: DRAIN_STAGES, and ALU_STAGES more per operation (the bits of valid_i are the stages of
// ufp4_drain). A lane has one unit for all operations, so the drain must keep rows apart whose
// operations would meet in that unit, and ALU_STAGES is odd. All registers move with enable_i. With
// the contract nv every NaN becomes 0x7FFFFFFF at the end.
//
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/array. Timed model:
// sim/src/timing/array/drain.
module ufp4_epilogue #(
  parameter int unsigned Cols = 16,
  parameter int unsigned Contract = 32'(ufp4_spec_pkg::CONTRACT_EXACT),
  parameter int unsigned SumWidth = 64,             // width of an accumulator word (ufp4_pe_pkg)
  localparam int unsigned Rounded = ufp4_spec_pkg::DRAIN_STAGES,
  localparam int unsigned Operation = ufp4_spec_pkg::ALU_STAGES,
  localparam int unsigned Top = Rounded - 1 + 3 * Operation
) (
  input  logic                            clk_i,
  // Every unit of the engine reads only some fields of the descriptor.
  // verilator lint_off UNUSEDSIGNAL
  input  ufp4_spec_pkg::gemm_descriptor_t desc_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic signed [17:0]              exponent_i,
  input  logic                            enable_i,
  input  logic [Top:2]                    valid_i,
  input  logic [1:0]                      operations_i,
  input  logic [SumWidth*Cols-1:0]        accumulator_i,
  input  logic [Cols-1:0]                 poisoned_i,
  // The lower and the upper half of the earlier sums; C, valid when an addition takes it.
  input  logic [32*Cols-1:0]              sums_low_i,
  input  logic [32*Cols-1:0]              sums_high_i,
  output logic                            c_read_o,
  input  logic [32*Cols-1:0]              c_i,
  output logic [64*Cols-1:0]              sum_o,
  output logic [32*Cols-1:0]              f32_o
);
  import ufp4_spec_pkg::*;
  localparam logic [63:0] SUM_NAN = {1'b1, 63'd0};
  localparam logic [31:0] F32_NAN = 32'h7FC0_0000;
  localparam logic [31:0] F32_NAN_NV = 32'h7FFF_FFFF;

  logic has_scale, has_c, has_sums;
  assign has_sums = desc_i.d_mode[D_MODE_SUMS_BIT];
  assign has_scale = desc_i.scale == SCALE_NVFP4;
  assign has_c = desc_i.d_mode[D_MODE_C_BIT];

  // Operation i of the up to three of a job begins in this cycle; C is added by the last one.
  logic [2:0] begins, is_add;
  logic [Operation-1:0] operate;
  logic add, again;
  logic [31:0] factor;
  for (genvar i = 0; i < 3; i++) begin : gen_operation
    assign begins[i] = valid_i[Rounded+i*Operation] & (operations_i > 2'(i));
    assign is_add[i] = has_c & (operations_i == 2'(i + 1));
  end
  assign add = |(begins & is_add);
  assign again = |begins[2:1];
  assign factor = (has_scale & ~again) ? desc_i.tensor_scale : desc_i.alpha;
  // operate[n]: a row is in stage n of any operation. C is read a cycle before the first stage.
  assign operate[0] = enable_i & (|begins);
  for (genvar n = 1; n < Operation; n++) begin : gen_operate
    assign operate[n] = enable_i & (valid_i[Rounded+n] | valid_i[Rounded+n+Operation] | valid_i[Rounded+n+2*Operation]);
  end
  logic [2:0] waits;
  for (genvar i = 0; i < 3; i++) begin : gen_before
    assign waits[i] = valid_i[Rounded-1+i*Operation];
  end
  assign c_read_o = enable_i & (|(waits & is_add));

  logic [64*Cols-1:0] sums;
  assign sums = {sums_high_i, sums_low_i};
  if (Contract != 32'(CONTRACT_EXACT)) begin : gen_no_sums
    logic unused_sums;
    assign unused_sums = ^{has_sums, sums};
  end

  logic no_operations;
  assign no_operations = operations_i == 2'd0;
  for (genvar c = 0; c < Cols; c++) begin : gen_lane
    logic [31:0] rounded, result;
    if (Contract == 32'(CONTRACT_EXACT)) begin : gen_exact
      // The first addition works on segments of 16 bits, each with the carry into it if the word
      // has one; ufp4_sum_resolve then adds the carries out of them.
      logic [63:0] earlier, resolved, sum_q;
      logic [66:0] word, word_d, word_q;
      logic [2:0] zero, zero_q;
      logic nan_q;
      assign earlier = has_sums ? sums[64*c+:64] : 64'd0;
      assign word = 67'(accumulator_i[SumWidth*c+:SumWidth]);
      for (genvar i = 0; i < 4; i++) begin : gen_segment
        logic into, unused_into;
        logic [16:0] segment;
        assign into = (i == 0) ? 1'b0 : word[63+i];
        assign {segment, unused_into} = {1'b0, word[16*i+:16], into} + {1'b0, earlier[16*i+:16], into};
        assign word_d[16*i+:16] = segment[15:0];
        if (i != 3) begin : gen_carry
          assign word_d[64+i] = segment[16];
        end else begin : gen_top
          logic unused_carry;
          assign unused_carry = segment[16];
        end
      end
      ufp4_sum_resolve u_sum_resolve (.word_i(word_q), .sum_o(resolved), .zero_o(zero));
      always_ff @(posedge clk_i) begin
        if (enable_i && valid_i[2]) begin
          word_q <= word_d;
          nan_q <= poisoned_i[c] || earlier == SUM_NAN;
        end
        if (enable_i && valid_i[3]) begin
          sum_q <= nan_q ? SUM_NAN : resolved;
          zero_q <= nan_q ? 3'b111 : zero;
        end
      end
      assign sum_o[64*c+:64] = sum_q;

      ufp4_i64_to_f32 u_i64_to_f32 (
        .clk_i,
        .en_i({5{enable_i}} & valid_i[8:4]),
        .exponent_i,
        .sum_i(sum_q),
        .zero_i(zero_q),
        .f32_o(rounded)
      );
    end else begin : gen_fp32
      logic [31:0] number_q, sum_q;
      always_ff @(posedge clk_i) begin
        if (enable_i && valid_i[2]) number_q <= poisoned_i[c] ? F32_NAN : accumulator_i[32*c+:32];
        if (enable_i && valid_i[3]) sum_q <= number_q;
      end
      assign sum_o[64*c+:64] = {32'd0, sum_q};
      ufp4_f32_scale u_f32_scale (
        .clk_i,
        .en_i({5{enable_i}} & valid_i[8:4]),
        .exponent_i,
        .number_i(sum_q),
        .f32_o(rounded)
      );
    end
    ufp4_f32_alu u_f32_alu (
      .clk_i,
      .en_i(operate),
      .add_i(add),
      .a_i(again ? result : rounded),
      .b_i(add ? c_i[32*c+:32] : factor),
      .f32_o(result)
    );
    logic [31:0] last;
    assign last = no_operations ? rounded : result;
    assign f32_o[32*c+:32] = (Contract == 32'(CONTRACT_NV) && last == F32_NAN) ? F32_NAN_NV : last;
  end
endmodule
