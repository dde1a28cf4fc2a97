// SPDX-License-Identifier: Apache-2.0
// The clock of a case: the one requested, or that of its core, taken from measurements of the core
// of size small by contract and QUANT.
#include <math.h>
#include <string.h>

#include "explore/costs/asap7.h"
#include "explore/options/options.h"

/** A core: its row of docs/results/silicon.csv, and its longest path. */
typedef struct {
  const char *name;
  double ns;
} core_t;

enum { CORES = 4 };
static const core_t cores[CORES] = ASAP7_CORES;

// Contracts fp32 and nv have rows only with QUANT, because their longest path is in the array.
static const core_t *core_of(const ufp4_configuration_t *core) {
  static const char *const contracts[UFP4_CONTRACT_COUNT] = {"core", "core_fp32", "core_nv"};
  const int alone = core->contract == UFP4_CONTRACT_EXACT && core->quant == 0;
  const char *name = alone ? "core_no_quant" : contracts[core->contract];
  for (int i = 0; i < CORES; i++) {
    if (strcmp(cores[i].name, name) == 0) return &cores[i];
  }
  return NULL;
}

int explore_clock(const explore_plan_t *plan, explore_case_t *one) {
  one->clock_mhz = plan->clock_mhz != 0 ? plan->clock_mhz : 1e3 / core_of(&one->core)->ns;
  if (explore_cycle_fs(one) <= UFP4_CYCLE_FS_MAX) return CLI_GO_ON;
  return cli_fail(&cli_explore, CLI_USAGE, "--dram %s needs a --clock-mhz of 10 or more",
                  one->dram);
}

uint64_t explore_cycle_fs(const explore_case_t *of) {
  return of->dram[0] != '\0' ? (uint64_t)llround(1e9 / of->clock_mhz) : 0;
}

double explore_seconds(const explore_case_t *of, double cycles) {
  return cycles / of->clock_mhz / 1e6;
}

void explore_print_clocks(const explore_plan_t *plan) {
  for (int i = 0; i < CORES && plan->clock_mhz == 0; i++) {
    int cases = 0;
    for (int c = 0; c < plan->case_count; c++) {
      const explore_case_t *one = &plan->cases[c];
      cases += one->reason[0] == '\0' && core_of(&one->core) == &cores[i];
    }
    if (cases == 0) continue;
    printf("%% clock %.1f MHz: %s in ASAP7, %.2f ns, measured on the size small without wires;",
           1e3 / cores[i].ns, cores[i].name, cores[i].ns);
    printf(" --clock-mhz sets another\n");
  }
}
