# SPDX-License-Identifier: Apache-2.0
# Makes the KV260's bitstream in Vivado: the processing system, the core, and their interconnects. Untested, because Vivado was not available.
#   $(./ufp4 fpga-tools)/python fpga/package/ipxact.py fpga/package/component.xml
#   vivado -mode batch -source fpga/boards/kv260/vivado.tcl [-tclargs "Rows=4 Cols=4 TileRows=8 TileCols=8 Chunk=16 BusBytes=16 Quant=16"]
# The parameters are those of ufp4_axi; the port HP0 limits a bus of more than 16 bytes. Default: the configuration small.
# Writes kv260.bit, for kv260.dtso, and kv260.xsa into the current folder; fails if timing is not met.
set root [file normalize [file join [file dirname [info script]] ../../..]]
set parameters [expr {$argc > 0 ? [lindex $argv 0] : "Rows=2 Cols=2 TileRows=8 TileCols=8 Chunk=16 BusBytes=8 Quant=16"}]
# kv260.dtso and clock.dtso have the same values.
set registers 0xA0000000
set registers_bytes 4K
set clock_mhz 100

array set core {}
foreach p $parameters {
  if {![regexp {^([A-Za-z]+)=([0-9]+)$} $p all name value]} { error "'$p' is not PARAMETER=NUMBER" }
  set core($name) $value
}

create_project -force kv260 kv260 -part xck26-sfvc784-2LV-c
set_property board_part [lindex [get_board_parts -quiet *kv260_som*] end] [current_project]
set_property ip_repo_paths $root/fpga/package [current_project]
update_ip_catalog
create_bd_design kv260

set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:zynq_ultra_ps_e ps]
apply_bd_automation -rule xilinx.com:bd_rule:zynq_ultra_ps_e -config {apply_board_preset 1} $ps
# One master for the registers, HP0 (not coherent) for memory, one interrupt, one clock. Both ports keep their width of 128
# bits after reset, so that nothing must set it when Linux loads the bitstream; the interconnects convert widths.
set_property -dict [list CONFIG.PSU__USE__M_AXI_GP0 1 CONFIG.PSU__USE__M_AXI_GP1 0 CONFIG.PSU__USE__M_AXI_GP2 0 \
  CONFIG.PSU__MAXIGP0__DATA_WIDTH 128 CONFIG.PSU__USE__S_AXI_GP2 1 CONFIG.PSU__SAXIGP2__DATA_WIDTH 128 \
  CONFIG.PSU__USE__IRQ0 1 CONFIG.PSU__FPGA_PL0_ENABLE 1 CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ $clock_mhz] $ps

set ufp4 [create_bd_cell -type ip -vlnv [get_property VLNV [get_ipdefs -all *:ufp4_axi:*]] ufp4]
foreach name [array names core] { set_property CONFIG.$name $core($name) $ufp4 }
set reset [create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset reset]
set control [create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect control]
set_property -dict {CONFIG.NUM_SI 1 CONFIG.NUM_MI 1} $control
set memory [create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect memory]
set_property -dict {CONFIG.NUM_SI 1 CONFIG.NUM_MI 1} $memory

connect_bd_net [get_bd_pins ps/pl_clk0] [get_bd_pins ps/maxihpm0_fpd_aclk] [get_bd_pins ps/saxihp0_fpd_aclk] \
  [get_bd_pins reset/slowest_sync_clk] [get_bd_pins control/aclk] [get_bd_pins memory/aclk] [get_bd_pins ufp4/clk]
connect_bd_net [get_bd_pins ps/pl_resetn0] [get_bd_pins reset/ext_reset_in]
connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins control/aresetn] [get_bd_pins memory/aresetn] [get_bd_pins ufp4/rst_n]
connect_bd_net [get_bd_pins ufp4/irq] [get_bd_pins ps/pl_ps_irq0]
connect_bd_intf_net [get_bd_intf_pins ps/M_AXI_HPM0_FPD] [get_bd_intf_pins control/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins control/M00_AXI] [get_bd_intf_pins ufp4/s_axil]
connect_bd_intf_net [get_bd_intf_pins ufp4/m_axi] [get_bd_intf_pins memory/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins memory/M00_AXI] [get_bd_intf_pins ps/S_AXI_HP0_FPD]

assign_bd_address -offset $registers -range $registers_bytes -target_address_space [get_bd_addr_spaces ps/Data] [get_bd_addr_segs ufp4/s_axil/*]
# The core sees memory at the processor's addresses.
assign_bd_address -offset 0x0 -range 2G -target_address_space [get_bd_addr_spaces ufp4/m_axi] [get_bd_addr_segs ps/SAXIGP2/HP0_DDR_LOW]
validate_bd_design
save_bd_design

add_files -norecurse [make_wrapper -files [get_files kv260.bd] -top]
set_property top kv260_wrapper [current_fileset]
launch_runs impl_1 -to_step write_bitstream -jobs 4
wait_on_run impl_1
open_run impl_1
report_utilization -file kv260.utilization.txt
report_timing_summary -file kv260.timing.txt
foreach {statistic what} {WNS "a clock is too fast for a path" WHS "a path is too short: its hold time is not met"} {
  set slack [get_property STATS.$statistic [get_runs impl_1]]
  if {![string is double -strict $slack] || $slack < 0} { error "$what ($statistic '$slack' ns); see kv260.timing.txt" }
}
file copy -force kv260/kv260.runs/impl_1/kv260_wrapper.bit kv260.bit
write_hw_platform -fixed -include_bit -force kv260.xsa
