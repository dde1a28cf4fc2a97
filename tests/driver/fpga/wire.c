// SPDX-License-Identifier: Apache-2.0
#include "wire.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

#define LATENCY_US 1000u

void wire_carry(wire_t *wire, way_t *way, uint8_t byte) {
  uint8_t bytes[2];
  const unsigned count = fake_faults_apply(&way->faults, byte, bytes);
  if (way->free_at < wire->ns) way->free_at = wire->ns;
  way->free_at += BYTE_NS;
  way->carried++;
  for (unsigned i = 0; i < count && !wire->cut && way->count < 4 * BUFFER; i++) {
    const unsigned at = (way->first + way->count++) % (4 * BUFFER);
    way->bytes[at] = bytes[i];
    way->arrival[at] = way->free_at + wire->latency_us * 1000;
  }
}

static int arrived(const wire_t *wire, const way_t *way) {
  return way->count > 0 && way->arrival[way->first] <= wire->ns;
}

static uint8_t take(way_t *way) {
  const uint8_t byte = way->bytes[way->first];
  way->first = (way->first + 1) % (4 * BUFFER);
  way->count--;
  return byte;
}

// Lets the board handle the bytes that have arrived.
static void work(wire_t *wire) {
  while (arrived(wire, &wire->to)) {
    fake_board_byte(wire->board, take(&wire->to));
    if (wire->reset_at != 0 && wire->board->executions >= wire->reset_at) {
      fake_board_reset(wire->board);
      wire->reset_at = 0;
    }
  }
  size_t said = 0;
  while (said < wire->board->out_bytes && wire->from.count < 3 * BUFFER)
    wire_carry(wire, &wire->from, wire->board->out[said++]);
  fake_board_take(wire->board, said);
}

static uint64_t next_event(const wire_t *wire, uint64_t limit) {
  const way_t *ways[] = {&wire->to, &wire->from};
  for (int i = 0; i < 2 - wire->deaf; i++) {
    if (ways[i]->count > 0 && ways[i]->arrival[ways[i]->first] < limit)
      limit = ways[i]->arrival[ways[i]->first];
  }
  return limit;
}

void wire_pass(wire_t *wire, uint64_t us) {
  const uint64_t end = wire->ns + us * 1000;
  for (work(wire); wire->ns < end; work(wire))
    wire->ns = wire->to.count > 0 && wire->to.arrival[wire->to.first] < end
                   ? wire->to.arrival[wire->to.first]
                   : end;
}

static link_stream_status_t exchange(void *user, const uint8_t *out, size_t out_bytes,
                                     size_t *taken, uint8_t *in, size_t in_bytes, size_t *got,
                                     uint64_t timeout_us) {
  wire_t *wire = user;
  const uint64_t end = wire->ns + timeout_us * 1000;
  wire->exchanges++;
  if (wire->exchanges == wire->stop_at) {
    wire_pass(wire, 10000000);
    if (wire->stop_loses) wire->to.count = wire->from.count = 0;
    return LINK_STREAM_OK;
  }
  if (wire->always_anew) wire_pass(wire, 100000);
  if (wire->always_anew || wire->exchanges == wire->anew_at) {
    wire->to.count = wire->from.count = 0;
    return LINK_STREAM_ANEW;
  }
  for (;;) {
    work(wire);
    while (*taken < out_bytes && wire->to.free_at < wire->ns + (uint64_t)BUFFER * BYTE_NS)
      wire_carry(wire, &wire->to, out[(*taken)++]);
    while (*got < in_bytes && !wire->deaf && arrived(wire, &wire->from))
      in[(*got)++] = take(&wire->from);
    if (*taken > 0 || *got > 0 || wire->ns >= end) return LINK_STREAM_OK;
    wire->ns = next_event(wire, out_bytes > 0 && wire->ns + 100000 < end ? wire->ns + 100000 : end);
  }
}

static uint64_t wire_now(void *user) {
  return ((wire_t *)user)->ns / 1000;
}

static const char *wire_message(void *user) {
  (void)user;
  return "the wire is gone";
}

link_stream_t wire_stream(wire_t *wire) {
  return (link_stream_t){
      .user = wire, .exchange = exchange, .now = wire_now, .message = wire_message};
}

// --- Behind the board ---------------------------------------------------------------------------

static int register_read(void *user, uint32_t offset, uint32_t *value) {
  *value = offset / 4 < REGISTERS ? ((wire_t *)user)->registers[offset / 4] : 0;
  return offset / 4 < REGISTERS;
}

static int register_write(void *user, uint32_t offset, uint32_t value) {
  wire_t *wire = user;
  wire->register_writes++;
  if (offset / 4 < REGISTERS)
    wire->registers[offset / 4] += value;  // adding shows a write that is
                                           // executed twice
  return offset / 4 < REGISTERS;
}

static uint8_t *memory(void *user, uint32_t address, uint32_t bytes) {
  wire_t *wire = user;
  return address >= BASE && bytes <= MEMORY && address - BASE <= MEMORY - bytes
             ? wire->memory + (address - BASE)
             : NULL;
}

static int level(void *user, unsigned ms) {
  wire_t *wire = user;
  if (wire->registers[1] == 0) wire->ns += ms * 1000000u;
  return wire->registers[1] != 0;
}

wire_t *wire_open(uint32_t one_in, uint64_t seed) {
  wire_t *wire = calloc(1, sizeof *wire);
  check_that(0, wire != NULL, "no memory");
  const fake_core_t core = {.user = wire,
                            .memory_base = BASE,
                            .memory_bytes = MEMORY,
                            .register_read = register_read,
                            .register_write = register_write,
                            .memory = memory,
                            .wait = level};
  wire->ns = 1000000000u;
  wire->latency_us = LATENCY_US;
  wire->board = fake_board_open(&core);
  wire->to.faults = (fake_faults_t){.state = 2 * seed + 1, .one_in = one_in};
  wire->from.faults = (fake_faults_t){.state = ~seed, .one_in = one_in};
  return wire;
}

void wire_close(wire_t *wire, link_t *link) {
  link_close(link);
  fake_board_close(wire->board);
  free(wire);
}

link_t *wire_stranger(wire_t *wire, const link_options_t *options) {
  const link_options_t usual = link_options_default();
  const link_stream_t stream = wire_stream(wire);
  link_t *link = link_open(&stream, options != NULL ? options : &usual);
  check_that(0, link != NULL, "no memory");
  return link;
}

link_t *wire_link(wire_t *wire, const link_options_t *options) {
  link_t *link = wire_stranger(wire, options);
  link_identity_t identity;
  check_bits(0, link_hello(link, &identity), UFP4_OK, "hello: %s", link_message(link));
  check_bits(0, identity.memory_bytes, MEMORY, "memory");
  check_that(0, strcmp(identity.board, "fake") == 0, "board %s", identity.board);
  return link;
}
