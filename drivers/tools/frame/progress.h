// SPDX-License-Identifier: Apache-2.0
// A progress line that rewrites itself on a terminal; elsewhere it is printed once a minute.
#ifndef UFP4_PROGRESS_H
#define UFP4_PROGRESS_H

#include <stdint.h>

typedef struct {
  int terminal;  ///< stderr is one
  int64_t step_tokens;
  int64_t before;  ///< steps done before the start, which do not count for the speed
  double started;  ///< seconds
  double shown;    ///< when the line was last written
} progress_t;

/** Starts the line of progress. @p step_tokens: the tokens of one training step. */
progress_t progress_start(int64_t step_tokens);
/** Returns the seconds since progress_start. */
double progress_seconds(const progress_t *progress);
/** Reports the steps done so far, including those before the start; @p context is the progress_t.
 * If stderr is not a terminal, it prints one line a minute, and none in the first. */
void progress_steps(void *context, int64_t done, int64_t all);
/** Shows another line, on a terminal only; @p text has no line end. */
void progress_say(progress_t *progress, const char *text);
/** Erases the line. */
void progress_end(progress_t *progress);

#endif
