// SPDX-License-Identifier: Apache-2.0
// Tests what ends a session of the board link, at the host's end, and what does not.
#include <string.h>

#include "check.h"
#include "transfer.h"
#include "wire.h"

static void check_ended(int64_t index, link_t *link, ufp4_status_t status, const char *words) {
  check_bits(index, status, UFP4_ERROR_DEVICE, "status");
  check_that(index, strstr(link_message(link), words) != NULL, "message '%s' does not say '%s'",
             link_message(link), words);
  check_bits(index, transfer_register(link, 8, 1), UFP4_ERROR_DEVICE, "afterwards");
  check_bits(index, link_flush(link), UFP4_ERROR_DEVICE, "afterwards");
}

/** The request is not executed, and the message says that the board was reset. */
TEST(a_reset_ends_the_session) {
  static uint8_t bytes[MEMORY];
  wire_t *wire = wire_open(0, 1);
  link_t *link = wire_link(wire, NULL);
  wire->reset_at = 100;
  ufp4_status_t status = transfer_write(link, 0, bytes, MEMORY);
  check_ended(0, link, status, "the board has been reset");
  check_bits(0, wire->board->executions, 100, "requests that were executed");
  wire_close(wire, link);
}

TEST(a_board_of_no_answer_is_given_up) {
  uint8_t bytes[64];
  wire_t *wire = wire_open(0, 1);
  link_t *link = wire_link(wire, NULL);
  check_bits(0, transfer_read(link, 0, bytes, 64), UFP4_OK, "read");
  wire->cut = 1;
  const uint64_t began = wire->ns;
  const ufp4_status_t status = transfer_read(link, 0x40, bytes, 64);
  check_ended(0, link, status, "no answer to MEMORY_READ of 64 bytes at 0x1040 for 5");
  check_that(0, strstr(link_message(link), "last heard: answer 1 (ok), 5") != NULL, "message '%s'",
             link_message(link));
  const double seconds = (double)(wire->ns - began) * 1e-9;
  check_that(0, seconds >= 5 && seconds < 8, "%.2f s", seconds);
  wire_close(wire, link);
}

TEST(a_wire_without_a_board_says_what_came) {
  for (int noise = 0; noise < 2; noise++) {
    wire_t *wire = wire_open(0, 1);
    link_t *link = wire_stranger(wire, NULL);
    link_identity_t identity;
    for (int i = 0; i < 100 * noise; i++) wire_carry(wire, &wire->from, (uint8_t)(i * 7));
    wire->cut = 1;
    check_ended(noise, link, link_hello(link, &identity),
                noise ? "100 bytes came, but no valid frame" : "the board has sent nothing");
    wire_close(wire, link);
  }
}

// Writes 20 frames, the first of which have been sent when it returns.
static void begin_writing(wire_t *wire, link_t *link, const uint8_t bytes[20 << 10]) {
  check_bits(0, transfer_write(link, 0, bytes, 20 << 10), UFP4_OK, "write: %s", link_message(link));
  wire_pass(wire, 10000000);
}

/** The host pauses for twice its patience; bytes on the way are lost or wait. */
TEST(a_pause_of_the_host_loses_nothing) {
  static uint8_t bytes[20 << 10], got[20 << 10];
  check_random_t random = check_random();
  for (unsigned window = 1; window <= LINK_WINDOW_MAX; window++) {
    for (int lost = 0; lost < 2; lost++) {
      wire_t *wire = wire_open(0, 1);
      link_options_t options = link_options_default();
      options.window = window;
      link_t *link = wire_link(wire, &options);
      transfer_fill(&random, bytes, sizeof bytes);
      begin_writing(wire, link, bytes);
      if (lost) wire->to.count = wire->from.count = 0;
      check_bits(window, transfer_read(link, 0, got, sizeof got), UFP4_OK, "read: %s",
                 link_message(link));
      check_that(window, memcmp(bytes, got, sizeof got) == 0, "other bytes came back");
      check_that(window, link_counts(link).timeouts <= (uint64_t)lost, "%d timeouts",
                 (int)link_counts(link).timeouts);
      wire_close(wire, link);
    }
  }
}

// Checks that a loss is found as soon as usual, because the pause does not count as round-trip
// time.
static void check_soon(int64_t index, wire_t *wire, link_t *link) {
  const uint64_t began = wire->ns;
  check_bits(index, transfer_register(link, 8, 1), UFP4_OK, "register");
  wire->to.count = 0;
  check_bits(index, link_flush(link), UFP4_OK, "flush: %s", link_message(link));
  check_that(index, wire->ns - began < 300000000u, "%.2f s", (double)(wire->ns - began) * 1e-9);
}

TEST(a_pause_of_the_host_is_not_the_boards) {
  static const uint8_t bytes[20 << 10];
  wire_t *wire = wire_open(0, 1);
  link_t *link = wire_link(wire, NULL);
  begin_writing(wire, link, bytes);
  check_bits(0, link_flush(link), UFP4_OK, "flush: %s", link_message(link));
  check_soon(0, wire, link);
  wire_close(wire, link);
}

/** The whole process is stopped in the middle of a wait, which loses nothing either. */
TEST(a_stopped_host_loses_nothing) {
  static uint8_t bytes[20 << 10];
  for (uint64_t at = 1; at < 40; at++) {
    wire_t *wire = wire_open(0, 1);
    link_t *link = wire_link(wire, NULL);
    wire->stop_at = wire->exchanges + at;
    wire->stop_loses = at % 2 == 0;
    begin_writing(wire, link, bytes);
    check_bits((int64_t)at, link_flush(link), UFP4_OK, "flush: %s", link_message(link));
    check_that((int64_t)at, wire->exchanges > wire->stop_at, "never stopped");
    check_soon((int64_t)at, wire, link);
    wire_close(wire, link);
  }
}

/** The board always answers, but never with the expected answer. */
TEST(a_board_out_of_order_is_given_up) {
  uint8_t bytes[64];
  wire_t *wire = wire_open(0, 1);
  link_t *link = wire_link(wire, NULL);
  const uint64_t began = wire->ns;
  wire->board->expected += 100;
  check_ended(0, link, transfer_read(link, 0, bytes, 64), "no answer to MEMORY_READ of 64 bytes");
  check_that(0, strstr(link_message(link), "(out of order), 0.0 s ago") != NULL, "message '%s'",
             link_message(link));
  const double seconds = (double)(wire->ns - began) * 1e-9;
  check_that(0, seconds >= 30 && seconds < 32, "%.2f s", seconds);
  wire_close(wire, link);
}

/** The port can be opened each time, but fails each time. */
TEST(a_stream_that_only_begins_anew_is_given_up) {
  uint8_t bytes[64];
  wire_t *wire = wire_open(0, 1);
  link_t *link = wire_link(wire, NULL);
  wire->always_anew = 1;
  const uint64_t began = wire->ns;
  check_ended(0, link, transfer_read(link, 0, bytes, 64),
              "the port disconnects again and again; no answer for 30");
  check_that(0, strstr(link_message(link), ": the wire is gone") != NULL, "message '%s'",
             link_message(link));
  const double seconds = (double)(wire->ns - began) * 1e-9;
  check_that(0, seconds >= 30 && seconds < 32, "%.2f s", seconds);
  wire_close(wire, link);
}

TEST(an_interrupted_stream_goes_on) {
  for (uint64_t at = 2; at < 400; at += 7) {
    wire_t *wire = wire_open(0, 1);
    link_t *link = wire_link(wire, NULL);
    wire->anew_at = wire->exchanges + at;
    transfer_exercise((int64_t)at, wire, link, 5, 20000);
    check_that((int64_t)at, wire->exchanges > wire->anew_at, "never interrupted");
    wire_close(wire, link);
  }
}

/** Answers that an earlier program left on the way are ignored. */
TEST(a_new_session_forgets_the_old) {
  static uint8_t bytes[20000], got[20000];
  check_random_t random = check_random();
  wire_t *wire = wire_open(0, 1);
  for (int i = 0; i < 20; i++) {
    link_t *link = wire_link(wire, NULL);
    transfer_fill(&random, bytes, sizeof bytes);
    check_bits(i, transfer_write(link, 0, bytes, sizeof bytes), UFP4_OK, "write");
    check_bits(i, transfer_read(link, 0, got, sizeof got), UFP4_OK, "read");
    check_that(i, memcmp(bytes, got, sizeof got) == 0, "other bytes came back");
    check_bits(i, transfer_write(link, 0, got, 1008 * (size_t)(i % 9)), UFP4_OK, "left alone");
    link_close(link);
  }
  wire_close(wire, NULL);
}

/** The answer to an earlier program's HELLO is ignored. */
TEST(a_late_identity_is_another_sessions) {
  wire_t *wire = wire_open(0, 1);
  link_options_t options = link_options_default();
  const link_stream_t stream = wire_stream(wire);
  link_identity_t identity;
  options.patience_us = 0;
  wire->deaf = 1;
  link_t *first = link_open(&stream, &options);
  check_bits(0, link_hello(first, &identity), UFP4_ERROR_DEVICE, "hello that hears nothing");
  link_close(first);
  check_that(0, wire->from.count > 44, "%d bytes are on the way", (int)wire->from.count);
  wire->deaf = 0;
  wire->board->data_bytes = 64;
  options = link_options_default();
  link_t *link = wire_link(wire, &options);
  check_bits(0, link_data_bytes(link), 64, "bytes of a frame");
  wire_close(wire, link);
}

/** The old answer is whole, has the number of the waiting request and holds older data: it is 256
 * requests late, or from an earlier session. */
TEST(an_old_answer_is_not_new) {
  for (int anew = 0; anew < 2; anew++) {
    uint8_t old[64], got[8];
    wire_t *wire = wire_open(0, 1);
    link_t *link = wire_link(wire, NULL), *before = NULL;
    const unsigned began = wire->from.first, number = wire->board->expected;
    memset(wire->memory, 1, 8);
    check_bits(anew, transfer_read(link, 0, got, 8), UFP4_OK, "read");
    const unsigned bytes = wire->from.first - began;
    check_that(anew, bytes >= 18 && bytes <= sizeof old, "an answer of %u bytes", bytes);
    memcpy(old, wire->from.bytes + began, bytes);
    for (unsigned n = 0; n < 255 && !anew; n++) {
      check_bits(n, transfer_register(link, 8, 1), UFP4_OK, "register");
      check_bits(n, link_flush(link), UFP4_OK, "flush");
    }
    if (anew) before = link, link = wire_link(wire, NULL);
    check_bits(anew, (uint8_t)wire->board->expected, number, "number");
    memset(wire->memory, 2, 8);
    for (unsigned i = 0; i < bytes; i++) wire_carry(wire, &wire->from, old[i]);
    check_bits(anew, transfer_read(link, 0, got, 8), UFP4_OK, "read: %s", link_message(link));
    check_bits(anew, got[0], 2, "byte read");
    check_bits(anew, link_counts(link).dropped, 1, "frames dropped");
    link_close(before);
    wire_close(wire, link);
  }
}

TEST(a_slow_board_is_waited_for) {
  static uint8_t bytes[MEMORY];
  wire_t *wire = wire_open(0, 1);
  wire->latency_us = 100000;
  link_t *link = wire_link(wire, NULL);
  check_bits(0, transfer_write(link, 0, bytes, 8 * 1008), UFP4_OK, "write");
  check_bits(0, link_flush(link), UFP4_OK, "flush");
  wire->latency_us = 400000;
  const link_counts_t before = link_counts(link);
  check_bits(0, transfer_write(link, 0, bytes, 100000), UFP4_OK, "write: %s", link_message(link));
  check_bits(0, link_flush(link), UFP4_OK, "flush");
  const link_counts_t counts = link_counts(link);
  check_that(0, counts.timeouts - before.timeouts < 8, "%d timeouts",
             (int)(counts.timeouts - before.timeouts));
  check_that(0, counts.frames - before.frames < 3 * (counts.requests - before.requests),
             "%d frames for %d requests", (int)(counts.frames - before.frames),
             (int)(counts.requests - before.requests));
  wire_close(wire, link);
}

TEST(rejects_refusals_and_errors_of_the_bus) {
  static const struct {
    link_request_t request;
    const char *words;
  } cases[] = {
      {{.command = LINK_MEMORY_READ, .address = 0, .length = 8, .answer_bytes = 8},
       "'refused' to MEMORY_READ of 8 bytes at 0x0"},
      {{.command = LINK_REGISTER_READ, .address = 4096, .length = 4, .answer_bytes = 4},
       "'bus error' to REGISTER_READ of 4 bytes at 0x1000"},
      {{.command = LINK_BOARD_READ, .address = 2, .length = 4, .answer_bytes = 4},
       "'refused' to BOARD_READ"},
      {{.command = LINK_PING, .data = "abcd", .length = 4, .answer_bytes = 0},
       "answers 4 bytes to PING, not 0"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    wire_t *wire = wire_open(0, 1);
    link_t *link = wire_link(wire, NULL);
    check_ended((int64_t)i, link, link_call(link, &cases[i].request), cases[i].words);
    wire_close(wire, link);
  }
}

TEST(rejects_another_version) {
  wire_t *wire = wire_open(0, 1);
  link_t *link = wire_stranger(wire, NULL);
  link_identity_t identity;
  wire->board->version = 1;
  check_ended(0, link, link_hello(link, &identity), "speaks version 1 of the link");
  wire_close(wire, link);
}

TEST(a_board_with_less_gets_less) {
  wire_t *wire = wire_open(0, 1);
  wire->board->data_bytes = 68;
  wire->board->window = 3;
  link_t *link = wire_link(wire, NULL);
  check_bits(0, link_data_bytes(link), 64, "bytes of a frame");
  transfer_exercise(0, wire, link, 10, 5000);
  wire_close(wire, link);
}
