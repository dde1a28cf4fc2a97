// SPDX-License-Identifier: Apache-2.0
// Training steps of several square linear layers and interleaved micro-batches on the simulated
// core: every tensor BF16 but dW, every dependence kept, quantization beside the GEMMs. Prints the
// cycles of each GEMM and what of the quantization is exposed, in a step from cold and in one that
// follows another; with --check, the same jobs run on the golden model and all results are
// compared. The optimizer is the host's and takes no time here, but W is quantized anew only after
// both of its dW; X of the next step is known beforehand.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "ufp4_schedule.h"

// MAX_LAYERS is the number of layers that keep their exponents in slots.
enum { MAX_LAYERS = UFP4_SCHEDULE_KEPT, BATCHES = UFP4_SCHEDULE_BATCHES };
enum { LEAST_UTILIZATION = 97, MOST_ADDED = 1 };  // percent
static const char *const pass_names[UFP4_PASS_COUNT] = {"fprop", "dgrad", "wgrad"};

typedef struct {
  const char *configuration;
  uint32_t size, layers, batches, latency;
  uint64_t stall_seed;
  int check, demand;
} options_t;

typedef struct {
  options_t options;
  ufp4_device_t *device;
  ufp4_schedule_layer_t layers[MAX_LAYERS];
  ufp4_schedule_plan_t plan;
  ufp4_schedule_buffers_t buffers[MAX_LAYERS];
  ufp4_schedule_t schedule;
} step_t;

static void must(ufp4_device_t *device, ufp4_status_t status) {
  if (status == UFP4_OK) return;
  fprintf(stderr, "step: %s\n", ufp4_device_message(device));
  exit(3);
}

// --- Steps --------------------------------------------------------------------------------------

static void fill(const step_t *step, uint64_t address, check_random_t *random) {
  const uint32_t size = step->options.size;
  uint16_t *row = malloc(size * sizeof *row);
  for (uint32_t r = 0; r < size; r++) {
    for (uint32_t c = 0; c < size; c++) {
      const uint64_t bits = check_next(random);
      row[c] = (uint16_t)((bits & 0x807F) | (118 + (bits >> 32 & 7)) << 7);
    }
    must(step->device,
         ufp4_buffer_write(step->device, address + (uint64_t)r * size * 2, row, size * 2));
  }
  free(row);
}

static void make_plan(step_t *step, int steps) {
  const options_t *options = &step->options;
  step->plan = (ufp4_schedule_plan_t){.layers = step->layers,
                                      .layer_count = (int)options->layers,
                                      .batches = (int)options->batches,
                                      .steps = steps,
                                      .source = UFP4_DTYPE_BF16,
                                      .seed = 1};
  for (uint32_t l = 0; l < options->layers; l++)
    step->layers[l] = (ufp4_schedule_layer_t){(int64_t)options->size * options->batches,
                                              options->size, options->size};
  must(step->device, ufp4_recipe_named("ufp4", &step->plan.recipe));
}

// The first layer's X, of the next step too, all W, and the last layer's dY.
static void make_tensors(step_t *step) {
  const uint32_t layers = step->options.layers;
  check_random_t random = check_random();
  must(step->device, ufp4_schedule_alloc(step->device, &step->plan, step->buffers));
  for (uint32_t l = 0; l < layers; l++) fill(step, step->buffers[l].w.plain, &random);
  for (uint32_t b = 0; b < step->options.batches; b++) {
    fill(step, step->buffers[0].x[b].plain, &random);
    fill(step, step->buffers[layers - 1].dy[b].plain, &random);
    if (step->plan.steps > 1) fill(step, step->buffers[0].next_x[b].plain, &random);
  }
}

static void run(step_t *step) {
  must(step->device, ufp4_schedule_make(step->device, &step->plan, step->buffers, &step->schedule));
  must(step->device, ufp4_schedule_run(step->device, &step->schedule));
}

// --- Figures ------------------------------------------------------------------------------------

typedef struct {
  uint64_t counters[UFP4_COUNTER_COUNT];
} measured_t;

// @return the lowest utilization of a GEMM, in percent
static double print_gemms(step_t *step, uint64_t macs_per_cycle) {
  const double macs = (double)step->options.size * step->options.size * step->options.size;
  double worst[UFP4_PASS_COUNT] = {100, 100, 100}, lowest = 100;
  printf("%% pass layer batch cycles util_percent\n");
  for (int i = 0; i < step->schedule.count; i++) {
    const ufp4_schedule_job_t *job = &step->schedule.jobs[i];
    if (job->pass < 0) continue;
    const double util = 100 * macs / (double)macs_per_cycle / (double)job->cycles;
    if (util < worst[job->pass]) worst[job->pass] = util;
    printf("  %s %5d %5d %8llu %6.2f\n", pass_names[job->pass], job->layer, job->batch,
           (unsigned long long)job->cycles, util);
  }
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    printf("Lowest %s: %.2f %%\n", pass_names[pass], worst[pass]);
    if (worst[pass] < lowest) lowest = worst[pass];
  }
  return lowest;
}

// @return what quantization adds to the rest, in percent
static double print_counters(const char *title, const measured_t *measured) {
  static const char *const names[] = UFP4_COUNTER_NAMES;
  const uint64_t *spent = measured->counters;
  const double cycles = (double)spent[UFP4_COUNTER_CYCLES];
  const double exposed = (double)(spent[UFP4_COUNTER_QUANT] + spent[UFP4_COUNTER_STALL_PANEL]);
  printf("%s\n", title);
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) {
    printf("  %-18s %12llu  %6.2f %%\n", names[i], (unsigned long long)spent[i],
           100 * (double)spent[i] / cycles);
  }
  const double added = 100 * exposed / (cycles - exposed);
  printf("  Exposed quantization (quant + stall_panel) over the rest: %.2f %%\n", added);
  return added;
}

static measured_t run_measured(step_t *step) {
  uint64_t before[UFP4_COUNTER_COUNT], after[UFP4_COUNTER_COUNT];
  measured_t measured;
  must(step->device, ufp4_device_counters(step->device, before));
  run(step);
  must(step->device, ufp4_device_counters(step->device, after));
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) measured.counters[i] = after[i] - before[i];
  return measured;
}

// --- Check --------------------------------------------------------------------------------------

static uint64_t differences(const step_t *a, const step_t *b, uint64_t address, uint64_t bytes) {
  uint8_t *data[2] = {malloc(bytes), malloc(bytes)};
  uint64_t count = 0;
  must(a->device, ufp4_buffer_read(a->device, address, data[0], bytes));
  must(b->device, ufp4_buffer_read(b->device, address, data[1], bytes));
  for (uint64_t i = 0; i < bytes; i++) count += data[0][i] != data[1][i];
  free(data[0]);
  free(data[1]);
  return count;
}

static uint64_t compare(const step_t *a, const step_t *b) {
  const uint64_t elements = (uint64_t)a->options.size * a->options.size;
  uint64_t count = 0;
  for (uint32_t l = 0; l < a->options.layers; l++) {
    const ufp4_schedule_buffers_t *at = &a->buffers[l];
    for (uint32_t batch = 0; batch < a->options.batches; batch++) {
      count += differences(a, b, at->y[batch], 2 * elements);
      count += differences(a, b, at->dx[batch], 2 * elements);
      count += differences(a, b, at->dw[batch], 4 * elements);
    }
  }
  return count;
}

static void open_step(step_t *step, const options_t *options, const char *backend, int steps) {
  ufp4_device_options_t device = ufp4_device_options_default();
  ufp4_message_t message = {""};
  *step = (step_t){.options = *options};
  device.configuration = options->configuration;
  device.mem_latency = options->latency;
  device.stall_seed = check_stall(options->stall_seed);
  device.message = &message;
  if (ufp4_device_open(backend, &device, &step->device) != UFP4_OK) {
    fprintf(stderr, "step: %s\n", message.text);
    exit(3);
  }
  make_plan(step, steps);
  make_tensors(step);
}

static void close_step(step_t *step) {
  ufp4_schedule_free(&step->schedule);
  ufp4_device_close(step->device);
}

static int parse(int argc, char **argv, options_t *options) {
  *options = (options_t){
      .configuration = "default", .size = 1024, .layers = 4, .batches = BATCHES, .latency = 100};
  for (int i = 1; i < argc; i++) {
    const int check = strcmp(argv[i], "--check") == 0, demand = strcmp(argv[i], "--demand") == 0;
    options->check |= check;
    options->demand |= demand;
    if (check || demand) continue;
    if (i + 1 == argc) return 0;
    const char *name = argv[i++];
    if (strcmp(name, "--size") == 0)
      options->size = (uint32_t)strtoul(argv[i], NULL, 0);
    else if (strcmp(name, "--layers") == 0)
      options->layers = (uint32_t)strtoul(argv[i], NULL, 0);
    else if (strcmp(name, "--batches") == 0)
      options->batches = (uint32_t)strtoul(argv[i], NULL, 0);
    else if (strcmp(name, "--mem-latency") == 0)
      options->latency = (uint32_t)strtoul(argv[i], NULL, 0);
    else if (strcmp(name, "--stall") == 0)
      options->stall_seed = strtoull(argv[i], NULL, 0);
    else if (strcmp(name, "--config") == 0)
      options->configuration = argv[i];
    else
      return 0;
  }
  return options->size >= 128 && options->size % 128 == 0 && options->size <= 4096 &&
         options->layers >= 1 && options->layers <= MAX_LAYERS && options->batches >= 1 &&
         options->batches <= BATCHES;
}

int main(int argc, char **argv) {
  options_t options;
  if (!parse(argc, argv, &options)) {
    fprintf(stderr,
            "usage: bench_step [--size N (a multiple of 128)] [--layers 1..%d] [--batches 1..%d] "
            "[--mem-latency N]\n"
            "                  [--stall SEED] [--config NAME] [--check] [--demand]\n"
            "--check: all results are the golden model's. --demand: every GEMM uses %d %% of the "
            "array or more, and\n"
            "quantization adds %d %% to the step or less, from cold and behind another.\n",
            MAX_LAYERS, BATCHES, LEAST_UTILIZATION, MOST_ADDED);
    return 2;
  }
  static step_t one, two, model;
  ufp4_device_info_t info;
  open_step(&one, &options, "rtl", 1);
  const measured_t cold = run_measured(&one);
  close_step(&one);
  open_step(&two, &options, "rtl", 2);
  measured_t later = run_measured(&two);
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) later.counters[i] -= cold.counters[i];
  must(two.device, ufp4_device_info(two.device, &info));
  const double lowest = print_gemms(
      &two, (uint64_t)info.configuration.lanes * info.configuration.rows * info.configuration.cols);
  const double added_cold = print_counters("A step from cold", &cold);
  const double added_later =
      print_counters("A step that follows another (two steps less one)", &later);
  const int slow = options.demand && (lowest < LEAST_UTILIZATION || added_cold > MOST_ADDED ||
                                      added_later > MOST_ADDED);
  if (slow) printf("That is slower than demanded.\n");
  uint64_t wrong = 0;
  if (options.check) {
    open_step(&model, &options, "model", 2);
    run(&model);
    wrong = compare(&two, &model);
    printf("%llu bytes differ from the golden model\n", (unsigned long long)wrong);
    close_step(&model);
  }
  close_step(&two);
  return wrong != 0 || slow;
}
