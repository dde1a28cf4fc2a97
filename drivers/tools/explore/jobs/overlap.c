// SPDX-License-Identifier: Apache-2.0
// Runs the jobs of one case overlapped: one or two blocks of each kind as one list, in
// micro-batches.
#include <math.h>
#include <stdlib.h>

#include "explore/jobs/cores.h"
#include "explore/jobs/jobs.h"
#include "explore/jobs/run.h"
#include "ufp4_schedule.h"

enum { BATCHES = UFP4_SCHEDULE_BATCHES, BLOCKS = 2 };
/** Kinds of jobs of a layer: GEMMs by pass, accumulating WGRAD, then AMAX and QUANT of each
 * tensor. */
enum { ADDING = UFP4_PASS_COUNT, TENSORS, KINDS = TENSORS + 2 * UFP4_ROLE_COUNT };

/** Jobs of one kind. */
typedef struct {
  double cycles;
  int64_t count;
} seen_t;

typedef struct {
  const explore_plan_t *plan;
  explore_case_t *of;
  ufp4_device_t *device;
  ufp4_schedule_plan_t list;
  ufp4_schedule_layer_t *layers;
  int *origins;  ///< for each layer of the list, the model's layer
  ufp4_schedule_buffers_t *buffers;
  seen_t (*seen)[KINDS][BATCHES];                 ///< by the model's layers
  int blocks, kinds[BLOCKS * EXPLORE_MAX_KINDS];  ///< blocks of the list, and their kinds
} overlap_t;

static int fail_device(const overlap_t *run, ufp4_status_t status) {
  return explore_fail(run->of, status, ufp4_device_message(run->device));
}

// --- The list -----------------------------------------------------------------------------------

static int64_t block_layers(const explore_model_t *model, const explore_case_t *of, int kind) {
  int64_t count = 0;
  for (int i = 0; i < model->layer_count; i++) {
    if (explore_is_of(&model->layers[i], kind)) count += explore_layer_count(of, &model->layers[i]);
  }
  return count;
}

// Returns how many layers the first @p blocks of the list have.
static int64_t list_layers(const overlap_t *run, int blocks) {
  int64_t count = 0;
  for (int i = 0; i < blocks; i++) count += block_layers(&run->plan->model, run->of, run->kinds[i]);
  return count;
}

static int allocate(overlap_t *run, size_t layers) {
  run->layers = calloc(layers, sizeof *run->layers);
  run->origins = calloc(layers, sizeof *run->origins);
  run->buffers = calloc(layers, sizeof *run->buffers);
  run->seen = calloc((size_t)run->plan->model.layer_count, sizeof *run->seen);
  if (run->layers && run->origins && run->buffers && run->seen) return CLI_GO_ON;
  return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
}

static void fill_list(overlap_t *run) {
  const explore_model_t *model = &run->plan->model;
  ufp4_schedule_plan_t *list = &run->list;
  for (int i = 0; i < run->blocks * model->layer_count; i++) {
    const explore_layer_t *layer = &model->layers[i % model->layer_count];
    if (!explore_is_of(layer, run->kinds[i / model->layer_count])) continue;
    const int64_t tokens = explore_layer_tokens(run->of, layer);
    for (int64_t copy = 0; copy < explore_layer_count(run->of, layer); copy++) {
      run->origins[list->layer_count] = i % model->layer_count;
      run->layers[list->layer_count++] = (ufp4_schedule_layer_t){
          tokens, explore_cin(run->of, layer), explore_cout(run->of, layer)};
    }
  }
}

// Each micro-batch, also of an expert, needs at least one token.
static int is_too_small(const overlap_t *run) {
  const explore_model_t *model = &run->plan->model;
  const int batches = explore_batches(run->plan, run->of);
  for (int i = 0; i < model->layer_count; i++) {
    if (explore_layer_tokens(run->of, &model->layers[i]) < batches) return 1;
  }
  return 0;
}

// Chooses two blocks of each kind, or the only one.
static void choose_blocks(overlap_t *run) {
  const explore_model_t *model = &run->plan->model;
  run->blocks = 0;
  for (int kind = 0; kind < model->kind_count; kind++) {
    for (int i = 0; i < BLOCKS && i < model->kinds[kind].blocks; i++)
      run->kinds[run->blocks++] = kind;
  }
}

static int64_t longest_block(const explore_model_t *model, const explore_case_t *of) {
  int64_t most = 0;
  for (int kind = 0; kind < model->kind_count; kind++) {
    const int64_t layers = block_layers(model, of, kind);
    most = layers > most ? layers : most;
  }
  return most;
}

static int most_layers(const explore_model_t *model) {
  return UFP4_SCHEDULE_MAX_LAYERS / BLOCKS / model->kind_count;
}

static int64_t model_layers(const overlap_t *run) {
  const explore_model_t *model = &run->plan->model;
  int64_t layers = 0;
  for (int kind = 0; kind < model->kind_count; kind++)
    layers += model->kinds[kind].blocks * block_layers(model, run->of, kind);
  return layers;
}

// Makes the list of all blocks that are run; a list of fewer blocks is its beginning.
static int make_list(overlap_t *run) {
  const explore_model_t *model = &run->plan->model;
  const int64_t longest = longest_block(model, run->of);
  if (longest > most_layers(model)) {
    ufp4_message_t message;
    ufp4_message_set(&message,
                     "a block has %lld layers, and at most %d run side by side; use --serial",
                     (long long)longest, most_layers(model));
    return explore_fail(run->of, UFP4_ERROR_UNSUPPORTED, message.text);
  }
  if (is_too_small(run)) {
    return explore_fail(
        run->of, UFP4_ERROR_UNSUPPORTED,
        "a layer has one token, which two micro-batches cannot share; use --batches 1");
  }
  choose_blocks(run);
  const int end = allocate(run, (size_t)list_layers(run, run->blocks));
  if (end != CLI_GO_ON) return end;
  run->list = (ufp4_schedule_plan_t){.layers = run->layers,
                                     .batches = explore_batches(run->plan, run->of),
                                     .steps = 1,
                                     .recipe = run->of->recipe,
                                     .source = run->plan->source};
  // As in the list of the whole model, not all layers can keep their exponents.
  if (model_layers(run) > UFP4_SCHEDULE_KEPT) run->list.kept = 2;
  fill_list(run);
  return CLI_GO_ON;
}

// --- Rows of jobs -------------------------------------------------------------------------------

// All micro-batches share one copy of W.
static int is_weights(int kind) {
  return kind >= TENSORS && (kind - TENSORS) / 2 == UFP4_ROLE_W;
}

static int64_t row_tokens(const overlap_t *run, const explore_layer_t *layer, int kind, int batch) {
  const ufp4_schedule_layer_t whole = {.tokens = explore_layer_tokens(run->of, layer)};
  ufp4_schedule_plan_t list = run->list;
  list.layers = &whole;
  return is_weights(kind) ? whole.tokens : ufp4_schedule_tokens(&list, 0, batch);
}

// Makes rows without measured values.
static explore_row_t job_row(const overlap_t *run, int index, int kind, int batch) {
  const explore_layer_t *layer = &run->plan->model.layers[index];
  const int64_t tokens = row_tokens(run, layer, kind, batch);
  const int at = kind - TENSORS, adds = kind == ADDING, pass = adds ? UFP4_PASS_WGRAD : kind;
  if (at < 0) return explore_gemm_row(run->plan, run->of, layer, tokens, pass, adds);
  return explore_quant_row(run->plan, run->of, layer, tokens, at / 2,
                           at % 2 ? EXPLORE_QUANT : EXPLORE_AMAX, 2);
}

static int kind_of(const ufp4_schedule_job_t *job) {
  const int second = job->descriptor.header.opcode == UFP4_OPCODE_QUANT;
  if (job->pass < 0) return TENSORS + 2 * job->role + second;
  return job->descriptor.gemm.d_mode & UFP4_D_MODE_C ? ADDING : job->pass;
}

// --- Measuring ----------------------------------------------------------------------------------

static void add_data(const overlap_t *run, const ufp4_schedule_job_t *job, explore_row_t *total) {
  const explore_row_t row = job_row(run, run->origins[job->layer], kind_of(job), job->batch);
  total->read += row.read;
  total->written += row.written;
}

// Repeated AMAX jobs, due to shared slots, are counted only in the totals.
static void note(overlap_t *run, const ufp4_schedule_job_t *job) {
  if (job->pass < 0 && job->descriptor.quant.row_mode == 0) return;
  seen_t *seen = &run->seen[run->origins[job->layer]][kind_of(job)][job->batch];
  seen->cycles += (double)job->cycles;
  seen->count++;
}

// Returns the distance of a dependency after jobs have been removed; 0: none.
static unsigned moved(unsigned places, int from, const int to[]) {
  if (places == 0 || to[from - (int)places] < 0) return 0;
  return (unsigned)(to[from] - to[from - (int)places]);
}

// Removes the jobs of W's copies, which exist already, for further micro-batches, and adjusts the
// distances in the ring.
static ufp4_status_t drop_weights(const overlap_t *run, ufp4_schedule_t *schedule) {
  int *to = calloc((size_t)schedule->count, sizeof *to), kept = 0;
  if (to == NULL) return UFP4_ERROR_MEMORY;
  for (int i = 0; i < schedule->count; i++) {
    const ufp4_schedule_job_t *job = &schedule->jobs[i];
    const explore_layer_t *layer = &run->plan->model.layers[run->origins[job->layer]];
    to[i] = job->role == UFP4_ROLE_W && layer->kind == EXPLORE_LINEAR ? -1 : kept++;
  }
  for (int i = 0; i < schedule->count; i++) {
    if (to[i] < 0) continue;
    ufp4_schedule_job_t job = schedule->jobs[i];
    if (job.pass >= 0) {
      ufp4_gemm_descriptor_t *gemm = &job.descriptor.gemm;
      gemm->after = (uint8_t)moved(gemm->after, i, to);
      gemm->panels =
          (uint8_t)(moved(gemm->panels & 15, i, to) | moved(gemm->panels >> 4, i, to) << 4);
    } else {
      job.descriptor.quant.after = (uint8_t)moved(job.descriptor.quant.after, i, to);
    }
    schedule->jobs[to[i]] = job;
  }
  schedule->count = kept;
  free(to);
  return UFP4_OK;
}

// Makes further micro-batches add their dW to the existing one.
static void add_up(const overlap_t *run, ufp4_schedule_t *schedule) {
  for (int i = 0; i < schedule->count; i++) {
    ufp4_schedule_job_t *job = &schedule->jobs[i];
    const explore_layer_t *layer = &run->plan->model.layers[run->origins[job->layer]];
    if (job->pass < 0 || !explore_adds(run->of, layer, job->pass)) continue;
    job->descriptor.gemm.d_mode |= UFP4_D_MODE_C;
    job->descriptor.gemm.c_addr = job->descriptor.gemm.d_addr;
    job->descriptor.gemm.c_stride_bytes = job->descriptor.gemm.d_stride_bytes;
  }
}

static ufp4_status_t run_list(overlap_t *run, const ufp4_schedule_plan_t *list, int further,
                              explore_row_t *total) {
  uint64_t before[EXPLORE_COUNTERS], after[EXPLORE_COUNTERS];
  ufp4_schedule_t schedule;
  ufp4_status_t status = ufp4_schedule_make(run->device, list, run->buffers, &schedule);
  if (status == UFP4_OK && further) status = drop_weights(run, &schedule);
  if (status == UFP4_OK && further) add_up(run, &schedule);
  if (status == UFP4_OK) status = explore_counters(run->device, before);
  if (status == UFP4_OK) status = ufp4_schedule_run(run->device, &schedule);
  if (status == UFP4_OK) status = explore_counters(run->device, after);
  for (int i = 0; i < EXPLORE_COUNTERS && status == UFP4_OK; i++)
    total->counters[i] = (double)(after[i] - before[i]);
  total->cycles = total->counters[UFP4_COUNTER_CYCLES] - total->counters[UFP4_COUNTER_IDLE];
  for (int i = 0; i < schedule.count && status == UFP4_OK; i++) {
    note(run, &schedule.jobs[i]);
    add_data(run, &schedule.jobs[i], total);
  }
  ufp4_schedule_free(&schedule);
  return status;
}

// Runs the first @p blocks of the list, in all micro-batches.
static int measure(overlap_t *run, int blocks, explore_row_t *total) {
  ufp4_schedule_plan_t list = run->list;
  list.layer_count = (int)list_layers(run, blocks);
  ufp4_status_t status = ufp4_schedule_alloc(run->device, &list, run->buffers);
  if (status == UFP4_OK) status = run_list(run, &list, 0, total);
  explore_row_t further = {.macs = 0};
  if (status == UFP4_OK && run->of->micro > 1) status = run_list(run, &list, 1, &further);
  if (status != UFP4_OK) return fail_device(run, status);
  ufp4_schedule_release(run->device, &list, run->buffers);
  explore_add_to(total, &further, run->of->micro - 1);
  for (int l = 0; l < list.layer_count; l++) {
    const ufp4_schedule_layer_t *layer = &list.layers[l];
    const double share = explore_layer_share(run->of, &run->plan->model.layers[run->origins[l]]);
    total->macs += UFP4_PASS_COUNT * share * (double)layer->tokens * (double)layer->cin *
                   (double)layer->cout * run->of->micro;
  }
  return CLI_GO_ON;
}

// --- Rows ---------------------------------------------------------------------------------------

static int add_row(const overlap_t *run, int index, int kind, int batch, explore_rows_t *rows) {
  const seen_t *seen = &run->seen[index][kind][batch];
  if (seen->count == 0) return CLI_GO_ON;
  explore_row_t row = job_row(run, index, kind, batch);
  if (run->list.batches > 1 && !is_weights(kind)) row.batch = batch;
  row.cycles = round(seen->cycles / (double)seen->count);
  for (int i = 0; i < EXPLORE_COUNTERS; i++) row.counters[i] = NAN;
  return explore_add_row(rows, &row);
}

static int add_rows(const overlap_t *run, explore_rows_t *rows) {
  int end = CLI_GO_ON;
  for (int i = 0; i < run->plan->model.layer_count; i++) {
    for (int at = 0; at < KINDS * BATCHES && end == CLI_GO_ON; at++) {
      // Tensors come first.
      const int kind = (at / BATCHES + TENSORS) % KINDS;
      end = add_row(run, i, kind, at % BATCHES, rows);
    }
  }
  return end;
}

// Each further block of a kind adds the same as the second one.
static int run_case(overlap_t *run, explore_rows_t *rows) {
  explore_row_t before = {.macs = 0}, block[EXPLORE_MAX_KINDS], step = {.macs = 0};
  int64_t done = 0;  // of its kind
  int end = CLI_GO_ON;
  for (int i = 0; i < run->blocks && end == CLI_GO_ON; i++) {
    explore_row_t all = {.macs = 0};
    const int kind = run->kinds[i], is_last = i + 1 == run->blocks || run->kinds[i + 1] != kind;
    const int64_t times = is_last ? run->plan->model.kinds[kind].blocks - done : 1;
    end = measure(run, i + 1, &all);
    block[kind] = all;
    explore_add_to(&block[kind], &before, -1);
    explore_add_to(&step, &block[kind], (double)times);
    done = is_last ? 0 : done + 1;
    before = all;
  }
  if (end == CLI_GO_ON) end = add_rows(run, rows);
  return end == CLI_GO_ON ? explore_add_totals(run->plan, run->of, block, &step, rows) : end;
}

static void free_list(overlap_t *run) {
  free(run->layers);
  free(run->origins);
  free(run->buffers);
  free(run->seen);
}

uint64_t explore_overlap_bytes(const explore_plan_t *plan, explore_case_t *of) {
  overlap_t run = {.plan = plan, .of = of};
  if (longest_block(&plan->model, of) > most_layers(&plan->model)) return 0;
  const uint64_t bytes = make_list(&run) == CLI_GO_ON ? ufp4_schedule_bytes(&run.list) : 0;
  free_list(&run);
  return bytes;
}

int explore_run_overlap(const explore_plan_t *plan, explore_case_t *of, explore_rows_t *rows) {
  overlap_t run = {.plan = plan, .of = of};
  int end = make_list(&run);
  if (end == CLI_GO_ON)
    end = explore_open(plan, of, ufp4_schedule_bytes(&run.list), NULL, &run.device);
  if (end == CLI_GO_ON) end = run_case(&run, rows);
  const int closed = cli_device_close(&cli_explore, run.device);
  free_list(&run);
  return end == CLI_GO_ON ? closed : end;
}
