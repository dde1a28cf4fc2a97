// SPDX-License-Identifier: Apache-2.0
#include "runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kept.h"

#define COLUMNS "step,train_loss,held_loss,held_tokens,seconds,cycles,stretches\n"

typedef struct {
  const ufp4_run_t *run;
  int64_t steps;
} rows_t;

static void put_rows(const void *context, FILE *out) {
  const rows_t *rows = context;
  const ufp4_run_t *run = rows->run;
  fputs(COLUMNS, out);
  for (int64_t i = 0; i < rows->steps; i++)
    fprintf(out, i < rows->steps - 1 ? "%" PRId64 ",%.17g,,,,,\n" : "%" PRId64 ",%.17g,", i,
            run->loss[i]);
  fprintf(out, "%.17g,%" PRId64 ",%.17g,%.17g,", run->held_loss, run->held_tokens, run->seconds,
          run->cycles);
  for (int i = 0; i < run->stretches.count; i++)
    fprintf(out, "%s%.17g", i > 0 ? " " : "", run->stretches.loss[i]);
  fputc('\n', out);
}

ufp4_status_t ufp4_runs_write(const char *folder, const char *id, const ufp4_run_t *run,
                              int64_t steps, ufp4_message_t *message) {
  return ufp4_kept_write(folder, id, put_rows, &(rows_t){run, steps}, message);
}

static int64_t count_rows(const char *text) {
  int64_t lines = 0;
  for (; (text = strchr(text, '\n')) != NULL; text++) lines++;
  return lines - 1;  // without the column names
}

// Reads the rows of an undamaged file.
static void parse_rows(const char *text, int64_t steps, ufp4_run_t *run) {
  char *at = strchr(text, '\n');
  for (int64_t i = 0; i < steps; i++) {
    at = strchr(at + 1, ',');
    run->loss[i] = strtod(at + 1, &at);
    if (i < steps - 1) at = strchr(at, '\n');
  }
  run->held_loss = strtod(at + 1, &at);
  run->held_tokens = strtoll(at + 1, &at, 10);
  run->seconds = strtod(at + 1, &at);
  run->cycles = strtod(at + 1, &at);
  int n = 0;
  for (; n < UFP4_STRETCHES && at[0] != '\n' && at[1] != '\n'; n++)
    run->stretches.loss[n] = strtod(at + 1, &at);
  run->stretches.count = n;
}

ufp4_status_t ufp4_runs_read(const char *folder, const char *id, ufp4_run_t *run, int64_t steps,
                             int *found, ufp4_message_t *message) {
  char *text;
  *found = 0;
  ufp4_status_t status = ufp4_kept_read(folder, id, &text, message);
  if (status != UFP4_OK || text == NULL) return status;
  const int64_t rows = count_rows(text);
  *found = strncmp(text, COLUMNS, sizeof COLUMNS - 1) == 0 && rows == steps;
  if (*found) {
    parse_rows(text, steps, run);
  } else {
    ufp4_message_set(message, "%s/%s: it has %" PRId64 " steps, not %" PRId64, folder, id, rows,
                     steps);
    status = UFP4_ERROR_FORMAT;
  }
  free(text);
  return status;
}
