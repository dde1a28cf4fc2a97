// SPDX-License-Identifier: Apache-2.0
// Joules and um2 of a step, from rows of ./ufp4 ppa and from counts: PEs by their MACs, QUANT by
// its area.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "explore/costs/asap7.h"
#include "explore/costs/costs.h"
#include "explore/jobs/jobs.h"

enum { UNITS = sizeof asap7 / sizeof *asap7, BLOCK = 16 };

// --- Rows of ppa --------------------------------------------------------------------------------

static double number_of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) && json_number_value(value) >= 0 ? json_number_value(value)
                                                                : (double)NAN;
}

static int says(const json_t *object, const char *key, const char *word) {
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL && strcmp(text, word) == 0;
}

// An energy of a unit: per MAC on data of one pass, or per cycle of a lane without load.
static void read_energy(const json_t *energy, explore_unit_t *unit) {
  const double fj = number_of(energy, "energy_fj");
  if (says(energy, "data", "fprop") && says(energy, "load", "none")) {
    unit->idle = fj;
    unit->clock_pins = number_of(energy, "clock_pins_fj");
  }
  if (!says(energy, "load", "full")) return;
  for (int i = 0; i < UFP4_ELEM_KINDS; i++) {
    if (!says(energy, "elements", elem_names[i])) continue;
    if (says(energy, "data", "fprop")) unit->fprop[i] = fj;
    if (says(energy, "data", "wgrad")) unit->wgrad[i] = fj;
  }
}

static void read_unit(const json_t *row, explore_unit_t *unit) {
  const json_t *energy;
  size_t i;
  unit->um2 = number_of(row, "area_um2");
  json_array_foreach(json_object_get(row, "energy"), i, energy) read_energy(energy, unit);
}

// The built-in table of units, with the values of the file.
static int read_rows(const char *path, const json_t *json, explore_ppa_t *ppa) {
  const json_t *row;
  size_t at;
  int found = 0;
  for (int i = 0; i < UNITS; i++) {
    explore_unit_t *unit = &ppa->units[i];
    *unit = (explore_unit_t){.name = asap7[i].name, .um2 = NAN, .idle = NAN, .clock_pins = NAN};
    for (int e = 0; e < UFP4_ELEM_KINDS; e++) unit->fprop[e] = unit->wgrad[e] = NAN;
    json_array_foreach(json_object_get(json, "rows"), at, row) {
      if (!says(row, "unit", unit->name)) continue;
      read_unit(row, unit);
      found |= strncmp(unit->name, "pe", 2) == 0 && isfinite(unit->um2);
    }
  }
  if (found) return CLI_GO_ON;
  return cli_fail(&cli_explore, CLI_USAGE,
                  "--ppa: %s has no row of a PE; make one with ./ufp4 ppa --energy -o DIR, which "
                  "writes DIR/ppa.json",
                  path);
}

static int read_file(const char *path, explore_ppa_t *ppa) {
  json_error_t error;
  json_t *json = json_load_file(path, 0, &error);
  if (json == NULL) {
    const int there = json_error_code(&error) != json_error_cannot_open_file;
    return cli_fail(&cli_explore, CLI_USAGE, "--ppa: %s: %.100s%s", path, error.text,
                    there ? "" : "; it must be asap7, which is built in, or a file");
  }
  const char *name = json_string_value(json_object_get(json_object_get(json, "library"), "name"));
  const char *flow = json_string_value(json_object_get(json, "flow"));
  snprintf(ppa->name, sizeof ppa->name, "%.60s, %.40s", name != NULL ? name : path,
           flow != NULL ? flow : "no flow");
  if (isnan(ppa->bit_um2)) ppa->bit_um2 = number_of(json_object_get(json, "library"), "bit_um2");
  const int end = read_rows(path, json, ppa);
  json_decref(json);
  return end;
}

int explore_ppa(const char *path, float byte_pj, float bit_um2, float bit_fj,
                explore_plan_t *plan) {
  explore_ppa_t *ppa = &plan->ppa;
  ppa->byte_pj = (double)byte_pj;
  ppa->bit_um2 = bit_um2 > 0 ? (double)bit_um2 : ASAP7_BIT_UM2;
  ppa->bit_fj = bit_fj > 0 ? (double)bit_fj : ASAP7_BIT_FJ;
  if (path == NULL) return CLI_GO_ON;
  ppa->text = path;
  if (strcmp(path, "asap7") != 0) {
    if (bit_um2 <= 0) ppa->bit_um2 = NAN;
    if (bit_fj <= 0) ppa->bit_fj = NAN;
    return read_file(path, ppa);
  }
  snprintf(ppa->name, sizeof ppa->name, "ASAP7, plain");
  memcpy(ppa->units, asap7, sizeof asap7);
  return CLI_GO_ON;
}

static const explore_unit_t *find(const explore_ppa_t *ppa, const char *name) {
  for (int i = 0; i < UNITS; i++) {
    if (strcmp(ppa->units[i].name, name) == 0) return &ppa->units[i];
  }
  return NULL;
}

// Returns the PE of a core.
static const explore_unit_t *pe_of(const explore_ppa_t *ppa, const ufp4_configuration_t *core) {
  static const char *const exact[UFP4_FORMATS_COUNT] = {"pe", "pe_e2m1", "pe_uniform", "pe_e1m2"};
  static const char *const contracts[UFP4_CONTRACT_COUNT] = {NULL, "pe_fp32", "pe_nv"};
  const char *name = core->contract == UFP4_CONTRACT_EXACT ? exact[core->formats]
                     : core->formats == UFP4_FORMATS_ALL   ? contracts[core->contract]
                                                           : NULL;
  return name != NULL && core->lanes == BLOCK ? find(ppa, name) : NULL;
}

// The wide engine has pipelines for each copy; the narrow one has a pipeline for both copies.
static double quant_um2_of(const explore_ppa_t *ppa, const ufp4_configuration_t *core) {
  static const char *const narrow[2] = {"quant_serial_block", "quant_serial_block_mixed"};
  static const char *const wide[2] = {"quant_block", "quant_block_mixed"};
  if (core->quant == 0) return 0;
  if (core->quant % BLOCK != 0) return find(ppa, narrow[core->mixed])->um2;
  return 2.0 * (core->quant / BLOCK) * find(ppa, wide[core->mixed])->um2;
}

static double um2_of(const explore_ppa_t *ppa, const explore_case_t *of) {
  const ufp4_configuration_t *core = &of->core;
  const explore_unit_t *pe = pe_of(ppa, core);
  if (pe == NULL) return NAN;
  return of->cores * (core->rows * core->cols * pe->um2 + quant_um2_of(ppa, core));
}

void explore_ppa_note(const explore_plan_t *plan, explore_case_t *one) {
  const explore_ppa_t *ppa = &plan->ppa;
  const ufp4_elem_t elem = one->recipe.elem;
  if (ppa->text == NULL || one->reason[0] != '\0') return;
  const explore_unit_t *pe = pe_of(ppa, &one->core);
  char lacks[96] = "";
  if (pe == NULL) {
    snprintf(lacks, sizeof lacks, "no row for this core's PE");
  } else if (!isfinite(pe->fprop[elem] + pe->wgrad[elem] + pe->idle)) {
    snprintf(lacks, sizeof lacks, "no energies of %s for %s", pe->name, elem_names[elem]);
  }
  const int quant = !isfinite(quant_um2_of(ppa, &one->core));
  if (!quant && lacks[0] == '\0') return;
  const size_t said = strlen(one->note);
  snprintf(one->note + said, sizeof one->note - said, "%s--ppa has %s%s%s", said != 0 ? "; " : "",
           lacks, quant && lacks[0] != '\0' ? ", and " : "",
           quant ? "no area of this core's QUANT" : "");
}

// --- Counts -------------------------------------------------------------------------------------

// Returns how many of these tokens a micro-batch has; the first ones have one more.
static int64_t part_of(int64_t tokens, int batches, int batch) {
  return (tokens + batches - 1 - batch) / batches;
}

static double macs_of(const explore_plan_t *plan, const explore_case_t *of, int pass) {
  const int batches = explore_batches(plan, of);
  double macs = 0;
  if (!ufp4_recipe_quantizes(&of->recipe, (ufp4_pass_t)pass)) return 0;
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    const int adds = explore_adds(of, layer, pass);
    for (int at = 0; at < batches * (1 + adds); at++) {
      const int64_t tokens = part_of(explore_layer_tokens(of, layer), batches, at % batches);
      const explore_row_t row = explore_gemm_row(plan, of, layer, tokens, pass, at / batches);
      macs += (double)row.count * row.macs;
    }
  }
  return macs;
}

double explore_quant_blocks(const explore_row_t *row) {
  return row->written / (UFP4_PANEL_CODE_BYTES + UFP4_PANEL_SCALE_BYTES) * UFP4_PANEL_ROWS;
}

double explore_total_blocks(const explore_plan_t *plan, const explore_row_t *total) {
  const explore_case_t *of = total->of;
  const int kind = explore_kind_of(&plan->model, total);
  double blocks = 0;
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    if (kind >= 0 && !explore_is_of(layer, kind)) continue;
    const double times =
        (double)explore_layer_count(of, layer) * (double)(kind >= 0 ? 1 : layer->blocks);
    for (int role = 0; role < UFP4_ROLE_COUNT; role++) {
      const int copies =
          explore_wants(of, role, UFP4_AXIS_ROW) + explore_wants(of, role, UFP4_AXIS_COL);
      const int once = role == UFP4_ROLE_W && layer->kind == EXPLORE_LINEAR;
      const int batches = role == UFP4_ROLE_W ? 1 : explore_batches(plan, of);
      for (int b = 0; b < batches; b++) {
        const int64_t tokens = part_of(explore_layer_tokens(of, layer), batches, b);
        const explore_row_t row =
            explore_quant_row(plan, of, layer, tokens, role, EXPLORE_QUANT, copies);
        blocks += (once ? 1 : of->micro) * times * explore_quant_blocks(&row);
      }
    }
  }
  return blocks;
}

// --- A step -------------------------------------------------------------------------------------

explore_energy_t explore_energy(const explore_plan_t *plan, const explore_row_t *step) {
  const explore_ppa_t *ppa = &plan->ppa;
  const ufp4_configuration_t *core = &step->of->core;
  const explore_layout_t *layout = &plan->layout;
  explore_energy_t out = {NAN, NAN, NAN, NAN, NAN, NAN, um2_of(ppa, step->of), NAN, NAN, NAN};
  const explore_unit_t *pe = pe_of(ppa, core);
  if (pe == NULL || isnan(step->cycles)) return out;
  const double fj = 1e-15, fprop = pe->fprop[step->of->recipe.elem],
               wgrad = pe->wgrad[step->of->recipe.elem];
  // The MACs that the lanes of all chips of a replica could do in the step. Recomputing the forward
  // pass adds a third of them.
  const double chips = step->of->chips.tensor, again = layout->recompute ? 4.0 / 3 : 1;
  const double lanes = (double)step->of->cores * core->lanes * core->rows * core->cols;
  const double slots = chips * again * lanes * step->cycles;
  const double forward = macs_of(plan, step->of, UFP4_PASS_FPROP);
  const double w = chips * macs_of(plan, step->of, UFP4_PASS_WGRAD);
  const double rest =
      chips * ((layout->recompute ? 2 : 1) * forward + macs_of(plan, step->of, UFP4_PASS_DGRAD));
  const double beats =
      chips * again *
      (step->counters[UFP4_COUNTER_READ_BEATS] + step->counters[UFP4_COUNTER_WRITE_BEATS]);
  out.macs = fj * (rest * fprop + w * wgrad);
  out.idle = fj * (slots - rest - w) * pe->idle;
  out.clock = fj * slots * pe->clock_pins;
  if (ppa->byte_pj > 0) out.bus = 1e-12 * ppa->byte_pj * beats * core->bus_bytes;
  double bits = 0;
  for (int i = EXPLORE_SUM_BITS; i < EXPLORE_COUNTERS; i++) bits += step->counters[i];
  out.memory = fj * chips * again * bits * ppa->bit_fj;
  out.all = out.macs + out.idle + out.clock + (ppa->byte_pj > 0 ? out.bus : 0) +
            (isfinite(out.memory) ? out.memory : 0);
  if (layout->text == NULL) return out;
  // In the rest of the step the lanes of all chips idle, but their clocks continue.
  const explore_times_t ms = explore_times(plan, step);
  const double replicas = step->of->chips.data, all = replicas * chips * step->of->chips.pipeline;
  const double time = all * lanes * ms.step * step->of->clock_mhz * 1e3;
  out.wait = fj * (time - replicas * slots) * (pe->idle + pe->clock_pins);
  if (layout->link_pj > 0) out.link = 1e-12 * layout->link_pj * all * ms.sent;
  out.chips = replicas * out.all + out.wait + (layout->link_pj > 0 ? out.link : 0);
  return out;
}

void explore_print_ppa(const explore_plan_t *plan) {
  const int known = isfinite(plan->ppa.bit_fj);
  printf("%% joules and um2 of %s: PEs, each alone, and the block pipelines of QUANT in um2",
         plan->ppa.name);
  if (known) printf("; accesses of memories at %g fJ a bit", plan->ppa.bit_fj);
  printf(
      "; not in them:\n%% joules of %swires, the clock tree, QUANT's joules%s, and the rest of the "
      "core\n",
      known ? "" : "memories, ", plan->ppa.byte_pj > 0 ? "" : ", the bus");
}
