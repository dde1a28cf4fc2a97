// SPDX-License-Identifier: Apache-2.0
// One line per GEMM, columns named by a first line that begins with %, or the same words as JSON
// keys.
#ifndef UFP4_REPORT_H
#define UFP4_REPORT_H

#include "json.h"
#include "split.h"
#include "ufp4.h"

/** One line. A real column that means nothing here is NaN ("nan", in JSON null). */
typedef struct {
  const char *pass;    ///< "fprop", "dgrad", "wgrad" or "gemm"
  const char *format;  ///< element format, "e1m2"
  int64_t m, n, k;
  double cycles;        ///< of the GEMM job
  double util_percent;  ///< useful MACs of those the array could have done in that time
  double
      bound_percent;  ///< the most that array and memory bandwidth allow, see report_bound_percent
  double stall_percent;  ///< cycles in which the array waited or drained
  int64_t mismatches;    ///< -1: nothing was compared
  int cores;             ///< that shared it; 0: it is not said. Then cycles are the longest one's
  const char *split;     ///< how, or NULL
  uint64_t core_cycles[SPLIT_MAX_CORES];  ///< 0: that one had no part
} report_case_t;

/** Fills shape and measured columns from one GEMM's statistics on a device, D of @p d_bytes an
 * element; NaN where the device has no cycles. */
report_case_t report_case_make(const char *pass, const char *format, const ufp4_gemm_stats_t *stats,
                               unsigned d_bytes, const ufp4_device_info_t *info,
                               unsigned mem_bandwidth);

/** Cycles that one thing alone would need for a GEMM, D of @p d_bytes an element. */
typedef struct {
  double compute;      ///< for every macro-tile its sub-tiles times ceil(k/16)
  double read, write;  ///< as in report_bound_percent
  double output;       ///< the drain: for every row of D a cycle a sub-tile
} report_bounds_t;
report_bounds_t report_bounds(const ufp4_configuration_t *configuration, unsigned bytes,
                              unsigned d_bytes, int64_t m, int64_t n, int64_t k);

/** 100 useful / (MACs a cycle * max(compute, read, write)), in cycles: compute = for every
 * macro-tile its sub-tiles times ceil(k/16); read = 144 bytes for every panel unit of A and of B of
 * every macro-tile, and write = m rows of D in whole beats of the bus, both by @p bytes a cycle;
 * sums and C that are added are not in it. Edge tiles count as what they compute and read; first
 * load and last drain do not. */
double report_bound_percent(const ufp4_configuration_t *configuration, unsigned bytes,
                            unsigned d_bytes, int64_t m, int64_t n, int64_t k);

// Text where @p json is NULL, else values of that object.

/** Prints the % line, with the columns of several cores or without, or adds the list "cases". */
void report_begin(json_t *json, int cores);
/** "equal" for 0 mismatches, "DIFFERENT" for more, "-" for -1: nothing was compared. */
const char *report_verdict(int64_t mismatches);
/** Prints one line, or adds one object to the list. */
void report_case(json_t *json, const report_case_t *line);
/** Prints, or adds as "counters", where the cycles of one GEMM went and how fast they were
 * simulated, in @p seconds of CPU. */
void report_counters(json_t *json, const ufp4_gemm_stats_t *stats, double seconds);

#endif
