// SPDX-License-Identifier: Apache-2.0
// Tests that several timed cores on one bus (ufp4_timed_bus_t) take the cycles of as many RTL cores
// behind Ufp4Arbiter and a bus of the same width and latency, or behind an Ufp4Memory with the same
// banks.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "rig.h"
#include "ufp4_arbiter.h"

namespace {

using sc_core::sc_time;

constexpr unsigned kMost = 4;
constexpr uint64_t kPart = 1 << 16;  // for the rings of each core
constexpr uint64_t kRing = TWIN_RING * UFP4_DESCRIPTOR_BYTES;
constexpr uint64_t kLimit = 100000000;

uint64_t ring_of(unsigned core) {
  return TWIN_BASE + core * kPart;
}

/** A bus whose width all data share, reads and writes apart; with 0 bytes the width is unlimited.
 * Answers come with the latency. */
class SharedBus : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<SharedBus> from{"from"};
  tlm_utils::simple_initiator_socket<SharedBus> to{"to"};

  SharedBus(const sc_core::sc_module_name &name, sc_time period, unsigned bytes)
      : sc_module(name), period_(period), bytes_(bytes) {
    from.register_b_transport(this, &SharedBus::b_transport);
    from.register_transport_dbg(this, &SharedBus::transport_dbg);
  }

 private:
  void b_transport(tlm::tlm_generic_payload &payload, sc_time &delay) {
    if (bytes_ == 0) return to->b_transport(payload, delay);
    const sc_time now = sc_core::sc_time_stamp();
    sc_time &free = free_[payload.is_write()];
    const sc_time start = std::max(now + delay, free);
    free = start + period_ * ((payload.get_data_length() + bytes_ - 1) / bytes_);
    delay = start - now;
    to->b_transport(payload, delay);
  }
  unsigned transport_dbg(tlm::tlm_generic_payload &payload) {
    return to->transport_dbg(payload);
  }

  const sc_time period_;
  const unsigned bytes_;
  sc_time free_[2];
};

/** An RTL core and its timed counterpart. */
struct Twin {
  sc_core::sc_signal<bool> irq, reset;
  std::unique_ptr<Ufp4CoreRtl> core;
  ufp4_timed_t *timed = nullptr;
  uint64_t base = 0;
  std::vector<twin_job_t> ring = std::vector<twin_job_t>(TWIN_RING);
  std::vector<ufp4_completion_t> done = std::vector<ufp4_completion_t>(TWIN_RING);
  uint32_t tail = 0;
  unsigned jobs = 0;
};

/** All twins, with the same host in front of both sides. */
class Platform : public sc_core::sc_module {
 public:
  Platform(const sc_core::sc_module_name &name, unsigned cores, unsigned latency, unsigned bytes,
           const char *dram, uint64_t seed)
      : sc_module(name),
        arbiter_("arbiter", cores),
        bus_("bus", period_, bytes),
        memory_("memory", TWIN_BASE, TWIN_PLACE_BYTES * (TWIN_PLACES + 1), latency * period_,
                dram != nullptr ? dram : ""),
        hosts_("hosts", cores),
        shared_(ufp4_timed_bus_open(latency, bytes, dram, 0)) {
    draw_ = std::make_unique<twin_t>();
    *draw_ = {};
    draw_->random.state = seed;
    twin_configure(draw_.get(), "small");
    arbiter_.to.bind(bus_.from);
    bus_.to.bind(memory_.socket);
    for (unsigned i = 0; i < cores; i++) add(i);
    sc_core::sc_spawn_options thread;
    thread.set_stack_size(1 << 20);
    sc_core::sc_spawn([this] { host(); }, "host", &thread);
  }
  ~Platform() override {
    for (auto &twin : twins_) ufp4_timed_close(twin->timed);
    ufp4_timed_bus_close(shared_);
  }

 private:
  void add(unsigned index) {
    twins_.push_back(std::make_unique<Twin>());
    Twin &twin = *twins_.back();
    Ufp4CoreOptions options = options_of("small");
    options.outside = true;
    options.sleep = false;
    twin.core = std::make_unique<Ufp4CoreRtl>(sc_core::sc_gen_unique_name("core"), options);
    twin.core->mem.bind(arbiter_.from[index]);
    twin.core->irq(twin.irq);
    twin.core->reset(twin.reset);
    hosts_[index].bind(twin.core->regs);
    twin.base = ring_of(index);
    ufp4_timed_options_t timed{};
    timed.configuration = "small";
    timed.bus = shared_;
    ufp4_timed_host_t host{};
    host.user = &twin;
    host.memory_read = [](void *user, uint64_t address, void *data, uint32_t bytes) {
      const auto *own = static_cast<Twin *>(user);
      std::memcpy(data, &own->ring[(address - own->base) / UFP4_DESCRIPTOR_BYTES], bytes);
      return 0;
    };
    host.memory_write = [](void *user, uint64_t address, const void *data, uint32_t bytes) {
      auto *own = static_cast<Twin *>(user);
      std::memcpy(&own->done[(address - own->base - kRing) / UFP4_COMPLETION_BYTES], data, bytes);
      return 0;
    };
    char message[200] = "";
    twin.timed = ufp4_timed_open(&timed, &host, message, sizeof message);
    check_that(index, twin.timed != nullptr, "%s", message);
  }

  uint64_t cycle() const {
    return sc_core::sc_time_stamp().value() / period_.value();
  }
  // Checks that the same time has passed on both sides since the first access.
  void same_time(const char *what) {
    const uint64_t timed = ufp4_timed_cycles(twins_[0]->timed);
    if (began_ == 0) began_ = timed - cycle();
    check_bits(0, timed - began_, cycle(), "time of %s", what);
  }
  void access(unsigned index, bool write, uint32_t offset, uint32_t value) {
    uint32_t got = value, want = value;
    tlm::tlm_generic_payload payload;
    sc_time delay = sc_core::SC_ZERO_TIME;
    payload.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    payload.set_address(offset);
    payload.set_data_ptr(reinterpret_cast<unsigned char *>(&want));
    payload.set_data_length(4);
    payload.set_streaming_width(4);
    hosts_[index]->b_transport(payload, delay);
    ufp4_timed_t *timed = twins_[index]->timed;
    const ufp4_timed_status_t status = write ? ufp4_timed_register_write(timed, offset, value)
                                             : ufp4_timed_register_read(timed, offset, &got);
    check_bits(index, status, UFP4_TIMED_OK, "%s", ufp4_timed_message(timed));
    check_bits(index, got, want, "register 0x%x", offset);
    same_time("an access");
  }

  void set_up(unsigned index) {
    const uint64_t ring = twins_[index]->base, completions = ring + kRing;
    access(index, true, UFP4_REG_RING_BASE_LO, static_cast<uint32_t>(ring));
    access(index, true, UFP4_REG_RING_BASE_HI, static_cast<uint32_t>(ring >> 32));
    access(index, true, UFP4_REG_RING_LOG2, TWIN_RING_LOG2);
    access(index, true, UFP4_REG_COMPLETION_BASE_LO, static_cast<uint32_t>(completions));
    access(index, true, UFP4_REG_COMPLETION_BASE_HI, static_cast<uint32_t>(completions >> 32));
    access(index, true, UFP4_REG_IRQ_MASK, 1);
  }

  void ring(unsigned index) {
    Twin &twin = *twins_[index];
    twin_job_t jobs[16];
    twin.jobs = check_below(&draw_->random, 2) ? timing_list(draw_.get(), 60, jobs)
                                               : timing_step(draw_.get(), 60, jobs);
    for (unsigned i = 0; i < twin.jobs; i++) {
      jobs[i].header.job = twin.tail;
      if (i + 1 == twin.jobs) jobs[i].header.flags |= 1;
      const uint64_t at = twin.tail++ % TWIN_RING;
      twin.ring[at] = jobs[i];
      std::memcpy(memory_.at(twin.base + at * sizeof jobs[i], sizeof jobs[i]), &jobs[i],
                  sizeof jobs[i]);
    }
    access(index, true, UFP4_REG_RING_TAIL, twin.tail);
  }

  void finish(unsigned index) {
    Twin &twin = *twins_[index];
    if (!twin.irq.read()) sc_core::wait(twin.irq.posedge_event());
    check_bits(index, ufp4_timed_wait_interrupt(twin.timed, kLimit), UFP4_TIMED_OK, "%s",
               ufp4_timed_message(twin.timed));
    same_time("an interrupt");
    access(index, true, UFP4_REG_IRQ_STATUS, 7);
    for (uint32_t i = twin.tail - twin.jobs; i != twin.tail; i++) {
      ufp4_completion_t want;
      const uint64_t at = i % TWIN_RING;
      std::memcpy(&want, memory_.at(twin.base + kRing + at * sizeof want, sizeof want),
                  sizeof want);
      check_bits(i, twin.done[at].cycles, want.cycles, "cycles of a job of core %u", index);
      check_bits(i, twin.done[at].status, want.status, "its status");
    }
    access(index, true, UFP4_REG_CONTROL, 1);
    for (uint32_t i = 0; i < 2 * UFP4_COUNTER_COUNT; i++)
      access(index, false, UFP4_REG_COUNTER_BASE + 4 * i, 0);
  }

  void host() {
    const auto cores = static_cast<unsigned>(twins_.size());
    // Refreshes of the banks depend on absolute time, which must be equal on both sides.
    check_bits(0, ufp4_timed_run(twins_[0]->timed, cycle()), UFP4_TIMED_OK, "the same time");
    for (unsigned i = 0; i < cores; i++) set_up(i);
    for (unsigned round = 0; round < 6; round++) {
      for (unsigned i = 0; i < cores; i++) ring(i);
      for (unsigned i = 0; i < cores; i++) finish((i + round) % cores);
    }
    sc_core::sc_stop();
  }

  const sc_time period_{1, sc_core::SC_NS};
  Ufp4Arbiter arbiter_;
  SharedBus bus_;
  Ufp4Memory memory_;
  sc_core::sc_vector<tlm_utils::simple_initiator_socket<Platform>> hosts_;
  ufp4_timed_bus_t *shared_;
  std::vector<std::unique_ptr<Twin>> twins_;
  std::unique_ptr<twin_t> draw_;
  uint64_t began_ = 0;
};

void run(unsigned cores, unsigned latency, unsigned bytes, const char *dram = nullptr) {
  Platform platform("platform", cores, latency, bytes, dram, check_stream(cores));
  sc_core::sc_start();
}

}  // namespace

TEST(one_core_on_a_bus_is_the_rtls) {
  run(1, 20, 8);
}

TEST(two_cores_on_a_bus_are_the_rtls) {
  run(2, 100, 8);
}

TEST(three_cores_on_a_bus_are_the_rtls) {
  run(3, 1, 16);
}

TEST(four_cores_on_a_bus_are_the_rtls) {
  run(kMost, 50, 12);
}

TEST(one_core_on_banks_is_the_rtls) {
  run(1, 20, 0, "lpddr5");
}

TEST(two_cores_on_banks_are_the_rtls) {
  run(2, 0, 0, "hbm3:3");
}

TEST(three_cores_on_banks_are_the_rtls) {
  run(3, 1, 0, "lpddr5:1");
}

TEST(four_cores_on_banks_are_the_rtls) {
  run(kMost, 100, 0, "hbm3");
}
