// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <jansson.h>
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

static json_t *configuration_json(const ufp4_configuration_t *c) {
  return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "name", c->name, "rows", (json_int_t)c->rows, "cols",
                   (json_int_t)c->cols, "tile_rows", (json_int_t)c->tile_rows, "tile_cols", (json_int_t)c->tile_cols,
                   "chunk", (json_int_t)c->chunk, "bus_bytes", (json_int_t)c->bus_bytes, "macs_per_cycle",
                   (json_int_t)(16 * c->rows * c->cols));
}

// Opens each backend to see whether it is there.
static json_t *backends_json(const cli_device_t *device) {
  static const char *const names[] = {"model", "rtl", "cuda"};
  json_t *all = json_array();
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    ufp4_message_t message = {0};
    ufp4_device_options_t options = device->options;
    options.message = &message;
    ufp4_device_t *opened;
    ufp4_status_t status = ufp4_device_open(names[i], &options, &opened);
    ufp4_device_close(opened);
    const char *why = status == UFP4_OK ? "" : message.text[0] != '\0' ? message.text : ufp4_status_string(status);
    json_array_append_new(all,
                          json_pack("{s:s, s:b, s:s}", "name", names[i], "available", status == UFP4_OK, "why", why));
  }
  return all;
}

static json_t *cpu_json(void) {
  json_t *features = json_array();
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) json_array_append_new(features, json_string("avx2"));
  if (__builtin_cpu_supports("avx512f")) json_array_append_new(features, json_string("avx512f"));
  if (__builtin_cpu_supports("avx512bw")) json_array_append_new(features, json_string("avx512bw"));
  if (__builtin_cpu_supports("avx512vnni")) json_array_append_new(features, json_string("avx512vnni"));
#endif
  return json_pack("{s:I, s:o}", "cores", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "features", features);
}

static json_t *device_json(const ufp4_device_info_t *info) {
  char version[32];
  snprintf(version, sizeof version, "%u.%u.%u", info->version >> 16, info->version >> 8 & 255, info->version & 255);
  return json_pack("{s:s, s:s, s:s, s:I, s:b, s:o}", "backend", info->backend, "hardware", info->hardware, "version", version, "memory_bytes",
                   (json_int_t)info->memory_bytes, "cycles", info->has_cycles, "configuration",
                   configuration_json(&info->configuration));
}

// --- Text ------------------------------------------------------------------------------------------------

static json_int_t number(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

static void print_configuration(const json_t *c) {
  printf("%-8s %lldx%lld PEs, %lld MACs a cycle, macro-tile %lldx%lld, chunk of %lld blocks, bus of %lld bytes\n",
         text(c, "name"), number(c, "rows"), number(c, "cols"), number(c, "macs_per_cycle"),
         number(c, "rows") * number(c, "tile_rows"), number(c, "cols") * number(c, "tile_cols"), number(c, "chunk"),
         number(c, "bus_bytes"));
}

static void print_machine(const json_t *all) {
  size_t index;
  json_t *item;
  json_array_foreach(json_object_get(all, "configurations"), index, item) {
    printf("configuration ");
    print_configuration(item);
  }
  json_array_foreach(json_object_get(all, "backends"), index, item) {
    int there = json_is_true(json_object_get(item, "available"));
    printf("backend %s: %s%s\n", text(item, "name"), there ? "available" : "not available: ", text(item, "why"));
  }
  const json_t *cpu = json_object_get(all, "cpu");
  printf("cpu: %lld cores", number(cpu, "cores"));
  json_array_foreach(json_object_get(cpu, "features"), index, item) printf(", %s", json_string_value(item));
  printf("\n");
}

static void print_device(const json_t *device) {
  if (text(device, "hardware")[0] != '\0') printf("hardware: %s\n", text(device, "hardware"));
  printf("backend %s, core version %s, %lld bytes of memory, cycles %s\nconfiguration ", text(device, "backend"),
         text(device, "version"), number(device, "memory_bytes"),
         json_is_true(json_object_get(device, "cycles")) ? "counted" : "not counted");
  print_configuration(json_object_get(device, "configuration"));
}

static void print_all(json_t *all, int json) {
  if (json) {
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
  } else if (json_object_get(all, "device") != NULL) {
    print_device(json_object_get(all, "device"));
  } else {
    print_machine(all);
  }
  json_decref(all);
}

static json_t *machine_json(const cli_device_t *device) {
  json_t *list = json_array();
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++)
    json_array_append_new(list, configuration_json(&configurations[i]));
  return json_pack("{s:o, s:o, s:o}", "configurations", list, "backends", backends_json(device), "cpu", cpu_json());
}

static int run(int argc, char **argv) {
  cli_device_t device;
  cli_options_t options = {0};
  int json = 0;
  cli_device_init(&device);
  device.backend = NULL;  // not given: about this machine
  cli_device_add(&options, &device);
  cli_option_add(&options, "json", CLI_FLAG, &json, NULL, "as JSON");
  int end = cli_parse(&cli_info, &options, argc, argv, 0, 0, NULL, NULL);
  if (end != CLI_GO_ON) return end;
  if (device.backend == NULL) {
    print_all(machine_json(&device), json);
    return CLI_OK;
  }
  ufp4_device_t *opened;
  ufp4_device_info_t info;
  end = cli_device_open(&cli_info, &device, device.backend, &opened);
  if (end != CLI_GO_ON) return end;
  ufp4_device_info(opened, &info);
  print_all(json_pack("{s:o}", "device", device_json(&info)), json);
  ufp4_device_close(opened);
  return CLI_OK;
}
