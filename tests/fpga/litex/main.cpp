// SPDX-License-Identifier: Apache-2.0
// Runs the LiteX SoC in Verilator and prints the output of its serial port until a line begins with
// "end", or for as many cycles as the argument says. The status is 0 if that line came.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "Vsoc.h"
#include "verilated.h"

int main(int argc, char **argv) {
  const unsigned long cycles = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10000000;
  Vsoc soc;
  std::string line;
  soc.serial_source_ready = 1;
  for (unsigned long i = 0; i < cycles; i++) {
    soc.sys_clk = 0;
    soc.eval();
    const bool said = soc.serial_source_valid != 0;
    const char letter = static_cast<char>(soc.serial_source_data);
    soc.sys_clk = 1;
    soc.eval();
    if (!said) continue;
    line += letter;
    if (letter != '\n') continue;
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
    if (line.rfind("end", 0) == 0) {
      std::printf("%lu cycles\n", i);
      return 0;
    }
    line.clear();
  }
  std::printf("%s\nnothing more within %lu cycles\n", line.c_str(), cycles);
  return 1;
}
