// SPDX-License-Identifier: Apache-2.0
// Device memory: a first-fit allocator on a list of the buffers in use.
#include <stdlib.h>
#include <string.h>

#include "device.h"

static ufp4_status_t grow(ufp4_device_t *device) {
  if (device->buffer_count < device->buffer_capacity) return UFP4_OK;
  size_t capacity = device->buffer_capacity == 0 ? 16 : 2 * device->buffer_capacity;
  buffer_t *grown = realloc(device->buffers, capacity * sizeof *grown);
  if (grown == NULL) return device_fail(device, UFP4_ERROR_MEMORY, "the host is out of memory");
  device->buffers = grown;
  device->buffer_capacity = capacity;
  return UFP4_OK;
}

// Finds the index at which a buffer of that size fits, and its address; buffer_count + 1 if
// nowhere.
static size_t find_gap(const ufp4_device_t *device, uint64_t bytes, uint64_t *address) {
  uint64_t from = device_buffers_base(device);
  for (size_t i = 0; i <= device->buffer_count; i++) {
    uint64_t end = device->memory_base + device->info.memory_bytes;
    if (i < device->buffer_count) end = device->buffers[i].address;
    if (end - from >= bytes) {
      *address = from;
      return i;
    }
    if (i < device->buffer_count) from = end + device->buffers[i].bytes;
  }
  return device->buffer_count + 1;
}

uint64_t device_free_bytes(const ufp4_device_t *device) {
  uint64_t bytes = device->memory_base + device->info.memory_bytes - device_buffers_base(device);
  for (size_t i = 0; i < device->buffer_count; i++) bytes -= device->buffers[i].bytes;
  return bytes;
}

ufp4_status_t device_check_room(ufp4_device_t *device, const char *what, int64_t m, int64_t n,
                                int64_t k, uint64_t bytes) {
  const uint64_t room = device_free_bytes(device);
  if (bytes <= room) return UFP4_OK;
  return device_fail(
      device, UFP4_ERROR_MEMORY,
      "%s of %lld x %lld x %lld needs %llu bytes of device memory, but only %llu are free", what,
      (long long)m, (long long)n, (long long)k, (unsigned long long)bytes,
      (unsigned long long)room);
}

ufp4_status_t ufp4_buffer_alloc(ufp4_device_t *device, uint64_t bytes, uint64_t *address) {
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  if (bytes == 0 || address == NULL) {
    return device_fail(device, UFP4_ERROR_ARGUMENT, "ufp4_buffer_alloc: %s",
                       bytes == 0 ? "bytes is 0" : "address is NULL");
  }
  if (bytes > device->info.memory_bytes) {
    return device_fail(
        device, UFP4_ERROR_MEMORY,
        "ufp4_buffer_alloc: bytes is %llu, but the device has only %llu bytes of memory",
        (unsigned long long)bytes, (unsigned long long)device->info.memory_bytes);
  }
  uint64_t rounded = (bytes + UFP4_ALIGN_BYTES - 1) / UFP4_ALIGN_BYTES * UFP4_ALIGN_BYTES;
  status = grow(device);
  if (status != UFP4_OK) return status;
  uint64_t found = 0;
  size_t index = find_gap(device, rounded, &found);
  if (index > device->buffer_count) {
    return device_fail(device, UFP4_ERROR_MEMORY,
                       "device memory has no free range of %llu bytes; %llu bytes are free in all",
                       (unsigned long long)rounded, (unsigned long long)device_free_bytes(device));
  }
  buffer_t *place = device->buffers + index;
  memmove(place + 1, place, (device->buffer_count - index) * sizeof *place);
  *place = (buffer_t){found, rounded};
  device->buffer_count++;
  *address = found;
  return UFP4_OK;
}

void ufp4_buffer_free(ufp4_device_t *device, uint64_t address) {
  if (device == NULL) return;
  for (size_t i = 0; i < device->buffer_count; i++) {
    if (device->buffers[i].address != address) continue;
    buffer_t *place = device->buffers + i;
    memmove(place, place + 1, (device->buffer_count - i - 1) * sizeof *place);
    device->buffer_count--;
    return;
  }
}

static ufp4_status_t check_range(ufp4_device_t *device, uint64_t address, const void *data,
                                 uint64_t bytes) {
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  uint64_t first = device_buffers_base(device);
  uint64_t end = device->memory_base + device->info.memory_bytes;
  if (data == NULL) return device_fail(device, UFP4_ERROR_ARGUMENT, "data is NULL");
  if (address < first || address > end || bytes > end - address) {
    return device_fail(
        device, UFP4_ERROR_ARGUMENT,
        "%llu bytes at address 0x%llx are not inside the buffers, which lie from 0x%llx to 0x%llx",
        (unsigned long long)bytes, (unsigned long long)address, (unsigned long long)first,
        (unsigned long long)end);
  }
  return UFP4_OK;
}

ufp4_status_t ufp4_buffer_write(ufp4_device_t *device, uint64_t address, const void *data,
                                uint64_t bytes) {
  ufp4_status_t status = check_range(device, address, data, bytes);
  if (status != UFP4_OK) return status;
  return device_note(device, device->backend->memory_write(device->state, address, data, bytes));
}

ufp4_status_t ufp4_buffer_read(ufp4_device_t *device, uint64_t address, void *data,
                               uint64_t bytes) {
  ufp4_status_t status = check_range(device, address, data, bytes);
  if (status != UFP4_OK) return status;
  return device_note(device, device->backend->memory_read(device->state, address, data, bytes));
}

static device_rows_t in_one_piece(device_rows_t piece) {
  if (piece.stride == piece.row_bytes && piece.ld_bytes == piece.row_bytes) {
    piece.row_bytes *= piece.rows;
    piece.rows = 1;
  }
  return piece;
}

ufp4_status_t device_rows_write(ufp4_device_t *device, device_rows_t piece, const void *data) {
  ufp4_status_t status = UFP4_OK;
  piece = in_one_piece(piece);
  for (uint64_t r = 0; r < piece.rows && status == UFP4_OK; r++)
    status = ufp4_buffer_write(device, piece.address + r * piece.stride,
                               (const uint8_t *)data + r * piece.ld_bytes, piece.row_bytes);
  return status;
}

ufp4_status_t device_rows_read(ufp4_device_t *device, device_rows_t piece, void *data) {
  ufp4_status_t status = UFP4_OK;
  piece = in_one_piece(piece);
  for (uint64_t r = 0; r < piece.rows && status == UFP4_OK; r++)
    status = ufp4_buffer_read(device, piece.address + r * piece.stride,
                              (uint8_t *)data + r * piece.ld_bytes, piece.row_bytes);
  return status;
}

// --- A test of memory ---------------------------------------------------------------------------

#define TEST_BYTES 1048576u

// Fills @p bytes with values that depend on their address and on the turn.
static void fill(uint8_t *bytes, uint64_t count, uint64_t address, unsigned turn) {
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t mixed = ((address + i) ^ 0x5555u * turn) * 0x9E3779B97F4A7C15ull;
    bytes[i] = (uint8_t)((mixed >> 56) ^ (turn ? 0xFF : 0));
  }
}

// Compares the data read at @p address with those that fill wrote.
static void compare(const uint8_t *got, const uint8_t *want, uint64_t count, uint64_t address,
                    ufp4_memory_test_t *result) {
  for (uint64_t i = 0; i < count; i++) {
    if (got[i] == want[i]) continue;
    if (result->failed++ == 0) result->address = address + i;
  }
}

// Tests all memory in two turns of a write and a read. The second turn inverts the bytes, and takes
// them from other addresses.
static ufp4_status_t test_by_host(ufp4_device_t *device, ufp4_memory_test_t *result) {
  const uint64_t first = device_buffers_base(device);
  const uint64_t end = device->memory_base + device->info.memory_bytes;
  uint8_t *bytes = malloc(2 * TEST_BYTES);
  result->bytes = end - first;
  ufp4_status_t status = bytes != NULL ? UFP4_OK : UFP4_ERROR_MEMORY;
  for (unsigned pass = 0; pass < 4; pass++) {
    for (uint64_t at = first; at < end && status == UFP4_OK; at += TEST_BYTES) {
      const uint64_t count = end - at < TEST_BYTES ? end - at : TEST_BYTES;
      fill(bytes, count, at, pass / 2);
      if (pass % 2 == 0) {
        status = ufp4_buffer_write(device, at, bytes, count);
        continue;
      }
      status = ufp4_buffer_read(device, at, bytes + TEST_BYTES, count);
      if (status == UFP4_OK) compare(bytes + TEST_BYTES, bytes, count, at, result);
    }
  }
  free(bytes);
  return status;
}

ufp4_status_t ufp4_device_memory_test(ufp4_device_t *device, ufp4_memory_test_t *result) {
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  if (result == NULL)
    return device_fail(device, UFP4_ERROR_ARGUMENT, "ufp4_device_memory_test: result is NULL");
  if (device->taken < device->submitted)
    return device_fail(device, UFP4_ERROR_ARGUMENT,
                       "ufp4_device_memory_test: wait for all jobs first");
  *result = (ufp4_memory_test_t){0};
  if (device->backend->memory_test != NULL) {
    status = device->backend->memory_test(device->state, result);
    if (status != UFP4_ERROR_UNSUPPORTED) return device_note(device, status);
  }
  return test_by_host(device, result);
}
