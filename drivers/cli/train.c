// SPDX-License-Identifier: Apache-2.0
// ufp4 train: the small language model with one or more recipes over several seeds.
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "cli.h"
#include "experiment.h"
#include "progress.h"
#include "text_option.h"

#define CONTROL "bf16-control"
#define LOSSES "losses.csv"
#define REPORT "report.html"
#define CONTROL_DEVIATION 1e-3f

typedef struct {
  const char *recipes;
  const char *folder;
  const char *text_name;
  uint64_t seeds, seed, steps, batch, d_model, heads, layers, ff, context, held_tokens;
  float rate;
  int capture, no_control, json;
  cli_device_t device;
} arguments_t;

// --- Options ------------------------------------------------------------------------------------

static arguments_t defaults(void) {
  ufp4_trainer_options_t t = ufp4_trainer_options_default();
  arguments_t a = {.recipes = "bf16,ufp4,e2m1",
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
                 "where report.html, losses.csv and tensors go");
  cli_option_add(options, "recipe", CLI_TEXT, &a->recipes, "LIST",
                 "recipes, by commas (default bf16,ufp4,e2m1)");
  cli_option_add(options, "seeds", CLI_UINT, &a->seeds, "N", "runs of each recipe (default 8)");
  cli_option_add(options, "seed", CLI_UINT, &a->seed, "S",
                 "seed of the first run, the others count up (default 0)");
  cli_option_add(options, "steps", CLI_UINT, &a->steps, "N", "training steps (default 300)");
  cli_option_add(options, "batch", CLI_UINT, &a->batch, "N", "sequences a step (default 16)");
  cli_option_add(options, "lr", CLI_REAL, &a->rate, "RATE", "peak learning rate (default 3e-3)");
  cli_option_add(options, "eval", CLI_UINT, &a->held_tokens, "TOKENS",
                 "held-out tokens measured (default 131072)");
  cli_option_add(options, "d-model", CLI_UINT, &a->d_model, "N", "width of the model (default 64)");
  cli_option_add(options, "heads", CLI_UINT, &a->heads, "N", "attention heads (default 2)");
  cli_option_add(options, "layers", CLI_UINT, &a->layers, "N", "blocks (default 4)");
  cli_option_add(options, "ff", CLI_UINT, &a->ff, "N",
                 "width of the feed-forward part (default 192)");
  cli_option_add(options, "context", CLI_UINT, &a->context, "N",
                 "tokens of a sequence (default 128)");
  cli_option_add(options, "no-control", CLI_FLAG, &a->no_control, NULL,
                 "leave out bf16 from perturbed weights, which shows what chaos alone does");
  cli_option_add(options, "capture", CLI_FLAG, &a->capture, NULL,
                 "write X, W and dY of each linear layer at the last step to DIR/RECIPE");
  cli_option_add(options, "json", CLI_FLAG, &a->json, NULL, "tables as JSON");
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
      return cli_fail(command, CLI_USAGE, "--%s %llu is not within 1..%llu", bounds[i].option,
                      (unsigned long long)bounds[i].value, (unsigned long long)bounds[i].limit);
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
  if (!(a->rate > 0 && a->rate <= 1))
    return cli_fail(command, CLI_USAGE, "--lr must be over 0 and at most 1");
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

// --- The experiment -----------------------------------------------------------------------------

typedef struct {
  const cli_command_t *command;
  cli_device_t device;
  char folders[UFP4_MAX_VARIANTS][PATH_MAX];
  int made;  // -o was not there
  ufp4_experiment_options_t options;
} plan_t;

static ufp4_device_t *open_device(void *context) {
  plan_t *plan = context;
  ufp4_device_t *device;
  cli_device_open(plan->command, &plan->device, plan->device.backend, &device);
  return device;
}

// Names that the control and the files beside the recipes' folders have.
enum { RESERVED = 3 };
static const char *const reserved[RESERVED] = {CONTROL, LOSSES, REPORT};

// A recipe goes by its own name, in tables and as a folder: that of a file has no path in it.
static int add_variant(plan_t *plan, const char *word, size_t length) {
  ufp4_experiment_options_t *o = &plan->options;
  char path[PATH_MAX];
  if (o->variant_count == UFP4_MAX_VARIANTS - 1)
    return cli_fail(plan->command, CLI_USAGE, "--recipe: too many");
  if (length >= sizeof path)
    return cli_fail(plan->command, CLI_USAGE, "--recipe: the name is too long");
  memcpy(path, word, length);
  path[length] = '\0';
  ufp4_variant_t *variant = &o->variants[o->variant_count];
  int end = cli_recipe(plan->command, path, &variant->recipe);
  for (int i = 0; end == CLI_GO_ON && i < RESERVED; i++) {
    if (strcmp(reserved[i], variant->recipe.name)) continue;
    end = cli_fail(plan->command, CLI_USAGE,
                   "--recipe: %s is a name of this command's own; give yours another", reserved[i]);
  }
  for (int i = 0; end == CLI_GO_ON && i < o->variant_count; i++) {
    if (!strcmp(o->variants[i].name, variant->recipe.name)) {
      end = cli_fail(plan->command, CLI_USAGE, "--recipe: %s is there twice", variant->recipe.name);
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
      (ufp4_variant_t){CONTROL, base->recipe, CONTROL_DEVIATION, NULL};
}

static int add_variants(plan_t *plan, const arguments_t *a) {
  for (const char *word = a->recipes;;) {
    size_t length = strcspn(word, ",");
    int end = add_variant(plan, word, length);
    if (end != CLI_GO_ON) return end;
    if (!word[length]) break;
    word += length + 1;
  }
  if (!a->no_control) add_control(plan);
  return CLI_GO_ON;
}

// Runs are spread over the threads; where there are fewer runs than threads, each run's device gets
// several.
static void share_threads(plan_t *plan, uint64_t threads) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int runs = plan->options.seeds * plan->options.variant_count;
  int all = threads ? (int)threads : cores > 0 ? (int)cores : 1;
  plan->options.workers = all < runs ? all : runs;
  plan->device.threads = (uint64_t)(all / plan->options.workers);
}

static int make_plan(const cli_command_t *command, const arguments_t *a, plan_t *plan) {
  plan->command = command;
  plan->device = a->device;
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
  o->backend = a->device.backend;
  o->open = open_device;
  o->open_context = plan;
  int end = add_variants(plan, a);
  if (end == CLI_GO_ON) share_threads(plan, a->device.threads);
  return end;
}

// --- Output -------------------------------------------------------------------------------------

// Before the training, which may take hours: what is written after it can be.
static int check_outputs(const cli_command_t *command, const arguments_t *a) {
  static const char *const names[] = {LOSSES, REPORT};
  struct stat about;
  char path[PATH_MAX];
  int end = cli_output_directory(command, a->folder);
  if (end != CLI_GO_ON || stat(a->folder, &about) != 0) return end;
  for (int i = 0; i < 2 && end == CLI_GO_ON; i++) {
    snprintf(path, sizeof path, "%s/%s", a->folder, names[i]);
    end = cli_output_file(command, path, CLI_ANY_FILE, &a->text_name, 1);
  }
  return end;
}

// For captured tensors; the others' folder is made when they are there.
static int make_folders(plan_t *plan, const arguments_t *a) {
  if (!a->capture) return CLI_GO_ON;
  int end = cli_output_make_directory(plan->command, a->folder, &plan->made);
  ufp4_experiment_options_t *o = &plan->options;
  for (int i = 0; end == CLI_GO_ON && i < o->variant_count; i++) {
    ufp4_message_t message;
    if (o->variants[i].perturbation > 0) continue;
    int length = snprintf(plan->folders[i], PATH_MAX, "%s/%s", a->folder, o->variants[i].name);
    if (length >= PATH_MAX) return cli_fail(plan->command, CLI_USAGE, "-o: the name is too long");
    end = cli_output_directory(plan->command, plan->folders[i]);
    if (end != CLI_GO_ON) return end;
    ufp4_status_t status = ufp4_capture_check(plan->folders[i], o->trainer.shape.blocks, &message);
    if (status != UFP4_OK) end = cli_fail_status(plan->command, status, message.text);
    o->variants[i].capture = plan->folders[i];
  }
  return end;
}

// Tensors that an earlier run has captured into the same folder: they would lie among this run's as
// if they were its own. That run's losses.csv says which recipes it had.
static void clean_captures(const plan_t *plan, const arguments_t *a) {
  const ufp4_experiment_options_t *o = &plan->options;
  char path[PATH_MAX], line[PATH_MAX], last[PATH_MAX] = "";
  snprintf(path, sizeof path, "%s/" LOSSES, a->folder);
  FILE *losses = fopen(path, "r");
  if (losses != NULL && fgets(line, sizeof line, losses) == NULL)
    line[0] = '\0';  // the columns' names
  while (losses != NULL && fgets(line, sizeof line, losses) != NULL) {
    line[strcspn(line, ",\n")] = '\0';
    if (line[0] == '\0' || line[0] == '.' || strchr(line, '/') != NULL || strcmp(line, last) == 0)
      continue;
    memcpy(last, line, strlen(line) + 1);
    int length = snprintf(path, sizeof path, "%s/%s", a->folder, line), again = 0;
    for (int v = 0; v < o->variant_count; v++) again |= strcmp(line, o->variants[v].name) == 0;
    if (length >= PATH_MAX || again) continue;
    ufp4_capture_clean(path, 0);
    rmdir(path);  // where nothing else is in it
  }
  if (losses != NULL) fclose(losses);
  for (int v = 0; v < o->variant_count; v++) {
    int length = snprintf(path, sizeof path, "%s/%s", a->folder, o->variants[v].name);
    if (length < PATH_MAX)
      ufp4_capture_clean(path, o->variants[v].capture != NULL ? o->trainer.shape.blocks : 0);
    if (o->variants[v].capture == NULL) rmdir(path);
  }
}

static int write_files(plan_t *plan, const arguments_t *a, const ufp4_experiment_t *experiment) {
  char path[PATH_MAX];
  ufp4_message_t message = {0};
  if (!a->capture) {
    int end = cli_output_make_directory(plan->command, a->folder, &plan->made);
    if (end != CLI_GO_ON) return end;
  }
  clean_captures(plan, a);
  snprintf(path, sizeof path, "%s/" LOSSES, a->folder);
  ufp4_status_t status = ufp4_experiment_write_csv(experiment, path, &message);
  snprintf(path, sizeof path, "%s/" REPORT, a->folder);
  if (!status) status = ufp4_experiment_write_html(experiment, a->text_name, path, &message);
  return status ? cli_fail_status(plan->command, status, message.text) : CLI_GO_ON;
}

static double tokens_per_second(const ufp4_experiment_t *e, int variant) {
  const ufp4_trainer_options_t *t = &e->options->trainer;
  double seconds = 0;
  for (int s = 0; s < e->options->seeds; s++) seconds += ufp4_experiment_at(e, variant, s)->seconds;
  return (double)(t->steps * t->batch * t->shape.context * e->options->seeds) / seconds;
}

static void print_text(const ufp4_experiment_t *e) {
  const ufp4_experiment_options_t *o = e->options;
  ufp4_comparison_t pairs[UFP4_MAX_VARIANTS * UFP4_MAX_VARIANTS];
  printf("%% recipe seeds held_loss deviation tokens_per_second\n");
  for (int v = 0; v < o->variant_count; v++) {
    ufp4_paired_t l = ufp4_experiment_losses(e, v);
    printf("  %-12s %3d %9.5f %9.5f %8.0f\n", o->variants[v].name, o->seeds, l.mean, l.deviation,
           tokens_per_second(e, v));
  }
  int count = ufp4_experiment_comparisons(e, pairs);
  if (count) printf("%% recipe against gap_percent deviation t seeds_worse verdict\n");
  for (int i = 0; i < count; i++) {
    ufp4_paired_t gap = ufp4_experiment_gap(e, pairs[i].variant, pairs[i].base);
    printf("  %-12s %-8s %+8.3f %8.3f %8.2f %lld/%lld %s\n", o->variants[pairs[i].variant].name,
           o->variants[pairs[i].base].name, gap.mean, gap.deviation, gap.t, (long long)gap.positive,
           (long long)gap.count, ufp4_gap_verdict(&gap));
  }
}

static json_t *recipe_object(const ufp4_experiment_t *e, int v) {
  ufp4_paired_t losses = ufp4_experiment_losses(e, v);
  json_t *each = json_array();
  for (int s = 0; s < e->options->seeds; s++) {
    json_array_append_new(each, json_real_or_null(ufp4_experiment_at(e, v, s)->held_loss));
  }
  return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o}", "recipe",
                   json_text(e->options->variants[v].name), "seeds", e->options->seeds, "held_loss",
                   json_real_or_null(losses.mean), "deviation", json_real_or_null(losses.deviation),
                   "held_losses", each, "tokens_per_second",
                   json_real_or_null(tokens_per_second(e, v)));
}

static json_t *gap_object(const ufp4_experiment_t *e, ufp4_comparison_t pair) {
  ufp4_paired_t gap = ufp4_experiment_gap(e, pair.variant, pair.base);
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:s}", "recipe",
                   json_text(e->options->variants[pair.variant].name), "against",
                   json_text(e->options->variants[pair.base].name), "gap_percent",
                   json_real_or_null(gap.mean), "deviation", json_real_or_null(gap.deviation), "t",
                   json_real_or_null(gap.t), "seeds_worse", (json_int_t)gap.positive, "verdict",
                   ufp4_gap_verdict(&gap));
}

static int print_json(const plan_t *plan, const ufp4_experiment_t *e) {
  ufp4_comparison_t pairs[UFP4_MAX_VARIANTS * UFP4_MAX_VARIANTS];
  json_t *recipes = json_array(), *comparisons = json_array();
  for (int v = 0; v < e->options->variant_count; v++)
    json_array_append_new(recipes, recipe_object(e, v));
  int count = ufp4_experiment_comparisons(e, pairs);
  for (int i = 0; i < count; i++) json_array_append_new(comparisons, gap_object(e, pairs[i]));
  return cli_json_print(
      plan->command,
      json_pack("{s:o, s:o, s:I}", "recipes", recipes, "comparisons", comparisons, "held_tokens",
                (json_int_t)ufp4_experiment_at(e, 0, 0)->held_tokens),
      9);
}

// A text may have less to measure than was asked for.
static void tell_held(const plan_t *plan, const arguments_t *a, const ufp4_experiment_t *e) {
  const int64_t held = ufp4_experiment_at(e, 0, 0)->held_tokens,
                asked = (int64_t)(a->held_tokens / a->context * a->context);
  if (held >= asked) return;
  fprintf(stderr, "ufp4 %s: %lld held-out tokens are measured: the text has no more\n",
          plan->command->name, (long long)held);
}

// --- The command --------------------------------------------------------------------------------

// What has been trained stays, whatever fails after it: the files come before the table.
static int run_experiment(plan_t *plan, const arguments_t *a, const ufp4_text_t *text) {
  ufp4_experiment_t experiment;
  progress_t progress =
      progress_start(plan->options.trainer.batch * plan->options.trainer.shape.context);
  ufp4_status_t status =
      ufp4_experiment_run(&plan->options, text, progress_steps, &progress, &experiment);
  progress_end(&progress);
  int end = CLI_GO_ON;
  if (status) {
    end = cli_fail_status(plan->command, status, experiment.message.text);
  } else {
    tell_held(plan, a, &experiment);
    end = write_files(plan, a, &experiment);
  }
  if (end == CLI_GO_ON && a->json) end = print_json(plan, &experiment);
  if (end == CLI_GO_ON && !a->json) print_text(&experiment);
  ufp4_experiment_free(&experiment);
  return end == CLI_GO_ON ? CLI_OK : end;
}

// Opens the device once beforehand: what is wrong with it should be said before the text is read.
static int prepare(plan_t *plan, const arguments_t *a, ufp4_text_t *text) {
  ufp4_device_t *device;
  int end = cli_device_open(plan->command, &plan->device, plan->device.backend, &device);
  if (end != CLI_GO_ON) return end;
  for (int i = 0; end == CLI_GO_ON && i < plan->options.variant_count; i++) {
    end = cli_recipe_check(plan->command, device, &plan->options.variants[i].recipe);
  }
  ufp4_device_close(device);
  if (end != CLI_GO_ON) return end;
  return cli_text_read(plan->command, a->text_name, (int64_t)a->context, text);
}

static int run_plan(plan_t *plan, const arguments_t *a) {
  ufp4_text_t text = {0};
  int end = prepare(plan, a, &text);
  if (end != CLI_GO_ON) return end;
  end = make_folders(plan, a);
  if (end == CLI_GO_ON) end = run_experiment(plan, a, &text);
  if (end != CLI_OK && plan->made) cli_output_remove_directory(a->folder);
  ufp4_text_free(&text);
  return end;
}

static int run(int argc, char **argv) {
  const cli_command_t *command = &cli_train;
  arguments_t a = defaults();
  cli_options_t options = {0};
  char **inputs;
  int count;
  add_options(&options, &a);
  int end = cli_parse(command, &options, argc, argv, 0, 1, &inputs, &count);
  if (end != CLI_GO_ON) return end;
  a.text_name = count ? inputs[0] : CLI_TEXT_DEFAULT;
  end = check(command, &a);
  if (end == CLI_GO_ON) end = cli_device_check(command, &options, &a.device, NULL);
  if (end == CLI_GO_ON) end = check_outputs(command, &a);
  if (end != CLI_GO_ON) return end;
  plan_t *plan = calloc(1, sizeof *plan);
  if (!plan) return cli_fail_status(command, UFP4_ERROR_MEMORY, NULL);
  end = make_plan(command, &a, plan);
  if (end == CLI_GO_ON && a.device.trace != NULL &&
      plan->options.seeds * plan->options.variant_count > 1) {
    end = cli_fail(command, CLI_USAGE,
                   "--trace is of one run: --seeds 1, one --recipe, --no-control");
  }
  if (end == CLI_GO_ON) end = run_plan(plan, &a);
  free(plan);
  return end;
}

const cli_command_t cli_train = {
    .name = "train",
    .arguments = "[TEXT] -o DIR [options]",
    .summary =
        "Trains a small language model with one or more recipes and compares the held-out losses.\n"
        "Each recipe runs on several seeds, the GEMMs of its linear layers on a device. TEXT: any "
        "plain or "
        "gzip-compressed file,\nor gcide (default): the dictionary of Debian's package dict-gcide.",
    .example = "ufp4 train -o out --recipe bf16,ufp4 --seeds 2 --steps 20",
    .run = run,
};
