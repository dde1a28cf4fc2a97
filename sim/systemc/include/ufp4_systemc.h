// SPDX-License-Identifier: Apache-2.0
// The core in a virtual platform: SystemC modules with TLM-2.0 sockets
// (docs/howto/virtual-platform.md).
//
// Ufp4CoreRtl is the Verilated RTL, Ufp4CoreTimed the timed model; both are a Ufp4Core, so that
// either takes the other's place. Compile with -std=c++17, as SystemC was. What a module cannot do
// is an error of SystemC (SC_REPORT_ERROR, type "ufp4"); a core that has reported one does nothing
// more and answers its registers with TLM_GENERIC_ERROR_RESPONSE.
#ifndef UFP4_SYSTEMC_H
#define UFP4_SYSTEMC_H

#ifndef SC_INCLUDE_DYNAMIC_PROCESSES
#define SC_INCLUDE_DYNAMIC_PROCESSES
#endif
#include <tlm.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <systemc>

namespace ufp4 {
class Dram;
}

#define UFP4_SYSTEMC_API __attribute__((visibility("default")))

/**
 * A time that a module is given.
 *
 * SystemC rounds what is no whole number of its time resolutions, and an sc_time does not tell:
 * sc_time(0.333, SC_NS) is 0.33 ns at a resolution of 10 ps. One that is given as a value and a
 * unit, `options.period = {0.333, SC_NS}`, the module refuses when it is constructed; one that is
 * given as an sc_time is what SystemC has made of it.
 */
class UFP4_SYSTEMC_API Ufp4Time : public sc_core::sc_time {
 public:
  Ufp4Time(const sc_core::sc_time &time) : sc_time(time) {}
  Ufp4Time(double value, sc_core::sc_time_unit unit);

  /** Why it cannot be had, in one line; empty: it can. */
  const std::string &wrong() const {
    return wrong_;
  }

 private:
  std::string wrong_;
};

/** All that can be set from outside. */
struct Ufp4CoreOptions {
  /** A named configuration (docs/ip/registers.md). */
  std::string configuration = "default";
  /** The period of the clock, not zero. The edges are at the multiples of the period, but for the
   * moment 0. */
  Ufp4Time period{1, sc_core::SC_NS};
  /** The bytes that the bus moves in a cycle, each way; 0: as many as it is wide. */
  unsigned bandwidth_bytes = 0;
  /** Only for Ufp4CoreTimed: the memory's latency in cycles. Ufp4CoreRtl asks the target of `mem`.
   */
  unsigned latency_cycles = 100;
  /** Only for Ufp4CoreTimed: a memory with banks behind that latency, "lpddr5" or "hbm3"; "": none.
   * It has its own clock, whatever the period. No cycle is skipped with it. */
  std::string dram;
  /** Only for Ufp4CoreTimed: bursts take the time that the target of `mem` says, as those of
   * Ufp4CoreRtl do, in place of latency_cycles and dram. An answer that takes no longer than a
   * cycle is seen after two, and one that comes while a register is accessed at the end of that. */
  bool outside = false;
  /** Bursts go by nb_transport, in its four phases, in place of b_transport. For Ufp4CoreTimed this
   * goes only with `outside`. */
  bool non_blocking = false;
  /** Only for Ufp4CoreRtl: an idle core has no clock until its registers are accessed. The counters
   * `cycles` and `idle` stand still meanwhile. */
  bool sleep = true;
};

/** Both modules have this in common. */
class UFP4_SYSTEMC_API Ufp4Core : public sc_core::sc_module {
 public:
  /**
   * The registers: 4 KiB from address 0 (docs/ip/registers.md), by b_transport; it waits for the
   * delay that it is given, and for the core's answer.
   *
   * Byte enables of a write are its strobes; a read leaves bytes that are not enabled. An address
   * beyond: TLM_ADDRESS_ERROR_RESPONSE. Not 4 bytes, or not at a multiple of 4:
   * TLM_BURST_ERROR_RESPONSE. Neither read nor write: TLM_COMMAND_ERROR_RESPONSE.
   * transport_dbg reads without time or side effect; of Ufp4CoreRtl it reads nothing (0 bytes),
   * whose registers show nothing without a clock. It never writes.
   */
  tlm_utils::simple_target_socket<Ufp4Core> regs;
  /**
   * Memory. Ufp4CoreRtl: each burst is one transaction, several at a time, by b_transport, each
   * from a thread of its own, or by nb_transport (non_blocking). The core gets the response in the
   * cycle that the delay says, and responses in the order of the requests. One that comes later
   * than its request, from a target that waits or answers by nb_transport_bw, is seen at the first
   * edge after it. TLM_ADDRESS_ERROR_RESPONSE is DECERR, any other error SLVERR; the job then ends
   * with read_error or write_error.
   *
   * Ufp4CoreTimed: descriptors and completions are a b_transport each, whose delay means nothing;
   * the time of all bursts is inside the module (latency_cycles, bandwidth_bytes, dram). With
   * `outside` each burst is a transaction as of Ufp4CoreRtl, for its time alone: writes have all
   * byte enables off, and descriptors and completions go by transport_dbg. Operands and results go
   * by DMI, where the target gives one region, to be read and written, in which all of a job lies;
   * else by transport_dbg, in pieces that cross no boundary of 4 KiB, and a target that has memory
   * there but allows neither is an error of SystemC. With `outside` errors are those of the bursts;
   * without, bursts where the target has no memory (no DMI, and too few bytes by transport_dbg) are
   * answered with DECERR. The job ends with the RTL's status in its cycle, and none of its data is
   * written; nor is a completion that the bus has refused.
   */
  tlm_utils::simple_initiator_socket<Ufp4Core> mem;
  /** High: the core is in reset, for at least 8 cycles. It also comes out of reset at the start. */
  sc_core::sc_in<bool> reset;
  /** Level, high. */
  sc_core::sc_out<bool> irq;

  ~Ufp4Core() override;
  /** Edges of the clock that the core has had. */
  virtual uint64_t cycles() const = 0;

 protected:
  explicit Ufp4Core(const sc_core::sc_module_name &name);
  Ufp4Core(const Ufp4Core &) = delete;
  Ufp4Core &operator=(const Ufp4Core &) = delete;

 private:
  /** One access of the host, from a thread, one at a time. @return false if the core has failed. */
  virtual bool access(bool write, uint32_t offset, uint32_t *value, unsigned strobes) = 0;
  /** @return false if the register cannot be seen. */
  virtual bool peek(uint32_t offset, uint32_t *value) = 0;
  virtual tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &payload,
                                             tlm::tlm_phase &phase, sc_core::sc_time &delay) = 0;
  void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay);
  unsigned transport_dbg(tlm::tlm_generic_payload &payload);

  sc_core::sc_mutex port_;
};

/** The RTL, cycle by cycle. */
class UFP4_SYSTEMC_API Ufp4CoreRtl final : public Ufp4Core {
 public:
  Ufp4CoreRtl(const sc_core::sc_module_name &name, const Ufp4CoreOptions &options);
  ~Ufp4CoreRtl() override;
  uint64_t cycles() const override;

 private:
  bool access(bool write, uint32_t offset, uint32_t *value, unsigned strobes) override;
  bool peek(uint32_t offset, uint32_t *value) override;
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                     sc_core::sc_time &delay) override;

  struct __attribute__((visibility("hidden"))) Inside;
  std::unique_ptr<Inside> inside_;
};

/**
 * The timed model: the same cycles, the golden model's bits. The kernel never clocks it: it runs
 * ahead to its next completion or interrupt, and goes back if before that something is written to
 * its registers that jobs depend on: a doorbell for which it waits, other rings, a reset.
 *
 * A job's results are in memory at the latest when its completion is; they may be there earlier.
 * Bus errors, the watchdog, ring overflow and soft reset are as in the RTL; memory errors inside
 * the core do not happen.
 */
class UFP4_SYSTEMC_API Ufp4CoreTimed final : public Ufp4Core {
 public:
  Ufp4CoreTimed(const sc_core::sc_module_name &name, const Ufp4CoreOptions &options);
  ~Ufp4CoreTimed() override;
  uint64_t cycles() const override;
  /** The cost of the simulation so far: cycles that were worked through. Those that were skipped,
   * because they were as earlier ones, do not count. Those that were run ahead, and then had to be
   * caught up with because the host looked, count twice. */
  uint64_t steps() const;

 private:
  bool access(bool write, uint32_t offset, uint32_t *value, unsigned strobes) override;
  bool peek(uint32_t offset, uint32_t *value) override;
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                     sc_core::sc_time &delay) override;

  struct __attribute__((visibility("hidden"))) Inside;
  std::unique_ptr<Inside> inside_;
};

/**
 * A memory, zero at the start: adds its latency to the delay of each transaction, takes byte
 * enables, gives DMI to all of it. Behind a Ufp4CoreRtl a latency of n periods gives the cycles of
 * `--mem-latency n`, and with a dram, at a period of a nanosecond, those of `--dram`.
 *
 * With a dram it serves by time: it waits for the delay that a transaction comes with, and so may
 * be called from threads alone. Transactions of one instant it serves in the order of the calls,
 * which the kernel chooses; in front of a memory with several initiators a Ufp4Arbiter
 * (ufp4_arbiter.h) makes it a defined one. Without a dram transactions know nothing of each other.
 */
class UFP4_SYSTEMC_API Ufp4Memory final : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Ufp4Memory> socket;

  /** @p base: the address of its first byte. Outside of it: TLM_ADDRESS_ERROR_RESPONSE. @p dram:
   * a memory with banks, rows and refresh behind the latency, "lpddr5" or "hbm3", or with other
   * channels than a package's "hbm3:8"; "": none. It takes femtoseconds, and no finer time
   * resolution. */
  Ufp4Memory(const sc_core::sc_module_name &name, uint64_t base, uint64_t bytes, Ufp4Time latency,
             const std::string &dram = {});
  ~Ufp4Memory() override;
  /** @return nullptr unless the whole range lies in it. */
  uint8_t *at(uint64_t address, uint64_t bytes);

 private:
  void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay);
  unsigned transport_dbg(tlm::tlm_generic_payload &payload);
  bool get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi);

  const uint64_t base_, bytes_;
  const sc_core::sc_time latency_;
  std::unique_ptr<ufp4::Dram> dram_;
  uint8_t *data_ = nullptr;
};

#endif
