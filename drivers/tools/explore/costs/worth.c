// SPDX-License-Identifier: Apache-2.0
// Figures of merit of a step: memories besides the cells, watts, tokens per joule, area per TMAC/s,
// and the ranking of the cases.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shape.h"
#include "explore/costs/costs.h"
#include "explore/options/options.h"

enum { UM2_OF_MM2 = 1000000, NAME = 160 };

// On many chips the time and the joules of all chips count.
static void add_power(const explore_plan_t *plan, const explore_row_t *step,
                      const explore_energy_t *energy, explore_worth_t *out) {
  const int many = plan->layout.text != NULL;
  const double joules = many ? energy->chips : energy->all;
  const double tokens = many ? step->of->chips.data * step->tokens : step->tokens;
  const double seconds =
      many ? explore_times(plan, step).step / 1e3 : explore_seconds(step->of, step->cycles);
  out->watts = joules / seconds;
  out->tokens_per_joule = tokens / joules;
}

explore_worth_t explore_worth(const explore_plan_t *plan, const explore_row_t *step) {
  const explore_energy_t energy = explore_energy(plan, step);
  const double tmacs = step->macs / explore_seconds(step->of, step->cycles) / 1e12;
  explore_worth_t out = {NAN, NAN, NAN, NAN, NAN, NAN};
  if (step->of->core.rows == 0) return out;  // the RTL refuses this configuration
  out.bits = (double)step->of->cores * (double)shape_memory_bits(&step->of->core);
  out.memory_um2 = out.bits * plan->ppa.bit_um2;
  if (isnan(step->cycles)) return out;
  add_power(plan, step, &energy, &out);
  if (plan->layout.text != NULL) return out;
  out.cells_mm2_per_tmacs = energy.um2 / UM2_OF_MM2 / tmacs;
  out.mm2_per_tmacs = (energy.um2 + out.memory_um2) / UM2_OF_MM2 / tmacs;
  return out;
}

// --- The order of the cases ---------------------------------------------------------------------

typedef struct {
  explore_worth_t worth;
  const explore_row_t *step;
  int with, without;  // its ranks by area, with and without memories
} place_t;

// Orders cases of the same area by tokens per joule, highest first.
static int by_area(const void *a, const void *b) {
  const explore_worth_t *x = &((const place_t *)a)->worth, *y = &((const place_t *)b)->worth;
  if (x->mm2_per_tmacs != y->mm2_per_tmacs)
    return (x->mm2_per_tmacs > y->mm2_per_tmacs) - (x->mm2_per_tmacs < y->mm2_per_tmacs);
  return (x->tokens_per_joule < y->tokens_per_joule) - (x->tokens_per_joule > y->tokens_per_joule);
}

// No case before it has more area, so it is on the Pareto front if it has more tokens per joule
// than all of them.
static int is_front(const place_t *places, int at) {
  for (int i = 0; i < at; i++) {
    if (places[i].worth.tokens_per_joule >= places[at].worth.tokens_per_joule) return 0;
  }
  return 1;
}

static void number_places(place_t *places, int count) {
  for (int i = 0; i < count; i++) {
    places[i].with = i + 1;
    places[i].without = 1;
    for (int n = 0; n < count; n++)
      places[i].without +=
          places[n].worth.cells_mm2_per_tmacs < places[i].worth.cells_mm2_per_tmacs;
  }
}

static int collect(const explore_plan_t *plan, const explore_rows_t *rows, place_t *places) {
  int count = 0;
  for (int i = 0; i < rows->count; i++) {
    const explore_row_t *row = &rows->rows[i];
    if (row->pass != EXPLORE_ALL || strcmp(row->layer, "step") != 0 || isnan(row->cycles)) continue;
    const explore_worth_t worth = explore_worth(plan, row);
    if (isfinite(worth.mm2_per_tmacs)) places[count++] = (place_t){.worth = worth, .step = row};
  }
  qsort(places, (size_t)count, sizeof *places, by_area);
  number_places(places, count);
  return count;
}

static void print_place(const place_t *places, int at) {
  const explore_case_t *of = places[at].step->of;
  const explore_worth_t *worth = &places[at].worth;
  char name[NAME], joules[32] = "-";
  snprintf(name, sizeof name, "%.60s on %.80s", of->recipe.name, of->core.name);
  if (isfinite(worth->tokens_per_joule))
    snprintf(joules, sizeof joules, "%.1f", worth->tokens_per_joule);
  printf("  %-32s %13.5f %5d %13.5f %5d %14s %s\n", name, worth->mm2_per_tmacs, places[at].with,
         worth->cells_mm2_per_tmacs, places[at].without, joules,
         isfinite(worth->tokens_per_joule) && is_front(places, at) ? "front" : "");
}

void explore_print_order(const explore_plan_t *plan, const explore_rows_t *rows) {
  place_t *places = calloc((size_t)rows->count + 1, sizeof *places);
  if (places == NULL) return;
  const int count = collect(plan, rows, places);
  if (count > 1) {
    printf("%% %-32s %13s %5s %13s %5s %14s %s\n", "case", "mm2_per_tmacs", "place", "without them",
           "place", "tokens_per_J", "pareto");
    for (int i = 0; i < count; i++) print_place(places, i);
    printf(
        "%% the smallest area of a TMAC/s first, memories at %g um2 a bit, and without them; "
        "front: "
        "none is as small and gives as many tokens a joule\n",
        plan->ppa.bit_um2);
  }
  free(places);
}
