// SPDX-License-Identifier: Apache-2.0
// Device options, recipes and input files that several commands share.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/dram.h"
#include "base/file.h"
#include "cli.h"

void cli_device_init(cli_device_t *device) {
  ufp4_device_options_t defaults = ufp4_device_options_default();
  *device = (cli_device_t){
      .backend = "model",
      .options = defaults,
      .mem_latency = defaults.mem_latency,
      .mem_bandwidth = defaults.mem_bandwidth,
      .max_cycles = defaults.max_cycles,
  };
  device->options.kernel = cli_kernel();
}

static const char *backend_help(const char *preset) {
  if (preset == NULL)
    return "model, rtl, tlm, systemc, systemc:timed, cuda, fpga:PORT or mmio:DEVICE";
  return strcmp(preset, "model") == 0
             ? "model (default), rtl, tlm, systemc, systemc:timed, cuda, fpga:PORT or mmio:DEVICE"
             : "model, rtl (default), tlm, systemc, systemc:timed, cuda, fpga:PORT or mmio:DEVICE";
}

void cli_device_add(cli_options_t *options, cli_device_t *device) {
  cli_option_add(options, "backend", CLI_TEXT, &device->backend, "BACKEND",
                 backend_help(device->backend));
  cli_option_need(options, CLI_NEEDS_BACKEND);
  cli_option_add(
      options, "config", CLI_TEXT, &device->configuration, "CONFIGURATION",
      "core configuration: a name that ufp4 info lists, parameters such as rows=8:cols=16:bus=32, "
      "or a FILE.toml of parameters (default: default; on a board its own)");
  cli_option_need(options, CLI_NEEDS_CONFIGURATION);
  cli_option_add(options, "mem-latency", CLI_UINT, &device->mem_latency, "CYCLES",
                 "simulated memory: cycles from address to first data (default 100)");
  cli_option_range(options, "a whole number from 1 to 100000");
  cli_option_add(options, "mem-bandwidth", CLI_UINT, &device->mem_bandwidth, "BYTES",
                 "simulated memory: bytes per cycle in each direction (default 0: the bus width)");
  cli_option_range(options, "a whole number from 0 to 4096");
  cli_option_add(
      options, "dram", CLI_TEXT, &device->dram, "NAME",
      "simulated memory: banks, rows and refresh of lpddr5 or hbm3, or with a number of channels "
      "hbm3:8, behind --mem-latency, at one cycle per nanosecond (default none)");
  cli_option_add(options, "stall", CLI_UINT, &device->stall_seed, "SEED",
                 "simulated memory: random back-pressure (default 0: none)");
  cli_option_add(options, "max-cycles", CLI_UINT, &device->max_cycles, "N",
                 "core: wait at most N cycles, on a board microseconds, for a completion (default "
                 "0: 10^11, behind fpga 15 minutes, behind mmio as long as the core runs)");
  cli_option_add(options, "trace", CLI_TEXT, &device->trace, "FILE.fst",
                 "backend rtl: write waveforms");
  cli_option_add(
      options, "timeline", CLI_TEXT, &device->timeline, "FILE.json",
      "backends rtl and tlm: write a timeline of the units' activities, for ui.perfetto.dev");
  cli_option_add(options, "threads", CLI_UINT, &device->threads, "N",
                 "threads of the model (default 0: all cores)");
  cli_option_range(options, "a whole number from 0 to 1024");
}

void cli_device_add_timing(cli_options_t *options, cli_device_t *device) {
  cli_option_add(options, "timing-only", CLI_FLAG, &device->timing_only, NULL,
                 "backend tlm: only cycles and counters, without data and -o");
}

bounds_memory_t cli_device_memory(const cli_device_t *device) {
  return (bounds_memory_t){.bytes = (unsigned)device->mem_bandwidth,
                           .latency = (unsigned)device->mem_latency};
}

void cli_device_demand(cli_device_t *device, uint64_t bytes) {
  static const uint64_t granule = 1u << 20;  // also holds the backend's own data
  uint64_t rounded = (bytes / granule + 2) * granule;
  if (rounded > device->options.memory_bytes) device->options.memory_bytes = rounded;
}

// Resolves --config, if it is given.
static int find_configuration(const cli_command_t *command, const cli_device_t *device,
                              ufp4_configuration_t *core) {
  ufp4_message_t why = {0};
  if (device->configuration == NULL) return CLI_GO_ON;
  if (cli_configuration(device->configuration, core, &why) == UFP4_OK) return CLI_GO_ON;
  return cli_fail(command, CLI_USAGE, "--config: %s", why.text);
}

int cli_dram(const cli_command_t *command, const char *name) {
  if (strcmp(name, "none") == 0 || ufp4_find_dram(name).channels != 0) return CLI_GO_ON;
  return cli_fail(command, CLI_USAGE,
                  "--dram: no memory is called '%s'; there are none, " UFP4_DRAM_WORDS, name);
}

static int check_limits(const cli_command_t *command, const cli_device_t *device) {
  if (device->mem_latency < CLI_MEM_LATENCY_LEAST || device->mem_latency > UFP4_MEM_LATENCY_MAX)
    return cli_fail(command, CLI_USAGE, "--mem-latency: '%llu' is not a whole number from %d to %u",
                    (unsigned long long)device->mem_latency, CLI_MEM_LATENCY_LEAST,
                    UFP4_MEM_LATENCY_MAX);
  if (device->mem_bandwidth > 4096)
    return cli_fail(command, CLI_USAGE,
                    "--mem-bandwidth: '%llu' is not a whole number from 0 to 4096",
                    (unsigned long long)device->mem_bandwidth);
  if (device->threads > 1024)
    return cli_fail(command, CLI_USAGE, "--threads: '%llu' is not a whole number from 0 to 1024",
                    (unsigned long long)device->threads);
  return device->dram != NULL ? cli_dram(command, device->dram) : CLI_GO_ON;
}

static int check_trace(const cli_command_t *command, const char *option, const char *path,
                       const char *ending, const char *const *files, int count) {
  const size_t length = path == NULL ? 0 : strlen(path), end = strlen(ending);
  if (path == NULL) return CLI_GO_ON;
  if (length > end && strcmp(path + length - end, ending) == 0) {
    return cli_output_file(command, path, CLI_ANY_FILE, files, count);
  }
  return cli_fail(command, CLI_USAGE, "--%s: '%s' does not end in %s", option, path, ending);
}

int cli_device_check_trace(const cli_command_t *command, const cli_device_t *device,
                           const char *const *files, int count) {
  int end = check_trace(command, "trace", device->trace, ".fst", files, count);
  if (end == CLI_GO_ON)
    end = check_trace(command, "timeline", device->timeline, ".json", files, count);
  return end;
}

void cli_program_mark(char mark[16]) {
  unsigned char block[65536];
  size_t size, whole = 0;
  uLong crc = crc32_z(0, NULL, 0);
  FILE *file = fopen("/proc/self/exe", "rb");
  while (file != NULL && (size = fread(block, 1, sizeof block, file)) > 0) {
    crc = crc32_z(crc, block, size);
    whole += size;
  }
  if (file != NULL) fclose(file);
  snprintf(mark, 16, whole != 0 ? "%08lx" : "unknown", crc);
}

static const char plain_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";

static size_t put_letter(char letter, char *text, size_t size, size_t length) {
  if (length + 1 < size) text[length] = letter;
  return length + 1;
}

// Inside single quotes only the quote itself is special; it is placed between two quoted parts.
size_t cli_quote(const char *word, char *text, size_t size) {
  const int plain = word[0] != '\0' && word[strspn(word, plain_letters)] == '\0';
  size_t length = plain ? 0 : put_letter('\'', text, size, 0);
  for (const char *c = word; *c != '\0'; c++) {
    for (const char *more = *c == '\'' ? "'\\'" : ""; *more != '\0'; more++)
      length = put_letter(*more, text, size, length);
    length = put_letter(*c, text, size, length);
  }
  if (!plain) length = put_letter('\'', text, size, length);
  if (size > 0) text[length < size ? length : size - 1] = '\0';
  return length;
}

void cli_join_words(int argc, char **argv, char *words, size_t size) {
  size_t length = (size_t)snprintf(words, size, "ufp4");
  for (int i = 0; i < argc && length + 1 < size; i++) {
    words[length++] = ' ';
    length += cli_quote(argv[i], words + length, size - length);
  }
}

int cli_printed(void) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return CLI_GO_ON;
  // The reason of an earlier failed write is lost.
  fprintf(stderr, "ufp4: standard output: %s\n",
          errno != 0 ? strerror(errno) : "it could not be written completely");
  return CLI_DEVICE;
}

int cli_json_print(const cli_command_t *command, json_t *json, int digits) {
  const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION((size_t)digits);
  char *text = json != NULL ? json_dumps(json, flags) : NULL;
  json_decref(json);
  if (text == NULL) return cli_fail_status(command, UFP4_ERROR_MEMORY, NULL);
  puts(text);
  free(text);
  return CLI_GO_ON;
}

// Returns whether the backend has a location and its own configuration.
static int is_board(const char *backend) {
  return strcspn(backend, ":") == 4 &&
         (strncmp(backend, "fpga", 4) == 0 || strncmp(backend, "mmio", 4) == 0);
}

static int is_core(const char *backend) {
  return strcmp(backend, "model") != 0 && strcmp(backend, "cuda") != 0;
}

static int is_simulated(const char *backend) {
  return is_core(backend) && !is_board(backend);
}

static int has_waveforms(const char *backend) {
  return strcmp(backend, "rtl") == 0;
}

static int has_timeline(const char *backend) {
  return has_waveforms(backend) || strcmp(backend, "tlm") == 0;
}

static int check_timing(const cli_command_t *command, const cli_device_t *device,
                        const char *check) {
  if (!device->timing_only) return CLI_GO_ON;
  if (strcmp(device->backend, "tlm") != 0) {
    return cli_fail(
        command, CLI_USAGE,
        "--timing-only needs the timed model, and backend %s is another one; use --backend tlm",
        device->backend);
  }
  if (check == NULL) return CLI_GO_ON;
  return cli_fail(command, CLI_USAGE,
                  "--timing-only leaves no data for --check to compare; leave one of them out");
}

// Refuses the options of a simulated core, and if there is no core at all, the options of a core.
static int check_simulated(const cli_command_t *command, const cli_options_t *options,
                           const cli_device_t *device, int has_core) {
  static const char *const simulated[] = {"config", "max-cycles", "mem-latency", "mem-bandwidth",
                                          "dram",   "stall",      "trace",       "timeline"};
  for (size_t i = has_core ? 2 : 0; i < sizeof simulated / sizeof simulated[0]; i++) {
    if (!cli_option_given(options, simulated[i]) || (i == 0 && device->any_configuration)) continue;
    return cli_fail(command, CLI_USAGE,
                    "--%s needs a simulated core, which backend %s is not; use --backend rtl",
                    simulated[i], device->backend);
  }
  return CLI_GO_ON;
}

// A simulated core on either backend writes the file.
static int check_written(const cli_command_t *command, const cli_device_t *device,
                         const char *check) {
  const char *backend = device->backend;
  if (device->trace != NULL && !has_waveforms(backend) && (check == NULL || !has_waveforms(check)))
    return cli_fail(command, CLI_USAGE,
                    "--trace writes the core's signals, and backend %s has none; use --backend rtl",
                    backend);
  if (device->timeline != NULL && !has_timeline(backend) && (check == NULL || !has_timeline(check)))
    return cli_fail(command, CLI_USAGE,
                    "--timeline needs backend rtl or tlm, not %s; use --backend tlm", backend);
  return CLI_GO_ON;
}

// A board's port can be opened only once, at any speed; two boards can be compared.
static int check_board(const cli_command_t *command, const cli_device_t *device,
                       const char *check) {
  if (check == NULL || !is_board(check) || !is_board(device->backend)) return CLI_GO_ON;
  const char *behind = strncmp(check, "fpga", 4) == 0 ? "@" : "";
  const size_t length = strcspn(device->backend, behind);
  if (length != strcspn(check, behind) || strncmp(check, device->backend, length) != 0)
    return CLI_GO_ON;
  return cli_fail(command, CLI_USAGE,
                  "--check %s is the same board that computes; use --check model", check);
}

int cli_device_check(const cli_command_t *command, const cli_options_t *options,
                     const cli_device_t *device, const char *check) {
  int end = CLI_GO_ON;
  if (!is_simulated(device->backend) && (check == NULL || !is_simulated(check)))
    end = check_simulated(command, options, device,
                          is_core(device->backend) || (check != NULL && is_core(check)));
  if (end == CLI_GO_ON) end = check_board(command, device, check);
  if (end == CLI_GO_ON) end = check_timing(command, device, check);
  return end == CLI_GO_ON ? check_written(command, device, check) : end;
}

json_t *cli_device_settings(const cli_device_t *device) {
  const char *dram = device->dram;
  ufp4_configuration_t core = {.name = "default"};
  if (device->configuration != NULL) (void)cli_configuration(device->configuration, &core, NULL);
  if (!is_core(device->backend)) return json_object();
  if (is_board(device->backend)) return json_pack("{s:s%}", "backend", device->backend, (size_t)4);
  return json_pack("{s:s, s:s, s:I, s:I, s:s, s:I}", "backend", device->backend, "config",
                   core.name, "mem_latency", (json_int_t)device->mem_latency, "mem_bandwidth",
                   (json_int_t)device->mem_bandwidth, "dram", dram != NULL ? dram : "none", "stall",
                   (json_int_t)device->stall_seed);
}

static void watch_trace(const char *path) {
  char *target = NULL, *beside = NULL;
  if (file_target(path, &target, NULL) == UFP4_OK) beside = file_beside(target);
  if (beside != NULL) cli_signals_trace(path, beside);
  free(target);
  free(beside);
}

// Shows a progress line on a terminal, which disappears when the transfer is done.
static void show_transfer(void *user, uint64_t done, uint64_t all) {
  static const uint64_t step = 1u << 16;
  (void)user;
  if (done == all) {
    fprintf(stderr, "\r\033[K");
  } else if (done % step < 1024) {
    fprintf(stderr, "\rboard: %llu of %llu KiB \033[K", (unsigned long long)done >> 10,
            (unsigned long long)all >> 10);
  }
}

int cli_device_open(const cli_command_t *command, const cli_device_t *device, const char *name,
                    ufp4_device_t **out) {
  *out = NULL;
  ufp4_configuration_t core = {.name = ""};
  int end = find_configuration(command, device, &core);
  if (end == CLI_GO_ON) end = check_limits(command, device);
  if (end == CLI_GO_ON) end = cli_device_check_trace(command, device, NULL, 0);
  if (end != CLI_GO_ON) return end;
  ufp4_message_t message = {0};
  ufp4_device_options_t options = device->options;
  if (device->configuration != NULL || is_board(name))
    options.configuration = device->configuration != NULL ? core.name : NULL;
  if (isatty(STDERR_FILENO)) options.progress = show_transfer;
  options.mem_latency = (unsigned)device->mem_latency;
  options.mem_bandwidth = (unsigned)device->mem_bandwidth;
  options.stall_seed = device->stall_seed;
  if (device->dram != NULL && strcmp(device->dram, "none") != 0) options.dram = device->dram;
  options.max_cycles = device->max_cycles;
  options.threads = (unsigned)device->threads;
  const int first = name == device->backend;
  static int told = 0;  // some commands open the other backend twice
  if (!first && !device->may_be_same && strcmp(name, device->backend) == 0 && told++ == 0)
    fprintf(stderr, "ufp4 %s: --check %s compares the backend with itself; name another\n",
            command->name, name);
  if (has_waveforms(name) && (first || !has_waveforms(device->backend)))
    options.trace_path = device->trace;
  if (has_timeline(name) && (first || !has_timeline(device->backend)))
    options.timeline_path = device->timeline;
  options.timing_only = device->timing_only;
  options.message = &message;
  if (options.trace_path != NULL) watch_trace(options.trace_path);
  ufp4_status_t status = ufp4_device_open(name, &options, out);
  return status == UFP4_OK ? CLI_GO_ON : cli_fail_status(command, status, message.text);
}

int cli_device_trace_end(const cli_command_t *command, ufp4_device_t *device) {
  const ufp4_status_t status = ufp4_device_trace_end(device);
  const char *message = ufp4_device_message(device);
  if (status != UFP4_OK) return cli_fail_status(command, status, message);
  if (message[0] != '\0') fprintf(stderr, "ufp4 %s: %s\n", command->name, message);
  return CLI_GO_ON;
}

int cli_device_close(const cli_command_t *command, ufp4_device_t *device) {
  if (device == NULL) return CLI_GO_ON;
  const int end = cli_device_trace_end(command, device);
  ufp4_device_close(device);
  return end;
}

int cli_kernel_check(void) {
  const char *name = getenv("UFP4_KERNEL");
  ufp4_kernel_t kernel;
  if (name == NULL || name[0] == '\0') return CLI_GO_ON;
  if (ufp4_kernel_named(name, &kernel) != UFP4_OK) {
    fprintf(stderr, "ufp4: UFP4_KERNEL: '%s' is not one of", name);
    for (int i = 0; i < UFP4_KERNEL_COUNT; i++) {
      fprintf(stderr, "%s %s", i == 0 ? "" : ",", ufp4_kernel_name((ufp4_kernel_t)i));
    }
    fprintf(stderr, "\n");
    return CLI_USAGE;
  }
  if (ufp4_kernel_available(kernel)) return CLI_GO_ON;
  fprintf(stderr, "ufp4: UFP4_KERNEL: this processor does not have %s\n", name);
  return CLI_DEVICE;
}

ufp4_kernel_t cli_kernel(void) {
  const char *name = getenv("UFP4_KERNEL");
  ufp4_kernel_t kernel = UFP4_KERNEL_FASTEST;
  return name != NULL && ufp4_kernel_named(name, &kernel) == UFP4_OK ? kernel : UFP4_KERNEL_FASTEST;
}

static int ends_in_json(const char *name) {
  const size_t length = strlen(name);
  return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

// Finds a built-in recipe or reads one from a file, without its suffix.
static int base_recipe(const cli_command_t *command, const char *name, ufp4_recipe_t *recipe) {
  if (ufp4_recipe_named(name, recipe) == UFP4_OK) return CLI_GO_ON;
  if (!ends_in_json(name)) {
    return cli_fail(command, CLI_USAGE,
                    "--recipe: '%s' is not one of " UFP4_RECIPE_NAMES
                    ", FILE.json, or one of them with a suffix, as in ufp4/rht=dgrad+wgrad",
                    name);
  }
  ufp4_message_t message = {0};
  ufp4_status_t status = ufp4_recipe_read(name, recipe, &message);
  return status == UFP4_OK ? CLI_GO_ON : cli_fail_status(command, status, message.text);
}

int cli_recipe(const cli_command_t *command, const char *name, ufp4_recipe_t *recipe) {
  const char *suffix = ends_in_json(name) ? "" : ufp4_recipe_suffix(name);
  char *base = strndup(name, strlen(name) - strlen(suffix));
  if (base == NULL) return cli_fail_status(command, UFP4_ERROR_MEMORY, NULL);
  int end = base_recipe(command, base, recipe);
  free(base);
  if (end != CLI_GO_ON) return end;
  ufp4_message_t message = {0};
  ufp4_status_t status = ufp4_recipe_vary(recipe, suffix, &message);
  return status == UFP4_OK ? CLI_GO_ON : cli_fail(command, CLI_USAGE, "--recipe %s", message.text);
}

void cli_recipe_details(FILE *out) {
  fputs("Recipes: " UFP4_RECIPE_NAMES
        ", or one of your own in FILE.json.\n"
        "Each may have a suffix that selects the GEMMs with transform and stochastic rounding:\n"
        "ufp4/rht=dgrad+wgrad, ufp4/sr=wgrad, ufp4/rht=none/sr=none.\n",
        out);
}

int cli_recipe_of_one(const cli_command_t *command, const char *name, ufp4_recipe_t *recipe) {
  int end = cli_recipe(command, name, recipe);
  if (end != CLI_GO_ON) return end;
  const char *key = ufp4_recipe_model_key(recipe);
  if (key == NULL) return CLI_GO_ON;
  return cli_fail(command, CLI_USAGE, "--recipe %s: %s applies to a whole model; use ufp4 train",
                  recipe->name, key);
}

int cli_recipe_check(const cli_command_t *command, ufp4_device_t *device,
                     const ufp4_recipe_t *recipe, int tells) {
  ufp4_recipe_t quantized = *recipe;  // the recipe of layers that are not in BF16
  quantized.bf16_layers = (ufp4_bf16_layers_t){.matrices = 0};
  const ufp4_linear_shape_t smallest = {
      .tokens = 64, .cin = 64, .cout = 64, .passes = UFP4_PASSES_ALL};
  ufp4_linear_t *linear = NULL;
  ufp4_status_t status = ufp4_linear_create(device, &smallest, &quantized, &linear);
  if (tells && ufp4_linear_quantizes_on_host(linear)) {
    ufp4_device_info_t info;
    ufp4_message_t why = {0};
    ufp4_device_info(device, &info);
    (void)ufp4_recipe_on_core(&quantized, smallest.passes, &info.configuration, &why);
    fprintf(stderr, "ufp4 %s: recipe %s: the host quantizes for %s: %s\n", command->name,
            recipe->name, info.backend, why.text);
  }
  ufp4_linear_free(linear);
  return status == UFP4_OK ? CLI_GO_ON
                           : cli_fail_status(command, status, ufp4_device_message(device));
}

int cli_tensor_read(const cli_command_t *command, const char *path, int uint16_is_bf16,
                    ufp4_tensor_t *out) {
  ufp4_message_t message = {0};
  ufp4_status_t status = ufp4_file_read(path, uint16_is_bf16, out, &message);
  if (status != UFP4_OK) return cli_fail_status(command, status, message.text);
  if (out->view.dtype == UFP4_DTYPE_F32 || out->view.dtype == UFP4_DTYPE_BF16) return CLI_GO_ON;
  ufp4_tensor_free(out);
  return cli_fail(command, CLI_USAGE,
                  "%s: its elements are int64; float32, float64, float16 or bfloat16 is needed",
                  path);
}

int cli_operand_read(const cli_command_t *command, const char *path, ufp4_operand_t *out,
                     ufp4_quantize_t *how) {
  ufp4_message_t message = {0};
  ufp4_status_t status = ufp4_operand_read(path, out, how, &message);
  if (status != UFP4_OK) return cli_fail_status(command, status, message.text);
  if (message.text[0] != '\0') fprintf(stderr, "ufp4 %s: %s\n", command->name, message.text);
  return CLI_GO_ON;
}

void cli_operand_details(FILE *out) {
  fputs(
      "A quantized tensor is a file written by quantize, or an NVFP4 or MXFP4 layer of a "
      "checkpoint of\n"
      "compressed-tensors, ModelOpt, torchao or gpt-oss: DIR:LAYER or FILE.safetensors:LAYER, and "
      "of experts\n"
      "DIR:LAYER:NUMBER.\n",
      out);
}

void cli_nan_print(const cli_command_t *command, const char *tensor, int in_bf16) {
  fprintf(
      stderr,
      "ufp4 %s: %s holds NaN, Inf or numbers beyond FP32%s; the scales of those blocks are NaN\n",
      command->name, tensor, in_bf16 ? ", or its transform numbers beyond BF16" : "");
}

int cli_tensor_sides(const cli_command_t *command, const char *path, const ufp4_tensor_t *tensor) {
  const int64_t rows = tensor->view.rows, cols = tensor->view.cols;
  if (rows <= UFP4_MAX_DIM && cols <= UFP4_MAX_DIM) return CLI_GO_ON;
  return cli_fail(command, CLI_USAGE, "%s: it has %lld %s; at most %d are possible", path,
                  (long long)(rows > UFP4_MAX_DIM ? rows : cols),
                  rows > UFP4_MAX_DIM ? "rows" : "columns", UFP4_MAX_DIM);
}
