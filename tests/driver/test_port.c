// SPDX-License-Identifier: Apache-2.0
// Tests a port that the caller provides: the simulated core behind functions written here, with
// public headers only.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stand.h"
#include "ufp4_bare.h"
#include "ufp4_sim.h"

enum { BASE = 0x10000000, HALF = 1 << 18, M = 37, N = 24, K = 160 };

// --- The port -----------------------------------------------------------------------------------

// A core, and the defects of the path to it that a test wants.
typedef struct {
  ufp4_sim_t *sim;
  int closed;              // calls of close
  int polls;               // wait_interrupt lets some cycles pass and reports that there may be an
                           // interrupt
  int deaf;                // the interrupt never comes
  int calls_left;          // after so many calls every access fails; -1: none does
  uint32_t offset, value;  // this register reads as that value, unless offset is 0
} far_t;

static int is_lost(far_t *far) {
  if (far->calls_left > 0) far->calls_left--;
  return far->calls_left == 0;
}

static ufp4_status_t status_of(ufp4_sim_status_t status) {
  if (status == UFP4_SIM_OK) return UFP4_OK;
  return status == UFP4_SIM_LIMIT ? UFP4_ERROR_TIMEOUT : UFP4_ERROR_DEVICE;
}

static ufp4_status_t register_read(void *user, uint32_t offset, uint32_t *value) {
  far_t *far = user;
  if (is_lost(far)) return UFP4_ERROR_DEVICE;
  const ufp4_sim_status_t status = ufp4_sim_register_read(far->sim, offset, value);
  if (far->offset != 0 && far->offset == offset) *value = far->value;
  return status_of(status);
}

static ufp4_status_t register_write(void *user, uint32_t offset, uint32_t value) {
  far_t *far = user;
  if (is_lost(far)) return UFP4_ERROR_DEVICE;
  return status_of(ufp4_sim_register_write(far->sim, offset, value));
}

static ufp4_status_t memory_read(void *user, uint64_t address, void *data, uint64_t bytes) {
  far_t *far = user;
  const uint8_t *from = ufp4_sim_memory(far->sim, address, bytes);
  if (from == NULL || is_lost(far)) return UFP4_ERROR_DEVICE;
  memcpy(data, from, (size_t)bytes);
  return UFP4_OK;
}

static ufp4_status_t memory_write(void *user, uint64_t address, const void *data, uint64_t bytes) {
  far_t *far = user;
  uint8_t *to = ufp4_sim_memory(far->sim, address, bytes);
  if (to == NULL || is_lost(far)) return UFP4_ERROR_DEVICE;
  memcpy(to, data, (size_t)bytes);
  return UFP4_OK;
}

static ufp4_status_t run(void *user, uint64_t ticks) {
  const far_t *far = user;
  return status_of(ufp4_sim_run(far->sim, ticks));
}

static ufp4_status_t wait_interrupt(void *user, uint64_t limit) {
  far_t *far = user;
  if (far->deaf) return run(user, limit) == UFP4_OK ? UFP4_ERROR_TIMEOUT : UFP4_ERROR_DEVICE;
  if (far->polls) return run(user, limit < 64 ? limit : 64);
  return status_of(ufp4_sim_wait_interrupt(far->sim, limit));
}

static uint64_t now(void *user) {
  const far_t *far = user;
  return ufp4_sim_cycles(far->sim);
}

static const char *message(void *user) {
  const far_t *far = user;
  return far->calls_left == 0 ? "the cable is out" : ufp4_sim_message(far->sim);
}

static void close_port(void *user) {
  far_t *far = user;
  far->closed++;
}

static ufp4_port_t port_of(far_t *far, uint64_t base) {
  return (ufp4_port_t){.name = "far:away",
                       .memory_base = base,
                       .memory_bytes = HALF,
                       .user = far,
                       .register_read = register_read,
                       .register_write = register_write,
                       .memory_read = memory_read,
                       .memory_write = memory_write,
                       .wait_interrupt = wait_interrupt,
                       .run = run,
                       .now = now,
                       .message = message,
                       .close = close_port};
}

// The memory of two devices, all of which a core sees.
static far_t make_far(void) {
  const ufp4_sim_options_t options = {
      .configuration = "small", .memory_base = BASE, .memory_bytes = 2 * HALF, .latency_cycles = 5};
  char text[256] = "";
  far_t far = {.sim = ufp4_sim_open(&options, text, sizeof text), .calls_left = -1};
  check_that(0, far.sim != NULL, "no simulated core: %s", text);
  return far;
}

static ufp4_status_t open_port(const ufp4_port_t *port, uint64_t max_cycles, ufp4_message_t *why,
                               ufp4_device_t **device) {
  ufp4_device_options_t options = ufp4_device_options_default();
  options.configuration = "small";
  options.max_cycles = max_cycles;
  options.message = why;
  return ufp4_device_open_port(port, &options, device);
}

static ufp4_device_t *open_far(far_t *far, uint64_t base, uint64_t max_cycles) {
  const ufp4_port_t port = port_of(far, base);
  ufp4_message_t why = {0};
  ufp4_device_t *device = NULL;
  check_bits(0, open_port(&port, max_cycles, &why, &device), UFP4_OK, "open: %s", why.text);
  return device;
}

// --- GEMMs --------------------------------------------------------------------------------------

static ufp4_operand_t operand(check_random_t *random, int64_t rows) {
  float *values = stand_tensor(random, rows * K, 1.0f);
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, rows, K, K, values};
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_E1M2};
  ufp4_operand_t out = {0};
  check_bits(0, ufp4_quantize(&in, &how, &out), UFP4_OK, "quantize");
  free(values);
  return out;
}

static void check_gemm(int64_t index, ufp4_device_t *device, check_random_t *random) {
  static float got[M * N], want[M * N];
  const ufp4_gemm_t how = {.alpha = 1.0f};
  ufp4_operand_t a = operand(random, M), b = operand(random, N);
  ufp4_gemm_stats_t stats = {0};
  check_bits(index, ufp4_device_gemm(device, &a, &b, &how, got, N, &stats), UFP4_OK, "gemm: %s",
             ufp4_device_message(device));
  check_bits(index, ufp4_gemm(&a, &b, &how, want, N), UFP4_OK, "golden gemm");
  check_that(index, memcmp(got, want, sizeof got) == 0, "D differs from the model's");
  check_that(index, stats.cycles > 0, "no cycles");
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

TEST(gemm_equals_the_model) {
  check_random_t random = check_random();
  far_t far = make_far();
  ufp4_device_t *device = open_far(&far, BASE, 0);
  ufp4_device_info_t info;
  ufp4_device_info(device, &info);
  check_that(0, strcmp(info.backend, "far:away") == 0, "backend %s", info.backend);
  check_bits(0, info.memory_bytes, HALF, "memory");
  check_bits(0, (uint64_t)info.has_cycles, 1, "has_cycles");
  check_gemm(0, device, &random);
  stand_jobs_t jobs = stand_jobs(device);
  stand_check_serving(0, device, &jobs);
  ufp4_device_close(device);
  check_bits(0, (uint64_t)far.closed, 1, "calls of close");
  ufp4_sim_close(far.sim);
}

/** There is no interrupt; the driver asks again as long as the port reports that there may be
 * one. */
TEST(a_polling_host_gets_its_jobs) {
  check_random_t random = check_random();
  far_t far = make_far();
  far.polls = 1;
  ufp4_device_t *device = open_far(&far, BASE, 0);
  check_gemm(0, device, &random);
  ufp4_device_close(device);
  ufp4_sim_close(far.sim);
}

/** The job that an earlier owner left running ends, and the rings start afresh. */
TEST(a_core_in_use_is_reset) {
  far_t far = make_far();
  for (int i = 0; i < 3; i++) {
    ufp4_device_t *device = open_far(&far, BASE, 0);
    stand_jobs_t jobs = stand_jobs(device);
    stand_check_serving(i, device, &jobs);
    check_bits(i, ufp4_submit(device, &jobs.gemm, NULL), UFP4_OK, "one that is left alone");
    ufp4_device_close(device);
  }
  ufp4_sim_close(far.sim);
}

// --- One memory, two cores ----------------------------------------------------------------------

enum { CORES = 2, ROUNDS = 70 };  // more than a ring holds

typedef struct {
  far_t far[CORES];
  ufp4_device_t *devices[CORES];
  stand_jobs_t jobs[CORES];
  const uint8_t *memory;
  uint8_t before[CORES][HALF];
} pair_t;

// Maps the same pages into both harnesses, in place of the pages that each has allocated.
static void share_memory(pair_t *pair) {
  FILE *file = tmpfile();
  check_that(0, file != NULL && ftruncate(fileno(file), CORES * HALF) == 0, "no file");
  for (int i = 0; i < CORES; i++) {
    uint8_t *own = ufp4_sim_memory(pair->far[i].sim, BASE, CORES * HALF);
    void *shared =
        mmap(own, CORES * HALF, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fileno(file), 0);
    check_that(i, shared == own, "memory is not shared");
  }
  fclose(file);
  pair->memory = ufp4_sim_memory(pair->far[0].sim, BASE, CORES * HALF);
}

// Runs @p step on one device; the other device's half of memory must stay unchanged.
static void check_alone(pair_t *pair, int core, int64_t round,
                        void (*step)(pair_t *pair, int core, int64_t round)) {
  const int other = 1 - core;
  memcpy(pair->before[other], pair->memory + other * HALF, HALF);
  step(pair, core, round);
  check_that(round, memcmp(pair->before[other], pair->memory + other * HALF, HALF) == 0,
             "core %d has changed memory of core %d", core, other);
}

static void open_one(pair_t *pair, int core, int64_t round) {
  (void)round;
  pair->devices[core] = open_far(&pair->far[core], (uint64_t)BASE + (uint64_t)core * HALF, 0);
  pair->jobs[core] = stand_jobs(pair->devices[core]);
  const uint64_t first = pair->jobs[core].gemm.gemm.d_addr - BASE;
  check_that(core, first / HALF == (uint64_t)core, "D lies at 0x%llx of the memory",
             (unsigned long long)first);
}

static void submit_one(pair_t *pair, int core, int64_t round) {
  const stand_jobs_t *jobs = &pair->jobs[core];
  const ufp4_descriptor_t *all[] = {&jobs->amax, &jobs->quant, &jobs->gemm};
  check_bits(round, ufp4_submit(pair->devices[core], all[round % 3], NULL), UFP4_OK, "submit: %s",
             ufp4_device_message(pair->devices[core]));
}

static void wait_one(pair_t *pair, int core, int64_t round) {
  check_bits(round, ufp4_wait(pair->devices[core], (uint32_t)round + 1, 0, NULL), UFP4_OK,
             "wait: %s", ufp4_device_message(pair->devices[core]));
}

static void serve_one(pair_t *pair, int core, int64_t round) {
  stand_check_serving(round, pair->devices[core], &pair->jobs[core]);
}

TEST(two_cores_share_a_memory) {
  static pair_t pair;
  for (int i = 0; i < CORES; i++) pair.far[i] = make_far();
  share_memory(&pair);
  for (int i = 0; i < CORES; i++) check_alone(&pair, i, 0, open_one);
  for (int64_t round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < CORES; i++) check_alone(&pair, i, round, submit_one);
    for (int i = CORES; i-- > 0;) check_alone(&pair, i, round, wait_one);
  }
  for (int i = 0; i < CORES; i++) check_alone(&pair, i, ROUNDS, serve_one);
  for (int i = 0; i < CORES; i++) {
    ufp4_device_close(pair.devices[i]);
    ufp4_sim_close(pair.far[i].sim);
  }
}

// --- Waits --------------------------------------------------------------------------------------

static void check_timeout(int64_t index, far_t *far, uint64_t max_cycles, uint64_t timeout_us,
                          const char *words) {
  const ufp4_descriptor_t fence = {.header = {.opcode = UFP4_OPCODE_FENCE}};
  ufp4_device_t *device = open_far(far, BASE, max_cycles);
  uint32_t job = 0;
  far->offset = UFP4_REG_RING_HEAD;  // the ring head does not advance
  check_bits(index, ufp4_submit(device, &fence, &job), UFP4_OK, "submit");
  const uint64_t began = ufp4_sim_cycles(far->sim);
  check_bits(index, ufp4_wait(device, job, timeout_us, NULL), UFP4_ERROR_TIMEOUT, "wait");
  const uint64_t took = ufp4_sim_cycles(far->sim) - began;
  check_that(index, strstr(ufp4_device_message(device), words) != NULL,
             "message '%s' does not say '%s'", ufp4_device_message(device), words);
  check_that(index, took >= max_cycles && took < max_cycles + 200000, "%llu cycles",
             (unsigned long long)took);
  far->offset = 0;
  check_bits(index, ufp4_wait(device, job, 0, NULL), UFP4_OK, "waiting again: %s",
             ufp4_device_message(device));
  ufp4_device_close(device);
}

TEST(rejects_a_wait_that_takes_too_long) {
  far_t far = make_far();
  check_timeout(0, &far, 1000, 0, "far:away: no interrupt within");
  check_timeout(1, &far, 0, 2000, "far:away: no completion within 2000 us");
  far.polls = 1;
  check_timeout(2, &far, 3000, 0, "far:away: no completion within 3000 ticks");
  check_timeout(3, &far, 0, 2000, "far:away: no completion within 2000 us");
  far.polls = 0;
  far.deaf = 1;
  check_timeout(4, &far, 30000, 0, "far:away: ");
  check_timeout(5, &far, 30000, 600000000, "far:away: ");
  ufp4_sim_close(far.sim);
}

// --- Bad ports ----------------------------------------------------------------------------------

static void check_refused(int64_t index, const ufp4_port_t *port, ufp4_status_t want,
                          const char *words) {
  far_t *far = port->user;
  ufp4_message_t why = {0};
  ufp4_device_t *device = (ufp4_device_t *)&why;
  check_bits(index, open_port(port, 0, &why, &device), want, "status (%s)", why.text);
  check_that(index, device == NULL, "a device was made");
  check_that(index, strstr(why.text, words) != NULL, "message '%s' does not say '%s'", why.text,
             words);
  check_bits(index, (uint64_t)far->closed, 0, "calls of close");
}

TEST(rejects_missing_functions) {
  far_t far = make_far();
  ufp4_port_t bad[9];
  static const char *const words[] = {"register_read",
                                      "register_write",
                                      "memory_read",
                                      "memory_write",
                                      "wait_interrupt",
                                      "function run is NULL",
                                      "now",
                                      "port->name is NULL or empty",
                                      "port->name is NULL or empty"};
  for (int i = 0; i < 9; i++) bad[i] = port_of(&far, BASE);
  bad[0].register_read = NULL;
  bad[1].register_write = NULL;
  bad[2].memory_read = NULL;
  bad[3].memory_write = NULL;
  bad[4].wait_interrupt = NULL;
  bad[5].run = NULL;
  bad[6].now = NULL;
  bad[7].name = NULL;
  bad[8].name = "";
  for (int i = 0; i < 9; i++) check_refused(i, &bad[i], UFP4_ERROR_ARGUMENT, words[i]);
  ufp4_sim_close(far.sim);
}

TEST(rejects_memory_that_is_no_number_of_pages) {
  static const uint64_t memories[][2] = {{BASE + 128, HALF},
                                         {BASE, HALF + 128},
                                         {BASE, 0},
                                         {BASE, 12288},
                                         {BASE, UINT64_MAX},
                                         {(1ull << UFP4_ADDR_BITS) - HALF, 2 * HALF},
                                         {UINT64_MAX - 4095, 1},
                                         {1ull << UFP4_ADDR_BITS, HALF}};
  far_t far = make_far();
  for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
    ufp4_port_t port = port_of(&far, memories[i][0]);
    port.memory_bytes = memories[i][1];
    check_refused((int64_t)i, &port, UFP4_ERROR_ARGUMENT, "device memory");
  }
  ufp4_sim_close(far.sim);
}

TEST(rejects_another_core) {
  static const struct {
    uint32_t offset;
    const char *words;
  } cases[] = {{UFP4_REG_VERSION, "far:away: the core's version is 0x7777"},
               {UFP4_REG_CONFIG_ARRAY, "config_array 0x7777"},
               {UFP4_REG_CONFIG_TILE, "config_tile 0x7777"},
               {UFP4_REG_CONFIG_MEMORY, "config_memory 0x7777"},
               {UFP4_REG_CONFIG_QUANT, "config_quant 0x7777"}};
  far_t far = make_far();
  const ufp4_port_t port = port_of(&far, BASE);
  far.value = 0x7777;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    far.offset = cases[i].offset;
    check_refused((int64_t)i, &port, UFP4_ERROR_DEVICE, cases[i].words);
  }
  ufp4_sim_close(far.sim);
}

TEST(a_core_with_another_patch_number_serves) {
  far_t far = make_far();
  const ufp4_port_t port = port_of(&far, BASE);
  ufp4_device_info_t info = {0};
  ufp4_device_t *device;
  ufp4_message_t why = {0};
  far.offset = UFP4_REG_VERSION;
  far.value = UFP4_BARE_VERSION ^ 1;
  check_bits(0, open_port(&port, 0, &why, &device), UFP4_OK, "open: %s", why.text);
  check_bits(0, ufp4_device_info(device, &info), UFP4_OK, "info");
  check_bits(0, info.version, UFP4_BARE_VERSION ^ 1, "the core's own");
  ufp4_device_close(device);
  ufp4_sim_close(far.sim);
}

TEST(rejects_missing_arguments) {
  far_t far = make_far();
  const ufp4_port_t port = port_of(&far, BASE);
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_device_t *device;
  check_bits(0, ufp4_device_open_port(NULL, &options, &device), UFP4_ERROR_ARGUMENT, "no port");
  check_bits(1, ufp4_device_open_port(&port, NULL, &device), UFP4_ERROR_ARGUMENT, "no options");
  check_bits(2, ufp4_device_open_port(&port, &options, NULL), UFP4_ERROR_ARGUMENT, "no device");
  ufp4_sim_close(far.sim);
}

/** The port fails at its n-th call, during opening or later; the device is lost, and the message is
 * that of the port. */
TEST(a_port_that_fails_is_a_lost_device) {
  for (int calls = 1; calls < 200; calls += calls < 30 ? 1 : 37) {
    far_t far = make_far();
    const ufp4_port_t port = port_of(&far, BASE);
    ufp4_message_t why = {0};
    ufp4_device_t *device = NULL;
    far.calls_left = calls;
    ufp4_status_t status = open_port(&port, 0, &why, &device);
    while (status == UFP4_OK) {
      const ufp4_descriptor_t fence = {.header = {.opcode = UFP4_OPCODE_FENCE}};
      status = stand_run(device, &fence, NULL);
      if (status != UFP4_OK) ufp4_message_set(&why, "%s", ufp4_device_message(device));
    }
    check_bits(calls, status, UFP4_ERROR_DEVICE, "status");
    check_that(calls, strcmp(why.text, "far:away: the cable is out") == 0, "message '%s'",
               why.text);
    check_bits(calls, ufp4_submit(device, NULL, NULL),
               device != NULL ? UFP4_ERROR_DEVICE : UFP4_ERROR_ARGUMENT, "afterwards");
    ufp4_device_close(device);
    check_bits(calls, (uint64_t)far.closed, device != NULL, "calls of close");
    ufp4_sim_close(far.sim);
  }
}
