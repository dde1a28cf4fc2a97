// SPDX-License-Identifier: Apache-2.0
// Tests memories with banks: the times of accesses equal those worked out by hand from the table of
// timings.
#include "dram.h"

extern "C" {
#include "check.h"
}

namespace {

using ufp4::Dram;

constexpr uint64_t kTurn = 256;  // bytes in a channel before the next channel's turn

const ufp4_dram_t all[UFP4_DRAM_COUNT] = UFP4_DRAMS;

uint64_t clocks(const ufp4_dram_t &d, uint64_t count) {
  return count * d.clock_ps * 1000;
}

// Returns the address of that turn of the first channel. Each bit of the turn's number moves the
// address to another channel, and the lowest bits undo that.
uint64_t turn_of_first(const ufp4_dram_t &d, uint64_t turn) {
  unsigned bits = 0;
  while (uint64_t{1} << bits < d.channels) bits++;
  uint64_t moved = 0;
  for (unsigned i = 0; turn >> i != 0; i++) moved ^= (turn >> i & 1) << i % bits;
  return (turn * d.channels + moved) * kTurn;
}

// Addresses in the first channel: its first access, another row of the same bank, another bank of
// the group. Row 17 is in the bank of row 0, because both digits of 17 to base 16 are 1.
uint64_t first(const ufp4_dram_t &) {
  return 0;
}
uint64_t other_row(const ufp4_dram_t &d) {
  return turn_of_first(d, uint64_t{d.row_bytes} * d.groups * d.banks / kTurn * 17);
}
uint64_t other_bank(const ufp4_dram_t &d) {
  return turn_of_first(d, uint64_t{d.row_bytes} * d.groups / kTurn);
}

void check_time(const ufp4_dram_t &d, uint64_t got, uint64_t want_clocks, const char *what) {
  check_bits(d.clock_ps, got, clocks(d, want_clocks), "%s of %s", what, d.name);
}

}  // namespace

TEST(rows_open_stay_open_and_close) {
  for (const ufp4_dram_t &d : all) {
    Dram dram(d);
    const uint64_t data = d.cl + d.burst;
    check_time(d, dram.serve(0, false, first(d), 1), d.rcd_read + data, "a read of a closed row");
    const uint64_t later = 2 * d.rc;
    const uint64_t now = clocks(d, later);
    check_time(d, dram.serve(now, false, first(d), d.access_bytes), later + data, "of an open one");
    check_time(d, dram.serve(now, false, other_row(d), 1), later + d.rtp + d.rp + d.rcd_read + data,
               "of another row of the bank");
    check_time(d, dram.serve(2 * now, false, other_bank(d), 1), 2 * later + d.rcd_read + data,
               "of another bank");
  }
}

/** A row stays open for its minimum time before it closes. */
TEST(rows_close_not_too_early) {
  for (const ufp4_dram_t &d : all) {
    Dram reads(d), writes(d);
    const uint64_t again = d.rcd_read + d.cl + d.burst;
    reads.serve(0, false, first(d), 1);
    check_time(d, reads.serve(0, false, other_row(d), 1), d.ras + d.rp + again, "two rows read");
    writes.serve(0, true, first(d), 1);
    const uint64_t written = d.rcd_write + d.cwl + d.burst + d.wr;
    check_time(d, writes.serve(0, false, other_row(d), 1),
               (written > d.ras ? written : d.ras) + d.rp + again, "one written, one read");
  }
}

TEST(the_bus_turns) {
  for (const ufp4_dram_t &d : all) {
    Dram dram(d);
    const uint64_t later = 2 * d.rc,
                   group = first(d) + d.access_bytes;  // the next access is in another group
    dram.serve(0, false, first(d), kTurn);
    check_time(d, dram.serve(clocks(d, later), true, first(d), 1), later + d.cwl + d.burst,
               "a write");
    check_time(d, dram.serve(clocks(d, later), false, first(d), 1),
               later + d.cwl + d.burst + d.wtr_same + d.cl + d.burst, "a read of its group");
    dram.serve(clocks(d, 2 * later), true, first(d), 1);
    check_time(d, dram.serve(clocks(d, 2 * later), false, group, 1),
               2 * later + d.cwl + d.burst + d.wtr_other + d.cl + d.burst, "of another group");
    check_time(
        d, dram.serve(clocks(d, 2 * later), true, first(d), 1),
        2 * later + 2 * d.cwl + 2 * d.burst + d.wtr_other + d.cl + d.burst + d.rtw_gap - d.cwl,
        "a write after it");
  }
}

/** Adjacent accesses are in different groups. */
TEST(a_channel_reads_along_its_rows_without_a_gap) {
  for (const ufp4_dram_t &d : all) {
    Dram dram(d);
    const uint64_t turns = uint64_t{d.row_bytes} * d.groups / kTurn;
    const uint64_t accesses = uint64_t{d.row_bytes} * d.groups / d.access_bytes;
    const uint64_t opened = d.rcd_read + 3 * d.rrd_other;  // the rows of all groups open first;
                                                           // nothing waits after that
    uint64_t took = 0;
    for (uint64_t i = 0; i < turns; i++) {
      took = dram.serve(0, false, turn_of_first(d, i), kTurn);
    }
    check_that(d.clock_ps,
               took >= clocks(d, accesses * d.burst) &&
                   took <= clocks(d, accesses * d.burst + opened + d.cl + d.burst),
               "%llu fs for %llu accesses of %s", static_cast<unsigned long long>(took),
               static_cast<unsigned long long>(accesses), d.name);
  }
}

TEST(four_rows_are_opened_in_a_window) {
  for (const ufp4_dram_t &d : all) {
    Dram dram(d);
    // The test starts late, because time 0 means never.
    const uint64_t now = clocks(d, d.rc);
    for (uint64_t i = 0; i < 4; i++) dram.serve(now, false, first(d) + i * d.access_bytes, 1);
    check_time(
        d, dram.serve(now, false, other_bank(d), 1),
        d.rc + (d.faw > 4 * d.rrd_other ? d.faw : 4 * d.rrd_other) + d.rcd_read + d.cl + d.burst,
        "the fifth");
  }
}

TEST(refresh_closes_all_rows_of_a_channel) {
  for (const ufp4_dram_t &d : all) {
    Dram dram(d);
    const uint64_t data = d.cl + d.burst, due = d.refresh_interval;
    dram.serve(0, false, first(d), 1);
    check_time(d, dram.serve(clocks(d, due - 1), false, first(d), 1), due - 1 + data,
               "just before");
    check_time(d, dram.serve(clocks(d, due), false, first(d), 1),
               due + d.rtp - 1 + d.rp + d.refresh + d.rcd_read + data, "one that is due");
    // Refreshes that became due while the memory was idle are over.
    const uint64_t later = 10 * due + d.refresh + 1;
    check_time(d, dram.serve(clocks(d, later), false, first(d), 1), later + d.rcd_read + data,
               "much later");
  }
}

TEST(refresh_comes_to_all_channels_at_once) {
  for (const ufp4_dram_t &d : all) {
    Dram dram(d);
    const uint64_t due = d.refresh_interval;
    for (uint64_t i = 0; i < d.channels; i++) {
      check_time(d, dram.serve(clocks(d, due), false, i * kTurn, 1),
                 due + d.refresh + d.rcd_read + d.cl + d.burst, "one that is due");
    }
  }
}

/** As many addresses as there are channels, any power of two from a turn upwards apart, reach all
 * channels. */
TEST(rows_of_a_matrix_reach_all_channels) {
  for (const ufp4_dram_t &d : all) {
    for (uint64_t stride = kTurn; stride <= uint64_t{1} << 30; stride *= 2) {
      Dram dram(d);
      for (uint64_t i = 0; i < d.channels; i++) {
        check_time(d, dram.serve(0, false, i * stride, 1), d.rcd_read + d.cl + d.burst,
                   "a channel of its own");
      }
    }
  }
}

/** As many rows as there are banks would all be in one bank without the hash. */
TEST(rows_a_power_of_two_apart_are_in_all_banks) {
  for (const ufp4_dram_t &d : all) {
    Dram dram(d);
    const uint64_t banks = uint64_t{d.groups} * d.banks, turns = d.row_bytes * banks / kTurn;
    uint64_t took = 0;
    for (uint64_t row = 0; row < banks; row++) {
      took = dram.serve(0, false, turn_of_first(d, row * turns), 1);
    }
    check_that(
        d.clock_ps,
        took < clocks(d, banks * (d.faw > 4 * d.rrd_same ? d.faw : 4 * d.rrd_same) / 4 + d.rc),
        "%s: %llu fs for a row of each bank", d.name, static_cast<unsigned long long>(took));
    check_time(d, dram.serve(clocks(d, 1000), false, turn_of_first(d, 0), 1), 1000 + d.cl + d.burst,
               "the first one, which is still open");
  }
}

/** If the number of channels is not a power of two, the hash adds the digits. */
TEST(any_number_of_channels_is_reached) {
  for (const char *name : {"hbm3:24", "hbm3:12", "lpddr5:6", "hbm3:33"}) {
    const ufp4_dram_t d = ufp4_find_dram(name);
    Dram dram(d);
    uint64_t lone = 0;
    for (uint64_t i = 0; i < d.channels; i++) {
      lone +=
          dram.serve(0, false, i * d.channels * kTurn, 1) == clocks(d, d.rcd_read + d.cl + d.burst);
    }
    check_bits(d.channels, lone, d.channels, "channels of %s that rows a round apart reach", name);
  }
}

/** An access to one channel does not delay another channel. */
TEST(channels_share_nothing) {
  for (const ufp4_dram_t &d : all) {
    Dram dram(d);
    const uint64_t one = dram.serve(0, false, 0, 1);
    for (uint64_t i = 1; i < d.channels; i++) {
      check_bits(static_cast<int64_t>(i), dram.serve(0, false, i * kTurn, 1), one, "channel of %s",
                 d.name);
    }
  }
}

TEST(rejects_an_unknown_name) {
  for (const char *name : {"ddr9", "hbm", "hbm33", "", "hbm3:", "hbm3:0", "hbm3:+8", "hbm3:8x",
                           "hbm3:1025", "hbm3:99999999999999999999", ":8"}) {
    check_that(0, ufp4_find_dram(name).channels == 0, "there is one called '%s'", name);
  }
  check_bits(1, ufp4_find_dram("hbm3").channels, 32, "channels of a package");
  check_bits(2, ufp4_find_dram("hbm3:1024").channels, 1024, "channels that were asked for");
}
