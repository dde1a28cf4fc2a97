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
#include "ufp4.h"

// Layers: as many as the exponent slots last for. Jobs: two steps of that many.
enum { MAX_LAYERS = 16, BATCHES = 2, MAX_JOBS = 640, QUEUE_JOBS = 64, NONE = -1 };
// Slots: the forward pass leaves exponents of column copies to the backward pass, of which each has
// one. Those of row copies are soon used: what is quantized two layers later takes them again. So
// it is with both of dY. QUANT and AMAX run in the ring's order, and in front of the AMAX that
// writes a slot anew stands one that waits for the GEMM which reads it last.
enum {
  X_SLOTS = 0,
  NEXT_X_SLOTS = X_SLOTS + BATCHES * MAX_LAYERS,
  W_SLOTS = NEXT_X_SLOTS + BATCHES
};
enum { ROW_SLOTS = W_SLOTS + MAX_LAYERS, ROWS = 2 * (1 + BATCHES), DY_SLOTS = ROW_SLOTS + ROWS };
_Static_assert(DY_SLOTS + 4 * BATCHES <= UFP4_SLOTS, "too many layers");
enum { FPROP, DGRAD, WGRAD, PASSES };
enum { LEAST_UTILIZATION = 97, MOST_ADDED = 1 };  // percent
static const char *const pass_names[PASSES] = {"fprop", "dgrad", "wgrad"};

typedef struct {
  const char *configuration;
  uint32_t size, layers, batches, latency;
  uint64_t stall_seed;
  int check, demand;
} options_t;

// A tensor, its two copies, and the jobs that wrote them.
typedef struct {
  uint64_t plain, codes[2], scales[2];
  uint16_t slots[2];
  int written, quantized;
} tensor_t;

typedef struct {
  options_t options;
  ufp4_device_t *device;
  // X of layer 0 twice: the next step's is quantized in this one.
  tensor_t x[MAX_LAYERS + 1][BATCHES], next_x[BATCHES];
  tensor_t w[MAX_LAYERS], dy[MAX_LAYERS + 1][BATCHES], dw[MAX_LAYERS][BATCHES];
  int jobs, collected;
  uint32_t numbers[MAX_JOBS];
  uint64_t cycles[MAX_JOBS];
  int pass[MAX_JOBS], layer[MAX_JOBS], batch[MAX_JOBS];
} step_t;

static void must(ufp4_device_t *device, ufp4_status_t status) {
  if (status == UFP4_OK) return;
  fprintf(stderr, "step: %s\n", ufp4_device_message(device));
  exit(3);
}

// --- Tensors ------------------------------------------------------------------------------------

static uint64_t allocate(step_t *step, uint64_t bytes) {
  uint64_t address = 0;
  must(step->device, ufp4_buffer_alloc(step->device, bytes, &address));
  return address;
}

static void make_tensor(step_t *step, tensor_t *tensor, uint32_t row_slot, uint32_t col_slot,
                        unsigned element_bytes, int copies) {
  const uint32_t size = step->options.size;
  const int64_t stride = ufp4_panel_stride_blocks(size);
  *tensor = (tensor_t){
      .slots = {(uint16_t)row_slot, (uint16_t)col_slot}, .written = NONE, .quantized = NONE};
  tensor->plain = allocate(step, (uint64_t)size * size * element_bytes);
  for (int i = 0; i < 2 && copies; i++) {
    tensor->codes[i] = allocate(step, (uint64_t)ufp4_panel_codes_bytes(size, stride));
    tensor->scales[i] = allocate(step, (uint64_t)ufp4_panel_scales_bytes(size, stride));
  }
}

static void fill(step_t *step, const tensor_t *tensor, check_random_t *random) {
  const uint32_t size = step->options.size;
  uint16_t *row = malloc(size * sizeof *row);
  for (uint32_t r = 0; r < size; r++) {
    for (uint32_t c = 0; c < size; c++) {
      const uint64_t bits = check_next(random);
      row[c] = (uint16_t)((bits & 0x807F) | (118 + (bits >> 32 & 7)) << 7);
    }
    must(step->device,
         ufp4_buffer_write(step->device, tensor->plain + (uint64_t)r * size * 2, row, size * 2));
  }
  free(row);
}

static void make_tensors(step_t *step) {
  const uint32_t layers = step->options.layers;
  check_random_t random = check_random();
  for (uint32_t l = 0; l <= layers; l++) {
    const uint32_t row = ROW_SLOTS + l % 2 * (1 + BATCHES), dy = DY_SLOTS + l % 2 * 2 * BATCHES;
    for (uint32_t b = 0; b < BATCHES; b++) {
      // The last layer's output is not quantized.
      make_tensor(step, &step->x[l][b], row + 1 + b, X_SLOTS + l * BATCHES + b, 2, l < layers);
      make_tensor(step, &step->dy[l][b], dy + 2 * b, dy + 2 * b + 1, 2, 1);
      if (l < layers) make_tensor(step, &step->dw[l][b], 0, 0, 4, 0);
    }
    if (l < layers) make_tensor(step, &step->w[l], row, W_SLOTS + l, 2, 1);
    if (l < layers) fill(step, &step->w[l], &random);
  }
  for (uint32_t b = 0; b < BATCHES; b++) {
    make_tensor(step, &step->next_x[b], ROW_SLOTS + 1 + b, NEXT_X_SLOTS + b, 2, 1);
    fill(step, &step->x[0][b], &random);
    fill(step, &step->next_x[b], &random);
    fill(step, &step->dy[layers][b], &random);
  }
}

// --- Jobs ---------------------------------------------------------------------------------------

// A job more than 15 places earlier has ended before this one can start.
static uint8_t distance(const step_t *step, int job) {
  return (uint8_t)(job == NONE || step->jobs - job > 15 ? 0 : step->jobs - job);
}

// Takes the completions up to `count` jobs; the device keeps them for a while only.
static void collect(step_t *step, int count) {
  for (; step->collected < count; step->collected++) {
    ufp4_completion_t done;
    must(step->device, ufp4_wait(step->device, step->numbers[step->collected], 0, &done));
    step->cycles[step->collected] = done.cycles;
  }
}

static int submit(step_t *step, ufp4_descriptor_t *job) {
  collect(step, step->jobs - QUEUE_JOBS);
  job->header.flags = 2;
  must(step->device, ufp4_submit(step->device, job, &step->numbers[step->jobs]));
  step->pass[step->jobs] = NONE;
  return step->jobs++;
}

// AMAX and QUANT of both copies; the tensor was written by a GEMM, or was there. `after` may name a
// later one.
static void quantize(step_t *step, tensor_t *tensor, int stochastic, int after) {
  const uint32_t size = step->options.size, stride = (uint32_t)ufp4_panel_stride_blocks(size);
  ufp4_descriptor_t job = {
      .quant = {.opcode = UFP4_OPCODE_AMAX,
                .after = distance(step, after > tensor->written ? after : tensor->written),
                .rows = size,
                .cols = size,
                .src_addr = tensor->plain,
                .src_stride_bytes = size * 2,
                .src_dtype = UFP4_DTYPE_BF16,
                .elem = UFP4_ELEM_E1M2,
                .round = stochastic ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
                .row_mode = UFP4_MODE_ENABLE | UFP4_MODE_RHT | UFP4_MODE_SLOT,
                .col_mode = UFP4_MODE_ENABLE | UFP4_MODE_RHT | UFP4_MODE_SLOT,
                .rht_mask = UFP4_RHT_DEFAULT_MASK,
                .row_exponent = tensor->slots[0],
                .col_exponent = tensor->slots[1],
                .row_codes_addr = tensor->codes[0],
                .row_scales_addr = tensor->scales[0],
                .col_codes_addr = tensor->codes[1],
                .col_scales_addr = tensor->scales[1],
                .row_stride_blocks = stride,
                .col_stride_blocks = stride,
                .seed = 1}};
  submit(step, &job);
  job.quant.opcode = UFP4_OPCODE_QUANT;
  job.quant.after = 0;  // of one engine, so behind its AMAX
  tensor->quantized = submit(step, &job);
}

// Copy 0 is used panel by panel as QUANT writes it, copy 1 when all of it is there.
static void gemm(step_t *step, int pass, uint32_t layer, uint32_t batch, const tensor_t *a,
                 int a_copy, const tensor_t *b, int b_copy, tensor_t *d, ufp4_dtype_t dtype) {
  const uint32_t size = step->options.size, stride = (uint32_t)ufp4_panel_stride_blocks(size);
  const int a_whole = a_copy ? a->quantized : NONE, b_whole = b_copy ? b->quantized : NONE;
  ufp4_descriptor_t job = {.gemm = {.opcode = UFP4_OPCODE_GEMM,
                                    .after = distance(step, a_whole > b_whole ? a_whole : b_whole),
                                    .m = size,
                                    .n = size,
                                    .k = size,
                                    .a_elem = UFP4_ELEM_E1M2,
                                    .b_elem = UFP4_ELEM_E1M2,
                                    .d_dtype = (uint8_t)dtype,
                                    .a_mode = UFP4_MODE_SLOT,
                                    .b_mode = UFP4_MODE_SLOT,
                                    .a_exponent = a->slots[a_copy],
                                    .b_exponent = b->slots[b_copy],
                                    .a_codes_addr = a->codes[a_copy],
                                    .a_scales_addr = a->scales[a_copy],
                                    .b_codes_addr = b->codes[b_copy],
                                    .b_scales_addr = b->scales[b_copy],
                                    .d_addr = d->plain,
                                    .a_stride_blocks = stride,
                                    .b_stride_blocks = stride,
                                    .d_stride_bytes = size * (dtype == UFP4_DTYPE_BF16 ? 2 : 4)}};
  if (!a_copy) job.gemm.panels = distance(step, a->quantized);
  if (!b_copy) job.gemm.panels |= (uint8_t)(distance(step, b->quantized) << 4);
  d->written = submit(step, &job);
  step->pass[d->written] = pass;
  step->layer[d->written] = (int)layer;
  step->batch[d->written] = (int)batch;
}

// The job after which a layer's weights are new, and their old copies of no more use.
static int weights_free(const step_t *step, uint32_t layer) {
  return step->dw[layer][step->options.batches - 1].written;
}

static void fprop(step_t *step, uint32_t l, uint32_t b) {
  gemm(step, FPROP, l, b, &step->x[l][b], 0, &step->w[l], 0, &step->x[l + 1][b], UFP4_DTYPE_BF16);
}

static void dgrad(step_t *step, uint32_t l, uint32_t b) {
  gemm(step, DGRAD, l, b, &step->dy[l + 1][b], 0, &step->w[l], 1, &step->dy[l][b], UFP4_DTYPE_BF16);
}

static void wgrad(step_t *step, uint32_t l, uint32_t b) {
  gemm(step, WGRAD, l, b, &step->dy[l + 1][b], 1, &step->x[l][b], 1, &step->dw[l][b],
       UFP4_DTYPE_F32);
}

static void forward(step_t *step, int first) {
  const uint32_t layers = step->options.layers;
  for (uint32_t l = 0; l < layers; l++) {
    for (uint32_t b = 0; b < step->options.batches; b++) {
      if (l > 0 || first) quantize(step, &step->x[l][b], 0, NONE);
      fprop(step, l, b);
    }
    if (l + 1 < layers) quantize(step, &step->w[l + 1], 0, weights_free(step, l + 1));
  }
}

// The weight gradients of layer 1 come last, so that W of layer 0 can be quantized beside them for
// the next step.
static void backward(step_t *step) {
  const uint32_t layers = step->options.layers, batches = step->options.batches;
  for (uint32_t l = layers; l-- > 0;) {
    for (uint32_t b = 0; b < batches; b++) {
      tensor_t *dy = &step->dy[l + 1][b];
      // The loss stands between the last output and its gradient.
      quantize(step, dy, 1, l + 1 == layers ? step->x[layers][b].written : NONE);
      dgrad(step, l, b);
      if (l != 1) wgrad(step, l, b);
    }
  }
}

static void swap_inputs(step_t *step) {
  for (uint32_t b = 0; b < step->options.batches; b++) {
    const tensor_t old = step->x[0][b];
    step->x[0][b] = step->next_x[b];
    step->next_x[b] = old;
  }
}

// The ring's order is that in which the jobs become possible; each waits for what it needs.
static void run(step_t *step, int steps) {
  const uint32_t batches = step->options.batches;
  quantize(step, &step->w[0], 0, NONE);
  for (int i = 0; i < steps; i++) {
    const int last = i + 1 == steps;
    forward(step, i == 0);
    backward(step);
    for (uint32_t b = 0; b < batches && !last; b++) quantize(step, &step->next_x[b], 0, NONE);
    if (!last) quantize(step, &step->w[0], 0, weights_free(step, 0));
    for (uint32_t b = 0; b < batches && step->options.layers > 1; b++) wgrad(step, 1, b);
    if (!last) swap_inputs(step);
  }
  collect(step, step->jobs);
}

// --- Figures ------------------------------------------------------------------------------------

typedef struct {
  uint64_t counters[UFP4_COUNTER_COUNT];
} measured_t;

// @return the lowest utilization of a GEMM, in percent
static double print_gemms(step_t *step, uint64_t macs_per_cycle) {
  const double macs = (double)step->options.size * step->options.size * step->options.size;
  double worst[PASSES] = {100, 100, 100}, lowest = 100;
  printf("%% pass layer batch cycles util_percent\n");
  for (int i = 0; i < step->jobs; i++) {
    if (step->pass[i] == NONE) continue;
    const double util = 100 * macs / (double)macs_per_cycle / (double)step->cycles[i];
    if (util < worst[step->pass[i]]) worst[step->pass[i]] = util;
    printf("  %s %5d %5d %8llu %6.2f\n", pass_names[step->pass[i]], step->layer[i], step->batch[i],
           (unsigned long long)step->cycles[i], util);
  }
  for (int pass = 0; pass < PASSES; pass++) {
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

static measured_t run_measured(step_t *step, int steps) {
  uint64_t before[UFP4_COUNTER_COUNT], after[UFP4_COUNTER_COUNT];
  measured_t measured;
  must(step->device, ufp4_device_counters(step->device, before));
  run(step, steps);
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
  for (uint32_t l = 0; l <= a->options.layers; l++) {
    for (uint32_t batch = 0; batch < BATCHES; batch++) {
      count += differences(a, b, a->x[l][batch].plain, 2 * elements);
      count += differences(a, b, a->dy[l][batch].plain, 2 * elements);
      if (l < a->options.layers) count += differences(a, b, a->dw[l][batch].plain, 4 * elements);
    }
  }
  return count;
}

static step_t open_step(const options_t *options, const char *backend) {
  step_t step = {.options = *options};
  ufp4_device_options_t device = ufp4_device_options_default();
  ufp4_message_t message = {""};
  device.configuration = options->configuration;
  device.mem_latency = options->latency;
  device.stall_seed = options->stall_seed;
  device.message = &message;
  if (ufp4_device_open(backend, &device, &step.device) != UFP4_OK) {
    fprintf(stderr, "step: %s\n", message.text);
    exit(3);
  }
  make_tensors(&step);
  return step;
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
  one = open_step(&options, "rtl");
  const measured_t cold = run_measured(&one, 1);
  ufp4_device_close(one.device);
  two = open_step(&options, "rtl");
  measured_t later = run_measured(&two, 2);
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
    model = open_step(&options, "model");
    run(&model, 2);
    wrong = compare(&two, &model);
    printf("%llu bytes differ from the golden model\n", (unsigned long long)wrong);
    ufp4_device_close(model.device);
  }
  ufp4_device_close(two.device);
  return wrong != 0 || slow;
}
