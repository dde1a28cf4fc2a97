// SPDX-License-Identifier: Apache-2.0
// Memories with banks: what their accesses take, worked out from the table of timings by hand.
#include "dram.h"

extern "C" {
#include "check.h"
}

namespace {

using ufp4::Dram;

constexpr uint64_t kTurn = 256;  // bytes of a channel before the next one's

const ufp4_dram_t all[UFP4_DRAM_COUNT] = UFP4_DRAMS;

uint64_t clocks(const ufp4_dram_t &d, uint64_t count) {
  return count * d.clock_ps * 1000;
}

// The first access of the channel that is refreshed last, not before all that is measured here; of
// another row of its bank; of another bank of its group.
uint64_t first(const ufp4_dram_t &d) {
  return (d.channels - 1) * kTurn;
}
uint64_t other_row(const ufp4_dram_t &d) {
  return first(d) + uint64_t{d.row_bytes} * d.groups * d.banks * d.channels;
}
uint64_t other_bank(const ufp4_dram_t &d) {
  return first(d) + uint64_t{d.row_bytes} * d.groups * d.channels;
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

/** A row is open for its time before it closes. */
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
                   group = first(d) + d.access_bytes;  // the next access is another group's
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

/** Of the accesses that follow each other each is of another group. */
TEST(a_channel_reads_along_its_rows_without_a_gap) {
  for (const ufp4_dram_t &d : all) {
    Dram dram(d);
    const uint64_t turns = uint64_t{d.row_bytes} * d.groups / kTurn;
    const uint64_t accesses = uint64_t{d.row_bytes} * d.groups / d.access_bytes;
    const uint64_t opened = d.rcd_read + 3 * d.rrd_other;  // all groups' rows, then nothing waits
    uint64_t took = 0;
    for (uint64_t i = 0; i < turns; i++) {
      took = dram.serve(0, false, first(d) + i * kTurn * d.channels, kTurn);
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
    // Later, since 0 is taken for never.
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
    // Those that came while nothing was asked for are over.
    const uint64_t later = 10 * due + d.refresh + 1;
    check_time(d, dram.serve(clocks(d, later), false, first(d), 1), later + d.rcd_read + data,
               "much later");
  }
}

/** What one channel does another one does not see. */
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
