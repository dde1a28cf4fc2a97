// The example testbench, behind rtl.f: docs/howto/integrate-rtl.md.
// SPDX-License-Identifier: Apache-2.0
ufp4_example_pkg.sv
ufp4_example_memory.sv
ufp4_example_tb.sv
