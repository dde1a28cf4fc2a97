// SPDX-License-Identifier: Apache-2.0
// Tests of allocations that fail. A call is made once undisturbed, then again with its first,
// second, .. allocation failing, alone or with all later ones. Each time the call must report the
// failure, or give the same bits with less memory, and free everything that it allocated. The
// linker option --wrap sends the allocations of the test program and its libraries here.
#ifndef UFP4_TEST_HEAP_H
#define UFP4_TEST_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/quantize.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strndup(const char *text, size_t size);
char *__real_strdup(const char *text);
char *__real_realpath(const char *path, char *resolved);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strndup(const char *text, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_realpath(const char *path, char *resolved);
void __wrap_free(void *memory);

/** A call whose effect is reduced to one number. */
typedef struct {
  const char *name;
  ufp4_status_t (*call)(const void *input, uint64_t *result);
  const void *input;
} scenario_t;

/** Makes the call lack memory in every possible way. */
void heap_check(const scenario_t *what);
/** Makes one call in which allocation fail_at fails, or all from fail_at on. @return 1 if one did
 * fail. */
int heap_check_once(const scenario_t *what, long fail_at, int and_after, uint64_t undisturbed,
                    int *refused);

uint64_t digest(uint64_t so_far, const void *data, size_t bytes);
uint64_t digest_operand(const ufp4_operand_t *operand);
/** Returns the digest of a file's first 8 KiB, or 0 if there is no such file. */
uint64_t digest_file(const char *path);
/** Returns a path in the working folder that is unique to this process; the text is valid until the
 * next call. */
const char *heap_path(const char *name);

#endif
