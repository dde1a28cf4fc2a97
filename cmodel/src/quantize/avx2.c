// SPDX-License-Identifier: Apache-2.0
// Quantizes with E4M3 scales of one row and blocks of 16, 8 blocks at once, with AVX2.
#include "quantize/kernel.h"

#if defined(__AVX2__) && defined(__FMA__)
#include "quantize/avx2_vector.h"
#include "quantize/vector_walk.h"

static const quantize_kernel_t kernel = {.exponent = quantize_exponent, .quantize = quantize};

const quantize_kernel_t *quantize_avx2(void) {
  return &kernel;
}

#else

const quantize_kernel_t *quantize_avx2(void) {
  return NULL;
}

#endif
