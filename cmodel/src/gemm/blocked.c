// SPDX-License-Identifier: Apache-2.0
// The loops around a fast kernel. D is divided into macro-tiles, each computed by one thread. K is
// divided into depths whose panels fit the caches; between two depths the sums stay in memory.
// Panels of A are packed by the thread that uses them. If there is only one depth, each panel of B
// is packed once, by the first thread that needs it, for all threads.
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/integer.h"
#include "base/threads.h"
#include "gemm/kernel.h"

// Bounds, which a test reduces.
#ifndef MACRO_ROWS
#define MACRO_ROWS 1024  // of D, at most, if sums have to be kept
#define MACRO_COLS 2048
#define DEPTH_BLOCKS 256          // k blocks packed at a time: 4096 elements
#define NEAR_BYTES (768 << 10)    // panels of A that stay in the second-level cache
#define STREAM_BYTES (2 << 20)    // D of more bytes does not stay in a near cache
#define THREAD_MACS 4000000       // work below which a thread is not worth starting
#define SHARED_BYTES (256 << 20)  // most bytes of panels of B that all threads share
#endif
#define HUGE_BYTES (2 << 20)  // a huge page, which is worth requesting if it is filled
#define UNITS 4               // macro-tiles per thread, so that no thread waits long for the last

// The size of macro-tiles in panels, and of a depth in chunks.
typedef struct {
  int64_t a_panels, b_panels, chunks;
  int64_t down, count;    // macro-tiles in a column of D, and in total
  int one_depth, shared;  // shared: B is packed once
} plan_t;

typedef enum { EMPTY, BUSY, READY } panel_state_t;

// Panels of B.
typedef struct {
  uint8_t *panels, *poisoned;
  atomic_uchar *states;
} b_store_t;

typedef struct {
  const gemm_job_t *job;
  const gemm_kernel_t *kernel;
  plan_t plan;
  atomic_llong *next;
  int number, of;
  b_store_t b;   // panels of all of B, or of a macro-tile
  void *memory;  // owns the memory of everything below, and of b if it is this worker's own
  uint8_t *a, *table, *sums;
  uint8_t *a_poisoned;
} worker_t;

// One macro-tile at one depth.
typedef struct {
  int64_t row, col;  // position in D
  int64_t a_panels, b_panels;
  int64_t b_first;  // position in the store
  int64_t block, chunks;
  int first, last;
} step_t;

// --- One macro-tile -----------------------------------------------------------------------------

// Packs panels begin..end of A. They are stored by chunk but packed by row, because memory is read
// fastest that way.
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

static uint8_t *b_panel(const worker_t *w, const step_t *s, int64_t j, int64_t c) {
  return w->b.panels + (size_t)((s->b_first + j) * s->chunks + c) * w->kernel->b_bytes;
}

static uint8_t *b_poisoned(const worker_t *w, const step_t *s, int64_t j) {
  return w->b.poisoned + (s->b_first + j) * w->kernel->tile_cols;
}

// Packs panel j of B, or waits for the thread that does.
static void want_b(const worker_t *w, const step_t *s, int64_t j) {
  const gemm_kernel_t *kernel = w->kernel;
  atomic_uchar *state = &w->b.states[s->b_first + j];
  unsigned char empty = EMPTY;
  if (atomic_load_explicit(state, memory_order_acquire) == READY) return;
  if (!atomic_compare_exchange_strong(state, &empty, BUSY)) {
    while (atomic_load_explicit(state, memory_order_acquire) != READY) sched_yield();
    return;
  }
  for (int64_t c = 0; c < s->chunks; c++) {
    kernel->pack_b(w->job, s->col + j * kernel->tile_cols, s->block + c * kernel->chunk_blocks,
                   b_panel(w, s, j, c), b_poisoned(w, s, j));
  }
  atomic_store_explicit(state, READY, memory_order_release);
}

static size_t tile_bytes(const gemm_kernel_t *kernel) {
  return kernel->sum_bytes * (size_t)(kernel->tile_rows * kernel->tile_cols);
}

// Returns the sums of panel i of A (the first panel of a share) and panel j of B. They are kept
// beyond the share only if another depth adds to them.
static uint8_t *sums_at(const worker_t *w, const step_t *s, int64_t i, int64_t j) {
  return w->sums + (w->plan.one_depth ? 0 : (size_t)(j * s->a_panels + i) * tile_bytes(w->kernel));
}

static gemm_tile_t tile_at(const worker_t *w, const step_t *s, int64_t i, int64_t j) {
  const gemm_kernel_t *kernel = w->kernel;
  gemm_tile_t tile = {.row = s->row + i * kernel->tile_rows, .col = s->col + j * kernel->tile_cols};
  tile.rows = (int)min_i64(kernel->tile_rows, w->job->a->rows - tile.row);
  tile.cols = (int)min_i64(kernel->tile_cols, w->job->b->rows - tile.col);
  tile.row_poisoned = w->a_poisoned + i * kernel->tile_rows;
  tile.col_poisoned = b_poisoned(w, s, j);
  return tile;
}

// The rows of D are far apart, so without this prefetch each store would wait for memory.
static void prefetch(const gemm_job_t *job, const gemm_tile_t *tile) {
  int64_t size = job->how->d_dtype == UFP4_DTYPE_I64   ? 8
                 : job->how->d_dtype == UFP4_DTYPE_F32 ? 4
                                                       : 2;
  for (int r = 0; r < tile->rows; r++) {
    __builtin_prefetch((const char *)job->d + ((tile->row + r) * job->d_ld + tile->col) * size, 1);
  }
}

// Each tile meanwhile prefetches a part of the next panel of B.
static inline void fetch_share(const uint8_t *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(from + at, 0, 2);
}

// Multiplies panels begin..end of A by chunk c of panel j of B, which stays in the nearest cache,
// with its table, for all of them.
static void multiply_chunk(const worker_t *w, const step_t *s, int64_t begin, int64_t end,
                           int64_t j, int64_t c) {
  const gemm_kernel_t *kernel = w->kernel;
  const uint8_t *b = b_panel(w, s, j, c);
  const uint8_t *a = w->a + (size_t)(c * (end - begin)) * kernel->a_bytes,
                *ahead = b + kernel->b_bytes;
  const size_t share = (kernel->b_bytes / (size_t)(end - begin) + 64) / 64 * 64;
  const int first = s->first && c == 0, last = s->last && c == s->chunks - 1;
  uint8_t *sums = sums_at(w, s, begin, j);
  if (kernel->prepare != NULL) kernel->prepare(b, w->table);
  for (int64_t i = begin; i < end;
       i++, a += kernel->a_bytes, ahead += share, sums += tile_bytes(kernel)) {
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

// Shares are even, so that no short share pays for its own tables.
static int64_t share_at_most(const gemm_kernel_t *kernel, int64_t chunks) {
  return max_i64(NEAR_BYTES / (chunks * (int64_t)kernel->a_bytes), 1);
}

static int64_t share_of(const gemm_kernel_t *kernel, int64_t a_panels, int64_t chunks) {
  return divide_up(a_panels, divide_up(a_panels, share_at_most(kernel, chunks)));
}

// Threads that share B start at different panels, so that each packs a part of it.
static void multiply(const worker_t *w, const step_t *s) {
  const int64_t share = share_of(w->kernel, s->a_panels, s->chunks),
                start = s->b_panels * w->number / w->of;
  for (int64_t i = 0; i < s->a_panels; i += share) {
    const int64_t end = min_i64(i + share, s->a_panels);
    pack_a(w, s, i, end);
    for (int64_t n = 0; n < s->b_panels; n++) {
      const int64_t j = start + n < s->b_panels ? start + n : start + n - s->b_panels;
      want_b(w, s, j);
      for (int64_t c = 0; c < s->chunks; c++) multiply_chunk(w, s, i, end, j, c);
    }
  }
}

static void clear_states(const b_store_t *b, int64_t panels) {
  for (int64_t j = 0; j < panels; j++) atomic_init(&b->states[j], EMPTY);
}

static void run_macro(const worker_t *w, int64_t index) {
  const gemm_kernel_t *kernel = w->kernel;
  const plan_t *plan = &w->plan;
  int64_t i = index % plan->down * plan->a_panels, j = index / plan->down * plan->b_panels;
  int64_t blocks = w->job->a->blocks, depth = plan->chunks * kernel->chunk_blocks;
  step_t s = {
      .row = i * kernel->tile_rows, .col = j * kernel->tile_cols, .b_first = plan->shared ? j : 0};
  s.a_panels = min_i64(plan->a_panels, divide_up(w->job->a->rows, kernel->tile_rows) - i);
  s.b_panels = min_i64(plan->b_panels, divide_up(w->job->b->rows, kernel->tile_cols) - j);
  memset(w->a_poisoned, 0, (size_t)(s.a_panels * kernel->tile_rows));
  if (!plan->shared) memset(w->b.poisoned, 0, (size_t)(s.b_panels * kernel->tile_cols));
  for (s.block = 0; s.block < blocks; s.block += depth) {
    s.chunks = divide_up(min_i64(depth, blocks - s.block), kernel->chunk_blocks);
    s.first = s.block == 0;
    s.last = s.block + depth >= blocks;
    if (!plan->shared) clear_states(&w->b, s.b_panels);
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
  w->kernel->finish();
}

// --- Plan and memory ----------------------------------------------------------------------------

// Chooses the number of rows and columns of macro-tiles: at least two macro-tiles per thread, as
// long as they are large enough for the packing.
static void cut(int64_t rows, int64_t cols, const gemm_kernel_t *kernel, int threads, int64_t *down,
                int64_t *across) {
  while (threads > 1 && *down * *across < 2 * threads && (*down < rows || *across < cols)) {
    if (*across >= cols ||
        (*down < rows && rows / *down * kernel->tile_rows >= cols / *across * kernel->tile_cols)) {
      *down = min_i64(2 * *down, rows);
    } else {
      *across = min_i64(2 * *across, cols);
    }
  }
}

// Chooses these numbers if B is packed once: a macro-tile is then a share of A, and all threads get
// equally many if there are enough rows.
static void cut_shared(int64_t rows, int64_t cols, int threads, int64_t near, int64_t *down,
                       int64_t *across) {
  *down = max_i64(divide_up(rows, near), divide_up(UNITS * threads, *across));
  *down = min_i64(divide_up(*down, threads) * threads, rows);
  *across = min_i64(max_i64(*across, divide_up(2 * threads, *down)), cols);
}

static plan_t plan_of(const gemm_job_t *job, const gemm_kernel_t *kernel, int threads,
                      int may_share) {
  int64_t rows = divide_up(job->a->rows, kernel->tile_rows),
          cols = divide_up(job->b->rows, kernel->tile_cols);
  int64_t chunks = divide_up(job->a->blocks, kernel->chunk_blocks),
          depth = DEPTH_BLOCKS / kernel->chunk_blocks;
  int64_t down = chunks <= depth ? 1 : divide_up(rows, MACRO_ROWS / kernel->tile_rows);
  int64_t across = divide_up(cols, MACRO_COLS / kernel->tile_cols);
  plan_t plan = {.chunks = min_i64(chunks, depth), .one_depth = chunks <= depth};
  plan.shared = may_share && plan.one_depth && threads > 1 &&
                cols * chunks <= SHARED_BYTES / (int64_t)kernel->b_bytes;
  if (plan.shared) {
    cut_shared(rows, cols, threads, max_i64(NEAR_BYTES / (chunks * (int64_t)kernel->a_bytes), 1),
               &down, &across);
  } else {
    cut(rows, cols, kernel, threads, &down, &across);
  }
  plan.a_panels = divide_up(rows, down);
  plan.b_panels = divide_up(cols, across);
  plan.down = divide_up(rows, plan.a_panels);
  plan.count = plan.down * divide_up(cols, plan.b_panels);
  return plan;
}

static size_t take(size_t *used, size_t bytes) {
  size_t at = *used, lines = (bytes + 63) / 64 * 64;
  *used = lines > UFP4_TOO_MANY_BYTES - at ? UFP4_TOO_MANY_BYTES : at + lines;
  return at;
}

// Allocates memory in huge pages, which keeps the panels from colliding in the caches. @return the
// pointer to free; @p place is aligned and lies inside. (malloc keeps memory that it has mapped for
// the next call; aligned_alloc maps and clears such large memory every time.)
static void *scratch(size_t bytes, uint8_t **place) {
  const size_t alignment = bytes >= HUGE_BYTES ? HUGE_BYTES : 64;
  uint8_t *memory = malloc(bytes + alignment);
  if (memory == NULL) return NULL;
  *place = memory + (alignment - (uintptr_t)memory % alignment);
#ifdef MADV_HUGEPAGE
  if (alignment == HUGE_BYTES)
    (void)madvise(*place, bytes / HUGE_BYTES * HUGE_BYTES, MADV_HUGEPAGE);
#endif
  return memory;
}

// Reserves room for panels of B and sets @p b to it. If @p memory is NULL, only the size is added
// to *used, because the caller allocates the memory afterwards.
static void take_b(const worker_t *w, int64_t panels, uint8_t *memory, size_t *used, b_store_t *b) {
  const gemm_kernel_t *kernel = w->kernel;
  const size_t at = take(used, ufp4_matrix_bytes(panels, w->plan.chunks, kernel->b_bytes));
  const size_t poisoned = take(used, (size_t)(panels * kernel->tile_cols));
  const size_t states = take(used, (size_t)panels * sizeof *b->states);
  if (memory == NULL) return;
  *b = (b_store_t){memory + at, memory + poisoned, (atomic_uchar *)(memory + states)};
}

// Allocates the packed B that all workers share. @return the pointer to free, or NULL if memory is
// exhausted.
static void *create_shared(worker_t *like) {
  const int64_t panels = divide_up(like->job->b->rows, like->kernel->tile_cols);
  uint8_t *memory = NULL;
  size_t size = 0, used = 0;
  take_b(like, panels, NULL, &size, &like->b);
  void *whole = scratch(size, &memory);
  if (whole == NULL) return NULL;
  take_b(like, panels, memory, &used, &like->b);
  memset(like->b.poisoned, 0, (size_t)(panels * like->kernel->tile_cols));
  clear_states(&like->b, panels);
  return whole;
}

static int worker_create(const worker_t *like, int number, worker_t *w) {
  const gemm_kernel_t *kernel = like->kernel;
  const plan_t *plan = &like->plan;
  const int64_t share = share_of(kernel, plan->a_panels, plan->chunks);
  // The last depth may have fewer chunks, and therefore larger shares.
  const int64_t a_panels = max_i64(share * plan->chunks, NEAR_BYTES / (int64_t)kernel->a_bytes);
  // Shares are even, so the last step, with fewer panels of A, may have larger ones.
  const int64_t most = min_i64(plan->a_panels, share_at_most(kernel, plan->chunks));
  const int64_t tiles = plan->one_depth ? most : plan->a_panels * plan->b_panels;
  size_t used = 0;
  size_t table = take(&used, kernel->table_bytes);
  size_t a = take(&used, ufp4_matrix_bytes(min_i64(a_panels, plan->a_panels * plan->chunks), 1,
                                           kernel->a_bytes));
  size_t a_poisoned = take(&used, (size_t)(plan->a_panels * kernel->tile_rows));
  size_t sums = take(&used, ufp4_matrix_bytes(tiles, 1, tile_bytes(kernel))), b = used;
  uint8_t *memory = NULL;
  *w = *like;
  if (!plan->shared) take_b(like, plan->b_panels, NULL, &used, &w->b);
  w->memory = scratch(used, &memory);
  if (w->memory == NULL) return 0;
  if (!plan->shared) take_b(like, plan->b_panels, memory, &b, &w->b);
  w->number = number;
  w->table = memory + table;
  w->a = memory + a;
  w->a_poisoned = memory + a_poisoned;
  w->sums = memory + sums;
  return 1;
}

static int useful_threads(const gemm_job_t *job) {
  int64_t work = job->a->rows * job->b->rows / 64 * job->a->blocks / (THREAD_MACS / 1024) + 1;
  return (int)min_i64(min_i64(work, MAX_THREADS), job->how->threads > 1 ? job->how->threads : 1);
}

// Whole cache lines of a large FP32 result need not be read before they are written.
static int streams(const gemm_job_t *job) {
  return job->how->d_dtype == UFP4_DTYPE_F32 && job->d_ld % 16 == 0 &&
         (uintptr_t)job->d % 64 == 0 &&
         job->a->rows * job->b->rows >= STREAM_BYTES / (int)sizeof(float);
}

ufp4_status_t gemm_blocked(const gemm_job_t *checked, const gemm_kernel_t *kernel) {
  gemm_job_t own = *checked;
  const gemm_job_t *job = &own;
  own.stream = streams(checked);
  int threads = useful_threads(job), count = 0;
  atomic_llong next = 0;
  worker_t like = {
      .job = job, .kernel = kernel, .plan = plan_of(job, kernel, threads, 1), .next = &next};
  void *shared = like.plan.shared ? create_shared(&like) : NULL;
  if (like.plan.shared && shared == NULL) like.plan = plan_of(job, kernel, threads, 0);
  threads = (int)min_i64(threads, like.plan.count);
  like.of = threads;
  worker_t workers[MAX_THREADS];
  void *arguments[MAX_THREADS];
  while (count < threads && worker_create(&like, count, &workers[count])) {
    arguments[count] = &workers[count];
    count++;
  }
  if (count > 0) threads_run(run_worker, arguments, count);
  for (int i = 0; i < count; i++) free(workers[i].memory);
  free(shared);
  return count > 0 ? UFP4_OK : UFP4_ERROR_MEMORY;
}
