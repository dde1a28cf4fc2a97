// SPDX-License-Identifier: Apache-2.0
// Allocations that fail: a call is made once undisturbed, then again with its first, second, ..
// allocation failing, alone or with all that follow. Each time it must say so (or do with less,
// with the same bits) and give back all that it had taken. The linker sends the allocations of the
// test program and of the libraries in it here (--wrap).
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

/** A call and what it left, reduced to one number. */
typedef struct {
  const char *name;
  ufp4_status_t (*call)(const void *input, uint64_t *result);
  const void *input;
} scenario_t;

/** Every way in which the call can lack memory. */
void heap_check(const scenario_t *what);
/** One call with the allocations from fail_at on, or fail_at alone, failing. @return 1 if one did
 * fail. */
int heap_check_once(const scenario_t *what, long fail_at, int and_after, uint64_t undisturbed,
                    int *refused);

uint64_t digest(uint64_t so_far, const void *data, size_t bytes);
uint64_t digest_operand(const ufp4_operand_t *operand);
/** The digest of a file's first 8 KiB; 0 where there is no such file. */
uint64_t digest_file(const char *path);
/** A name of this process in the working folder; the text lives until the next call. */
const char *heap_path(const char *name);

#endif
