// SPDX-License-Identifier: Apache-2.0
#include "transfer.h"

#include <string.h>

void transfer_fill(check_random_t *random, uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)check_below(random, 256);
}

ufp4_status_t transfer_write(link_t *link, uint32_t address, const uint8_t *bytes, size_t count) {
  ufp4_status_t status = UFP4_OK;
  for (size_t done = 0; done < count && status == UFP4_OK;) {
    const size_t most = link_data_bytes(link), length = count - done < most ? count - done : most;
    const link_request_t request = {.command = LINK_MEMORY_WRITE,
                                    .address = BASE + address + (uint32_t)done,
                                    .data = bytes + done,
                                    .length = (unsigned)length};
    status = link_send(link, &request);
    done += length;
  }
  return status;
}

ufp4_status_t transfer_read(link_t *link, uint32_t address, uint8_t *bytes, size_t count) {
  ufp4_status_t status = UFP4_OK;
  for (size_t done = 0; done < count && status == UFP4_OK;) {
    const size_t most = link_data_bytes(link), length = count - done < most ? count - done : most;
    const link_request_t request = {.command = LINK_MEMORY_READ,
                                    .address = BASE + address + (uint32_t)done,
                                    .length = (unsigned)length,
                                    .answer = bytes + done,
                                    .answer_bytes = (unsigned)length};
    status = link_send(link, &request);
    done += length;
  }
  return status == UFP4_OK ? link_flush(link) : status;
}

ufp4_status_t transfer_register(link_t *link, uint32_t offset, uint8_t value) {
  const uint8_t data[4] = {value};
  return link_send(
      link,
      &(link_request_t){
          .command = LINK_REGISTER_WRITE, .address = offset, .data = data, .length = sizeof data});
}

static void check_once(int64_t index, const wire_t *wire) {
  for (uint64_t i = 1; i < wire->board->executions && i < FAKE_LOG; i++) {
    const uint8_t want = (uint8_t)(wire->board->log[i - 1] + 1);
    if (wire->board->log[i] == 0 && i < 20) continue;  // HELLO was sent again
    if (!check_bits(index, wire->board->log[i], want, "number executed at place %d", (int)i))
      return;
  }
}

void transfer_exercise(int64_t index, wire_t *wire, link_t *link, int rounds, unsigned most) {
  static uint8_t want[MEMORY], got[MEMORY];
  check_random_t random = check_random();
  uint32_t sum = 0;
  memset(want, 0, sizeof want);
  for (int i = 0; i < rounds; i++) {
    const uint32_t at = check_below(&random, MEMORY - most), count = 1 + check_below(&random, most);
    transfer_fill(&random, want + at, count);
    check_bits(index, transfer_write(link, at, want + at, count), UFP4_OK, "write: %s",
               link_message(link));
    check_bits(index, transfer_register(link, 8, (uint8_t)i), UFP4_OK, "register");
    sum += (uint8_t)i;
    const uint32_t from = check_below(&random, MEMORY - most);
    check_bits(index, transfer_read(link, from, got, count), UFP4_OK, "read: %s",
               link_message(link));
    check_that(index, memcmp(got, want + from, count) == 0, "round %d: other bytes came back", i);
  }
  check_bits(index, link_flush(link), UFP4_OK, "flush");
  check_that(index, memcmp(want, wire->memory, MEMORY) == 0, "the board's memory differs");
  check_bits(index, wire->registers[2], sum, "sum of the register's writes");
  check_bits(index, wire->register_writes, (uint64_t)rounds, "writes of a register");
  check_once(index, wire);
}
