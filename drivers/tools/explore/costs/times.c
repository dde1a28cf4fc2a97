// SPDX-License-Identifier: Apache-2.0
// The time of a step on many chips, by formula from the cycles of one: data, tensor, pipeline and
// expert parallelism (docs/reference/models.md).
#include <math.h>

#include "explore/costs/costs.h"
#include "explore/jobs/jobs.h"
#include "explore/options/options.h"

/** Time and bytes of transfers on a link. */
typedef struct {
  double ms, bytes;
} sent_t;

static sent_t message(const explore_link_t *link, double bytes) {
  return (sent_t){bytes / link->gbps / 1e6 + link->us / 1e3, bytes};
}

static sent_t times(double n, sent_t sent) {
  return (sent_t){n * sent.ms, n * sent.bytes};
}

static sent_t plus(sent_t a, sent_t b) {
  return (sent_t){a.ms + b.ms, a.bytes + b.bytes};
}

// An all-gather, a reduce-scatter or an all-to-all of n chips: n - 1 messages of a part of n.
static sent_t ring(const explore_link_t *link, int n, double bytes) {
  return times(n - 1, message(link, bytes / n));
}

static double element_bytes(const explore_plan_t *plan) {
  return plan->source == UFP4_DTYPE_BF16 ? 2 : 4;
}

double explore_reduce_bytes(const explore_plan_t *plan) {
  static const double bytes[] = {4, 2, 0.5 + 1.0 / 16};
  return bytes[plan->layout.reduce];
}

// --- A block, of one micro-batch ----------------------------------------------------------------

// Returns the tokens whose sums the chips sharing a layer add up; experts add up theirs first.
static double summed_tokens(const explore_case_t *of, const explore_layer_t *layer) {
  if (explore_is_expert(layer)) return (double)explore_tokens(of);
  return (double)(explore_layer_count(of, layer) * explore_layer_tokens(of, layer));
}

// Experts' sums for other replicas are scattered earlier (exchange), so only the gathering remains
// here; a shared expert's are scattered like any others.
static int rings_of_sum(const explore_plan_t *plan, const explore_case_t *of,
                        const explore_layer_t *layer) {
  int joined = 0;
  for (int i = 0; i < plan->model.layer_count; i++) joined |= plan->model.layers[i].joined;
  return explore_is_expert(layer) && of->chips.experts > 1 && !joined ? 1 : 2;
}

// Layers in pairs: of a layer shared by EXPLORE_ROWS each chip has partial sums of Y, over its
// columns of X; of one shared by EXPLORE_COLUMNS it has partial sums of dX. If nothing else is in
// between, a sum is scattered and gathered again.
static sent_t pairs(const explore_plan_t *plan, const explore_case_t *of, int kind, int backward) {
  sent_t sent = {0, 0};
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    const explore_share_t which = backward ? EXPLORE_COLUMNS : EXPLORE_ROWS;
    if (!explore_is_of(layer, kind) || layer->joined || layer->share != which) continue;
    const int64_t width = backward ? explore_cin(of, layer) : explore_cout(of, layer);
    const double bytes = element_bytes(plan) * summed_tokens(of, layer) * (double)width;
    sent = plus(sent, times(rings_of_sum(plan, of, layer),
                            ring(&plan->layout.tensor, of->chips.tensor, bytes)));
  }
  return sent;
}

// Sends tokens to their experts and back. Each of the chips that share a layer sends a part, so
// tokens are gathered among these afterwards, and sums are scattered before. An expert's first
// layers, shared by columns, read what is sent to it, and the results of its last layers, shared by
// rows, are sent back.
static sent_t exchange(const explore_plan_t *plan, const explore_case_t *of, int kind) {
  sent_t sent = {0, 0};
  if (of->chips.experts == 1) return sent;
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    if (!explore_is_of(layer, kind) || !explore_is_expert(layer)) continue;
    const double rows = (double)explore_tokens(of) * (double)layer->tokens_of *
                        (double)layer->count / (double)layer->tokens_by;
    const double width = (double)(layer->share == EXPLORE_ROWS ? layer->cout : layer->cin);
    const int tensor = of->chips.tensor;
    const double bytes = element_bytes(plan) * rows * width;
    sent = plus(sent, ring(&plan->layout.others, of->chips.experts, bytes / tensor));
    sent = plus(sent, ring(&plan->layout.tensor, tensor, bytes));
  }
  return sent;
}

explore_numbers_t explore_numbers(const explore_plan_t *plan, const explore_case_t *of, int kind) {
  explore_numbers_t numbers = {0, 0};
  for (int i = 0; i < plan->model.layer_count; i++) {
    const explore_layer_t *layer = &plan->model.layers[i];
    if (!explore_is_of(layer, kind) || layer->kind != EXPLORE_LINEAR) continue;
    const double each = (double)explore_cin(of, layer) * (double)explore_cout(of, layer);
    if (explore_is_expert(layer)) {
      numbers.experts += each * (double)layer->count / of->chips.experts;
    } else {
      numbers.dense += each * (double)layer->count;
    }
  }
  return numbers;
}

// A ring of all replicas, and one of the replicas with the same experts.
static sent_t among_replicas(const explore_plan_t *plan, const explore_case_t *of, int kind,
                             double bytes) {
  const explore_numbers_t numbers = explore_numbers(plan, of, kind);
  const int data = of->chips.data;
  const sent_t dense = ring(&plan->layout.others, data, bytes * numbers.dense);
  if (numbers.experts == 0) return dense;
  return plus(dense, ring(&plan->layout.others, data / of->chips.experts, bytes * numbers.experts));
}

/** A block of a kind in one micro-batch. */
typedef struct {
  double forward, backward;   ///< ms of its passes, including transfers
  double compute;             ///< ms
  sent_t gather, exchange;    ///< transfers between chips that share layers, or experts
  sent_t gradients, weights;  ///< dW scattered among replicas; W gathered, or all of dW
  double count;               ///< number of such blocks
} block_t;

static block_t block_of(const explore_plan_t *plan, const explore_row_t *step, int kind) {
  const explore_case_t *of = step->of;
  const int again = plan->layout.recompute;
  double sum = 0;
  for (int i = 0; i < plan->model.kind_count; i++)
    sum += (double)plan->model.kinds[i].blocks * step->block_cycles[i];
  const double cycles = step->cycles * step->block_cycles[kind] / sum / of->micro;
  const double ms = 1e3 * explore_seconds(of, cycles), passes = again ? 2 : 1;
  const sent_t ahead = pairs(plan, of, kind, 0), back = pairs(plan, of, kind, 1);
  const sent_t swap = exchange(plan, of, kind);
  block_t block = {.forward = ms / 3 + ahead.ms + swap.ms,
                   .compute = ms * (again ? 4.0 / 3 : 1),
                   .gather = plus(times(passes, ahead), back),
                   .exchange = times(passes + 1, swap)};
  // DGRAD and WGRAD take two thirds, after the forward pass if that is recomputed.
  block.backward = block.compute + block.gather.ms + block.exchange.ms - block.forward;
  const double whole = plan->layout.zero > 0 ? element_bytes(plan) : explore_reduce_bytes(plan);
  block.gradients = among_replicas(plan, of, kind, explore_reduce_bytes(plan));
  block.weights = among_replicas(plan, of, kind, whole);
  return block;
}

// --- A stage ------------------------------------------------------------------------------------

// Returns the first block of a stage. Later stages, which keep fewer micro-batches, have one block
// more if the blocks do not divide evenly, so that chips differ by at most one block.
static int64_t begin_of(int64_t stage, int64_t stages, int64_t blocks) {
  const int64_t few = stages - blocks % stages;
  return stage * (blocks / stages) + (stage > few ? stage - few : 0);
}

// A stage consists of consecutive blocks, and each chip has `interleave` stages.
void explore_stage(const explore_plan_t *plan, const explore_case_t *of, int chip,
                   double blocks[EXPLORE_MAX_KINDS]) {
  const explore_model_t *model = &plan->model;
  const int64_t chips = of->chips.pipeline, stages = chips * plan->layout.interleave;
  for (int kind = 0; kind < model->kind_count; kind++) blocks[kind] = 0;
  for (int64_t stage = chip; stage < stages; stage += chips) {
    const int64_t first = begin_of(stage, stages, model->blocks);
    const int64_t next = begin_of(stage + 1, stages, model->blocks);
    const int64_t front = model->every != 0 ? 0 : model->kinds[0].blocks;
    double second = first < front ? (double)(next - front) : (double)(next - first);
    if (model->every != 0) second = (double)(next / model->every - first / model->every);
    second = model->kind_count > 1 ? fmax(second, 0) : 0;
    blocks[0] += (double)(next - first) - second;
    blocks[1] += second;
  }
}

// Returns the remaining transfer time after so many equal blocks, in closed form. Transfers run one
// after the other: after a block's pass its own transfer and those of earlier blocks remain.
static double late_after(double late, double count, double transfer, double pass) {
  const double more = transfer - pass;
  if (count == 0) return late;
  return fmax(late + count * more, transfer + (count - 1) * fmax(0, more));
}

// Updates the remaining milliseconds of transfers after so many equal blocks.
static void wait(int zero, const block_t *block, double count, double *forward, double *backward) {
  const double back = block->gradients.ms + (zero == 0 ? block->weights.ms : 0);
  *backward = late_after(*backward, count, back, block->backward);
  if (zero > 0) *forward = late_after(*forward, count, block->weights.ms, block->forward);
}

// Returns the time of transfers between replicas that passes do not hide. Stage 3 also gathers W
// only once per step, because its copies are kept.
static double exposed(const explore_plan_t *plan, const explore_case_t *of, int chip,
                      const block_t blocks[EXPLORE_MAX_KINDS]) {
  const int zero = plan->layout.zero;
  const explore_model_t *model = &plan->model;
  const int64_t chips = of->chips.pipeline, stages = chips * plan->layout.interleave;
  double forward = 0, backward = 0;
  for (int kind = model->every == 0 ? model->kind_count - 1 : -1; kind >= 0; kind--)
    wait(zero, &blocks[kind], blocks[kind].count, &forward, &backward);
  for (int64_t stage = stages - chips + chip; model->every != 0 && stage >= 0; stage -= chips) {
    const int64_t first = begin_of(stage, stages, model->blocks);
    for (int64_t at = begin_of(stage + 1, stages, model->blocks); at > first; at--)
      wait(zero, &blocks[explore_kind_at(model, at - 1)], 1, &forward, &backward);
  }
  return forward + (zero >= 2 ? of->micro : 1) * backward;
}

static sent_t reduced(const explore_plan_t *plan, const explore_case_t *of, const block_t *block) {
  return plus(times(plan->layout.zero >= 2 ? of->micro : 1, block->gradients), block->weights);
}

// Sends a block's output to the next stage and its gradient back. With sequence parallelism each of
// the chips that share layers has a part of it, otherwise all of it.
static sent_t send(const explore_plan_t *plan, const explore_case_t *of) {
  const explore_layer_t *last = &plan->model.layers[plan->model.layer_count - 1];
  const double numbers = (double)explore_tokens(of) * (double)explore_cout(of, last);
  if (of->chips.pipeline == 1) return (sent_t){0, 0};
  const double parts = plan->layout.sequence ? of->chips.tensor : 1;
  return times(2 * plan->layout.interleave,
               message(&plan->layout.others, element_bytes(plan) * numbers / parts));
}

// Computes the parts of a step as if all chips of the row were like this one.
static explore_times_t stage_times(const explore_plan_t *plan, const explore_case_t *of, int chip,
                                   const block_t blocks[EXPLORE_MAX_KINDS]) {
  const double micro = of->micro;
  const sent_t next = times(micro, send(plan, of));
  explore_times_t ms = {.send = next.ms, .sent = next.bytes};
  for (int kind = 0; kind < plan->model.kind_count; kind++) {
    const block_t *block = &blocks[kind];
    const sent_t dw = reduced(plan, of, block);
    ms.compute += micro * block->count * block->compute;
    ms.gather += micro * block->count * block->gather.ms;
    ms.exchange += micro * block->count * block->exchange.ms;
    ms.reduce += block->count * dw.ms;
    ms.sent += block->count * (micro * (block->gather.bytes + block->exchange.bytes) + dw.bytes);
  }
  ms.exposed = exposed(plan, of, chip, blocks);
  const double busy = ms.compute + ms.gather + ms.exchange + ms.send;
  ms.bubble = (of->chips.pipeline - 1) * busy / micro / plan->layout.interleave;
  ms.step = busy + ms.bubble + ms.exposed;
  return ms;
}

explore_times_t explore_times(const explore_plan_t *plan, const explore_row_t *step) {
  const explore_model_t *model = &plan->model;
  block_t blocks[EXPLORE_MAX_KINDS];
  explore_times_t slowest = {.step = -1};
  for (int kind = 0; kind < model->kind_count; kind++) blocks[kind] = block_of(plan, step, kind);
  for (int chip = 0; chip < step->of->chips.pipeline; chip++) {
    double counts[EXPLORE_MAX_KINDS];
    explore_stage(plan, step->of, chip, counts);
    for (int kind = 0; kind < model->kind_count; kind++) blocks[kind].count = counts[kind];
    const explore_times_t ms = stage_times(plan, step->of, chip, blocks);
    if (ms.step > slowest.step) slowest = ms;
  }
  return slowest;
}
