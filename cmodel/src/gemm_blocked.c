// SPDX-License-Identifier: Apache-2.0
// The loops around a fast kernel. D is cut into macro-tiles, each computed by one thread from operands it packs itself;
// K is cut into depths whose panels fit the caches; between two depths the sums stay in memory.
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "gemm_kernel.h"

#define MACRO_ROWS 1024  // of D, at most, where sums have to be kept
#define MACRO_COLS 2048
#define DEPTH_BLOCKS 256        // k blocks packed at a time: 4096 elements
#define NEAR_BYTES (768 << 10)  // panels of A that stay in the second-level cache
#define STREAM_BYTES (2 << 20)  // of D: more than a near cache could keep
#define HUGE_BYTES (2 << 20)    // a huge page; worth asking for where one is filled
#define THREAD_MACS 4000000     // less work than this is not worth starting a thread for
#define MAX_THREADS 256

static int64_t min_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t max_i64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// The size of macro-tiles, in panels, and of a depth, in chunks.
typedef struct {
  int64_t a_panels, b_panels, chunks;
  int64_t across, count;  // macro-tiles in a row of D, and in all
  int one_depth;
} plan_t;

typedef struct {
  const gemm_job_t *job;
  const gemm_kernel_t *kernel;
  plan_t plan;
  atomic_llong *next;
  void *memory;  // of all below
  uint8_t *a, *b, *table, *sums;
  uint8_t *a_poisoned, *b_poisoned;
} worker_t;

// One macro-tile at one depth.
typedef struct {
  int64_t row, col;  // of D
  int64_t a_panels, b_panels;
  int64_t block, chunks;
  int first, last;
} step_t;

// --- One macro-tile ----------------------------------------------------------------------------------

// Panels begin..end of A. They lie by chunk, but are packed by row, as memory likes to be read.
static void pack_a(const worker_t *w, const step_t *s, int64_t begin, int64_t end) {
  const gemm_kernel_t *kernel = w->kernel;
  for (int64_t p = begin; p < end; p++) {
    for (int64_t c = 0; c < s->chunks; c++) {
      kernel->pack_a(w->job, s->row + p * kernel->tile_rows, s->block + c * kernel->chunk_blocks,
                     w->a + (size_t)(c * (end - begin) + p - begin) * kernel->a_bytes,
                     w->a_poisoned + p * kernel->tile_rows);
    }
  }
}

static void pack_b(const worker_t *w, const step_t *s) {
  const gemm_kernel_t *kernel = w->kernel;
  uint8_t *to = w->b;
  for (int64_t p = 0; p < s->b_panels; p++) {
    for (int64_t c = 0; c < s->chunks; c++, to += kernel->b_bytes) {
      kernel->pack_b(w->job, s->col + p * kernel->tile_cols, s->block + c * kernel->chunk_blocks, to,
                     w->b_poisoned + p * kernel->tile_cols);
    }
  }
}

static size_t tile_bytes(const gemm_kernel_t *kernel) {
  return kernel->sum_bytes * (size_t)(kernel->tile_rows * kernel->tile_cols);
}

// Of panel i of A, the first of a share, and panel j of B. Where there is no other depth they are kept for a share only.
static uint8_t *sums_at(const worker_t *w, const step_t *s, int64_t i, int64_t j) {
  return w->sums + (w->plan.one_depth ? 0 : (size_t)(j * s->a_panels + i) * tile_bytes(w->kernel));
}

static gemm_tile_t tile_at(const worker_t *w, const step_t *s, int64_t i, int64_t j) {
  const gemm_kernel_t *kernel = w->kernel;
  gemm_tile_t tile = {.row = s->row + i * kernel->tile_rows, .col = s->col + j * kernel->tile_cols};
  tile.rows = (int)min_i64(kernel->tile_rows, w->job->a->rows - tile.row);
  tile.cols = (int)min_i64(kernel->tile_cols, w->job->b->rows - tile.col);
  tile.row_poisoned = w->a_poisoned + i * kernel->tile_rows;
  tile.col_poisoned = w->b_poisoned + j * kernel->tile_cols;
  return tile;
}

// The rows of D lie far apart; without this each store would wait for memory.
static void prefetch(const gemm_job_t *job, const gemm_tile_t *tile) {
  int64_t size = job->how->d_dtype == UFP4_DTYPE_I64 ? 8 : job->how->d_dtype == UFP4_DTYPE_F32 ? 4 : 2;
  for (int r = 0; r < tile->rows; r++) {
    __builtin_prefetch((const char *)job->d + ((tile->row + r) * job->d_ld + tile->col) * size, 1);
  }
}

// Meanwhile the next panel of B comes nearer, a share of it with each tile.
static inline void fetch_share(const uint8_t *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + at, 0, 2);
}

// Panels begin..end of A by chunk c of panel j of B, which with its table stays in the nearest cache for all of them.
static void multiply_chunk(const worker_t *w, const step_t *s, int64_t begin, int64_t end, int64_t j, int64_t c) {
  const gemm_kernel_t *kernel = w->kernel;
  const uint8_t *b = w->b + (size_t)(j * s->chunks + c) * kernel->b_bytes;
  const uint8_t *a = w->a + (size_t)(c * (end - begin)) * kernel->a_bytes, *ahead = b + kernel->b_bytes;
  const size_t share = (kernel->b_bytes / (size_t)(end - begin) + 64) / 64 * 64;
  const int first = s->first && c == 0, last = s->last && c == s->chunks - 1;
  uint8_t *sums = sums_at(w, s, begin, j);
  if (kernel->prepare != NULL) kernel->prepare(b, w->table);
  for (int64_t i = begin; i < end; i++, a += kernel->a_bytes, ahead += share, sums += tile_bytes(kernel)) {
    fetch_share(ahead, share);
    if (!last) {
      kernel->multiply(a, b, w->table, first, sums);
      continue;
    }
    const gemm_tile_t tile = tile_at(w, s, i, j);
    if (!w->job->stream) prefetch(w->job, &tile);
    kernel->multiply(a, b, w->table, first, sums);
    kernel->store(w->job, &tile, sums);
  }
}

// Even shares, so that no short one pays for its own tables.
static int64_t share_of(const gemm_kernel_t *kernel, int64_t a_panels, int64_t chunks) {
  const int64_t near = NEAR_BYTES / (chunks * (int64_t)kernel->a_bytes);
  return divide_up(a_panels, divide_up(a_panels, near > 0 ? near : 1));
}

// Panels of A are packed where they are wanted, those of B before.
static void multiply(const worker_t *w, const step_t *s) {
  const int64_t share = share_of(w->kernel, s->a_panels, s->chunks);
  for (int64_t i = 0; i < s->a_panels; i += share) {
    const int64_t end = min_i64(i + share, s->a_panels);
    pack_a(w, s, i, end);
    for (int64_t j = 0; j < s->b_panels; j++) {
      for (int64_t c = 0; c < s->chunks; c++) multiply_chunk(w, s, i, end, j, c);
    }
  }
}

static void clear_poisoned(const worker_t *w, const step_t *s) {
  for (int64_t r = 0; r < s->a_panels * w->kernel->tile_rows; r++) w->a_poisoned[r] = 0;
  for (int64_t r = 0; r < s->b_panels * w->kernel->tile_cols; r++) w->b_poisoned[r] = 0;
}

static void run_macro(const worker_t *w, int64_t index) {
  const gemm_kernel_t *kernel = w->kernel;
  const plan_t *plan = &w->plan;
  int64_t i = index / plan->across * plan->a_panels, j = index % plan->across * plan->b_panels;
  int64_t blocks = w->job->a->blocks, depth = plan->chunks * kernel->chunk_blocks;
  step_t s = {.row = i * kernel->tile_rows, .col = j * kernel->tile_cols};
  s.a_panels = min_i64(plan->a_panels, divide_up(w->job->a->rows, kernel->tile_rows) - i);
  s.b_panels = min_i64(plan->b_panels, divide_up(w->job->b->rows, kernel->tile_cols) - j);
  clear_poisoned(w, &s);
  for (s.block = 0; s.block < blocks; s.block += depth) {
    s.chunks = divide_up(min_i64(depth, blocks - s.block), kernel->chunk_blocks);
    s.first = s.block == 0;
    s.last = s.block + depth >= blocks;
    pack_b(w, &s);
    multiply(w, &s);
  }
}

static void run_worker(void *argument) {
  worker_t *w = argument;
  for (;;) {
    int64_t index = atomic_fetch_add(w->next, 1);
    if (index >= w->plan.count) break;
    run_macro(w, index);
  }
  if (w->kernel->finish != NULL) w->kernel->finish();
}

// --- Plan and memory ---------------------------------------------------------------------------------

// Two macro-tiles or more for each thread, as long as they are worth the packing.
static plan_t plan_of(const gemm_job_t *job, const gemm_kernel_t *kernel, int threads) {
  int64_t rows = divide_up(job->a->rows, kernel->tile_rows), cols = divide_up(job->b->rows, kernel->tile_cols);
  int64_t chunks = divide_up(job->a->blocks, kernel->chunk_blocks), depth = DEPTH_BLOCKS / kernel->chunk_blocks;
  int64_t down = chunks <= depth ? 1 : divide_up(rows, MACRO_ROWS / kernel->tile_rows),
          across = divide_up(cols, MACRO_COLS / kernel->tile_cols);
  while (threads > 1 && down * across < 2 * threads && (down < rows || across < cols)) {
    if (across >= cols || (down < rows && rows / down * kernel->tile_rows >= cols / across * kernel->tile_cols)) {
      down = min_i64(2 * down, rows);
    } else {
      across = min_i64(2 * across, cols);
    }
  }
  plan_t plan = {.a_panels = divide_up(rows, down), .b_panels = divide_up(cols, across)};
  plan.chunks = min_i64(chunks, depth);
  plan.one_depth = chunks <= depth;
  plan.across = divide_up(cols, plan.b_panels);
  plan.count = plan.across * divide_up(rows, plan.a_panels);
  return plan;
}

static size_t take(size_t *used, size_t bytes) {
  size_t at = *used;
  *used += (bytes + 63) / 64 * 64;
  return at;
}

// Huge pages keep the panels from colliding in the caches. @return what to free; @p at is in it, aligned. (malloc keeps
// what it has mapped once for the next call, aligned_alloc maps and clears such large memory again each time.)
static void *scratch(size_t bytes, uint8_t **at) {
  const size_t alignment = bytes >= HUGE_BYTES ? HUGE_BYTES : 64;
  uint8_t *memory = malloc(bytes + alignment);
  if (memory == NULL) return NULL;
  *at = memory + (alignment - (uintptr_t)memory % alignment);
#ifdef MADV_HUGEPAGE
  if (alignment == HUGE_BYTES) (void)madvise(*at, bytes / HUGE_BYTES * HUGE_BYTES, MADV_HUGEPAGE);
#endif
  return memory;
}

static int worker_create(const worker_t *like, worker_t *w) {
  const gemm_kernel_t *kernel = like->kernel;
  const plan_t *plan = &like->plan;
  const int64_t share = share_of(kernel, plan->a_panels, plan->chunks);
  // A last depth of fewer chunks may have larger shares.
  const int64_t a_panels = max_i64(share * plan->chunks, NEAR_BYTES / (int64_t)kernel->a_bytes);
  size_t tiles = (size_t)(plan->one_depth ? share : plan->a_panels * plan->b_panels), used = 0;
  size_t table = take(&used, kernel->table_bytes);
  size_t a = take(&used, (size_t)min_i64(a_panels, plan->a_panels * plan->chunks) * kernel->a_bytes);
  size_t b = take(&used, (size_t)(plan->b_panels * plan->chunks) * kernel->b_bytes);
  size_t a_poisoned = take(&used, (size_t)(plan->a_panels * kernel->tile_rows));
  size_t b_poisoned = take(&used, (size_t)(plan->b_panels * kernel->tile_cols));
  size_t sums = take(&used, tiles * tile_bytes(kernel));
  uint8_t *memory = NULL;
  void *whole = scratch(used, &memory);
  if (whole == NULL) return 0;
  *w = *like;
  w->memory = whole;
  w->table = memory + table;
  w->a = memory + a;
  w->b = memory + b;
  w->a_poisoned = memory + a_poisoned;
  w->b_poisoned = memory + b_poisoned;
  w->sums = memory + sums;
  return 1;
}

static int useful_threads(const gemm_job_t *job) {
  int64_t work = job->a->rows * job->b->rows / 64 * job->a->blocks / (THREAD_MACS / 1024) + 1;
  return (int)min_i64(min_i64(work, MAX_THREADS), job->how->threads > 1 ? job->how->threads : 1);
}

// Whole lines of a large FP32 result need not be read before they are written.
static int streams(const gemm_job_t *job) {
  return job->how->d_dtype == UFP4_DTYPE_F32 && job->d_ld % 16 == 0 && (uintptr_t)job->d % 64 == 0 &&
         job->a->rows * job->b->rows >= STREAM_BYTES / (int)sizeof(float);
}

ufp4_status_t gemm_blocked(const gemm_job_t *checked, const gemm_kernel_t *kernel) {
  gemm_job_t own = *checked;
  const gemm_job_t *job = &own;
  own.stream = kernel->finish != NULL && streams(checked);
  int threads = useful_threads(job), count = 0;
  atomic_llong next = 0;
  const worker_t like = {.job = job, .kernel = kernel, .plan = plan_of(job, kernel, threads), .next = &next};
  threads = (int)min_i64(threads, like.plan.count);
  worker_t workers[MAX_THREADS];
  void *arguments[MAX_THREADS];
  while (count < threads && worker_create(&like, &workers[count])) {
    arguments[count] = &workers[count];
    count++;
  }
  if (count > 0) gemm_threads(run_worker, arguments, count);
  for (int i = 0; i < count; i++) free(workers[i].memory);
  return count > 0 ? UFP4_OK : UFP4_ERROR_MEMORY;
}
