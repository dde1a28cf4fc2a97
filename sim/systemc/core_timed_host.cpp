// SPDX-License-Identifier: Apache-2.0
// The construction of the timed module, and the host functions of its model.
#include <cstring>

#include "core_timed.h"
#include "times.h"

namespace {

constexpr size_t kStackBytes = 1 << 20;  // for running the golden model
constexpr unsigned kAllStrobes = 0xF;

}  // namespace

Ufp4CoreTimed::Inside::Inside(Ufp4CoreTimed &module, const Ufp4CoreOptions &options,
                              const ufp4::timing::Shape &shape)
    : module(module),
      period(options.period),
      outside(options.outside),
      jobs(module.mem, shape.configuration),
      busy("busy") {
  ufp4::MemoryRules rules{shape.bus_bytes, 0, options.bandwidth_bytes, 0, 0, {}, outside};
  if (outside) {
    carrier = options.non_blocking ? ufp4::make_non_blocking_carrier(module.mem, period)
                                   : ufp4::make_blocking_carrier(module.mem, period);
  } else {
    rules.latency = options.latency_cycles;
    rules.dram = ufp4_find_dram(options.dram.c_str());
    rules.cycle_fs = period.value() * ufp4::resolution_fs();
  }
  ufp4_timed_host_t host{};
  host.user = this;
  host.memory_read = [](void *user, uint64_t address, void *data, uint32_t bytes) {
    return static_cast<Inside *>(user)->read(address, data, bytes);
  };
  host.memory_write = [](void *user, uint64_t address, const void *data, uint32_t bytes) {
    return static_cast<Inside *>(user)->write(address, data, bytes);
  };
  host.execute = [](void *user, const uint8_t *descriptor, uint16_t *slots,
                    ufp4_completion_t *completion) {
    return static_cast<Inside *>(user)->execute(descriptor, slots, completion);
  };
  // With an external memory its target decides this.
  if (!outside) {
    host.missing = [](void *user, uint64_t address, uint64_t bytes) {
      return static_cast<Inside *>(user)->jobs.missing(address, bytes) ? 1 : 0;
    };
  }
  now = std::make_unique<Timed>(shape, rules, host, false);
}

// --- The timed model's host ---------------------------------------------------------------------

int Ufp4CoreTimed::Inside::refuse(const std::string &because) {
  why = because;
  return -1;
}

void Ufp4CoreTimed::Inside::fail(const std::string &because) {
  failed = true;
  running = &now_at;
  SC_REPORT_ERROR("ufp4", (std::string(module.name()) + ": " + because).c_str());
}

bool Ufp4CoreTimed::Inside::transport(tlm::tlm_command command, uint64_t address, void *data,
                                      uint32_t bytes) {
  tlm::tlm_generic_payload payload;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(static_cast<unsigned char *>(data));
  payload.set_data_length(bytes);
  payload.set_streaming_width(bytes);
  if (outside) return module.mem->transport_dbg(payload) == bytes;  // the burst is sent separately
  module.mem->b_transport(payload, delay);
  return payload.is_response_ok();
}

int Ufp4CoreTimed::Inside::read(uint64_t address, void *data, uint32_t bytes) {
  if (running->fetched == fetched.size()) {
    ufp4::Fetched descriptor;
    if (peeking()) return -1;
    descriptor.lost =
        !transport(tlm::TLM_READ_COMMAND, address, descriptor.bytes, sizeof descriptor.bytes);
    fetched.push_back(descriptor);
  }
  const ufp4::Fetched &descriptor = fetched[running->fetched++];
  std::memcpy(data, descriptor.bytes, bytes);
  return descriptor.lost ? UFP4_TIMED_BUS_ERROR : 0;
}

int Ufp4CoreTimed::Inside::write(uint64_t address, const void *data, uint32_t) {
  const bool later = running == &ahead_at;
  Completion completion{(later ? ahead : now)->cycles(), address, {}};
  if (peeking()) return 0;
  std::memcpy(&completion.completion, data, sizeof completion.completion);
  (later ? completions : passed).push_back(completion);
  return 0;
}

int Ufp4CoreTimed::Inside::execute(const uint8_t *descriptor, uint16_t *slots,
                                   ufp4_completion_t *completion) {
  if (running->executed == executed.size()) {
    ufp4::Executed done;
    if (peeking()) return -1;
    const std::string wrong = jobs.run(descriptor, slots, *completion, &done);
    if (!wrong.empty()) return refuse(wrong);
    executed.push_back(done);
  }
  const ufp4::Executed &done = executed[running->executed++];
  completion->status = done.status;
  completion->flags = done.flags;
  std::memcpy(slots, done.slots, sizeof done.slots);
  return 0;
}

// --- The module ---------------------------------------------------------------------------------

Ufp4CoreTimed::Ufp4CoreTimed(const sc_core::sc_module_name &name, const Ufp4CoreOptions &options)
    : Ufp4Core(name) {
  std::string wrong = ufp4::refuse_period(options.period);
  if (wrong.empty()) wrong = ufp4::refuse_dram(options.dram.c_str());
  if (wrong.empty()) wrong = ufp4::refuse_resolution(options.dram);
  if (!wrong.empty()) {
    SC_REPORT_ERROR("ufp4", (std::string(this->name()) + ": " + wrong).c_str());
    return;
  }
  ufp4::timing::Shape shape;
  if (!ufp4::timing::find_shape(options.configuration.c_str(), &shape, &wrong)) {
    SC_REPORT_ERROR("ufp4", (std::string(this->name()) + ": " + wrong).c_str());
    return;
  }
  inside_ = std::make_unique<Inside>(*this, options, shape);
  sc_core::sc_spawn_options thread, drive;
  thread.set_stack_size(kStackBytes);
  drive.spawn_method();
  drive.dont_initialize();
  drive.set_sensitivity(&inside_->moved);
  sc_core::sc_spawn([this] { irq.write(inside_->level); }, "drive", &drive);
  sc_core::sc_spawn([this] { inside_->run(); }, "run", &thread);
  sc_core::sc_spawn([this] { inside_->watch_reset(); }, "watch_reset", &thread);
}

Ufp4CoreTimed::~Ufp4CoreTimed() = default;

uint64_t Ufp4CoreTimed::cycles() const {
  return inside_ ? inside_->clock_cycles() : 0;
}

uint64_t Ufp4CoreTimed::steps() const {
  return inside_ ? inside_->steps : 0;
}

// Registers are written as a whole, so bytes without strobes are written with their old values.
bool Ufp4CoreTimed::access(bool write, uint32_t offset, uint32_t *value, unsigned strobes) {
  if (!inside_) return false;
  if (!write || strobes == kAllStrobes) return inside_->access(write, offset, value);
  if (strobes == 0) return inside_->access(false, offset, value);
  uint32_t merged = 0;
  if (offset != UFP4_REG_CONTROL && offset != UFP4_REG_IRQ_STATUS) peek(offset, &merged);
  for (unsigned i = 0; i < 4; i++) {
    if (strobes >> i & 1) merged = (merged & ~(0xFFu << 8 * i)) | (*value & 0xFFu << 8 * i);
  }
  return inside_->access(true, offset, &merged);
}

bool Ufp4CoreTimed::peek(uint32_t offset, uint32_t *value) {
  return inside_ && inside_->peek(offset, value);
}

tlm::tlm_sync_enum Ufp4CoreTimed::nb_transport_bw(tlm::tlm_generic_payload &payload,
                                                  tlm::tlm_phase &phase, sc_core::sc_time &delay) {
  if (inside_ && inside_->carrier) return inside_->carrier->answer(payload, phase, delay);
  SC_REPORT_ERROR("ufp4", "a call of nb_transport, but transactions use b_transport");
  return tlm::TLM_COMPLETED;
}
