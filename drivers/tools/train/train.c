// SPDX-License-Identifier: Apache-2.0
// ufp4 train: trains the small language model with one or more recipes over several seeds, in three
// kinds of experiments: forward, branched, whole.
#include "train.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame/progress.h"
#include "text_option.h"
#include "train/study/kept.h"

// --- Options ------------------------------------------------------------------------------------

static arguments_t defaults(void) {
  ufp4_trainer_options_t t = ufp4_trainer_options_default();
  arguments_t a = {.recipes = "bf16,ufp4,e2m1,nvfp4,mxfp4",
                   .seeds = 8,
                   .seed = t.seed,
                   .steps = (uint64_t)t.steps,
                   .batch = (uint64_t)t.batch,
                   .d_model = (uint64_t)t.shape.d_model,
                   .heads = (uint64_t)t.shape.heads,
                   .layers = (uint64_t)t.shape.blocks,
                   .ff = (uint64_t)t.shape.ff,
                   .context = (uint64_t)t.shape.context,
                   .held_tokens = 131072,
                   .rate = t.rate};
  cli_device_init(&a.device);
  return a;
}

static void add_options(cli_options_t *options, arguments_t *a) {
  cli_option_add(options, "o", CLI_TEXT, &a->folder, "DIR",
                 "folder for report.html, losses.csv and tensors");
  cli_option_need(options, CLI_NEEDS_PAGE);
  cli_option_add(options, "recipe", CLI_TEXT, &a->recipes, "LIST",
                 "recipes, separated by commas (default bf16,ufp4,e2m1,nvfp4,mxfp4), each with an "
                 "optional suffix: ufp4/rht=wgrad/sr=none");
  cli_option_add(options, "forward", CLI_FLAG, &a->forward, NULL,
                 "only the forward table: the effect of each recipe on weights trained in bf16");
  cli_option_add(options, "branched", CLI_FLAG, &a->branched, NULL,
                 "only runs that branch from bf16's after two thirds of the steps");
  cli_option_add(options, "whole", CLI_FLAG, &a->whole, NULL,
                 "only runs from the first step on (default: all three tables)");
  cli_option_add(options, "ablation", CLI_FLAG, &a->ablation, NULL,
                 "instead of --recipe: ufp4 and e2m1 with one part changed at a time, next to the "
                 "paper's results");
  cli_option_add(options, "seeds", CLI_UINT, &a->seeds, "N", "runs of each recipe (default 8)");
  cli_option_add(options, "seed", CLI_UINT, &a->seed, "S",
                 "seed of the first run; later runs count up (default 0)");
  cli_option_add(options, "steps", CLI_UINT, &a->steps, "N", "training steps (default 300)");
  cli_option_add(options, "batch", CLI_UINT, &a->batch, "N", "sequences per step (default 16)");
  cli_option_add(options, "lr", CLI_REAL, &a->rate, "RATE", "peak learning rate (default 3e-3)");
  cli_option_add(options, "eval", CLI_UINT, &a->held_tokens, "TOKENS",
                 "held-out tokens measured (default 131072; forward: all)");
  cli_option_add(options, "d-model", CLI_UINT, &a->d_model, "N", "width of the model (default 64)");
  cli_option_add(options, "heads", CLI_UINT, &a->heads, "N", "attention heads (default 2)");
  cli_option_add(options, "layers", CLI_UINT, &a->layers, "N", "blocks (default 4)");
  cli_option_add(options, "ff", CLI_UINT, &a->ff, "N",
                 "width of the feed-forward part (default 192)");
  cli_option_add(options, "context", CLI_UINT, &a->context, "N",
                 "tokens of a sequence (default 128)");
  cli_option_add(options, "long", CLI_FLAG, &a->longer, NULL,
                 "the larger model: --d-model 128 --heads 4 --ff 352 --lr 1.5e-3");
  cli_option_add(options, "resume", CLI_FLAG, &a->resume, NULL,
                 "continue the unfinished runs in DIR, with the same bits");
  cli_option_add(
      options, "no-control", CLI_FLAG, &a->no_control, NULL,
      "leave out the control, bf16 from perturbed weights, which shows the effect of chaos alone");
  cli_option_add(options, "capture", CLI_FLAG, &a->capture, NULL,
                 "write X, W and dY of each linear layer at the last step to DIR/RECIPE");
  cli_option_add(options, "json", CLI_FLAG, &a->json, NULL, "print the tables as JSON");
  cli_device_add(options, &a->device);
}

typedef struct {
  const char *option;
  uint64_t value, limit;
} bound_t;

static int check_bounds(const cli_command_t *command, const arguments_t *a) {
  const bound_t bounds[] = {{"seeds", a->seeds, 1000},      {"steps", a->steps, 1000000},
                            {"batch", a->batch, 65536},     {"eval", a->held_tokens, 1u << 30},
                            {"d-model", a->d_model, 16384}, {"heads", a->heads, 16384},
                            {"layers", a->layers, 1000},    {"ff", a->ff, 16384},
                            {"context", a->context, 16384}};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    if (bounds[i].value < 1 || bounds[i].value > bounds[i].limit) {
      return cli_fail(command, CLI_USAGE, "--%s: '%llu' is not a whole number from 1 to %llu",
                      bounds[i].option, (unsigned long long)bounds[i].value,
                      (unsigned long long)bounds[i].limit);
    }
  }
  return CLI_GO_ON;
}

static int check(const cli_command_t *command, const arguments_t *a) {
  int end = check_bounds(command, a);
  if (end != CLI_GO_ON) return end;
  if (!a->folder)
    return cli_fail(command, CLI_USAGE, "-o DIR is missing; usage: ufp4 train %s",
                    command->arguments);
  if (a->seed > INT64_MAX - a->seeds)
    return cli_fail(command, CLI_USAGE,
                    "--seed %llu is too large; --seed plus --seeds must be at most 2^63 - 1",
                    (unsigned long long)a->seed);
  if (!(a->rate > 0 && a->rate <= 1))
    return cli_fail(command, CLI_USAGE, "--lr is %g; it must be above 0, and at most 1",
                    (double)a->rate);
  if (a->d_model % (2 * a->heads)) {
    return cli_fail(command, CLI_USAGE, "--d-model %llu is not a multiple of 2 x --heads %llu",
                    (unsigned long long)a->d_model, (unsigned long long)a->heads);
  }
  if (a->batch * a->context > UFP4_MAX_DIM) {
    return cli_fail(command, CLI_USAGE,
                    "--batch x --context is %llu tokens; at most %d are possible",
                    (unsigned long long)(a->batch * a->context), UFP4_MAX_DIM);
  }
  return CLI_GO_ON;
}

// --- The stages ---------------------------------------------------------------------------------

typedef struct {
  progress_t line;
  int64_t done, all;
} steps_t;

static void count_steps(void *context, int64_t steps) {
  steps_t *s = context;
  s->done += steps;
  progress_steps(&s->line, s->done, s->all);
}

typedef struct {
  evidence_t *evidence;
  const ufp4_text_t *text;
  steps_t steps;
} stage_t;

// Counts the steps of unfinished runs.
static int64_t steps_left(const ufp4_experiment_t *e, ufp4_run_kind_t kind, int from, int to,
                          int seeds) {
  int64_t steps = 0;
  for (int v = from; v < to; v++) {
    for (int s = 0; s < seeds && ufp4_experiment_takes_part(e->options, kind, v); s++)
      steps +=
          ufp4_experiment_at(e, kind, v, s)->ended ? 0 : ufp4_experiment_steps(e->options, kind);
  }
  return steps;
}

static int64_t all_steps(const plan_t *plan, const ufp4_experiment_t *e) {
  const ufp4_experiment_options_t *o = e->options;
  const int base = ufp4_experiment_base(o), all = o->variant_count;
  int64_t steps = plan->branched ? steps_left(e, UFP4_RUN_BRANCHED, 0, all, o->seeds) : 0;
  if (plan->whole) return steps + steps_left(e, UFP4_RUN_WHOLE, 0, all, o->seeds);
  return steps + steps_left(e, UFP4_RUN_WHOLE, base, base + 1, plan->branched ? o->seeds : 1);
}

static int fail_interrupted(const plan_t *plan) {
  const int number = cli_interrupted();
  if (plan->ranks.rank > 0) return 128 + (number ? number : SIGTERM);
  return cli_fail_interrupted(plan->command, "--resume continues it");
}

// Trains these runs. @return CLI_GO_ON, or the exit status, also if stopped.
static int train(stage_t *s, ufp4_run_kind_t kind, int from, int to, int seeds) {
  const plan_t *plan = s->evidence->plan;
  ufp4_experiment_t *e = &s->evidence->experiment;
  ufp4_status_t status =
      ufp4_experiment_train(e, kind, from, to, seeds, s->text, count_steps, &s->steps);
  if (!status && !e->stopped) return CLI_GO_ON;
  progress_end(&s->steps.line);
  if (e->elsewhere) return CLI_DEVICE;
  if (status) return cli_fail_status(plan->command, status, e->message.text);
  return fail_interrupted(plan);
}

// Prints the runs, all of which must be finished. Runs of other ranks are read from the folder.
static int show(stage_t *s, ufp4_run_kind_t kind) {
  const evidence_t *e = s->evidence;
  const ufp4_experiment_options_t *o = &e->plan->options;
  if (e->plan->ranks.rank > 0) return CLI_GO_ON;
  progress_end(&s->steps.line);
  for (int i = 0; i < o->variant_count * o->seeds; i++) {
    const int v = i / o->seeds, seed = i % o->seeds;
    if (ufp4_experiment_at(&e->experiment, kind, v, seed)->ended) continue;
    if (!ufp4_experiment_shows(o, kind, v)) continue;
    return cli_fail(e->plan->command, CLI_DEVICE,
                    "%s of seed %llu ended on another MPI rank, and its rows are not in %s; "
                    "--resume continues it",
                    o->variants[v].name, (unsigned long long)(o->trainer.seed + (uint64_t)seed),
                    o->folder);
  }
  train_print(s->evidence, kind == UFP4_RUN_BRANCHED ? TRAIN_BRANCHED : TRAIN_WHOLE);
  return CLI_GO_ON;
}

// Runs every recipe except the control on the weights of @p trainer.
static ufp4_status_t measure_forward(evidence_t *e, ufp4_trainer_t *trainer,
                                     const ufp4_text_t *text) {
  const ufp4_experiment_options_t *o = &e->plan->options;
  ufp4_recipe_t recipes[UFP4_MAX_VARIANTS];
  int count = 0;
  for (int v = 0; v < o->variant_count; v++) {
    if (o->variants[v].perturbation == 0) recipes[count++] = o->variants[v].recipe;
  }
  const ufp4_forward_options_t options = {
      .recipes = recipes,
      .recipe_count = count,
      .tokens = e->arguments->all_held ? INT64_MAX : o->held_tokens,
      .open = o->open,
      .open_context = o->open_context,
      .workers = o->workers,
      .stop = o->stop};
  return ufp4_forward_measure(trainer, text, &options, &e->forward);
}

// Runs the weights that the base learned on the first seed forward in each recipe.
static int forward_table(stage_t *s) {
  evidence_t *e = s->evidence;
  const plan_t *plan = e->plan;
  ufp4_device_t *device = plan->options.open(plan->options.open_context);
  int end = CLI_GO_ON;
  if (!device) return CLI_DEVICE;
  ufp4_trainer_t *trainer;
  progress_say(&s->steps.line, "the forward table");
  ufp4_status_t status = ufp4_experiment_trained(&e->experiment, s->text, device, &trainer);
  const char *why = e->experiment.message.text;
  if (!status) {
    status = measure_forward(e, trainer, s->text);
    why = e->forward.message.text;
  }
  progress_end(&s->steps.line);
  if (status) end = cli_fail_status(plan->command, status, why);
  if (!status && e->forward.stopped) end = fail_interrupted(plan);
  if (!status && end == CLI_GO_ON) train_print(e, TRAIN_FORWARD);
  ufp4_trainer_free(trainer);
  ufp4_device_close(device);
  return end;
}

// Rank 0 makes the table while the others continue with the next runs, after which they meet.
static int run_forward(stage_t *s) {
  const plan_t *plan = s->evidence->plan;
  const ufp4_experiment_options_t *o = &plan->options;
  const int base = ufp4_experiment_base(o), alone = !plan->branched && !plan->whole;
  // Running as many of the base's runs as there are workers takes no longer than running one.
  const int seeds = alone ? 1 : o->workers < o->seeds ? o->workers : o->seeds;
  int end = train(s, UFP4_RUN_WHOLE, base, base + 1, seeds);
  if (end != CLI_GO_ON || plan->ranks.rank > 0) return end;
  end = forward_table(s);
  if (s->evidence->forward.stopped && !alone) ranks_meet(1);
  return end;
}

static int run_branched(stage_t *s) {
  const ufp4_experiment_options_t *o = &s->evidence->plan->options;
  const int base = ufp4_experiment_base(o);
  int end = train(s, UFP4_RUN_WHOLE, base, base + 1, o->seeds);
  if (end == CLI_GO_ON) end = train(s, UFP4_RUN_BRANCHED, 0, o->variant_count, o->seeds);
  return end == CLI_GO_ON ? show(s, UFP4_RUN_BRANCHED) : end;
}

static int run_whole(stage_t *s) {
  const ufp4_experiment_options_t *o = &s->evidence->plan->options;
  int end = train(s, UFP4_RUN_WHOLE, 0, o->variant_count, o->seeds);
  return end == CLI_GO_ON ? show(s, UFP4_RUN_WHOLE) : end;
}

static int run_stages(stage_t *s) {
  const plan_t *plan = s->evidence->plan;
  int end = CLI_GO_ON;
  if (plan->forward) end = run_forward(s);
  if (end == CLI_GO_ON && plan->branched) end = run_branched(s);
  if (end == CLI_GO_ON && plan->whole) end = run_whole(s);
  progress_end(&s->steps.line);
  const char *note = s->evidence->experiment.note.text;
  if (note[0]) fprintf(stderr, "ufp4 %s: %s\n", plan->command->name, note);
  return end;
}

// --- The command --------------------------------------------------------------------------------

// A text may have fewer held-out tokens than requested.
static void tell_held(evidence_t *e) {
  const arguments_t *a = e->arguments;
  const uint64_t batch = a->context * a->batch;
  const int64_t asked = (int64_t)(a->held_tokens / batch * batch);
  const int base = ufp4_experiment_base(&e->plan->options);
  e->held_tokens =
      ufp4_experiment_at(&e->experiment, UFP4_RUN_WHOLE, base < 0 ? 0 : base, 0)->held_tokens;
  if (e->held_tokens >= asked) return;
  fprintf(stderr, "ufp4 %s: %lld held-out tokens are measured: all whole batches of the text\n",
          e->plan->command->name, (long long)e->held_tokens);
}

// Writes files and prints the tables in JSON; once the rows are written, the unfinished state is
// not needed any more.
static int finish(evidence_t *e) {
  ufp4_message_t message;
  ufp4_status_t status = ufp4_experiment_end_captures(&e->experiment, UFP4_OK);
  if (status) return cli_fail_status(e->plan->command, status, e->experiment.message.text);
  tell_held(e);
  int end = train_write_files(e);
  if (end != CLI_GO_ON) return end;
  status = ufp4_kept_remove(e->plan->options.folder, &message);
  if (status) return cli_fail_status(e->plan->command, status, message.text);
  end = train_draw(e);
  if (end == CLI_GO_ON) end = e->untold;
  const int printed = e->arguments->json ? train_print_json(e) : CLI_GO_ON;
  return end == CLI_GO_ON ? printed : end;
}

// Finished runs are kept, whatever fails after them.
static int run_experiment(evidence_t *e, const ufp4_text_t *text) {
  const ufp4_experiment_options_t *o = &e->plan->options;
  stage_t stage = {.evidence = e, .text = text};
  ufp4_status_t status = ufp4_experiment_create(o, &e->experiment);
  int end = CLI_GO_ON;
  if (status) end = cli_fail_status(e->plan->command, status, e->experiment.message.text);
  stage.steps.line = progress_start(o->trainer.batch * o->trainer.shape.context);
  if (end == CLI_GO_ON) {
    stage.steps.all = all_steps(e->plan, &e->experiment) / e->plan->ranks.count;
    end = run_stages(&stage);
  }
  if (end == CLI_GO_ON && e->plan->ranks.rank == 0) end = finish(e);
  if (end != CLI_GO_ON) (void)ufp4_experiment_end_captures(&e->experiment, UFP4_ERROR_IO);
  ufp4_forward_free(&e->forward);
  ufp4_experiment_free(&e->experiment);
  return end == CLI_GO_ON ? CLI_OK : end;
}

static int check_variant(const plan_t *plan, int index, ufp4_device_t *device) {
  const ufp4_recipe_t *recipe = &plan->options.variants[index].recipe;
  ufp4_status_t status = ufp4_trainer_fits(&plan->options.trainer, device, recipe);
  if (status != UFP4_OK) return cli_fail_status(plan->command, status, ufp4_device_message(device));
  return cli_recipe_check(plan->command, device, recipe, plan->ranks.rank == 0);
}

// Opens the device once in advance, to report its errors before the text is read.
static int prepare(plan_t *plan, const arguments_t *a, ufp4_text_t *text) {
  ufp4_device_t *device;
  int end = cli_device_open(plan->command, &plan->device, plan->device.backend, &device);
  if (end != CLI_GO_ON) return end;
  for (int i = 0; end == CLI_GO_ON && i < plan->options.variant_count; i++) {
    end = check_variant(plan, i, device);
  }
  ufp4_device_close(device);
  if (end != CLI_GO_ON) return end;
  return cli_text_read(plan->command, a->text_name, (int64_t)a->context, text);
}

// The settings include the program, so that a rebuilt one is noticed.
static char *settings_text(const evidence_t *e) {
  char mark[16];
  cli_program_mark(mark);
  json_t *settings = json_copy(e->settings);
  if (settings) json_object_set_new(settings, "program", json_string(mark));
  char *text = settings ? json_dumps(settings, JSON_INDENT(2)) : NULL;
  json_decref(settings);
  return text;
}

static int open_runs(evidence_t *e, const arguments_t *a) {
  ufp4_message_t message = {0};
  int end = cli_output_lock(e->plan->command, a->folder);
  if (end != CLI_GO_ON) return end;
  char *text = settings_text(e);
  ufp4_status_t status = UFP4_ERROR_MEMORY;
  if (text) status = ufp4_kept_open(e->plan->options.folder, text, a->resume, &message);
  free(text);
  if (status) return cli_fail_status(e->plan->command, status, message.text);
  if (message.text[0])
    fprintf(stderr, "ufp4 %s: %s; runs that have ended are kept\n", e->plan->command->name,
            message.text);
  return CLI_GO_ON;
}

static int run_plan(plan_t *plan, const arguments_t *a) {
  ufp4_text_t text = {0};
  evidence_t evidence = {.plan = plan, .arguments = a, .untold = CLI_GO_ON};
  int end = prepare(plan, a, &text);
  if (end != CLI_GO_ON) return end;
  evidence.settings = train_settings(plan, a, &text);
  cli_catch_interrupts();
  if (plan->ranks.rank == 0) end = train_make_folders(plan, a);
  if (end == CLI_GO_ON && plan->ranks.rank == 0) end = open_runs(&evidence, a);
  if (end == CLI_GO_ON) ranks_meet(0);
  if (end == CLI_GO_ON) end = run_experiment(&evidence, &text);
  if (end != CLI_OK && plan->made) cli_output_remove_directory(a->folder);
  json_decref(evidence.settings);
  ufp4_text_free(&text);
  return end;
}

// Applies the defaults of --long, except where an option of its own is given.
static void lengthen(const cli_options_t *options, arguments_t *a) {
  if (!cli_option_given(options, "d-model")) a->d_model = 128;
  if (!cli_option_given(options, "heads")) a->heads = 4;
  if (!cli_option_given(options, "ff")) a->ff = 352;
  if (!cli_option_given(options, "lr")) a->rate = 1.5e-3f;
}

static int run(int argc, char **argv) {
  const cli_command_t *command = &cli_train;
  arguments_t a = defaults();
  cli_options_t options = {0};
  char **inputs;
  int count;
  cli_join_words(argc, argv, a.words, sizeof a.words);
  add_options(&options, &a);
  int end = cli_parse(command, &options, argc, argv, 0, 1, &inputs, &count);
  if (end != CLI_GO_ON) return end;
  a.text_name = count ? inputs[0] : CLI_TEXT_DEFAULT;
  if (a.ablation && cli_option_given(&options, "recipe"))
    return cli_fail(command, CLI_USAGE, "--ablation has its own recipes; leave out --recipe");
  a.all_held = !cli_option_given(&options, "eval");
  if (a.longer) lengthen(&options, &a);
  end = check(command, &a);
  if (end == CLI_GO_ON) end = cli_device_check(command, &options, &a.device, NULL);
  if (end == CLI_GO_ON) end = train_check_outputs(command, &a);
  if (end != CLI_GO_ON) return end;
  plan_t *plan = calloc(1, sizeof *plan);
  if (!plan) return cli_fail_status(command, UFP4_ERROR_MEMORY, NULL);
  end = ranks_begin(command, &plan->ranks);
  if (end == CLI_GO_ON) end = train_plan(command, &a, plan);
  if (end == CLI_GO_ON && (a.device.trace != NULL || a.device.timeline != NULL) &&
      plan->options.seeds * plan->options.variant_count > 1) {
    end = cli_fail(command, CLI_USAGE,
                   "--%s needs a single run: --seeds 1, one --recipe, and --no-control",
                   a.device.trace != NULL ? "trace" : "timeline");
  }
  if (end == CLI_GO_ON && (a.device.trace != NULL || a.device.timeline != NULL) &&
      !plan->options.variants[0].recipe.quantized) {
    end = cli_fail(
        command, CLI_USAGE, "--recipe %s does not quantize and runs on the host; leave out --%s",
        plan->options.variants[0].recipe.name, a.device.trace != NULL ? "trace" : "timeline");
  }
  if (end == CLI_GO_ON) end = run_plan(plan, &a);
  free(plan);
  return ranks_end(end);
}

const cli_command_t cli_train = {
    .name = "train",
    .arguments = "[TEXT] -o DIR [options]",
    .summary =
        "Trains a small language model with several recipes and measures how far they fall behind "
        "bf16.\n"
        "There are three tables: bf16's weights run forward in each recipe, runs that branch from "
        "bf16's, and\n"
        "whole runs. TEXT: any plain or gzip-compressed file, or gcide (default): the dictionary "
        "of Debian's\n"
        "package dict-gcide. An interrupted run continues with --resume.",
    .example = "ufp4 train -o out --recipe bf16,ufp4 --seeds 2 --steps 20",
    .run = run,
};
