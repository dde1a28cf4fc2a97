// SPDX-License-Identifier: Apache-2.0
// The results of one recipe on one seed.
#ifndef UFP4_TRAIN_RUN_H
#define UFP4_TRAIN_RUN_H

#include "train/learn/evaluate.h"

typedef struct {
  double *loss;  ///< [steps]
  double held_loss;
  int64_t held_tokens;
  ufp4_stretches_t stretches;  ///< of the held-out text
  double seconds;              ///< of all its steps
  double cycles;               ///< of a core, a step; 0: none were counted
  int ended;                   ///< 1: all of the above is there
} ufp4_run_t;

#endif
