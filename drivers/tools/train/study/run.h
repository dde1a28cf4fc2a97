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
  double seconds;              ///< total of all steps
  double cycles;               ///< per step, on a core; 0: not counted
  int ended;                   ///< 1: the fields above are complete
} ufp4_run_t;

#endif
