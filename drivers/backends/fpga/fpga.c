// SPDX-License-Identifier: Apache-2.0
// A core on a board behind a serial port. The memory is the board's, and time is the host's, in
// microseconds.
#include "fpga.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "little_endian.h"
#include "port/core.h"
#include "serial.h"

#define BAUD 3000000u
#define BAUD_MAX 12000000u  // the rate of the fastest USB ports
#define WAIT_MS 10u         // a longer wait is split
#define LONG_BYTES 65536u   // a transfer whose progress is reported
#define MARCH_POLL_US 10000u
#define MARCH_CYCLES 16u  // limit per byte: several times what the march takes
#define MARCH_BUSY 1u
#define MARCH_FAILED 4u

struct fpga {
  char *name;
  serial_t *serial;
  link_t *link;
  link_identity_t identity;
  ufp4_message_t message;  // reason of a failure that did not end the link
  // Receives the progress of long transfers, or NULL.
  void (*progress)(void *user, uint64_t done, uint64_t all);
  void *progress_user;
};

// --- The port -----------------------------------------------------------------------------------

static ufp4_status_t read_word(fpga_t *fpga, link_command_t command, uint32_t address,
                               uint32_t *value) {
  uint8_t answer[4];
  const link_request_t request = {.command = command,
                                  .address = address,
                                  .length = sizeof answer,
                                  .answer = answer,
                                  .answer_bytes = sizeof answer};
  const ufp4_status_t status = link_call(fpga->link, &request);
  if (status == UFP4_OK) *value = get32(answer);
  return status;
}

static ufp4_status_t write_word(fpga_t *fpga, link_command_t command, uint32_t address,
                                uint32_t value) {
  uint8_t data[4];
  put32(data, value);
  return link_send(
      fpga->link, &(link_request_t){
                      .command = command, .address = address, .data = data, .length = sizeof data});
}

static ufp4_status_t fpga_register_read(void *user, uint32_t offset, uint32_t *value) {
  return read_word(user, LINK_REGISTER_READ, offset, value);
}

static ufp4_status_t fpga_register_write(void *user, uint32_t offset, uint32_t value) {
  return write_word(user, LINK_REGISTER_WRITE, offset, value);
}

static void tell(const fpga_t *fpga, uint64_t done, uint64_t all) {
  if (fpga->progress != NULL && all >= LONG_BYTES) fpga->progress(fpga->progress_user, done, all);
}

// Transfers so many bytes in frames and keeps the window full. The request gives the command and
// the first address; each frame sets the rest.
static ufp4_status_t transfer(fpga_t *fpga, link_request_t request, const uint8_t *from,
                              uint8_t *target, uint64_t bytes) {
  ufp4_status_t status = UFP4_OK;
  for (uint64_t done = 0; done < bytes && status == UFP4_OK; done += request.length) {
    const uint64_t left = bytes - done, most = link_data_bytes(fpga->link);
    request.length = (unsigned)(left < most ? left : most);
    request.data = from != NULL ? from + done : NULL;
    request.answer = target != NULL ? target + done : NULL;
    request.answer_bytes = target != NULL ? request.length : 0;
    status = link_send(fpga->link, &request);
    request.address += request.length;
    tell(fpga, done, bytes);
  }
  if (status == UFP4_OK && target != NULL) status = link_flush(fpga->link);
  tell(fpga, bytes, bytes);
  return status;
}

static ufp4_status_t fpga_memory_read(void *user, uint64_t address, void *data, uint64_t bytes) {
  return transfer(user, (link_request_t){.command = LINK_MEMORY_READ, .address = (uint32_t)address},
                  NULL, data, bytes);
}

static ufp4_status_t fpga_memory_write(void *user, uint64_t address, const void *data,
                                       uint64_t bytes) {
  return transfer(user,
                  (link_request_t){.command = LINK_MEMORY_WRITE, .address = (uint32_t)address},
                  data, NULL, bytes);
}

static ufp4_status_t wait_once(fpga_t *fpga, unsigned ms) {
  const uint8_t data[2] = {(uint8_t)ms, (uint8_t)(ms >> 8)};
  return link_call(
      fpga->link,
      &(link_request_t){
          .command = LINK_WAIT, .data = data, .length = sizeof data, .extra_us = ms * 1000u});
}

static uint64_t fpga_now(void *user) {
  const link_stream_t stream = serial_stream(((fpga_t *)user)->serial);
  return stream.now(stream.user);
}

static ufp4_status_t fpga_wait_interrupt(void *user, uint64_t limit) {
  fpga_t *fpga = user;
  for (const uint64_t began = fpga_now(user);;) {
    const uint64_t spent = fpga_now(user) - began, left = spent < limit ? limit - spent : 0;
    const ufp4_status_t status =
        wait_once(fpga, left > WAIT_MS * 1000u ? WAIT_MS : (unsigned)((left + 999) / 1000));
    if (status != UFP4_OK || link_interrupt(fpga->link)) return status;
    if (left != 0) continue;
    ufp4_message_set(&fpga->message, "no interrupt within %g s", (double)limit * 1e-6);
    return UFP4_ERROR_TIMEOUT;
  }
}

static ufp4_status_t fpga_run(void *user, uint64_t ticks) {
  const struct timespec time = {.tv_sec = (time_t)(ticks / 1000000u),
                                .tv_nsec = (long)(ticks % 1000000u) * 1000};
  nanosleep(&time, NULL);
  return link_flush(((fpga_t *)user)->link);
}

static int is_lost(const fpga_t *fpga) {
  return link_message(fpga->link)[0] != '\0';
}

static const char *fpga_message(void *user) {
  const fpga_t *fpga = user;
  const char *text = is_lost(fpga) ? link_message(fpga->link) : fpga->message.text;
  return text[0] != '\0' ? text : NULL;
}

static void close_port(void *user) {
  fpga_t *fpga = user;
  if (fpga->link != NULL) (void)link_flush(fpga->link);
  fpga_close(fpga);
}

ufp4_port_t fpga_port(fpga_t *fpga) {
  return (ufp4_port_t){.name = fpga->name,
                       .memory_base = fpga->identity.memory_base,
                       .memory_bytes = fpga->identity.memory_bytes,
                       .user = fpga,
                       .register_read = fpga_register_read,
                       .register_write = fpga_register_write,
                       .memory_read = fpga_memory_read,
                       .memory_write = fpga_memory_write,
                       .wait_interrupt = fpga_wait_interrupt,
                       .run = fpga_run,
                       .now = fpga_now,
                       .message = fpga_message,
                       .close = close_port};
}

const link_identity_t *fpga_identity(const fpga_t *fpga) {
  return &fpga->identity;
}

link_t *fpga_link(fpga_t *fpga) {
  return fpga->link;
}

// --- The memory march ---------------------------------------------------------------------------

// The board answers no memory request while the march runs.
static ufp4_status_t wait_for_march(fpga_t *fpga, uint32_t *control) {
  const uint64_t clock_hz = fpga->identity.clock_hz != 0 ? fpga->identity.clock_hz : 1000000u;
  const uint64_t limit =
      1000000u + fpga->identity.memory_bytes * (uint64_t)MARCH_CYCLES * 1000000u / clock_hz;
  for (const uint64_t began = fpga_now(fpga);;) {
    ufp4_status_t status = read_word(fpga, LINK_BOARD_READ, LINK_BOARD_MARCH, control);
    if (status != UFP4_OK || !(*control & MARCH_BUSY)) return status;
    if (fpga_now(fpga) - began >= limit) break;
    status = fpga_run(fpga, MARCH_POLL_US);
    if (status != UFP4_OK) return status;
  }
  ufp4_message_set(&fpga->message, "the board's test of its memory has not ended within %.1f s",
                   (double)limit * 1e-6);
  return UFP4_ERROR_DEVICE;
}

// --- Open ---------------------------------------------------------------------------------------

void fpga_close(fpga_t *fpga) {
  if (fpga == NULL) return;
  link_close(fpga->link);
  serial_close(fpga->serial);
  free(fpga->name);
  free(fpga);
}

// Splits PORT@BAUD; the caller frees *path.
static ufp4_status_t split(const char *where, ufp4_message_t *message, char **path,
                           uint32_t *baud) {
  const char *at = strrchr(where, '@');
  char *end = NULL;
  const unsigned long speed = at != NULL ? strtoul(at + 1, &end, 10) : BAUD;
  *path = NULL;
  *baud = (uint32_t)speed;
  if (where[0] == '\0' || at == where) {
    ufp4_message_set(message,
                     "backend fpga needs a port: fpga:/dev/ttyUSB0, or with a speed "
                     "fpga:/dev/ttyUSB0@115200");
    return UFP4_ERROR_ARGUMENT;
  }
  if (end != NULL &&
      (at[1] < '0' || at[1] > '9' || *end != '\0' || speed == 0 || speed > BAUD_MAX)) {
    ufp4_message_set(message, "fpga:%s: '%s' is not a baud rate from 1 to %u", where, at + 1,
                     BAUD_MAX);
    return UFP4_ERROR_ARGUMENT;
  }
  *path = strndup(where, at != NULL ? (size_t)(at - where) : strlen(where));
  return *path != NULL ? UFP4_OK : UFP4_ERROR_MEMORY;
}

static ufp4_status_t open_link(fpga_t *fpga, const link_options_t *options,
                               ufp4_message_t *message) {
  const link_stream_t stream = serial_stream(fpga->serial);
  fpga->link = link_open(&stream, options);
  if (fpga->link == NULL) return UFP4_ERROR_MEMORY;
  uint32_t control = 0;
  ufp4_status_t status = link_hello(fpga->link, &fpga->identity);
  // A memory test of an earlier program may still be running.
  if (status == UFP4_OK && fpga->identity.has_march) status = wait_for_march(fpga, &control);
  if (status != UFP4_OK) ufp4_message_set(message, "%s: %s", fpga->name, fpga_message(fpga));
  return status;
}

ufp4_status_t fpga_open(const char *name, const char *where, const link_options_t *options,
                        ufp4_message_t *message, fpga_t **out) {
  link_options_t own = *options;
  char *path;
  *out = NULL;
  ufp4_status_t status = split(where, message, &path, &own.baud);
  if (status != UFP4_OK) return status;
  fpga_t *fpga = calloc(1, sizeof *fpga);
  if (fpga == NULL || (fpga->name = strdup(name)) == NULL) status = UFP4_ERROR_MEMORY;
  if (status == UFP4_OK) status = serial_open(path, own.baud, message, &fpga->serial);
  if (status == UFP4_OK) status = open_link(fpga, &own, message);
  free(path);
  if (status == UFP4_OK) {
    *out = fpga;
  } else {
    fpga_close(fpga);
  }
  return status;
}

// --- The backend --------------------------------------------------------------------------------

static ufp4_status_t backend_open(const char *name, const ufp4_device_options_t *options,
                                  const ufp4_configuration_t *configuration,
                                  ufp4_message_t *message, ufp4_backend_state_t **state) {
  const link_options_t link = link_options_default();
  const char *where = strchr(name, ':');
  ufp4_device_options_t own = *options;
  fpga_t *fpga;
  if (own.max_cycles == 0) own.max_cycles = CORE_JOB_US;
  *state = NULL;
  ufp4_status_t status = fpga_open(name, where != NULL ? where + 1 : "", &link, message, &fpga);
  if (status != UFP4_OK) return status;
  fpga->progress = options->progress;
  fpga->progress_user = options->progress_user;
  const ufp4_port_t port = fpga_port(fpga);
  status = backend_check_memory(port.memory_base, port.memory_bytes, message);
  // Ends whatever an earlier program left the core doing; the next call reports a failure.
  if (status == UFP4_OK) (void)write_word(fpga, LINK_BOARD_WRITE, LINK_BOARD_CORE_RESET, 1);
  if (status == UFP4_OK) status = core_open(&port, &own, configuration, 0, message, state);
  if (status != UFP4_OK) fpga_close(fpga);
  return status;
}

static ufp4_status_t backend_info(ufp4_backend_state_t *state, ufp4_device_info_t *info) {
  const link_identity_t *board = fpga_identity(core_port_user(state));
  snprintf(info->hardware, sizeof info->hardware,
           "board %s, core at %.2f MHz, %u KiB of %s, link at %u baud with %u frames of %u bytes",
           board->board, (double)board->clock_hz * 1e-6, board->memory_bytes >> 10,
           board->is_sdram ? "SDRAM" : "block RAM", board->baud, board->window, board->data_bytes);
  return core_info(state, info);
}

// Runs the board's own march test over all of its memory.
static ufp4_status_t backend_memory_test(ufp4_backend_state_t *state, ufp4_memory_test_t *result) {
  fpga_t *fpga = core_port_user(state);
  uint32_t control = 0, first = 0, count = 0;
  if (!fpga->identity.has_march) return UFP4_ERROR_UNSUPPORTED;
  ufp4_status_t status = write_word(fpga, LINK_BOARD_WRITE, LINK_BOARD_MARCH, 1);
  if (status == UFP4_OK) status = wait_for_march(fpga, &control);
  if (status == UFP4_OK)
    status = read_word(fpga, LINK_BOARD_READ, LINK_BOARD_MARCH_ADDRESS, &first);
  if (status == UFP4_OK) status = read_word(fpga, LINK_BOARD_READ, LINK_BOARD_MARCH_COUNT, &count);
  if (status != UFP4_OK) return core_fail(state, status);
  result->bytes = fpga->identity.memory_bytes;
  result->address = first;
  result->failed = control & MARCH_FAILED ? count : 0;
  return UFP4_OK;
}

// If the core's own reset does not end, the board takes the core off the bus and resets it.
static ufp4_status_t backend_reset(ufp4_backend_state_t *state) {
  fpga_t *fpga = core_port_user(state);
  ufp4_status_t status = core_reset(state);
  if (status == UFP4_OK || is_lost(fpga)) return status;
  status = write_word(fpga, LINK_BOARD_WRITE, LINK_BOARD_CORE_RESET, 1);
  if (status != UFP4_OK) return core_fail(state, status);
  status = core_reset(state);
  return status == UFP4_OK ? core_set_up(state) : status;
}

const ufp4_backend_t ufp4_backend_fpga = {.name = "fpga",
                                          .open_at = backend_open,
                                          .close = core_close,
                                          .info = backend_info,
                                          .memory_test = backend_memory_test,
                                          .submit = core_submit,
                                          .memory_base = core_memory_base,
                                          .memory_write = core_memory_write,
                                          .memory_read = core_memory_read,
                                          .take = core_take,
                                          .slot_read = core_slot_read,
                                          .counters = core_counters,
                                          .reset = backend_reset};
