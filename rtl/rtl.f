// The one ordered list of synthesizable files; paths are relative to this file (read with -F).
// Packages
gen/ufp4_spec_pkg.sv
array/ufp4_pe_pkg.sv
// Arithmetic
num/ufp4_elem_decode.sv
num/ufp4_scale_decode.sv
num/ufp4_scale_number.sv
num/ufp4_scale_split.sv
num/ufp4_full_adder.sv
num/ufp4_carry_save.sv
num/ufp4_ripple.sv
num/ufp4_dot_tree.sv
num/ufp4_dot.sv
num/ufp4_dot_part.sv
num/ufp4_dot_planes.sv
num/ufp4_dot_relative.sv
num/ufp4_delay.sv
num/ufp4_f32_round.sv
num/ufp4_i64_to_f32.sv
num/ufp4_f32_scale.sv
num/ufp4_f32_alu.sv
num/ufp4_threefry.sv
num/ufp4_max16.sv
num/ufp4_rht.sv
num/ufp4_e4m3_scale.sv
num/ufp4_e8m0_scale.sv
num/ufp4_divide_round.sv
// Memory: FIFO, SRAM wrapper, AXI masters
mem/ufp4_fifo.sv
mem/ufp4_sram.sv
mem/ufp4_sram_checked.sv
mem/ufp4_skid.sv
mem/ufp4_arbiter.sv
mem/ufp4_axi_burst.sv
mem/ufp4_axi_read.sv
mem/ufp4_width_read.sv
mem/ufp4_width_write.sv
mem/ufp4_axi_write.sv
// GEMM engine
array/ufp4_sum_exact.sv
array/ufp4_sum_chains.sv
array/ufp4_sum_resolve.sv
array/ufp4_sum_banks.sv
array/ufp4_pe.sv
array/ufp4_pe_dot.sv
array/ufp4_sum_fp32.sv
array/ufp4_pe_fp32.sv
array/ufp4_sum_nv.sv
array/ufp4_pe_nv.sv
array/ufp4_lane.sv
array/ufp4_array.sv
array/ufp4_tile_walk.sv
array/ufp4_load_request.sv
array/ufp4_load_write.sv
array/ufp4_sequencer.sv
array/ufp4_addend.sv
array/ufp4_epilogue.sv
array/ufp4_drain.sv
array/ufp4_gemm.sv
// QUANT engine
quant/ufp4_quant_walk.sv
quant/ufp4_quant_load.sv
quant/ufp4_quant_strip.sv
quant/ufp4_quant_transpose.sv
quant/ufp4_quant_index.sv
quant/ufp4_quant_block.sv
quant/ufp4_quant_amax.sv
quant/ufp4_quant_copy.sv
quant/ufp4_quant_write.sv
quant/ufp4_quant_progress.sv
quant/ufp4_quant.sv
// Host: registers, command unit
host/ufp4_axil.sv
host/ufp4_slots.sv
host/ufp4_counters.sv
host/ufp4_registers.sv
host/ufp4_check.sv
host/ufp4_regions.sv
host/ufp4_guard.sv
host/ufp4_front.sv
host/ufp4_issue.sv
host/ufp4_retire.sv
host/ufp4_command.sv
// Top
ufp4_top.sv
