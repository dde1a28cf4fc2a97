// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

int threads_asked(uint64_t asked) {
  if (asked != 0) return asked < INT_MAX ? (int)asked : INT_MAX;
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return processors > 0 ? (int)processors : 1;
}

typedef struct {
  void (*run)(void *);
  void *argument;
} start_t;

static void *run_start(void *argument) {
  const start_t *start = argument;
  start->run(start->argument);
  return NULL;
}

void threads_run(void (*run)(void *), void *const *argument, int count) {
  pthread_t threads[MAX_THREADS];
  start_t starts[MAX_THREADS];
  int started = 0;
  for (; started < count - 1 && started < MAX_THREADS; started++) {
    starts[started] = (start_t){run, argument[started + 1]};
    if (pthread_create(&threads[started], NULL, run_start, &starts[started]) != 0) break;
  }
  run(argument[0]);
  for (int i = started + 1; i < count; i++) run(argument[i]);
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}
