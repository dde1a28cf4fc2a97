// SPDX-License-Identifier: Apache-2.0
// The most multiplications this core can do, measured.
#ifndef UFP4_PEAK_H
#define UFP4_PEAK_H

/** An instruction that multiplies 8-bit integers. */
typedef struct {
  const char *name;
  double macs_per_second;
} peak_t;

/** Those that the GEMM kernels use and this processor has, by speed of their kernel. @return how many, 2 at most. */
int peak_measure(peak_t peaks[2]);

/** Multiplies with the first of those, in each of @p threads threads, 2 at most, at once: @p times some milliseconds.
 * @return multiplications of them all; 0: no such instruction, or no thread. */
double peak_run(int threads, int times);

#endif
