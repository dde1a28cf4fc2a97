# SPDX-License-Identifier: Apache-2.0
# Constraints of ufp4_top: one clock; the AXI ports start or end in flip-flops (but s_axil_araddr_i), so a third of the
# period is left for the logic outside.
# Set ufp4_period before sourcing it, in the units of the library (default 1.0: 1 GHz in ns).
if {![info exists ufp4_period]} { set ufp4_period 1.0 }
create_clock -name clk -period $ufp4_period [get_ports clk_i]
set_clock_uncertainty [expr {0.05 * $ufp4_period}] [get_clocks clk]
set ufp4_bus_inputs [get_ports {s_axil_*_i m_axi_*_i}]
set_input_delay [expr {0.33 * $ufp4_period}] -clock clk $ufp4_bus_inputs
set_output_delay [expr {0.33 * $ufp4_period}] -clock clk [get_ports {s_axil_*_o m_axi_*_o irq_o}]
# Reset is synchronous: constrained like any input, to be registered and fanned out by the integrator.
set_input_delay [expr {0.33 * $ufp4_period}] -clock clk [get_ports rst_ni]
