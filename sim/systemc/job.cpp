// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <algorithm>
#include <cstring>

namespace ufp4 {

JobRunner::JobRunner(MemorySocket &mem, const ufp4_configuration_t &configuration) : mem_(mem) {
  executor_.configuration = configuration;
  executor_.threads = 1;
}

// The region in which an address lies.
bool JobRunner::map_memory(uint64_t address) {
  tlm::tlm_generic_payload payload;
  tlm::tlm_dmi dmi;
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(address);
  if (!mem_->get_direct_mem_ptr(payload, dmi) || !dmi.is_read_write_allowed()) return false;
  executor_.memory = dmi.get_dmi_ptr();
  executor_.memory_base = dmi.get_start_address();
  const uint64_t last = (uint64_t{1} << UFP4_ADDR_BITS) - 1;
  executor_.memory_bytes =
      std::min<uint64_t>(dmi.get_end_address(), last) - dmi.get_start_address() + 1;
  return true;
}

bool JobRunner::missing(uint64_t address, uint64_t bytes) {
  if (map_memory(address) && address >= executor_.memory_base &&
      address - executor_.memory_base <= executor_.memory_bytes &&
      bytes <= executor_.memory_bytes - (address - executor_.memory_base)) {
    return false;
  }
  unsigned char data[4096];
  if (bytes > sizeof data) return true;
  // Memory without DMI is there.
  tlm::tlm_generic_payload payload;
  payload.set_read();
  payload.set_address(address);
  payload.set_data_ptr(data);
  payload.set_data_length(static_cast<unsigned>(bytes));
  payload.set_streaming_width(static_cast<unsigned>(bytes));
  return mem_->transport_dbg(payload) != bytes;
}

std::string JobRunner::run(const uint8_t *descriptor, const uint16_t *slots,
                           const ufp4_completion_t &completion, Executed *done) {
  const std::string which = "job " + std::to_string(completion.job);
  ufp4_completion_t result = completion;
  ufp4_descriptor_t job;
  std::memcpy(&job, descriptor, sizeof job);
  if (!map_memory(job.header.opcode == UFP4_OPCODE_GEMM ? job.gemm.d_addr : job.quant.src_addr)) {
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
           " reads or writes, or may, outside of the memory that `mem` gives by DMI, and no burst "
           "of it was answered with an error";
  }
  done->status = result.status;
  done->flags = result.flags;
  for (int i = 0; i < UFP4_SLOTS; i++) {
    done->slots[i] = static_cast<uint16_t>(executor_.slots.exponent[i]);
  }
  return {};
}

}  // namespace ufp4
