// SPDX-License-Identifier: Apache-2.0
// Executes a job of the timed model on its data by the golden model: in memory that the target
// grants by DMI, or otherwise in a copy of it moved by transport_dbg.
#ifndef UFP4_SYSTEMC_JOB_H
#define UFP4_SYSTEMC_JOB_H

#include <string>

#include "carrier.h"
#include "timing/host/descriptor.h"
extern "C" {
#include "job/execute.h"
}

namespace ufp4 {

/** The end of a job: its status, and the exponent slots. */
struct Executed {
  uint16_t status, flags;
  uint16_t slots[UFP4_SLOTS];
};

class JobRunner {
 public:
  JobRunner(MemorySocket &mem, const ufp4_configuration_t &configuration);
  /** Executes a job; the timed model has checked that its exponent slots were written. @return an
   * error message; empty if the job was executed. */
  std::string run(const uint8_t *descriptor, const uint16_t *slots,
                  const ufp4_completion_t &completion, Executed *done);
  /** Returns whether some part of a region has no memory. */
  bool missing(uint64_t address, uint64_t bytes);

 private:
  bool map_memory(uint64_t address);
  bool maps(uint64_t address, uint64_t bytes) const;
  bool map_job(const timing::Descriptor &job);
  std::string execute(const timing::Descriptor &job, Executed *done);
  std::string execute_copy(const timing::Descriptor &job, Executed *done);

  MemorySocket &mem_;
  executor_t executor_{};
};

}  // namespace ufp4

#endif
