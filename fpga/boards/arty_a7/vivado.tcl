# SPDX-License-Identifier: Apache-2.0
# Makes the Arty A7's bitstream in Vivado. Untested, because Vivado was not available.
#   vivado -mode batch -source fpga/boards/arty_a7/vivado.tcl [-tclargs CONFIGURATION PART]
# CONFIGURATION: a name in rtl/gen/configurations.cmake, default tiny; PART: default xc7a35ticsg324-1L.
# Writes arty_a7-CONFIGURATION.bit into the current folder; fails if timing is not met.
set root [file normalize [file join [file dirname [info script]] ../../..]]
set configuration [expr {$argc > 0 ? [lindex $argv 0] : "tiny"}]
set part [expr {$argc > 1 ? [lindex $argv 1] : "xc7a35ticsg324-1L"}]

proc read_text {name} {
  set f [open $name]
  set text [read $f]
  close $f
  return $text
}

foreach list [list $root/rtl/rtl.f $root/fpga/boards/board.f] {
  foreach line [split [read_text $list] "\n"] {
    if {$line ne "" && ![string match "//*" $line]} { read_verilog -sv [file join [file dirname $list] $line] }
  }
}
read_verilog -sv $root/fpga/boards/arty_a7/arty_a7.sv
read_xdc $root/fpga/boards/arty_a7/arty_a7.xdc
if {![regexp -line "^set\\(UFP4_CONFIGURATION_$configuration (.*)\\)\$" [read_text $root/rtl/gen/configurations.cmake] all found]} {
  error "no configuration is called '$configuration'"
}
set generics {}
foreach p $found { lappend generics -generic [string range $p 2 end] }
synth_design -top arty_a7 -part $part {*}$generics
opt_design
place_design
route_design
report_utilization -file arty_a7-$configuration.utilization.txt
report_timing_summary -file arty_a7-$configuration.timing.txt
foreach {kind what} {-setup "a clock is too fast for a path" -hold "a path is too short: its hold time is not met"} {
  set slack [get_property SLACK [get_timing_paths $kind]]
  if {![string is double -strict $slack] || $slack < 0} { error "$what (slack '$slack' ns); see arty_a7-$configuration.timing.txt" }
}
write_bitstream -force arty_a7-$configuration.bit
