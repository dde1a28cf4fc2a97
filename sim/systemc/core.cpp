// SPDX-License-Identifier: Apache-2.0
// The common part of both modules: their sockets, and the conversion of transactions to accesses.
#include <cstring>

#include "lock.h"
#include "ufp4_systemc.h"

namespace {

constexpr uint64_t kRegisterBytes = 4096;
constexpr unsigned kWord = 4, kAllStrobes = 0xF;

// Returns the response to a transaction on the registers, TLM_OK_RESPONSE if it can be executed.
tlm::tlm_response_status check(const tlm::tlm_generic_payload &payload) {
  const bool enables = payload.get_byte_enable_ptr() != nullptr;
  if (payload.get_address() >= kRegisterBytes) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  if (payload.get_address() % kWord != 0 || payload.get_data_length() != kWord ||
      payload.get_streaming_width() < kWord) {
    return tlm::TLM_BURST_ERROR_RESPONSE;
  }
  if (!payload.is_read() && !payload.is_write()) return tlm::TLM_COMMAND_ERROR_RESPONSE;
  if (enables && payload.get_byte_enable_length() == 0) return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
  return tlm::TLM_OK_RESPONSE;
}

unsigned strobes_of(const tlm::tlm_generic_payload &payload) {
  const unsigned char *enables = payload.get_byte_enable_ptr();
  if (enables == nullptr) return kAllStrobes;
  unsigned strobes = 0;
  for (unsigned i = 0; i < kWord; i++) {
    if (enables[i % payload.get_byte_enable_length()] != 0) strobes |= 1u << i;
  }
  return strobes;
}

void copy_enabled(unsigned char *out, uint32_t value, unsigned strobes) {
  unsigned char bytes[kWord];
  std::memcpy(bytes, &value, kWord);
  for (unsigned i = 0; i < kWord; i++) {
    if (strobes >> i & 1) out[i] = bytes[i];
  }
}

}  // namespace

Ufp4Core::Ufp4Core(const sc_core::sc_module_name &name)
    : sc_module(name), regs("regs"), mem("mem"), reset("reset"), irq("irq"), port_("port") {
  regs.register_b_transport(this, &Ufp4Core::b_transport);
  regs.register_transport_dbg(this, &Ufp4Core::transport_dbg);
  mem.register_nb_transport_bw(this, &Ufp4Core::nb_transport_bw);
}

Ufp4Core::~Ufp4Core() = default;

void Ufp4Core::b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
  tlm::tlm_response_status status = check(payload);
  if (status == tlm::TLM_OK_RESPONSE) {
    const unsigned strobes = strobes_of(payload);
    uint32_t value = 0;
    if (delay != sc_core::SC_ZERO_TIME) wait(delay);
    delay = sc_core::SC_ZERO_TIME;
    if (payload.is_write()) std::memcpy(&value, payload.get_data_ptr(), sizeof value);
    const ufp4::Lock lock(port_);
    const bool done =
        access(payload.is_write(), static_cast<uint32_t>(payload.get_address()), &value, strobes);
    if (payload.is_read()) copy_enabled(payload.get_data_ptr(), value, strobes);
    if (!done) status = tlm::TLM_GENERIC_ERROR_RESPONSE;
  }
  payload.set_response_status(status);
}

unsigned Ufp4Core::transport_dbg(tlm::tlm_generic_payload &payload) {
  uint32_t value = 0;
  if (!payload.is_read() || payload.get_data_length() != kWord ||
      payload.get_address() % kWord != 0 || payload.get_address() >= kRegisterBytes ||
      !peek(static_cast<uint32_t>(payload.get_address()), &value)) {
    return 0;
  }
  std::memcpy(payload.get_data_ptr(), &value, sizeof value);
  return kWord;
}
