// SPDX-License-Identifier: Apache-2.0
#include "backend.h"

ufp4_status_t backend_check_memory(uint64_t base, uint64_t bytes, ufp4_message_t *message) {
  const uint64_t end = 1ull << UFP4_ADDR_BITS;
  if (base % UFP4_MEMORY_GRANULE_BYTES != 0 || base >= end) {
    ufp4_message_set(
        message,
        "the device memory starts at 0x%llx; it must start at a multiple of %llu below 0x%llx",
        (unsigned long long)base, UFP4_MEMORY_GRANULE_BYTES, (unsigned long long)end);
    return UFP4_ERROR_ARGUMENT;
  }
  if (bytes > end - base) {
    ufp4_message_set(
        message, "%llu bytes of device memory are too many; from its start %llu can be addressed",
        (unsigned long long)bytes, (unsigned long long)(end - base));
    return UFP4_ERROR_ARGUMENT;
  }
  if (bytes % UFP4_MEMORY_GRANULE_BYTES != 0 || bytes <= UFP4_MEMORY_RESERVED_BYTES) {
    ufp4_message_set(
        message,
        "the device memory has %llu bytes; it must have a multiple of %llu, and more than %llu",
        (unsigned long long)bytes, UFP4_MEMORY_GRANULE_BYTES, UFP4_MEMORY_RESERVED_BYTES);
    return UFP4_ERROR_ARGUMENT;
  }
  return UFP4_OK;
}
