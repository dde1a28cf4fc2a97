// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/** MACs a cycle. */
static double peak(const ufp4_configuration_t *core) {
  return (double)core->lanes * core->rows * core->cols;
}

static double percent(uint64_t part, double whole) {
  return 100.0 * (double)part / whole;
}

// Other backends have a real memory.
static int is_simulated(const char *backend) {
  return strcmp(backend, "rtl") == 0 || strcmp(backend, "tlm") == 0 ||
         strncmp(backend, "systemc", 7) == 0;
}

report_case_t report_case_make(const char *pass, const char *format, const ufp4_gemm_stats_t *stats,
                               const bounds_gemm_t *how, const ufp4_device_info_t *info,
                               bounds_memory_t memory) {
  report_case_t line = {.pass = pass,
                        .format = format,
                        .m = stats->m,
                        .n = stats->n,
                        .k = stats->k,
                        .mismatches = -1};
  line.cycles = line.util_percent = line.bound_percent = line.stall_percent = NAN;
  if (!info->has_cycles || stats->cycles == 0) return line;
  const ufp4_configuration_t *core = &info->configuration;
  if (!is_simulated(info->backend)) memory = (bounds_memory_t){0};
  if (memory.bytes == 0 || memory.bytes > core->bus_bytes) memory.bytes = core->bus_bytes;
  const uint64_t *counters = stats->counters;
  uint64_t stalls = counters[UFP4_COUNTER_STALL_OPERAND] + counters[UFP4_COUNTER_STALL_PANEL] +
                    counters[UFP4_COUNTER_STALL_ACCUMULATOR] + counters[UFP4_COUNTER_STALL_DRAIN];
  line.cycles = (double)stats->cycles;
  line.util_percent =
      100.0 * (double)stats->m * (double)stats->n * (double)stats->k / (peak(core) * line.cycles);
  bounds_gemm_t gemm = *how;
  gemm.m = stats->m, gemm.n = stats->n, gemm.k = stats->k;
  const bounds_t bounds = bounds_of(core, memory, &gemm);
  line.bound_percent = bounds_percent(core, &bounds, &gemm);
  line.bound_by = bounds_by(&bounds);
  line.stall_percent = percent(stalls, line.cycles);
  return line;
}

const char *report_verdict(int64_t mismatches) {
  return mismatches < 0 ? "-" : mismatches == 0 ? "equal" : "DIFFERENT";
}

static json_t *integer_or_null(double value) {
  return isnan(value) ? json_null() : json_integer((json_int_t)value);
}

static void add_cores(json_t *object, const report_case_t *line) {
  json_t *cycles = json_array();
  for (int i = 0; i < line->cores && !isnan(line->cycles); i++)
    json_array_append_new(cycles, json_integer((json_int_t)line->core_cycles[i]));
  json_object_set_new(object, "cores", json_integer(line->cores));
  json_object_set_new(object, "split",
                      line->split != NULL ? json_string(line->split) : json_null());
  json_object_set_new(object, "core_cycles", cycles);
}

static json_t *case_object(const report_case_t *line) {
  json_t *object =
      json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:s?, s:o, s:o, s:s}", "pass", line->pass,
                "format", line->format, "m", (json_int_t)line->m, "n", (json_int_t)line->n, "k",
                (json_int_t)line->k, "cycles", integer_or_null(line->cycles), "util_percent",
                json_real_or_null(line->util_percent), "bound_percent",
                json_real_or_null(line->bound_percent), "bound_by", line->bound_by, "stall_percent",
                json_real_or_null(line->stall_percent), "mismatches",
                integer_or_null(line->mismatches < 0 ? NAN : (double)line->mismatches), "verdict",
                report_verdict(line->mismatches));
  if (line->cores > 0) add_cores(object, line);
  return object;
}

static void print_cores(const report_case_t *line) {
  printf(" %s ", line->split != NULL ? line->split : "-");
  for (int i = 0; i < line->cores && !isnan(line->cycles); i++)
    printf("%s%" PRIu64, i == 0 ? "" : ",", line->core_cycles[i]);
  if (isnan(line->cycles)) fputs("-", stdout);
}

// The widths are those of the column names.
static void print_case(const report_case_t *line) {
  printf("  %-5s %-6s %4" PRId64 " %4" PRId64 " %4" PRId64 " ", line->pass, line->format, line->m,
         line->n, line->k);
  if (isnan(line->cycles)) {
    printf("%7s %12s %13s %8s %13s ", "-", "-", "-", "-", "-");
  } else {
    printf("%7.0f %12.1f %13.1f %8s %13.1f ", line->cycles, line->util_percent, line->bound_percent,
           line->bound_by, line->stall_percent);
  }
  if (line->mismatches < 0) {
    printf("%10s ", "-");
  } else {
    printf("%10" PRId64 " ", line->mismatches);
  }
  fputs(report_verdict(line->mismatches), stdout);
  if (line->cores > 0) print_cores(line);
  putchar('\n');
  fflush(stdout);
}

void report_begin(json_t *json, int cores) {
  if (json == NULL) {
    printf(
        "%% pass format m n k cycles util_percent bound_percent bound_by stall_percent mismatches "
        "verdict%s\n",
        cores > 1 ? " split core_cycles" : "");
  } else {
    json_object_set_new(json, "cases", json_array());
  }
}

void report_case(json_t *json, const report_case_t *line) {
  if (json == NULL) {
    print_case(line);
  } else {
    json_array_append_new(json_object_get(json, "cases"), case_object(line));
  }
}

static const char *const counter_names[] = UFP4_COUNTER_NAMES;

static void print_counters(const ufp4_gemm_stats_t *stats, double seconds, double macs) {
  printf("%% counter value percent_of_cycles\n");
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) {
    printf("  %-18s %10" PRIu64, counter_names[i], stats->counters[i]);
    if (i < UFP4_COUNTER_READ_BEATS) {
      printf(" %6.1f", percent(stats->counters[i], (double)stats->counters[UFP4_COUNTER_CYCLES]));
    }
    putchar('\n');
  }
  printf("%% simulator_cpu_seconds cycles_per_second mmacs_per_second\n  %.3f %.0f %.1f\n", seconds,
         (double)stats->cycles / seconds, 1e-6 * macs / seconds);
}

void report_counters(json_t *json, const ufp4_gemm_stats_t *stats, double seconds) {
  double macs = (double)stats->m * (double)stats->n * (double)stats->k;
  if (json == NULL) {
    print_counters(stats, seconds, macs);
    return;
  }
  json_t *all = json_object();
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) {
    json_object_set_new(all, counter_names[i], json_integer((json_int_t)stats->counters[i]));
  }
  json_object_set_new(all, "simulator_cpu_seconds", json_real_or_null(seconds));
  json_object_set_new(all, "cycles_per_second", json_real_or_null((double)stats->cycles / seconds));
  json_object_set_new(all, "mmacs_per_second", json_real_or_null(1e-6 * macs / seconds));
  json_object_set_new(json, "counters", all);
}
