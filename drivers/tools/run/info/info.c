// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "base/threads.h"
#include "frame/cli.h"
#include "selftest.h"

static int run(int argc, char **argv);
const cli_command_t cli_info = {
    .name = "info",
    .arguments = "[options]",
    .summary =
        "Lists configurations, backends and what this machine can run; --backend describes a "
        "device, and --selftest tests it.",
    .example = "ufp4 info --backend model",
    .run = run,
};

static const ufp4_configuration_t configurations[UFP4_CONFIGURATION_COUNT] = UFP4_CONFIGURATIONS;

// --- This machine -------------------------------------------------------------------------------

// Size of a memory that is made for the test.
#define SELFTEST_BYTES (16u << 20)
enum { BACKENDS = 8, MAX_FEATURES = 4 };

typedef struct {
  const char *name;
  int available;
  ufp4_message_t why;  ///< why it is not available
} backend_t;

typedef struct {
  backend_t backends[BACKENDS];
  int64_t cores;
  const char *features[MAX_FEATURES];
  int feature_count;
} machine_t;

// Opens each backend to see whether it is available.
static void try_backends(machine_t *machine, const cli_device_t *device) {
  static const char *const names[BACKENDS] = {"model",         "rtl",  "tlm",  "systemc",
                                              "systemc:timed", "cuda", "fpga", "mmio"};
  for (int i = 0; i < BACKENDS; i++) {
    backend_t *backend = &machine->backends[i];
    backend->name = names[i];
    ufp4_device_options_t options = device->options;
    options.message = &backend->why;
    ufp4_device_t *opened;
    ufp4_status_t status = ufp4_device_open(names[i], &options, &opened);
    ufp4_device_close(opened);
    backend->available = status == UFP4_OK;
    if (status != UFP4_OK && backend->why.text[0] == '\0') {
      snprintf(backend->why.text, sizeof backend->why.text, "%s", ufp4_status_string(status));
    }
  }
}

static void find_features(machine_t *machine) {
  machine->cores = threads_asked(0);
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) machine->features[machine->feature_count++] = "avx2";
  if (__builtin_cpu_supports("avx512f")) machine->features[machine->feature_count++] = "avx512f";
  if (__builtin_cpu_supports("avx512bw")) machine->features[machine->feature_count++] = "avx512bw";
  if (__builtin_cpu_supports("avx512vnni"))
    machine->features[machine->feature_count++] = "avx512vnni";
#endif
}

// --- JSON ---------------------------------------------------------------------------------------

static json_t *configuration_object(const ufp4_configuration_t *c) {
  return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:s}", "name",
                   c->name, "rows", c->rows, "cols", c->cols, "tile_rows", c->tile_rows,
                   "tile_cols", c->tile_cols, "chunk", c->chunk, "bus_bytes", c->bus_bytes,
                   "macs_per_cycle", c->lanes * c->rows * c->cols, "lanes", c->lanes, "quant",
                   c->quant, "mixed", c->mixed, "contract", contract_names[c->contract], "formats",
                   formats_names[c->formats]);
}

static json_t *machine_object(const machine_t *machine) {
  json_t *cores = json_array(), *backends = json_array(), *features = json_array();
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++) {
    json_array_append_new(cores, configuration_object(&configurations[i]));
  }
  for (int i = 0; i < BACKENDS; i++) {
    const backend_t *b = &machine->backends[i];
    json_array_append_new(backends, json_pack("{s:s, s:b, s:o}", "name", b->name, "available",
                                              b->available, "why", json_text(b->why.text)));
  }
  for (int i = 0; i < machine->feature_count; i++)
    json_array_append_new(features, json_string(machine->features[i]));
  return json_pack("{s:o, s:o, s:{s:I, s:o}}", "configurations", cores, "backends", backends, "cpu",
                   "cores", (json_int_t)machine->cores, "features", features);
}

static void write_version(const ufp4_device_info_t *info, char text[32]) {
  snprintf(text, 32, "%u.%u.%u", info->version >> 16, info->version >> 8 & 255,
           info->version & 255);
}

static json_t *device_object(const ufp4_device_info_t *info) {
  char version[32];
  write_version(info, version);
  return json_pack("{s:{s:s, s:o, s:s, s:I, s:b, s:o}}", "device", "backend", info->backend,
                   "hardware", json_text(info->hardware), "version", version, "memory_bytes",
                   (json_int_t)info->memory_bytes, "cycles", info->has_cycles, "configuration",
                   configuration_object(&info->configuration));
}

// --- Text ---------------------------------------------------------------------------------------

static void print_configuration(const ufp4_configuration_t *c) {
  printf(
      "configuration %-13s %ux%u PEs, %u MACs a cycle, macro-tile %ux%u, chunk of %u blocks, bus "
      "of %u bytes, "
      "formats %s, %s sums%s%s\n",
      c->name, c->rows, c->cols, c->lanes * c->rows * c->cols, c->rows * c->tile_rows,
      c->cols * c->tile_cols, c->chunk, c->bus_bytes, formats_names[c->formats],
      contract_names[c->contract], c->quant ? "" : ", no QUANT engine",
      c->mixed ? ", QUANT makes elements mixed, too" : "");
}

static void print_machine(const machine_t *machine) {
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++) print_configuration(&configurations[i]);
  for (int i = 0; i < BACKENDS; i++) {
    const backend_t *backend = &machine->backends[i];
    printf("backend %s: %s%s\n", backend->name,
           backend->available ? "available" : "not available: ", backend->why.text);
  }
  printf("cpu: %" PRId64 " cores", machine->cores);
  for (int i = 0; i < machine->feature_count; i++) printf(", %s", machine->features[i]);
  printf("\n");
}

static void print_device(const ufp4_device_info_t *info) {
  char version[32];
  write_version(info, version);
  if (info->hardware[0] != '\0') printf("hardware: %s\n", info->hardware);
  printf("backend %s, core version %s, %llu bytes of memory, cycles %s\n", info->backend, version,
         (unsigned long long)info->memory_bytes, info->has_cycles ? "counted" : "not counted");
  print_configuration(&info->configuration);
}

// --- The command --------------------------------------------------------------------------------

static int show_machine(const cli_device_t *device, int json) {
  machine_t machine = {0};
  try_backends(&machine, device);
  find_features(&machine);
  if (json) return cli_json_print(&cli_info, machine_object(&machine), 9);
  print_machine(&machine);
  return CLI_GO_ON;
}

static int show_device(const cli_device_t *device, int selftest, int json) {
  ufp4_device_t *opened;
  ufp4_device_info_t info;
  int end = cli_device_open(&cli_info, device, device->backend, &opened);
  if (end != CLI_GO_ON) return end;
  ufp4_device_info(opened, &info);
  json_t *object = json ? device_object(&info) : NULL;
  if (!json) print_device(&info);
  if (selftest) end = selftest_run(&cli_info, opened, object);
  const int verdict = end;
  if (json && (end == CLI_GO_ON || end == CLI_MISMATCH)) {
    end = cli_json_print(&cli_info, object, 9);
  } else {
    json_decref(object);
  }
  int closed = cli_device_close(&cli_info, opened);
  return closed != CLI_GO_ON ? closed : end == CLI_GO_ON ? verdict : end;
}

// Device options are illegal if no device is opened, and files of a run if nothing runs.
static int check(const cli_options_t *options, const cli_device_t *device, int selftest) {
  for (int i = 0; device->backend == NULL && i < options->count; i++) {
    const cli_option_t *option = &options->items[i];
    if (!option->given || strcmp(option->name, "json") == 0) continue;
    return cli_fail(&cli_info, CLI_USAGE, "--%s needs --backend", option->name);
  }
  if (device->backend == NULL) return CLI_GO_ON;
  const int end = cli_device_check(&cli_info, options, device, NULL);
  if (end != CLI_GO_ON || selftest || (device->trace == NULL && device->timeline == NULL))
    return end;
  return cli_fail(&cli_info, CLI_USAGE, "--%s needs --selftest",
                  device->trace != NULL ? "trace" : "timeline");
}

static int run(int argc, char **argv) {
  cli_device_t device;
  cli_options_t options = {0};
  int json = 0, selftest = 0;
  cli_device_init(&device);
  device.backend = NULL;  // not given: describe this machine
  device.any_configuration = 1;
  cli_device_add(&options, &device);
  cli_option_add(&options, "selftest", CLI_FLAG, &selftest, NULL,
                 "test the device's memory and a layer on it; status 1 if it fails");
  cli_option_add(&options, "json", CLI_FLAG, &json, NULL, "as JSON");
  int end = cli_parse(&cli_info, &options, argc, argv, 0, 0, NULL, NULL);
  if (end == CLI_GO_ON) end = check(&options, &device, selftest);
  if (selftest) device.options.memory_bytes = SELFTEST_BYTES;
  if (end == CLI_GO_ON)
    end =
        device.backend == NULL ? show_machine(&device, json) : show_device(&device, selftest, json);
  return end == CLI_GO_ON ? CLI_OK : end;
}
