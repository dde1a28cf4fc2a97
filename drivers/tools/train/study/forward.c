// SPDX-License-Identifier: Apache-2.0
#include "forward.h"

#include <math.h>
#include <pthread.h>

#define MAX_WORKERS 256
#define PIECE 32  // batches that a worker takes at once
#define SLOTS (UFP4_FORWARD_LINES / UFP4_MATRIX_COUNT)

// Measurements of each layer, in the order of its rows.
typedef struct {
  ufp4_pass_t pass;
  ufp4_role_t role;
  ufp4_round_t round;
} slot_t;
static const slot_t slots[SLOTS] = {{UFP4_PASS_FPROP, UFP4_ROLE_X, UFP4_ROUND_RNE},
                                    {UFP4_PASS_FPROP, UFP4_ROLE_W, UFP4_ROUND_RNE},
                                    {UFP4_PASS_DGRAD, UFP4_ROLE_DY, UFP4_ROUND_RNE},
                                    {UFP4_PASS_DGRAD, UFP4_ROLE_DY, UFP4_ROUND_SR},
                                    {UFP4_PASS_DGRAD, UFP4_ROLE_W, UFP4_ROUND_RNE},
                                    {UFP4_PASS_WGRAD, UFP4_ROLE_DY, UFP4_ROUND_RNE},
                                    {UFP4_PASS_WGRAD, UFP4_ROLE_DY, UFP4_ROUND_SR},
                                    {UFP4_PASS_WGRAD, UFP4_ROLE_X, UFP4_ROUND_RNE}};

static const ufp4_elem_t grids[UFP4_FORWARD_WAYS / 2] = {UFP4_ELEM_E2M1, UFP4_ELEM_E1M2,
                                                         UFP4_ELEM_MIXED};

// State that the workers share; the lock protects everything that changes.
typedef struct {
  pthread_mutex_t lock;
  const ufp4_forward_options_t *options;
  const ufp4_text_t *text;
  ufp4_trainer_t *trainer;
  ufp4_evaluation_t plan;
  int64_t pieces;  // per recipe
  int64_t next;    // next task: 0 measures the operands, and the others are the recipes' pieces
  ufp4_status_t status;
  ufp4_forward_t *out;
} crew_t;

// --- Operands -----------------------------------------------------------------------------------

static ufp4_axis_t axis_of(ufp4_pass_t pass, ufp4_role_t role) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands(pass, roles, axes);
  return axes[roles[1] == role];
}

static const ufp4_matrix_t *operand_of(const ufp4_layer_event_t *event, ufp4_role_t role) {
  const ufp4_matrix_t *const operands[] = {&event->x, &event->w, &event->dy};
  return operands[role];
}

// The random bytes are those of a training step.
static ufp4_status_t measure(const crew_t *crew, const ufp4_layer_event_t *event, ufp4_role_t role,
                             ufp4_quantize_t how, ufp4_rounding_t *out) {
  how.seed = crew->plan.seed;
  how.tensor_id = ufp4_tensor_id(crew->plan.step, event->layer, role, how.axis);
  return ufp4_rounding_measure(operand_of(event, role), &how, out);
}

static ufp4_status_t measure_row(const crew_t *crew, const ufp4_layer_event_t *event,
                                 const slot_t *slot, int way, ufp4_forward_row_t *row) {
  *row = (ufp4_forward_row_t){.layer = event->layer,
                              .pass = slot->pass,
                              .role = slot->role,
                              .round = slot->round,
                              .elem = grids[way / 2],
                              .rht = way % 2};
  const ufp4_quantize_t how = {
      .elem = row->elem,
      .scale = UFP4_SCALE_E4M3,
      .axis = axis_of(slot->pass, slot->role),
      .rht = row->rht ? UFP4_RHT_INTEGER : UFP4_RHT_NONE,
      .rht_mask = UFP4_RHT_DEFAULT_MASK,
      .round = slot->round,
      .scale_round = slot->round == UFP4_ROUND_SR ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE};
  return measure(crew, event, slot->role, how, &row->rounding);
}

// A layer or pass in BF16 keeps the whole signal. A requantized operand has been rounded twice,
// which is not measured.
static ufp4_status_t multiply_kept(const crew_t *crew, const ufp4_layer_event_t *event,
                                   ufp4_forward_recipe_t *recipe) {
  const unsigned blocks = (unsigned)crew->plan.shape->blocks;
  const ufp4_recipe_t own = ufp4_recipe_of_layer(&recipe->recipe, event->layer, blocks);
  double *kept = &recipe->layer_kept[event->pass][event->layer];
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands(event->pass, roles, axes);
  for (int i = 0; i < 2 && ufp4_recipe_quantizes(&own, event->pass); i++) {
    ufp4_rounding_t rounding;
    ufp4_quantize_t how = ufp4_recipe_quantize(&own, roles[i], axes[i]);
    how.rht_mask = ufp4_recipe_mask(&own, crew->plan.seed, crew->plan.step);
    ufp4_status_t status = measure(crew, event, roles[i], how, &rounding);
    if (status) return status;
    *kept *= own.requantize && event->pass != UFP4_PASS_FPROP ? NAN : rounding.kept;
  }
  return UFP4_OK;
}

static ufp4_status_t on_gemm(void *context, const ufp4_layer_event_t *event) {
  const crew_t *crew = context;
  ufp4_status_t status = UFP4_OK;
  for (int i = 0; i < SLOTS * UFP4_FORWARD_WAYS && !status; i++) {
    const slot_t *slot = &slots[i / UFP4_FORWARD_WAYS];
    if (slot->pass != event->pass) continue;
    status = measure_row(crew, event, slot, i % UFP4_FORWARD_WAYS,
                         &crew->out->rows[event->layer * SLOTS * UFP4_FORWARD_WAYS + (unsigned)i]);
  }
  for (int i = 0; i < crew->out->recipe_count && !status; i++)
    status = multiply_kept(crew, event, &crew->out->recipes[i]);
  return status;
}

// --- Losses -------------------------------------------------------------------------------------

static ufp4_status_t evaluate_piece(const crew_t *crew, ufp4_device_t *device, int64_t piece,
                                    ufp4_forward_recipe_t *recipe) {
  ufp4_evaluation_t plan = crew->plan;
  int64_t first = piece * PIECE * plan.batch, count = plan.sequences - first;
  if (count > PIECE * plan.batch) count = PIECE * plan.batch;
  plan.device = device;
  plan.recipe = &recipe->recipe;
  return ufp4_evaluate(&plan, crew->text, first, count, recipe->losses + first, NULL);
}

static void multiply_layers(const ufp4_forward_t *out, ufp4_forward_recipe_t *recipe) {
  for (int p = 0; p < UFP4_PASS_COUNT; p++) {
    recipe->kept[p] = recipe->recipe.quantized ? 1 : NAN;
    for (int l = 0; l < out->layers; l++) recipe->kept[p] *= recipe->layer_kept[p][l];
  }
}

static void finish(ufp4_forward_t *out) {
  for (int i = 0; i < out->recipe_count; i++) {
    ufp4_forward_recipe_t *recipe = &out->recipes[i];
    multiply_layers(out, recipe);
    for (int64_t s = 0; s < out->sequences; s++) recipe->loss += recipe->losses[s];
    recipe->loss /= (double)out->sequences;
  }
}

// --- Workers ------------------------------------------------------------------------------------

static int64_t take_task(crew_t *crew) {
  pthread_mutex_lock(&crew->lock);
  int64_t tasks = 1 + crew->pieces * crew->out->recipe_count;
  if (crew->options->stop && crew->options->stop()) crew->out->stopped = 1;
  const int over = crew->status || crew->out->stopped || crew->next == tasks;
  int64_t task = over ? -1 : crew->next++;
  pthread_mutex_unlock(&crew->lock);
  return task;
}

static void give_up(crew_t *crew, ufp4_status_t status, const char *what, const char *why) {
  pthread_mutex_lock(&crew->lock);
  if (!crew->status) {
    crew->status = status;
    ufp4_message_set(&crew->out->message, "%s: %s", what,
                     why && why[0] ? why : ufp4_status_string(status));
  }
  pthread_mutex_unlock(&crew->lock);
}

static void tell(crew_t *crew, int64_t piece) {
  int64_t batches = crew->plan.sequences / crew->plan.batch - piece * PIECE;
  if (!crew->options->progress) return;
  pthread_mutex_lock(&crew->lock);
  crew->options->progress(crew->options->progress_context, batches < PIECE ? batches : PIECE);
  pthread_mutex_unlock(&crew->lock);
}

static void do_task(crew_t *crew, int64_t task, ufp4_device_t *device) {
  if (task == 0) {
    ufp4_status_t status = ufp4_trainer_look(crew->trainer, (ufp4_layer_hook_t){on_gemm, crew});
    if (status) give_up(crew, status, "operands", NULL);
    return;
  }
  ufp4_forward_recipe_t *recipe = &crew->out->recipes[(task - 1) / crew->pieces];
  int64_t piece = (task - 1) % crew->pieces;
  ufp4_status_t status = evaluate_piece(crew, device, piece, recipe);
  if (status) give_up(crew, status, recipe->recipe.name, ufp4_device_message(device));
  if (!status) tell(crew, piece);
}

static void *work(void *context) {
  crew_t *crew = context;
  ufp4_device_t *device = crew->options->open(crew->options->open_context);
  if (!device) give_up(crew, UFP4_ERROR_DEVICE, "device", "it could not be opened");
  for (int64_t task; (task = take_task(crew)) >= 0;) do_task(crew, task, device);
  ufp4_device_close(device);
  return NULL;
}

static void work_together(crew_t *crew) {
  pthread_t threads[MAX_WORKERS];
  int started = 0;
  while (started + 1 < crew->options->workers && started < MAX_WORKERS &&
         !pthread_create(&threads[started], NULL, work, crew))
    started++;
  work(crew);  // this thread is a worker too, so a missing thread costs only time
  while (started > 0) pthread_join(threads[--started], NULL);
}

// --- The whole ----------------------------------------------------------------------------------

static ufp4_status_t alloc_result(const ufp4_forward_options_t *options,
                                  const ufp4_evaluation_t *plan, ufp4_forward_t *out) {
  const int n = options->recipe_count;
  out->row_count = plan->shape->blocks * UFP4_FORWARD_LINES * UFP4_FORWARD_WAYS;
  out->layers = (int)plan->shape->blocks * UFP4_MATRIX_COUNT;
  out->recipe_count = n;
  out->sequences = plan->sequences;
  out->tokens = plan->sequences * plan->shape->context;
  out->rows = ufp4_pool_alloc(&out->pool, out->row_count, (int64_t)sizeof *out->rows);
  out->recipes = ufp4_pool_alloc(&out->pool, n, (int64_t)sizeof *out->recipes);
  for (int i = 0; out->recipes && i < n; i++) {
    ufp4_forward_recipe_t *recipe = &out->recipes[i];
    recipe->recipe = options->recipes[i];
    recipe->losses = ufp4_pool_alloc(&out->pool, out->sequences, (int64_t)sizeof(double));
    for (int p = 0; p < UFP4_PASS_COUNT; p++) {
      recipe->layer_kept[p] = ufp4_pool_alloc(&out->pool, out->layers, (int64_t)sizeof(double));
      for (int l = 0; recipe->layer_kept[p] && l < out->layers; l++) recipe->layer_kept[p][l] = 1;
    }
  }
  return out->pool.failed ? UFP4_ERROR_MEMORY : UFP4_OK;
}

ufp4_status_t ufp4_forward_measure(ufp4_trainer_t *trainer, const ufp4_text_t *text,
                                   const ufp4_forward_options_t *options, ufp4_forward_t *out) {
  *out = (ufp4_forward_t){0};
  if (options->recipe_count < 1 || options->recipe_count > UFP4_FORWARD_RECIPES)
    return UFP4_ERROR_ARGUMENT;
  crew_t crew = {.lock = PTHREAD_MUTEX_INITIALIZER,
                 .options = options,
                 .text = text,
                 .trainer = trainer,
                 .plan = ufp4_trainer_evaluation(trainer, options->tokens),
                 .out = out};
  crew.pieces = (crew.plan.sequences / crew.plan.batch + PIECE - 1) / PIECE;
  if (alloc_result(options, &crew.plan, out)) return UFP4_ERROR_MEMORY;
  work_together(&crew);
  if (!crew.status && !out->stopped) finish(out);
  return crew.status;
}

void ufp4_forward_free(ufp4_forward_t *forward) {
  ufp4_pool_free(&forward->pool);
  *forward = (ufp4_forward_t){0};
}

// --- Means over blocks --------------------------------------------------------------------------

static void add_row(const ufp4_forward_row_t *row, int way, double weight,
                    ufp4_forward_line_t *line) {
  line->matrix = row->layer % UFP4_MATRIX_COUNT;
  line->pass = row->pass;
  line->role = row->role;
  line->round = row->round;
  line->kept[way] += weight * row->rounding.kept;
  line->sqnr_db[way] += weight * row->rounding.sqnr_db;
  line->bucket_ratio[way] += weight * row->rounding.bucket_ratio;
  line->uniform[way] += weight * row->rounding.uniform;
}

void ufp4_forward_lines(const ufp4_forward_t *forward,
                        ufp4_forward_line_t lines[UFP4_FORWARD_LINES]) {
  const int64_t rows = UFP4_FORWARD_LINES * UFP4_FORWARD_WAYS, blocks = forward->row_count / rows;
  for (int i = 0; i < UFP4_FORWARD_LINES; i++) lines[i] = (ufp4_forward_line_t){0};
  for (int64_t i = 0; i < forward->row_count; i++) {
    add_row(&forward->rows[i], (int)(i % UFP4_FORWARD_WAYS), 1 / (double)blocks,
            &lines[i % rows / UFP4_FORWARD_WAYS]);
  }
}

const char *ufp4_role_name(ufp4_role_t role) {
  static const char *const names[UFP4_ROLE_COUNT] = {"X", "W", "dY"};
  return names[role];
}

const char *ufp4_pass_name(ufp4_pass_t pass) {
  static const char *const names[UFP4_PASS_COUNT] = {"fprop", "dgrad", "wgrad"};
  return names[pass];
}
