// SPDX-License-Identifier: Apache-2.0
// The plain harness with the interface of a rig.
#ifndef UFP4_TEST_SYSTEMC_PLAIN_H
#define UFP4_TEST_SYSTEMC_PLAIN_H

#include "rig.h"

class Plain {
 public:
  explicit Plain(twin_memory_t memory, const char *configuration = "small") {
    char message[200] = "";
    ufp4_sim_options_t options{};
    options.configuration = configuration;
    options.memory_base = TWIN_BASE;
    options.memory_bytes = TWIN_PLACE_BYTES * (TWIN_PLACES + 1);
    options.latency_cycles = memory.latency;
    options.bandwidth_bytes = memory.bandwidth;
    options.dram = memory.dram;
    sim_ = ufp4_sim_open(&options, message, sizeof message);
    check_that(0, sim_ != nullptr, "%s", message);
  }
  ~Plain() {
    ufp4_sim_close(sim_);
  }
  Plain(const Plain &) = delete;
  Plain &operator=(const Plain &) = delete;

  uint32_t read(uint32_t offset) {
    uint32_t value = 0;
    must(ufp4_sim_register_read(sim_, offset, &value));
    return value;
  }
  void write(uint32_t offset, uint32_t value) {
    must(ufp4_sim_register_write(sim_, offset, value));
  }
  void wait_interrupt() {
    must(ufp4_sim_wait_interrupt(sim_, 10000000));
  }
  void run(uint64_t cycles) {
    must(ufp4_sim_run(sim_, cycles));
  }
  void reset() {
    must(ufp4_sim_reset(sim_));
  }
  uint64_t cycles() const {
    return ufp4_sim_cycles(sim_);
  }
  uint8_t *at(uint64_t address, uint64_t bytes) {
    return ufp4_sim_memory(sim_, address, bytes);
  }

 private:
  void must(ufp4_sim_status_t status) {
    check_bits(0, status, UFP4_SIM_OK, "%s", ufp4_sim_message(sim_));
  }
  ufp4_sim_t *sim_ = nullptr;
};

#endif
