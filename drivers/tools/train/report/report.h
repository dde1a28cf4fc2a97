// SPDX-License-Identifier: Apache-2.0
// report.html: what an experiment has shown, in one file without scripts or outside references.
#ifndef UFP4_TRAIN_REPORT_H
#define UFP4_TRAIN_REPORT_H

#include <stdio.h>

#include "train/study/experiment.h"
#include "train/study/forward.h"

typedef struct {
  const ufp4_experiment_t *experiment;
  const ufp4_forward_t *forward;  ///< NULL: not measured
  int shows[UFP4_RUN_KINDS];      ///< which runs there are
  const char *text_name, *command, *machine;
} ufp4_report_t;

ufp4_status_t ufp4_report_write(const ufp4_report_t *report, const char *path,
                                ufp4_message_t *message);

/** The style sheet of the program's pages. */
extern const char report_style[];

// The parts of the page.

/** A cell; what has no value, as the deviation of one seed, is a dash. @p sign: of positive ones.
 */
void report_number(FILE *out, const char *sign, int digits, double value);
/** The color of a variant. */
const char *report_color(int variant);
/** A bar for each comparison, with its interval and a point for each seed. */
void report_gaps(FILE *out, const ufp4_experiment_t *experiment, ufp4_run_kind_t kind);
/** Training losses of whole runs, and how far each variant lies from the base. */
void report_curves(FILE *out, const ufp4_experiment_t *experiment);
/** The forward table, the kept signal over depth, and the use of the codes. */
void report_forward(FILE *out, const ufp4_forward_t *forward);

#endif
