// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL 0.25  // seconds between two writes on a terminal
#define MINUTE 60.0    // the interval elsewhere, where every line remains visible

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

// Formats "40 s", "12 min", "3.5 h".
static void tell_time(double seconds, char text[32]) {
  if (seconds < 100) {
    snprintf(text, 32, "%.0f s", seconds);
  } else if (seconds < 100 * MINUTE) {
    snprintf(text, 32, "%.0f min", seconds / MINUTE);
  } else {
    snprintf(text, 32, "%.1f h", seconds / (60 * MINUTE));
  }
}

void progress_steps(void *context, int64_t done, int64_t all) {
  progress_t *p = context;
  const double passed = now() - p->started, since = passed - p->shown;
  const int due = p->terminal ? since >= INTERVAL || done == all : since >= MINUTE;
  if (!due || done <= p->before) return;
  p->shown = passed;
  const double rate = (double)(done - p->before) / passed;
  char left[32];
  tell_time((double)(all - done) / rate, left);
  if (p->terminal) {
    fprintf(stderr, "\rstep %lld of %lld, %.0f tokens/s, %s left \033[K", (long long)done,
            (long long)all, rate * (double)p->step_tokens, left);
  } else {
    fprintf(stderr, "ufp4: step %lld of %lld, %.0f %%, %s left\n", (long long)done, (long long)all,
            100 * (double)done / (double)all, left);
  }
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
