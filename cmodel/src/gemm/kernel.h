// SPDX-License-Identifier: Apache-2.0
// The interface of the fast GEMMs. A kernel for one instruction set and contract is a table of
// functions on panels, and the same blocked loop (blocked.c) runs all of them. Sums are exact
// integers, or FP32 accumulators that add their blocks in increasing k, so the choice of kernel
// never changes the bits.
#ifndef UFP4_GEMM_KERNEL_H
#define UFP4_GEMM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/gemm.h"

/** One checked call of ufp4_gemm. */
typedef struct {
  const ufp4_operand_t *a, *b;
  const ufp4_gemm_t *how;
  int exponent;  ///< exponent of the exact sums' unit, including tensor exponents
  float scale;   ///< RNE32(SdA * SdB) of NVFP4; else 1
  void *d;
  int64_t d_ld;
  int stream;  ///< D is written past the caches; set by gemm_blocked
} gemm_job_t;

/** The position of a tile in D, and the rows and columns that a NaN scale has poisoned. */
typedef struct {
  int64_t row, col;
  int rows, cols;  ///< size of the part inside D
  const uint8_t *row_poisoned, *col_poisoned;
} gemm_tile_t;

/** The functions of a kernel. A panel consists of tile_rows rows of A, or tile_cols rows of B, by
 * up to chunk_blocks blocks, in the kernel's own layout, 64-byte aligned. */
typedef struct {
  int tile_rows, tile_cols, chunk_blocks;
  size_t sum_bytes;         ///< bytes of one sum
  size_t a_bytes, b_bytes;  ///< bytes of a panel; multiples of 64
  size_t table_bytes;       ///< bytes of the table that prepare derives from a panel of B
  /** Fills a panel from row @p row and block @p block on, with zeros beyond the operand; sets
   * poisoned[r] if a scale of row r is NaN. */
  void (*pack_a)(const gemm_job_t *job, int64_t row, int64_t block, void *panel, uint8_t *poisoned);
  void (*pack_b)(const gemm_job_t *job, int64_t row, int64_t block, void *panel, uint8_t *poisoned);
  void (*prepare)(const void *b, void *table);  ///< NULL: this kernel has no tables
  /** Sets (@p first) or increases sums [tile_rows][tile_cols] by the products of the two panels;
   * 64-byte aligned. */
  void (*multiply)(const void *a, const void *b, const void *table, int first, void *sums);
  /** Rounds and stores the sums of a tile, as gemm_store does, or gemm_store_f32. */
  void (*store)(const gemm_job_t *job, const gemm_tile_t *tile, const void *sums);
  /** Makes a thread's streaming stores visible to others after its last one. */
  void (*finish)(void);
} gemm_kernel_t;

/** The kernels, or NULL if the compiler does not support the instructions. */
const gemm_kernel_t *gemm_avx512(void);
const gemm_kernel_t *gemm_avx512_folded(void);  ///< for two uniform formats: gemm_is_uniform
const gemm_kernel_t *gemm_avx2(void);
const gemm_kernel_t *gemm_avx512_fp32(void);
const gemm_kernel_t *gemm_avx2_fp32(void);

/** Defines @p name in a file that has ROWS, COLS, CHUNK, a_panel_t, b_panel_t and multiply; @p sum
 * is the type of a sum, and the rest are members that differ between kernels. */
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
/** Defines a function that returns NULL, for a compiler that does not support the instructions. */
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
