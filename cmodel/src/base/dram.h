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

/** One package. Times in its clocks, but for the clock itself. */
typedef struct {
  const char *name;
  uint32_t channels;      ///< that share nothing: of HBM3 pseudo-channels; 0: there is no memory
  uint32_t groups;        ///< of banks, a channel
  uint32_t banks;         ///< a group
  uint32_t row_bytes;     ///< of a bank
  uint32_t access_bytes;  ///< of a burst on a channel's pins
  uint32_t clock_ps;
  uint32_t burst;                      ///< an access on the pins
  uint32_t cl, cwl;                    ///< command to data, of a read, of a write
  uint32_t rcd_read, rcd_write;        ///< row opened to command
  uint32_t rp, ras, rc;                ///< closed to opened; opened to closed, to opened again
  uint32_t rtp, wr;                    ///< read, and the end of a write's data, to closed
  uint32_t ccd_other, ccd_same;        ///< command to command alike, by group of banks
  uint32_t wtr_other, wtr_same;        ///< end of a write's data to read
  uint32_t rtw_gap;                    ///< on the pins, between read and write
  uint32_t rrd_other, rrd_same, faw;   ///< opened to opened; to the fourth after it
  uint32_t refresh_interval, refresh;  ///< of all banks of a channel
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

/** The bandwidth of its pins, reads and writes together, in bytes a nanosecond. */
static inline double ufp4_dram_bandwidth(const ufp4_dram_t *dram) {
  return 1000.0 * dram->channels * dram->access_bytes / ((double)dram->burst * dram->clock_ps);
}

/** The memory @p name: "hbm3", or with other channels than a package's, 1 to
 * UFP4_DRAM_MAX_CHANNELS, "hbm3:8". @return one without channels if none is called so, or @p name
 * is NULL. */
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
