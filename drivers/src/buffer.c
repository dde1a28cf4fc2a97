// SPDX-License-Identifier: Apache-2.0
// Device memory: first fit in a list of the buffers in use.
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

// The index at which a buffer of that size fits, and its address; buffer_count + 1 if nowhere.
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

ufp4_status_t ufp4_buffer_alloc(ufp4_device_t *device, uint64_t bytes, uint64_t *address) {
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  if (bytes == 0 || address == NULL)
    return device_fail(device, UFP4_ERROR_ARGUMENT, "a buffer of no bytes");
  if (bytes > device->info.memory_bytes) {
    return device_fail(device, UFP4_ERROR_MEMORY, "a buffer of %llu bytes: the device has %llu",
                       (unsigned long long)bytes, (unsigned long long)device->info.memory_bytes);
  }
  uint64_t rounded = (bytes + UFP4_ALIGN_BYTES - 1) / UFP4_ALIGN_BYTES * UFP4_ALIGN_BYTES;
  status = grow(device);
  if (status != UFP4_OK) return status;
  uint64_t found = 0;
  size_t index = find_gap(device, rounded, &found);
  if (index > device->buffer_count) {
    return device_fail(device, UFP4_ERROR_MEMORY, "no gap of %llu bytes is left in device memory",
                       (unsigned long long)rounded);
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
  if (data == NULL || address < first || address > end || bytes > end - address) {
    return device_fail(device, UFP4_ERROR_ARGUMENT,
                       "%llu bytes at 0x%llx: buffers lie from 0x%llx to 0x%llx",
                       (unsigned long long)bytes, (unsigned long long)address,
                       (unsigned long long)first, (unsigned long long)end);
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
