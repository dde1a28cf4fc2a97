// SPDX-License-Identifier: Apache-2.0
#include "heap.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static struct {
  atomic_long asked;        // allocations since the last arm()
  atomic_long outstanding;  // not freed yet
  long fail_at;             // this one fails; -1: none
  int and_after;            // the allocations after it fail too
} heap = {.fail_at = -1};

static int fails(void) {
  long number = atomic_fetch_add(&heap.asked, 1);
  const int now =
      heap.fail_at >= 0 && (number == heap.fail_at || (heap.and_after && number > heap.fail_at));
  if (now) errno = ENOMEM;
  return now;
}

static void *counted(void *memory) {
  if (memory != NULL) atomic_fetch_add(&heap.outstanding, 1);
  return memory;
}

void *__wrap_malloc(size_t size) {
  return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size) {
  if (fails()) return NULL;
  void *grown = __real_realloc(memory, size);
  return memory == NULL ? counted(grown) : grown;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

char *__wrap_strndup(const char *text, size_t size) {
  return fails() ? NULL : counted(__real_strndup(text, size));
}

char *__wrap_strdup(const char *text) {
  return fails() ? NULL : counted(__real_strdup(text));
}

char *__wrap_realpath(const char *path, char *resolved) {
  return fails() ? NULL : counted(__real_realpath(path, resolved));
}

void __wrap_free(void *memory) {
  if (memory != NULL) atomic_fetch_sub(&heap.outstanding, 1);
  __real_free(memory);
}

static void arm(long fail_at, int and_after) {
  heap.fail_at = fail_at;
  heap.and_after = and_after;
  atomic_store(&heap.asked, 0);
}

uint64_t digest(uint64_t so_far, const void *data, size_t bytes) {
  const uint8_t *at = data;
  for (size_t i = 0; i < bytes; i++) so_far = (so_far ^ at[i]) * 0x100000001B3u;
  return so_far;
}

uint64_t digest_operand(const ufp4_operand_t *operand) {
  int64_t bytes;
  const uint8_t *scales = ufp4_operand_scale_bytes(operand, &bytes);
  uint64_t out = digest(1, operand->codes, (size_t)(operand->rows * operand->blocks * 8));
  out = digest(out, scales, (size_t)bytes);
  out = digest(out, &operand->tensor_scale, sizeof operand->tensor_scale);
  return digest(out, &operand->exponent, sizeof operand->exponent);
}

uint64_t digest_file(const char *path) {
  char bytes[8192];
  FILE *file = fopen(path, "rb");
  if (file == NULL) return 0;
  uint64_t out = digest(2, bytes, fread(bytes, 1, sizeof bytes, file));
  fclose(file);
  return out;
}

const char *heap_path(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "memory-%ld-%s", (long)getpid(), name);
  return path;
}

int heap_check_once(const scenario_t *what, long fail_at, int and_after, uint64_t undisturbed,
                    int *refused) {
  uint64_t result = 0;
  const long before = atomic_load(&heap.outstanding);
  arm(fail_at, and_after);
  ufp4_status_t status = what->call(what->input, &result);
  const long asked = atomic_load(&heap.asked);
  arm(-1, 0);
  check_bits(fail_at, (uint64_t)atomic_load(&heap.outstanding), (uint64_t)before, "%s: memory kept",
             what->name);
  if (status == UFP4_OK) {
    check_bits(fail_at, result, undisturbed, "%s: another result with less memory", what->name);
  } else {
    check_bits(fail_at, status, UFP4_ERROR_MEMORY, "%s: status", what->name);
    ++*refused;
  }
  return asked > fail_at;
}

void heap_check(const scenario_t *what) {
  uint64_t undisturbed = 0;
  int refused = 0;
  check_bits(-1, what->call(what->input, &undisturbed), UFP4_OK, "%s: undisturbed", what->name);
  for (int and_after = 0; and_after < 2; and_after++) {
    long n = 0;
    while (n < 10000 && heap_check_once(what, n, and_after, undisturbed, &refused)) n++;
    check_that(n, n > 0 && n < 10000, "%s: %ld allocations", what->name, n);
  }
  check_that(0, refused > 0, "%s: never refused", what->name);
}
