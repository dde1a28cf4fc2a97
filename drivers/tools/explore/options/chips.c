// SPDX-License-Identifier: Apache-2.0
// Options of chips that share a step, and which models they can share.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explore/jobs/jobs.h"
#include "explore/options/options.h"

enum { MOST = 65536 };
static const double least_gbps = 1e-3;  // columns have three digits behind the point

static int is_made_of(const char *text, const char *letters) {
  return text[strspn(text, letters)] == '\0';
}

static int read_link(const char *text, explore_link_t *link, int *used) {
  return sscanf(text, "%lf,%lf%n", &link->gbps, &link->us, used) == 2 && link->gbps >= least_gbps &&
         link->gbps <= 1e6 && link->us >= 0 && link->us <= 1e6;
}

int explore_link(const char *chips, const char *text, explore_plan_t *plan) {
  explore_layout_t *layout = &plan->layout;
  int used = 0, more = 0;
  if (chips == NULL && text == NULL) return CLI_GO_ON;
  if (chips == NULL || text == NULL)
    return cli_fail(&cli_explore, CLI_USAGE, "--chips DPxTPxPP and --link GBps,us need each other");
  layout->text = chips;
  int good = is_made_of(text, "0123456789.,+-eE:") && read_link(text, &layout->tensor, &used);
  layout->others = layout->tensor;
  if (good && text[used] == ':') good = read_link(text + used + 1, &layout->others, &more);
  if (good && text[used + (more ? more + 1 : 0)] == '\0') return CLI_GO_ON;
  return cli_fail(&cli_explore, CLI_USAGE,
                  "--link: '%s' is not GBps,us, with GBps from 0.001 and us from 0, both to "
                  "1000000; after a colon may follow those of all links but TP's",
                  text);
}

int explore_chips(const char *word, explore_case_t *one) {
  explore_chips_t *chips = &one->chips;
  int used = 0, more = 0;
  *chips = (explore_chips_t){.data = 1, .tensor = 1, .pipeline = 1, .experts = 1};
  if (word == NULL) return CLI_GO_ON;
  int good =
      is_made_of(word, "0123456789x") && strlen(word) < sizeof chips->text &&
      sscanf(word, "%6dx%6dx%6d%n", &chips->data, &chips->tensor, &chips->pipeline, &used) == 3;
  if (good && word[used] == 'x') good = sscanf(word + used, "x%6d%n", &chips->experts, &more) == 1;
  const int all[] = {chips->data, chips->tensor, chips->pipeline, chips->experts};
  for (int i = 0; i < 4; i++) good = good && all[i] >= 1 && all[i] <= MOST;
  if (!good || word[used + more] != '\0') {
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--chips: '%s' is not DPxTPxPP, or DPxTPxPPxEP, each from 1 to %d", word, MOST);
  }
  snprintf(chips->text, sizeof chips->text, "%s", word);
  return CLI_GO_ON;
}

// --- What they can share ------------------------------------------------------------------------

// Checks how the chips of a row may have several stages each.
static void check_interleave(const explore_plan_t *plan, explore_case_t *one) {
  const int stages = plan->layout.interleave, chips = one->chips.pipeline;
  if (stages == 1) return;
  if (chips == 1)
    snprintf(one->reason, sizeof one->reason,
             "--interleave %d needs PP 2 or more in --chips, which is 1", stages);
  else if (one->micro % chips != 0)
    snprintf(one->reason, sizeof one->reason,
             "--interleave: PP is %d, which does not divide --micro-batches %d", chips, one->micro);
}

static void check_pipeline(const explore_plan_t *plan, explore_case_t *one) {
  const int stages = plan->layout.interleave, chips = one->chips.pipeline;
  const long long blocks = plan->model.blocks;
  if (stages == 1 && chips > blocks)
    snprintf(one->reason, sizeof one->reason,
             "--chips: PP is %d, but the model has only %lld blocks", chips, blocks);
  else if (stages * chips > blocks)
    snprintf(one->reason, sizeof one->reason,
             "--chips: PP is %d, which with --interleave %d gives %d stages, but the model has "
             "only %lld blocks",
             chips, stages, stages * chips, blocks);
}

static void check_tensor(const explore_plan_t *plan, explore_case_t *one) {
  int shared = 0;
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    shared |= layer->share != EXPLORE_WHOLE;
    if (layer->share == EXPLORE_WHOLE || layer->parts % one->chips.tensor == 0) continue;
    snprintf(one->reason, sizeof one->reason,
             "--chips: TP is %d, which does not divide %s, which has %lld heads, groups or columns",
             one->chips.tensor, layer->name, (long long)layer->parts);
    return;
  }
  if (shared && plan->layout.sequence && explore_tokens(one) % one->chips.tensor != 0)
    snprintf(
        one->reason, sizeof one->reason,
        "--sequence-parallel: TP is %d, which does not divide the %lld tokens of a micro-batch",
        one->chips.tensor, (long long)explore_tokens(one));
  if (!shared)
    snprintf(one->reason, sizeof one->reason,
             "--chips: TP is %d, but no layer has a share, which says how chips divide it",
             one->chips.tensor);
}

static void check_experts(const explore_plan_t *plan, explore_case_t *one) {
  const int each = one->chips.experts;
  int found = 0;
  if (one->chips.data % each != 0) {
    snprintf(one->reason, sizeof one->reason, "--chips: EP is %d, which does not divide DP, %d",
             each, one->chips.data);
    return;
  }
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    if (!explore_is_expert(layer)) continue;
    found = 1;
    if (layer->count % each != 0)
      snprintf(one->reason, sizeof one->reason,
               "--chips: EP is %d, which does not divide %lld experts", each,
               (long long)layer->count);
  }
  if (!found)
    snprintf(one->reason, sizeof one->reason, "--chips: EP is %d, but the model has no experts",
             each);
}

void explore_check_chips(const explore_plan_t *plan, explore_case_t *one) {
  if (one->reason[0] != '\0') return;
  if (one->tokens % one->micro != 0) {
    snprintf(one->reason, sizeof one->reason,
             "--micro-batches is %d, which does not divide the %lld tokens of a step", one->micro,
             (long long)one->tokens);
  } else if (one->micro > 1 && one->cores > 1) {
    snprintf(one->reason, sizeof one->reason, "--micro-batches needs one core, but --cores is %u",
             one->cores);
  }
  if (one->reason[0] == '\0') check_interleave(plan, one);
  if (one->reason[0] == '\0') check_pipeline(plan, one);
  if (one->reason[0] == '\0' && one->chips.tensor > 1) check_tensor(plan, one);
  if (one->reason[0] == '\0' && one->chips.experts > 1) check_experts(plan, one);
}
