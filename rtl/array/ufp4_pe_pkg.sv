// SPDX-License-Identifier: Apache-2.0
// Stages of a processing element, by contract and form: operands enter in stage 1, and the sum can be read from memory
// after the last. ufp4_systolic lets control words travel as far, ufp4_sequencer waits as long before a drain.
// Timed model: sim/src/timing/shape.
package ufp4_pe_pkg;
  import ufp4_spec_pkg::*;

  // The dot product for FPGAs (ufp4_dot_relative) has this many; in the other forms it is there in stage 1.
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

  // How many PEs a side share the registers that pass an operand on (ufp4_systolic).
  function automatic int unsigned share(int unsigned target);
    return (target == 32'(TARGET_ASIC)) ? PE_SHARE_ASIC : 1;
  endfunction

  // Every reset of the core lasts as long, or longer: what PEs check of sums is over then (ufp4_sum_banks).
  localparam int unsigned ResetCycles = RESET_CYCLES;

  // Fewer lanes than a block has elements: where its steps are added up (ufp4_dot_part).
  function automatic bit part_registered(int unsigned target, int unsigned contract);
    return target == 32'(TARGET_FPGA) || (target == 32'(TARGET_ASIC) && contract == 32'(CONTRACT_EXACT));
  endfunction
  function automatic int unsigned stage_part(int unsigned target, int unsigned contract);
    return part_registered(target, contract) ? 2 : 1;
  endfunction

  // The form for cells, contract exact, 16 lanes: registers of stage 1 have an enable, which flows that make clock gates want
  // (./ufp4 ppa --gated), and others would pay gates for. Bits and cycles are the same.
`ifdef UFP4_CLOCK_ENABLES
  localparam bit ClockEnables = 1'b1;
`else
  localparam bit ClockEnables = 1'b0;
`endif

  // Contract exact: bits of a word in an accumulator memory, where the form for cells keeps carries of its own.
  function automatic int unsigned sum_width(int unsigned target);
    return (target == 32'(TARGET_ASIC)) ? 67 : 64;
  endfunction
  // With any contract a word in an accumulator memory has so many bits.
  function automatic int unsigned word_width(int unsigned target, int unsigned contract);
    return (contract == 32'(CONTRACT_EXACT)) ? sum_width(target) : 32;
  endfunction

  // Contract exact: where valid is wanted, where the sum to be loaded is read, and where the control of the sum enters.
  localparam int unsigned StageValid = 2;
  function automatic int unsigned stage_load(int unsigned target);
    return (target == 32'(TARGET_FPGA)) ? DotStages + PE_LOAD_STAGE_FPGA : PE_LOAD_STAGE;
  endfunction
  function automatic int unsigned stage_sum(int unsigned target);
    return (target == 32'(TARGET_FPGA)) ? DotStages + 6 : stages(target, 32'(CONTRACT_EXACT));
  endfunction
endpackage
