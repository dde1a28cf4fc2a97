// SPDX-License-Identifier: Apache-2.0
// What libufp4_cuda.so gives the backend: a table of functions, found with dlopen, so that nothing
// else of ufp4 depends on CUDA. All of it may be called from one thread at a time. Work is queued
// in order; what reads results waits.
#ifndef UFP4_CUDA_TABLE_H
#define UFP4_CUDA_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/gemm.h"
#include "ufp4/quantize.h"
#include "ufp4/status.h"

/** Both sides must have been built from the same header. */
#define UFP4_CUDA_TABLE_VERSION 4u
#define UFP4_CUDA_TABLE_SYMBOL "ufp4_cuda_table"

/** An open GPU; defined by the library. */
typedef struct ufp4_cuda ufp4_cuda_t;

typedef struct {
  char name[256];
  int major, minor;                     ///< compute capability
  int driver_version, runtime_version;  ///< as CUDA counts: 1000 major + 10 minor
  int multiprocessors;
  int64_t memory_bytes;
  double
      memory_bytes_per_second;  ///< peak, from clock and bus width; 0 where the driver does not say
  double
      bf16_macs_per_second;  ///< peak of the tensor cores, dense; 0: not known; INT8 has twice that
} ufp4_cuda_description_t;

/** Where block b of row r of an operand lies: entry r / 16 * group + b * block + r % 16 * row, of 8
 * bytes of codes and of one scale, which both entries of a block of 32 have. So panel-major memory
 * and row-major operands are the same to the kernels. */
typedef struct {
  int64_t group, block, row;
} ufp4_cuda_place_t;

/** A tensor exponent: *slot in device memory, or where that is NULL, value. NVFP4 has in its place
 * minus the FP32 pattern of the largest magnitude. */
typedef struct {
  const int32_t *slot;
  int32_t value;
} ufp4_cuda_exponent_t;

/** One copy that QUANT makes; codes and scales in device memory. */
typedef struct {
  int enabled;
  ufp4_rht_t rht;
  uint64_t tensor_id;
  ufp4_cuda_exponent_t exponent;
  uint64_t *codes;  ///< 16 codes an entry
  void *scales;     ///< bytes, or FP32
  ufp4_cuda_place_t place;
  int pads_groups;      ///< rows up to the next multiple of 16 are written too, as zeros
  int32_t *largest;     ///< AMAX: the smallest exponent of all blocks, INT32_MAX before the first
  float *tensor_scale;  ///< NVFP4: where Sd is written; or NULL
} ufp4_cuda_copy_t;

/** QUANT and AMAX: the row copy and the column copy of one tensor from one read. */
typedef struct {
  const void *source;
  ufp4_dtype_t dtype;  ///< F32 or BF16
  int64_t rows, cols, ld;
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  ufp4_layout_t layout;
  uint16_t rht_mask;
  ufp4_round_t round;
  ufp4_scale_round_t scale_round;
  uint64_t seed;
  uint32_t *flags;  ///< UFP4_FLAG_* are ORed in, in device memory
  ufp4_cuda_copy_t copies[2];
} ufp4_cuda_quantize_t;

/** An operand of a GEMM in device memory. */
typedef struct {
  ufp4_elem_t elem;
  int64_t rows;
  const uint64_t *codes;
  const void *scales;
  ufp4_cuda_place_t place;
  ufp4_cuda_exponent_t exponent;
} ufp4_cuda_operand_t;

/** How the contract fp32 multiplies blocks; both have the same bits. */
typedef enum {
  UFP4_CUDA_PRODUCT_AUTO = 0,
  UFP4_CUDA_PRODUCT_BF16 = 1,  ///< scales folded into BF16 elements (E4M3 only)
  UFP4_CUDA_PRODUCT_INT8 = 2,  ///< integer dot products, then converted and scaled
} ufp4_cuda_product_t;

typedef struct {
  ufp4_contract_t contract;  ///< exact or fp32
  ufp4_scale_t scale;
  int64_t k;
  ufp4_cuda_operand_t a, b;
  float scale_product;  ///< RNE32(SdA * SdB); 1: none
  float alpha;
  const float *c;
  int64_t c_ld;
  const int64_t *accumulate;
  int64_t accumulate_ld;
  void *d;
  ufp4_dtype_t d_dtype;
  int64_t d_ld;
  int tile;  ///< outputs a side of what a thread block computes: 64, 128 (or what the GPU's own
             ///< large tiles are), or 0: as the shape has it; same bits
  ufp4_cuda_product_t product;
} ufp4_cuda_gemm_t;

/** What NVIDIA's own is timed on. */
typedef enum {
  UFP4_CUDA_VENDOR_BF16,  ///< cuBLAS, BF16 with FP32 accumulation
  UFP4_CUDA_VENDOR_FP64,  ///< cuBLAS DGEMM
  UFP4_CUDA_VENDOR_COPY,  ///< the runtime's copy of a [m][n] to d, FP32
} ufp4_cuda_vendor_t;

/** The GPU's own narrow arithmetic. */
typedef enum {
  UFP4_CUDA_NARROW_FP8 = 0,  ///< E4M3 without scales of blocks, whose scales, powers of two from
                             ///< 2^-4 to 2^4, go into the elements (compute capability 8.9 and up)
  UFP4_CUDA_NARROW_FP4 = 1,  ///< E2M1 with an E4M3 scale for 16 elements (10.0 and up)
} ufp4_cuda_narrow_t;

/** D [m][n] = A [m][k] B [n][k]^T in FP32, operands as narrow() leaves them; m, n and k multiples
 * of 128. */
typedef struct {
  ufp4_cuda_narrow_t kind;
  int64_t m, n, k;
  const void *a, *b;
  const void *a_scales, *b_scales;  ///< FP4
  int fast;                         ///< FP8: with cuBLASLt's fast accumulation
  void *d;
} ufp4_cuda_narrow_gemm_t;

typedef struct {
  uint32_t version;  ///< UFP4_CUDA_TABLE_VERSION
  /** The first GPU. UFP4_ERROR_DEVICE: there is none that can be used; @p message says why. */
  ufp4_status_t (*open)(ufp4_message_t *message, ufp4_cuda_t **out);
  void (*close)(ufp4_cuda_t *cuda);
  void (*describe)(const ufp4_cuda_t *cuda, ufp4_cuda_description_t *out);
  /** Device memory, all zero. */
  ufp4_status_t (*allocate)(ufp4_cuda_t *cuda, size_t bytes, void **out);
  void (*release)(ufp4_cuda_t *cuda, void *memory);
  ufp4_status_t (*write)(ufp4_cuda_t *cuda, void *to, const void *from, size_t bytes);
  ufp4_status_t (*read)(ufp4_cuda_t *cuda, void *to, const void *from, size_t bytes);
  ufp4_status_t (*clear)(ufp4_cuda_t *cuda, void *memory, size_t bytes);
  ufp4_status_t (*amax)(ufp4_cuda_t *cuda, const ufp4_cuda_quantize_t *job);
  /** Turns the `largest` of AMAX into an exponent in @p slot: 0 where no block had one. */
  ufp4_status_t (*settle)(ufp4_cuda_t *cuda, const int32_t *largest, int32_t *slot);
  ufp4_status_t (*quantize)(ufp4_cuda_t *cuda, const ufp4_cuda_quantize_t *job);
  ufp4_status_t (*gemm)(ufp4_cuda_t *cuda, const ufp4_cuda_gemm_t *job);
  /** Waits for everything queued. */
  ufp4_status_t (*synchronize)(ufp4_cuda_t *cuda);
  /** Milliseconds of GPU time between the two calls; the second waits. */
  ufp4_status_t (*timer_start)(ufp4_cuda_t *cuda);
  ufp4_status_t (*timer_stop)(ufp4_cuda_t *cuda, double *milliseconds);
  /** Queues D [m][n] = A [m][k] B [n][k]^T of NVIDIA's library, UFP4_ERROR_UNSUPPORTED where it is
   * not installed; or the copy. */
  ufp4_status_t (*vendor)(ufp4_cuda_t *cuda, ufp4_cuda_vendor_t what, int64_t m, int64_t n,
                          int64_t k, const void *a, const void *b, void *d);
  /** An operand as cuBLASLt takes it: a byte, or for FP4 half a byte, an element, and for FP4
   * scales in its own order. */
  ufp4_status_t (*narrow)(ufp4_cuda_t *cuda, const ufp4_cuda_operand_t *in, int64_t k,
                          ufp4_cuda_narrow_t kind, void *elements, void *scales);
  /** Queues such a product; UFP4_ERROR_UNSUPPORTED, and why, where this GPU or its cuBLASLt has
   * none. */
  ufp4_status_t (*vendor_narrow)(ufp4_cuda_t *cuda, const ufp4_cuda_narrow_gemm_t *job);
} ufp4_cuda_table_t;

#ifdef __cplusplus
extern "C" {
#endif
/** The table; the one symbol that the library has. */
const ufp4_cuda_table_t *ufp4_cuda_table(void);
#ifdef __cplusplus
}
#endif

#endif
