// SPDX-License-Identifier: Apache-2.0
// Stages of a processing element, by contract and form. Operands enter in stage 1, and the sum can
// be read from memory after the last stage. ufp4_systolic delays control words by these numbers,
// and ufp4_sequencer waits for them before a drain. Timed model: sim/src/timing/shape.
package ufp4_pe_pkg;
  import ufp4_spec_pkg::*;

  // Stages of the dot product for FPGAs (ufp4_dot_relative). The other forms have no stages for it
  // alone: stage 1 computes it, in the form for cells of the contract exact all but its last
  // addition.
  localparam int unsigned DotStages = DOT_STAGES_FPGA;
  function automatic int unsigned dot_stages(int unsigned target);
    return (target == 32'(TARGET_FPGA)) ? DotStages : 0;
  endfunction

  function automatic int unsigned stages(int unsigned target, int unsigned contract);
    if (contract == 32'(CONTRACT_NV)) return dot_stages(target) + PE_STAGES_NV;
    if (contract == 32'(CONTRACT_FP32)) return dot_stages(target) + PE_STAGES_FP32;
    if (target == 32'(TARGET_FPGA)) return DotStages + PE_STAGES_FPGA;
    return (target == 32'(TARGET_ASIC)) ? PE_STAGES_ASIC : PE_STAGES_SIMULATOR;
  endfunction

  // The number of PEs per side that share the registers that pass an operand on (ufp4_systolic).
  function automatic int unsigned share(int unsigned target);
    return (target == 32'(TARGET_ASIC)) ? PE_SHARE_ASIC : 1;
  endfunction

  // Every reset of the core lasts at least this long, so that the parity checks of sums in the PEs
  // have ended (ufp4_sum_banks).
  localparam int unsigned ResetCycles = RESET_CYCLES;

  // With fewer than 16 Lanes: whether the adder of the steps has a register in front
  // (ufp4_dot_part), and its stage.
  function automatic bit part_registered(int unsigned target, int unsigned contract);
    return target == 32'(TARGET_FPGA) || (target == 32'(TARGET_ASIC) && contract == 32'(CONTRACT_EXACT));
  endfunction
  function automatic int unsigned stage_part(int unsigned target, int unsigned contract);
    return part_registered(target, contract) ? 2 : 1;
  endfunction

  // Form for cells, contract exact, 16 Lanes: gives the registers of stage 1 an enable, for flows
  // that insert clock gates (./ufp4 ppa --gated). Other flows would pay gates for the enable. Bits
  // and cycles do not change.
`ifdef UFP4_CLOCK_ENABLES
  localparam bit ClockEnables = 1'b1;
`else
  localparam bit ClockEnables = 1'b0;
`endif

  // Contract exact: width of an accumulator word. The form for cells keeps carries of its own in
  // it.
  function automatic int unsigned sum_width(int unsigned target);
    return (target == 32'(TARGET_ASIC)) ? 67 : 64;
  endfunction
  // Width of an accumulator word with any contract.
  function automatic int unsigned word_width(int unsigned target, int unsigned contract);
    return (contract == 32'(CONTRACT_EXACT)) ? sum_width(target) : 32;
  endfunction

  // Contract exact: the stages of valid_i, of the memory read, and of control_sum_i of ufp4_pe.
  localparam int unsigned StageValid = 2;
  function automatic int unsigned stage_load(int unsigned target);
    return (target == 32'(TARGET_FPGA)) ? DotStages + PE_LOAD_STAGE_FPGA : PE_LOAD_STAGE;
  endfunction
  function automatic int unsigned stage_sum(int unsigned target);
    return (target == 32'(TARGET_FPGA)) ? DotStages + 6 : stages(target, 32'(CONTRACT_EXACT));
  endfunction
endpackage
