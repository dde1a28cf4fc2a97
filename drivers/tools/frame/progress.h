// SPDX-License-Identifier: Apache-2.0
// One line of progress that rewrites itself on a terminal; elsewhere a line a minute.
#ifndef UFP4_PROGRESS_H
#define UFP4_PROGRESS_H

#include <stdint.h>

typedef struct {
  int terminal;  ///< stderr is one
  int64_t step_tokens;
  int64_t before;  ///< steps that were done before it started: they say nothing of the speed
  double started;  ///< seconds
  double shown;    ///< when the line was last written
} progress_t;

/** @p step_tokens: tokens of one training step. */
progress_t progress_start(int64_t step_tokens);
/** Seconds since progress_start. */
double progress_seconds(const progress_t *progress);
/** Steps done so far, those before the start too; @p context is the progress_t. Where stderr is no
 * terminal, that is a line a minute, and none in the first. */
void progress_steps(void *context, int64_t done, int64_t all);
/** Any other line, on a terminal; @p text without line end. */
void progress_say(progress_t *progress, const char *text);
/** Erases the line. */
void progress_end(progress_t *progress);

#endif
