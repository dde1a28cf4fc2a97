// SPDX-License-Identifier: Apache-2.0
// PROGRAM FOLDER CONFIGURATION FAULT stands in for the hardware of a mapped core. The timed model
// with the golden model's data works on FOLDER/memory, a file that both sides map. Through
// FOLDER/socket trap.c reports each register access and gets the interrupts of the UIO device; the
// first byte of a client says which: R registers, I interrupts. FAULT is "none" or the defect:
// "deaf" never raises an interrupt, "elsewhere" sees another memory than the host, and "slow" runs
// 6000 cycles a second. So do "loses", whose first interrupt is its last, and "dies", whose last
// cycle is the 20,000th. FOLDER/writes gets a line for each register write: the number of the
// writing process, the offset and the value.
#define _GNU_SOURCE  // struct ucred
#include "stand_in.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "job/execute.h"
#include "ufp4_timed.h"

enum { CLIENTS = 8, SLICE = 2000, SLOW_HZ = 6000, LAST = 20000 };

typedef struct {
  ufp4_timed_t *timed;
  executor_t executor;
  struct pollfd files[1 + CLIENTS];  // the first accepts clients
  char kinds[1 + CLIENTS];
  const char *fault;
  int armed;      // an interrupt is reported once each time it is enabled
  uint32_t told;  // the number of interrupts, lost ones included
  uint32_t tail, head;
  FILE *writes;
  double began;         // in seconds
  uint32_t last[1024];  // the last value read of each register
} stand_in_t;

// --- The timed model's host ---------------------------------------------------------------------

static int host_read(void *user, uint64_t address, void *data, uint32_t bytes) {
  const stand_in_t *core = user;
  if (address - STAND_IN_MEMORY > STAND_IN_BYTES - bytes) return -1;
  memcpy(data, core->executor.memory + (address - STAND_IN_MEMORY), bytes);
  return 0;
}

static int host_write(void *user, uint64_t address, const void *data, uint32_t bytes) {
  const stand_in_t *core = user;
  if (address - STAND_IN_MEMORY > STAND_IN_BYTES - bytes) return -1;
  memcpy(core->executor.memory + (address - STAND_IN_MEMORY), data, bytes);
  return 0;
}

static int host_execute(void *user, const uint8_t descriptor[UFP4_DESCRIPTOR_BYTES],
                        uint16_t slots[UFP4_SLOTS], ufp4_completion_t *completion) {
  stand_in_t *core = user;
  ufp4_descriptor_t job;
  memcpy(&job, descriptor, sizeof job);
  for (int i = 0; i < UFP4_SLOTS; i++) {
    core->executor.slots.exponent[i] = (int16_t)slots[i];
    core->executor.slots.written[i] = 1;
  }
  if (executor_run(&core->executor, &job, completion) != UFP4_OK) return -1;
  for (int i = 0; i < UFP4_SLOTS; i++) slots[i] = (uint16_t)core->executor.slots.exponent[i];
  return 0;
}

static int open_core(stand_in_t *core, const char *folder, const char *configuration,
                     const char *fault) {
  static const ufp4_configuration_t all[] = UFP4_CONFIGURATIONS;
  const ufp4_timed_options_t options = {.configuration = configuration, .latency_cycles = 20};
  const ufp4_timed_host_t host = {core, host_read, host_write, host_execute, NULL};
  char path[256], text[256] = "";
  snprintf(path, sizeof path, "%s/memory", folder);
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  const int flags = strcmp(fault, "elsewhere") == 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  if (file < 0 || ftruncate(file, STAND_IN_BYTES) != 0) return 0;
  core->fault = fault;
  core->executor =
      (executor_t){.memory_base = STAND_IN_MEMORY, .memory_bytes = STAND_IN_BYTES, .threads = 1};
  core->executor.memory =
      mmap(NULL, STAND_IN_BYTES, PROT_READ | PROT_WRITE, flags, flags == MAP_SHARED ? file : -1, 0);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (strcmp(all[i].name, configuration) == 0) core->executor.configuration = all[i];
  core->timed = ufp4_timed_open(&options, &host, text, sizeof text);
  if (core->timed == NULL) fprintf(stderr, "stand-in: %s\n", text);
  snprintf(path, sizeof path, "%s/writes", folder);
  core->writes = fopen(path, "w");
  return core->executor.memory != MAP_FAILED && core->timed != NULL && core->writes != NULL;
}

// --- Clients ------------------------------------------------------------------------------------

static int listen_at(stand_in_t *core, const char *folder) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
  unlink(address.sun_path);
  for (int i = 0; i <= CLIENTS; i++) core->files[i] = (struct pollfd){.fd = -1, .events = POLLIN};
  core->files[0].fd = socket(AF_UNIX, SOCK_STREAM, 0);
  return bind(core->files[0].fd, (struct sockaddr *)&address, sizeof address) == 0 &&
         listen(core->files[0].fd, CLIENTS) == 0;
}

static void take_client(stand_in_t *core) {
  const int file = accept(core->files[0].fd, NULL, NULL);
  for (int i = 1; i <= CLIENTS; i++) {
    if (core->files[i].fd >= 0) continue;
    if (read(file, &core->kinds[i], 1) != 1) break;
    core->files[i].fd = file;
    return;
  }
  close(file);
}

static int has(const stand_in_t *core, const char *fault) {
  return strcmp(core->fault, fault) == 0;
}

static int is_dead(const stand_in_t *core) {
  return has(core, "dies") && ufp4_timed_cycles(core->timed) >= LAST;
}

static void note(const stand_in_t *core, int file, const stand_in_access_t *access) {
  struct ucred peer = {0};
  socklen_t bytes = sizeof peer;
  getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
  fprintf(core->writes, "%d 0x%x 0x%x\n", (int)peer.pid, access->offset, access->value);
  fflush(core->writes);
}

// Serves one access. Accesses advance the model's time, so those of a dead core get the last values
// instead.
static int access_register(stand_in_t *core, int file) {
  stand_in_access_t access;
  if (read(file, &access, sizeof access) != (ssize_t)sizeof access) return 0;
  uint32_t *last = &core->last[access.offset / 4];
  if (access.writes) note(core, file, &access);
  if (is_dead(core)) {
    access.value = *last;
  } else if (!access.writes) {
    ufp4_timed_register_read(core->timed, access.offset, &access.value);
    *last = access.value;
  } else {
    ufp4_timed_register_write(core->timed, access.offset, access.value);
    if (access.offset == UFP4_REG_RING_TAIL) core->tail = access.value;
  }
  return write(file, &access, sizeof access) == (ssize_t)sizeof access;
}

static int enable_interrupt(stand_in_t *core, int file) {
  uint32_t on;
  if (read(file, &on, sizeof on) != (ssize_t)sizeof on) return 0;
  core->armed = on != 0;
  return 1;
}

static void serve_clients(stand_in_t *core) {
  if (core->files[0].revents != 0) take_client(core);
  for (int i = 1; i <= CLIENTS; i++) {
    struct pollfd *file = &core->files[i];
    if (file->fd < 0 || file->revents == 0) continue;
    if (core->kinds[i] == 'R' ? access_register(core, file->fd) : enable_interrupt(core, file->fd))
      continue;
    close(file->fd);
    file->fd = -1;
  }
}

static void tell(stand_in_t *core) {
  core->armed = 0;
  core->told++;
  if (has(core, "loses") && core->told > 1) return;
  for (int i = 1; i <= CLIENTS; i++)
    if (core->files[i].fd >= 0 && core->kinds[i] == 'I' &&
        write(core->files[i].fd, &core->told, sizeof core->told) < 0)
      core->files[i].fd = -1;
}

// Returns how many cycles may pass now.
static uint64_t slice(const stand_in_t *core) {
  const uint64_t cycles = ufp4_timed_cycles(core->timed);
  struct timespec now;
  if (!has(core, "slow") && !has(core, "loses") && !has(core, "dies")) return SLICE;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double due = ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec - core->began) * SLOW_HZ;
  const int goes = due >= (double)cycles && !is_dead(core);
  if (!goes) usleep(10000);
  return goes ? 100 : 0;
}

// Lets time pass while something may happen, as fast as the model runs or as the fault says.
static int step(stand_in_t *core) {
  const uint64_t cycles = slice(core);
  if (cycles == 0) return 1;
  const int high = ufp4_timed_wait_interrupt(core->timed, cycles) == UFP4_TIMED_OK;
  if (high && core->armed && !has(core, "deaf")) tell(core);
  return ufp4_timed_register_read(core->timed, UFP4_REG_RING_HEAD, &core->head) == UFP4_TIMED_OK;
}

int main(int argc, char **argv) {
  stand_in_t core = {.armed = 0};
  signal(SIGPIPE, SIG_IGN);
  if (argc != 4 || !open_core(&core, argv[1], argv[2], argv[3]) || !listen_at(&core, argv[1]))
    return perror("stand-in"), 3;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  core.began = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  puts("ready");
  fflush(stdout);
  for (;;) {
    const int idle = core.head == core.tail && !core.armed;
    if (poll(core.files, 1 + CLIENTS, idle ? 20 : 0) > 0) serve_clients(&core);
    if (!step(&core)) return fprintf(stderr, "%s\n", ufp4_timed_message(core.timed)), 3;
  }
}
