// SPDX-License-Identifier: Apache-2.0
// The paper's ablation, which measures the contribution of each part of the recipe ufp4.
#ifndef UFP4_TRAIN_ABLATION_H
#define UFP4_TRAIN_ABLATION_H

#include "experiment.h"

/** Lists bf16, ufp4 and e2m1, and each of the latter two with RHT in other GEMMs (none, dW, dX and
 * dW, Y and dW, all) and without stochastic rounding; also ufp4 with dY's scales rounded to
 * nearest, with FP32 block scales, and in INT4. paper_loss is that of the paper's dense model of
 * 1.5 B parameters (arXiv 2606.20381), or NaN if it has none. @return the number of variants in @p
 * out, which has room for UFP4_MAX_VARIANTS. */
int ufp4_ablation(ufp4_variant_t *out);

#endif
