// SPDX-License-Identifier: Apache-2.0
// Quantizes with E4M3 scales of one row and blocks of 16, 16 blocks at once, with AVX-512.
#include "quantize/kernel.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#include "quantize/avx512_vector.h"
#include "quantize/vector_walk.h"

static const quantize_kernel_t kernel = {.exponent = quantize_exponent, .quantize = quantize};

const quantize_kernel_t *quantize_avx512(void) {
  return &kernel;
}

#else

const quantize_kernel_t *quantize_avx512(void) {
  return NULL;
}

#endif
