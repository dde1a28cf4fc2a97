// SPDX-License-Identifier: Apache-2.0
// A core whose registers and memory are mapped into the program by UIO or /dev/mem, memory also by
// a u-dma-buf. The mappings are uncached (files are opened with O_SYNC, memory is mapped as a
// device), so no cache maintenance is needed. Time is the host's, in microseconds.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "lock.h"
#include "place.h"
#include "port/core.h"
#include "ufp4_bare.h"

#define POLL_US 50u         // interval of polling a core without interrupts
#define CHECK_US 1000000u   // longer than a fence takes
#define LOOK_US 1000000u    // interval of checking a core with interrupts
#define STILL_US 10000000u  // a core that has not moved for this long is dead
#define GRACE_MS 10         // an interrupt arrives within this time
#define NONCE_OFFSET UFP4_BARE_RING_BYTES(UFP4_QUEUE_LOG2)  // in memory, behind the rings

static_assert(NONCE_OFFSET + sizeof(uint64_t) <= UFP4_MEMORY_RESERVED_BYTES,
              "rings and nonce fit the reserved memory");

typedef struct {
  ufp4_bare_mapped_t mapped;  // first member, as the functions of ufp4_bare.h require
  char *name;
  place_t registers, memory;
  int registers_file, memory_file;  // or -1; equal if one file has both
  int lock_file;                    // or -1
  uint64_t nonce;                   // this program's own
  int interrupts;                   // the device reports interrupts
  uint64_t looked;                  // when ring_head was last read
  uint64_t checked, alive_at;       // when progress was last checked, and last seen
  uint64_t head, cycles;            // their values at that check
  int by_time;                      // the last wait ended by its time limit, not by an interrupt
  uint64_t lost;                    // jobs whose interrupt never arrived
  ufp4_message_t message, *notes;
} mmio_t;

static uint64_t mmio_now(void *user) {
  struct timespec time;
  (void)user;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_nsec / 1000u;
}

// --- Another program ----------------------------------------------------------------------------

// The lock does not exclude a program in a container with its own /run/lock, nor another core that
// uses the same memory. Each program therefore writes a number to the memory before it resets the
// core, and checks it before each write and after each read of memory and registers. A program that
// finds another number stops trusting reads and stops writing; only a write that was already under
// way still arrives.
static void leave_nonce(mmio_t *mmio) {
  const uint64_t place = mmio->memory.address + NONCE_OFFSET;
  if (getentropy(&mmio->nonce, sizeof mmio->nonce) != 0) mmio->nonce = 0;
  mmio->nonce ^= mmio_now(mmio) << 22 ^ (uint64_t)getpid();
  ufp4_bare_mapped_memory_write(mmio, place, &mmio->nonce, sizeof mmio->nonce);
}

static ufp4_status_t check_nonce(mmio_t *mmio) {
  uint64_t got = 0;
  __sync_synchronize();  // orders this after the reads that it validates
  ufp4_bare_mapped_memory_read(mmio, mmio->memory.address + NONCE_OFFSET, &got, sizeof got);
  if (got == mmio->nonce) return UFP4_OK;
  ufp4_message_set(&mmio->message, "another program has started to use this core or its memory");
  return UFP4_ERROR_DEVICE;
}

// A value that was read is valid if the number was still this program's afterwards.
static ufp4_status_t mmio_register_read(void *user, uint32_t offset, uint32_t *value) {
  ufp4_bare_mapped_register_read(user, offset, value);
  return check_nonce(user);
}

static ufp4_status_t mmio_register_write(void *user, uint32_t offset, uint32_t value) {
  const ufp4_status_t status = check_nonce(user);
  return status == UFP4_OK ? ufp4_bare_mapped_register_write(user, offset, value) : status;
}

static ufp4_status_t mmio_memory_read(void *user, uint64_t address, void *data, uint64_t bytes) {
  ufp4_bare_mapped_memory_read(user, address, data, bytes);
  return check_nonce(user);
}

static ufp4_status_t mmio_memory_write(void *user, uint64_t address, const void *data,
                                       uint64_t bytes) {
  const ufp4_status_t status = check_nonce(user);
  return status == UFP4_OK ? ufp4_bare_mapped_memory_write(user, address, data, bytes) : status;
}

// --- Time and the interrupt ---------------------------------------------------------------------

static ufp4_status_t mmio_run(void *user, uint64_t ticks) {
  const struct timespec time = {.tv_sec = (time_t)(ticks / 1000000u),
                                .tv_nsec = (long)(ticks % 1000000u) * 1000};
  (void)user;
  nanosleep(&time, NULL);
  return UFP4_OK;
}

static ufp4_status_t is_gone(mmio_t *mmio, const char *why) {
  ufp4_message_set(&mmio->message, "%s no longer reports interrupts: %s", mmio->registers.device,
                   why);
  return UFP4_ERROR_DEVICE;
}

// The kernel masks the interrupt each time it has reported it; if it is still high, it is reported
// at once.
static int enable(mmio_t *mmio) {
  const uint32_t on = 1;
  return write(mmio->registers_file, &on, sizeof on) == (ssize_t)sizeof on;
}

// A core that works on a long job counts its cycles, and its own watchdog stops one that hangs, so
// only a core whose cycle counter stands still is given up. The check restarts after a pause of the
// program.
static ufp4_status_t check_alive(mmio_t *mmio) {
  const ufp4_bare_t bare = {.io = {mmio, mmio_register_read, mmio_register_write, NULL, NULL}};
  const uint64_t now = mmio_now(mmio), pause = now - mmio->checked;
  uint64_t counters[UFP4_COUNTER_COUNT];
  uint32_t head;
  ufp4_status_t status = mmio_register_read(mmio, UFP4_REG_RING_HEAD, &head);
  if (status == UFP4_OK) status = ufp4_bare_counters(&bare, counters);
  if (status != UFP4_OK) return status;
  if (head != mmio->head || counters[UFP4_COUNTER_CYCLES] != mmio->cycles || pause > 3 * LOOK_US)
    mmio->alive_at = now;
  mmio->looked = mmio->checked = now;
  mmio->head = head;
  mmio->cycles = counters[UFP4_COUNTER_CYCLES];
  if (now - mmio->alive_at < STILL_US) return UFP4_OK;
  ufp4_message_set(&mmio->message,
                   "neither ring_head nor the cycle counter has moved for %u s: has the core lost "
                   "its clock, or its bitstream?",
                   STILL_US / 1000000u);
  return UFP4_ERROR_DEVICE;
}

// The time limit has passed: check the core.
static ufp4_status_t end_by_time(mmio_t *mmio) {
  mmio->by_time = 1;
  return mmio_now(mmio) - mmio->looked >= LOOK_US ? check_alive(mmio) : UFP4_OK;
}

// Waits for an interrupt for @p us, and reports whether one came.
static ufp4_status_t wait_for_uio(mmio_t *mmio, uint64_t us, int *told) {
  struct pollfd file = {.fd = mmio->registers_file, .events = POLLIN};
  const int ready = poll(&file, 1, (int)((us + 999) / 1000));
  uint32_t count;
  *told = ready > 0;
  if (ready == 0 || (ready < 0 && errno == EINTR)) return UFP4_OK;
  if (ready > 0 && read(file.fd, &count, sizeof count) == (ssize_t)sizeof count) return UFP4_OK;
  return is_gone(mmio, errno != 0 ? strerror(errno) : "end of file");
}

// An interrupt may be lost, so the core is also checked once a second.
static ufp4_status_t mmio_wait_interrupt(void *user, uint64_t limit) {
  mmio_t *mmio = user;
  mmio->message.text[0] = '\0';
  mmio->by_time = 0;
  if (!mmio->interrupts) {
    (void)mmio_run(user, limit < POLL_US ? limit : POLL_US);
    return end_by_time(mmio);
  }
  if (!enable(mmio)) return is_gone(mmio, strerror(errno));
  for (const uint64_t began = mmio_now(user);;) {
    const uint64_t now = mmio_now(user), spent = now - began, since = now - mmio->looked;
    const uint64_t left = spent < limit ? limit - spent : 0;
    const uint64_t look = since < LOOK_US ? LOOK_US - since : 0;
    int told;
    const ufp4_status_t status = wait_for_uio(mmio, left < look ? left : look, &told);
    if (status != UFP4_OK || told) return status;
    if (look == 0) return end_by_time(mmio);
    if (left == 0) break;
  }
  ufp4_message_set(&mmio->message, "no interrupt within %g s", (double)limit * 1e-6);
  return UFP4_ERROR_TIMEOUT;
}

static const char *mmio_message(void *user) {
  const mmio_t *mmio = user;
  return mmio->message.text[0] != '\0' ? mmio->message.text : NULL;
}

// --- Files and maps -----------------------------------------------------------------------------

static void unmap(volatile void *at, const place_t *place) {
  if (at != NULL) munmap((void *)at, (size_t)place->bytes);
}

static void mmio_close(void *user) {
  mmio_t *mmio = user;
  unmap(mmio->mapped.registers, &mmio->registers);
  unmap(mmio->mapped.memory, &mmio->memory);
  if (mmio->memory_file >= 0 && mmio->memory_file != mmio->registers_file) close(mmio->memory_file);
  if (mmio->registers_file >= 0) close(mmio->registers_file);
  if (mmio->lock_file >= 0) close(mmio->lock_file);
  free(mmio->name);
  free(mmio);
}

// Returns whether the device is Linux's memory device, whose offsets are physical addresses.
static int is_dev_mem(const place_t *place, int file) {
  struct stat told;
  if (strcmp(place->device, "/dev/mem") == 0) return 1;
  return fstat(file, &told) == 0 && S_ISCHR(told.st_mode) && told.st_rdev == makedev(1, 1);
}

// A device belongs to one program, but /dev/mem to all.
static ufp4_status_t open_file(const place_t *place, ufp4_message_t *message, int *file) {
  *file = open(place->device, O_RDWR | O_SYNC | O_CLOEXEC);
  if (*file < 0) {
    ufp4_message_set(message, "mmio: cannot open %s: %s%s", place->device, strerror(errno),
                     errno == EACCES || errno == EPERM
                         ? ": does the user have permission? (docs/howto/mmio.md, \"Without root\")"
                         : "");
    return UFP4_ERROR_DEVICE;
  }
  if (is_dev_mem(place, *file) || flock(*file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return UFP4_OK;
  ufp4_message_set(message, "mmio: %s is in use by another program", place->device);
  return UFP4_ERROR_DEVICE;
}

// A mapping may be longer than its file, and accesses beyond the end kill the program.
static ufp4_status_t check_file(const place_t *place, int file, const char *what,
                                ufp4_message_t *message) {
  struct stat told;
  if (fstat(file, &told) != 0 || !S_ISREG(told.st_mode)) return UFP4_OK;
  const uint64_t bytes = (uint64_t)told.st_size;
  if (place->offset <= bytes && place->bytes <= bytes - place->offset) return UFP4_OK;
  ufp4_message_set(message,
                   "mmio: %s has only %llu bytes, so %s of %llu bytes at 0x%llx is not inside it",
                   place->device, (unsigned long long)bytes, what, (unsigned long long)place->bytes,
                   (unsigned long long)place->offset);
  return UFP4_ERROR_ARGUMENT;
}

static ufp4_status_t map(const place_t *place, int file, const char *what, ufp4_message_t *message,
                         void **mapped) {
  *mapped = NULL;
  if (place->offset % (uint64_t)sysconf(_SC_PAGESIZE) != 0 ||
      (size_t)place->bytes != place->bytes) {
    ufp4_message_set(
        message, "mmio: %s at 0x%llx, %llu bytes: it must start on a page boundary%s", what,
        (unsigned long long)place->address, (unsigned long long)place->bytes,
        (size_t)place->bytes != place->bytes ? ", and fit this processor's address space" : "");
    return UFP4_ERROR_ARGUMENT;
  }
  const ufp4_status_t status = check_file(place, file, what, message);
  if (status != UFP4_OK) return status;
  *mapped = mmap(NULL, (size_t)place->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                 (off_t)place->offset);
  if (*mapped != MAP_FAILED) return UFP4_OK;
  *mapped = NULL;
  ufp4_message_set(message, "mmio: cannot map %s, %llu bytes at 0x%llx of %s: %s%s", what,
                   (unsigned long long)place->bytes, (unsigned long long)place->address,
                   place->device, strerror(errno),
                   errno == EPERM ? ": does the kernel have CONFIG_STRICT_DEVMEM?" : "");
  return UFP4_ERROR_DEVICE;
}

static ufp4_status_t map_both(mmio_t *mmio, ufp4_message_t *message) {
  void *registers = NULL, *memory = NULL;
  ufp4_status_t status = open_file(&mmio->registers, message, &mmio->registers_file);
  // Other devices have addresses that are offsets within them, which do not identify the core to
  // other programs.
  if (status == UFP4_OK &&
      (mmio->registers.is_uio || is_dev_mem(&mmio->registers, mmio->registers_file)))
    status = lock_core(mmio->registers.address, message, &mmio->lock_file);
  if (status == UFP4_OK && strcmp(mmio->registers.device, mmio->memory.device) == 0)
    mmio->memory_file = mmio->registers_file;
  else if (status == UFP4_OK)
    status = open_file(&mmio->memory, message, &mmio->memory_file);
  if (status == UFP4_OK)
    status = map(&mmio->registers, mmio->registers_file, "registers", message, &registers);
  if (status == UFP4_OK) status = map(&mmio->memory, mmio->memory_file, "memory", message, &memory);
  mmio->mapped = (ufp4_bare_mapped_t){registers, memory, mmio->memory.address};
  return status;
}

// --- Is it what it should be? -------------------------------------------------------------------

static uint64_t pattern(uint64_t index, unsigned turn) {
  return (index + 1) * 0x9E3779B97F4A7C15ull ^ (turn ? ~0ull : 0);
}

// Checks that the word @p want, written to an address, can be read back.
static ufp4_status_t check_word(mmio_t *mmio, uint64_t address, uint64_t want,
                                ufp4_message_t *message) {
  uint64_t got = 0;
  ufp4_bare_mapped_memory_read(mmio, address, &got, sizeof got);
  if (got == want) return UFP4_OK;
  ufp4_message_set(message,
                   "%s: 0x%016llx was written to address 0x%llx, but 0x%016llx was read back: is "
                   "this memory, and are there %llu bytes of it?",
                   mmio->name, (unsigned long long)want, (unsigned long long)address,
                   (unsigned long long)got, (unsigned long long)mmio->memory.bytes);
  return UFP4_ERROR_DEVICE;
}

// Writes a word at each distance from the start that is a power of two, and at the end, which
// detects memory that is missing or smaller.
static ufp4_status_t check_memory(mmio_t *mmio, ufp4_message_t *message) {
  const uint64_t base = mmio->memory.address, last = mmio->memory.bytes - 8;
  for (unsigned pass = 0; pass < 4; pass++) {
    for (uint64_t at = 0;; at = at == 0 ? 8 : 2 * at) {
      if (at > last) at = last;
      const uint64_t word = pattern(at, pass / 2);
      if (pass % 2 == 0)
        ufp4_bare_mapped_memory_write(mmio, base + at, &word, sizeof word);
      else if (check_word(mmio, base + at, word, message) != UFP4_OK)
        return UFP4_ERROR_DEVICE;
      if (at == last) break;
    }
  }
  return UFP4_OK;
}

// Runs a fence, which checks that the core reads its descriptor from memory, writes its completion
// there, and raises its interrupt.
static ufp4_status_t check_sight(mmio_t *mmio, ufp4_backend_state_t *state,
                                 ufp4_message_t *message) {
  const ufp4_descriptor_t fence = {
      .header = {.opcode = UFP4_OPCODE_FENCE, .job = (uint32_t)mmio_now(mmio) | 1}};
  ufp4_completion_t done = {0};
  ufp4_status_t status = core_submit(state, &fence);
  int told = 1;
  if (status == UFP4_OK && mmio->interrupts)
    status = enable(mmio) ? wait_for_uio(mmio, CHECK_US, &told) : UFP4_ERROR_DEVICE;
  if (status == UFP4_OK) status = core_take(state, CHECK_US, &done);
  if (status != UFP4_OK || done.job != fence.header.job || done.status != UFP4_CORE_STATUS_OK) {
    ufp4_message_set(message,
                     "%s: the core did not complete a fence in the memory at 0x%llx: does its bus "
                     "have this memory at this address, and no cache in between?",
                     mmio->name, (unsigned long long)mmio->memory.address);
    return UFP4_ERROR_DEVICE;
  }
  if (!told) {
    ufp4_message_set(
        message,
        "%s: a job has ended and no interrupt has come: is irq_o connected, as a level "
        "that is active high?",
        mmio->name);
    return UFP4_ERROR_DEVICE;
  }
  return core_set_up(state);  // resets the counters before the first job
}

static ufp4_status_t check_sizes(const mmio_t *mmio, ufp4_message_t *message) {
  if (mmio->registers.bytes < UFP4_REG_SIZE) {
    ufp4_message_set(message, "%s: the registers have only %llu bytes; a core has %u", mmio->name,
                     (unsigned long long)mmio->registers.bytes, UFP4_REG_SIZE);
    return UFP4_ERROR_ARGUMENT;
  }
  return backend_check_memory(mmio->memory.address, mmio->memory.bytes, message);
}

// --- Jobs ---------------------------------------------------------------------------------------

static ufp4_status_t mmio_take(ufp4_backend_state_t *state, uint64_t timeout_us,
                               ufp4_completion_t *completion) {
  mmio_t *mmio = core_port_user(state);
  int told = 1;
  mmio->by_time = 0;
  mmio->looked = mmio_now(mmio);  // core_take begins with a check
  const ufp4_status_t status = core_take(state, timeout_us, completion);
  if (status == UFP4_OK && mmio->by_time && mmio->interrupts)
    (void)wait_for_uio(mmio, GRACE_MS * 1000u, &told);
  mmio->lost += !told;
  return status;
}

// The program calls this when it ends, and prints the notes.
static ufp4_status_t mmio_tell(ufp4_backend_state_t *state) {
  const mmio_t *mmio = core_port_user(state);
  if (mmio->lost != 0)
    ufp4_message_set(mmio->notes,
                     "%s: %llu interrupts did not arrive; the program polled the core after a "
                     "second instead, and no result is missing",
                     mmio->name, (unsigned long long)mmio->lost);
  return UFP4_OK;
}

// --- Open ---------------------------------------------------------------------------------------

static ufp4_port_t port_of(mmio_t *mmio) {
  return (ufp4_port_t){.name = mmio->name,
                       .memory_base = mmio->memory.address,
                       .memory_bytes = mmio->memory.bytes,
                       .user = mmio,
                       .register_read = mmio_register_read,
                       .register_write = mmio_register_write,
                       .memory_read = mmio_memory_read,
                       .memory_write = mmio_memory_write,
                       .wait_interrupt = mmio_wait_interrupt,
                       .run = mmio_run,
                       .now = mmio_now,
                       .message = mmio_message,
                       .close = mmio_close};
}

static ufp4_status_t open_core(mmio_t *mmio, const ufp4_device_options_t *options,
                               const ufp4_configuration_t *configuration, ufp4_message_t *message,
                               ufp4_backend_state_t **state) {
  ufp4_device_options_t own = *options;
  const ufp4_port_t port = port_of(mmio);
  if (own.max_cycles == 0) own.max_cycles = UINT64_MAX;
  mmio->interrupts = mmio->registers.is_uio && enable(mmio);
  leave_nonce(mmio);
  ufp4_status_t status =
      check_word(mmio, mmio->memory.address + NONCE_OFFSET, mmio->nonce, message);
  if (status == UFP4_OK) status = core_open(&port, &own, configuration, 0, message, state);
  if (status == UFP4_OK) status = check_memory(mmio, message);
  if (status == UFP4_OK) status = check_sight(mmio, *state, message);
  return status;
}

static ufp4_status_t backend_open(const char *name, const ufp4_device_options_t *options,
                                  const ufp4_configuration_t *configuration,
                                  ufp4_message_t *message, ufp4_backend_state_t **state) {
  const char *where = strchr(name, ':');
  *state = NULL;
  mmio_t *mmio = calloc(1, sizeof *mmio);
  if (mmio == NULL) return UFP4_ERROR_MEMORY;
  mmio->registers_file = mmio->memory_file = mmio->lock_file = -1;
  mmio->notes = message;
  mmio->name = strdup(name);
  ufp4_status_t status = mmio->name != NULL ? UFP4_OK : UFP4_ERROR_MEMORY;
  if (status == UFP4_OK)
    status = places_find(where != NULL ? where + 1 : "", &mmio->registers, &mmio->memory, message);
  if (status == UFP4_OK) status = check_sizes(mmio, message);
  if (status == UFP4_OK) status = place_check_loaded(message);
  if (status == UFP4_OK) status = map_both(mmio, message);
  if (status == UFP4_OK) status = open_core(mmio, options, configuration, message, state);
  if (status == UFP4_OK) return UFP4_OK;
  if (*state != NULL) core_close(*state);  // this closes the port
  if (*state == NULL) mmio_close(mmio);
  *state = NULL;
  return status;
}

static ufp4_status_t backend_info(ufp4_backend_state_t *state, ufp4_device_info_t *info) {
  const mmio_t *mmio = core_port_user(state);
  snprintf(info->hardware, sizeof info->hardware,
           "registers at 0x%llx, %llu KiB of memory at 0x%llx, %s",
           (unsigned long long)mmio->registers.address,
           (unsigned long long)(mmio->memory.bytes >> 10), (unsigned long long)mmio->memory.address,
           mmio->interrupts ? "with an interrupt" : "polled, without an interrupt");
  return core_info(state, info);
}

const ufp4_backend_t ufp4_backend_mmio = {.name = "mmio",
                                          .open_at = backend_open,
                                          .close = core_close,
                                          .trace_end = mmio_tell,
                                          .info = backend_info,
                                          .memory_base = core_memory_base,
                                          .memory_write = core_memory_write,
                                          .memory_read = core_memory_read,
                                          .submit = core_submit,
                                          .take = mmio_take,
                                          .slot_read = core_slot_read,
                                          .counters = core_counters,
                                          .reset = core_reset};
