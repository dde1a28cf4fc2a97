// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static int run(int argc, char **argv);
const cli_command_t cli_info = {
    .name = "info",
    .arguments = "[options]",
    .summary = "Lists configurations, backends and what this machine can run; with --backend what the device reports.",
    .example = "ufp4 info --backend model",
    .run = run,
};

static const ufp4_configuration_t configurations[UFP4_CONFIGURATION_COUNT] = UFP4_CONFIGURATIONS;
static const char *const contracts[UFP4_CONTRACT_COUNT] = UFP4_CONTRACT_NAMES;
static const char *const formats[UFP4_FORMATS_COUNT] = UFP4_FORMATS_NAMES;

// --- This machine --------------------------------------------------------------------------------------

enum { BACKENDS = 3, MAX_FEATURES = 4 };

typedef struct {
  const char *name;
  int available;
  ufp4_message_t why;  ///< it is not
} backend_t;

typedef struct {
  backend_t backends[BACKENDS];
  int64_t cores;
  const char *features[MAX_FEATURES];
  int feature_count;
} machine_t;

// Opens each backend to see whether it is there.
static void try_backends(machine_t *machine, const cli_device_t *device) {
  static const char *const names[BACKENDS] = {"model", "rtl", "cuda"};
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
  machine->cores = (int64_t)sysconf(_SC_NPROCESSORS_ONLN);
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) machine->features[machine->feature_count++] = "avx2";
  if (__builtin_cpu_supports("avx512f")) machine->features[machine->feature_count++] = "avx512f";
  if (__builtin_cpu_supports("avx512bw")) machine->features[machine->feature_count++] = "avx512bw";
  if (__builtin_cpu_supports("avx512vnni")) machine->features[machine->feature_count++] = "avx512vnni";
#endif
}

// --- JSON ----------------------------------------------------------------------------------------------

static void add_configuration(json_out_t *json, const char *key, const ufp4_configuration_t *c) {
  json_put_object(json, key);
  json_put_text(json, "name", c->name);
  json_put_integer(json, "rows", c->rows);
  json_put_integer(json, "cols", c->cols);
  json_put_integer(json, "tile_rows", c->tile_rows);
  json_put_integer(json, "tile_cols", c->tile_cols);
  json_put_integer(json, "chunk", c->chunk);
  json_put_integer(json, "bus_bytes", c->bus_bytes);
  json_put_integer(json, "macs_per_cycle", (int64_t)c->lanes * c->rows * c->cols);
  json_put_integer(json, "lanes", c->lanes);
  json_put_integer(json, "quant", c->quant);
  json_put_text(json, "contract", contracts[c->contract]);
  json_put_text(json, "formats", formats[c->formats]);
  json_end_object(json);
}

static void add_machine(json_out_t *json, const machine_t *machine) {
  json_put_list(json, "configurations");
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++) add_configuration(json, NULL, &configurations[i]);
  json_end_list(json);
  json_put_list(json, "backends");
  for (int i = 0; i < BACKENDS; i++) {
    json_put_object(json, NULL);
    json_put_text(json, "name", machine->backends[i].name);
    json_put_flag(json, "available", machine->backends[i].available);
    json_put_text(json, "why", machine->backends[i].why.text);
    json_end_object(json);
  }
  json_end_list(json);
  json_put_object(json, "cpu");
  json_put_integer(json, "cores", machine->cores);
  json_put_list(json, "features");
  for (int i = 0; i < machine->feature_count; i++) json_put_text(json, NULL, machine->features[i]);
  json_end_list(json);
  json_end_object(json);
}

static void write_version(const ufp4_device_info_t *info, char text[32]) {
  snprintf(text, 32, "%u.%u.%u", info->version >> 16, info->version >> 8 & 255, info->version & 255);
}

static void add_device(json_out_t *json, const ufp4_device_info_t *info) {
  char version[32];
  write_version(info, version);
  json_put_object(json, "device");
  json_put_text(json, "backend", info->backend);
  json_put_text(json, "hardware", info->hardware);
  json_put_text(json, "version", version);
  json_put_integer(json, "memory_bytes", (int64_t)info->memory_bytes);
  json_put_flag(json, "cycles", info->has_cycles);
  add_configuration(json, "configuration", &info->configuration);
  json_end_object(json);
}

static int print_json(const machine_t *machine, const ufp4_device_info_t *info) {
  json_out_t json;
  json_begin(&json, 9);
  json_put_object(&json, NULL);
  if (info != NULL) {
    add_device(&json, info);
  } else {
    add_machine(&json, machine);
  }
  json_end_object(&json);
  return cli_json_print(&cli_info, &json);
}

// --- Text ------------------------------------------------------------------------------------------------

static void print_configuration(const ufp4_configuration_t *c) {
  printf("configuration %-13s %ux%u PEs, %u MACs a cycle, macro-tile %ux%u, chunk of %u blocks, bus of %u bytes, "
         "formats %s, %s sums%s\n",
         c->name, c->rows, c->cols, c->lanes * c->rows * c->cols, c->rows * c->tile_rows, c->cols * c->tile_cols,
         c->chunk, c->bus_bytes, formats[c->formats], contracts[c->contract], c->quant ? "" : ", no QUANT engine");
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

// --- The command -----------------------------------------------------------------------------------------

static int show_machine(const cli_device_t *device, int json) {
  machine_t machine = {0};
  try_backends(&machine, device);
  find_features(&machine);
  if (json) return print_json(&machine, NULL);
  print_machine(&machine);
  return CLI_GO_ON;
}

static int show_device(const cli_device_t *device, int json) {
  ufp4_device_t *opened;
  ufp4_device_info_t info;
  int end = cli_device_open(&cli_info, device, device->backend, &opened);
  if (end != CLI_GO_ON) return end;
  ufp4_device_info(opened, &info);
  if (json) {
    end = print_json(NULL, &info);
  } else {
    print_device(&info);
  }
  int closed = cli_device_close(&cli_info, opened);
  return closed == CLI_GO_ON ? end : closed;
}

// Of a device that is not opened nothing can be set.
static int check(const cli_options_t *options, const cli_device_t *device) {
  for (int i = 0; device->backend == NULL && i < options->count; i++) {
    const cli_option_t *option = &options->items[i];
    if (!option->given || strcmp(option->name, "json") == 0) continue;
    return cli_fail(&cli_info, CLI_USAGE, "--%s goes with --backend", option->name);
  }
  return device->backend == NULL ? CLI_GO_ON : cli_device_check(&cli_info, options, device, NULL);
}

static int run(int argc, char **argv) {
  cli_device_t device;
  cli_options_t options = {0};
  int json = 0;
  cli_device_init(&device);
  device.backend = NULL;  // not given: about this machine
  device.any_configuration = 1;
  cli_device_add(&options, &device);
  cli_option_add(&options, "json", CLI_FLAG, &json, NULL, "as JSON");
  int end = cli_parse(&cli_info, &options, argc, argv, 0, 0, NULL, NULL);
  if (end == CLI_GO_ON) end = check(&options, &device);
  if (end == CLI_GO_ON) end = device.backend == NULL ? show_machine(&device, json) : show_device(&device, json);
  return end == CLI_GO_ON ? CLI_OK : end;
}
