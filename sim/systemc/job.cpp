// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <algorithm>
#include <cstring>

namespace ufp4 {

JobRunner::JobRunner(MemorySocket &mem, const ufp4_configuration_t &configuration) : mem_(mem) {
  executor_.configuration = configuration;
  executor_.threads = 1;
}

// A region in which the job may lie.
bool JobRunner::map_memory(const ufp4_descriptor_t &job) {
  tlm::tlm_generic_payload payload;
  tlm::tlm_dmi dmi;
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(job.header.opcode == UFP4_OPCODE_GEMM ? job.gemm.d_addr : job.quant.src_addr);
  if (!mem_->get_direct_mem_ptr(payload, dmi) || !dmi.is_read_write_allowed()) return false;
  executor_.memory = dmi.get_dmi_ptr();
  executor_.memory_base = dmi.get_start_address();
  const uint64_t last = (uint64_t{1} << UFP4_ADDR_BITS) - 1;
  executor_.memory_bytes =
      std::min<uint64_t>(dmi.get_end_address(), last) - dmi.get_start_address() + 1;
  return true;
}

std::string JobRunner::run(const uint8_t *descriptor, const uint16_t *slots,
                           const ufp4_completion_t &completion, Executed *done) {
  const std::string which = "job " + std::to_string(completion.job);
  ufp4_completion_t result = completion;
  ufp4_descriptor_t job;
  std::memcpy(&job, descriptor, sizeof job);
  if (!map_memory(job)) {
    return which + ": `mem` gives no DMI, to be read and written, where its data are";
  }
  for (int i = 0; i < UFP4_SLOTS; i++) {
    executor_.slots.exponent[i] = static_cast<int16_t>(slots[i]);
    executor_.slots.written[i] = 1;
  }
  const ufp4_status_t status = executor_run(&executor_, &job, &result);
  if (status != UFP4_OK) return which + ": " + ufp4_status_string(status);
  if (result.status != UFP4_CORE_STATUS_OK) {
    return which +
           " reads or writes outside of the memory that `mem` gives by DMI; errors of the bus are "
           "left to the RTL";
  }
  done->status = result.status;
  done->flags = result.flags;
  for (int i = 0; i < UFP4_SLOTS; i++) {
    done->slots[i] = static_cast<uint16_t>(executor_.slots.exponent[i]);
  }
  return {};
}

}  // namespace ufp4
