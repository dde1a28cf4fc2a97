// SPDX-License-Identifier: Apache-2.0
// Memories with banks, row buffers and refresh, by name. Their timings are those of Ramulator 2
// (github.com/CMU-SAFARI/ramulator2, python/ramulator/dram, commit 0aba1928): LPDDR5_6400 with
// LPDDR5_8Gb_x16, and HBM3_6400Mbps with HBM3_8Gb. JESD209-5B has the former; JESD238 leaves most
// of the latter to vendors. How they are used: sim/src/dram.h.
#ifndef UFP4_DRAM_H
#define UFP4_DRAM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/** Parameters of one package. Times are in clock cycles except clock_ps. */
typedef struct {
  const char *name;
  uint32_t channels;      ///< independent channels (HBM3: pseudo-channels); 0: no memory
  uint32_t groups;        ///< bank groups per channel
  uint32_t banks;         ///< banks per group
  uint32_t row_bytes;     ///< bytes of a bank's row
  uint32_t access_bytes;  ///< bytes of a burst on a channel's pins
  uint32_t clock_ps;
  uint32_t burst;                      ///< duration of a burst on the pins
  uint32_t cl, cwl;                    ///< read or write command to data
  uint32_t rcd_read, rcd_write;        ///< activate to read, to write
  uint32_t rp, ras, rc;                ///< precharge to activate; activate to precharge, to
                                       ///< activate
  uint32_t rtp, wr;                    ///< read to precharge; end of write data to precharge
  uint32_t ccd_other, ccd_same;        ///< command to the same command, in another or the same
                                       ///< group
  uint32_t wtr_other, wtr_same;        ///< end of write data to read, by the group as ccd
  uint32_t rtw_gap;                    ///< gap on the pins between read and write data
  uint32_t rrd_other, rrd_same, faw;   ///< activate to activate, by the group as ccd; window of
                                       ///< four activates
  uint32_t refresh_interval, refresh;  ///< interval and duration of a channel's refresh
} ufp4_dram_t;

#define UFP4_DRAM_COUNT 2
#define UFP4_DRAM_MAX_CHANNELS 1024
#define UFP4_DRAM_WORDS "lpddr5 and hbm3, or as hbm3:8 with 1 to 1024 channels"
// clang-format off
#define UFP4_DRAMS                                                                         \
  {{"lpddr5", 4, 4, 4, 2048, 32, 1250, 2, 17, 9, 15, 15, 15, 34, 49, 8, 28,                \
    2, 4, 5, 10, 2, 4, 4, 16, 3125, 168},                                                  \
   {"hbm3", 32, 4, 4, 1024, 32, 625, 2, 26, 8, 26, 14, 26, 48, 74, 6, 24,                  \
    2, 4, 8, 12, 2, 8, 8, 24, 6240, 560}}
// clang-format on

/** Returns the bandwidth of the pins, shared by reads and writes, in bytes per nanosecond. */
static inline double ufp4_dram_bandwidth(const ufp4_dram_t *dram) {
  return 1000.0 * dram->channels * dram->access_bytes / ((double)dram->burst * dram->clock_ps);
}

/** Finds the memory @p name: "hbm3", or "hbm3:8" with another number of channels, 1 to
 * UFP4_DRAM_MAX_CHANNELS. @return a memory without channels if there is none of this name, or @p
 * name is NULL. */
static inline ufp4_dram_t ufp4_find_dram(const char *name) {
  static const ufp4_dram_t all[UFP4_DRAM_COUNT] = UFP4_DRAMS;
  ufp4_dram_t none;
  memset(&none, 0, sizeof none);
  const size_t length = name != NULL ? strcspn(name, ":") : 0;
  for (int i = 0; length != 0 && i < UFP4_DRAM_COUNT; i++) {
    ufp4_dram_t found = all[i];
    if (strlen(found.name) != length || strncmp(found.name, name, length) != 0) continue;
    if (name[length] == '\0') return found;
    char *end;
    const unsigned long channels = strtoul(name + length + 1, &end, 10);
    if (name[length + 1] < '1' || name[length + 1] > '9' || *end != '\0') return none;
    found.channels = (uint32_t)channels;
    return channels <= UFP4_DRAM_MAX_CHANNELS ? found : none;
  }
  return none;
}

#endif
