// SPDX-License-Identifier: Apache-2.0
#include "experiment.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "capture.h"

#define MAX_WORKERS 256

// What the workers share; the lock guards all of it.
typedef struct {
  pthread_mutex_t lock;
  ufp4_experiment_t *experiment;
  const ufp4_text_t *text;
  ufp4_progress_fn_t progress;
  void *context;
  int next;  // number of the next run to start
  int64_t steps_done;
  ufp4_status_t status;  // the first failure
} crew_t;

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
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

// @return 1 to go on, 0 if another run has failed.
static int step_done(crew_t *crew) {
  const ufp4_experiment_options_t *o = crew->experiment->options;
  pthread_mutex_lock(&crew->lock);
  crew->steps_done++;
  if (crew->progress)
    crew->progress(crew->context, crew->steps_done, o->trainer.steps * o->seeds * o->variant_count);
  int go_on = !crew->status;
  pthread_mutex_unlock(&crew->lock);
  return go_on;
}

static ufp4_status_t take_steps(crew_t *crew, ufp4_trainer_t *trainer, ufp4_run_t *run,
                                ufp4_layer_hook_t last) {
  const ufp4_experiment_options_t *o = crew->experiment->options;
  double started = seconds_now();
  for (int64_t i = 0; i < o->trainer.steps; i++) {
    if (i == o->trainer.steps - 1) ufp4_trainer_set_hook(trainer, last);
    ufp4_status_t status = ufp4_trainer_step(trainer, &run->loss[i]);
    if (status) return status;
    if (!step_done(crew)) return UFP4_OK;
  }
  run->seconds = seconds_now() - started;
  return ufp4_trainer_evaluate(trainer, o->held_tokens, &run->held_loss, &run->held_tokens);
}

static void run_on(crew_t *crew, int number, ufp4_device_t *device) {
  const ufp4_experiment_options_t *o = crew->experiment->options;
  int v = number % o->variant_count, seed = number / o->variant_count;
  const ufp4_variant_t *variant = &o->variants[v];
  ufp4_trainer_options_t options = o->trainer;
  options.seed += (uint64_t)seed;
  options.perturbation = variant->perturbation;
  ufp4_capture_t capture = {.folder = variant->capture};
  int captures = seed == 0 && variant->capture;
  if (captures) crew->experiment->captured[v] = 1;
  ufp4_layer_hook_t last = captures ? ufp4_capture_hook(&capture) : (ufp4_layer_hook_t){NULL, NULL};
  ufp4_trainer_t *trainer;
  ufp4_status_t status =
      ufp4_trainer_create(&options, crew->text, device, &variant->recipe, &trainer);
  if (!status)
    status = take_steps(crew, trainer, &crew->experiment->runs[v * o->seeds + seed], last);
  const char *why = capture.message.text[0] ? capture.message.text : ufp4_device_message(device);
  if (status) give_up(crew, status, variant->name, why);
  ufp4_trainer_free(trainer);
}

static int take_number(crew_t *crew) {
  const ufp4_experiment_options_t *o = crew->experiment->options;
  pthread_mutex_lock(&crew->lock);
  int number = crew->status || crew->next == o->variant_count * o->seeds ? -1 : crew->next++;
  pthread_mutex_unlock(&crew->lock);
  return number;
}

// Each run gets a device of its own, so that one run cannot disturb another.
static void *work(void *context) {
  crew_t *crew = context;
  const ufp4_experiment_options_t *o = crew->experiment->options;
  for (int number; (number = take_number(crew)) >= 0;) {
    ufp4_device_t *device = o->open(o->open_context);
    if (!device) {
      give_up(crew, UFP4_ERROR_DEVICE, o->backend, "the device could not be opened");
    } else {
      run_on(crew, number, device);
      ufp4_status_t status = ufp4_device_trace_end(device);
      if (status) give_up(crew, status, o->backend, ufp4_device_message(device));
      ufp4_device_close(device);
    }
  }
  return NULL;
}

static ufp4_status_t alloc_runs(ufp4_experiment_t *e) {
  int count = e->options->variant_count * e->options->seeds;
  e->runs = ufp4_pool_alloc(&e->pool, count, (int64_t)sizeof *e->runs);
  for (int i = 0; e->runs && i < count; i++) {
    e->runs[i].loss = ufp4_pool_alloc(&e->pool, e->options->trainer.steps, (int64_t)sizeof(double));
    e->runs[i].held_loss = NAN;
  }
  return e->pool.failed ? UFP4_ERROR_MEMORY : UFP4_OK;
}

// Captured tensors get their names when all runs have ended well, and go where one has not.
static ufp4_status_t end_captures(ufp4_experiment_t *e, ufp4_status_t status) {
  const int64_t blocks = e->options->trainer.shape.blocks;
  for (int v = 0; v < e->options->variant_count; v++) {
    const char *folder = e->options->variants[v].capture;
    if (e->captured[v] && status == UFP4_OK)
      status = ufp4_capture_commit(folder, blocks, &e->message);
    if (e->captured[v] && status != UFP4_OK) ufp4_capture_discard(folder, blocks);
  }
  return status;
}

ufp4_status_t ufp4_experiment_run(const ufp4_experiment_options_t *options, const ufp4_text_t *text,
                                  ufp4_progress_fn_t progress, void *context,
                                  ufp4_experiment_t *out) {
  *out = (ufp4_experiment_t){.options = options};
  if (options->seeds < 1 || options->variant_count < 1 ||
      options->variant_count > UFP4_MAX_VARIANTS)
    return UFP4_ERROR_ARGUMENT;
  if (alloc_runs(out)) return UFP4_ERROR_MEMORY;
  crew_t crew = {.lock = PTHREAD_MUTEX_INITIALIZER,
                 .experiment = out,
                 .text = text,
                 .progress = progress,
                 .context = context};
  pthread_t threads[MAX_WORKERS];
  int started = 0;
  while (started + 1 < options->workers && started < MAX_WORKERS &&
         !pthread_create(&threads[started], NULL, work, &crew))
    started++;
  work(
      &crew);  // this thread is a worker too, so a thread that could not be started costs time only
  while (started > 0) pthread_join(threads[--started], NULL);
  return end_captures(out, crew.status);
}

void ufp4_experiment_free(ufp4_experiment_t *experiment) {
  ufp4_pool_free(&experiment->pool);
  experiment->runs = NULL;
}

const ufp4_run_t *ufp4_experiment_at(const ufp4_experiment_t *experiment, int variant, int seed) {
  return &experiment->runs[variant * experiment->options->seeds + seed];
}
