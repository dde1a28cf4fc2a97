// SPDX-License-Identifier: Apache-2.0
// A step on many chips, by formula from the cycles of one: data, tensor and pipeline parallel.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "jobs.h"

enum { MOST = 65536 };
static const double least_gbps = 1e-3;  // columns have three digits behind the point

static int is_made_of(const char *text, const char *letters) {
  return text[strspn(text, letters)] == '\0';
}

int explore_chips(const char *chips, const char *link, explore_plan_t *plan) {
  explore_chips_t *read = &plan->chips;
  int used = 0;
  if (chips == NULL && link == NULL) return CLI_GO_ON;
  if (plan->model.kind_count > 1)
    return cli_fail(&cli_explore, CLI_USAGE, "--chips: the blocks differ from each other");
  if (chips == NULL || link == NULL)
    return cli_fail(&cli_explore, CLI_USAGE, "--chips DPxTPxPP and --link GBps,us go together");
  read->text = chips;
  if (!is_made_of(chips, "0123456789x") ||
      sscanf(chips, "%6dx%6dx%6d%n", &read->data, &read->tensor, &read->pipeline, &used) != 3 ||
      chips[used] != '\0' || fmin(read->data, fmin(read->tensor, read->pipeline)) < 1 ||
      fmax(read->data, fmax(read->tensor, read->pipeline)) > MOST) {
    return cli_fail(&cli_explore, CLI_USAGE, "--chips: '%s' is not DPxTPxPP, each from 1 to %d",
                    chips, MOST);
  }
  if (!is_made_of(link, "0123456789.,+-eE") ||
      sscanf(link, "%lf,%lf%n", &read->gbps, &read->us, &used) != 2 || link[used] != '\0' ||
      !(read->gbps >= least_gbps && read->gbps <= 1e6) || !(read->us >= 0 && read->us <= 1e6)) {
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--link: '%s' is not GBps,us: from 0.001, and from 0, to 1000000", link);
  }
  if (read->pipeline <= plan->model.blocks) return CLI_GO_ON;
  return cli_fail(&cli_explore, CLI_USAGE, "--chips: PP is %d, and blocks are %lld", read->pipeline,
                  (long long)plan->model.blocks);
}

// Milliseconds of a message.
static double message(const explore_chips_t *chips, double bytes) {
  return bytes / chips->gbps / 1e6 + chips->us / 1e3;
}

// Of an all-gather, or of a reduce-scatter, in a ring: n - 1 messages of a part of n. An
// all-reduce is one after the other.
static double ring(const explore_chips_t *chips, int n, double bytes) {
  return (n - 1) * message(chips, bytes / n);
}

// Of a block, which all of its linear layers split by columns of Y: each part of Y is gathered,
// and of dX each chip has a sum over its columns.
static double gather(const explore_plan_t *plan, const explore_case_t *of, int backward) {
  const double bytes = plan->source == UFP4_DTYPE_BF16 ? 2 : 4, batches = explore_batches(plan, of);
  double ms = 0;
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    const double tokens = (double)explore_layer_tokens(of, layer) / batches;
    const double width = (double)explore_width(of, backward ? layer->cin : layer->cout);
    if (layer->kind == EXPLORE_LINEAR)
      ms += (double)explore_layer_count(of, layer) * batches *
            ring(&plan->chips, plan->chips.tensor, tokens * width * bytes);
  }
  return ms;
}

// Of the output of a block, of one micro-batch, and of its gradient.
static double send(const explore_plan_t *plan, const explore_case_t *of) {
  const explore_chips_t *chips = &plan->chips;
  const explore_layer_t *last = &plan->model.layers[plan->model.layer_count - 1];
  const double bytes = plan->source == UFP4_DTYPE_BF16 ? 2 : 4;
  const double numbers = (double)of->tokens * (double)explore_width(of, last->cout);
  if (chips->pipeline == 1) return 0;
  return 2 * message(chips, bytes * numbers / explore_batches(plan, of) / chips->tensor);
}

// FP32 gradients of a block's weights.
static double reduce(const explore_plan_t *plan) {
  double numbers = 0;
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    if (layer->kind == EXPLORE_LINEAR)
      numbers += (double)layer->count * (double)layer->cin * (double)layer->cout;
  }
  return 2 * ring(&plan->chips, plan->chips.data, 4 * numbers / plan->chips.tensor);
}

explore_times_t explore_times(const explore_plan_t *plan, const explore_row_t *step) {
  const explore_chips_t *chips = &plan->chips;
  const double all = (double)plan->model.blocks, batches = explore_batches(plan, step->of);
  const double blocks = ceil(all / chips->pipeline), bubbles = chips->pipeline - 1;
  const double each = step->cycles / plan->clock_mhz / 1e3 / all / chips->tensor;
  const double back = gather(plan, step->of, 1), message = send(plan, step->of);
  explore_times_t ms = {.compute = blocks * each,
                        .gather = blocks * (gather(plan, step->of, 0) + back),
                        .send = batches * message,
                        .reduce = blocks * reduce(plan)};
  ms.bubble = bubbles * ((ms.compute + ms.gather) / batches + message);
  // DGRAD and WGRAD are two thirds. The gradients of a block are whole in the last micro-batch of
  // a pipeline; each all-reduce waits for them, and for the one before it.
  const double backward = (2 * each / 3 + back) / (chips->pipeline > 1 ? batches : 1);
  const double one = ms.reduce / blocks;
  ms.exposed = one + (blocks - 1) * fmax(0, one - backward);
  ms.step = ms.compute + ms.gather + ms.send + ms.bubble + ms.exposed;
  return ms;
}
