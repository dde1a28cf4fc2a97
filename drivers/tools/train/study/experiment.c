// SPDX-License-Identifier: Apache-2.0
#include "experiment.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "capture.h"
#include "checkpoint.h"
#include "kept.h"
#include "runs.h"

#define MAX_WORKERS 256
#define CHECKPOINT_SECONDS 60  // an interruption loses at most this time of a run
#define ID_SIZE 144

// State that the workers share; the lock protects all of it.
typedef struct {
  pthread_mutex_t lock;
  ufp4_experiment_t *experiment;
  const ufp4_text_t *text;
  ufp4_progress_fn_t progress;
  void *context;
  ufp4_run_kind_t kind;
  int from, to, seeds;   // variants and seeds of the jobs
  int next;              // number of the next job
  ufp4_status_t status;  // the first failure
} crew_t;

// A run in progress.
typedef struct {
  crew_t *crew;
  const ufp4_experiment_options_t *options;
  int variant, seed;
  ufp4_trainer_t *trainer;
  ufp4_device_t *device;
  ufp4_run_t *run;
  ufp4_capture_t capture;
  int captures;
  ufp4_message_t message;
} work_t;

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Returns the cycles in which the device's core, if it is one, was not idle.
static double cycles_now(ufp4_device_t *device) {
  uint64_t counters[UFP4_COUNTER_COUNT];
  ufp4_device_info_t info;
  if (ufp4_device_info(device, &info) || !info.has_cycles) return 0;
  if (ufp4_device_counters(device, counters)) return 0;
  return (double)(counters[UFP4_COUNTER_CYCLES] - counters[UFP4_COUNTER_IDLE]);
}

static void give_up(crew_t *crew, ufp4_status_t status, const char *variant, const char *message) {
  pthread_mutex_lock(&crew->lock);
  if (!crew->status) {
    crew->status = status;
    ufp4_message_set(&crew->experiment->message, "%s: %s", variant,
                     message && message[0] ? message : ufp4_status_string(status));
  }
  pthread_mutex_unlock(&crew->lock);
}

// Reports the steps done. @return 1 to continue, 0 if another run has failed or all are to stop.
static int steps_done(crew_t *crew, int64_t steps) {
  const ufp4_experiment_options_t *o = crew->experiment->options;
  pthread_mutex_lock(&crew->lock);
  if (crew->progress && steps > 0) crew->progress(crew->context, steps);
  if (o->stop && o->stop()) crew->experiment->stopped = 1;
  int go_on = !crew->status && !crew->experiment->stopped;
  pthread_mutex_unlock(&crew->lock);
  return go_on;
}

// --- One run ------------------------------------------------------------------------------------

// Suffixes of two further checkpoints of the base: where other runs branch, and at its end.
static const char *const at_branch = "-at-branch", *const at_end = "-at-end";

static void name_run(const ufp4_experiment_options_t *o, ufp4_run_kind_t kind, int variant,
                     int seed, const char *what, char id[ID_SIZE]) {
  snprintf(id, ID_SIZE, "%s-%llu%s%s", o->variants[variant].name,
           (unsigned long long)(o->trainer.seed + (uint64_t)seed),
           kind == UFP4_RUN_BRANCHED ? "-branched" : "", what);
  ufp4_kept_name(id);
}

static ufp4_status_t name_checkpoint(const ufp4_experiment_options_t *o, ufp4_run_kind_t kind,
                                     int variant, int seed, const char *what,
                                     char path[UFP4_KEPT_PATH], ufp4_message_t *message) {
  char id[ID_SIZE];
  name_run(o, kind, variant, seed, what, id);
  return ufp4_kept_path(o->folder, id, UFP4_KEPT_CHECKPOINT, path, message);
}

static ufp4_status_t save(work_t *w, const char *what) {
  char path[UFP4_KEPT_PATH];
  ufp4_status_t status =
      name_checkpoint(w->options, w->crew->kind, w->variant, w->seed, what, path, &w->message);
  return status ? status : ufp4_trainer_save(w->trainer, w->run->loss, path, &w->message);
}

// Adds advice about a missing or damaged checkpoint to the message: remove @p file.
static ufp4_status_t advise(ufp4_message_t *message, ufp4_status_t status, const char *file) {
  char why[sizeof message->text];
  if (status != UFP4_ERROR_FORMAT && status != UFP4_ERROR_IO) return status;
  snprintf(why, sizeof why, "%s", message->text);
  ufp4_message_set(message, "%s; remove %s to repeat that run", why, file);
  return status;
}

// Adds advice about a checkpoint that a finished run of the base has left.
static ufp4_status_t advise_base(const ufp4_experiment_options_t *o, int seed,
                                 ufp4_message_t *message, ufp4_status_t status) {
  char id[ID_SIZE], rows[ID_SIZE + 4];
  name_run(o, UFP4_RUN_WHOLE, ufp4_experiment_base(o), seed, "", id);
  snprintf(rows, sizeof rows, "%s.csv", id);
  return advise(message, status, rows);
}

// Starts a run from its own checkpoint if it was interrupted, otherwise as its kind requires.
static ufp4_status_t begin(work_t *w) {
  const ufp4_experiment_options_t *o = w->options;
  const ufp4_run_kind_t kind = w->crew->kind;
  char path[UFP4_KEPT_PATH];
  ufp4_status_t status = name_checkpoint(o, kind, w->variant, w->seed, "", path, &w->message);
  if (status) return status;
  if (ufp4_checkpoint_is(path))
    return advise(&w->message, ufp4_trainer_load(w->trainer, w->run->loss, path, &w->message),
                  path);
  if (kind == UFP4_RUN_WHOLE) return UFP4_OK;
  status = name_checkpoint(o, UFP4_RUN_WHOLE, ufp4_experiment_base(o), w->seed, at_branch, path,
                           &w->message);
  if (status) return status;
  status = ufp4_trainer_branch(w->trainer, w->run->loss, path, &w->message);
  return advise_base(o, w->seed, &w->message, status);
}

static int is_base(const work_t *w) {
  return w->crew->kind == UFP4_RUN_WHOLE && w->variant == ufp4_experiment_base(w->options);
}

static ufp4_status_t step(work_t *w, int64_t i) {
  if (w->captures && i == w->options->trainer.steps - 1)
    ufp4_trainer_set_hook(w->trainer, ufp4_capture_hook(&w->capture));
  ufp4_status_t status = ufp4_trainer_step(w->trainer, &w->run->loss[i]);
  if (status || !is_base(w) || i + 1 != w->options->branch_step) return status;
  return save(w, at_branch);
}

static ufp4_status_t evaluate(work_t *w) {
  return ufp4_trainer_evaluate(w->trainer, w->options->held_tokens, &w->run->held_loss,
                               &w->run->held_tokens, &w->run->stretches);
}

// Writes the run's results to disk, and removes its checkpoint, which is not needed any more.
static ufp4_status_t keep(work_t *w) {
  char id[ID_SIZE];
  ufp4_status_t status = is_base(w) && w->seed == 0 ? save(w, at_end) : UFP4_OK;
  if (status || w->captures) return status;  // captured tensors must be made again
  name_run(w->options, w->crew->kind, w->variant, w->seed, "", id);
  status = ufp4_runs_write(w->options->folder, id, w->run, w->options->trainer.steps, &w->message);
  return status ? status : ufp4_kept_remove_checkpoint(w->options->folder, id, &w->message);
}

// Takes the remaining steps of a run. *ended: 1 at the end of the run, 0 if it was to stop or
// failed.
static ufp4_status_t take_steps(work_t *w, int *ended) {
  const int64_t from = ufp4_trainer_steps(w->trainer), all = w->options->trainer.steps;
  const double before_cycles = cycles_now(w->device);
  double started = seconds_now(), saved = started;
  const int64_t before = w->crew->kind == UFP4_RUN_BRANCHED ? from - w->options->branch_step : from;
  *ended = 0;
  if (!steps_done(w->crew, before)) return UFP4_OK;
  for (int64_t i = from; i < all; i++) {
    ufp4_status_t status = step(w, i);
    if (status) return status;
    // After its last step a run always finishes and needs no checkpoint.
    const int go_on = steps_done(w->crew, 1) || i + 1 == all;
    if (i + 1 < all && (!go_on || seconds_now() - saved > CHECKPOINT_SECONDS)) {
      status = save(w, "");
      saved = seconds_now();
    }
    if (status || !go_on) return status;
  }
  // The time includes all steps, also those before an interruption.
  if (all > from) {
    w->run->seconds = (seconds_now() - started) *
                      (double)ufp4_experiment_steps(w->options, w->crew->kind) /
                      (double)(all - from);
    w->run->cycles = (cycles_now(w->device) - before_cycles) / (double)(all - from);
  }
  *ended = 1;
  return UFP4_OK;
}

static ufp4_status_t run_to_end(work_t *w) {
  int ended = 0;
  ufp4_status_t status = begin(w);
  if (!status) status = take_steps(w, &ended);
  if (!status && ended) status = evaluate(w);
  if (!status && ended) status = keep(w);
  w->run->ended = !status && ended;
  return status;
}

static void run_on(work_t *w, ufp4_device_t *device) {
  const ufp4_experiment_options_t *o = w->options;
  const ufp4_variant_t *variant = &o->variants[w->variant];
  ufp4_trainer_options_t options = o->trainer;
  options.seed += (uint64_t)w->seed;
  options.perturbation = variant->perturbation;
  w->device = device;
  w->captures = w->crew->kind == UFP4_RUN_WHOLE && w->seed == 0 && variant->capture;
  w->capture.folder = variant->capture;
  if (w->captures) w->crew->experiment->captured[w->variant] = 1;
  ufp4_status_t status =
      ufp4_trainer_create(&options, w->crew->text, device, &variant->recipe, &w->trainer);
  if (!status) status = run_to_end(w);
  const char *why = w->capture.message.text[0] ? w->capture.message.text
                    : w->message.text[0]       ? w->message.text
                                               : ufp4_device_message(device);
  if (status) give_up(w->crew, status, variant->name, why);
  ufp4_trainer_free(w->trainer);
}

// --- The crew -----------------------------------------------------------------------------------

// Jobs are ordered by seed, so that an interrupted experiment has results of all recipes.
static int take_job(crew_t *crew, work_t *w) {
  ufp4_experiment_t *e = crew->experiment;
  const ufp4_experiment_options_t *o = e->options;
  const int variants = crew->to - crew->from;
  int found = 0;
  pthread_mutex_lock(&crew->lock);
  while (!found && !crew->status && !e->stopped && crew->next < variants * crew->seeds) {
    const int variant = crew->from + crew->next % variants, seed = crew->next / variants;
    ufp4_run_t *run = &e->runs[crew->kind][variant * o->seeds + seed];
    const int mine = o->ranks < 2 || crew->next % o->ranks == o->rank;
    crew->next++;
    if (!mine || run->ended || !ufp4_experiment_takes_part(e->options, crew->kind, variant))
      continue;
    *w =
        (work_t){.crew = crew, .options = e->options, .variant = variant, .seed = seed, .run = run};
    found = 1;
  }
  pthread_mutex_unlock(&crew->lock);
  return found;
}

// A timeline that was cut off is not an error.
static void end_trace(crew_t *crew, ufp4_device_t *device) {
  ufp4_experiment_t *e = crew->experiment;
  const ufp4_status_t status = ufp4_device_trace_end(device);
  const char *message = ufp4_device_message(device);
  if (status) give_up(crew, status, e->options->backend, message);
  pthread_mutex_lock(&crew->lock);
  if (!status && message[0]) ufp4_message_set(&e->note, "%s", message);
  pthread_mutex_unlock(&crew->lock);
}

// Each run has its own device, so that runs cannot disturb each other.
static void *work(void *context) {
  crew_t *crew = context;
  const ufp4_experiment_options_t *o = crew->experiment->options;
  for (work_t w; take_job(crew, &w);) {
    ufp4_device_t *device = o->open(o->open_context);
    if (!device) {
      give_up(crew, UFP4_ERROR_DEVICE, o->backend, "the device could not be opened");
    } else {
      run_on(&w, device);
      end_trace(crew, device);
      ufp4_device_close(device);
    }
  }
  return NULL;
}

// Reads the results of runs that ended before an interruption, or in another rank.
static ufp4_status_t read_runs(ufp4_experiment_t *e, ufp4_run_kind_t kind) {
  const ufp4_experiment_options_t *o = e->options;
  char id[ID_SIZE];
  for (int i = 0; i < o->variant_count * o->seeds; i++) {
    ufp4_run_t *run = &e->runs[kind][i];
    if (!run->loss || run->ended) continue;
    name_run(o, kind, i / o->seeds, i % o->seeds, "", id);
    ufp4_status_t status =
        ufp4_runs_read(o->folder, id, run, o->trainer.steps, &run->ended, &e->message);
    if (status) return status;
  }
  return UFP4_OK;
}

// The ranks agree on the outcome.
static ufp4_status_t meet(crew_t *crew) {
  ufp4_experiment_t *e = crew->experiment;
  const int own = crew->status ? 2 : e->stopped;
  const int worst = e->options->meet ? e->options->meet(own) : own;
  e->stopped = worst > 0;
  if (worst < 2 || crew->status)
    return crew->status || worst || !e->options->meet ? crew->status : read_runs(e, crew->kind);
  e->elsewhere = 1;
  return UFP4_ERROR_DEVICE;
}

ufp4_status_t ufp4_experiment_train(ufp4_experiment_t *experiment, ufp4_run_kind_t kind, int from,
                                    int to, int seeds, const ufp4_text_t *text,
                                    ufp4_progress_fn_t progress, void *context) {
  crew_t crew = {.lock = PTHREAD_MUTEX_INITIALIZER,
                 .experiment = experiment,
                 .text = text,
                 .progress = progress,
                 .context = context,
                 .kind = kind,
                 .from = from,
                 .to = to,
                 .seeds = seeds};
  pthread_t threads[MAX_WORKERS];
  int started = 0;
  while (started + 1 < experiment->options->workers && started < MAX_WORKERS &&
         !pthread_create(&threads[started], NULL, work, &crew))
    started++;
  work(&crew);  // this thread is a worker too, so a missing thread costs only time
  while (started > 0) pthread_join(threads[--started], NULL);
  return meet(&crew);
}

// --- The experiment -----------------------------------------------------------------------------

static ufp4_status_t alloc_runs(ufp4_experiment_t *e, ufp4_run_kind_t kind) {
  const int count = e->options->variant_count * e->options->seeds;
  e->runs[kind] = ufp4_pool_alloc(&e->pool, count, (int64_t)sizeof *e->runs[kind]);
  for (int i = 0; e->runs[kind] && i < count; i++) {
    ufp4_run_t *run = &e->runs[kind][i];
    run->held_loss = NAN;
    if (ufp4_experiment_takes_part(e->options, kind, i / e->options->seeds))
      run->loss = ufp4_pool_alloc(&e->pool, e->options->trainer.steps, (int64_t)sizeof(double));
  }
  return e->pool.failed ? UFP4_ERROR_MEMORY : UFP4_OK;
}

ufp4_status_t ufp4_experiment_create(const ufp4_experiment_options_t *options,
                                     ufp4_experiment_t *out) {
  *out = (ufp4_experiment_t){.options = options};
  if (options->seeds < 1 || options->variant_count < 1 || options->folder == NULL ||
      options->variant_count > UFP4_MAX_VARIANTS)
    return UFP4_ERROR_ARGUMENT;
  ufp4_status_t status = UFP4_OK;
  for (int kind = 0; !status && kind < UFP4_RUN_KINDS; kind++)
    status = alloc_runs(out, (ufp4_run_kind_t)kind);
  for (int kind = 0; !status && kind < UFP4_RUN_KINDS; kind++)
    status = read_runs(out, (ufp4_run_kind_t)kind);
  return status;
}

ufp4_status_t ufp4_experiment_trained(ufp4_experiment_t *experiment, const ufp4_text_t *text,
                                      ufp4_device_t *device, ufp4_trainer_t **trainer) {
  const ufp4_experiment_options_t *o = experiment->options;
  const int base = ufp4_experiment_base(o);
  char path[UFP4_KEPT_PATH];
  *trainer = NULL;
  double *losses = malloc((size_t)o->trainer.steps * sizeof *losses);
  ufp4_status_t status = losses ? UFP4_OK : UFP4_ERROR_MEMORY;
  if (!status)
    status = name_checkpoint(o, UFP4_RUN_WHOLE, base, 0, at_end, path, &experiment->message);
  if (!status)
    status = ufp4_trainer_create(&o->trainer, text, device, &o->variants[base].recipe, trainer);
  if (!status) {
    status = ufp4_trainer_load(*trainer, losses, path, &experiment->message);
    status = advise_base(o, 0, &experiment->message, status);
  }
  free(losses);
  if (!status) return UFP4_OK;
  ufp4_trainer_free(*trainer);
  *trainer = NULL;
  return status;
}

ufp4_status_t ufp4_experiment_end_captures(ufp4_experiment_t *e, ufp4_status_t status) {
  const int64_t blocks = e->options->trainer.shape.blocks;
  for (int v = 0; v < e->options->variant_count; v++) {
    const char *folder = e->options->variants[v].capture;
    if (e->captured[v] && status == UFP4_OK)
      status = ufp4_capture_commit(folder, blocks, &e->message);
    if (e->captured[v] && status != UFP4_OK) ufp4_capture_discard(folder, blocks);
  }
  return status;
}

void ufp4_experiment_free(ufp4_experiment_t *experiment) {
  ufp4_pool_free(&experiment->pool);
  for (int kind = 0; kind < UFP4_RUN_KINDS; kind++) experiment->runs[kind] = NULL;
}

const ufp4_run_t *ufp4_experiment_at(const ufp4_experiment_t *experiment, ufp4_run_kind_t kind,
                                     int variant, int seed) {
  const ufp4_experiment_options_t *o = experiment->options;
  if (!ufp4_experiment_takes_part(o, kind, variant)) kind = UFP4_RUN_WHOLE;
  return &experiment->runs[kind][variant * o->seeds + seed];
}

double ufp4_experiment_cycles(const ufp4_experiment_t *e, ufp4_run_kind_t kind, int variant) {
  double cycles = 0;
  for (int s = 0; s < e->options->seeds; s++) {
    const double one = ufp4_experiment_at(e, kind, variant, s)->cycles;
    cycles += one > 0 ? one : (double)NAN;
  }
  return cycles / e->options->seeds;
}

double ufp4_experiment_speed(const ufp4_experiment_t *e, ufp4_run_kind_t kind, int variant) {
  const ufp4_experiment_options_t *o = e->options;
  double seconds = 0;
  for (int s = 0; s < o->seeds; s++) seconds += ufp4_experiment_at(e, kind, variant, s)->seconds;
  const int64_t steps = ufp4_experiment_takes_part(o, kind, variant)
                            ? ufp4_experiment_steps(o, kind)
                            : o->trainer.steps;
  return (double)(steps * o->trainer.batch * o->trainer.shape.context * o->seeds) / seconds;
}
