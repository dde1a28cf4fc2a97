// SPDX-License-Identifier: Apache-2.0
// The table of functions that libufp4_cuda.so gives to the backend, found with dlopen, so that no
// other part of ufp4 depends on CUDA. It has the calls of ufp4_cuda.h; its other functions, for
// memory, time and NVIDIA's library, may be called by one thread at a time and use the default
// stream.
#ifndef UFP4_CUDA_TABLE_H
#define UFP4_CUDA_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4_cuda.h"

/** Both sides must have been built from the same header. */
#define UFP4_CUDA_TABLE_VERSION 7u
#define UFP4_CUDA_TABLE_SYMBOL "ufp4_cuda_table"

typedef struct {
  char name[256];
  int major, minor;                     ///< compute capability
  int driver_version, runtime_version;  ///< as CUDA counts: 1000 major + 10 minor
  int multiprocessors;
  int64_t memory_bytes;
  double
      memory_bytes_per_second;  ///< peak, from clock and bus width; 0 if the driver does not report
                                ///< them
  double bf16_macs_per_second;  ///< dense peak of the tensor cores; 0: unknown; INT8 has twice that
  char kernels[80];  ///< "warpgroups" or "warps", with the reason if the GPU could use better ones
  char no_nv[80];    ///< why it does not support contract nv; empty if it does
} ufp4_cuda_description_t;

/** How contract fp32 multiplies blocks; both give the same bits. */
typedef enum {
  UFP4_CUDA_PRODUCT_AUTO = 0,
  UFP4_CUDA_PRODUCT_BF16 = 1,  ///< scales folded into BF16 elements (E4M3 only)
  UFP4_CUDA_PRODUCT_INT8 = 2,  ///< integer dot products, then converted and scaled
} ufp4_cuda_product_t;

/** Choices that are otherwise made by shape, scale and GPU, and that do not change the bits. */
typedef struct {
  /** Outputs per side of a thread block's tile: 64, 128 (or the size of the GPU's own large tiles),
   * 192 (as 128, but 192 rows by 128 columns if warpgroups compute contract fp32), or 0: chosen by
   * the shape. */
  int tile;
  ufp4_cuda_product_t product;
} ufp4_cuda_choice_t;

/** Reference work for which NVIDIA's own functions are timed. */
typedef enum {
  UFP4_CUDA_VENDOR_BF16,      ///< cuBLAS, BF16 with FP32 accumulation and results
  UFP4_CUDA_VENDOR_FP64,      ///< cuBLAS DGEMM
  UFP4_CUDA_VENDOR_COPY,      ///< the runtime's copy of a [m][n] to d, FP32
  UFP4_CUDA_VENDOR_BF16_ALL,  ///< like the first, with results in BF16
} ufp4_cuda_vendor_t;

/** The GPU's own narrow formats. */
typedef enum {
  UFP4_CUDA_NARROW_FP8 = 0,  ///< E4M3 without block scales: these, powers of two from 2^-4 to 2^4,
                             ///< are multiplied into the elements (compute capability 8.9 and up)
  UFP4_CUDA_NARROW_FP4 = 1,  ///< E2M1 with an E4M3 scale per 16 elements (10.0 and up)
} ufp4_cuda_narrow_t;

/** D [m][n] = A [m][k] B [n][k]^T in FP32, with operands from narrow(); m, n and k are multiples
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
  /** Opens the first GPU. UFP4_ERROR_DEVICE: none can be used; @p message says why, and must live
   * as long as the opened GPU. */
  ufp4_status_t (*open)(ufp4_message_t *message, ufp4_cuda_t **out);
  void (*close)(ufp4_cuda_t *cuda);
  void (*describe)(const ufp4_cuda_t *cuda, ufp4_cuda_description_t *out);
  /** Allocates device memory, all zero. */
  ufp4_status_t (*allocate)(ufp4_cuda_t *cuda, size_t bytes, void **out);
  void (*release)(ufp4_cuda_t *cuda, void *memory);
  ufp4_status_t (*write)(ufp4_cuda_t *cuda, void *to, const void *from, size_t bytes);
  ufp4_status_t (*read)(ufp4_cuda_t *cuda, void *to, const void *from, size_t bytes);
  ufp4_status_t (*clear)(ufp4_cuda_t *cuda, void *memory, size_t bytes);
  /** ufp4_cuda_quantize, ufp4_cuda_amax, ufp4_cuda_gemm with a choice, and their queries. */
  ufp4_status_t (*quantize)(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in,
                            const ufp4_quantize_t *how, const ufp4_cuda_operand_t *out, int copies,
                            uint32_t *flags, const ufp4_cuda_call_t *call);
  ufp4_status_t (*amax)(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in,
                        const ufp4_quantize_t *how, const ufp4_cuda_operand_t *out, int copies,
                        uint32_t *flags, const ufp4_cuda_call_t *call);
  size_t (*quantize_workspace)(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in);
  ufp4_status_t (*gemm)(const ufp4_cuda_t *cuda, const ufp4_cuda_choice_t *choice,
                        const ufp4_cuda_operand_t *a, const ufp4_cuda_operand_t *b,
                        const ufp4_gemm_t *how, void *d, int64_t d_ld,
                        const ufp4_cuda_call_t *call);
  size_t (*gemm_workspace)(const ufp4_cuda_t *cuda, const ufp4_cuda_choice_t *choice,
                           const ufp4_cuda_operand_t *a, const ufp4_cuda_operand_t *b,
                           const ufp4_gemm_t *how);
  /** Waits for all queued work. */
  ufp4_status_t (*synchronize)(ufp4_cuda_t *cuda);
  /** Measure the milliseconds of GPU time between the two calls; the second waits. */
  ufp4_status_t (*timer_start)(ufp4_cuda_t *cuda);
  ufp4_status_t (*timer_stop)(ufp4_cuda_t *cuda, double *milliseconds);
  /** Queues D [m][n] = A [m][k] B [n][k]^T by NVIDIA's library, UFP4_ERROR_UNSUPPORTED if it is
   * not installed; or the copy. */
  ufp4_status_t (*vendor)(ufp4_cuda_t *cuda, ufp4_cuda_vendor_t what, int64_t m, int64_t n,
                          int64_t k, const void *a, const void *b, void *d);
  /** Converts an operand to cuBLASLt's format: a byte, or for FP4 half a byte, per element, and
   * for FP4 scales in its own order. */
  ufp4_status_t (*narrow)(ufp4_cuda_t *cuda, const ufp4_cuda_operand_t *in, int64_t k,
                          ufp4_cuda_narrow_t kind, void *elements, void *scales);
  /** Queues such a product; UFP4_ERROR_UNSUPPORTED, with the reason, if this GPU or its cuBLASLt
   * does not support it. */
  ufp4_status_t (*vendor_narrow)(ufp4_cuda_t *cuda, const ufp4_cuda_narrow_gemm_t *job);
} ufp4_cuda_table_t;

#ifdef __cplusplus
extern "C" {
#endif
/** The table. */
const ufp4_cuda_table_t *ufp4_cuda_table(void);
#ifdef __cplusplus
}
#endif

#endif
