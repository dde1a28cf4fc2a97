// SPDX-License-Identifier: Apache-2.0
// A virtual platform: an arbiter, a bus, memory, cores, and for each core a processor that runs the
// C driver.
//
// platform [rtl | timed] [CORES]: each processor runs the three GEMMs of one linear layer and
// compares every bit with the golden model. Exit status 0: all are equal.
#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <ufp4.h>
#include <ufp4_arbiter.h>
#include <ufp4_port.h>
#include <ufp4_systemc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using sc_core::sc_time;

namespace {

const sc_time kPeriod(1, sc_core::SC_NS);
constexpr unsigned kLatency = 100;            // cycles, of memory
constexpr uint64_t kMemoryBase = 0x80000000;  // address of memory in the map
constexpr uint64_t kPartBytes = 1 << 20;      // per core
constexpr uint64_t kRegisterBase = 0x10000000, kRegisterBytes = 4096;
constexpr unsigned kMostCores = 64;
constexpr unsigned kBusBytes = 8;        // per cycle in each direction
constexpr size_t kStackBytes = 1 << 20;  // of a processor: the driver and the model

// --- Bus ----------------------------------------------------------------------------------------

/** Routes by address. The data of all initiators share the bus width, separately for reads and
 * writes, in the order of arrival, which the arbiter defines. */
class Bus : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Bus> from;
  tlm_utils::multi_passthrough_initiator_socket<Bus> to;

  explicit Bus(const sc_core::sc_module_name &name) : sc_module(name), from("from"), to("to") {
    from.register_b_transport(this, &Bus::b_transport);
    from.register_transport_dbg(this, &Bus::transport_dbg);
    from.register_get_direct_mem_ptr(this, &Bus::get_direct_mem_ptr);
  }

  /** Binds the next target, whose address 0 is at @p offset. */
  void map(uint64_t base, uint64_t bytes, uint64_t offset) {
    places_.push_back({base, bytes, offset});
  }

 private:
  struct Place {
    uint64_t base, bytes, offset;
  };

  // Finds the target, and converts the address to the target's own.
  int find(tlm::tlm_generic_payload &payload) const {
    const uint64_t address = payload.get_address(), bytes = payload.get_data_length();
    for (size_t i = 0; i < places_.size(); i++) {
      const Place &place = places_[i];
      if (address < place.base || address - place.base >= place.bytes) continue;
      if (bytes > place.bytes - (address - place.base)) return -1;
      payload.set_address(address - place.offset);
      return static_cast<int>(i);
    }
    return -1;
  }

  void b_transport(tlm::tlm_generic_payload &payload, sc_time &delay) {
    const uint64_t address = payload.get_address();
    const int target = find(payload);
    if (target < 0) {
      payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    const sc_time now = sc_core::sc_time_stamp();
    sc_time &free = free_[payload.is_write()];
    const sc_time start = std::max(now + delay, free);
    free = start + kPeriod * ((payload.get_data_length() + kBusBytes - 1) / kBusBytes);
    delay = start - now;
    to[target]->b_transport(payload, delay);
    payload.set_address(address);
  }

  unsigned transport_dbg(tlm::tlm_generic_payload &payload) {
    const int target = find(payload);
    return target < 0 ? 0 : to[target]->transport_dbg(payload);
  }

  bool get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    const int target = find(payload);
    if (target < 0 || !to[target]->get_direct_mem_ptr(payload, dmi)) return false;
    const uint64_t offset = places_[static_cast<size_t>(target)].offset;
    dmi.set_start_address(dmi.get_start_address() + offset);
    dmi.set_end_address(dmi.get_end_address() + offset);
    return true;
  }

  std::vector<Place> places_;
  sc_time free_[2];  // times at which the last read's and write's data will have passed
};

// --- Processor ----------------------------------------------------------------------------------

enum { kTokens = 96, kCin = 64, kCout = 80 };

/** A linear layer's tensors and results. */
struct Layer {
  std::vector<float> x, w, dy, y, dx, dw;
  uint64_t cycles = 0;

  explicit Layer(unsigned seed)
      : x(kTokens * kCin),
        w(kCout * kCin),
        dy(kTokens * kCout),
        y(kTokens * kCout),
        dx(kTokens * kCin),
        dw(kCout * kCin) {
    for (auto *tensor : {&x, &w, &dy}) {
      for (float &value : *tensor) {
        seed = seed * 1664525 + 1013904223;
        value = static_cast<float>(seed >> 8) / (1 << 23) - 1;
      }
    }
  }

  /** Runs the three GEMMs on a device. @return whether it succeeded; otherwise prints why. */
  bool run(ufp4_device_t *device) {
    ufp4_linear_shape_t shape{};
    shape.tokens = kTokens;
    shape.cin = kCin;
    shape.cout = kCout;
    shape.passes = UFP4_PASSES_ALL;
    const ufp4_matrix_t mx{UFP4_DTYPE_F32, kTokens, kCin, kCin, x.data()},
        mw{UFP4_DTYPE_F32, kCout, kCin, kCin, w.data()},
        mdy{UFP4_DTYPE_F32, kTokens, kCout, kCout, dy.data()};
    ufp4_linear_t *linear = nullptr;
    ufp4_recipe_t recipe;
    ufp4_gemm_stats_t stats{};
    const bool done = ufp4_recipe_named("ufp4", &recipe) == UFP4_OK &&
                      ufp4_linear_create(device, &shape, &recipe, &linear) == UFP4_OK &&
                      ufp4_linear_fprop(linear, &mx, &mw, 0, y.data(), &stats) == UFP4_OK &&
                      ufp4_linear_dgrad(linear, &mdy, 0, dx.data(), nullptr) == UFP4_OK &&
                      ufp4_linear_wgrad(linear, dw.data(), nullptr) == UFP4_OK;
    if (!done) std::fprintf(stderr, "%s\n", ufp4_device_message(device));
    cycles = stats.cycles;
    ufp4_linear_free(linear);
    return done;
  }

  bool operator==(const Layer &other) const {
    const auto same = [](const std::vector<float> &a, const std::vector<float> &b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
    };
    return same(y, other.y) && same(dx, other.dx) && same(dw, other.dw);
  }
};

class Processor : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Processor> bus;
  sc_core::sc_in<bool> irq;
  bool passed = false;

  /** Prints the results. */
  void print() const {
    std::printf("core %u: FPROP took %llu cycles, at %s every bit is %s\n", number_,
                static_cast<unsigned long long>(cycles_), ended_.to_string().c_str(),
                passed ? "the golden model's" : "NOT the golden model's");
  }

  SC_HAS_PROCESS(Processor);
  Processor(const sc_core::sc_module_name &name, unsigned number)
      : sc_module(name), bus("bus"), irq("irq"), number_(number) {
    SC_THREAD(run);
    set_stack_size(kStackBytes);
  }

 private:
  void run() {
    ufp4_device_t *core = open_core(), *model = nullptr;
    ufp4_device_options_t options = ufp4_device_options_default();
    options.configuration = "small";
    Layer got(number_), want(number_);
    if (core == nullptr || ufp4_device_open("model", &options, &model) != UFP4_OK) return;
    passed = got.run(core) && want.run(model) && got == want;
    cycles_ = got.cycles;
    ended_ = sc_core::sc_time_stamp();
    ufp4_device_close(model);
    ufp4_device_close(core);
  }

  // --- The driver's way to its core ---

  ufp4_device_t *open_core() {
    ufp4_port_t port{};
    port.name = "platform";
    port.memory_base = kMemoryBase + number_ * kPartBytes;
    port.memory_bytes = kPartBytes;
    port.user = this;
    port.register_read = [](void *user, uint32_t offset, uint32_t *value) {
      return self(user)->transport(tlm::TLM_READ_COMMAND, self(user)->registers(offset), value, 4);
    };
    port.register_write = [](void *user, uint32_t offset, uint32_t value) {
      return self(user)->transport(tlm::TLM_WRITE_COMMAND, self(user)->registers(offset), &value,
                                   4);
    };
    port.memory_read = [](void *user, uint64_t address, void *data, uint64_t bytes) {
      return self(user)->copy(tlm::TLM_READ_COMMAND, address, data, bytes);
    };
    port.memory_write = [](void *user, uint64_t address, const void *data, uint64_t bytes) {
      return self(user)->copy(tlm::TLM_WRITE_COMMAND, address, const_cast<void *>(data), bytes);
    };
    port.wait_interrupt = [](void *user, uint64_t limit) {
      const auto &irq = self(user)->irq;
      if (!irq.read()) sc_core::wait(ticks(limit), irq.posedge_event());
      return irq.read() ? UFP4_OK : UFP4_ERROR_TIMEOUT;
    };
    port.run = [](void *, uint64_t count) {
      sc_core::wait(ticks(count));
      return UFP4_OK;
    };
    port.now = [](void *) -> uint64_t {
      return sc_core::sc_time_stamp().value() / kPeriod.value();
    };
    ufp4_device_options_t options = ufp4_device_options_default();
    ufp4_message_t why{};
    ufp4_device_t *device = nullptr;
    options.configuration = "small";
    options.message = &why;
    if (ufp4_device_open_port(&port, &options, &device) == UFP4_OK) return device;
    std::fprintf(stderr, "%s\n", why.text);
    return nullptr;
  }

  static Processor *self(void *user) {
    return static_cast<Processor *>(user);
  }

  static sc_time ticks(uint64_t count) {
    return kPeriod * static_cast<double>(std::min<uint64_t>(count, 1u << 30));
  }

  uint64_t registers(uint32_t offset) const {
    return kRegisterBase + number_ * kRegisterBytes + offset;
  }

  ufp4_status_t transport(tlm::tlm_command command, uint64_t address, void *data, unsigned bytes) {
    tlm::tlm_generic_payload payload;
    sc_time delay = sc_core::SC_ZERO_TIME;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(static_cast<unsigned char *>(data));
    payload.set_data_length(bytes);
    payload.set_streaming_width(bytes);
    bus->b_transport(payload, delay);
    wait(delay);
    return payload.is_response_ok() ? UFP4_OK : UFP4_ERROR_DEVICE;
  }

  // Copies in bursts of 4 KiB.
  ufp4_status_t copy(tlm::tlm_command command, uint64_t address, void *data, uint64_t bytes) {
    ufp4_status_t status = UFP4_OK;
    for (uint64_t done = 0; done < bytes && status == UFP4_OK; done += 4096) {
      status = transport(command, address + done, static_cast<uint8_t *>(data) + done,
                         static_cast<unsigned>(std::min<uint64_t>(bytes - done, 4096)));
    }
    return status;
  }

  const unsigned number_;
  uint64_t cycles_ = 0;
  sc_time ended_;
};

// --- Platform -----------------------------------------------------------------------------------

/** A core and its processor. */
struct Pair {
  sc_core::sc_signal<bool> irq, reset;
  std::unique_ptr<Ufp4Core> core;
  Processor processor;

  Pair(bool timed, unsigned number, Ufp4Arbiter &arbiter, Bus &bus)
      : processor(sc_core::sc_gen_unique_name("processor"), number) {
    Ufp4CoreOptions options;
    options.configuration = "small";
    options.period = kPeriod;
    options.outside = true;  // for both modules, time is determined by the bus and the memory
    const char *name = sc_core::sc_gen_unique_name("core");
    if (timed) {
      core = std::make_unique<Ufp4CoreTimed>(name, options);
    } else {
      core = std::make_unique<Ufp4CoreRtl>(name, options);
    }
    core->irq(irq);
    core->reset(reset);
    processor.irq(irq);
    core->mem.bind(arbiter.from[2 * number]);
    processor.bus.bind(arbiter.from[2 * number + 1]);
    const uint64_t registers = kRegisterBase + number * kRegisterBytes;
    bus.to.bind(core->regs);
    bus.map(registers, kRegisterBytes, registers);
  }
};

}  // namespace

int sc_main(int argc, char **argv) {
  const bool timed = argc > 1 && std::strcmp(argv[1], "timed") == 0;
  if (argc > 1 && !timed && std::strcmp(argv[1], "rtl") != 0) {
    std::fprintf(stderr, "platform: '%s' is neither rtl nor timed\n", argv[1]);
    return 2;
  }
  const unsigned cores = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
  if (cores < 1 || cores > kMostCores) {
    std::fprintf(stderr, "platform: '%s' is not a number of cores from 1 to %u\n", argv[2],
                 kMostCores);
    return 2;
  }
  Ufp4Arbiter arbiter("arbiter", 2 * cores);  // so that the order of processes does not matter
  Bus bus("bus");
  Ufp4Memory memory("memory", kMemoryBase, cores * kPartBytes, kLatency * kPeriod);
  arbiter.to.bind(bus.from);
  bus.to.bind(memory.socket);
  bus.map(kMemoryBase, cores * kPartBytes, 0);
  std::vector<std::unique_ptr<Pair>> pairs;
  for (unsigned i = 0; i < cores; i++)
    pairs.push_back(std::make_unique<Pair>(timed, i, arbiter, bus));
  sc_core::sc_start();
  bool passed = true;
  for (const auto &pair : pairs) {
    pair->processor.print();
    passed = passed && pair->processor.passed;
  }
  return passed ? 0 : 1;
}
