// SPDX-License-Identifier: Apache-2.0
// Tests the progress when stderr is not a terminal: a line a minute.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "frame/progress.h"

typedef struct {
  FILE *file;
  int before;
  char text[1000];
} caught_t;

// Redirects stderr to a file.
static caught_t begin(void) {
  caught_t out = {.file = tmpfile(), .before = dup(STDERR_FILENO)};
  check_that(0, out.file != NULL, "a temporary file");
  dup2(fileno(out.file), STDERR_FILENO);
  return out;
}

static void end(caught_t *caught) {
  dup2(caught->before, STDERR_FILENO);
  close(caught->before);
  rewind(caught->file);
  caught->text[fread(caught->text, 1, sizeof caught->text - 1, caught->file)] = '\0';
  fclose(caught->file);
}

TEST(short_work_says_nothing) {
  caught_t caught = begin();
  progress_t progress = progress_start(2048);
  for (int i = 1; i <= 1000; i++) progress_steps(&progress, i, 1000);
  progress_end(&progress);
  end(&caught);
  check_that(0, caught.text[0] == '\0', "said: %s", caught.text);
}

TEST(long_work_says_a_line_a_minute) {
  caught_t caught = begin();
  progress_t progress = progress_start(2048);
  for (int i = 1; i <= 100; i++) {
    progress.started -= 1.5;  // the time of one step
    progress_steps(&progress, i, 9600);
  }
  progress_end(&progress);
  end(&caught);
  check_that(0,
             strcmp(caught.text,
                    "ufp4: step 40 of 9600, 0 %, 4.0 h left\n"
                    "ufp4: step 80 of 9600, 1 %, 4.0 h left\n") == 0,
             "said: %s", caught.text);
}

// The steps of an earlier process do not count in this one's speed.
TEST(time_left_is_of_the_steps_since_the_start) {
  caught_t caught = begin();
  progress_t progress = progress_start(2048);
  progress.before = 900;
  progress_steps(&progress, 900, 1000);
  progress.started -= 61;
  progress_steps(&progress, 920, 1000);
  end(&caught);
  check_that(0, strcmp(caught.text, "ufp4: step 920 of 1000, 92 %, 4 min left\n") == 0, "said: %s",
             caught.text);
}
