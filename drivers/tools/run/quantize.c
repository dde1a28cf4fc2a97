// SPDX-License-Identifier: Apache-2.0
// ufp4 quantize: by the golden model, or by the QUANT engine of a core.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/names.h"
#include "frame/cli.h"
#include "frame/compare.h"
#include "frame/report.h"
#include "run/quantize_fit.h"

static int run(int argc, char **argv);
const cli_command_t cli_quantize = {
    .name = "quantize",
    .arguments = "IN -o Q.safetensors (--elem E | --recipe R --role .. --pass ..) [options]",
    .summary = "Quantizes a tensor to 4 bits, by a recipe for one GEMM or by separate options.",
    .example =
        "ufp4 quantize X.npy -o X.safetensors --recipe ufp4 --role x --pass fprop "
        "--backend rtl --check model --stats",
    .run = run,
    .details = cli_recipe_details,
};

// The user's choices: the index of the option's word, or NOT_GIVEN.
enum { NOT_GIVEN = -1 };
typedef struct {
  const char *output, *recipe, *check;
  // The words of the options have the order of the enumerations.
  int role, pass, elem, scale, layout, axis, rht, round, scale_round, packed, bf16;
  uint64_t block, rht_mask, rht_size, seed, tensor_id;
  int64_t exponent;
  int mask_given, size_given, id_given, exponent_given, stats, json;
  cli_device_t device;
} choices_t;

/** The result of one backend. */
typedef struct {
  ufp4_operand_t operand;
  ufp4_quantize_stats_t stats;
  ufp4_device_info_t info;
} result_t;

static choices_t choices_default(void) {
  return (choices_t){.role = NOT_GIVEN,
                     .pass = NOT_GIVEN,
                     .elem = NOT_GIVEN,
                     .scale = NOT_GIVEN,
                     .layout = NOT_GIVEN,
                     .axis = NOT_GIVEN,
                     .rht = NOT_GIVEN,
                     .round = NOT_GIVEN,
                     .scale_round = NOT_GIVEN};
}

static void add_options(cli_options_t *options, choices_t *c) {
  cli_option_add(options, "o", CLI_TEXT, &c->output, "Q.safetensors", "the quantized tensor");
  cli_option_add(options, "recipe", CLI_TEXT, &c->recipe, "R",
                 "quantize by this recipe, with --role and --pass; other options override it");
  cli_option_add(options, "role", CLI_CHOICE, &c->role, ROLE_WORDS, "operand of the layer");
  cli_option_add(options, "pass", CLI_CHOICE, &c->pass, PASS_WORDS, "GEMM that reads the operand");
  cli_option_add(options, "elem", CLI_CHOICE, &c->elem, ELEM_WORDS, "element format");
  cli_option_add(options, "scale", CLI_CHOICE, &c->scale, SCALE_WORDS,
                 "block scale (default e4m3)");
  cli_option_add(options, "block", CLI_UINT, &c->block, BLOCK_WORDS,
                 "block size (default: that of the scale; e4m3 supports all)");
  cli_option_range(options, "16, 32, 64 or 128");
  cli_option_add(options, "layout", CLI_CHOICE, &c->layout, LAYOUT_WORDS,
                 "blocks of one row, or 16x16 (default 1d)");
  cli_option_add(options, "axis", CLI_CHOICE, &c->axis, AXIS_WORDS,
                 "col: quantize the transposed tensor (default row)");
  cli_option_add(options, "rht", CLI_CHOICE, &c->rht, "off|on|bf16",
                 "Hadamard transform first (default off); recipes call them none, integer, bf16");
  cli_option_add(options, "rht-mask", CLI_UINT, &c->rht_mask, "MASK",
                 "signs of the transform, a number of --rht-size bits, extended by zeros (default "
                 "0xD7E8 in each 16)");
  cli_option_range(options,
                   "a number with as many bits as the transform has points, such as 0xD7E8");
  cli_option_add(options, "rht-size", CLI_UINT, &c->rht_size, RHT_SIZE_WORDS,
                 "points of the transform (default 16; e4m3 supports all)");
  cli_option_range(options, "16, 32 or 64");
  cli_option_add(options, "round", CLI_CHOICE, &c->round, ROUND_WORDS,
                 "nearest even (default) or stochastic");
  cli_option_add(options, "scale-round", CLI_CHOICE, &c->scale_round, SCALE_ROUND_WORDS,
                 "rounding of the scales");
  cli_option_add(options, "seed", CLI_UINT, &c->seed, "N", "key of the random bytes (default 0)");
  cli_option_add(options, "tensor-id", CLI_UINT, &c->tensor_id, "N",
                 "stream of the random bytes (default: by role and axis, or 0)");
  cli_option_add(options, "tensor-exponent", CLI_INT, &c->exponent, "T",
                 "tensor exponent t (default: derived from the data)");
  cli_option_range(options, "a whole number from -32768 to 32767");
  cli_option_add(options, "packed", CLI_FLAG, &c->packed, NULL, "write two codes per byte");
  cli_option_add(options, "bf16", CLI_FLAG, &c->bf16, NULL,
                 "uint16 elements of IN are BF16 patterns");
  cli_option_add(
      options, "check", CLI_TEXT, &c->check, "BACKEND",
      "compare every code and scale, the tensor exponent and the flags with this backend's");
  cli_option_need(options, CLI_NEEDS_BACKEND);
  cli_option_add(options, "stats", CLI_FLAG, &c->stats, NULL,
                 "print the cycles of AMAX and QUANT, and the core's counters");
  cli_option_add(options, "json", CLI_FLAG, &c->json, NULL, "print the statistics as JSON");
  cli_device_add_timing(options, &c->device);
  cli_device_add(options, &c->device);
}

// --- What a recipe says -------------------------------------------------------------------------

// Returns the axis along which a role is blocked in a pass; NOT_GIVEN if it does not enter the
// pass.
static int axis_in_pass(int role, int pass) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
  for (int i = 0; i < 2; i++) {
    if ((int)roles[i] == role) return (int)axes[i];
  }
  return NOT_GIVEN;
}

static void fill_in(int *choice, int value) {
  if (*choice == NOT_GIVEN) *choice = value;
}

static int apply_recipe(choices_t *c) {
  ufp4_recipe_t recipe;
  if (c->role == NOT_GIVEN || c->pass == NOT_GIVEN) {
    return cli_fail(&cli_quantize, CLI_USAGE, "--recipe needs --role and --pass");
  }
  int end = cli_recipe_of_one(&cli_quantize, c->recipe, &recipe);
  if (end != CLI_GO_ON) return end;
  if (!recipe.quantized)
    return cli_fail(&cli_quantize, CLI_USAGE,
                    "--recipe %s does not quantize; choose another recipe, or --elem", recipe.name);
  int axis = axis_in_pass(c->role, c->pass);
  if (axis == NOT_GIVEN) {
    return cli_fail(
        &cli_quantize, CLI_USAGE,
        "--role is not an operand of --pass: fprop reads x and w, dgrad dy and w, wgrad dy and x");
  }
  if (!ufp4_recipe_quantizes(&recipe, (ufp4_pass_t)c->pass)) {
    return cli_fail(&cli_quantize, CLI_USAGE,
                    "--recipe %s computes this --pass in BF16, without quantizing", recipe.name);
  }
  if (recipe.requantize && c->role != UFP4_ROLE_DY && c->pass != UFP4_PASS_FPROP) {
    return cli_fail(
        &cli_quantize, CLI_USAGE,
        "--recipe %s makes this copy from FPROP's (requantize), which quantize does not do",
        recipe.name);
  }
  if (c->axis != NOT_GIVEN && c->axis != axis) {
    return cli_fail(
        &cli_quantize, CLI_USAGE,
        "--axis: in this pass this role is blocked along the other axis; leave --axis out");
  }
  ufp4_quantize_t how = ufp4_recipe_quantize(&recipe, (ufp4_role_t)c->role, (ufp4_axis_t)axis);
  c->axis = axis;
  fill_in(&c->elem, (int)how.elem);
  fill_in(&c->scale, (int)how.scale);
  fill_in(&c->layout, (int)how.layout);
  fill_in(&c->rht, (int)how.rht);
  fill_in(&c->round, (int)how.round);
  if (c->scale == (int)how.scale) fill_in(&c->scale_round, (int)how.scale_round);
  if (c->block == 0) c->block = (uint64_t)how.block;
  const int size = how.rht_size != 0 ? how.rht_size : 16;
  const int own_size = c->rht_size != 0 && c->rht_size != (uint64_t)size;
  if (c->rht_size == 0) c->rht_size = (uint64_t)how.rht_size;
  if (!c->mask_given) c->rht_mask = own_size ? ufp4_default_mask((int)c->rht_size) : how.rht_mask;
  if (!c->id_given) c->tensor_id = ufp4_tensor_id(0, 0, (unsigned)c->role, (unsigned)axis);
  return CLI_GO_ON;
}

static int apply_defaults(choices_t *c) {
  if (c->block > INT16_MAX)
    return cli_fail(&cli_quantize, CLI_USAGE, "--block is %llu; it must be 16, 32, 64 or 128",
                    (unsigned long long)c->block);
  if (c->rht_size != 0 && c->rht_size != 16 && c->rht_size != 32 && c->rht_size != 64)
    return cli_fail(&cli_quantize, CLI_USAGE, "--rht-size is %llu; it must be 16, 32 or 64",
                    (unsigned long long)c->rht_size);
  if (c->recipe == NULL && (c->role != NOT_GIVEN || c->pass != NOT_GIVEN)) {
    return cli_fail(&cli_quantize, CLI_USAGE, "--role and --pass need --recipe");
  }
  if (c->recipe == NULL && c->elem == NOT_GIVEN) {
    return cli_fail(&cli_quantize, CLI_USAGE, "give --recipe with --role and --pass, or --elem");
  }
  if (c->recipe == NULL && !c->mask_given)
    c->rht_mask = ufp4_default_mask(c->rht_size != 0 ? (int)c->rht_size : 16);
  fill_in(&c->scale, UFP4_SCALE_E4M3);
  fill_in(&c->scale_round,
          c->scale == UFP4_SCALE_E8M0 ? UFP4_SCALE_ROUND_DOWN : UFP4_SCALE_ROUND_RNE);
  fill_in(&c->layout, UFP4_LAYOUT_1D);
  fill_in(&c->axis, UFP4_AXIS_ROW);
  fill_in(&c->rht, UFP4_RHT_NONE);
  fill_in(&c->round, UFP4_ROUND_RNE);
  return CLI_GO_ON;
}

static ufp4_quantize_t how_from(const choices_t *c) {
  return (ufp4_quantize_t){.elem = (ufp4_elem_t)c->elem,
                           .scale = (ufp4_scale_t)c->scale,
                           .axis = (ufp4_axis_t)c->axis,
                           .layout = (ufp4_layout_t)c->layout,
                           .rht = (ufp4_rht_t)c->rht,
                           .rht_mask = c->rht_mask,
                           .block = (int)c->block,
                           .rht_size = (int)c->rht_size,
                           .round = (ufp4_round_t)c->round,
                           .scale_round = (ufp4_scale_round_t)c->scale_round,
                           .seed = c->seed,
                           .tensor_id = c->tensor_id,
                           .exponent_given = c->exponent_given,
                           .exponent = (int)c->exponent,
                           .kernel = cli_kernel()};
}

// Checks ranges, and the combination of all choices.
static int check(const choices_t *c) {
  ufp4_message_t message = {0};
  if (c->exponent_given && (c->exponent < INT16_MIN || c->exponent > INT16_MAX)) {
    return cli_fail(&cli_quantize, CLI_USAGE,
                    "--tensor-exponent: '%lld' is not a whole number from -32768 to 32767",
                    (long long)c->exponent);
  }
  const unsigned points = c->rht_size != 0 ? (unsigned)c->rht_size : 16;
  if (c->rht_mask >> (points - 1) > 1)
    return cli_fail(&cli_quantize, CLI_USAGE,
                    "--rht-mask: 0x%" PRIx64 " has more bits than the transform's %u points",
                    c->rht_mask, points);
  if ((c->mask_given || c->size_given) && c->rht == UFP4_RHT_NONE) {
    return cli_fail(&cli_quantize, CLI_USAGE,
                    "--rht-%s of a transform, but --rht is off; add --rht on",
                    c->mask_given ? "mask sets the signs" : "size sets the points");
  }
  const ufp4_quantize_t how = how_from(c);
  const char *const backends[2] = {c->device.backend, c->check};
  ufp4_status_t status = ufp4_combination_quantize(&how, (int)c->block, NULL, &message);
  for (int i = 0; i < 2 && backends[i] != NULL && status == UFP4_OK; i++)
    status = ufp4_combination_quantize(&how, (int)c->block, backends[i], &message);
  return status == UFP4_OK ? CLI_GO_ON : cli_fail_status(&cli_quantize, status, message.text);
}

// --- On a backend -------------------------------------------------------------------------------

static int run_on_backend(const choices_t *c, const char *backend, const ufp4_matrix_t *in,
                          result_t *result) {
  const ufp4_quantize_t how = how_from(c);
  ufp4_device_t *device;
  int end = cli_device_open(&cli_quantize, &c->device, backend, &device);
  if (end != CLI_GO_ON) return end;
  ufp4_device_info(device, &result->info);
  ufp4_status_t status =
      ufp4_device_quantize_stats(device, in, &how, &result->operand, &result->stats);
  if (status != UFP4_OK) end = cli_fail_status(&cli_quantize, status, ufp4_device_message(device));
  const int closed = cli_device_close(&cli_quantize, device);
  return end != CLI_GO_ON ? end : closed;
}

static int is_by_host(const result_t *result) {
  return result->stats.why.text[0] != '\0';
}

static int is_by_golden_model(const result_t *result) {
  return is_by_host(result) || strcmp(result->info.backend, "model") == 0;
}

// Says for which backends the host quantized, and whether that leaves a comparison of the golden
// model with itself. Refuses a trace or a timeline of no job.
static int check_place(const choices_t *c, const result_t *got, const result_t *want) {
  const int no_engine = !got->stats.on_core && !want->stats.on_core;
  const int same = c->check != NULL && is_by_golden_model(got) && is_by_golden_model(want);
  const char *option = no_engine && c->device.timeline != NULL ? "timeline"
                       : no_engine && c->device.trace != NULL  ? "trace"
                                                               : NULL;
  if (option != NULL)
    return cli_fail(&cli_quantize, CLI_USAGE,
                    "--%s: the host quantizes (%s), so there is nothing to write; leave out --%s",
                    option, is_by_host(got) ? got->stats.why.text : want->stats.why.text, option);
  if (is_by_host(got))
    fprintf(stderr, "ufp4 quantize: the host quantizes for %s: %s\n", c->device.backend,
            got->stats.why.text);
  if (is_by_host(want))
    fprintf(stderr, "ufp4 quantize: the host quantizes for %s: %s\n", c->check,
            want->stats.why.text);
  if (same && strcmp(c->check, c->device.backend) != 0)
    fprintf(stderr, "ufp4 quantize: --check %s compares the golden model with itself\n", c->check);
  return CLI_GO_ON;
}

static int64_t compare(const result_t *got, const result_t *want) {
  compare_t words = {.got_name = got->info.backend, .want_name = want->info.backend};
  compare_operands(&words, "quantized", &got->operand, &want->operand);
  return words.mismatches;
}

// --- Statistics ---------------------------------------------------------------------------------

static void put_job(json_t *jobs, const char *job, const result_t *result, uint64_t cycles) {
  const ufp4_operand_t *q = &result->operand;
  const double rate = (double)q->rows * (double)q->cols / (double)cycles;
  if (cycles == 0) return;  // it was not run
  if (jobs == NULL) {
    printf("  %-5s %8" PRId64 " %8" PRId64 " %10" PRIu64 " %17.2f\n", job, q->rows, q->cols, cycles,
           rate);
    return;
  }
  json_array_append_new(jobs, json_pack("{s:s, s:I, s:I, s:I, s:f}", "job", job, "rows",
                                        (json_int_t)q->rows, "cols", (json_int_t)q->cols, "cycles",
                                        (json_int_t)cycles, "numbers_per_cycle", rate));
}

// A job that no engine did has no cycles.
static void put_host(json_t *jobs, const result_t *result) {
  const ufp4_operand_t *q = &result->operand;
  if (jobs == NULL) {
    printf("  %-5s %8" PRId64 " %8" PRId64 " %10s %17s\n", "host", q->rows, q->cols, "-", "-");
    return;
  }
  json_array_append_new(
      jobs, json_pack("{s:s, s:I, s:I, s:n, s:n}", "job", "host", "rows", (json_int_t)q->rows,
                      "cols", (json_int_t)q->cols, "cycles", "numbers_per_cycle"));
}

static void put_counters(json_t *json, const result_t *result) {
  static const struct {
    const char *name;
    ufp4_counter_t counter;
  } shown[] = {{"quant", UFP4_COUNTER_QUANT},
               {"command", UFP4_COUNTER_COMMAND},
               {"read_beats", UFP4_COUNTER_READ_BEATS},
               {"write_beats", UFP4_COUNTER_WRITE_BEATS}};
  json_t *counters = json != NULL ? json_object() : NULL;
  if (json == NULL) printf("%% counter         count\n");
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    const uint64_t count = result->stats.counters[shown[i].counter];
    if (json == NULL) printf("  %-11s %9" PRIu64 "\n", shown[i].name, count);
    if (json != NULL) json_object_set_new(counters, shown[i].name, json_integer((json_int_t)count));
  }
  if (json != NULL) json_object_set_new(json, "counters", counters);
}

// Prints the statistics of the first result that an engine made.
static int print_stats(const choices_t *c, const result_t *got, const result_t *want,
                       int64_t mismatches) {
  const result_t *timed = got->stats.on_core || !want->stats.on_core ? got : want;
  json_t *json = c->json ? json_object() : NULL, *jobs = c->json ? json_array() : NULL;
  if (json == NULL) printf("%% job       rows     cols     cycles numbers_per_cycle\n");
  if (!timed->stats.on_core) put_host(jobs, timed);
  put_job(jobs, "amax", timed, timed->stats.amax_cycles);
  put_job(jobs, "quant", timed, timed->stats.quant_cycles);
  if (json != NULL) json_object_set_new(json, "jobs", jobs);
  if (timed->stats.on_core && timed->info.has_cycles) {
    put_counters(json, timed);
  } else if (json != NULL) {
    json_object_set_new(json, "counters", json_null());
  }
  if (json == NULL) return CLI_GO_ON;
  const unsigned flags = got->operand.flags;
  const int data = !c->device.timing_only;
  json_object_set_new(json, "on_core", json_boolean(timed->stats.on_core));
  json_object_set_new(json, "tensor_exponent",
                      data ? json_integer(got->operand.exponent) : json_null());
  json_object_set_new(json, "nan", data ? json_boolean(flags & UFP4_FLAG_NAN) : json_null());
  json_object_set_new(json, "saturated",
                      data ? json_boolean(flags & UFP4_FLAG_ROW_SATURATED) : json_null());
  json_object_set_new(json, "mismatches",
                      mismatches < 0 ? json_null() : json_integer((json_int_t)mismatches));
  json_object_set_new(json, "verdict", json_string(report_verdict(mismatches)));
  return cli_json_print(&cli_quantize, json, 6);
}

static int finish(const choices_t *c, const result_t *got, int64_t mismatches) {
  const ufp4_operand_t *q = &got->operand;
  if (mismatches < 0) return CLI_OK;
  const int64_t codes = 16 * q->rows * q->blocks, scales = q->rows * q->scale_blocks;
  if (mismatches == 0) {
    fprintf(stderr,
            "ufp4 quantize: compared: %" PRId64 " codes, %" PRId64
            " scales, tensor exponent and flags, equal\n",
            codes, scales);
    return CLI_OK;
  }
  return cli_fail(&cli_quantize, CLI_MISMATCH,
                  "%" PRId64 " codes, scales, exponents or flags differ between %s and %s",
                  mismatches, c->device.backend, c->check);
}

// --- The command --------------------------------------------------------------------------------

// Opens the second backend before the first one's work, to see whether it exists.
static int try_check(const choices_t *c) {
  ufp4_device_t *device;
  if (c->check == NULL) return CLI_GO_ON;
  const int end = cli_device_open(&cli_quantize, &c->device, c->check, &device);
  ufp4_device_close(device);
  return end;
}

static int write_result(const choices_t *c, const result_t *got) {
  const ufp4_quantize_t how = how_from(c);
  ufp4_message_t message = {0};
  const ufp4_status_t status =
      ufp4_operand_write(c->output, &got->operand, &how, c->packed, &message);
  return status == UFP4_OK ? CLI_GO_ON : cli_fail_status(&cli_quantize, status, message.text);
}

static int quantize(const choices_t *c, const char *input, const ufp4_matrix_t *in, result_t *got,
                    result_t *want) {
  int64_t mismatches = -1;
  int end = try_check(c);
  if (end == CLI_GO_ON) end = run_on_backend(c, c->device.backend, in, got);
  if (end == CLI_GO_ON && c->check != NULL) end = run_on_backend(c, c->check, in, want);
  if (end == CLI_GO_ON) end = check_place(c, got, want);
  if (end != CLI_GO_ON) return end;
  if (c->check != NULL) mismatches = compare(got, want);
  if (c->stats || c->json || c->device.timing_only) end = print_stats(c, got, want, mismatches);
  if (end == CLI_GO_ON) end = cli_printed();
  if (end == CLI_GO_ON && c->output != NULL) end = write_result(c, got);
  if (end != CLI_GO_ON) return end;
  if (got->operand.flags & UFP4_FLAG_NAN) {
    cli_nan_print(&cli_quantize, input, c->rht == UFP4_RHT_BF16);
  }
  if (c->exponent_given && !c->device.timing_only) quantize_print_fit(&got->operand);
  return finish(c, got, mismatches);
}

static int quantize_file(const char *input, choices_t *c) {
  ufp4_tensor_t tensor;
  result_t got = {0}, want = {0};
  int end = cli_tensor_read(&cli_quantize, input, c->bf16, &tensor);
  if (end != CLI_GO_ON) return end;
  end = cli_tensor_sides(&cli_quantize, input, &tensor);
  const uint64_t rows = (uint64_t)tensor.view.rows, cols = (uint64_t)tensor.view.cols;
  cli_device_demand(&c->device, (rows + 127) * (cols + 127) * 6);  // source, codes and scales
  if (end == CLI_GO_ON) end = quantize(c, input, &tensor.view, &got, &want);
  ufp4_tensor_free(&tensor);
  ufp4_operand_free(&got.operand);
  ufp4_operand_free(&want.operand);
  return end;
}

static int check_output(const choices_t *c) {
  if (c->output == NULL && !c->device.timing_only)
    return cli_fail(&cli_quantize, CLI_USAGE, "-o Q.safetensors is missing");
  if (c->output != NULL && c->device.timing_only)
    return cli_fail(&cli_quantize, CLI_USAGE, "--timing-only computes no codes; leave out -o");
  return CLI_GO_ON;
}

static int check_files(const choices_t *c, const char *input) {
  const char *const read[] = {input, c->recipe, c->output};
  struct stat about;
  int end = CLI_GO_ON;
  if (stat(input, &about) == 0 && S_ISDIR(about.st_mode)) {
    errno = EISDIR;
    return cli_fail_errno(&cli_quantize, input, "read");
  }
  if (c->output != NULL) end = cli_output_file(&cli_quantize, c->output, CLI_SAFETENSORS, read, 2);
  return end == CLI_GO_ON ? cli_device_check_trace(&cli_quantize, &c->device, read, 3) : end;
}

static int run(int argc, char **argv) {
  choices_t choices = choices_default();
  cli_options_t options = {0};
  char **inputs;
  cli_device_init(&choices.device);
  add_options(&options, &choices);
  int end = cli_parse(&cli_quantize, &options, argc, argv, 1, 1, &inputs, NULL);
  choices.mask_given = cli_option_given(&options, "rht-mask");
  choices.size_given = cli_option_given(&options, "rht-size");
  choices.id_given = cli_option_given(&options, "tensor-id");
  choices.exponent_given = cli_option_given(&options, "tensor-exponent");
  if (end == CLI_GO_ON) end = check_output(&choices);
  if (end == CLI_GO_ON && choices.recipe != NULL) end = apply_recipe(&choices);
  if (end == CLI_GO_ON) end = apply_defaults(&choices);
  if (end == CLI_GO_ON) end = check(&choices);
  if (end == CLI_GO_ON)
    end = cli_device_check(&cli_quantize, &options, &choices.device, choices.check);
  if (end == CLI_GO_ON) end = check_files(&choices, inputs[0]);
  return end == CLI_GO_ON ? quantize_file(inputs[0], &choices) : end;
}
