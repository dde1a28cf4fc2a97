// SPDX-License-Identifier: Apache-2.0
// Writes DIR/explore.json: data of the cases that explore.csv lacks, from which drivers/python/ufp4
// draws the page.
#include <math.h>
#include <string.h>

#include "explore/jobs/jobs.h"

static json_t *case_object(const explore_case_t *one, const explore_row_t *step) {
  const ufp4_configuration_t *core = &one->core;
  const double bandwidth = explore_dram_bandwidth(one);
  return json_pack("{s:o, s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:I, s:f, s:o, s:o}", "recipe",
                   json_text(one->recipe.name), "config", core->name, "peak",
                   (int)(one->cores * core->lanes * core->rows * core->cols), "bus_bytes",
                   (int)core->bus_bytes, "bytes_per_cycle", (int)explore_bytes_per_cycle(one),
                   "mem_bandwidth", (int)one->mem_bandwidth, "mem_latency", (int)one->mem_latency,
                   "dram", one->dram[0] != '\0' ? json_string(one->dram) : json_null(), "tokens",
                   (json_int_t)one->tokens, "clock_mhz", one->clock_mhz, "dram_bandwidth",
                   json_real_or_null(bandwidth), "array_busy",
                   json_real_or_null(step->counters[UFP4_COUNTER_ARRAY_BUSY]));
}

json_t *explore_document(const explore_plan_t *plan, const explore_rows_t *rows) {
  char version[32];
  json_t *cases = json_array();
  snprintf(version, sizeof version, "%d.%d.%d", UFP4_VERSION_MAJOR, UFP4_VERSION_MINOR,
           UFP4_VERSION_PATCH);
  for (int i = 0; i < rows->count; i++) {
    const explore_row_t *row = &rows->rows[i];
    if (row->pass == EXPLORE_ALL && strcmp(row->layer, "step") == 0)
      json_array_append_new(cases, case_object(row->of, row));
  }
  return json_pack("{s:o, s:s, s:o, s:I, s:b, s:o}", "command", json_text(plan->words), "version",
                   version, "model", json_text(plan->model.name), "blocks",
                   (json_int_t)plan->model.blocks, "serial", plan->serial, "cases", cases);
}
