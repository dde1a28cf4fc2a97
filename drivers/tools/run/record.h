// SPDX-License-Identifier: Apache-2.0
// Records everything that a training step computes on a device, for comparison with another device.
#ifndef UFP4_RECORD_H
#define UFP4_RECORD_H

#include "frame/compare.h"
#include "frame/progress.h"
#include "train/model/layer.h"

/** A GEMM: its quantized operands on the device, and its result. */
typedef struct {
  unsigned layer;
  ufp4_pass_t pass;
  int quantized;  ///< 0: computed in BF16 on the host, without operands
  ufp4_operand_t operand[2];
  float *d;  ///< [m][n]
  ufp4_gemm_stats_t stats;
} record_gemm_t;

typedef struct {
  record_gemm_t *gemms;
  int count;
  int capacity;
  double seconds;        ///< time of recording, which is not the device's work
  const char *device;    ///< for the progress line
  progress_t *progress;  ///< or NULL
} record_t;

/** Returns a hook that adds every GEMM to @p record, which must be zero except device and
 * progress. */
ufp4_layer_hook_t record_hook(record_t *record);
void record_free(record_t *record);

/** The amount compared, and the differences. */
typedef struct {
  int64_t codes, scales, outputs;
  compare_t compare;  ///< its names must be set beforehand
} record_difference_t;

/** Compares the same GEMM on two devices bit by bit: every code (including padding), scale, tensor
 * exponent, flag and output. Adds to @p difference. @return the mismatches of this GEMM. */
int64_t record_compare(const record_gemm_t *want, const record_gemm_t *got,
                       record_difference_t *difference);

#endif
