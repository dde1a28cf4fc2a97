// SPDX-License-Identifier: Apache-2.0
// The clocking loop: a core, its memory, the checker, the host's register port, and the limits that
// detect a hang.
#ifndef UFP4_SIM_SIMULATOR_H
#define UFP4_SIM_SIMULATOR_H

#include <cstdint>
#include <memory>
#include <string>

#include "checker.h"
#include "core.h"
#include "memory.h"
#include "timeline.h"
#include "ufp4_sim.h"

namespace ufp4 {

class Simulator {
 public:
  /** @p sink: the receiver of a timeline, or NULL. */
  Simulator(std::unique_ptr<Core> core, const MemoryOptions &options, const Limits &limits,
            const ufp4_timeline_sink_t *sink);

  bool ok() const {
    return memory_.ok();
  }
  bool trace_open(const char *path);
  /** Closes the waveforms and checks that they are complete; an incomplete file is removed. */
  ufp4_sim_status_t trace_end();
  /** Returns whether the core exposes the signals that a timeline needs. */
  bool has_timeline() const;
  void timeline_end() {
    timeline_.end(cycle_);
  }
  /** Resets the core, also during a job. */
  ufp4_sim_status_t reset();
  ufp4_sim_status_t read(uint32_t offset, uint32_t *value);
  ufp4_sim_status_t write(uint32_t offset, uint32_t value, unsigned strobes = 0xF);
  ufp4_sim_status_t wait_interrupt(uint64_t limit);
  ufp4_sim_status_t run(uint64_t cycles);
  Memory &memory() {
    return memory_;
  }
  uint64_t cycles() const {
    return cycle_;
  }
  const std::string &message() const {
    return message_;
  }

 private:
  bool good() const;
  void sample_timeline();
  /** Simulates one clock cycle. @return false if a rule was violated. */
  bool step();
  /** Returns whether the host accepts a response of the register port in this cycle; with
   * back-pressure it sometimes does not. */
  uint8_t ready();
  bool register_read(uint32_t offset, uint32_t *value);
  ufp4_sim_status_t broken();
  ufp4_sim_status_t check_progress();
  std::string describe();

  std::unique_ptr<Core> core_;
  const Pins &pins_;
  Memory memory_;
  Checker checker_;
  PortChecker port_checker_;
  Timeline timeline_;
  uint64_t ready_state_;
  const uint64_t stuck_cycles_;
  uint64_t cycle_ = 0, last_moved_ = 0;
  std::string message_, trace_path_;
};

}  // namespace ufp4

#endif
