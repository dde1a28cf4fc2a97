// SPDX-License-Identifier: Apache-2.0
// ufp4 layer: the training GEMMs of one linear layer, on one backend or compared between two.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/names.h"
#include "frame/cli.h"
#include "frame/compare.h"
#include "frame/report.h"
#include "layer_cores.h"
#include "tensor/npy.h"

static int run(int argc, char **argv);
const cli_command_t cli_layer = {
    .name = "layer",
    .arguments = "X W DY -o DIR [options]",
    .summary =
        "Quantizes X [T][Cin], W [Cout][Cin], dY [T][Cout] (- if not needed) and runs the training "
        "GEMMs.",
    .example = "ufp4 layer X.npy W.npy dY.npy -o out --recipe ufp4 --backend rtl --check model",
    .run = run,
    .details = cli_recipe_details,
};

static const char *const tensor_names[UFP4_ROLE_COUNT] = {"X", "W", "dY"};
static const char *const output_names[UFP4_PASS_COUNT] = {"Y.npy", "dX.npy", "dW.npy"};
#define ALL_PASSES 3  // index of "all" among the words of --pass

typedef struct {
  const char *directory, *recipe_name, *check;
  int pass, json, bf16;
  uint64_t seed;
  cli_device_t device;
  layer_cores_t cores;
} choices_t;

/** The layer on one backend. */
typedef struct {
  const char *backend;
  ufp4_device_t *device;
  layer_cores_t cores;  ///< the device is the first of them
  ufp4_device_info_t info;
  ufp4_linear_t *linear;
  int loaded[UFP4_ROLE_COUNT];
  float *d[UFP4_PASS_COUNT];
  ufp4_gemm_stats_t stats[UFP4_PASS_COUNT];
  layer_parts_t parts[UFP4_PASS_COUNT];
} side_t;

typedef struct {
  ufp4_recipe_t recipe;
  ufp4_linear_shape_t shape;
  ufp4_tensor_t tensors[UFP4_ROLE_COUNT];
  side_t sides[2];  // --backend, and --check if given
  int side_count;
  int64_t mismatches;
  int reported;  // passes: without a line, no table
} layer_t;

// --- Inputs -------------------------------------------------------------------------------------

static int role_is_needed(unsigned passes, int role) {
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    if ((passes >> pass & 1) && ((int)roles[0] == role || (int)roles[1] == role)) return 1;
  }
  return 0;
}

static int read_tensors(const choices_t *choices, char **paths, layer_t *layer) {
  for (int role = 0; role < UFP4_ROLE_COUNT; role++) {
    if (!role_is_needed(layer->shape.passes, role)) continue;
    if (strcmp(paths[role], "-") == 0) {
      return cli_fail(&cli_layer, CLI_USAGE,
                      "%s is '-', but the chosen passes need it; name a file", tensor_names[role]);
    }
    int end = cli_tensor_read(&cli_layer, paths[role], choices->bf16, &layer->tensors[role]);
    if (end == CLI_GO_ON) end = cli_tensor_sides(&cli_layer, paths[role], &layer->tensors[role]);
    if (end != CLI_GO_ON) return end;
  }
  return CLI_GO_ON;
}

// Two tensors that share a size must agree on it; the first one present sets it.
static int join_size(char **paths, const char *what, int role_a, int64_t a, int role_b, int64_t b,
                     int64_t *size) {
  *size = a != 0 ? a : b;
  if (a == 0 || b == 0 || a == b) return CLI_GO_ON;
  return cli_fail(&cli_layer, CLI_USAGE,
                  "%s: %s (%s) has %" PRId64 ", %s (%s) has %" PRId64 "; they must be equal", what,
                  paths[role_a], tensor_names[role_a], a, paths[role_b], tensor_names[role_b], b);
}

static int find_shape(char **paths, layer_t *layer) {
  const ufp4_matrix_t *x = &layer->tensors[UFP4_ROLE_X].view,
                      *w = &layer->tensors[UFP4_ROLE_W].view;
  const ufp4_matrix_t *dy = &layer->tensors[UFP4_ROLE_DY].view;
  ufp4_linear_shape_t *shape = &layer->shape;
  int end = join_size(paths, "rows (tokens)", UFP4_ROLE_X, x->rows, UFP4_ROLE_DY, dy->rows,
                      &shape->tokens);
  if (end == CLI_GO_ON) {
    end =
        join_size(paths, "columns (Cin)", UFP4_ROLE_X, x->cols, UFP4_ROLE_W, w->cols, &shape->cin);
  }
  if (end == CLI_GO_ON) {
    end = join_size(paths, "Cout (rows of W, columns of dY)", UFP4_ROLE_W, w->rows, UFP4_ROLE_DY,
                    dy->cols, &shape->cout);
  }
  return end;
}

// --- One backend --------------------------------------------------------------------------------

static int fail_device(const side_t *side, ufp4_status_t status) {
  return cli_fail_status(&cli_layer, status, layer_cores_message(&side->cores));
}

static int open_side(const choices_t *choices, const char *backend, const layer_t *layer,
                     side_t *side) {
  int end = cli_device_open(&cli_layer, &choices->device, backend, &side->device);
  if (end != CLI_GO_ON) return end;
  side->backend = backend;
  if (side == &layer->sides[0]) side->cores = choices->cores;
  side->cores.devices[0] = side->device;
  end = layer_cores_open(&choices->device, &side->cores);
  if (end != CLI_GO_ON) return end;
  ufp4_device_info(side->device, &side->info);
  ufp4_status_t status =
      ufp4_linear_create(side->device, &layer->shape, &layer->recipe, &side->linear);
  if (status != UFP4_OK) return fail_device(side, status);
  if (ufp4_linear_quantizes_on_host(side->linear)) {
    ufp4_message_t why = {0};
    (void)ufp4_recipe_on_core(&layer->recipe, layer->shape.passes, &side->info.configuration, &why);
    fprintf(stderr, "ufp4 layer: the host quantizes for %s: %s\n", backend, why.text);
  }
  return CLI_GO_ON;
}

static void close_side(side_t *side) {
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) free(side->d[pass]);
  ufp4_linear_free(side->linear);
  layer_cores_close(&side->cores);
  ufp4_device_close(side->device);
}

// Loads the tensors that the pass needs and that are not loaded yet, and runs it.
static ufp4_status_t run_pass(const layer_t *layer, ufp4_pass_t pass, side_t *side) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands(pass, roles, axes);
  for (int i = 0; i < 2; i++) {
    if (side->loaded[roles[i]]) continue;
    ufp4_status_t status =
        ufp4_linear_load(side->linear, roles[i], &layer->tensors[roles[i]].view, 0);
    if (status != UFP4_OK) return status;
    side->loaded[roles[i]] = 1;
  }
  const ufp4_linear_shape_t *shape = &layer->shape;
  int64_t m = pass == UFP4_PASS_WGRAD ? shape->cout : shape->tokens;
  int64_t n = pass == UFP4_PASS_FPROP ? shape->cout : shape->cin;
  side->d[pass] = malloc(ufp4_matrix_bytes(m, n, sizeof(float)));
  if (side->d[pass] == NULL) return UFP4_ERROR_MEMORY;
  if (side->cores.count > 1 && ufp4_linear_quantizes(side->linear, pass))
    return layer_cores_run(&side->cores, side->linear, &layer->recipe, pass, side->d[pass],
                           &side->parts[pass], &side->stats[pass]);
  return ufp4_linear_run(side->linear, pass, side->d[pass], n, &side->stats[pass]);
}

// --- Comparison ---------------------------------------------------------------------------------

static ufp4_status_t compare_copy(const layer_t *layer, ufp4_role_t role, ufp4_axis_t axis,
                                  compare_t *compare) {
  ufp4_operand_t got = {0}, want = {0};
  char name[16];
  snprintf(name, sizeof name, "%s %s", tensor_names[role], axis_names[axis]);
  ufp4_status_t status = ufp4_linear_operand(layer->sides[0].linear, role, axis, &got);
  if (status == UFP4_OK) status = ufp4_linear_operand(layer->sides[1].linear, role, axis, &want);
  if (status == UFP4_OK) compare_operands(compare, name, &got, &want);
  ufp4_operand_free(&got);
  ufp4_operand_free(&want);
  return status;
}

// Compares every code, scale, exponent and flag of both operands, and every output. Each copy
// enters only one pass.
static ufp4_status_t compare_pass(const layer_t *layer, ufp4_pass_t pass, int64_t *mismatches) {
  const side_t *sides = layer->sides;
  compare_t compare = {.got_name = sides[0].backend, .want_name = sides[1].backend};
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands(pass, roles, axes);
  for (int i = 0; i < 2 && ufp4_recipe_quantizes(&layer->recipe, pass); i++) {
    ufp4_status_t status = compare_copy(layer, roles[i], axes[i], &compare);
    if (status != UFP4_OK) return status;
  }
  int64_t count = sides[0].stats[pass].m * sides[0].stats[pass].n;
  compare_elements(&compare, output_names[pass], sides[0].d[pass], sides[1].d[pass], sizeof(float),
                   count);
  *mismatches = compare.mismatches;
  return UFP4_OK;
}

// --- All passes ---------------------------------------------------------------------------------

static void report_pass(const choices_t *choices, layer_t *layer, ufp4_pass_t pass,
                        int64_t mismatches, json_t *json) {
  const side_t *first = &layer->sides[0], *timed = first;
  const int cores = first->cores.count;
  if (!timed->info.has_cycles && layer->side_count == 2 && cores == 1) timed = &layer->sides[1];
  const char *format = layer->recipe.quantized ? "bf16" : layer->recipe.name;
  if (ufp4_recipe_quantizes(&layer->recipe, pass)) format = elem_names[layer->recipe.elem];
  const bounds_gemm_t how = {.d_bytes = sizeof(float)};
  report_case_t line = report_case_make(pass_names[pass], format, &timed->stats[pass], &how,
                                        &timed->info, cli_device_memory(&choices->device));
  line.mismatches = mismatches;
  if (cores > 1) layer_cores_report(&first->cores, &first->parts[pass], &choices->device, &line);
  if (layer->reported++ == 0) report_begin(json, cores);
  report_case(json, &line);
}

static int run_passes(const choices_t *choices, layer_t *layer, json_t *json) {
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (!(layer->shape.passes >> pass & 1)) continue;
    for (int i = 0; i < layer->side_count; i++) {
      ufp4_status_t status = run_pass(layer, (ufp4_pass_t)pass, &layer->sides[i]);
      if (status != UFP4_OK) return fail_device(&layer->sides[i], status);
    }
    int64_t mismatches = -1;
    if (layer->side_count == 2) {
      ufp4_status_t status = compare_pass(layer, (ufp4_pass_t)pass, &mismatches);
      if (status != UFP4_OK) return fail_device(&layer->sides[0], status);
      layer->mismatches += mismatches;
    }
    report_pass(choices, layer, (ufp4_pass_t)pass, mismatches, json);
  }
  return CLI_GO_ON;
}

// Reports which tensors contained NaN or Inf, which are legal.
static void print_flags(const layer_t *layer) {
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT && layer->recipe.quantized; i++) {
    ufp4_operand_t copy;
    int role = i / 2, axis = i % 2;
    if (!layer->sides[0].loaded[role]) continue;
    if (ufp4_linear_operand(layer->sides[0].linear, (ufp4_role_t)role, (ufp4_axis_t)axis, &copy) !=
        UFP4_OK)
      continue;
    unsigned flags = copy.flags;
    ufp4_operand_free(&copy);
    if (!(flags & UFP4_FLAG_NAN)) continue;
    int in_bf16 = 0;
    for (int pass = 0; pass < UFP4_PASS_COUNT; pass++)
      in_bf16 |= layer->recipe.rht[pass] == UFP4_RHT_BF16;
    cli_nan_print(&cli_layer, tensor_names[role], in_bf16);
    i |= 1;  // once per tensor
  }
}

// --- Outputs ------------------------------------------------------------------------------------

static char *output_path(const choices_t *choices, int pass) {
  size_t size = strlen(choices->directory) + 16;
  char *path = malloc(size);
  if (path != NULL) snprintf(path, size, "%s/%s", choices->directory, output_names[pass]);
  return path;
}

// Checks before the work that the directory can be written and that no output is an input.
static int check_outputs(const choices_t *choices, char **inputs) {
  const char *const read[UFP4_ROLE_COUNT + 1] = {inputs[0], inputs[1], inputs[2],
                                                 choices->recipe_name};
  struct stat about;
  int end = cli_device_check_trace(&cli_layer, &choices->device, read, UFP4_ROLE_COUNT + 1);
  if (choices->directory == NULL) return end;
  if (end == CLI_GO_ON) end = cli_output_directory(&cli_layer, choices->directory);
  if (end != CLI_GO_ON || stat(choices->directory, &about) != 0) return end;
  for (int pass = 0; pass < UFP4_PASS_COUNT && end == CLI_GO_ON; pass++) {
    if (choices->pass != ALL_PASSES && choices->pass != pass) continue;
    char *path = output_path(choices, pass);
    if (path == NULL) return cli_fail_status(&cli_layer, UFP4_ERROR_MEMORY, NULL);
    end = cli_output_file(&cli_layer, path, CLI_NPY, read, UFP4_ROLE_COUNT + 1);
    free(path);
  }
  return end;
}

static int fail_file(ufp4_status_t status, const ufp4_message_t *message) {
  return cli_fail_status(&cli_layer, status, message->text);
}

static int open_output(const choices_t *choices, const side_t *side, int pass, file_out_t *out) {
  ufp4_message_t message = {0};
  char *path = output_path(choices, pass);
  if (path == NULL) return cli_fail_status(&cli_layer, UFP4_ERROR_MEMORY, NULL);
  ufp4_status_t status = file_out_open(path, out, &message);
  free(path);
  if (status != UFP4_OK) return fail_file(status, &message);
  const int64_t n = side->stats[pass].n;
  tensor_put(&(ufp4_matrix_t){UFP4_DTYPE_F32, side->stats[pass].m, n, n, side->d[pass]},
             out->stream);
  status = file_out_flush(out, &message);
  return status == UFP4_OK ? CLI_GO_ON : fail_file(status, &message);
}

// Writes all outputs of a layer or none: every file is complete before the first gets its name.
static int write_all(const choices_t *choices, const layer_t *layer) {
  file_out_t outputs[UFP4_PASS_COUNT] = {0};
  ufp4_message_t message = {0};
  int made, end = cli_output_make_directory(&cli_layer, choices->directory, &made);
  for (int pass = 0; pass < UFP4_PASS_COUNT && end == CLI_GO_ON; pass++) {
    if (layer->shape.passes >> pass & 1)
      end = open_output(choices, &layer->sides[0], pass, &outputs[pass]);
  }
  for (int pass = 0; pass < UFP4_PASS_COUNT && end == CLI_GO_ON; pass++) {
    if (outputs[pass].stream == NULL) continue;
    ufp4_status_t status = file_out_close(&outputs[pass], &message);
    if (status != UFP4_OK) end = fail_file(status, &message);
  }
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) file_out_discard(&outputs[pass]);
  if (end != CLI_GO_ON && made) cli_output_remove_directory(choices->directory);
  return end;
}

static int write_outputs(const choices_t *choices, const layer_t *layer) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int end = write_all(choices, layer);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return end;
}

// --- The command --------------------------------------------------------------------------------

static int compute(const choices_t *choices, layer_t *layer, json_t *json) {
  const char *backends[2] = {choices->device.backend, choices->check};
  for (int i = 0; i < 2 && backends[i] != NULL; i++) {
    layer->side_count = i + 1;
    int end = open_side(choices, backends[i], layer, &layer->sides[i]);
    if (end != CLI_GO_ON) return end;
  }
  int end = run_passes(choices, layer, json);
  for (int i = 0; i < layer->side_count && end == CLI_GO_ON; i++)
    end = cli_device_trace_end(&cli_layer, layer->sides[i].device);
  return end;
}

static int compute_json(const choices_t *choices, layer_t *layer) {
  json_t *json = json_object();
  int end = compute(choices, layer, json);
  const char *verdict = report_verdict(layer->side_count < 2 ? -1 : layer->mismatches);
  json_object_set_new(json, "verdict", json_string(verdict));
  if (end == CLI_GO_ON) return cli_json_print(&cli_layer, json, 6);
  json_decref(json);
  return end;
}

static uint64_t padded(int64_t size) {
  return (uint64_t)(size + 127) / 128 * 128;
}

static int run_layer(choices_t *choices, char **paths, layer_t *layer) {
  int end = read_tensors(choices, paths, layer);
  if (end == CLI_GO_ON) end = find_shape(paths, layer);
  if (end != CLI_GO_ON) return end;
  uint64_t t = padded(layer->shape.tokens), in = padded(layer->shape.cin),
           out = padded(layer->shape.cout);
  // Bytes of source, output and two copies; with several cores each has another output and its
  // operands, and a split that is tried has an output.
  cli_device_demand(&choices->device,
                    (choices->cores.asked > 1 ? 19 : 10) * (t * in + in * out + t * out));
  end = choices->json ? compute_json(choices, layer) : compute(choices, layer, NULL);
  if (end == CLI_GO_ON) end = cli_printed();
  if (end == CLI_GO_ON && choices->directory != NULL) end = write_outputs(choices, layer);
  if (end != CLI_GO_ON) return end;
  if (!choices->device.timing_only) print_flags(layer);
  if (layer->mismatches == 0) return CLI_OK;
  return cli_fail(&cli_layer, CLI_MISMATCH,
                  "%" PRId64 " codes, scales or outputs differ between %s and %s",
                  layer->mismatches, choices->device.backend, choices->check);
}

static void add_options(cli_options_t *options, choices_t *c) {
  cli_option_add(options, "o", CLI_TEXT, &c->directory, "DIR", "folder for Y.npy, dX.npy, dW.npy");
  cli_option_add(options, "recipe", CLI_TEXT, &c->recipe_name, "R",
                 "how to quantize (default ufp4)");
  cli_option_add(options, "pass", CLI_CHOICE, &c->pass, PASS_WORDS "|all",
                 "which GEMMs (default all)");
  cli_option_add(options, "check", CLI_TEXT, &c->check, "BACKEND",
                 "compare every code, scale and output with this backend's");
  cli_option_need(options, CLI_NEEDS_BACKEND);
  cli_option_add(options, "seed", CLI_UINT, &c->seed, "N", "key of the random bytes (default 0)");
  cli_option_add(options, "bf16", CLI_FLAG, &c->bf16, NULL,
                 "uint16 elements of the inputs are BF16 patterns");
  cli_option_add(options, "json", CLI_FLAG, &c->json, NULL, "print the lines as JSON");
  layer_cores_add(options, &c->cores);
  cli_device_add_timing(options, &c->device);
  cli_device_add(options, &c->device);
}

static int check_directory(const choices_t *c) {
  if (c->directory == NULL && !c->device.timing_only)
    return cli_fail(&cli_layer, CLI_USAGE, "-o DIR is missing");
  if (c->directory != NULL && c->device.timing_only)
    return cli_fail(&cli_layer, CLI_USAGE, "--timing-only computes no outputs; leave out -o");
  return CLI_GO_ON;
}

// Refuses options of a backend if the host multiplies in all passes.
static int check_host_recipe(const choices_t *choices, const layer_t *layer) {
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if ((layer->shape.passes >> pass & 1) &&
        ufp4_recipe_quantizes(&layer->recipe, (ufp4_pass_t)pass))
      return CLI_GO_ON;
  }
  if (choices->check != NULL || strcmp(choices->device.backend, "model") != 0)
    return cli_fail(&cli_layer, CLI_USAGE,
                    "--recipe %s %s on the host; leave out --backend and --check",
                    layer->recipe.name,
                    layer->recipe.quantized ? "runs these passes" : "does not quantize and runs");
  if (choices->cores.asked == 1) return CLI_GO_ON;
  return cli_fail(&cli_layer, CLI_USAGE,
                  "--cores: with recipe %s the host multiplies in these passes; leave out --cores",
                  layer->recipe.name);
}

static int run(int argc, char **argv) {
  choices_t choices = {.recipe_name = "ufp4", .pass = ALL_PASSES};
  cli_options_t options = {0};
  layer_t layer = {0};
  char **paths;
  cli_device_init(&choices.device);
  add_options(&options, &choices);
  int end = cli_parse(&cli_layer, &options, argc, argv, 3, 3, &paths, NULL);
  choices.device.may_be_same = choices.cores.asked > 1;
  if (end == CLI_GO_ON) end = check_directory(&choices);
  if (end == CLI_GO_ON)
    end = cli_device_check(&cli_layer, &options, &choices.device, choices.check);
  if (end == CLI_GO_ON) end = layer_cores_check(&options, &choices.cores, &choices.device);
  if (end == CLI_GO_ON) end = check_outputs(&choices, paths);
  if (end == CLI_GO_ON) end = cli_recipe_of_one(&cli_layer, choices.recipe_name, &layer.recipe);
  layer.shape.seed = choices.seed;
  layer.shape.passes = choices.pass == ALL_PASSES ? UFP4_PASSES_ALL : 1u << choices.pass;
  if (end == CLI_GO_ON) end = check_host_recipe(&choices, &layer);
  if (end != CLI_GO_ON) return end;
  end = run_layer(&choices, paths, &layer);
  for (int i = 0; i < 2; i++) close_side(&layer.sides[i]);
  for (int role = 0; role < UFP4_ROLE_COUNT; role++) ufp4_tensor_free(&layer.tensors[role]);
  return end;
}
