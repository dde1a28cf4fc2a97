// SPDX-License-Identifier: Apache-2.0
// One line per GEMM, columns named by a first line that begins with %, or the same words as JSON
// keys.
#ifndef UFP4_REPORT_H
#define UFP4_REPORT_H

#include "bounds.h"
#include "json.h"
#include "split.h"
#include "ufp4.h"

/** One line. A real column that means nothing here is NaN ("nan", in JSON null). */
typedef struct {
  const char *pass;    ///< "fprop", "dgrad", "wgrad" or "gemm"
  const char *format;  ///< element format, "e1m2"
  int64_t m, n, k;
  double cycles;         ///< of the GEMM job
  double util_percent;   ///< useful MACs of those the array could have done in that time
  double bound_percent;  ///< the most that array, its ports and the memory allow: bounds_percent
  const char *bound_by;  ///< which of them: bounds_by; NULL where that is NaN
  double stall_percent;  ///< cycles in which the array waited or drained
  int64_t mismatches;    ///< -1: nothing was compared
  int cores;             ///< that shared it; 0: it is not said. Then cycles are the longest one's
  const char *split;     ///< how, or NULL
  uint64_t core_cycles[SPLIT_MAX_CORES];  ///< 0: that one had no part
} report_case_t;

/** Fills shape and measured columns from one GEMM's statistics on a device; NaN where the device
 * has no cycles. @param how  all but its sizes, which the statistics have;
 * @param memory  with 0 bytes as wide as the bus */
report_case_t report_case_make(const char *pass, const char *format, const ufp4_gemm_stats_t *stats,
                               const bounds_gemm_t *how, const ufp4_device_info_t *info,
                               bounds_memory_t memory);

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
