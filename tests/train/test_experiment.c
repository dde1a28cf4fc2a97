// SPDX-License-Identifier: Apache-2.0
// Tests experiments: they do not depend on the number of workers, and write the right files.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "train/study/capture.h"
#include "train/study/experiment.h"

enum { SEEDS = 3, STEPS = 4 };

static ufp4_experiment_options_t make_options(void) {
  ufp4_experiment_options_t o = {
      .trainer = fixture_options(STEPS), .seeds = SEEDS, .held_tokens = 512, .backend = "model"};
  static const char *const names[] = {"bf16", "ufp4", "e2m1"};
  for (int i = 0; i < 3; i++) {
    o.variants[i].name = names[i];
    check_bits(i, ufp4_recipe_named(names[i], &o.variants[i].recipe), UFP4_OK, "%s", names[i]);
  }
  o.variants[3] = o.variants[0];
  o.variants[3].name = "bf16-control";
  o.variants[3].perturbation = 1e-3f;
  o.variant_count = 4;
  o.open = fixture_open;
  o.workers = 1;
  return o;
}

static void count_steps(void *context, int64_t steps) {
  *(int64_t *)context += steps;
}

typedef struct {
  ufp4_experiment_options_t o;
  ufp4_text_t text;
  ufp4_experiment_t e;
} made_t;

static made_t make(void) {
  return (made_t){.o = make_options(), .text = fixture_text(40000)};
}

static void end(made_t *m) {
  ufp4_experiment_free(&m->e);
  ufp4_text_free(&m->text);
}

// Runs all variants as whole trainings, in a folder of their own.
static ufp4_status_t run_whole(made_t *m, int64_t *steps) {
  char folder[256];
  fixture_folder(folder);
  m->o.folder = folder;
  ufp4_status_t status = ufp4_experiment_create(&m->o, &m->e);
  if (!status)
    status = ufp4_experiment_train(&m->e, UFP4_RUN_WHOLE, 0, m->o.variant_count, m->o.seeds,
                                   &m->text, steps ? count_steps : NULL, steps);
  m->o.folder = NULL;
  fixture_remove(folder);
  return status;
}

static void check_same_runs(const made_t *a, const made_t *b) {
  for (int v = 0; v < 4; v++) {
    for (int s = 0; s < SEEDS; s++) {
      const ufp4_run_t *x = ufp4_experiment_at(&a->e, UFP4_RUN_WHOLE, v, s),
                       *y = ufp4_experiment_at(&b->e, UFP4_RUN_WHOLE, v, s);
      check_that(v, !memcmp(x->loss, y->loss, STEPS * sizeof *x->loss), "losses of %s",
                 a->o.variants[v].name);
      check_that(v, x->held_loss == y->held_loss && isfinite(x->held_loss), "held-out loss %g",
                 x->held_loss);
      check_that(v, x->held_tokens == 512 && y->held_tokens == 512, "held-out tokens");
    }
  }
}

TEST(workers_do_not_show) {
  made_t one = make(), three = make();
  int64_t calls = 0;
  three.o.workers = 3;
  check_bits(0, run_whole(&one, &calls), UFP4_OK, "one worker");
  check_bits(0, (uint64_t)calls, SEEDS * STEPS * 4, "progress");
  check_bits(0, run_whole(&three, NULL), UFP4_OK, "three workers");
  check_same_runs(&one, &three);
  end(&one), end(&three);
}

TEST(runs_differ_in_seed_recipe_and_perturbation) {
  made_t m = make();
  check_bits(0, run_whole(&m, NULL), UFP4_OK, "run");
  for (int v = 0; v < 4; v++) {
    double first = ufp4_experiment_at(&m.e, UFP4_RUN_WHOLE, v, 0)->loss[STEPS - 1],
           base = ufp4_experiment_at(&m.e, UFP4_RUN_WHOLE, 0, 0)->loss[STEPS - 1];
    check_that(v, first != ufp4_experiment_at(&m.e, UFP4_RUN_WHOLE, v, 1)->loss[STEPS - 1],
               "seeds of %s", m.o.variants[v].name);
    check_that(v, v == 0 || first != base, "%s and bf16", m.o.variants[v].name);
  }
  end(&m);
}

// Makes an experiment with given held-out losses.
static ufp4_experiment_t made_up(const ufp4_experiment_options_t *options, ufp4_run_t *runs,
                                 const double held[4][SEEDS]) {
  static double losses[STEPS] = {5, 4, 3, 2.5};
  for (int v = 0; v < options->variant_count; v++) {
    for (int s = 0; s < SEEDS; s++) {
      runs[v * SEEDS + s] =
          (ufp4_run_t){.loss = losses, .held_loss = held[v][s], .held_tokens = 512, .seconds = 1};
    }
  }
  return (ufp4_experiment_t){.options = options, .runs = {runs, runs}};
}

static const double some_losses[4][SEEDS] = {
    {2, 2.1, 2.2}, {2.02, 2.121, 2.222}, {2.06, 2.163, 2.266}, {2.001, 2.099, 2.2}};

TEST(base_is_bf16_or_else_fp32) {
  ufp4_experiment_options_t o = make_options();
  o.variants[3] = o.variants[0];
  check_bits(0, ufp4_recipe_named("fp32", &o.variants[0].recipe), UFP4_OK, "fp32");
  check_bits(1, (uint64_t)ufp4_experiment_base(&o), 3, "bf16 before fp32");
  o.variant_count = 3;
  check_bits(2, (uint64_t)ufp4_experiment_base(&o), 0, "without bf16: fp32");
}

TEST(branched_runs_leave_the_base_at_its_step) {
  made_t m = make();
  char folder[256];
  fixture_folder(folder);
  m.o.folder = folder;
  m.o.branch_step = 3;
  check_bits(0, ufp4_experiment_create(&m.o, &m.e), UFP4_OK, "create");
  check_bits(1, ufp4_experiment_train(&m.e, UFP4_RUN_WHOLE, 0, 1, SEEDS, &m.text, NULL, NULL),
             UFP4_OK, "base");
  check_bits(2, ufp4_experiment_train(&m.e, UFP4_RUN_BRANCHED, 0, 4, SEEDS, &m.text, NULL, NULL),
             UFP4_OK, "branched");
  for (int s = 0; s < SEEDS; s++) {
    ufp4_trainer_options_t options = m.o.trainer;
    ufp4_device_t *device = fixture_device(1);
    double loss = 0, held = 0;
    options.seed += (uint64_t)s;
    ufp4_trainer_t *base = fixture_trainer(&options, &m.text, device, "bf16"),
                   *branch = fixture_trainer(&options, &m.text, device, "ufp4");
    for (int i = 0; i < 3; i++) ufp4_trainer_step(base, &loss);
    ufp4_trainer_copy(branch, base);
    ufp4_trainer_step(branch, &loss);
    ufp4_trainer_evaluate(branch, m.o.held_tokens, &held, NULL, NULL);
    const ufp4_run_t *run = ufp4_experiment_at(&m.e, UFP4_RUN_BRANCHED, 1, s);
    check_that(s, run->loss[3] == loss && run->held_loss == held, "%g and %g, want %g and %g",
               run->loss[3], run->held_loss, loss, held);
    ufp4_trainer_free(base), ufp4_trainer_free(branch);
    ufp4_device_close(device);
  }
  check_that(9,
             ufp4_experiment_at(&m.e, UFP4_RUN_BRANCHED, 0, 0) ==
                 ufp4_experiment_at(&m.e, UFP4_RUN_WHOLE, 0, 0),
             "the base stands for itself");
  check_that(9,
             ufp4_experiment_at(&m.e, UFP4_RUN_BRANCHED, 3, 0)->held_loss !=
                 ufp4_experiment_at(&m.e, UFP4_RUN_WHOLE, 0, 0)->held_loss,
             "the control is perturbed");
  end(&m);
  fixture_remove(folder);
}

static int calls_left;
static int stop_after(void) {
  return calls_left-- <= 0;
}

TEST(stopped_experiment_goes_on_to_the_same_bits) {
  made_t whole = make(), m = make();
  char folder[256];
  fixture_folder(folder);
  check_bits(0, run_whole(&whole, NULL), UFP4_OK, "at once");
  m.o.folder = folder;
  m.o.stop = stop_after;
  int stops = 0, ended = 0;
  for (; !ended && stops < 100; stops++) {
    calls_left = 5;  // in the middle of a run
    ufp4_experiment_free(&m.e);
    check_bits(stops, ufp4_experiment_create(&m.o, &m.e), UFP4_OK, "create");
    check_bits(stops, ufp4_experiment_train(&m.e, UFP4_RUN_WHOLE, 0, 4, SEEDS, &m.text, NULL, NULL),
               UFP4_OK, "part");
    ended = !m.e.stopped;
  }
  check_that(stops, ended && stops > 5, "%d parts", stops);
  check_same_runs(&whole, &m);
  end(&m), end(&whole);
  fixture_remove(folder);
}

static char *read_all(const char *path) {
  char *text = calloc(1, 100000);
  FILE *file = fopen(path, "rb");
  check_that(0, text && file, "%s", path);
  if (text && file && fread(text, 1, 99999, file) == 0) check_that(0, 0, "%s is empty", path);
  if (file) fclose(file);
  return text;
}

TEST(files_hold_the_losses) {
  ufp4_experiment_options_t o = make_options();
  ufp4_run_t runs[4 * SEEDS];
  ufp4_experiment_t e = made_up(&o, runs, some_losses);
  ufp4_message_t message;
  char folder[256], path[300];
  fixture_folder(folder);
  snprintf(path, sizeof path, "%s/losses.csv", folder);
  check_bits(0, ufp4_experiment_write_csv(&e, UFP4_RUN_WHOLE, path, &message), UFP4_OK, "csv");
  char *csv = read_all(path);
  check_that(
      0, strstr(csv, "recipe,seed,step,train_loss,held_loss\nbf16,3,0,5,\nbf16,3,1,4,\n") == csv,
      "%.80s", csv);
  check_that(1, strstr(csv, "\nufp4,4,3,2.5,2.121\n") != NULL, "held-out loss");
  free(csv);
  fixture_remove(folder);
}

TEST(captured_tensors_are_those_of_the_last_step) {
  made_t m = make();
  ufp4_message_t message;
  ufp4_tensor_t x, w, dy;
  char folder[256], path[300];
  fixture_folder(folder);
  m.o.variant_count = 1;
  m.o.variants[0].capture = folder;
  check_bits(0, run_whole(&m, NULL), UFP4_OK, "run");
  check_bits(0, (uint64_t)m.e.captured[0], 1, "captured");
  check_bits(0, ufp4_experiment_end_captures(&m.e, UFP4_OK), UFP4_OK, "commit");
  snprintf(path, sizeof path, "%s/layer1.fc2.X.npy", folder);
  check_bits(1, ufp4_tensor_read(path, 0, &x, &message), UFP4_OK, "%s", path);
  snprintf(path, sizeof path, "%s/layer1.fc2.W.npy", folder);
  check_bits(2, ufp4_tensor_read(path, 0, &w, &message), UFP4_OK, "%s", path);
  snprintf(path, sizeof path, "%s/layer0.qkv.dY.npy", folder);
  check_bits(3, ufp4_tensor_read(path, 0, &dy, &message), UFP4_OK, "%s", path);
  check_that(4, x.view.rows == 64 && x.view.cols == 48, "X %lldx%lld", (long long)x.view.rows,
             (long long)x.view.cols);
  check_that(5, w.view.rows == 32 && w.view.cols == 48, "W %lldx%lld", (long long)w.view.rows,
             (long long)w.view.cols);
  check_that(6, dy.view.rows == 64 && dy.view.cols == 96, "dY %lldx%lld", (long long)dy.view.rows,
             (long long)dy.view.cols);
  ufp4_tensor_free(&x), ufp4_tensor_free(&w), ufp4_tensor_free(&dy);
  ufp4_capture_clean(folder, 0);
  check_bits(7, (uint64_t)remove(folder), 0, "nothing else is there");
  end(&m);
}

static void check_refused(made_t m, ufp4_status_t want, const char *words) {
  check_bits(0, run_whole(&m, NULL), want, "%s", words);
  check_that(1, strstr(m.e.message.text, words) != NULL, "message '%s'", m.e.message.text);
  end(&m);
}

TEST(rejects_capture_without_a_folder) {
  made_t m = make();
  m.o.variants[1].capture = "/nowhere/at/all";
  check_refused(m, UFP4_ERROR_IO, "ufp4: /nowhere/at/all");
}

TEST(rejects_device_that_does_not_open) {
  made_t m = make();
  m.o.open = fixture_open_none;
  m.o.workers = 2;
  check_refused(m, UFP4_ERROR_DEVICE, "could not be opened");
}

TEST(rejects_no_seeds_and_no_recipes) {
  made_t none = make(), empty = make();
  none.o.seeds = 0;
  empty.o.variant_count = 0;
  check_refused(none, UFP4_ERROR_ARGUMENT, "");
  check_refused(empty, UFP4_ERROR_ARGUMENT, "");
}

TEST(rejects_file_in_a_missing_folder) {
  ufp4_experiment_options_t o = make_options();
  ufp4_run_t runs[4 * SEEDS];
  ufp4_experiment_t e = made_up(&o, runs, some_losses);
  ufp4_message_t message;
  check_bits(0,
             ufp4_experiment_write_csv(&e, UFP4_RUN_WHOLE, "/nowhere/at/all/losses.csv", &message),
             UFP4_ERROR_IO, "csv");
  check_that(1, strstr(message.text, "/nowhere/at/all/losses.csv") != NULL, "message '%s'",
             message.text);
}
