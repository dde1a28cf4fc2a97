// SPDX-License-Identifier: Apache-2.0
// The host's end of the board link, against a board in C over a wire in which time is counted and
// bytes get lost.
#include <string.h>

#include "check.h"
#include "wire.h"

// --- Transfers ----------------------------------------------------------------------------------

static void fill(check_random_t *random, uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)check_below(random, 256);
}

static ufp4_status_t write_memory(link_t *link, uint32_t at, const uint8_t *bytes, size_t count) {
  ufp4_status_t status = UFP4_OK;
  for (size_t done = 0; done < count && status == UFP4_OK;) {
    const size_t most = link_data_bytes(link), length = count - done < most ? count - done : most;
    const link_request_t request = {.command = LINK_MEMORY_WRITE,
                                    .address = BASE + at + (uint32_t)done,
                                    .data = bytes + done,
                                    .length = (unsigned)length};
    status = link_send(link, &request);
    done += length;
  }
  return status;
}

static ufp4_status_t read_memory(link_t *link, uint32_t at, uint8_t *bytes, size_t count) {
  ufp4_status_t status = UFP4_OK;
  for (size_t done = 0; done < count && status == UFP4_OK;) {
    const size_t most = link_data_bytes(link), length = count - done < most ? count - done : most;
    const link_request_t request = {.command = LINK_MEMORY_READ,
                                    .address = BASE + at + (uint32_t)done,
                                    .length = (unsigned)length,
                                    .answer = bytes + done,
                                    .answer_bytes = (unsigned)length};
    status = link_send(link, &request);
    done += length;
  }
  return status == UFP4_OK ? link_flush(link) : status;
}

static ufp4_status_t add_register(link_t *link, uint32_t offset, uint8_t value) {
  const uint8_t data[4] = {value};
  return link_send(
      link,
      &(link_request_t){
          .command = LINK_REGISTER_WRITE, .address = offset, .data = data, .length = sizeof data});
}

static void check_once(int64_t index, const wire_t *wire) {
  for (uint64_t i = 1; i < wire->board->executions && i < FAKE_LOG; i++) {
    const uint8_t want = (uint8_t)(wire->board->log[i - 1] + 1);
    if (wire->board->log[i] == 0 && i < 20) continue;  // HELLO once more
    if (!check_bits(index, wire->board->log[i], want, "number executed at place %d", (int)i))
      return;
  }
}

// Random writes and reads, and registers that count them.
static void exercise(int64_t index, wire_t *wire, link_t *link, int rounds, unsigned most) {
  static uint8_t want[MEMORY], got[MEMORY];
  check_random_t random = check_random();
  uint32_t sum = 0;
  memset(want, 0, sizeof want);
  for (int i = 0; i < rounds; i++) {
    const uint32_t at = check_below(&random, MEMORY - most), count = 1 + check_below(&random, most);
    fill(&random, want + at, count);
    check_bits(index, write_memory(link, at, want + at, count), UFP4_OK, "write: %s",
               link_message(link));
    check_bits(index, add_register(link, 8, (uint8_t)i), UFP4_OK, "register");
    sum += (uint8_t)i;
    const uint32_t from = check_below(&random, MEMORY - most);
    check_bits(index, read_memory(link, from, got, count), UFP4_OK, "read: %s", link_message(link));
    check_that(index, memcmp(got, want + from, count) == 0, "round %d: other bytes came back", i);
  }
  check_bits(index, link_flush(link), UFP4_OK, "flush");
  check_that(index, memcmp(want, wire->memory, MEMORY) == 0, "the board's memory differs");
  check_bits(index, wire->registers[2], sum, "sum of the register's writes");
  check_bits(index, wire->register_writes, (uint64_t)rounds, "writes of a register");
  check_once(index, wire);
}

TEST(bytes_arrive) {
  wire_t *wire = wire_open(0, 1);
  const link_options_t options = link_options_default();
  link_t *link = wire_link(wire, &options);
  exercise(0, wire, link, 40, 20000);
  const link_counts_t counts = link_counts(link);
  check_bits(0, counts.frames, counts.requests, "frames");
  check_bits(0, counts.timeouts, 0, "timeouts");
  wire_close(wire, link);
}

/** One byte in 20,000 is dropped, doubled or changed. */
TEST(faults_cost_repeats_and_never_data) {
  for (uint64_t seed = 1; seed <= 6; seed++) {
    wire_t *wire = wire_open(20000, check_stream(seed));
    const link_options_t options = link_options_default();
    link_t *link = wire_link(wire, &options);
    exercise((int64_t)seed, wire, link, 20, 20000);
    check_that((int64_t)seed, wire->to.faults.done + wire->from.faults.done > 5, "%d faults",
               (int)(wire->to.faults.done + wire->from.faults.done));
    wire_close(wire, link);
  }
}

/** One byte in a hundred, with frames of 64 bytes. */
TEST(many_faults_with_short_frames) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    wire_t *wire = wire_open(100, check_stream(seed));
    link_options_t options = link_options_default();
    options.data_bytes = 64;
    link_t *link = wire_link(wire, &options);
    exercise((int64_t)seed, wire, link, 20, 1000);
    check_that((int64_t)seed, wire->board->dropped > 5, "%d frames were dropped",
               (int)wire->board->dropped);
    wire_close(wire, link);
  }
}

/** One byte in 200 of each way: long frames hardly get through, and what the driver sends is short.
 */
TEST(a_line_that_damages_much_gets_short_frames) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    wire_t *wire = wire_open(200, seed);
    const link_options_t options = link_options_default();
    link_t *link = wire_link(wire, &options);
    exercise((int64_t)seed, wire, link, 20, 3000);
    check_that((int64_t)seed, link_data_bytes(link) <= 128, "frames of %u bytes",
               link_data_bytes(link));
    wire_close(wire, link);
  }
}

/** From one moment to the next, with a window of long frames on the way. */
TEST(a_line_that_goes_bad_is_not_given_up) {
  static uint8_t bytes[MEMORY];
  for (uint64_t seed = 1; seed <= 10; seed++) {
    wire_t *wire = wire_open(0, seed);
    const link_options_t options = link_options_default();
    link_t *link = wire_link(wire, &options);
    const int64_t index = (int64_t)seed;
    check_bits(index, write_memory(link, 0, bytes, 64000), UFP4_OK, "write");
    check_bits(index, link_data_bytes(link), LINK_DATA_MAX, "bytes of a frame");
    wire->to.faults.one_in = wire->from.faults.one_in = 200;
    check_bits(index, write_memory(link, 0, bytes, 20000), UFP4_OK, "write: %s",
               link_message(link));
    check_bits(index, link_flush(link), UFP4_OK, "flush: %s", link_message(link));
    wire_close(wire, link);
  }
}

/** And a line that has been mended gets long ones. */
TEST(frames_grow_where_nothing_is_damaged) {
  static uint8_t bytes[MEMORY];
  wire_t *wire = wire_open(100, 1);
  const link_options_t options = link_options_default();
  link_t *link = wire_link(wire, &options);
  check_bits(0, write_memory(link, 0, bytes, 20000), UFP4_OK, "write: %s", link_message(link));
  check_bits(0, link_flush(link), UFP4_OK, "flush: %s", link_message(link));
  check_that(0, link_data_bytes(link) <= 64, "frames of %u bytes", link_data_bytes(link));
  wire->to.faults.one_in = wire->from.faults.one_in = 0;
  check_bits(0, write_memory(link, 0, bytes, 64000), UFP4_OK, "write: %s", link_message(link));
  check_bits(0, link_flush(link), UFP4_OK, "flush: %s", link_message(link));
  check_bits(0, link_data_bytes(link), LINK_DATA_MAX, "bytes of a frame");
  wire_close(wire, link);
}

/** More than once around the numbers, with a window of each size. */
TEST(windows_of_every_size) {
  for (unsigned window = 1; window <= LINK_WINDOW_MAX; window++) {
    wire_t *wire = wire_open(2000, window);
    link_options_t options = link_options_default();
    options.window = window;
    options.data_bytes = 128;
    link_t *link = wire_link(wire, &options);
    exercise(window, wire, link, 12, 10000);
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
  const link_options_t options = link_options_default();
  link_t *link = wire_link(wire, &options);
  fill(&random, bytes, MEMORY);
  uint64_t began = wire->ns;
  check_bits(0, write_memory(link, 0, bytes, MEMORY), UFP4_OK, "write");
  check_bits(0, link_flush(link), UFP4_OK, "flush");
  check_speed("writing", wire, began, MEMORY);
  began = wire->ns;
  check_bits(0, read_memory(link, 0, bytes, MEMORY), UFP4_OK, "read");
  check_speed("reading", wire, began, MEMORY);
  wire_close(wire, link);
}

// --- What ends a link ---------------------------------------------------------------------------

static void check_ended(int64_t index, link_t *link, ufp4_status_t status, const char *words) {
  check_bits(index, status, UFP4_ERROR_DEVICE, "status");
  check_that(index, strstr(link_message(link), words) != NULL, "message '%s' does not say '%s'",
             link_message(link), words);
  check_bits(index, add_register(link, 8, 1), UFP4_ERROR_DEVICE, "afterwards");
  check_bits(index, link_flush(link), UFP4_ERROR_DEVICE, "afterwards");
}

/** Not executed, and said to be what it is. */
TEST(a_reset_ends_the_session) {
  static uint8_t bytes[MEMORY];
  wire_t *wire = wire_open(0, 1);
  const link_options_t options = link_options_default();
  link_t *link = wire_link(wire, &options);
  wire->reset_at = 100;
  ufp4_status_t status = write_memory(link, 0, bytes, MEMORY);
  check_ended(0, link, status, "the board has been reset");
  check_bits(0, wire->board->executions, 100, "requests that were executed");
  wire_close(wire, link);
}

TEST(a_board_of_no_answer_is_given_up) {
  uint8_t bytes[64];
  wire_t *wire = wire_open(0, 1);
  const link_options_t options = link_options_default();
  link_t *link = wire_link(wire, &options);
  check_bits(0, read_memory(link, 0, bytes, 64), UFP4_OK, "read");
  wire->cut = 1;
  const uint64_t began = wire->ns;
  const ufp4_status_t status = read_memory(link, 0x40, bytes, 64);
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
    const link_options_t options = link_options_default();
    const link_stream_t stream = wire_stream(wire);
    link_t *link = link_open(&stream, &options);
    link_identity_t identity;
    for (int i = 0; i < 100 * noise; i++) wire_carry(wire, &wire->from, (uint8_t)(i * 7));
    wire->cut = 1;
    check_ended(noise, link, link_hello(link, &identity),
                noise ? "100 bytes came and none made a frame" : "nothing has been heard");
    wire_close(wire, link);
  }
}

// 20 frames, of which the first have gone out when it returns.
static void begin_writing(wire_t *wire, link_t *link, const uint8_t bytes[20 << 10]) {
  check_bits(0, write_memory(link, 0, bytes, 20 << 10), UFP4_OK, "write: %s", link_message(link));
  wire_pass(wire, 10000000);
}

/** The host does something else for twice its patience, with answers or without. */
TEST(a_pause_of_the_host_loses_nothing) {
  static uint8_t bytes[20 << 10], got[20 << 10];
  check_random_t random = check_random();
  for (unsigned window = 1; window <= LINK_WINDOW_MAX; window++) {
    for (int lost = 0; lost < 2; lost++) {
      wire_t *wire = wire_open(0, 1);
      link_options_t options = link_options_default();
      options.window = window;
      link_t *link = wire_link(wire, &options);
      fill(&random, bytes, sizeof bytes);
      begin_writing(wire, link, bytes);
      if (lost) wire->to.count = wire->from.count = 0;
      check_bits(window, read_memory(link, 0, got, sizeof got), UFP4_OK, "read: %s",
                 link_message(link));
      check_that(window, memcmp(bytes, got, sizeof got) == 0, "other bytes came back");
      check_that(window, link_counts(link).timeouts <= (uint64_t)lost, "%d timeouts",
                 (int)link_counts(link).timeouts);
      wire_close(wire, link);
    }
  }
}

// What is lost is found as soon as ever: the pause was no time there and back.
static void check_soon(int64_t index, wire_t *wire, link_t *link) {
  const uint64_t began = wire->ns;
  check_bits(index, add_register(link, 8, 1), UFP4_OK, "register");
  wire->to.count = 0;
  check_bits(index, link_flush(link), UFP4_OK, "flush: %s", link_message(link));
  check_that(index, wire->ns - began < 300000000u, "%.2f s", (double)(wire->ns - began) * 1e-9);
}

TEST(a_pause_of_the_host_is_not_the_boards) {
  static const uint8_t bytes[20 << 10];
  wire_t *wire = wire_open(0, 1);
  const link_options_t options = link_options_default();
  link_t *link = wire_link(wire, &options);
  begin_writing(wire, link, bytes);
  check_bits(0, link_flush(link), UFP4_OK, "flush: %s", link_message(link));
  check_soon(0, wire, link);
  wire_close(wire, link);
}

/** Nor does one amid a wait: the whole process is stopped. */
TEST(a_stopped_host_loses_nothing) {
  static uint8_t bytes[20 << 10];
  for (uint64_t at = 1; at < 40; at++) {
    wire_t *wire = wire_open(0, 1);
    const link_options_t options = link_options_default();
    link_t *link = wire_link(wire, &options);
    wire->stop_at = wire->exchanges + at;
    wire->stop_loses = at % 2 == 0;
    begin_writing(wire, link, bytes);
    check_bits((int64_t)at, link_flush(link), UFP4_OK, "flush: %s", link_message(link));
    check_that((int64_t)at, wire->exchanges > wire->stop_at, "never stopped");
    check_soon((int64_t)at, wire, link);
    wire_close(wire, link);
  }
}

/** A board that always answers, and never what it should. */
TEST(a_board_out_of_order_is_given_up) {
  uint8_t bytes[64];
  wire_t *wire = wire_open(0, 1);
  const link_options_t options = link_options_default();
  link_t *link = wire_link(wire, &options);
  const uint64_t began = wire->ns;
  wire->board->expected += 100;
  check_ended(0, link, read_memory(link, 0, bytes, 64), "no answer to MEMORY_READ of 64 bytes");
  check_that(0, strstr(link_message(link), "(out of order), 0.0 s ago") != NULL, "message '%s'",
             link_message(link));
  const double seconds = (double)(wire->ns - began) * 1e-9;
  check_that(0, seconds >= 30 && seconds < 32, "%.2f s", seconds);
  wire_close(wire, link);
}

/** A port that can be opened each time, and fails each time. */
TEST(a_stream_that_only_begins_anew_is_given_up) {
  uint8_t bytes[64];
  wire_t *wire = wire_open(0, 1);
  const link_options_t options = link_options_default();
  link_t *link = wire_link(wire, &options);
  wire->always_anew = 1;
  const uint64_t began = wire->ns;
  check_ended(0, link, read_memory(link, 0, bytes, 64), "the port comes and goes, for 30");
  check_that(0, strstr(link_message(link), ": the wire is gone") != NULL, "message '%s'",
             link_message(link));
  const double seconds = (double)(wire->ns - began) * 1e-9;
  check_that(0, seconds >= 30 && seconds < 32, "%.2f s", seconds);
  wire_close(wire, link);
}

TEST(an_interrupted_stream_goes_on) {
  for (uint64_t at = 2; at < 400; at += 7) {
    wire_t *wire = wire_open(0, 1);
    const link_options_t options = link_options_default();
    link_t *link = wire_link(wire, &options);
    wire->anew_at = wire->exchanges + at;
    exercise((int64_t)at, wire, link, 5, 20000);
    check_that((int64_t)at, wire->exchanges > wire->anew_at, "never interrupted");
    wire_close(wire, link);
  }
}

/** What an earlier program left on the way is not taken for an answer. */
TEST(a_new_session_forgets_the_old) {
  static uint8_t bytes[20000], got[20000];
  check_random_t random = check_random();
  wire_t *wire = wire_open(0, 1);
  const link_options_t options = link_options_default();
  for (int i = 0; i < 20; i++) {
    link_t *link = wire_link(wire, &options);
    fill(&random, bytes, sizeof bytes);
    check_bits(i, write_memory(link, 0, bytes, sizeof bytes), UFP4_OK, "write");
    check_bits(i, read_memory(link, 0, got, sizeof got), UFP4_OK, "read");
    check_that(i, memcmp(bytes, got, sizeof got) == 0, "other bytes came back");
    check_bits(i, write_memory(link, 0, got, 1008 * (size_t)(i % 9)), UFP4_OK, "left alone");
    link_close(link);
  }
  wire_close(wire, NULL);
}

/** Nor is the answer to an earlier program's HELLO for one's own. */
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

/** The timeout follows the answers, also where the first ones come after it. */
TEST(a_slow_board_is_waited_for) {
  static uint8_t bytes[MEMORY];
  wire_t *wire = wire_open(0, 1);
  const link_options_t options = link_options_default();
  wire->latency_us = 100000;
  link_t *link = wire_link(wire, &options);
  check_bits(0, write_memory(link, 0, bytes, 8 * 1008), UFP4_OK, "write");
  check_bits(0, link_flush(link), UFP4_OK, "flush");
  wire->latency_us = 400000;
  const link_counts_t before = link_counts(link);
  check_bits(0, write_memory(link, 0, bytes, 100000), UFP4_OK, "write: %s", link_message(link));
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
    const link_options_t options = link_options_default();
    link_t *link = wire_link(wire, &options);
    check_ended((int64_t)i, link, link_call(link, &cases[i].request), cases[i].words);
    wire_close(wire, link);
  }
}

TEST(rejects_another_version) {
  wire_t *wire = wire_open(0, 1);
  const link_options_t options = link_options_default();
  const link_stream_t stream = wire_stream(wire);
  link_t *link = link_open(&stream, &options);
  link_identity_t identity;
  wire->board->version = 2;
  check_ended(0, link, link_hello(link, &identity), "speaks version 2 of the link");
  wire_close(wire, link);
}

TEST(a_board_with_less_gets_less) {
  wire_t *wire = wire_open(0, 1);
  const link_options_t options = link_options_default();
  wire->board->data_bytes = 68;
  wire->board->window = 3;
  link_t *link = wire_link(wire, &options);
  check_bits(0, link_data_bytes(link), 64, "bytes of a frame");
  exercise(0, wire, link, 10, 5000);
  wire_close(wire, link);
}

// --- Waiting ------------------------------------------------------------------------------------

TEST(a_wait_tells_of_the_interrupt) {
  const uint8_t ms[2] = {0xE8, 0x03};
  const link_request_t request = {
      .command = LINK_WAIT, .data = ms, .length = sizeof ms, .extra_us = 1000000};
  wire_t *wire = wire_open(0, 1);
  const link_options_t options = link_options_default();
  link_t *link = wire_link(wire, &options);
  uint64_t began = wire->ns;
  check_bits(0, link_call(link, &request), UFP4_OK, "wait: %s", link_message(link));
  check_bits(0, (uint64_t)link_interrupt(link), 0, "interrupt");
  check_that(0, wire->ns - began >= 1000000000u, "%llu ns", (unsigned long long)(wire->ns - began));
  check_bits(0, add_register(link, 4, 1), UFP4_OK, "raise");
  began = wire->ns;
  check_bits(0, link_call(link, &request), UFP4_OK, "wait: %s", link_message(link));
  check_bits(0, (uint64_t)link_interrupt(link), 1, "interrupt");
  check_that(0, wire->ns - began < 100000000u, "%llu ns", (unsigned long long)(wire->ns - began));
  check_bits(0, link_counts(link).timeouts, 0, "timeouts");
  wire_close(wire, link);
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(bytes_arrive),
      CHECK_TEST(faults_cost_repeats_and_never_data),
      CHECK_TEST(many_faults_with_short_frames),
      CHECK_TEST(a_line_that_damages_much_gets_short_frames),
      CHECK_TEST(a_line_that_goes_bad_is_not_given_up),
      CHECK_TEST(frames_grow_where_nothing_is_damaged),
      CHECK_TEST(windows_of_every_size),
      CHECK_TEST(transfers_fill_the_wire),
      CHECK_TEST(a_reset_ends_the_session),
      CHECK_TEST(a_board_of_no_answer_is_given_up),
      CHECK_TEST(a_wire_without_a_board_says_what_came),
      CHECK_TEST(a_pause_of_the_host_loses_nothing),
      CHECK_TEST(a_pause_of_the_host_is_not_the_boards),
      CHECK_TEST(a_stopped_host_loses_nothing),
      CHECK_TEST(a_board_out_of_order_is_given_up),
      CHECK_TEST(a_stream_that_only_begins_anew_is_given_up),
      CHECK_TEST(an_interrupted_stream_goes_on),
      CHECK_TEST(a_new_session_forgets_the_old),
      CHECK_TEST(a_late_identity_is_another_sessions),
      CHECK_TEST(a_slow_board_is_waited_for),
      CHECK_TEST(rejects_refusals_and_errors_of_the_bus),
      CHECK_TEST(rejects_another_version),
      CHECK_TEST(a_board_with_less_gets_less),
      CHECK_TEST(a_wait_tells_of_the_interrupt),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
