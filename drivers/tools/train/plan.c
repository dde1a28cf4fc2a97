// SPDX-License-Identifier: Apache-2.0
// Plans the work of ufp4 train: variants, tables, threads.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/threads.h"
#include "train.h"
#include "train/study/ablation.h"

#define CONTROL "bf16-control"
#define CONTROL_DEVIATION 1e-3f

static ufp4_device_t *open_device(void *context) {
  plan_t *plan = context;
  ufp4_device_t *device;
  cli_device_open(plan->command, &plan->device, plan->device.backend, &device);
  return device;
}

// Names of the control, and of files and folders beside the recipes' folders.
static const char *const reserved[] = {CONTROL,      "losses.csv",  "branched.csv", "forward.csv",
                                       "train.json", "report.html", "runs"};
enum { RESERVED = sizeof reserved / sizeof *reserved };

// A recipe's name is used in tables and as a folder, so that of a file must contain no path.
static int add_variant(plan_t *plan, const char *word, size_t length) {
  ufp4_experiment_options_t *o = &plan->options;
  char path[PATH_MAX];
  if (o->variant_count == UFP4_MAX_VARIANTS - 1)
    return cli_fail(plan->command, CLI_USAGE, "--recipe: too many recipes");
  if (length >= sizeof path)
    return cli_fail(plan->command, CLI_USAGE, "--recipe: the name is too long");
  memcpy(path, word, length);
  path[length] = '\0';
  ufp4_variant_t *variant = &o->variants[o->variant_count];
  int end = cli_recipe(plan->command, path, &variant->recipe);
  for (int i = 0; end == CLI_GO_ON && i < RESERVED; i++) {
    if (strcmp(reserved[i], variant->recipe.name)) continue;
    end = cli_fail(plan->command, CLI_USAGE,
                   "--recipe: the name %s is reserved by this command; rename the recipe",
                   reserved[i]);
  }
  for (int i = 0; end == CLI_GO_ON && i < o->variant_count; i++) {
    if (!strcmp(o->variants[i].name, variant->recipe.name)) {
      end = cli_fail(plan->command, CLI_USAGE, "--recipe: %s is given twice", variant->recipe.name);
    }
  }
  if (end == CLI_GO_ON) {
    variant->name = variant->recipe.name;
    o->variant_count++;
  }
  return end;
}

static void add_control(plan_t *plan) {
  ufp4_experiment_options_t *o = &plan->options;
  const ufp4_variant_t *base = NULL;
  int quantized = 0;
  for (int i = 0; i < o->variant_count; i++) {
    quantized |= o->variants[i].recipe.quantized;
    if (!o->variants[i].recipe.quantized && o->variants[i].recipe.dtype == UFP4_DTYPE_BF16)
      base = &o->variants[i];
  }
  if (!base || !quantized) return;
  o->variants[o->variant_count++] =
      (ufp4_variant_t){.name = CONTROL, .recipe = base->recipe, .perturbation = CONTROL_DEVIATION};
}

static int add_variants(plan_t *plan, const arguments_t *a) {
  if (a->ablation) plan->options.variant_count = ufp4_ablation(plan->options.variants);
  for (const char *word = a->recipes; !a->ablation;) {
    size_t length = strcspn(word, ",");
    int end = add_variant(plan, word, length);
    if (end != CLI_GO_ON) return end;
    if (!word[length]) break;
    word += length + 1;
  }
  if (!a->no_control) add_control(plan);
  return CLI_GO_ON;
}

// Distributes runs over the threads; if there are fewer runs than threads, each run's device gets
// several.
static void share_threads(plan_t *plan, uint64_t threads) {
  const int all = threads_asked(threads);
  const int runs = plan->options.seeds * plan->options.variant_count;
  plan->options.workers = all < runs ? all : runs;
  plan->device.threads = (uint64_t)(all / plan->options.workers);
}

// Branches after two thirds of the steps; a run of two steps branches after the first.
static int64_t branch_step(int64_t steps) {
  return steps < 2 ? 0 : steps * 2 / 3 > 0 ? steps * 2 / 3 : 1;
}

// Selects the requested tables, or all that the recipes and the steps allow.
static int choose_tables(plan_t *plan, const arguments_t *a) {
  const ufp4_experiment_options_t *o = &plan->options;
  const int base = ufp4_experiment_base(o), asked = a->forward || a->branched || a->whole;
  int quantized = 0;
  for (int v = 0; v < o->variant_count; v++) quantized |= o->variants[v].recipe.quantized;
  const int comparable = base >= 0 && quantized;
  if ((a->forward || a->branched) && !comparable) {
    return cli_fail(plan->command, CLI_USAGE,
                    "--%s compares four-bit recipes with bf16 or fp32: --recipe must have both",
                    a->forward ? "forward" : "branched");
  }
  if (a->branched && o->branch_step < 1)
    return cli_fail(plan->command, CLI_USAGE, "--branched needs --steps 2 or more");
  plan->forward = asked ? a->forward : comparable;
  plan->branched = asked ? a->branched : comparable && o->branch_step > 0;
  plan->whole = asked ? a->whole : 1;
  if (a->capture && plan->ranks.count > 1)
    return cli_fail(plan->command, CLI_USAGE,
                    "--capture needs a single process, not several MPI ranks");
  if (a->capture && !plan->whole)
    return cli_fail(plan->command, CLI_USAGE, "--capture needs whole runs; add --whole");
  return CLI_GO_ON;
}

int train_plan(const cli_command_t *command, const arguments_t *a, plan_t *plan) {
  plan->command = command;
  plan->device = a->device;
  if (snprintf(plan->runs, sizeof plan->runs, "%s/runs", a->folder) >= (int)sizeof plan->runs)
    return cli_fail(command, CLI_USAGE, "-o: the name is too long");
  ufp4_experiment_options_t *o = &plan->options;
  o->trainer =
      (ufp4_trainer_options_t){.shape = {(int64_t)a->d_model, (int64_t)a->heads, (int64_t)a->layers,
                                         (int64_t)a->ff, (int64_t)a->context},
                               .batch = (int64_t)a->batch,
                               .steps = (int64_t)a->steps,
                               .rate = a->rate,
                               .seed = a->seed};
  o->seeds = (int)a->seeds;
  o->held_tokens = (int64_t)a->held_tokens;
  o->branch_step = branch_step(o->trainer.steps);
  o->folder = plan->runs;
  o->backend = a->device.backend;
  o->open = open_device;
  o->open_context = plan;
  o->stop = cli_interrupted;
  o->rank = plan->ranks.rank;
  o->ranks = plan->ranks.count;
  o->meet = plan->ranks.count > 1 ? ranks_meet : NULL;
  int end = add_variants(plan, a);
  if (end == CLI_GO_ON) end = choose_tables(plan, a);
  if (end == CLI_GO_ON) share_threads(plan, a->device.threads);
  return end;
}

static json_t *recipe_list(const ufp4_experiment_options_t *o) {
  json_t *list = json_array();
  for (int v = 0; v < o->variant_count; v++) {
    json_array_append_new(list, json_text(o->variants[v].name));
  }
  return list;
}

// Everything on which a number in the tables depends. A backend without cycles is not included,
// because all backends give the same bits.
json_t *train_settings(const plan_t *plan, const arguments_t *a, const ufp4_text_t *text) {
  const ufp4_experiment_options_t *o = &plan->options;
  const ufp4_trainer_options_t *t = &o->trainer;
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", UFP4_VERSION_MAJOR, UFP4_VERSION_MINOR,
           UFP4_VERSION_PATCH);
  uLong crc = crc32_z(0, text->train, (size_t)text->train_bytes);
  crc = crc32_z(crc, text->held, (size_t)text->held_bytes);
  json_t *settings = json_pack(
      "{s:s, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:b, s:b, "
      "s:b, s:b, s:b}",
      "version", version, "text_bytes", (json_int_t)(text->train_bytes + text->held_bytes),
      "text_crc32", (json_int_t)crc, "recipes", recipe_list(o), "d_model",
      (json_int_t)t->shape.d_model, "heads", (json_int_t)t->shape.heads, "layers",
      (json_int_t)t->shape.blocks, "ff", (json_int_t)t->shape.ff, "context",
      (json_int_t)t->shape.context, "batch", (json_int_t)t->batch, "steps", (json_int_t)t->steps,
      "lr", (double)t->rate, "seed", (json_int_t)t->seed, "seeds", (json_int_t)o->seeds, "eval",
      (json_int_t)o->held_tokens, "forward_eval_all", a->all_held, "forward", plan->forward,
      "branched", plan->branched, "whole", plan->whole, "capture", a->capture);
  for (int v = 0; settings && v < o->variant_count; v++) {
    char key[sizeof o->variants[v].recipe.name + 16];
    snprintf(key, sizeof key, "recipe %s", o->variants[v].name);
    char *text = ufp4_recipe_text(&o->variants[v].recipe);
    json_object_set_new(settings, key, text ? json_string(text) : NULL);
    free(text);
  }
  json_object_update_new(settings, cli_device_settings(&plan->device));
  return settings;
}
