// SPDX-License-Identifier: Apache-2.0
// Tests the backend fpga with a board in C behind a pseudo-terminal, in front of the simulated
// core.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/fpga/fpga.h"
#include "cable.h"
#include "stand.h"

enum { TOKENS = 160, CIN = 64, COUT = 96 };

// --- Devices ------------------------------------------------------------------------------------

static ufp4_status_t open_board(const cable_t *cable, const char *configuration,
                                ufp4_message_t *why, ufp4_device_t **device) {
  ufp4_device_options_t options = ufp4_device_options_default();
  options.configuration = configuration;
  options.message = why;
  return ufp4_device_open(cable->name, &options, device);
}

static ufp4_device_t *get_device(const cable_t *cable) {
  ufp4_message_t why = {0};
  ufp4_device_t *device = NULL;
  check_bits(0, open_board(cable, NULL, &why, &device), UFP4_OK, "open: %s", why.text);
  return device;
}

// --- A layer ------------------------------------------------------------------------------------

typedef struct {
  int64_t tokens;
  float x[TOKENS * CIN], w[COUT * CIN], got[TOKENS * COUT], want[TOKENS * COUT];
} layer_t;

static ufp4_status_t run_layer(ufp4_device_t *device, layer_t *layer, float *y,
                               ufp4_gemm_stats_t *stats) {
  const ufp4_linear_shape_t shape = {
      .tokens = layer->tokens, .cin = CIN, .cout = COUT, .passes = 1};
  const ufp4_matrix_t x = {UFP4_DTYPE_F32, layer->tokens, CIN, CIN, layer->x};
  const ufp4_matrix_t w = {UFP4_DTYPE_F32, COUT, CIN, CIN, layer->w};
  ufp4_recipe_t recipe;
  ufp4_linear_t *linear;
  ufp4_recipe_named("ufp4", &recipe);
  ufp4_status_t status = ufp4_linear_create(device, &shape, &recipe, &linear);
  if (status == UFP4_OK) status = ufp4_linear_fprop(linear, &x, &w, 0, y, stats);
  ufp4_linear_free(linear);
  return status;
}

static layer_t *make_layer(int64_t tokens) {
  static layer_t layer;
  check_random_t random = check_random();
  const ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_device_t *model;
  layer.tokens = tokens;
  memset(layer.want, 0, sizeof layer.want);
  for (int i = 0; i < TOKENS * CIN; i++) layer.x[i] = stand_number(&random);
  for (int i = 0; i < COUT * CIN; i++) layer.w[i] = stand_number(&random);
  check_bits(0, ufp4_device_open("model", &options, &model), UFP4_OK, "model");
  check_bits(0, run_layer(model, &layer, layer.want, NULL), UFP4_OK, "model's layer");
  ufp4_device_close(model);
  return &layer;
}

static void check_layer(int64_t index, ufp4_device_t *device, layer_t *layer) {
  ufp4_gemm_stats_t stats = {0};
  memset(layer->got, 0, sizeof layer->got);
  check_bits(index, run_layer(device, layer, layer->got, &stats), UFP4_OK, "layer: %s",
             ufp4_device_message(device));
  check_that(index, memcmp(layer->got, layer->want, sizeof layer->got) == 0,
             "Y differs from the model's");
  check_that(index, stats.cycles > 0 && stats.counters[0] > 0, "no cycles");
}

TEST(a_layer_equals_the_model) {
  cable_t *cable = cable_start(cable_make());
  layer_t *layer = make_layer(TOKENS);
  ufp4_device_t *device = get_device(cable);
  ufp4_device_info_t info;
  ufp4_device_info(device, &info);
  check_that(0, strcmp(info.backend, cable->name) == 0, "backend %s", info.backend);
  check_that(0, strcmp(info.configuration.name, "small") == 0, "configuration %s",
             info.configuration.name);
  check_that(0,
             strstr(info.hardware, "board fake, core at 25.00 MHz, 256 KiB of block RAM") != NULL,
             "hardware '%s'", info.hardware);
  check_bits(0, info.memory_bytes, CABLE_MEMORY, "memory");
  check_layer(0, device, layer);
  stand_jobs_t jobs = stand_jobs(device);
  stand_check_serving(0, device, &jobs);
  check_bits(0, ufp4_device_reset(device), UFP4_OK, "reset");
  stand_check_serving(1, device, &jobs);
  check_layer(1, device, layer);
  ufp4_device_close(device);
  cable_end(cable);
}

/** Each program starts afresh, although the last one left a job running. */
TEST(opens_again_and_again) {
  cable_t *cable = cable_start(cable_make());
  layer_t *layer = make_layer(TOKENS);
  for (int i = 0; i < 3; i++) {
    ufp4_device_t *device = get_device(cable);
    check_layer(i, device, layer);
    stand_jobs_t jobs = stand_jobs(device);
    check_bits(i, ufp4_submit(device, &jobs.gemm, NULL), UFP4_OK, "one that is left alone");
    ufp4_device_close(device);
  }
  cable_end(cable);
}

// --- Damaged lines ------------------------------------------------------------------------------

SLOW_TEST(faults_change_no_bit) {
  for (uint64_t seed = 1; seed <= 2; seed++) {
    cable_t *cable = cable_make();
    cable->to = (fake_faults_t){.state = check_stream(seed), .one_in = 20000};
    cable->from = (fake_faults_t){.state = ~check_stream(seed), .one_in = 20000};
    cable_start(cable);
    ufp4_device_t *device = get_device(cable);
    layer_t *layer = make_layer(TOKENS);
    for (int i = 0; i < 4; i++) check_layer((int64_t)seed, device, layer);
    ufp4_device_close(device);
    check_that((int64_t)seed, cable->to.done + cable->from.done > 0, "no faults");
    cable_end(cable);
  }
}

/** One byte in a hundred is damaged. */
SLOW_TEST(many_faults_change_no_bit) {
  cable_t *cable = cable_make();
  cable->to = (fake_faults_t){.state = check_stream(1), .one_in = 100};
  cable->from = (fake_faults_t){.state = check_stream(2), .one_in = 100};
  cable_start(cable);
  link_options_t options = link_options_default();
  ufp4_device_options_t how = ufp4_device_options_default();
  ufp4_message_t why = {0};
  ufp4_device_t *device;
  fpga_t *fpga;
  options.data_bytes = 64;
  how.configuration = NULL;
  how.message = &why;
  check_bits(0, fpga_open(cable->name, cable->path, &options, &why, &fpga), UFP4_OK, "open: %s",
             why.text);
  const ufp4_port_t port = fpga_port(fpga);
  check_bits(0, ufp4_device_open_port(&port, &how, &device), UFP4_OK, "open: %s", why.text);
  check_layer(0, device, make_layer(16));
  ufp4_device_close(device);
  check_that(0, cable->board->dropped > 100, "%d frames were dropped", (int)cable->board->dropped);
  cable_end(cable);
}

/** The cable is pulled out and plugged in under the same name, and no data are lost. */
SLOW_TEST(a_cable_that_comes_back_goes_on) {
  for (int i = 0; i < 4; i++) {
    cable_t *cable = cable_make();
    cable->replug_at = 4000 + 17001 * (uint64_t)i;
    cable_start(cable);
    ufp4_device_t *device = get_device(cable);
    check_layer(i, device, make_layer(TOKENS));
    check_bits(i, cable->replug_at, 0, "it was never pulled out");
    ufp4_device_close(device);
    cable_end(cable);
  }
}

static void check_lost(int64_t index, ufp4_device_t *device, const char *words) {
  layer_t *layer = make_layer(TOKENS);
  check_bits(index, run_layer(device, layer, layer->got, NULL), UFP4_ERROR_DEVICE, "layer");
  check_that(index, strstr(ufp4_device_message(device), words) != NULL,
             "message '%s' does not say '%s'", ufp4_device_message(device), words);
  check_bits(index, ufp4_device_reset(device), UFP4_ERROR_DEVICE, "reset");
}

/** Some of the resets fall into a job. */
SLOW_TEST(a_reset_board_is_a_lost_device) {
  for (int i = 0; i < 4; i++) {
    cable_t *cable = cable_make();
    cable->reset_at = 4000 + 17001 * (uint64_t)i;
    cable_start(cable);
    ufp4_device_t *device = get_device(cable);
    check_lost(i, device, "the board has been reset");
    ufp4_device_close(device);
    device = get_device(cable);
    check_layer(i, device, make_layer(TOKENS));
    ufp4_device_close(device);
    cable_end(cable);
  }
}

TEST(a_job_that_does_not_end_is_told_of) {
  const ufp4_descriptor_t fence = {.header = {.opcode = UFP4_OPCODE_FENCE}};
  ufp4_device_options_t options = ufp4_device_options_default();
  cable_t *cable = cable_make();
  ufp4_device_t *device;
  options.configuration = NULL;
  options.max_cycles = 100000;
  cable->offset = UFP4_REG_RING_HEAD;  // the ring head does not advance
  check_bits(0, ufp4_device_open(cable_start(cable)->name, &options, &device), UFP4_OK, "open");
  check_bits(0, stand_run(device, &fence, NULL), UFP4_ERROR_TIMEOUT, "job");
  const char *text = ufp4_device_message(device);
  check_that(0, strstr(text, "no interrupt within 0.") != NULL, "message '%s'", text);
  ufp4_device_close(device);
  cable_end(cable);
}

/** The board resets the core, because its own reset does not end: once when the device is opened,
 * and once for each later reset. */
SLOW_TEST(a_core_whose_reset_does_not_end_is_reset_by_the_board) {
  cable_t *cable = cable_make();
  cable->value = 8;  // resetting
  cable->until_resets = 1;
  cable->offset = UFP4_REG_STATUS;
  ufp4_device_t *device = get_device(cable_start(cable));
  cable->until_resets = 2;
  check_bits(0, ufp4_device_reset(device), UFP4_OK, "reset: %s", ufp4_device_message(device));
  check_bits(0, cable->board->core_resets, 2, "resets by the board");
  check_layer(0, device, make_layer(16));
  cable->until_resets = 4;
  check_bits(1, ufp4_device_reset(device), UFP4_ERROR_DEVICE, "one that helps nothing");
  check_that(1, strstr(ufp4_device_message(device), "the core's reset does not end") != NULL,
             "message '%s'", ufp4_device_message(device));
  ufp4_device_close(device);
  cable_end(cable);
}

SLOW_TEST(a_cable_that_stays_out_is_a_lost_device) {
  cable_t *cable = cable_start(cable_make());
  ufp4_device_t *device = get_device(cable);
  atomic_store(&cable->stop, 1);
  pthread_join(cable->thread, NULL);
  cable_pull_out(cable);
  check_lost(0, device,
             "the port has vanished and has not come back within 10 s: cannot open: No such");
  ufp4_device_close(device);
  cable_plug_in(cable);
  atomic_store(&cable->stop, 0);
  cable_end(cable_start(cable));
}

SLOW_TEST(a_board_that_says_nothing_is_given_up) {
  cable_t *cable = cable_start(cable_make());
  ufp4_device_t *device = get_device(cable);
  atomic_store(&cable->stop, 1);
  pthread_join(cable->thread, NULL);
  check_lost(0, device, "last heard: answer ");
  ufp4_device_close(device);
  ufp4_message_t why = {0};
  check_bits(1, open_board(cable, NULL, &why, &device), UFP4_ERROR_DEVICE, "open");
  check_that(1, strstr(why.text, "no answer to HELLO for ") != NULL, "message '%s'", why.text);
  atomic_store(&cable->stop, 0);
  cable_end(cable_start(cable));
}

// --- What is refused ----------------------------------------------------------------------------

static void check_refused(int64_t index, const cable_t *cable, const char *configuration,
                          ufp4_status_t want, const char *words) {
  ufp4_message_t why = {0};
  ufp4_device_t *device = (ufp4_device_t *)&why;
  check_bits(index, open_board(cable, configuration, &why, &device), want, "open: %s", why.text);
  check_that(index, device == NULL, "a device was made");
  check_that(index, strstr(why.text, words) != NULL, "message '%s' does not say '%s'", why.text,
             words);
}

/** A second program is told which process has the port, and gets the port once that process closes
 * it. */
TEST(rejects_a_port_in_use) {
  cable_t *cable = cable_start(cable_make());
  ufp4_device_t *device = get_device(cable);
  char words[64];
  snprintf(words, sizeof words, "in use by the process %ld", (long)getpid());
  check_refused(0, cable, NULL, UFP4_ERROR_DEVICE, words);
  const pid_t child = fork();
  if (child == 0) {
    ufp4_message_t why = {0};
    ufp4_device_t *second;
    const ufp4_status_t status = open_board(cable, NULL, &why, &second);
    _exit(status == UFP4_ERROR_DEVICE && strstr(why.text, words) != NULL ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  check_bits(0, (uint64_t)status, 0, "in another process");
  ufp4_device_close(device);
  ufp4_device_close(get_device(cable));
  cable_end(cable);
}

TEST(rejects_another_core) {
  cable_t *cable = cable_make();
  cable->offset = UFP4_REG_CONFIG_TILE;
  cable->value = 0x7777;
  cable_start(cable);
  check_refused(0, cable, NULL, UFP4_ERROR_DEVICE,
                "no configuration has this core's registers: config_array 0x");
  check_refused(1, cable, NULL, UFP4_ERROR_DEVICE, "config_tile 0x7777");
  check_refused(2, cable, "small", UFP4_ERROR_DEVICE, ", but small was requested");
  cable->offset = UFP4_REG_VERSION;
  check_refused(3, cable, NULL, UFP4_ERROR_DEVICE, "the core's version is 0x7777");
  cable->offset = 0;
  check_refused(4, cable, "tiny", UFP4_ERROR_DEVICE, "the core is small, but tiny was requested");
  cable_end(cable);
}

TEST(rejects_memory_that_is_no_number_of_pages) {
  cable_t *cable = cable_make();
  cable->board->core.memory_bytes = 5000;
  cable_start(cable);
  check_refused(0, cable, NULL, UFP4_ERROR_ARGUMENT, "device memory has 5000 bytes");
  cable_end(cable);
}

TEST(rejects_names_that_are_no_port) {
  static const struct {
    const char *name;
    ufp4_status_t status;
    const char *words;
  } cases[] = {{"fpga", UFP4_ERROR_ARGUMENT, "needs a port"},
               {"fpga:", UFP4_ERROR_ARGUMENT, "needs a port"},
               {"fpga:@115200", UFP4_ERROR_ARGUMENT, "needs a port"},
               {"fpga:stand-none", UFP4_ERROR_DEVICE, "stand-none: cannot open: No such file"},
               {"fpga:/dev/null", UFP4_ERROR_ARGUMENT, "/dev/null: it is not a serial port"},
               {"fpga:x@", UFP4_ERROR_ARGUMENT, "'' is not a baud rate"},
               {"fpga:x@0", UFP4_ERROR_ARGUMENT, "'0' is not a baud rate"},
               {"fpga:x@-5", UFP4_ERROR_ARGUMENT, "'-5' is not a baud rate"},
               {"fpga:x@99999999999", UFP4_ERROR_ARGUMENT, "is not a baud rate"},
               {"fpga:x@9600x", UFP4_ERROR_ARGUMENT, "'9600x' is not a baud rate"},
               {"fpgax:y", UFP4_ERROR_ARGUMENT, "no backend is called"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    cable_t named = {0};
    snprintf(named.name, sizeof named.name, "%s", cases[i].name);
    check_refused((int64_t)i, &named, NULL, cases[i].status, cases[i].words);
  }
}

// --- Memory -------------------------------------------------------------------------------------

static void check_memory(int64_t index, ufp4_device_t *device, uint64_t tested) {
  ufp4_memory_test_t result;
  check_bits(index, ufp4_device_memory_test(device, &result), UFP4_OK, "test: %s",
             ufp4_device_message(device));
  check_bits(index, result.bytes, tested, "tested bytes");
  check_bits(index, result.failed, 0, "wrong bytes");
}

/** The host tests the memory, or the board does if it has a march test. */
SLOW_TEST(memory_is_tested) {
  for (unsigned march = 0; march < 2; march++) {
    cable_t *cable = cable_make();
    cable->board->march = march;
    cable_start(cable);
    ufp4_device_t *device = get_device(cable);
    const uint64_t before = cable->bytes;
    check_memory(march, device, CABLE_MEMORY - (march ? 0 : 12288));
    check_that(march, march ? cable->bytes - before < 1000 : cable->bytes - before > CABLE_MEMORY,
               "%d bytes went to the board", (int)(cable->bytes - before));
    check_layer(march, device, make_layer(TOKENS));
    ufp4_device_close(device);
    cable_end(cable);
  }
}

/** The driver waits for a march that an earlier program has started, before it accesses memory. */
TEST(a_march_under_way_is_waited_for) {
  cable_t *cable = cable_make();
  cable->board->march = 1;
  cable->board->march_reads = 20;
  ufp4_device_t *device = get_device(cable_start(cable));
  check_layer(0, device, make_layer(16));
  ufp4_device_close(device);
  cable_end(cable);
}

SLOW_TEST(a_march_that_does_not_end_is_given_up) {
  cable_t *cable = cable_make();
  cable->board->march = 1;
  ufp4_device_t *device = get_device(cable_start(cable));
  ufp4_memory_test_t result;
  cable->board->march_reads = UINT32_MAX;
  check_bits(0, ufp4_device_memory_test(device, &result), UFP4_ERROR_DEVICE, "test");
  check_that(0, strstr(ufp4_device_message(device), "has not ended within 1.2 s") != NULL,
             "message '%s'", ufp4_device_message(device));
  ufp4_device_close(device);
  check_refused(1, cable, NULL, UFP4_ERROR_DEVICE, "test of its memory has not ended within 1.2 s");
  cable_end(cable);
}

typedef struct {
  uint64_t calls, last, all;
} told_t;

static void tell(void *user, uint64_t done, uint64_t all) {
  told_t *told = user;
  if (told->calls == 0 || told->last == told->all) told->last = 0;
  told->calls++;
  check_that(0, done >= told->last && done <= all, "%d of %d", (int)done, (int)all);
  told->last = done;
  told->all = all;
}

TEST(long_transfers_are_told_of) {
  static uint8_t bytes[1 << 17];
  cable_t *cable = cable_start(cable_make());
  ufp4_device_options_t options = ufp4_device_options_default();
  told_t told = {0};
  ufp4_device_t *device;
  options.configuration = NULL;
  options.progress = tell;
  options.progress_user = &told;
  check_bits(0, ufp4_device_open(cable->name, &options, &device), UFP4_OK, "open");
  const uint64_t at = stand_alloc(device, sizeof bytes);
  check_bits(0, ufp4_buffer_write(device, at, bytes, 1000), UFP4_OK, "write");
  check_bits(0, told.calls, 0, "calls for little");
  check_bits(0, ufp4_buffer_write(device, at, bytes, sizeof bytes), UFP4_OK, "write");
  check_bits(0, ufp4_buffer_read(device, at, bytes, sizeof bytes), UFP4_OK, "read");
  check_that(0, told.calls > 4, "%d calls", (int)told.calls);
  check_bits(0, told.last, sizeof bytes, "the last one");
  ufp4_device_close(device);
  cable_end(cable);
}
