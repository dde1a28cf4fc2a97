// SPDX-License-Identifier: Apache-2.0
// Cover points: events that the tests should reach at least once, bound to the core where coverage
// is counted. The name of each tells the event; tests/rtl/coverage/run.py lists those that no test
// reached. None is in a generate loop, because all its instances would be counted together.

`define POINT(name, condition) name: cover property (@(posedge clk_i) disable iff (!rst_ni) condition);

// Both engines of the command unit.
module cover_issue
  import ufp4_spec_pkg::*;
(
  input logic        clk_i,
  input logic        rst_ni,
  input logic        start_valid_o,
  input logic        start_ready_i,
  input logic        other_running_i,
  input logic [1:0]  panels_held_o,
  input logic        job_valid_i,
  input logic        job_ready_o,
  input logic        finish_o,
  input logic [15:0] finish_status_o,
  input logic [2:0]  finish_flags_o
);
  logic starts;
  assign starts = start_valid_o && start_ready_i;

  `POINT(start_alone, starts && !other_running_i)
  `POINT(start_beside_the_other_engine, starts && other_running_i)
  `POINT(start_with_a_held, starts && panels_held_o == 2'b01)
  `POINT(start_with_b_held, starts && panels_held_o == 2'b10)
  `POINT(start_with_both_held, starts && panels_held_o == 2'b11)
  `POINT(job_waits, job_valid_i && !job_ready_o)
  `POINT(ends_well, finish_o && finish_status_o == CORE_STATUS_OK)
  `POINT(ends_with_a_read_error, finish_o && finish_status_o == CORE_STATUS_READ_ERROR)
  `POINT(ends_with_a_write_error, finish_o && finish_status_o == CORE_STATUS_WRITE_ERROR)
  `POINT(ends_with_a_memory_error, finish_o && finish_status_o == CORE_STATUS_MEMORY_ERROR)
  `POINT(flag_nan, finish_o && finish_flags_o[0])
  `POINT(flag_row_saturated, finish_o && finish_flags_o[1])
  `POINT(flag_col_saturated, finish_o && finish_flags_o[2])
endmodule

// Jobs that never reach an engine, and the order of completions.
module cover_retire
  import ufp4_spec_pkg::*;
(
  input logic             clk_i,
  input logic             rst_ni,
  input logic             enter_i,
  input logic             enter_irq_i,
  input logic             enter_done_i,
  input logic [3:0]       enter_tag_i,
  input logic [15:0]      enter_status_i,
  input logic [1:0]       finish_i,
  input logic [1:0][3:0]  finish_tag_i,
  input logic [31:0]      head_o,
  input logic             retire_o,
  input logic             irq_done_o,
  input logic             irq_error_o
);
  logic refused;
  assign refused = enter_i && enter_done_i;

  `POINT(refused_bad_opcode, refused && enter_status_i == CORE_STATUS_BAD_OPCODE)
  `POINT(refused_bad_size, refused && enter_status_i == CORE_STATUS_BAD_SIZE)
  `POINT(refused_misaligned, refused && enter_status_i == CORE_STATUS_MISALIGNED)
  `POINT(refused_bad_address, refused && enter_status_i == CORE_STATUS_BAD_ADDRESS)
  `POINT(refused_unsupported, refused && enter_status_i == CORE_STATUS_UNSUPPORTED)
  `POINT(refused_bad_slot, refused && enter_status_i == CORE_STATUS_BAD_SLOT)
  `POINT(fence, refused && enter_status_i == CORE_STATUS_OK)
  `POINT(both_engines_end_at_once, &finish_i)
  `POINT(ends_out_of_order, finish_i[0] && finish_tag_i[0] != head_o[3:0])
  `POINT(full, enter_i && 4'(enter_tag_i + 4'd1) == head_o[3:0])
  `POINT(with_interrupt, enter_i && enter_irq_i)
  `POINT(retires_while_another_enters, enter_i && retire_o)
  `POINT(interrupts_for_a_job, irq_done_o)
  `POINT(interrupts_for_an_error, irq_error_o)
endmodule

module cover_gemm
  import ufp4_spec_pkg::*;
#(
  parameter int unsigned Contract = 32'(CONTRACT_EXACT)
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             start_valid_i,
  input logic             start_ready_o,
  input gemm_descriptor_t desc_i,
  input logic             busy_o,
  input logic             stall_operand_o,
  input logic             stall_panel_o,
  input logic             stall_accumulator_o,
  input logic             stall_drain_o
);
  logic starts;
  assign starts = start_valid_i && start_ready_o;

  `POINT(e2m1_times_e2m1, starts && desc_i.a_elem == ELEM_E2M1 && desc_i.b_elem == ELEM_E2M1)
  `POINT(e2m1_times_e1m2, starts && desc_i.a_elem == ELEM_E2M1 && desc_i.b_elem == ELEM_E1M2)
  `POINT(e2m1_times_int4, starts && desc_i.a_elem == ELEM_E2M1 && desc_i.b_elem == ELEM_INT4)
  `POINT(e1m2_times_e2m1, starts && desc_i.a_elem == ELEM_E1M2 && desc_i.b_elem == ELEM_E2M1)
  `POINT(e1m2_times_e1m2, starts && desc_i.a_elem == ELEM_E1M2 && desc_i.b_elem == ELEM_E1M2)
  `POINT(e1m2_times_int4, starts && desc_i.a_elem == ELEM_E1M2 && desc_i.b_elem == ELEM_INT4)
  `POINT(int4_times_e2m1, starts && desc_i.a_elem == ELEM_INT4 && desc_i.b_elem == ELEM_E2M1)
  `POINT(int4_times_e1m2, starts && desc_i.a_elem == ELEM_INT4 && desc_i.b_elem == ELEM_E1M2)
  `POINT(int4_times_int4, starts && desc_i.a_elem == ELEM_INT4 && desc_i.b_elem == ELEM_INT4)

  logic exact, fp32, nv;
  assign exact = Contract == 32'(CONTRACT_EXACT);
  assign fp32 = Contract == 32'(CONTRACT_FP32);
  assign nv = Contract == 32'(CONTRACT_NV);

  `POINT(exact_e4m3, starts && exact && desc_i.scale == SCALE_E4M3)
  `POINT(exact_nvfp4, starts && exact && desc_i.scale == SCALE_NVFP4)
  `POINT(fp32_e4m3, starts && fp32 && desc_i.scale == SCALE_E4M3)
  `POINT(fp32_nvfp4, starts && fp32 && desc_i.scale == SCALE_NVFP4)
  `POINT(fp32_e8m0, starts && fp32 && desc_i.scale == SCALE_E8M0)
  `POINT(nv_e4m3, starts && nv && desc_i.scale == SCALE_E4M3)
  `POINT(nv_nvfp4, starts && nv && desc_i.scale == SCALE_NVFP4)
  `POINT(nv_e8m0, starts && nv && desc_i.scale == SCALE_E8M0)
  `POINT(nvfp4_with_a_tensor_scale, starts && desc_i.scale == SCALE_NVFP4 && desc_i.tensor_scale != 32'h3F80_0000)

  // Combinations of earlier sums, alpha and C; a job that writes unrounded sums has neither alpha
  // nor C.
  `POINT(f32_plain, starts && desc_i.d_dtype == DTYPE_F32 && desc_i.d_mode[2:0] == 3'd0)
  `POINT(f32_sums, starts && desc_i.d_dtype == DTYPE_F32 && desc_i.d_mode[2:0] == 3'd1)
  `POINT(f32_alpha, starts && desc_i.d_dtype == DTYPE_F32 && desc_i.d_mode[2:0] == 3'd2)
  `POINT(f32_alpha_sums, starts && desc_i.d_dtype == DTYPE_F32 && desc_i.d_mode[2:0] == 3'd3)
  `POINT(f32_c, starts && desc_i.d_dtype == DTYPE_F32 && desc_i.d_mode[2:0] == 3'd4)
  `POINT(f32_c_sums, starts && desc_i.d_dtype == DTYPE_F32 && desc_i.d_mode[2:0] == 3'd5)
  `POINT(f32_c_alpha, starts && desc_i.d_dtype == DTYPE_F32 && desc_i.d_mode[2:0] == 3'd6)
  `POINT(f32_c_alpha_sums, starts && desc_i.d_dtype == DTYPE_F32 && desc_i.d_mode[2:0] == 3'd7)
  `POINT(bf16_plain, starts && desc_i.d_dtype == DTYPE_BF16 && desc_i.d_mode[2:0] == 3'd0)
  `POINT(bf16_sums, starts && desc_i.d_dtype == DTYPE_BF16 && desc_i.d_mode[2:0] == 3'd1)
  `POINT(bf16_alpha, starts && desc_i.d_dtype == DTYPE_BF16 && desc_i.d_mode[2:0] == 3'd2)
  `POINT(bf16_alpha_sums, starts && desc_i.d_dtype == DTYPE_BF16 && desc_i.d_mode[2:0] == 3'd3)
  `POINT(bf16_c, starts && desc_i.d_dtype == DTYPE_BF16 && desc_i.d_mode[2:0] == 3'd4)
  `POINT(bf16_c_sums, starts && desc_i.d_dtype == DTYPE_BF16 && desc_i.d_mode[2:0] == 3'd5)
  `POINT(bf16_c_alpha, starts && desc_i.d_dtype == DTYPE_BF16 && desc_i.d_mode[2:0] == 3'd6)
  `POINT(bf16_c_alpha_sums, starts && desc_i.d_dtype == DTYPE_BF16 && desc_i.d_mode[2:0] == 3'd7)
  `POINT(i64_plain, starts && desc_i.d_dtype == DTYPE_I64 && desc_i.d_mode[2:0] == 3'd0)
  `POINT(i64_sums, starts && desc_i.d_dtype == DTYPE_I64 && desc_i.d_mode[2:0] == 3'd1)

  `POINT(one_output, starts && desc_i.m == 32'd1 && desc_i.n == 32'd1)
  `POINT(one_k, starts && desc_i.k == 32'd1)
  `POINT(ragged_k, starts && desc_i.k[3:0] != 4'd0 && desc_i.k > 32'd16)
  `POINT(operand_comes_late, stall_operand_o)
  `POINT(panel_comes_late, stall_panel_o)
  `POINT(accumulators_are_full, stall_accumulator_o)
  `POINT(drain_alone, stall_drain_o && !busy_o)
endmodule

module cover_quant
  import ufp4_spec_pkg::*;
(
  input logic              clk_i,
  input logic              rst_ni,
  input logic              start_valid_i,
  input logic              start_ready_o,
  input quant_descriptor_t desc_i
);
  logic starts;
  assign starts = start_valid_i && start_ready_o;

  logic amax, row, col;
  assign amax = desc_i.opcode == OPCODE_AMAX;
  assign row = desc_i.row_mode[MODE_ENABLE_BIT];
  assign col = desc_i.col_mode[MODE_ENABLE_BIT];

  `POINT(amax_f32_row, starts && amax && desc_i.src_dtype == DTYPE_F32 && row && !col)
  `POINT(amax_f32_col, starts && amax && desc_i.src_dtype == DTYPE_F32 && !row && col)
  `POINT(amax_f32_both, starts && amax && desc_i.src_dtype == DTYPE_F32 && row && col)
  `POINT(amax_bf16_row, starts && amax && desc_i.src_dtype == DTYPE_BF16 && row && !col)
  `POINT(amax_bf16_col, starts && amax && desc_i.src_dtype == DTYPE_BF16 && !row && col)
  `POINT(amax_bf16_both, starts && amax && desc_i.src_dtype == DTYPE_BF16 && row && col)
  `POINT(quant_f32_row, starts && !amax && desc_i.src_dtype == DTYPE_F32 && row && !col)
  `POINT(quant_f32_col, starts && !amax && desc_i.src_dtype == DTYPE_F32 && !row && col)
  `POINT(quant_f32_both, starts && !amax && desc_i.src_dtype == DTYPE_F32 && row && col)
  `POINT(quant_bf16_row, starts && !amax && desc_i.src_dtype == DTYPE_BF16 && row && !col)
  `POINT(quant_bf16_col, starts && !amax && desc_i.src_dtype == DTYPE_BF16 && !row && col)
  `POINT(quant_bf16_both, starts && !amax && desc_i.src_dtype == DTYPE_BF16 && row && col)
  `POINT(e4m3_row, starts && !amax && desc_i.scale == SCALE_E4M3 && row && !col)
  `POINT(e4m3_col, starts && !amax && desc_i.scale == SCALE_E4M3 && !row && col)
  `POINT(e4m3_both, starts && !amax && desc_i.scale == SCALE_E4M3 && row && col)
  `POINT(e8m0_row, starts && !amax && desc_i.scale == SCALE_E8M0 && row && !col)
  `POINT(e8m0_col, starts && !amax && desc_i.scale == SCALE_E8M0 && !row && col)
  `POINT(e8m0_both, starts && !amax && desc_i.scale == SCALE_E8M0 && row && col)
  `POINT(one_number, starts && desc_i.rows == 32'd1 && desc_i.cols == 32'd1)
  `POINT(ragged_rows, starts && desc_i.rows[3:0] != 4'd0)
  `POINT(ragged_cols, starts && desc_i.cols[3:0] != 4'd0)
endmodule

module cover_quant_block
  import ufp4_spec_pkg::*;
(
  input logic       clk_i,
  input logic       rst_ni,
  input ufp4_quant_pkg::job_t job_i,
  input logic       in_valid_i,
  input logic       in_ready_o,
  input logic       out_valid_o,
  input logic       out_ready_i,
  input logic [7:0] out_scale_o,
  input logic       out_nan_o,
  input logic       out_saturated_o
);
  logic leaves;
  logic [2:0] how;
  assign leaves = out_valid_o && out_ready_i;
  assign how = {job_i.rht, job_i.sr, job_i.scale_up};

  `POINT(e2m1_plain, leaves && !job_i.e8m0 && job_i.elem == ELEM_E2M1 && how == 3'd0)
  `POINT(e2m1_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_E2M1 && how == 3'd1)
  `POINT(e2m1_sr, leaves && !job_i.e8m0 && job_i.elem == ELEM_E2M1 && how == 3'd2)
  `POINT(e2m1_sr_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_E2M1 && how == 3'd3)
  `POINT(e2m1_rht, leaves && !job_i.e8m0 && job_i.elem == ELEM_E2M1 && how == 3'd4)
  `POINT(e2m1_rht_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_E2M1 && how == 3'd5)
  `POINT(e2m1_rht_sr, leaves && !job_i.e8m0 && job_i.elem == ELEM_E2M1 && how == 3'd6)
  `POINT(e2m1_rht_sr_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_E2M1 && how == 3'd7)
  `POINT(e1m2_plain, leaves && !job_i.e8m0 && job_i.elem == ELEM_E1M2 && how == 3'd0)
  `POINT(e1m2_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_E1M2 && how == 3'd1)
  `POINT(e1m2_sr, leaves && !job_i.e8m0 && job_i.elem == ELEM_E1M2 && how == 3'd2)
  `POINT(e1m2_sr_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_E1M2 && how == 3'd3)
  `POINT(e1m2_rht, leaves && !job_i.e8m0 && job_i.elem == ELEM_E1M2 && how == 3'd4)
  `POINT(e1m2_rht_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_E1M2 && how == 3'd5)
  `POINT(e1m2_rht_sr, leaves && !job_i.e8m0 && job_i.elem == ELEM_E1M2 && how == 3'd6)
  `POINT(e1m2_rht_sr_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_E1M2 && how == 3'd7)
  `POINT(int4_plain, leaves && !job_i.e8m0 && job_i.elem == ELEM_INT4 && how == 3'd0)
  `POINT(int4_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_INT4 && how == 3'd1)
  `POINT(int4_sr, leaves && !job_i.e8m0 && job_i.elem == ELEM_INT4 && how == 3'd2)
  `POINT(int4_sr_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_INT4 && how == 3'd3)
  `POINT(int4_rht, leaves && !job_i.e8m0 && job_i.elem == ELEM_INT4 && how == 3'd4)
  `POINT(int4_rht_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_INT4 && how == 3'd5)
  `POINT(int4_rht_sr, leaves && !job_i.e8m0 && job_i.elem == ELEM_INT4 && how == 3'd6)
  `POINT(int4_rht_sr_up, leaves && !job_i.e8m0 && job_i.elem == ELEM_INT4 && how == 3'd7)
  `POINT(e8m0_e2m1_down, leaves && job_i.e8m0 && job_i.elem == ELEM_E2M1 && {job_i.sr, job_i.scale_up} == 2'd0)
  `POINT(e8m0_e2m1_up, leaves && job_i.e8m0 && job_i.elem == ELEM_E2M1 && {job_i.sr, job_i.scale_up} == 2'd1)
  `POINT(e8m0_e2m1_sr_down, leaves && job_i.e8m0 && job_i.elem == ELEM_E2M1 && {job_i.sr, job_i.scale_up} == 2'd2)
  `POINT(e8m0_e2m1_sr_up, leaves && job_i.e8m0 && job_i.elem == ELEM_E2M1 && {job_i.sr, job_i.scale_up} == 2'd3)
  `POINT(e8m0_e1m2_down, leaves && job_i.e8m0 && job_i.elem == ELEM_E1M2 && {job_i.sr, job_i.scale_up} == 2'd0)
  `POINT(e8m0_e1m2_up, leaves && job_i.e8m0 && job_i.elem == ELEM_E1M2 && {job_i.sr, job_i.scale_up} == 2'd1)
  `POINT(e8m0_e1m2_sr_down, leaves && job_i.e8m0 && job_i.elem == ELEM_E1M2 && {job_i.sr, job_i.scale_up} == 2'd2)
  `POINT(e8m0_e1m2_sr_up, leaves && job_i.e8m0 && job_i.elem == ELEM_E1M2 && {job_i.sr, job_i.scale_up} == 2'd3)
  `POINT(e8m0_int4_down, leaves && job_i.e8m0 && job_i.elem == ELEM_INT4 && {job_i.sr, job_i.scale_up} == 2'd0)
  `POINT(e8m0_int4_up, leaves && job_i.e8m0 && job_i.elem == ELEM_INT4 && {job_i.sr, job_i.scale_up} == 2'd1)
  `POINT(e8m0_int4_sr_down, leaves && job_i.e8m0 && job_i.elem == ELEM_INT4 && {job_i.sr, job_i.scale_up} == 2'd2)
  `POINT(e8m0_int4_sr_up, leaves && job_i.e8m0 && job_i.elem == ELEM_INT4 && {job_i.sr, job_i.scale_up} == 2'd3)
  `POINT(zero_scale, leaves && !job_i.e8m0 && out_scale_o == 8'd0)
  `POINT(subnormal_scale, leaves && !job_i.e8m0 && out_scale_o[7:3] == 5'd0 && out_scale_o[2:0] != 3'd0)
  `POINT(largest_scale, leaves && !job_i.e8m0 && out_scale_o == 8'h7E)
  `POINT(nan_block, leaves && out_nan_o)
  `POINT(saturated_block, leaves && out_saturated_o)
  `POINT(output_waits, out_valid_o && !out_ready_i)
  `POINT(input_waits, in_valid_i && !in_ready_o)
endmodule

module cover_axi_read (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       halt_i,
  input logic       pending_o,
  input logic       arvalid_o,
  input logic       arready_i,
  input logic [7:0] arlen_o,
  input logic       rvalid_i,
  input logic       rready_o,
  input logic [1:0] rresp_i,
  input logic       rlast_i
);
  `POINT(address_waits, arvalid_o && !arready_i)
  `POINT(one_beat, arvalid_o && arready_i && arlen_o == 8'd0)
  `POINT(many_beats, arvalid_o && arready_i && arlen_o > 8'd7)
  `POINT(read_data_wait, rvalid_i && !rready_o)
  `POINT(slave_error, rvalid_i && rready_o && rresp_i == 2'b10)
  `POINT(decode_error, rvalid_i && rready_o && rresp_i == 2'b11)
  `POINT(error_inside_a_burst, rvalid_i && rready_o && rresp_i[1] && !rlast_i)
  `POINT(halted_with_bursts_under_way, halt_i && pending_o)
endmodule

module cover_axi_write (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       halt_i,
  input logic       pending_o,
  input logic       beats_due_o,
  input logic       awvalid_o,
  input logic       awready_i,
  input logic [7:0] awlen_o,
  input logic       wvalid_o,
  input logic       wready_i,
  input logic       wlast_o,
  input logic       bvalid_i,
  input logic [1:0] bresp_i
);
  logic address_taken, beat_taken;
  assign address_taken = awvalid_o && awready_i;
  assign beat_taken    = wvalid_o && wready_i;

  // Addresses taken minus bursts whose last beat has passed. If there is none, the beat belongs to
  // a burst whose address was not taken.
  logic signed [5:0] ahead_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) ahead_q <= '0;
    else if (address_taken && !(beat_taken && wlast_o)) ahead_q <= ahead_q + 6'sd1;
    else if (!address_taken && beat_taken && wlast_o) ahead_q <= ahead_q - 6'sd1;
  end

  `POINT(address_waits, awvalid_o && !awready_i)
  `POINT(data_wait, wvalid_o && !wready_i)
  `POINT(data_before_address, beat_taken && !address_taken && ahead_q <= 6'sd0)
  `POINT(one_beat, awvalid_o && awready_i && awlen_o == 8'd0)
  `POINT(many_beats, awvalid_o && awready_i && awlen_o > 8'd7)
  `POINT(slave_error, bvalid_i && bresp_i == 2'b10)
  `POINT(decode_error, bvalid_i && bresp_i == 2'b11)
  `POINT(halted_with_bursts_under_way, halt_i && pending_o)
  `POINT(halted_with_beats_due, halt_i && beats_due_o)
endmodule

bind ufp4_issue cover_issue u_cover (.*);
bind ufp4_retire cover_retire u_cover (.*);
bind ufp4_gemm cover_gemm #(.Contract(Contract)) u_cover (.*);
bind ufp4_quant cover_quant u_cover (.*);
bind ufp4_quant_block cover_quant_block u_cover (.*);
bind ufp4_axi_read cover_axi_read u_cover (.*);
bind ufp4_axi_write cover_axi_write u_cover (.*);
