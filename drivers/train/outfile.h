// SPDX-License-Identifier: Apache-2.0
// A text file that appears only when it is whole: written without a name or beside its target, then renamed.
#ifndef UFP4_TRAIN_OUTFILE_H
#define UFP4_TRAIN_OUTFILE_H

#include <stdio.h>

#include "ufp4/status.h"
#include "ufp4/tensor.h"

typedef struct {
  FILE *stream;
  char path[1024];
  char beside[1072];  ///< its name until it is whole, if named
  int named;
} ufp4_outfile_t;

ufp4_status_t ufp4_outfile_open(const char *path, ufp4_outfile_t *out, ufp4_message_t *message);
/** Flushes, closes and renames; after any failure the target is as it was and nothing is left beside it. */
ufp4_status_t ufp4_outfile_close(ufp4_outfile_t *file, ufp4_message_t *message);

#endif
