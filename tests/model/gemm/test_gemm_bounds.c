// SPDX-License-Identifier: Apache-2.0
// Tests the loops of the fast GEMMs with small blocking bounds, drawn for each call. Several depths
// of K, panels of B that threads do not share and shares of A of one panel otherwise occur only
// with operands of hundreds of megabytes. This program includes gemm/blocked.c itself; the
// library's copy is not linked.
#include <stdlib.h>
#include <string.h>

#include "pair.h"

static struct {
  int64_t rows, cols, depth, near, stream, macs, shared;
} bounds;
#define MACRO_ROWS bounds.rows
#define MACRO_COLS bounds.cols
#define DEPTH_BLOCKS bounds.depth
#define NEAR_BYTES bounds.near
#define STREAM_BYTES bounds.stream
#define THREAD_MACS bounds.macs
#define SHARED_BYTES bounds.shared
#include "gemm/blocked.c"

static const int THREADS[] = {1, 2, 3, 5, 13, 16};
#define THREAD_COUNTS ((int)(sizeof THREADS / sizeof THREADS[0]))

// The bounds of rows, columns and depth are multiples of the tiles and chunks of every kernel.
static void draw_bounds(check_random_t *random, int private) {
  bounds.rows = 64 * (1 + check_below(random, 3));
  bounds.cols = 64 * (1 + check_below(random, 3));
  bounds.depth = 64 * (1 + check_below(random, 2));
  bounds.near = 1 + (int64_t)check_below(random, 200 << 10);
  bounds.stream = 1 + (int64_t)check_below(random, 200 << 10);
  bounds.macs = 1024 * (1 + (int64_t)check_below(random, 100));
  bounds.shared = private ? 0 : 256 << 20;
}

static int drawn_shape(check_random_t *random, int most) {
  return 1 + (int)check_below(random, check_below(random, 3) ? (uint32_t)most : 40);
}

// D holds any drawn shape, with a gap after each row.
enum { MOST = 300, LD = MOST + 20 };
static _Alignas(64) uint8_t got[MOST * LD * 8], want[MOST * LD * 8];

static void run(const pair_t *p, const ufp4_gemm_t *how, uint8_t *d) {
  memset(d, 0xA5, sizeof want);
  check_bits(0, ufp4_gemm(&p->a, &p->b, how, d, LD), UFP4_OK, "status");
}

static void check_equal(int64_t index, const pair_t *p, const ufp4_gemm_t *how) {
  size_t at = 0;
  if (memcmp(got, want, sizeof got) == 0) {
    check_that(index, 1, "equal");
    return;
  }
  while (got[at] == want[at]) at++;
  check_bits(index, got[at], want[at],
             "%lld x %lld x %lld, elems %u and %u, scale %u, dtype %u, kernel %u, threads %d, "
             "bounds %lld %lld %lld %lld "
             "%lld %lld %lld: byte %zu (stride %d elements)",
             (long long)p->a.rows, (long long)p->b.rows, (long long)p->a.cols, p->a.elem, p->b.elem,
             p->a.scale, how->d_dtype, how->kernel, how->threads, (long long)bounds.rows,
             (long long)bounds.cols, (long long)bounds.depth, (long long)bounds.near,
             (long long)bounds.stream, (long long)bounds.macs, (long long)bounds.shared, at, LD);
}

/** Multiplies one pair of operands by each kernel with each number of threads, drawing new bounds
 * each time. */
static void check_pair(check_random_t *random, const pair_t *p, int64_t index, int private) {
  ufp4_gemm_t how = pair_plain(p, check_below(random, 4) ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16);
  how.kernel = UFP4_KERNEL_PORTABLE;
  run(p, &how, want);
  for (int kernel = UFP4_KERNEL_PORTABLE + 1; kernel < UFP4_KERNEL_COUNT; kernel++) {
    how.kernel = (ufp4_kernel_t)kernel;
    if (!ufp4_kernel_available(how.kernel)) continue;
    for (int t = 0; t < THREAD_COUNTS; t++) {
      draw_bounds(random, private);
      how.threads = THREADS[t];
      run(p, &how, got);
      check_equal(index, p, &how);
    }
  }
}

static void check_contract(ufp4_contract_t contract, int private, int count) {
  check_random_t random = check_random();
  for (int i = 0; i < count;) {
    const int n = (int)check_below(&random, LEGAL_GEMM_COUNT);
    const legal_gemm_t c = legal_gemm_combination(n);
    if (!legal_gemm(&c) || c.contract != contract) continue;
    const int shape[3] = {drawn_shape(&random, MOST), drawn_shape(&random, MOST),
                          drawn_shape(&random, 3000)};
    pair_t pair = pair_random(&random, n, shape,
                              (fixture_scales_t)check_below(&random, FIXTURE_SCALES_COUNT));
    check_pair(&random, &pair, i++, private);
    pair_free(&pair);
  }
}

SLOW_TEST(exact_with_shared_panels) {
  check_contract(UFP4_CONTRACT_EXACT, 0, 100);
}
SLOW_TEST(exact_with_private_panels) {
  check_contract(UFP4_CONTRACT_EXACT, 1, 100);
}
SLOW_TEST(fp32_with_shared_panels) {
  check_contract(UFP4_CONTRACT_FP32, 0, 100);
}
SLOW_TEST(fp32_with_private_panels) {
  check_contract(UFP4_CONTRACT_FP32, 1, 100);
}
