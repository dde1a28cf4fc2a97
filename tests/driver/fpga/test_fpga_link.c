// SPDX-License-Identifier: Apache-2.0
// Tests the host's end of the board link against a board in C, over a wire that counts time and
// loses bytes.
#include <string.h>

#include "check.h"
#include "transfer.h"
#include "wire.h"

// --- Transfers ----------------------------------------------------------------------------------

TEST(bytes_arrive) {
  wire_t *wire = wire_open(0, 1);
  link_t *link = wire_link(wire, NULL);
  transfer_exercise(0, wire, link, 40, 20000);
  const link_counts_t counts = link_counts(link);
  check_bits(0, counts.frames, counts.requests, "frames");
  check_bits(0, counts.timeouts, 0, "timeouts");
  wire_close(wire, link);
}

/** One byte in 20,000 is dropped, doubled or changed. */
TEST(faults_cost_repeats_and_never_data) {
  for (uint64_t seed = 1; seed <= 6; seed++) {
    wire_t *wire = wire_open(20000, check_stream(seed));
    link_t *link = wire_link(wire, NULL);
    transfer_exercise((int64_t)seed, wire, link, 20, 20000);
    check_that((int64_t)seed, wire->to.faults.done + wire->from.faults.done > 5, "%d faults",
               (int)(wire->to.faults.done + wire->from.faults.done));
    wire_close(wire, link);
  }
}

/** One byte in a hundred is damaged; frames have 64 bytes. */
TEST(many_faults_with_short_frames) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    wire_t *wire = wire_open(100, check_stream(seed));
    link_options_t options = link_options_default();
    options.data_bytes = 64;
    link_t *link = wire_link(wire, &options);
    transfer_exercise((int64_t)seed, wire, link, 20, 1000);
    check_that((int64_t)seed, wire->board->dropped > 5, "%d frames were dropped",
               (int)wire->board->dropped);
    wire_close(wire, link);
  }
}

/** One byte in 200 is damaged in each direction, so that few long frames get through and the driver
 * sends short ones. */
TEST(a_line_that_damages_much_gets_short_frames) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    wire_t *wire = wire_open(200, check_stream(seed));
    link_t *link = wire_link(wire, NULL);
    transfer_exercise((int64_t)seed, wire, link, 20, 3000);
    check_that((int64_t)seed, link_data_bytes(link) <= 128, "frames of %u bytes",
               link_data_bytes(link));
    wire_close(wire, link);
  }
}

/** Three bytes in a hundred are damaged in each direction from the beginning. A repeated frame
 * keeps its length, so a new session starts with short frames. On one line in eight no HELLO gets
 * through within the driver's patience. */
TEST(a_line_that_damages_three_in_a_hundred_serves) {
  int opened = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    static uint8_t bytes[MEMORY], back[MEMORY];
    wire_t *wire = wire_open(33, check_stream(seed));
    const link_stream_t stream = wire_stream(wire);
    const link_options_t options = link_options_default();
    link_t *link = link_open(&stream, &options);
    link_identity_t board;
    for (unsigned i = 0; i < 3000; i++) bytes[i] = (uint8_t)(i * 7 + seed);
    const int opens = link_hello(link, &board) == UFP4_OK;
    ufp4_status_t status = opens ? transfer_write(link, 0, bytes, 3000) : UFP4_ERROR_DEVICE;
    if (status == UFP4_OK) status = transfer_read(link, 0, back, 3000);
    if (status == UFP4_OK) status = link_flush(link);
    check_that((int64_t)seed, !opens || status == UFP4_OK, "%s", link_message(link));
    check_that((int64_t)seed, status != UFP4_OK || memcmp(bytes, back, 3000) == 0, "data");
    opened += opens;
    wire_close(wire, link);
  }
  check_that(0, opened >= 10, "%d of 20 sessions", opened);
}

/** The line goes bad in an instant, with a window of long frames on the way, of which one in 160
 * gets through. One line in some hundreds is silent for all of the driver's patience. */
TEST(a_line_that_goes_bad_is_not_given_up) {
  static uint8_t bytes[MEMORY];
  int given_up = 0;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    wire_t *wire = wire_open(0, check_stream(seed));
    link_t *link = wire_link(wire, NULL);
    const int64_t index = (int64_t)seed;
    check_bits(index, transfer_write(link, 0, bytes, 64000), UFP4_OK, "write");
    check_bits(index, link_data_bytes(link), LINK_DATA_MAX, "bytes of a frame");
    wire->to.faults.one_in = wire->from.faults.one_in = 200;
    ufp4_status_t status = transfer_write(link, 0, bytes, 20000);
    if (status == UFP4_OK) status = link_flush(link);
    check_that(index, status == UFP4_OK || strstr(link_message(link), "no answer to") != NULL,
               "status %d: %s", (int)status, link_message(link));
    given_up += status != UFP4_OK;
    wire_close(wire, link);
  }
  check_that(0, given_up <= 2, "%d of 10 lines were given up", given_up);
}

/** Once the line is mended, frames grow to full length again. */
TEST(frames_grow_where_nothing_is_damaged) {
  static uint8_t bytes[MEMORY];
  wire_t *wire = wire_open(100, check_stream(1));
  link_t *link = wire_link(wire, NULL);
  check_bits(0, transfer_write(link, 0, bytes, 20000), UFP4_OK, "write: %s", link_message(link));
  check_bits(0, link_flush(link), UFP4_OK, "flush: %s", link_message(link));
  check_that(0, link_data_bytes(link) <= 64, "frames of %u bytes", link_data_bytes(link));
  wire->to.faults.one_in = wire->from.faults.one_in = 0;
  check_bits(0, transfer_write(link, 0, bytes, 64000), UFP4_OK, "write: %s", link_message(link));
  check_bits(0, link_flush(link), UFP4_OK, "flush: %s", link_message(link));
  check_bits(0, link_data_bytes(link), LINK_DATA_MAX, "bytes of a frame");
  wire_close(wire, link);
}

/** The numbers wrap around more than once with a window of each size. */
TEST(windows_of_every_size) {
  for (unsigned window = 1; window <= LINK_WINDOW_MAX; window++) {
    wire_t *wire = wire_open(2000, check_stream(window));
    link_options_t options = link_options_default();
    options.window = window;
    options.data_bytes = 128;
    link_t *link = wire_link(wire, &options);
    transfer_exercise(window, wire, link, 12, 10000);
    wire_close(wire, link);
  }
}

// --- Speed --------------------------------------------------------------------------------------

static void check_speed(const char *what, const wire_t *wire, uint64_t began, uint64_t bytes) {
  const double least = (double)bytes * BYTE_NS, took = (double)(wire->ns - began);
  check_that(0, least > 0.9 * took, "%s: %.1f %% of the wire", what, 100 * least / took);
}

TEST(transfers_fill_the_wire) {
  static uint8_t bytes[MEMORY];
  check_random_t random = check_random();
  wire_t *wire = wire_open(0, 1);
  link_t *link = wire_link(wire, NULL);
  transfer_fill(&random, bytes, MEMORY);
  uint64_t began = wire->ns;
  check_bits(0, transfer_write(link, 0, bytes, MEMORY), UFP4_OK, "write");
  check_bits(0, link_flush(link), UFP4_OK, "flush");
  check_speed("writing", wire, began, MEMORY);
  began = wire->ns;
  check_bits(0, transfer_read(link, 0, bytes, MEMORY), UFP4_OK, "read");
  check_speed("reading", wire, began, MEMORY);
  wire_close(wire, link);
}

// --- Waiting ------------------------------------------------------------------------------------

TEST(a_wait_tells_of_the_interrupt) {
  const uint8_t ms[2] = {0xE8, 0x03};
  const link_request_t request = {
      .command = LINK_WAIT, .data = ms, .length = sizeof ms, .extra_us = 1000000};
  wire_t *wire = wire_open(0, 1);
  link_t *link = wire_link(wire, NULL);
  uint64_t began = wire->ns;
  check_bits(0, link_call(link, &request), UFP4_OK, "wait: %s", link_message(link));
  check_bits(0, (uint64_t)link_interrupt(link), 0, "interrupt");
  check_that(0, wire->ns - began >= 1000000000u, "%llu ns", (unsigned long long)(wire->ns - began));
  check_bits(0, transfer_register(link, 4, 1), UFP4_OK, "raise");
  began = wire->ns;
  check_bits(0, link_call(link, &request), UFP4_OK, "wait: %s", link_message(link));
  check_bits(0, (uint64_t)link_interrupt(link), 1, "interrupt");
  check_that(0, wire->ns - began < 100000000u, "%llu ns", (unsigned long long)(wire->ns - began));
  check_bits(0, link_counts(link).timeouts, 0, "timeouts");
  wire_close(wire, link);
}
