// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstring>

#include "dram.h"
#include "times.h"
#include "ufp4_systemc.h"

namespace {

// Serves a request that is made now, and returns the delay. If the resolution is coarser than a
// femtosecond, the time is rounded up; a clock whose period is a multiple of the resolution sees no
// difference.
sc_core::sc_time serve(ufp4::Dram &dram, const tlm::tlm_generic_payload &payload) {
  const uint64_t unit = ufp4::resolution_fs(), now = sc_core::sc_time_stamp().value();
  const uint64_t end =
      dram.serve(now * unit, payload.is_write(), payload.get_address(), payload.get_data_length());
  return sc_core::sc_time::from_value((end + unit - 1) / unit - now);
}

}  // namespace

Ufp4Memory::Ufp4Memory(const sc_core::sc_module_name &name, uint64_t base, uint64_t bytes,
                       Ufp4Time latency, const std::string &dram)
    : sc_module(name), socket("socket"), base_(base), bytes_(bytes), latency_(latency) {
  socket.register_b_transport(this, &Ufp4Memory::b_transport);
  socket.register_transport_dbg(this, &Ufp4Memory::transport_dbg);
  socket.register_get_direct_mem_ptr(this, &Ufp4Memory::get_direct_mem_ptr);
  std::string wrong = latency.wrong().empty() ? "" : "the latency: " + latency.wrong();
  if (wrong.empty()) wrong = ufp4::refuse_dram(dram.c_str());
  if (wrong.empty()) wrong = ufp4::refuse_resolution(dram);
  if (!wrong.empty()) {
    SC_REPORT_ERROR("ufp4", (std::string(this->name()) + ": " + wrong).c_str());
    return;
  }
  if (!dram.empty()) dram_ = std::make_unique<ufp4::Dram>(ufp4_find_dram(dram.c_str()));
  // Untouched pages take no memory.
  void *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    SC_REPORT_ERROR("ufp4", ("the host cannot allocate " + std::to_string(bytes) +
                             " bytes of memory, or their number is 0")
                                .c_str());
    return;
  }
  data_ = static_cast<uint8_t *>(data);
}

Ufp4Memory::~Ufp4Memory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

uint8_t *Ufp4Memory::at(uint64_t address, uint64_t bytes) {
  const uint64_t offset = address - base_;
  if (data_ == nullptr || address < base_ || offset > bytes_ || bytes > bytes_ - offset) {
    return nullptr;
  }
  return data_ + offset;
}

void Ufp4Memory::b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
  const unsigned char *enables = payload.get_byte_enable_ptr();
  const unsigned bytes = payload.get_data_length();
  unsigned char *data = payload.get_data_ptr();
  uint8_t *place = at(payload.get_address(), bytes);
  if (dram_ && delay != sc_core::SC_ZERO_TIME) {
    sc_core::wait(delay);
    delay = sc_core::SC_ZERO_TIME;
  }
  delay += latency_;
  if (place == nullptr) return payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  if (payload.get_streaming_width() < bytes) {
    return payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
  }
  if (enables != nullptr && payload.get_byte_enable_length() == 0) {
    return payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  }
  uint8_t *to = payload.is_write() ? place : data;
  const uint8_t *from = payload.is_write() ? data : place;
  if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) {
  } else if (enables == nullptr) {
    std::memcpy(to, from, bytes);
  } else {
    for (unsigned i = 0; i < bytes; i++) {
      if (enables[i % payload.get_byte_enable_length()] != 0) to[i] = from[i];
    }
  }
  if (dram_ && bytes != 0 && payload.get_command() != tlm::TLM_IGNORE_COMMAND) {
    delay += serve(*dram_, payload);
  }
  payload.set_dmi_allowed(true);
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

unsigned Ufp4Memory::transport_dbg(tlm::tlm_generic_payload &payload) {
  const unsigned bytes = payload.get_data_length();
  uint8_t *place = at(payload.get_address(), bytes);
  if (place == nullptr || payload.get_command() == tlm::TLM_IGNORE_COMMAND) return 0;
  if (payload.is_write()) {
    std::memcpy(place, payload.get_data_ptr(), bytes);
  } else {
    std::memcpy(payload.get_data_ptr(), place, bytes);
  }
  return bytes;
}

bool Ufp4Memory::get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
  if (at(payload.get_address(), 1) == nullptr) return false;
  dmi.set_dmi_ptr(data_);
  dmi.set_start_address(base_);
  dmi.set_end_address(base_ + bytes_ - 1);
  dmi.set_read_latency(latency_);
  dmi.set_write_latency(latency_);
  dmi.allow_read_write();
  return true;
}
