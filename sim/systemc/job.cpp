// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <algorithm>
#include <cstring>

#include "copy.h"

namespace ufp4 {

JobRunner::JobRunner(MemorySocket &mem, const ufp4_configuration_t &configuration) : mem_(mem) {
  executor_.configuration = configuration;
  executor_.threads = 1;
}

// --- Memory -------------------------------------------------------------------------------------

// Finds the region that contains an address.
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

// Returns whether that region contains all of it.
bool JobRunner::maps(uint64_t address, uint64_t bytes) const {
  return address >= executor_.memory_base &&
         address - executor_.memory_base <= executor_.memory_bytes &&
         bytes <= executor_.memory_bytes - (address - executor_.memory_base);
}

bool JobRunner::map_job(const timing::Descriptor &job) {
  const auto extents = timing::extents(job);
  return map_memory(extents[0].address) &&
         std::all_of(extents.begin(), extents.end(),
                     [this](const timing::Extent &each) { return maps(each.address, each.bytes); });
}

bool JobRunner::missing(uint64_t address, uint64_t bytes) {
  if (map_memory(address) && maps(address, bytes)) return false;
  // Memory without DMI exists, too.
  uint8_t page[4096];
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t piece = std::min(bytes - done, sizeof page - (address + done) % sizeof page);
    if (move_debug(mem_, tlm::TLM_READ_COMMAND, address + done, page, piece) != piece) return true;
    done += piece;
  }
  return false;
}

// --- Jobs ---------------------------------------------------------------------------------------

std::string JobRunner::run(const uint8_t *descriptor, const uint16_t *slots,
                           const ufp4_completion_t &completion, Executed *done) {
  timing::Descriptor job;
  std::memcpy(job.bytes, descriptor, sizeof job.bytes);
  for (int i = 0; i < UFP4_SLOTS; i++) {
    executor_.slots.exponent[i] = static_cast<int16_t>(slots[i]);
    executor_.slots.written[i] = 1;
  }
  const std::string wrong = map_job(job) ? execute(job, done) : execute_copy(job, done);
  return wrong.empty() ? wrong : "job " + std::to_string(completion.job) + ": " + wrong;
}

std::string JobRunner::execute(const timing::Descriptor &job, Executed *done) {
  ufp4_descriptor_t descriptor;
  ufp4_completion_t result{};
  std::memcpy(&descriptor, job.bytes, sizeof descriptor);
  const ufp4_status_t status = executor_run(&executor_, &descriptor, &result);
  if (status != UFP4_OK) return ufp4_status_string(status);
  done->status = result.status;
  done->flags = result.flags;
  for (int i = 0; i < UFP4_SLOTS; i++) {
    done->slots[i] = static_cast<uint16_t>(executor_.slots.exponent[i]);
  }
  return {};
}

std::string JobRunner::execute_copy(const timing::Descriptor &job, Executed *done) {
  Copy copy(job);
  std::string wrong = copy.fetch(mem_);
  if (!wrong.empty()) return wrong;
  executor_.memory = copy.data();
  executor_.memory_base = 0;
  executor_.memory_bytes = copy.bytes();
  wrong = execute(copy.moved(job), done);
  return wrong.empty() ? copy.store(mem_) : wrong;
}

}  // namespace ufp4
