// SPDX-License-Identifier: Apache-2.0
// The core in a virtual platform: SystemC modules with TLM-2.0 sockets
// (docs/howto/virtual-platform.md).
//
// Ufp4CoreRtl is the Verilated RTL and Ufp4CoreTimed the timed model; both derive from Ufp4Core, so
// that either can replace the other. Compile with -std=c++17, like SystemC. Unsupported uses are
// reported as SystemC errors (SC_REPORT_ERROR, type "ufp4"); a core that has reported one stops and
// answers register accesses with TLM_GENERIC_ERROR_RESPONSE.
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
 * A time that is passed to a module.
 *
 * SystemC rounds a time that is not a multiple of its time resolution, and an sc_time does not show
 * this: sc_time(0.333, SC_NS) is 0.33 ns at a resolution of 10 ps. If the time is given as a value
 * and a unit, `options.period = {0.333, SC_NS}`, the module refuses such a time in its constructor;
 * a time given as an sc_time is used as SystemC rounded it.
 */
class UFP4_SYSTEMC_API Ufp4Time : public sc_core::sc_time {
 public:
  Ufp4Time(const sc_core::sc_time &time) : sc_time(time) {}
  Ufp4Time(double value, sc_core::sc_time_unit unit);

  /** Returns in one line why the time cannot be represented; empty if it can. */
  const std::string &wrong() const {
    return wrong_;
  }

 private:
  std::string wrong_;
};

/** Options of a core. */
struct Ufp4CoreOptions {
  /** A named configuration (docs/ip/registers.md). */
  std::string configuration = "default";
  /** The clock period, not zero. Edges occur at the multiples of the period except at time 0. */
  Ufp4Time period{1, sc_core::SC_NS};
  /** The bytes that the bus moves per cycle in each direction; 0: the bus width. */
  unsigned bandwidth_bytes = 0;
  /** Only for Ufp4CoreTimed: the memory's latency in cycles. Ufp4CoreRtl takes it from the target
   * of `mem`. */
  unsigned latency_cycles = 100;
  /** Only for Ufp4CoreTimed: a memory with banks behind that latency, "lpddr5" or "hbm3"; "":
   * none. It has its own clock, independent of the period. With such a memory no cycle is
   * skipped. */
  std::string dram;
  /** Only for Ufp4CoreTimed: the target of `mem` determines the time of bursts, as for
   * Ufp4CoreRtl, instead of latency_cycles and dram. An answer that takes no longer than a cycle is
   * seen after two, and one that arrives during a register access is seen when that access ends. */
  bool outside = false;
  /** Bursts use nb_transport in its four phases instead of b_transport. Ufp4CoreTimed supports
   * this only with `outside`. */
  bool non_blocking = false;
  /** Only for Ufp4CoreRtl: the clock of an idle core stops until its registers are accessed. The
   * counters `cycles` and `idle` stop meanwhile. */
  bool sleep = true;
};

/** The interface that both modules share. */
class UFP4_SYSTEMC_API Ufp4Core : public sc_core::sc_module {
 public:
  /**
   * The registers: 4 KiB from address 0 (docs/ip/registers.md), accessed by b_transport, which
   * waits for the annotated delay and for the core's answer.
   *
   * Byte enables of a write are its strobes; a read leaves bytes that are not enabled unchanged. An
   * address beyond the 4 KiB gives TLM_ADDRESS_ERROR_RESPONSE; a length other than 4 bytes or an
   * unaligned address gives TLM_BURST_ERROR_RESPONSE; a command other than read or write gives
   * TLM_COMMAND_ERROR_RESPONSE. transport_dbg reads without time or side effects and never writes.
   * On Ufp4CoreRtl it reads nothing (0 bytes), because the RTL's registers cannot be observed
   * without a clock.
   */
  tlm_utils::simple_target_socket<Ufp4Core> regs;
  /**
   * The memory port.
   *
   * Ufp4CoreRtl: each burst is one transaction, and several may be under way, by b_transport, each
   * from its own thread, or by nb_transport (non_blocking). The core gets the response in the cycle
   * given by the delay, and responses in the order of the requests. A response that arrives later
   * than its request, from a target that waits or answers by nb_transport_bw, is seen at the first
   * edge after it. TLM_ADDRESS_ERROR_RESPONSE is DECERR, any other error SLVERR; the job then ends
   * with read_error or write_error.
   *
   * Ufp4CoreTimed: each descriptor and completion is one b_transport whose delay is ignored; the
   * module itself models the time of all bursts (latency_cycles, bandwidth_bytes, dram). With
   * `outside` each burst is a transaction as on Ufp4CoreRtl, but only for its time: writes have all
   * byte enables off, and descriptors and completions use transport_dbg. Operands and results use
   * DMI if the target grants one readable and writable region that contains all of a job. Otherwise
   * they use transport_dbg, in pieces that cross no 4 KiB boundary; a target that has memory there
   * but allows neither is a SystemC error.
   *
   * Bus errors of Ufp4CoreTimed come from the bursts with `outside`. Without it, bursts to
   * addresses where the target has no memory (no DMI, and too few bytes by transport_dbg) are
   * answered with DECERR. The job ends with the RTL's status in the RTL's cycle, and none of its
   * data is written; nor is a completion that the bus has refused.
   */
  tlm_utils::simple_initiator_socket<Ufp4Core> mem;
  /** Active high, for at least 8 cycles. The core also leaves reset at the start of the
   * simulation. */
  sc_core::sc_in<bool> reset;
  /** The interrupt: level-sensitive, active high. */
  sc_core::sc_out<bool> irq;

  ~Ufp4Core() override;
  /** Returns the number of clock edges that the core has had. */
  virtual uint64_t cycles() const = 0;

 protected:
  explicit Ufp4Core(const sc_core::sc_module_name &name);
  Ufp4Core(const Ufp4Core &) = delete;
  Ufp4Core &operator=(const Ufp4Core &) = delete;

 private:
  /** Makes one access of the host, from a thread, one at a time. @return false if the core has
   * failed. */
  virtual bool access(bool write, uint32_t offset, uint32_t *value, unsigned strobes) = 0;
  /** Reads a register without side effects. @return false if it cannot be observed. */
  virtual bool peek(uint32_t offset, uint32_t *value) = 0;
  virtual tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &payload,
                                             tlm::tlm_phase &phase, sc_core::sc_time &delay) = 0;
  void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay);
  unsigned transport_dbg(tlm::tlm_generic_payload &payload);

  sc_core::sc_mutex port_;
};

/** The cycle-accurate RTL. */
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
 * The timed model: the RTL's cycles and the golden model's bits. It is not clocked by the kernel:
 * it runs ahead to its next completion or interrupt, and goes back if the host writes before that
 * to a register on which jobs depend: a doorbell for which it waits, the addresses of the rings, a
 * reset.
 *
 * A job's results are in memory no later than its completion, and possibly earlier. Bus errors, the
 * watchdog, ring overflow and soft reset behave as in the RTL; memory errors inside the core do not
 * occur.
 */
class UFP4_SYSTEMC_API Ufp4CoreTimed final : public Ufp4Core {
 public:
  Ufp4CoreTimed(const sc_core::sc_module_name &name, const Ufp4CoreOptions &options);
  ~Ufp4CoreTimed() override;
  uint64_t cycles() const override;
  /** Returns the number of simulated cycles so far, which is the cost of the simulation. Cycles
   * skipped because they repeat earlier ones do not count. Cycles that were run ahead and then
   * repeated because the host accessed a register count twice. */
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
 * A memory, zero at the start, that adds its latency to the delay of each transaction, honours byte
 * enables and grants DMI to all of it. Behind a Ufp4CoreRtl a latency of n periods gives the cycles
 * of `--mem-latency n`, and with a dram and a period of one nanosecond those of `--dram`.
 *
 * With a dram the memory serves transactions by time: it waits for the annotated delay, so it may
 * be called only from threads. It serves transactions of the same instant in the order of the
 * calls, which the kernel chooses; with several initiators a Ufp4Arbiter (ufp4_arbiter.h) in front
 * of the memory makes this order defined. Without a dram transactions do not affect each other.
 */
class UFP4_SYSTEMC_API Ufp4Memory final : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Ufp4Memory> socket;

  /** @p base: the address of the first byte; other addresses give TLM_ADDRESS_ERROR_RESPONSE. @p
   * dram: a memory with banks, rows and refresh behind the latency, "lpddr5" or "hbm3", or with
   * another number of channels than the package has, "hbm3:8"; "": none. A dram refuses a time
   * resolution finer than one femtosecond. */
  Ufp4Memory(const sc_core::sc_module_name &name, uint64_t base, uint64_t bytes, Ufp4Time latency,
             const std::string &dram = {});
  ~Ufp4Memory() override;
  /** Returns the memory at @p address, or nullptr unless the whole range lies in it. */
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
