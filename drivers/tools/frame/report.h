// SPDX-License-Identifier: Apache-2.0
// One line per GEMM, with column names in a first line that begins with %, or as JSON keys.
#ifndef UFP4_REPORT_H
#define UFP4_REPORT_H

#include "bounds.h"
#include "json.h"
#include "split.h"
#include "ufp4.h"

/** A line. A real column without a meaning is NaN, printed as "-", in JSON null. */
typedef struct {
  const char *pass;    ///< "fprop", "dgrad", "wgrad" or "gemm"
  const char *format;  ///< element format, "e1m2"
  int64_t m, n, k;
  double cycles;         ///< of the GEMM job
  double util_percent;   ///< useful MACs as a share of those that the array could do in that time
  double bound_percent;  ///< upper limit of it by array, ports and memory: bounds_percent
  const char *bound_by;  ///< the limiting part: bounds_by; NULL if it is NaN
  double stall_percent;  ///< share of cycles in which the array waited or drained
  int64_t mismatches;    ///< -1: not compared
  int cores;          ///< cores that shared the GEMM, of which cycles is the longest one's; 0: not
                      ///< shown
  const char *split;  ///< how they shared it, or NULL
  uint64_t core_cycles[SPLIT_MAX_CORES];  ///< 0: the core had no part
} report_case_t;

/** Fills in shape and measurements from one GEMM's statistics; NaN if the device has no cycles.
 *  @param how everything but the sizes, which the statistics contain
 *  @param memory with 0 bytes it is as wide as the bus */
report_case_t report_case_make(const char *pass, const char *format, const ufp4_gemm_stats_t *stats,
                               const bounds_gemm_t *how, const ufp4_device_info_t *info,
                               bounds_memory_t memory);

// Prints text if @p json is NULL, otherwise adds values to that object.

/** Prints the % line, with or without the columns of several cores, or adds the list "cases". */
void report_begin(json_t *json, int cores);
/** Returns "equal" for 0 mismatches, "DIFFERENT" for more, "-" for -1 (not compared). */
const char *report_verdict(int64_t mismatches);
/** Prints a line, or adds an object to the list. */
void report_case(json_t *json, const report_case_t *line);
/** Prints, or adds as "counters", the distribution of a GEMM's cycles and the simulation speed,
 * given @p seconds of CPU. */
void report_counters(json_t *json, const ufp4_gemm_stats_t *stats, double seconds);

#endif
