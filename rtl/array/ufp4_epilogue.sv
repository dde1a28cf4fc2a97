// SPDX-License-Identifier: Apache-2.0
// From the sums of an array row to the elements of D, a lane for each column.
//
//   sum = accumulator + earlier sums, where there are some;  INT64_MIN stands for NaN     (contract exact)
//   sum = accumulator, an FP32 number in the lower 32 bits                                  (contracts fp32, nv)
//   r   = RNE32(sum * 2^exponent);  then as far as present, one RNE32 each:  r * tensor scale,  r * alpha,  r + C
//
// accumulator_i, poisoned_i and the earlier sums come with valid_i[2]; sum_o goes with valid_i[3], f32_o with the last
// stage the job needs: 5 and Operation more for each (ufp4_drain says which rows these bits are). A lane has one
// unit for the last three operations: rows whose operations would meet in it must not be that close. enable_i moves all.
// Contract nv: every NaN is 0x7FFFFFFF at the end.
// Golden: ufp4_gemm; docs/reference/numerics.md, 5; tests/rtl/array. Timed model: sim/src/timing/array/drain.
module ufp4_epilogue #(
  parameter int unsigned Cols = 16,
  parameter int unsigned Contract = 32'(ufp4_spec_pkg::CONTRACT_EXACT),
  parameter int unsigned AluExtra = 0,              // stages, as of ufp4_f32_alu
  // Stages of an operation, an odd number (ufp4_drain).
  localparam int unsigned Operation = ufp4_spec_pkg::ALU_STAGES + AluExtra
) (
  input  logic                            clk_i,
  // Each part of the engine uses its own fields of the descriptor.
  // verilator lint_off UNUSEDSIGNAL
  input  ufp4_spec_pkg::gemm_descriptor_t desc_i,
  // verilator lint_on UNUSEDSIGNAL
  input  logic signed [17:0]              exponent_i,
  input  logic                            enable_i,
  input  logic [4+3*Operation:2]          valid_i,
  input  logic [1:0]                      operations_i,
  input  logic [64*Cols-1:0]              accumulator_i,
  input  logic [Cols-1:0]                 poisoned_i,
  // The lower and the upper half of the earlier sums, and C, when an addition takes them.
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

  // Which operation begins in this cycle, of which a job has up to three; C's is the last.
  logic [2:0] begins, is_add;
  logic [AluExtra:0] prepare;
  logic add, normalize, round, again;
  logic [31:0] factor;
  for (genvar i = 0; i < 3; i++) begin : gen_operation
    assign begins[i] = valid_i[5+i*Operation] & (operations_i > 2'(i));
    assign is_add[i] = has_c & (operations_i == 2'(i + 1));
  end
  assign add = |(begins & is_add);
  assign again = |begins[2:1];
  assign factor = (has_scale & ~again) ? desc_i.tensor_scale : desc_i.alpha;
  // A row in stage n of an operation, from 0 on, whichever it is; C is read a cycle before the first.
  function automatic logic any_in(logic [4+3*Operation:2] valid, int unsigned n);
    return valid[5+n] | valid[5+n+Operation] | valid[5+n+2*Operation];
  endfunction
  assign prepare[0] = enable_i & (|begins);
  for (genvar n = 1; n <= AluExtra; n++) begin : gen_prepare
    assign prepare[n] = enable_i & any_in(valid_i, n);
  end
  assign normalize = enable_i & any_in(valid_i, Operation - 2);
  assign round = enable_i & any_in(valid_i, Operation - 1);
  assign c_read_o = enable_i & (|({valid_i[4+2*Operation], valid_i[4+Operation], valid_i[4]} & is_add));

  logic [64*Cols-1:0] sums;
  assign sums = {sums_high_i, sums_low_i};
  if (Contract != 32'(CONTRACT_EXACT)) begin : gen_no_sums
    logic unused_sums;
    assign unused_sums = ^{has_sums, sums, accumulator_i};
  end

  logic no_operations;
  assign no_operations = operations_i == 2'd0;
  for (genvar c = 0; c < Cols; c++) begin : gen_lane
    logic [31:0] rounded, result;
    if (Contract == 32'(CONTRACT_EXACT)) begin : gen_exact
      logic [63:0] earlier, sum_q;
      assign earlier = has_sums ? sums[64*c+:64] : 64'd0;
      always_ff @(posedge clk_i) begin
        if (enable_i && valid_i[2]) begin
          sum_q <= (poisoned_i[c] || earlier == SUM_NAN) ? SUM_NAN : accumulator_i[64*c+:64] + earlier;
        end
      end
      assign sum_o[64*c+:64] = sum_q;

      ufp4_i64_to_f32 u_i64_to_f32 (
        .clk_i,
        .exponent_i,
        .normalize_i(enable_i & valid_i[3]),
        .sum_i(sum_q),
        .round_i(enable_i & valid_i[4]),
        .f32_o(rounded)
      );
    end else begin : gen_fp32
      logic [31:0] sum_q;
      always_ff @(posedge clk_i) begin
        if (enable_i && valid_i[2]) sum_q <= poisoned_i[c] ? F32_NAN : accumulator_i[64*c+:32];
      end
      assign sum_o[64*c+:64] = {32'd0, sum_q};
      ufp4_f32_scale u_f32_scale (
        .clk_i,
        .exponent_i,
        .normalize_i(enable_i & valid_i[3]),
        .number_i(sum_q),
        .round_i(enable_i & valid_i[4]),
        .f32_o(rounded)
      );
    end
    ufp4_f32_alu #(.Extra(AluExtra)) u_f32_alu (
      .clk_i,
      .add_i(add),
      .prepare_i(prepare),
      .a_i(again ? result : rounded),
      .b_i(add ? c_i[32*c+:32] : factor),
      .normalize_i(normalize),
      .round_i(round),
      .f32_o(result)
    );
    logic [31:0] last;
    assign last = no_operations ? rounded : result;
    assign f32_o[32*c+:32] = (Contract == 32'(CONTRACT_NV) && last == F32_NAN) ? F32_NAN_NV : last;
  end
endmodule
