// The one ordered list of synthesizable files; paths are relative to this file (read with -F).
// Packages
gen/ufp4_spec_pkg.sv
// Arithmetic
// Memory: FIFO, SRAM wrapper, AXI masters
// GEMM engine
// QUANT engine
// Host: registers, command unit
// Top
