// SPDX-License-Identifier: Apache-2.0
// ufp4 demo: training steps on the golden model, then one more on the simulated core, which must be
// equal in every bit.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "frame/cli.h"
#include "frame/progress.h"
#include "frame/report.h"
#include "record.h"
#include "train/learn/trainer.h"
#include "train/text_option.h"

typedef struct {
  const char *text_name, *recipe;
  uint64_t steps, sequences, seed;
  int json;
  cli_device_t device;
} arguments_t;

/** One of the two devices that run the step. */
typedef struct {
  ufp4_device_t *device;
  ufp4_trainer_t *trainer;
  record_t record;
  double loss;
  double seconds;  ///< time of the step, without recording
  uint64_t cycles;
} side_t;

typedef struct {
  const arguments_t *arguments;
  ufp4_recipe_t recipe;
  ufp4_text_t text;
  ufp4_trainer_t *trainer;  ///< of the first part
  side_t model, core;       ///< of the second part
  progress_t progress;
  json_t *json;  ///< NULL: print text
} demo_t;

// --- Part 1: training on the golden model -------------------------------------------------------

static ufp4_trainer_options_t trainer_options(const arguments_t *a) {
  ufp4_trainer_options_t options = ufp4_trainer_options_default();
  options.seed = a->seed;
  return options;
}

static void show_loss(demo_t *demo, uint64_t step, double loss) {
  progress_end(&demo->progress);
  if (demo->json) {
    json_array_append_new(
        json_object_get(demo->json, "training"),
        json_pack("{s:I, s:o}", "step", (json_int_t)step, "loss", json_real_or_null(loss)));
  } else {
    printf("  step %3" PRIu64 "  loss %.4f\n", step, loss);
    fflush(stdout);
  }
}

static ufp4_status_t train(demo_t *demo) {
  const arguments_t *a = demo->arguments;
  ufp4_trainer_options_t options = trainer_options(a);
  demo->progress = progress_start(options.batch * options.shape.context);
  uint64_t every = a->steps > 10 ? a->steps / 10 : 1;
  for (uint64_t i = 0; i < a->steps; i++) {
    double loss;
    ufp4_status_t status = ufp4_trainer_step(demo->trainer, &loss);
    if (status) return status;
    if (i % every == 0 || i == a->steps - 1) show_loss(demo, i, loss);
    progress_steps(&demo->progress, (int64_t)i + 1, (int64_t)a->steps);
  }
  progress_end(&demo->progress);
  return UFP4_OK;
}

static void say(const demo_t *demo, const char *text) {
  if (demo->json) return;
  puts(text);
  fflush(stdout);
}

static int part_one(demo_t *demo) {
  const arguments_t *a = demo->arguments;
  ufp4_trainer_options_t options = trainer_options(a);
  char line[200];
  snprintf(line, sizeof line,
           "1. A language model of %lld blocks, d %lld, takes %" PRIu64
           " steps of %lld tokens; recipe %s, GEMMs on the golden model",
           (long long)options.shape.blocks, (long long)options.shape.d_model, a->steps,
           (long long)(options.batch * options.shape.context), demo->recipe.name);
  say(demo, line);
  ufp4_status_t status =
      ufp4_trainer_create(&options, &demo->text, demo->model.device, &demo->recipe, &demo->trainer);
  if (demo->json) json_object_set_new(demo->json, "training", json_array());
  if (!status) status = train(demo);
  if (status) return cli_fail_status(&cli_demo, status, ufp4_device_message(demo->model.device));
  snprintf(line, sizeof line, "  %.0f tokens/s",
           (double)((int64_t)a->steps * options.batch * options.shape.context) /
               progress_seconds(&demo->progress));
  say(demo, line);
  return CLI_GO_ON;
}

// --- Part 2: one further step on both -----------------------------------------------------------

static uint64_t cycles_of(ufp4_device_t *device) {
  uint64_t counters[UFP4_COUNTER_COUNT] = {0};
  return ufp4_device_counters(device, counters) ? 0 : counters[UFP4_COUNTER_CYCLES];
}

static ufp4_status_t step_on(demo_t *demo, side_t *side, const char *name) {
  ufp4_trainer_options_t options = trainer_options(demo->arguments);
  options.batch = (int64_t)demo->arguments->sequences;
  ufp4_status_t status =
      ufp4_trainer_create(&options, &demo->text, side->device, &demo->recipe, &side->trainer);
  if (!status) status = ufp4_trainer_copy(side->trainer, demo->trainer);
  if (status) return status;
  side->record.device = name;
  side->record.progress = &demo->progress;
  ufp4_trainer_set_hook(side->trainer, record_hook(&side->record));
  uint64_t cycles = cycles_of(side->device);
  demo->progress = progress_start(0);
  status = ufp4_trainer_step(side->trainer, &side->loss);
  side->seconds = progress_seconds(&demo->progress) - side->record.seconds;
  side->cycles = cycles_of(side->device) - cycles;
  progress_end(&demo->progress);
  return status;
}

static int part_two(demo_t *demo) {
  const arguments_t *a = demo->arguments;
  char line[200];
  snprintf(line, sizeof line, "2. One more step, of %lld tokens, on the golden model and on %s",
           (long long)a->sequences * trainer_options(a).shape.context, a->device.backend);
  say(demo, line);
  ufp4_status_t status = step_on(demo, &demo->model, "golden model");
  if (status) return cli_fail_status(&cli_demo, status, ufp4_device_message(demo->model.device));
  status = step_on(demo, &demo->core, a->device.backend);
  if (status) return cli_fail_status(&cli_demo, status, ufp4_device_message(demo->core.device));
  return CLI_GO_ON;
}

// --- Part 3: the table --------------------------------------------------------------------------

typedef struct {
  int64_t macs;
  uint64_t gemm_cycles, quantize_cycles;
  record_difference_t difference;
  int64_t weights, weights_differ;
  int loss_differs;
} totals_t;

static void print_cases(const demo_t *demo, const ufp4_device_info_t *info, totals_t *totals) {
  static const char *const passes[UFP4_PASS_COUNT] = {"fprop", "dgrad", "wgrad"};
  const bounds_memory_t memory = cli_device_memory(&demo->arguments->device);
  const bounds_gemm_t how = {.d_bytes = sizeof(float)};
  for (int i = 0; i < demo->core.record.count; i++) {
    const record_gemm_t *gemm = &demo->core.record.gemms[i];
    const char *format = gemm->quantized ? elem_names[demo->recipe.elem] : "bf16";
    report_case_t line =
        report_case_make(passes[gemm->pass], format, &gemm->stats, &how, info, memory);
    line.mismatches = record_compare(&demo->model.record.gemms[i], gemm, &totals->difference);
    report_case(demo->json, &line);
    if (gemm->quantized) totals->macs += gemm->stats.m * gemm->stats.n * gemm->stats.k;
    totals->gemm_cycles += gemm->stats.cycles;
    totals->quantize_cycles += gemm->stats.quantize_cycles;
  }
}

static void compare_state(const demo_t *demo, totals_t *totals) {
  const ufp4_weights_t *want = ufp4_trainer_weights(demo->model.trainer);
  const ufp4_weights_t *got = ufp4_trainer_weights(demo->core.trainer);
  totals->weights = want->count;
  for (int64_t i = 0; i < want->count; i++) {
    totals->weights_differ += ufp4_f32_bits(want->all[i]) != ufp4_f32_bits(got->all[i]);
  }
  totals->loss_differs = memcmp(&demo->model.loss, &demo->core.loss, sizeof demo->core.loss) != 0;
}

static double utilization(const totals_t *t, const ufp4_device_info_t *info) {
  double macs_a_cycle =
      (double)info->configuration.lanes * info->configuration.rows * info->configuration.cols;
  return t->gemm_cycles ? 100.0 * (double)t->macs / (macs_a_cycle * (double)t->gemm_cycles) : NAN;
}

static int64_t all_mismatches(const totals_t *t) {
  return t->difference.compare.mismatches + t->weights_differ + t->loss_differs;
}

static void print_totals(const demo_t *demo, const totals_t *t, const ufp4_device_info_t *info) {
  const side_t *core = &demo->core;
  printf("Compared: %" PRId64 " codes, %" PRId64 " scales, %" PRId64
         " outputs, the loss (%.6f, %s), %" PRId64 " weights (%" PRId64 " differ)\n",
         t->difference.codes, t->difference.scales, t->difference.outputs, core->loss,
         t->loss_differs ? "DIFFERS" : "equal", t->weights, t->weights_differ);
  if (t->difference.compare.first[0]) printf("First difference: %s\n", t->difference.compare.first);
  if (info->has_cycles) {
    printf("Totals: %d GEMMs, %.1f M MAC, %" PRIu64
           " cycles in GEMMs (utilization %.1f %%), %" PRIu64 " in quantization, %" PRIu64
           " in all\n",
           core->record.count, 1e-6 * (double)t->macs, t->gemm_cycles, utilization(t, info),
           t->quantize_cycles, core->cycles);
    printf("Simulator: configuration %s, %.1f s, %.0f cycles/s, %.1f M MAC/s\n",
           info->configuration.name, core->seconds, (double)core->cycles / core->seconds,
           1e-6 * (double)t->macs / core->seconds);
  }
  printf("%" PRId64 " mismatches: %s\n", all_mismatches(t),
         all_mismatches(t) ? "DIFFERENT" : "equal in every bit");
}

static json_t *totals_object(const side_t *core, const totals_t *t,
                             const ufp4_device_info_t *info) {
  return json_pack("{s:i, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:o, s:b, s:I}", "gemms",
                   core->record.count, "macs", (json_int_t)t->macs, "gemm_cycles",
                   (json_int_t)t->gemm_cycles, "quantize_cycles", (json_int_t)t->quantize_cycles,
                   "cycles", (json_int_t)core->cycles, "util_percent",
                   json_real_or_null(utilization(t, info)), "codes",
                   (json_int_t)t->difference.codes, "scales", (json_int_t)t->difference.scales,
                   "outputs", (json_int_t)t->difference.outputs, "weights", (json_int_t)t->weights,
                   "loss", json_real_or_null(core->loss), "loss_equal", !t->loss_differs,
                   "mismatches", (json_int_t)all_mismatches(t));
}

static json_t *simulator_object(const side_t *core, const totals_t *t,
                                const ufp4_device_info_t *info) {
  return json_pack("{s:s, s:o, s:o, s:o}", "configuration", info->configuration.name, "seconds",
                   json_real_or_null(core->seconds), "cycles_per_second",
                   json_real_or_null((double)core->cycles / core->seconds), "macs_per_second",
                   json_real_or_null((double)t->macs / core->seconds));
}

// Also frees demo->json.
static int print_json(demo_t *demo, const totals_t *totals, const ufp4_device_info_t *info) {
  json_t *json = demo->json;
  demo->json = NULL;
  json_object_set_new(json, "totals", totals_object(&demo->core, totals, info));
  json_object_set_new(json, "simulator", simulator_object(&demo->core, totals, info));
  json_object_set_new(json, "verdict", json_string(report_verdict(all_mismatches(totals))));
  return cli_json_print(&cli_demo, json, 9);
}

static int part_three(demo_t *demo) {
  ufp4_device_info_t info;
  totals_t totals = {.difference.compare = {
                         .got_name = demo->core.record.device, .want_name = "model", .silent = 1}};
  ufp4_status_t status = ufp4_device_info(demo->core.device, &info);
  if (status) return cli_fail_status(&cli_demo, status, ufp4_device_message(demo->core.device));
  say(demo, "3. Every GEMM of that step, every code, scale and output compared");
  if (info.has_cycles) {
    say(demo, "   These GEMMs are too short to fill a wide array (bound_by names the limit),");
    say(demo,
        "   and quantization does not overlap them: ufp4 explore llama-7b shows large layers.");
  }
  report_begin(demo->json, 1);
  print_cases(demo, &info, &totals);
  compare_state(demo, &totals);
  if (demo->json) {
    int end = print_json(demo, &totals, &info);
    if (end != CLI_GO_ON) return end;
  } else {
    print_totals(demo, &totals, &info);
  }
  return all_mismatches(&totals) ? CLI_MISMATCH : CLI_OK;
}

// --- The command --------------------------------------------------------------------------------

// Frees a side of the comparison and closes its device. @return CLI_GO_ON or the exit status.
static int close_side(side_t *side) {
  ufp4_trainer_free(side->trainer);
  record_free(&side->record);
  return cli_device_close(&cli_demo, side->device);
}

// This is printed before the first part, which takes a while.
static int check_room(demo_t *demo) {
  ufp4_trainer_options_t options = trainer_options(demo->arguments);
  options.batch = (int64_t)demo->arguments->sequences;
  ufp4_status_t status = ufp4_trainer_fits(&options, demo->core.device, &demo->recipe);
  return status == UFP4_OK
             ? CLI_GO_ON
             : cli_fail_status(&cli_demo, status, ufp4_device_message(demo->core.device));
}

static int run_parts(demo_t *demo) {
  const arguments_t *a = demo->arguments;
  int end = cli_recipe(&cli_demo, a->recipe, &demo->recipe);
  if (end == CLI_GO_ON && !demo->recipe.quantized) {
    end = cli_fail(
        &cli_demo, CLI_USAGE,
        "--recipe %s does not quantize and runs on the host, so there is nothing to compare",
        demo->recipe.name);
  }
  if (end == CLI_GO_ON)
    end = cli_device_open(&cli_demo, &a->device, a->device.backend, &demo->core.device);
  if (end == CLI_GO_ON) end = cli_device_open(&cli_demo, &a->device, "model", &demo->model.device);
  if (end == CLI_GO_ON) end = check_room(demo);
  if (end == CLI_GO_ON) end = cli_recipe_check(&cli_demo, demo->core.device, &demo->recipe, 1);
  int64_t context = trainer_options(a).shape.context;
  if (end == CLI_GO_ON) end = cli_text_read(&cli_demo, a->text_name, context, &demo->text);
  if (end == CLI_GO_ON && strcmp(a->device.backend, "model") == 0)
    fprintf(stderr, "ufp4 demo: --backend model compares the golden model with itself\n");
  if (end == CLI_GO_ON) end = part_one(demo);
  if (end == CLI_GO_ON) end = part_two(demo);
  return end == CLI_GO_ON ? part_three(demo) : end;
}

static int check(const arguments_t *a) {
  if (a->steps < 1 || a->steps > 100000)
    return cli_fail(&cli_demo, CLI_USAGE, "--steps: '%llu' is not a whole number from 1 to 100000",
                    (unsigned long long)a->steps);
  if (a->sequences < 1 || a->sequences > 1024) {
    return cli_fail(&cli_demo, CLI_USAGE,
                    "--sequences: '%llu' is not a whole number from 1 to 1024",
                    (unsigned long long)a->sequences);
  }
  return CLI_GO_ON;
}

static int run(int argc, char **argv) {
  arguments_t a = {.text_name = CLI_TEXT_DEFAULT, .recipe = "ufp4", .steps = 100, .sequences = 4};
  cli_options_t options = {0};
  cli_device_init(&a.device);
  a.device.may_be_same = 1;  // run_parts() says so
  a.device.backend = "rtl";
  cli_option_add(&options, "steps", CLI_UINT, &a.steps, "N",
                 "training steps on the golden model (default 100)");
  cli_option_add(&options, "sequences", CLI_UINT, &a.sequences, "N",
                 "sequences of 128 tokens in the step that is compared (default 4)");
  cli_option_add(&options, "recipe", CLI_TEXT, &a.recipe, "R", "how to quantize (default ufp4)");
  cli_option_add(&options, "text", CLI_TEXT, &a.text_name, "FILE",
                 "training text (default: that of dict-gcide)");
  cli_option_add(&options, "seed", CLI_UINT, &a.seed, "S", "seed of everything random (default 0)");
  cli_option_add(&options, "json", CLI_FLAG, &a.json, NULL, "print the results as JSON");
  cli_device_add(&options, &a.device);
  int end = cli_parse(&cli_demo, &options, argc, argv, 0, 0, NULL, NULL);
  if (end == CLI_GO_ON) end = check(&a);
  if (end == CLI_GO_ON) end = cli_device_check(&cli_demo, &options, &a.device, NULL);
  if (end != CLI_GO_ON) return end;
  demo_t demo = {.arguments = &a, .json = a.json ? json_object() : NULL};
  end = run_parts(&demo);
  ufp4_trainer_free(demo.trainer);  // uses the model's device
  int closed = close_side(&demo.core);
  close_side(&demo.model);
  ufp4_text_free(&demo.text);
  json_decref(demo.json);
  return closed == CLI_GO_ON ? end : closed;
}

const cli_command_t cli_demo = {
    .name = "demo",
    .arguments = "[options]",
    .summary =
        "Runs a training step of a small language model on the simulated core, equal in every "
        "bit.\n"
        "The model first trains on real text with the golden model. Then one more step runs on "
        "both the golden\n"
        "model and the core, and every code, scale and output, the loss and all updated weights "
        "are compared.",
    .example = "ufp4 demo --steps 20 --sequences 2",
    .run = run,
    .details = cli_recipe_details,
};
