// SPDX-License-Identifier: Apache-2.0
// The timing of a memory with banks (base/dram.h), shared by the harness's memory, the timed model
// (memory_timing.h) and a SystemC target.
//
// Requests are split into accesses, which the channels serve in the order of arrival: nothing is
// reordered, but rows are opened and closed in advance for waiting accesses. Rows stay open.
// Addresses are interleaved over the channels every 256 bytes; within a channel over its bank
// groups, one access each, then along a row, then over the banks. A hash prevents strides of powers
// of two, such as the widths of matrices, from using a single channel or bank: the bits of the
// channel's number are XORed with equally spaced bits of the address above them, and those of the
// bank's with the row's. AMD's MI300 does this with HBM3 (drivers/ras/amd/atl of Linux: dehash.c
// has the channel's bits, every seventh from bit 8 on; umc.c the bank's, from the row and as
// registers say); for banks it is permutation-based interleaving (Zhang, Zhu, Zhang, MICRO 2000).
//
// Refresh is REFab, all banks of a (pseudo-)channel, before the first access that begins when it is
// due, and in all channels at once, as in Ramulator 2 (all_bank.cpp, without scatter_interval).
// JEDEC also has REFpb, one bank at a time, which only pays if accesses to other banks overtake
// those to the refreshed bank. Times are in femtoseconds, so that those of every clock are
// integers.
#ifndef UFP4_SIM_DRAM_H
#define UFP4_SIM_DRAM_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/dram.h"

namespace ufp4 {

/** The default length of a cycle, in femtoseconds. */
constexpr uint64_t kNanosecond = 1000000;

inline uint64_t cycle_or_nanosecond(uint64_t cycle_fs) {
  return cycle_fs != 0 ? cycle_fs : kNanosecond;
}

/** Returns an error message if there is no memory @p name; empty if there is, or if none is
 * requested (nullptr, ""). */
inline std::string refuse_dram(const char *name) {
  if (name == nullptr || *name == '\0' || ufp4_find_dram(name).channels != 0) return {};
  return std::string("no memory is called '") + name + "'; there are " UFP4_DRAM_WORDS;
}

class Dram {
 public:
  /** Without channels there is no memory, and nothing may be requested. */
  explicit Dram(const ufp4_dram_t &dram) : d_(dram) {
    Channel channel;
    channel.banks.resize(d_.groups * d_.banks);
    channel.refresh_due = clocks(d_.refresh_interval);
    channels_.resize(d_.channels, channel);
  }

  /** Reads or writes @p bytes, at @p now or as soon as possible. @return the time at which the
   * last of them have been on the pins. Calls must be in the order of time. */
  uint64_t serve(uint64_t now, bool write, uint64_t address, uint64_t bytes) {
    uint64_t end = now;
    const uint64_t first = address / d_.access_bytes;
    const uint64_t last = (address + bytes - 1) / d_.access_bytes;
    for (uint64_t i = first; i <= last; i++) end = std::max(end, access(now, write, i));
    return end;
  }

 private:
  static constexpr uint64_t kTurn = 256;  // bytes before the next channel
  static constexpr uint64_t kClosed = ~uint64_t{0};

  struct Bank {
    uint64_t row = kClosed;
    // Earliest times of the next activate, precharge, read, write.
    uint64_t open = 0, close = 0, read = 0, write = 0;
  };
  struct Channel {
    std::vector<Bank> banks;
    uint64_t opened[4] = {};  // times of the last four activates; 0: never
    uint32_t opened_group = 0;
    uint64_t command = 0;  // the last read or write
    uint32_t command_group = 0;
    bool any = false, wrote = false;
    uint64_t refresh_due = 0;
  };

  uint64_t clocks(uint64_t count) const {
    return count * d_.clock_ps * 1000;
  }

  // Adds the digits of a number to that base without carries, which is XOR if the base is a power
  // of two.
  static uint64_t hash(uint64_t number, uint64_t base) {
    uint64_t sum = number % base;
    if (base == 1) return sum;
    while ((number /= base) != 0) {
      const uint64_t digit = number % base;
      sum = (base & (base - 1)) == 0 ? sum ^ digit : (sum + digit) % base;
    }
    return sum;
  }

  // Serves an access, whose number gives channel, bank and row. @return the time at which it ends.
  uint64_t access(uint64_t now, bool write, uint64_t number) {
    const uint64_t turn = kTurn / d_.access_bytes;
    Channel &channel = channels_[hash(number / turn, d_.channels)];
    const uint64_t own = number / turn / d_.channels * turn + number % turn;
    const uint64_t along = own / d_.groups * d_.access_bytes / d_.row_bytes;
    const uint64_t row = along / d_.banks;
    const uint64_t place =
        (own % d_.groups * d_.banks + along % d_.banks) ^ hash(row, d_.groups * d_.banks);
    Bank &bank = channel.banks[place];
    const uint32_t group = static_cast<uint32_t>(place / d_.banks);
    refresh(channel, std::max(now, channel.command));
    if (bank.row != row) {
      open(channel, bank, group, now);
      bank.row = row;
    }
    const uint64_t at =
        std::max({now, write ? bank.write : bank.read, after(channel, write, group)});
    const uint64_t end = at + clocks((write ? d_.cwl : d_.cl) + d_.burst);
    bank.close = std::max(bank.close, write ? end + clocks(d_.wr) : at + clocks(d_.rtp));
    channel.command = at;
    channel.command_group = group;
    channel.wrote = write;
    channel.any = true;
    return end;
  }

  void open(Channel &channel, Bank &bank, uint32_t group, uint64_t now) {
    uint64_t at = std::max(now, bank.open);
    if (bank.row != kClosed) at = std::max(at, std::max(now, bank.close) + clocks(d_.rp));
    if (channel.opened[3] != 0) {
      const bool same = channel.opened_group == group;
      at = std::max(at, channel.opened[3] + clocks(same ? d_.rrd_same : d_.rrd_other));
    }
    if (channel.opened[0] != 0) at = std::max(at, channel.opened[0] + clocks(d_.faw));
    std::copy(channel.opened + 1, channel.opened + 4, channel.opened);
    channel.opened[3] = at;
    channel.opened_group = group;
    bank.open = at + clocks(d_.rc);
    bank.close = at + clocks(d_.ras);
    bank.read = at + clocks(d_.rcd_read);
    bank.write = at + clocks(d_.rcd_write);
  }

  // Returns when the channel can accept its next command.
  uint64_t after(const Channel &channel, bool write, uint32_t group) const {
    const bool same = channel.command_group == group;
    if (!channel.any) return 0;
    if (channel.wrote == write) {
      return channel.command + clocks(same ? d_.ccd_same : d_.ccd_other);
    }
    if (write) return channel.command + clocks(d_.cl + d_.burst + d_.rtw_gap - d_.cwl);
    return channel.command + clocks(d_.cwl + d_.burst + (same ? d_.wtr_same : d_.wtr_other));
  }

  void refresh(Channel &channel, uint64_t begins) {
    if (begins < channel.refresh_due) return;
    // Among refreshes in idle time, only the last one matters.
    const uint64_t interval = clocks(d_.refresh_interval);
    channel.refresh_due += (begins - channel.refresh_due) / interval * interval;
    uint64_t at = channel.refresh_due;
    for (Bank &bank : channel.banks) {
      at = std::max(at, bank.row == kClosed ? bank.open : bank.close + clocks(d_.rp));
    }
    for (Bank &bank : channel.banks) {
      bank.row = kClosed;
      bank.open = std::max(bank.open, at + clocks(d_.refresh));
    }
    channel.refresh_due += interval;
  }

  ufp4_dram_t d_;
  std::vector<Channel> channels_;
};

}  // namespace ufp4

#endif
