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

static int is_split(const explore_layer_t *layer, int kind) {
  return layer->kind == EXPLORE_LINEAR && explore_is_of(layer, kind);
}

// Of a block, which all of its linear layers split by columns of Y: each part of Y is gathered,
// and of dX each chip has a sum over its columns.
static double gather(const explore_plan_t *plan, const explore_case_t *of, int kind, int backward) {
  const double bytes = plan->source == UFP4_DTYPE_BF16 ? 2 : 4, batches = explore_batches(plan, of);
  double ms = 0;
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    const double tokens = (double)explore_layer_tokens(of, layer) / batches;
    const double width = (double)explore_width(of, backward ? layer->cin : layer->cout);
    if (is_split(layer, kind))
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
static double reduce(const explore_plan_t *plan, int kind) {
  double numbers = 0;
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    if (is_split(layer, kind))
      numbers += (double)layer->count * (double)layer->cin * (double)layer->cout;
  }
  return 2 * ring(&plan->chips, plan->chips.data, 4 * numbers / plan->chips.tensor);
}

/** Milliseconds of a block of a kind, and how many of them a stage has. */
typedef struct {
  double compute, gather, reduce;
  double backward;  ///< of the micro-batch in which dW becomes whole
  double count;
} block_t;

static block_t block_of(const explore_plan_t *plan, const explore_row_t *step, int kind) {
  const explore_chips_t *chips = &plan->chips;
  const explore_model_t *model = &plan->model;
  double sum = 0;
  for (int i = 0; i < model->kind_count; i++)
    sum += (double)model->kinds[i].blocks * step->block_cycles[i];
  const double cycles = step->cycles * step->block_cycles[kind] / sum;
  const double back = gather(plan, step->of, kind, 1);
  block_t block = {.compute = cycles / plan->clock_mhz / 1e3 / chips->tensor,
                   .gather = gather(plan, step->of, kind, 0) + back,
                   .reduce = reduce(plan, kind)};
  // DGRAD and WGRAD are two thirds. In a pipeline the last micro-batch's makes dW whole.
  block.backward =
      (2 * block.compute / 3 + back) / (chips->pipeline > 1 ? explore_batches(plan, step->of) : 1);
  return block;
}

// Consecutive blocks are a stage, and blocks of a kind are consecutive.
static void fill_stage(const explore_model_t *model, int64_t first, int64_t count,
                       block_t blocks[EXPLORE_MAX_KINDS]) {
  int64_t begin = 0;
  for (int kind = 0; kind < model->kind_count; kind++) {
    const int64_t end = begin + model->kinds[kind].blocks;
    const int64_t from = begin > first ? begin : first;
    const int64_t to = end < first + count ? end : first + count;
    blocks[kind].count = to > from ? (double)(to - from) : 0;
    begin = end;
  }
}

// All-reduces run one after the other: after a block's backward pass, what is left of those of the
// blocks behind it, and its own. Over blocks that are alike this has a closed form.
static double late_after(double late, const block_t *block) {
  const double more = block->reduce - block->backward;
  if (block->count == 0) return late;
  return fmax(late + block->count * more, block->reduce + (block->count - 1) * fmax(0, more));
}

// Of a step all of whose stages are this one.
static explore_times_t stage_times(const explore_plan_t *plan, const explore_case_t *of,
                                   const block_t blocks[EXPLORE_MAX_KINDS]) {
  const double batches = explore_batches(plan, of), message = send(plan, of);
  explore_times_t ms = {.send = batches * message};
  for (int kind = plan->model.kind_count - 1; kind >= 0; kind--) {
    const block_t *block = &blocks[kind];
    ms.compute += block->count * block->compute;
    ms.gather += block->count * block->gather;
    ms.reduce += block->count * block->reduce;
    ms.exposed = late_after(ms.exposed, block);
  }
  ms.bubble = (plan->chips.pipeline - 1) * ((ms.compute + ms.gather) / batches + message);
  ms.step = ms.compute + ms.gather + ms.send + ms.bubble + ms.exposed;
  return ms;
}

explore_times_t explore_times(const explore_plan_t *plan, const explore_row_t *step) {
  const explore_model_t *model = &plan->model;
  const int64_t stages = plan->chips.pipeline, each = (model->blocks + stages - 1) / stages;
  block_t blocks[EXPLORE_MAX_KINDS];
  explore_times_t slowest = {.step = -1};
  for (int kind = 0; kind < model->kind_count; kind++) blocks[kind] = block_of(plan, step, kind);
  for (int64_t i = 0; i < stages; i++) {
    fill_stage(model, i * each, each, blocks);
    const explore_times_t ms = stage_times(plan, step->of, blocks);
    if (ms.step > slowest.step) slowest = ms;
  }
  return slowest;
}
