// SPDX-License-Identifier: Apache-2.0
// A 16-bit SDRAM of 32 MB for simulations, which checks its inputs. It supports what the boards'
// controller uses: sequential bursts of a fixed length, without auto precharge. Anything else, and
// any violation of the data sheet, is reported on the standard error stream and in message(). Times
// are counted in clock edges.
#ifndef UFP4_FPGA_SIM_SDRAM_CHIP_H
#define UFP4_FPGA_SIM_SDRAM_CHIP_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ufp4 {

/** The times of a data sheet, in nanoseconds unless a name says otherwise. The source of the values
 * is that of fpga/boards/memory/ufp4_sdram_pkg.sv. */
struct SdramTimes {
  double rcd = 21, rp = 21, ras = 45, rc = 68, rfc = 68, rrd = 15, wr = 15, mrd = 15;
  double ras_most = 100000, refresh = 64e6 / 8192, power_up = 200000;
  unsigned rrd_cycles = 2, wr_cycles = 2, mrd_cycles = 2, power_up_refreshes = 8;
  /** The clock period for a CAS latency of 2 and of 3. */
  double period_cas2 = 10, period_cas3 = 7;
};

/** The controller's output pins. */
struct SdramPins {
  bool cke, cs_n, ras_n, cas_n, we_n;
  uint8_t bank, dqm;
  uint16_t address;
  bool dq_driven;
  uint16_t dq;

  /** @p pins is ufp4_sdram_pkg::pins_t. */
  static SdramPins from(uint64_t pins) {
    const auto field = [pins](unsigned low, unsigned width) {
      return static_cast<uint16_t>(pins >> low & ((1u << width) - 1));
    };
    return {field(38, 1) != 0,
            field(37, 1) != 0,
            field(36, 1) != 0,
            field(35, 1) != 0,
            field(34, 1) != 0,
            static_cast<uint8_t>(field(32, 2)),
            static_cast<uint8_t>(field(17, 2)),
            field(19, 13),
            field(16, 1) != 0,
            field(0, 16)};
  }
};

class SdramChip {
 public:
  static constexpr unsigned kBanks = 4, kRows = 8192, kColumns = 512;
  static constexpr uint64_t kBytes = uint64_t{2} * kBanks * kRows * kColumns;

  SdramChip(double clock_hz, const SdramTimes &times);

  /** Starts as after power-up, except that the contents are kept. */
  void power_up();

  /** A rising edge of the chip's clock. @return the data pins until the next one. */
  uint16_t clock(const SdramPins &pins);

  /** The first violation; empty if there was none. */
  const std::string &message() const {
    return message_;
  }
  uint64_t refreshes() const {
    return refreshes_;
  }
  /** Returns the word of a bank, row and column. */
  uint16_t &word(unsigned bank, unsigned row, unsigned column) {
    return words_[(uint64_t{bank} * kRows + row) * kColumns + column];
  }

  /** Faults of a chip or a board: data bits that always read as 0; row address lines stuck at 0;
   * bytes that are written even if they are masked. */
  struct {
    uint16_t data_low = 0, row_low = 0;
    uint8_t unmasked = 0;
  } fault;

 private:
  static constexpr double kNever = -1e18;
  enum class Burst { kNone, kRead, kWrite };

  struct Bank {
    bool open = false;
    unsigned row = 0;
    double activated = kNever, closed = kNever, written = kNever;
  };

  void fail(const char *rule);
  void require(bool kept, const char *rule);
  // Returns whether at least the time (and the cycles) have passed since then.
  bool passed(double since, double least, unsigned cycles = 0) const;
  void command(const SdramPins &pins);
  void set_mode(unsigned word);
  void refresh();
  void precharge(unsigned bank);
  void activate(unsigned bank, unsigned row);
  void begin(Burst kind, const SdramPins &pins);
  void move_burst(const SdramPins &pins);

  const double period_;
  const SdramTimes times_;
  std::vector<uint16_t> words_;
  std::string message_;
  uint64_t edge_ = 0, power_edge_ = 0;
  double now_ = 0;

  std::array<Bank, kBanks> banks_;
  bool closed_all_ = false, mode_set_ = false;
  unsigned power_up_refreshes_ = 0, cas_ = 2, length_ = 1;
  uint64_t refreshes_ = 0;
  double refreshed_ = kNever, mode_time_ = kNever, last_activated_ = kNever;

  Burst burst_ = Burst::kNone;
  unsigned burst_bank_ = 0, burst_column_ = 0, burst_left_ = 0;

  // Words on their way to the pins; the first one is output at the next edge.
  struct Word {
    bool valid;
    uint16_t data;
  };
  std::array<Word, 3> pipe_{};
  std::array<uint8_t, 3> masks_{};  // of this edge and the two before it
  bool driving_ = false;
  uint64_t noise_ = 1;
};

}  // namespace ufp4

#endif
