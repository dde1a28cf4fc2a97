# SPDX-License-Identifier: Apache-2.0
# OpenSTA reads fpga/cells/ufp4.sdc for a module with the ports of ufp4_top, whose buses have two bits. The clock must be on
# clk_i, and each other bit must have one delay, for its port's direction.
#   UFP4_ROOT=. sta -exit tests/synth/constraints.tcl, in a writable folder
proc contents {path} {
  set file [open $path]
  set text [read $file]
  close $file
  return $text
}

regexp {\nmodule ufp4_top.*?\n\);} [contents $env(UFP4_ROOT)/rtl/ufp4_top.sv] header
set ports [regexp -all -inline -line {^ *(input|output) +logic +(\[[^]]*\] +)?(\w+),?$} $header]
if {[llength $ports] != 4 * [regexp -all -line {^ *(?:input|output)\M} $header]} {
  error "a port that is not understood"
}
set stub [open constraints_ports.v w]
puts $stub "module ufp4_top ([join [lmap {line direction range name} $ports {set name}] {, }]);"
foreach {line direction range name} $ports { puts $stub "  $direction [expr {$range eq {} ? {} : {[1:0]}}] $name;" }
puts $stub endmodule
close $stub

read_verilog constraints_ports.v
link_design ufp4_top
source $env(UFP4_ROOT)/fpga/cells/ufp4.sdc
write_sdc constraints_read.sdc
set read [contents constraints_read.sdc]

set wrong 0
foreach {line direction range name} $ports {
  set want "set_${direction}_delay"
  if {$name eq "clk_i"} { set want create_clock }
  foreach bit [expr {$range eq "" ? [list $name] : [list "$name\[0\]" "$name\[1\]"]}] {
    set here "\[get_ports {$bit}\]"
    set found [lmap line [split $read \n] { if {[string first $here $line] < 0} { continue }; lindex [split $line] 0 }]
    if {$found ne $want} {
      puts "$bit: not one $want, but: $found"
      incr wrong
    }
  }
}
puts "[expr {[llength $ports] / 4}] ports, $wrong wrong"
