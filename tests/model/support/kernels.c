// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

static size_t dtype_bytes(ufp4_dtype_t dtype) {
  return dtype == UFP4_DTYPE_I64 ? 8 : dtype == UFP4_DTYPE_F32 ? 4 : 2;
}

void kernels_check(int64_t index, const ufp4_operand_t *a, const ufp4_operand_t *b,
                   const ufp4_gemm_t *how) {
  const int64_t ld = b->rows + index % 3;
  const size_t size = dtype_bytes(how->d_dtype), bytes = (size_t)(a->rows * ld) * size;
  uint8_t *got = aligned_alloc(64, (bytes + 63) / 64 * 64), *want = malloc(bytes);
  if (!got || !want) abort();
  memset(got, 0xA5, bytes);
  memset(want, 0xA5, bytes);
  ufp4_gemm_t tested = *how, portable = *how;
  tested.kernel = fixture_kernel();
  portable.kernel = UFP4_KERNEL_PORTABLE;
  check_bits(index, ufp4_gemm(a, b, &tested, got, ld), UFP4_OK, "status");
  check_bits(index, ufp4_gemm(a, b, &portable, want, ld), UFP4_OK, "status of portable");
  for (int64_t at = 0; at < a->rows * ld; at++) {
    uint64_t g = 0, w = 0;
    memcpy(&g, got + (size_t)at * size, size);
    memcpy(&w, want + (size_t)at * size, size);
    check_bits(index, g, w,
               "%lld x %lld x %lld, elems %u and %u, dtype %u, threads %d: D[%lld][%lld]",
               (long long)a->rows, (long long)b->rows, (long long)a->cols, a->elem, b->elem,
               how->d_dtype, how->threads, (long long)(at / ld), (long long)(at % ld));
  }
  free(got);
  free(want);
}
