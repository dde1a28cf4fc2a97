// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL 0.25  // seconds between two writes

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

progress_t progress_start(int64_t step_tokens) {
  return (progress_t){
      .terminal = isatty(STDERR_FILENO), .step_tokens = step_tokens, .started = now()};
}

double progress_seconds(const progress_t *progress) {
  return now() - progress->started;
}

void progress_steps(void *context, int64_t done, int64_t all) {
  progress_t *p = context;
  double passed = now() - p->started;
  if (!p->terminal || (passed - p->shown < INTERVAL && done < all)) return;
  p->shown = passed;
  double rate = (double)done / passed;
  fprintf(stderr, "\rstep %lld of %lld, %.0f tokens/s, %.0f s left \033[K", (long long)done,
          (long long)all, rate * (double)p->step_tokens, (double)(all - done) / rate);
}

void progress_say(progress_t *p, const char *text) {
  double passed = now() - p->started;
  if (!p->terminal || passed - p->shown < INTERVAL) return;
  p->shown = passed;
  fprintf(stderr, "\r%s, %.0f s \033[K", text, passed);
}

void progress_end(progress_t *p) {
  if (p->terminal) fprintf(stderr, "\r\033[K");
}
