// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // pseudo-terminals
#include "cable.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stand.h"

static int register_read(void *user, uint32_t offset, uint32_t *value) {
  const cable_t *cable = user;
  const int good = ufp4_sim_register_read(cable->sim, offset, value) == UFP4_SIM_OK;
  const int healed = cable->until_resets != 0 && cable->board->core_resets >= cable->until_resets;
  if (cable->offset != 0 && offset == cable->offset && !healed) *value = cable->value;
  return good;
}

static int register_write(void *user, uint32_t offset, uint32_t value) {
  const cable_t *cable = user;
  return ufp4_sim_register_write(cable->sim, offset, value) == UFP4_SIM_OK;
}

static uint8_t *memory(void *user, uint32_t address, uint32_t bytes) {
  const cable_t *cable = user;
  return ufp4_sim_memory(cable->sim, address, bytes);
}

// Waits as a core of 1 MHz would.
static int wait_interrupt(void *user, unsigned ms) {
  const cable_t *cable = user;
  return ufp4_sim_wait_interrupt(cable->sim, 1000ull * ms) == UFP4_SIM_OK;
}

void cable_plug_in(cable_t *cable) {
  cable->terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  check_that(0,
             cable->terminal >= 0 && grantpt(cable->terminal) == 0 &&
                 unlockpt(cable->terminal) == 0 &&
                 symlink(ptsname(cable->terminal), cable->path) == 0,
             "no pseudo-terminal");
}

void cable_pull_out(cable_t *cable) {
  unlink(cable->path);
  close(cable->terminal);
}

static void say(cable_t *cable) {
  size_t said = 0;
  while (said < cable->board->out_bytes && !atomic_load(&cable->stop)) {
    uint8_t bytes[4096];
    size_t count = 0;
    while (count + 2 <= sizeof bytes && said < cable->board->out_bytes)
      count += fake_faults_apply(&cable->from, cable->board->out[said++], bytes + count);
    for (size_t at = 0; at < count && !atomic_load(&cable->stop);) {
      const ssize_t written = write(cable->terminal, bytes + at, count - at);
      if (written > 0) at += (size_t)written;
      if (written < 0) usleep(200);
    }
  }
  fake_board_take(cable->board, said);
}

static void hear(cable_t *cable, uint8_t byte) {
  uint8_t bytes[2];
  const unsigned count = fake_faults_apply(&cable->to, byte, bytes);
  for (unsigned i = 0; i < count; i++) fake_board_byte(cable->board, bytes[i]);
  cable->bytes++;
  if (cable->bytes == cable->reset_at) fake_board_reset(cable->board);
}

static void *serve(void *user) {
  cable_t *cable = user;
  uint8_t bytes[4096];
  while (!atomic_load(&cable->stop)) {
    struct pollfd file = {.fd = cable->terminal, .events = POLLIN};
    poll(&file, 1, 20);
    const ssize_t count = read(cable->terminal, bytes, sizeof bytes);
    if (count <= 0) usleep(500);
    for (ssize_t i = 0; i < count; i++) hear(cable, bytes[i]);
    say(cable);
    if (cable->replug_at != 0 && cable->bytes >= cable->replug_at) {
      cable->replug_at = 0;
      cable_pull_out(cable);
      usleep(150000);
      cable_plug_in(cable);
    }
  }
  return NULL;
}

cable_t *cable_make(void) {
  static const ufp4_sim_options_t options = {.configuration = "small",
                                             .memory_base = 0,
                                             .memory_bytes = CABLE_MEMORY,
                                             .latency_cycles = 5};
  char text[256] = "";
  cable_t *cable = calloc(1, sizeof *cable);
  check_that(0, cable != NULL, "no memory");
  cable->sim = ufp4_sim_open(&options, text, sizeof text);
  check_that(0, cable->sim != NULL, "no simulated core: %s", text);
  const fake_core_t core = {.user = cable,
                            .memory_base = 0,
                            .memory_bytes = CABLE_MEMORY,
                            .register_read = register_read,
                            .register_write = register_write,
                            .memory = memory,
                            .wait = wait_interrupt};
  cable->board = fake_board_open(&core);
  snprintf(cable->path, sizeof cable->path, "%s", files_path("tty"));
  snprintf(cable->name, sizeof cable->name, "fpga:%s", cable->path);
  cable_plug_in(cable);
  return cable;
}

cable_t *cable_start(cable_t *cable) {
  check_bits(0, (uint64_t)pthread_create(&cable->thread, NULL, serve, cable), 0, "thread");
  return cable;
}

void cable_end(cable_t *cable) {
  atomic_store(&cable->stop, 1);
  pthread_join(cable->thread, NULL);
  cable_pull_out(cable);
  fake_board_close(cable->board);
  ufp4_sim_close(cable->sim);
  free(cable);
}
