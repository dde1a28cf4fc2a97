// SPDX-License-Identifier: Apache-2.0
// Tests device memory: allocation, and access from the host.
#include <stdlib.h>
#include <string.h>

#include "port/backend.h"
#include "stand.h"

#define FIRST (UFP4_MEMORY_BASE + UFP4_MEMORY_RESERVED_BYTES)

TEST(addresses_are_aligned_and_apart) {
  ufp4_device_t *device = stand_device();
  check_random_t random = check_random();
  uint64_t end = FIRST;
  for (int i = 0; i < 200; i++) {
    uint64_t bytes = 1 + check_below(&random, 5000), address = stand_alloc(device, bytes);
    check_bits(i, address % UFP4_ALIGN_BYTES, 0, "alignment of 0x%llx",
               (unsigned long long)address);
    check_that(i, address >= end, "0x%llx overlaps the buffer before it",
               (unsigned long long)address);
    end = address + bytes;
  }
  ufp4_device_close(device);
}

TEST(first_fit_reuses_what_was_freed) {
  ufp4_device_t *device = stand_device();
  uint64_t a = stand_alloc(device, 1000), b = stand_alloc(device, 300),
           c = stand_alloc(device, 1000);
  ufp4_buffer_free(device, b);
  check_bits(0, stand_alloc(device, 385) > c, 1, "385 bytes do not fit in the gap of 384");
  check_bits(1, stand_alloc(device, 384), b, "384 bytes fit");
  ufp4_buffer_free(device, a);
  check_bits(2, stand_alloc(device, 1), FIRST, "the first gap");
  ufp4_device_close(device);
}

TEST(random_use_leaves_all_memory_free) {
  ufp4_device_t *device = stand_device();
  check_random_t random = check_random();
  uint64_t live[32] = {0}, all;
  for (int i = 0; i < 3000; i++) {
    uint64_t *slot = &live[check_below(&random, 32)];
    if (*slot != 0) ufp4_buffer_free(device, *slot);
    *slot = stand_alloc(device, 1 + check_below(&random, 100000));
    for (int j = 0; j < 32; j++)
      check_that(i, &live[j] == slot || live[j] != *slot, "one address twice");
  }
  for (int j = 0; j < 32; j++) ufp4_buffer_free(device, live[j]);
  uint64_t whole = stand_options().memory_bytes - UFP4_MEMORY_RESERVED_BYTES;
  check_bits(0, ufp4_buffer_alloc(device, whole, &all), UFP4_OK, "all of it: %s",
             ufp4_device_message(device));
  ufp4_device_close(device);
}

TEST(bytes_read_back) {
  ufp4_device_t *device = stand_device();
  check_random_t random = check_random();
  uint64_t address = stand_alloc(device, 4096);
  uint8_t shadow[4096] = {0}, got[4096];
  ufp4_buffer_write(device, address, shadow, sizeof shadow);
  for (int i = 0; i < 300; i++) {
    uint32_t from = check_below(&random, 4096), count = check_below(&random, 4097 - from);
    for (uint32_t j = 0; j < count; j++) shadow[from + j] = (uint8_t)check_next(&random);
    check_bits(i, ufp4_buffer_write(device, address + from, shadow + from, count), UFP4_OK,
               "write");
    check_bits(i, ufp4_buffer_read(device, address, got, sizeof got), UFP4_OK, "read");
    check_that(i, memcmp(got, shadow, sizeof got) == 0, "%u bytes from %u", count, from);
  }
  ufp4_device_close(device);
}

TEST(free_ignores_what_is_no_buffer) {
  ufp4_device_t *device = stand_device();
  uint64_t address = stand_alloc(device, 128);
  ufp4_buffer_free(device, 0);
  ufp4_buffer_free(device, address + 1);
  ufp4_buffer_free(device, UINT64_MAX);
  ufp4_buffer_free(NULL, address);
  check_bits(0, stand_alloc(device, 128), address + 128, "the buffer is still there");
  ufp4_device_close(device);
}

TEST(rejects_what_does_not_fit) {
  static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 127, 1ull << 40, (16u << 20) + 1,
                                   16u << 20};
  ufp4_device_t *device = stand_device();
  for (int i = 0; i < 5; i++) {
    uint64_t address = 77;
    check_bits(i, ufp4_buffer_alloc(device, sizes[i], &address), UFP4_ERROR_MEMORY, "%llx",
               (unsigned long long)sizes[i]);
    check_bits(i, address, 77, "the address");
    check_that(i, ufp4_device_message(device)[0] != '\0', "a message");
  }
  check_bits(9, stand_alloc(device, 1), FIRST, "nothing was taken");
  ufp4_device_close(device);
}

TEST(rejects_no_bytes) {
  ufp4_device_t *device = stand_device();
  uint64_t address;
  check_bits(0, ufp4_buffer_alloc(device, 0, &address), UFP4_ERROR_ARGUMENT, "no bytes");
  check_bits(1, ufp4_buffer_alloc(device, 1, NULL), UFP4_ERROR_ARGUMENT, "nowhere to put it");
  check_bits(2, ufp4_buffer_alloc(NULL, 1, &address), UFP4_ERROR_ARGUMENT, "no device");
  ufp4_device_close(device);
}

TEST(rejects_wild_addresses) {
  const uint64_t end = UFP4_MEMORY_BASE + stand_options().memory_bytes;
  const uint64_t table[][2] = {
      {0, 1},       {UFP4_MEMORY_BASE, 1}, {FIRST - 1, 1},       {end, 1},
      {end - 1, 2}, {FIRST, UINT64_MAX},   {UINT64_MAX, 1},      {FIRST, end - FIRST + 1},
      {1, 1},       {end + 1, 0},          {UINT64_MAX - 7, 16}, {1ull << 40, 8}};
  ufp4_device_t *device = stand_device();
  uint8_t bytes[16] = {0};
  for (int i = 0; i < 12; i++) {
    check_bits(i, ufp4_buffer_write(device, table[i][0], bytes, table[i][1]), UFP4_ERROR_ARGUMENT,
               "write");
    check_bits(i, ufp4_buffer_read(device, table[i][0], bytes, table[i][1]), UFP4_ERROR_ARGUMENT,
               "read");
    check_that(i, strstr(ufp4_device_message(device), "the buffers, which lie from") != NULL,
               "message");
  }
  check_bits(20, ufp4_buffer_write(device, end - 16, bytes, 16), UFP4_OK, "the last bytes");
  check_bits(21, ufp4_buffer_read(device, FIRST, bytes, 16), UFP4_OK, "the first bytes");
  ufp4_device_close(device);
}

TEST(rejects_missing_data) {
  ufp4_device_t *device = stand_device();
  check_bits(0, ufp4_buffer_write(device, FIRST, NULL, 1), UFP4_ERROR_ARGUMENT, "write");
  check_bits(1, ufp4_buffer_read(device, FIRST, NULL, 1), UFP4_ERROR_ARGUMENT, "read");
  ufp4_device_close(device);
}
