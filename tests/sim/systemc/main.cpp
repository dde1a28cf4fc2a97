// SPDX-License-Identifier: Apache-2.0
// The mains of a test program: SystemC's, because the tests' library has another main, and the
// sc_main that SystemC calls.
#include <systemc>

extern "C" {
#include "check.h"
}

int main(int argc, char **argv) {
  return sc_core::sc_elab_and_sim(argc, argv);
}

int sc_main(int argc, char **argv) {
  return check_main(argc, argv);
}
