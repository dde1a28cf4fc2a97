# SPDX-License-Identifier: Apache-2.0
# OpenSTA reads fpga/ufp4.sdc for a module with the ports of ufp4_top: the clock is on clk_i, each other port has one delay,
# of its own direction.   UFP4_ROOT=. sta -exit tests/synth/constraints.tcl, in a folder that can be written
proc contents {path} {
  set file [open $path]
  set text [read $file]
  close $file
  return $text
}

regexp {\nmodule ufp4_top.*?\n\);} [contents $env(UFP4_ROOT)/rtl/ufp4_top.sv] header
set ports [regexp -all -inline -line {^ *(input|output) +logic +(?:\[[^]]*\] +)?(\w+),?$} $header]
set stub [open constraints_ports.v w]
puts $stub "module ufp4_top ([join [lmap {line direction name} $ports {set name}] {, }]);"
foreach {line direction name} $ports { puts $stub "  $direction $name;" }
puts $stub endmodule
close $stub

read_verilog constraints_ports.v
link_design ufp4_top
source $env(UFP4_ROOT)/fpga/ufp4.sdc
write_sdc constraints_read.sdc
set read [contents constraints_read.sdc]

set wrong 0
foreach {line direction name} $ports {
  set want "set_${direction}_delay"
  if {$name eq "clk_i"} { set want create_clock }
  set found [regexp -all -inline -line "^(\\w+) .*\\\[get_ports {$name}\\\]" $read]
  if {[llength $found] != 2 || [lindex $found 1] ne $want} {
    puts "$name: not one $want, but: [lmap {line command} $found {set command}]"
    incr wrong
  }
}
puts "[expr {[llength $ports] / 3}] ports, $wrong wrong"
