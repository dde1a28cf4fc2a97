// SPDX-License-Identifier: Apache-2.0
// Makes the plan: a case for each element of the product of all lists.
#include <stdlib.h>
#include <string.h>

#include "base/dram.h"
#include "explore/costs/costs.h"
#include "explore/options/arguments.h"
#include "explore/options/options.h"

enum { LISTS = EXPLORE_LISTS, MAX_CASES = 4096, MAX_BANDWIDTH = 4096, MAX_MICRO = 65536 };

// --- Words --------------------------------------------------------------------------------------

static int read_number(const char *option, const char *word, unsigned least, unsigned most,
                       unsigned *number) {
  char *end;
  const unsigned long value = strtoul(word, &end, 10);
  if (word[0] < '0' || word[0] > '9' || *end != '\0' || value < least || value > most) {
    return cli_fail(&cli_explore, CLI_USAGE, "--%s: '%s' is not a whole number from %u to %u",
                    option, word, least, most);
  }
  *number = (unsigned)value;
  return CLI_GO_ON;
}

// A configuration that the RTL would refuse makes a failed case with the RTL's message.
static int read_configuration(const char *word, explore_case_t *one) {
  ufp4_message_t why = {0};
  const ufp4_status_t status = cli_configuration(word, &one->core, &why);
  if (status == UFP4_OK) return CLI_GO_ON;
  if (status != UFP4_ERROR_UNSUPPORTED)
    return cli_fail(&cli_explore, CLI_USAGE, "--config: %s", why.text);
  snprintf(one->core.name, sizeof one->core.name, "%s", word);
  snprintf(one->reason, sizeof one->reason, "%s", why.text);
  return CLI_GO_ON;
}

static int read_dram(const char *name, const char *channels, explore_case_t *one) {
  unsigned asked = 0;
  int end = read_number("channels", channels, 0, UFP4_DRAM_MAX_CHANNELS, &asked);
  if (end == CLI_GO_ON) end = cli_dram(&cli_explore, name);
  if (end != CLI_GO_ON || strcmp(name, "none") == 0) return end;
  if (asked != 0 && strchr(name, ':') != NULL)
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--dram %s already gives the channels; leave out --channels", name);
  snprintf(one->dram, sizeof one->dram, asked != 0 ? "%s:%u" : "%s", name, asked);
  return CLI_GO_ON;
}

// --- The plan -----------------------------------------------------------------------------------

const char *const explore_list_names[LISTS] = {"recipe",        "config", "mem-latency",   "dram",
                                               "channels",      "tokens", "mem-bandwidth", "chips",
                                               "micro-batches", "cores"};

static int read_case(const explore_plan_t *plan, const char *const words[LISTS],
                     explore_case_t *one) {
  unsigned tokens = 0, micro = 1;
  int end = cli_recipe(&cli_explore, words[0], &one->recipe);
  if (end == CLI_GO_ON) end = read_configuration(words[1], one);
  if (end == CLI_GO_ON)
    end = read_number(explore_list_names[2], words[2], CLI_MEM_LATENCY_LEAST, UFP4_MEM_LATENCY_MAX,
                      &one->mem_latency);
  if (end == CLI_GO_ON) end = read_dram(words[3], words[4], one);
  if (end == CLI_GO_ON)
    end = read_number(explore_list_names[5], words[5], 1, UFP4_MAX_DIM, &tokens);
  if (end == CLI_GO_ON)
    end = read_number(explore_list_names[6], words[6], 0, MAX_BANDWIDTH, &one->mem_bandwidth);
  if (end == CLI_GO_ON) end = explore_chips(plan->layout.text != NULL ? words[7] : NULL, one);
  if (end == CLI_GO_ON) end = read_number(explore_list_names[8], words[8], 1, MAX_MICRO, &micro);
  if (end == CLI_GO_ON)
    end = read_number(explore_list_names[9], words[9], 1, EXPLORE_MAX_CORES, &one->cores);
  if (end != CLI_GO_ON) return end;
  one->tokens = tokens;
  one->micro = (int)micro;
  end = explore_clock(plan, one);
  if (end != CLI_GO_ON) return end;
  if (one->reason[0] != '\0') return CLI_GO_ON;
  ufp4_message_t why = {0};
  const char *model_key = ufp4_recipe_model_key(&one->recipe);
  if (model_key != NULL && strcmp(model_key, "bf16_layers") == 0) {
    ufp4_message_set(&why, "%s: explore does not count layers in BF16", model_key);
  } else if (one->recipe.quantized && one->recipe.bf16_passes == UFP4_PASSES_ALL) {
    ufp4_message_set(&why, "all passes of the recipe are in BF16, which the host multiplies");
  } else if (!plan->serial && one->recipe.quantized && one->recipe.bf16_passes != 0) {
    ufp4_message_set(
        &why, "the host multiplies the recipe's passes in BF16; use --serial to count the others");
  } else {
    (void)ufp4_recipe_on_core(&one->recipe, UFP4_PASSES_ALL, &one->core, &why);
  }
  snprintf(one->reason, sizeof one->reason, "%s", why.text);
  if (one->mem_bandwidth > one->cores * one->core.bus_bytes) {
    snprintf(one->note, sizeof one->note,
             "--mem-bandwidth %u is more than the bus's %u bytes per cycle", one->mem_bandwidth,
             one->cores * one->core.bus_bytes);
  }
  if (one->cores > 1 && one->dram[0] != '\0' && one->mem_bandwidth != 0) {
    snprintf(one->reason, sizeof one->reason,
             "several cores can share the banks of --dram or a --mem-bandwidth, but not both");
  }
  explore_check_chips(plan, one);
  explore_ppa_note(plan, one);
  return CLI_GO_ON;
}

// Without a memory with banks the number of channels does not matter, so only the first one makes a
// case.
static int is_again(const char *const words[LISTS], const explore_list_t lists[LISTS]) {
  return strcmp(words[3], "none") == 0 && words[4] != lists[4].words[0];
}

// Iterates over the product of all lists; the last list changes fastest.
static int add_cases(explore_plan_t *plan, const explore_list_t lists[LISTS]) {
  int count = 1;
  for (int i = 0; i < LISTS && count <= MAX_CASES; i++) count *= lists[i].count;
  if (count > MAX_CASES)
    return cli_fail(&cli_explore, CLI_USAGE, "these lists make more than %d cases", MAX_CASES);
  const int of_recipe = count / lists[0].count;
  plan->cases = calloc((size_t)count, sizeof *plan->cases);
  if (plan->cases == NULL) return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
  for (int index = 0; index < count; index++) {
    const char *words[LISTS];
    for (int i = LISTS - 1, at = index; i >= 0; at /= lists[i--].count)
      words[i] = lists[i].words[at % lists[i].count];
    if (is_again(words, lists)) continue;
    explore_case_t *one = &plan->cases[plan->case_count];
    int end = read_case(plan, words, one);
    if (end != CLI_GO_ON) return end;
    for (int i = 0; index % of_recipe == 0 && i < plan->case_count; i++) {
      if (strcmp(plan->cases[i].recipe.name, one->recipe.name) == 0)
        return cli_fail(&cli_explore, CLI_USAGE, "--recipe: two recipes are called %s; rename one",
                        one->recipe.name);
    }
    end = explore_check_case(plan, one);
    if (end != CLI_GO_ON) return end;
    plan->case_count++;
  }
  return CLI_GO_ON;
}

int explore_plan(const explore_arguments_t *a, const char *shapes, explore_plan_t *plan) {
  const char *chips = a->chips != NULL ? a->chips : "1x1x1";
  const char *const texts[LISTS] = {a->recipes,  a->configurations, a->latencies,  a->drams,
                                    a->channels, a->tokens,         a->bandwidths, chips,
                                    a->micro,    a->cores};
  explore_list_t *lists = calloc(LISTS, sizeof *lists);
  if (lists == NULL) return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
  plan->folder = a->folder;
  plan->source = a->source ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16;
  plan->clock_mhz = a->clock_mhz;
  plan->serial = a->serial;
  plan->batches = (int)a->batches;
  plan->timeline = a->timeline;
  plan->host_bytes = a->host_bytes;
  plan->split = (explore_split_t)a->split;
  plan->layout = (explore_layout_t){.zero = (int)a->zero,
                                    .recompute = a->recompute,
                                    .sequence = a->sequence,
                                    .interleave = (int)a->interleave,
                                    .reduce = a->reduce,
                                    .hbm_gb = (double)a->hbm_gb,
                                    .link_pj = (double)a->link_pj};
  int end = explore_model(shapes, a->hf, a->attention, (int64_t)a->layers, &plan->model);
  if (end == CLI_GO_ON) end = explore_link(a->chips, a->link, plan);
  if (end == CLI_GO_ON) end = explore_ppa(a->ppa, a->byte_pj, a->bit_um2, a->bit_fj, plan);
  for (int i = 0; i < LISTS; i++) plan->lists[i] = texts[i];
  for (int i = 0; i < LISTS && end == CLI_GO_ON; i++)
    end = explore_list(explore_list_names[i], texts[i], &lists[i]);
  if (end == CLI_GO_ON) end = add_cases(plan, lists);
  for (int i = 0; i < LISTS; i++) explore_list_free(&lists[i]);
  free(lists);
  return end;
}
