// SPDX-License-Identifier: Apache-2.0
// Tests the opening of devices, and what they report.
#include <string.h>

#include "stand.h"

TEST(reports_its_configuration) {
  static const ufp4_configuration_t known[UFP4_CONFIGURATION_COUNT] = UFP4_CONFIGURATIONS;
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++) {
    ufp4_device_options_t options = stand_options();
    ufp4_device_t *device;
    ufp4_device_info_t info;
    options.configuration = known[i].name;
    ufp4_status_t status = ufp4_device_open(stand_backend(), &options, &device);
    if (status == UFP4_ERROR_UNSUPPORTED && stand_is_core() && !stand_is_timed())
      continue;  // simulated on demand
    check_bits(i, status, UFP4_OK, "open %s", known[i].name);
    check_bits(i, ufp4_device_info(device, &info), UFP4_OK, "info");
    check_that(i, strcmp(info.configuration.name, known[i].name) == 0, "name %s",
               info.configuration.name);
    check_that(i, strcmp(info.backend, stand_backend()) == 0, "backend %s", info.backend);
    check_bits(i, info.configuration.rows, known[i].rows, "rows");
    check_bits(i, info.configuration.bus_bytes, known[i].bus_bytes, "bus");
    const int cuda = strcmp(stand_backend(), "cuda") == 0;  // its descriptors are exact
    check_bits(i, info.configuration.contract, cuda ? UFP4_CONTRACT_EXACT : known[i].contract,
               "contract");
    check_bits(i, info.version,
               UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH, "version");
    check_bits(i, info.memory_bytes, options.memory_bytes, "memory");
    check_bits(i, (uint64_t)info.has_cycles, (uint64_t)stand_is_core(), "has_cycles");
    ufp4_device_close(device);
  }
}

TEST(counters_add_up) {
  ufp4_device_t *device = stand_device();
  ufp4_device_info_t info;
  uint64_t counters[UFP4_COUNTER_COUNT], sum = 0;
  ufp4_device_info(device, &info);
  stand_jobs_t jobs = stand_jobs(device);
  stand_check_serving(0, device, &jobs);
  check_bits(0, ufp4_device_counters(device, counters), UFP4_OK, "counters");
  for (int i = UFP4_COUNTER_ARRAY_BUSY; i <= UFP4_COUNTER_IDLE; i++) sum += counters[i];
  check_bits(0, counters[UFP4_COUNTER_CYCLES], sum, "the sum of the parts");
  check_bits(0, counters[UFP4_COUNTER_JOBS], info.has_cycles ? 3 : 0, "jobs");
  ufp4_device_close(device);
}

TEST(close_takes_null) {
  ufp4_device_close(NULL);
  check_that(0, ufp4_device_message(NULL)[0] == '\0', "the message of no device");
}

static void check_refused(int64_t index, const char *backend, const ufp4_device_options_t *options,
                          ufp4_status_t want, const char *words) {
  ufp4_message_t message = {0};
  ufp4_device_options_t told = *options;
  ufp4_device_t *device = (ufp4_device_t *)&message;
  told.message = &message;
  check_bits(index, ufp4_device_open(backend, &told, &device), want, "status of %s (%s)", backend,
             message.text);
  check_that(index, device == NULL, "a device was made");
  check_that(index, strstr(message.text, words) != NULL, "message '%s' does not say '%s'",
             message.text, words);
}

TEST(rejects_unknown_backends) {
  static const char *const names[] = {"", "Model", "modell", "gpu", "rtl2", "systemc:fast"};
  ufp4_device_options_t options = stand_options();
  for (int i = 0; i < 6; i++)
    check_refused(i, names[i], &options, UFP4_ERROR_ARGUMENT, "no backend is called");
}

TEST(rejects_unknown_kernels) {
  ufp4_device_options_t options = stand_options();
  options.kernel = UFP4_KERNEL_COUNT;
  check_refused(0, stand_backend(), &options, UFP4_ERROR_ARGUMENT,
                "kernel is 4; it must be from 0");
}

TEST(rejects_unknown_configurations) {
  ufp4_device_options_t options = stand_options();
  options.configuration = "huge";
  check_refused(0, stand_backend(), &options, UFP4_ERROR_ARGUMENT, "huge");
  options.configuration = NULL;
  check_refused(1, stand_backend(), &options, UFP4_ERROR_ARGUMENT, "configuration");
}

TEST(rejects_memory_of_odd_sizes) {
  static const uint64_t sizes[] = {0,        1,          4096,       12288,
                                   16777217, UINT64_MAX, 1ull << 40, UINT64_MAX - 4095};
  for (int i = 0; i < 8; i++) {
    ufp4_device_options_t options = stand_options();
    options.memory_bytes = sizes[i];
    check_refused(i, stand_backend(), &options, UFP4_ERROR_ARGUMENT, "device memory");
  }
}

SLOW_TEST(rejects_latencies_that_the_watchdog_would_end) {
  ufp4_device_options_t options = stand_options();
  options.mem_latency = UFP4_MEM_LATENCY_MAX + 1;
  ufp4_device_t *device = NULL;
  if (stand_is_core()) check_refused(0, stand_backend(), &options, UFP4_ERROR_ARGUMENT, "latency");
  options.mem_latency = UFP4_MEM_LATENCY_MAX;
  check_bits(1, ufp4_device_open(stand_backend(), &options, &device), UFP4_OK, "open");
  const ufp4_descriptor_t fence = {.header = {.opcode = UFP4_OPCODE_FENCE}};
  check_bits(1, stand_run(device, &fence, NULL), UFP4_OK, "fence");
  ufp4_device_close(device);
}

TEST(rejects_unknown_drams) {
  ufp4_device_options_t options = stand_options();
  ufp4_device_t *device = NULL;
  options.dram = "ddr9";
  if (stand_is_core()) {
    check_refused(0, stand_backend(), &options, UFP4_ERROR_ARGUMENT,
                  "no memory is called 'ddr9'; there are lpddr5 and hbm3, or "
                  "as hbm3:8 with 1 to 1024 channels");
  } else {
    check_bits(0, ufp4_device_open(stand_backend(), &options, &device), UFP4_OK, "open");
    ufp4_device_close(device);
  }
}

TEST(rejects_cycles_that_are_too_long) {
  ufp4_device_options_t options = stand_options();
  ufp4_device_t *device = NULL;
  options.cycle_fs = UFP4_CYCLE_FS_MAX + 1ull;
  const int nanosecond = strncmp(stand_backend(), "systemc", 7) == 0;
  const char *words =
      nanosecond ? "does not support cycles other than a nanosecond" : "cycle_fs is 100000001";
  if (stand_is_core()) {
    check_refused(0, stand_backend(), &options, UFP4_ERROR_ARGUMENT, words);
  } else {
    check_bits(0, ufp4_device_open(stand_backend(), &options, &device), UFP4_OK, "open");
    ufp4_device_close(device);
  }
}

/** Only the timed model counts accesses; the counts of a new core are zero. */
TEST(counts_accesses_or_says_who_does) {
  ufp4_device_options_t options = stand_options();
  uint64_t reads[UFP4_SRAM_COUNT], writes[UFP4_SRAM_COUNT], sum = 0;
  ufp4_device_t *device = NULL;
  check_bits(0, ufp4_device_open(stand_backend(), &options, &device), UFP4_OK, "open");
  const int counts = strcmp(stand_backend(), "tlm") == 0;
  check_bits(1, ufp4_device_accesses(device, reads, writes),
             counts ? UFP4_OK : UFP4_ERROR_UNSUPPORTED, "accesses");
  for (int i = 0; i < UFP4_SRAM_COUNT && counts; i++) sum += reads[i] + writes[i];
  check_bits(2, sum, 0, "accesses of a new core");
  if (!counts)
    check_that(3, strstr(ufp4_device_message(device), "only backend tlm counts accesses") != NULL,
               "message");
  check_bits(4, ufp4_device_accesses(device, NULL, writes), UFP4_ERROR_ARGUMENT, "nowhere");
  ufp4_device_close(device);
}

TEST(rejects_missing_arguments) {
  ufp4_device_options_t options = stand_options();
  ufp4_device_t *device;
  ufp4_device_info_t info;
  uint64_t counters[UFP4_COUNTER_COUNT];
  check_bits(0, ufp4_device_open(NULL, &options, &device), UFP4_ERROR_ARGUMENT, "no backend");
  check_bits(1, ufp4_device_open("model", NULL, &device), UFP4_ERROR_ARGUMENT, "no options");
  check_bits(2, ufp4_device_open("model", &options, NULL), UFP4_ERROR_ARGUMENT,
             "nowhere to put it");
  check_bits(3, ufp4_device_info(NULL, &info), UFP4_ERROR_ARGUMENT, "no device");
  check_bits(4, ufp4_device_counters(NULL, counters), UFP4_ERROR_ARGUMENT, "no device");
}

/** Every backend refuses what the golden model refuses, even if it could compute it. */
TEST(rejects_nv_with_c_that_something_scales) {
  static const float c[1] = {1};
  float d[1] = {5};
  ufp4_gemm_t how = {
      .contract = UFP4_CONTRACT_NV, .d_dtype = UFP4_DTYPE_F32, .alpha = 2, .c = c, .c_ld = 1};
  ufp4_device_t *device = stand_device();
  ufp4_operand_t one;
  check_bits(0, ufp4_operand_create(UFP4_ELEM_E2M1, 1, 16, &one), UFP4_OK, "operand");
  check_bits(1, ufp4_device_gemm(device, &one, &one, &how, d, 1, NULL), UFP4_ERROR_ARGUMENT,
             "status");
  check_that(2, strstr(ufp4_device_message(device), "contract nv starts the sums with C") != NULL,
             "message '%s'", ufp4_device_message(device));
  check_that(3, d[0] == 5, "output touched");
  ufp4_operand_free(&one);
  ufp4_device_close(device);
}

/** A core refuses the GEMM before it packs or sends anything; codes, scales and D take units of 128
 * bytes. */
TEST(rejects_a_gemm_that_does_not_fit) {
  static float d[4096 * 16];
  const ufp4_gemm_t how = {.contract = UFP4_CONTRACT_EXACT, .d_dtype = UFP4_DTYPE_F32, .alpha = 1};
  ufp4_operand_t a, b, small;
  ufp4_device_t *device = stand_device();
  check_bits(0, ufp4_operand_create(UFP4_ELEM_E1M2, 4096, 8192, &a), UFP4_OK, "operand");
  check_bits(0, ufp4_operand_create(UFP4_ELEM_E1M2, 16, 8192, &b), UFP4_OK, "operand");
  check_bits(0, ufp4_operand_create(UFP4_ELEM_E1M2, 16, 16, &small), UFP4_OK, "operand");
  if (stand_is_core()) {
    check_bits(1, ufp4_device_gemm(device, &a, &b, &how, d, 16, NULL), UFP4_ERROR_MEMORY, "status");
    check_that(1,
               strcmp(ufp4_device_message(device),
                      "a GEMM of 4096 x 16 x 8192 needs 19472384 bytes of device memory, but only "
                      "16764928 are free") == 0,
               "message '%s'", ufp4_device_message(device));
  }
  check_bits(2, ufp4_device_gemm(device, &small, &small, &how, d, 16, NULL), UFP4_OK,
             "one that fits");
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
  ufp4_operand_free(&small);
  ufp4_device_close(device);
}
