// SPDX-License-Identifier: Apache-2.0
// The fast GEMMs share this: a kernel for one instruction set and contract is a table of functions
// on panels, and one blocked loop (blocked.c) runs any of them. Sums are exact integers, or FP32
// accumulators that take their blocks in increasing k, so no choice made here can show in the bits.
#ifndef UFP4_GEMM_KERNEL_H
#define UFP4_GEMM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/gemm.h"

/** One checked call of ufp4_gemm. */
typedef struct {
  const ufp4_operand_t *a, *b;
  const ufp4_gemm_t *how;
  int exponent;  ///< of the exact sums' unit, tensor exponents included
  float scale;   ///< RNE32(SdA * SdB) of NVFP4; else 1
  void *d;
  int64_t d_ld;
  int stream;  ///< D is better written past the caches: set by gemm_blocked
} gemm_job_t;

/** A tile's place in D, and which of its rows and columns a NaN scale has poisoned. */
typedef struct {
  int64_t row, col;
  int rows, cols;  ///< how much of the tile is inside D
  const uint8_t *row_poisoned, *col_poisoned;
} gemm_tile_t;

/** A panel is tile_rows rows of A, or tile_cols rows of B, by up to chunk_blocks blocks, in the
 * kernel's own layout, 64-byte aligned. */
typedef struct {
  int tile_rows, tile_cols, chunk_blocks;
  size_t sum_bytes;         ///< of one sum
  size_t a_bytes, b_bytes;  ///< of a panel; multiples of 64
  size_t table_bytes;       ///< of what prepare derives from a panel of B
  /** Fills a panel from row @p row and block @p block on, zero beyond the operand; sets poisoned[r]
   * where a scale is NaN. */
  void (*pack_a)(const gemm_job_t *job, int64_t row, int64_t block, void *panel, uint8_t *poisoned);
  void (*pack_b)(const gemm_job_t *job, int64_t row, int64_t block, void *panel, uint8_t *poisoned);
  void (*prepare)(const void *b, void *table);  ///< NULL: this kernel has no tables
  /** sums [tile_rows][tile_cols] = (@p first) or += the products of the two panels; 64-byte
   * aligned. */
  void (*multiply)(const void *a, const void *b, const void *table, int first, void *sums);
  /** Rounds and stores the sums of a tile, as gemm_store does, or gemm_store_f32. */
  void (*store)(const gemm_job_t *job, const gemm_tile_t *tile, const void *sums);
  /** After a thread's last store: what it streamed can be seen by others. */
  void (*finish)(void);
} gemm_kernel_t;

/** The kernels; NULL where the compiler does not have the instructions. */
const gemm_kernel_t *gemm_avx512(void);
const gemm_kernel_t *gemm_avx512_folded(void);  ///< of two uniform formats: gemm_is_uniform
const gemm_kernel_t *gemm_avx2(void);
const gemm_kernel_t *gemm_avx512_fp32(void);
const gemm_kernel_t *gemm_avx2_fp32(void);

/** Defines @p name in a file that has ROWS, COLS, CHUNK, a_panel_t, b_panel_t and multiply; @p sum
 * is the type of a sum, the rest the members that not all kernels have alike. */
#define GEMM_KERNEL(name, sum, ...)                                    \
  const gemm_kernel_t *name(void) {                                    \
    static const gemm_kernel_t kernel = {.tile_rows = ROWS,            \
                                         .tile_cols = COLS,            \
                                         .chunk_blocks = CHUNK,        \
                                         .sum_bytes = sizeof(sum),     \
                                         .a_bytes = sizeof(a_panel_t), \
                                         .b_bytes = sizeof(b_panel_t), \
                                         .pack_a = name##_pack_a,      \
                                         .pack_b = name##_pack_b,      \
                                         .multiply = multiply,         \
                                         .finish = stream_finish,      \
                                         __VA_ARGS__};                 \
    return &kernel;                                                    \
  }
/** Defines the function where the compiler does not have the instructions: it returns NULL. */
#define GEMM_NO_KERNEL(name)        \
  const gemm_kernel_t *name(void) { \
    return NULL;                    \
  }

/** Runs a checked job of the contract exact on any processor. */
ufp4_status_t gemm_portable(const gemm_job_t *job);

/** Runs a checked job by a contract that rounds along K: fp32 or nv. */
ufp4_status_t gemm_rounding(const gemm_job_t *job);

/** Runs a checked job with @p kernel. */
ufp4_status_t gemm_blocked(const gemm_job_t *job, const gemm_kernel_t *kernel);

#endif
