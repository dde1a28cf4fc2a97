// SPDX-License-Identifier: Apache-2.0
// libufp4_cuda.so: the quantizer and the GEMMs on tensors in the memory of an NVIDIA GPU, with the
// bits of the golden model (docs/howto/gpu-library.md).
//
// Each computing call queues kernels on the caller's stream and returns. It does not allocate,
// wait, or read device memory, so it can be captured in a CUDA graph; results that later calls need
// (tensor exponents, tensor scales, flags) are written to device memory and read from there. Sizes,
// pointers and options are read when the call is made: a graph repeats the call with the contents
// that the pointers then have.
//
// A call that does not return UFP4_OK has queued nothing, unless it returns UFP4_ERROR_DEVICE; the
// CUDA context is then in the state that CUDA defines. Any number of threads may make calls at the
// same time, even with the same ufp4_cuda_t, which is read-only. Calls that may run at the same
// time need separate workspaces.
#ifndef UFP4_CUDA_LIBRARY_H
#define UFP4_CUDA_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/gemm.h"
#include "ufp4/quantize.h"
#include "ufp4/recipe.h"
#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Return the version of the library and the sizes of its structures, as ufp4_version and
 * ufp4_struct_bytes do for the golden model's, so that a program compiled with another header can
 * detect this. Structures: "ufp4_cuda_operand_t", "ufp4_cuda_call_t", "ufp4_cuda_random_t",
 * "ufp4_matrix_t", "ufp4_quantize_t", "ufp4_gemm_t". */
uint32_t ufp4_cuda_version(void);
size_t ufp4_cuda_struct_bytes(const char *name);

// --- A GPU --------------------------------------------------------------------------------------

/** An open GPU. */
typedef struct ufp4_cuda ufp4_cuda_t;

/** Opens GPU number @p device as CUDA counts, or with -1 the calling thread's. Only this call
 * allocates and waits, so it must not be made during a stream capture; once per GPU is enough. @p
 * message (may be NULL) says what is wrong. UFP4_ERROR_DEVICE: there is no such GPU, or this
 * library has no code for it (compute capability 8.0 and up); UFP4_ERROR_ARGUMENT: another negative
 * number. */
ufp4_status_t ufp4_cuda_open(int device, ufp4_cuda_t **out, ufp4_message_t *message);
/** Closes a GPU. No call that uses it may be under way on the host; queued work continues. */
void ufp4_cuda_close(ufp4_cuda_t *cuda);

// --- What all calls take ------------------------------------------------------------------------

struct CUstream_st;

/** Numbers that determine random bytes and signs, in device memory (ufp4_cuda_call_t.random). */
typedef struct {
  uint64_t seed;       ///< replaces ufp4_quantize_t's seed
  uint64_t step;       ///< determines drawn signs
  uint64_t tensor_id;  ///< is added to ufp4_quantize_t's tensor_id
} ufp4_cuda_random_t;

/** The stream and the memory of a call. */
typedef struct {
  struct CUstream_st *stream;  ///< a cudaStream_t of the GPU; NULL: the default stream
  void *workspace;             ///< device memory at any address
  size_t workspace_bytes;      ///< at least the size that the call's query returns. The contents do
                               ///< not matter, and may be overwritten once the work has ended
  ufp4_message_t *message;     ///< receives the reason of a refusal, or NULL
  /** Quantizer only: device memory, at a multiple of 8, that is read when the work runs, so that a
   * graph draws new numbers each time; NULL: ufp4_quantize_t determines everything. */
  const ufp4_cuda_random_t *random;
  /** UFP4_SIGNS_STEP: the transform's signs are ufp4_recipe_mask's of random's seed and step
   * instead of rht_mask. This requires random. */
  ufp4_signs_t signs;
} ufp4_cuda_call_t;

/** A quantized tensor in device memory: `rows` rows along k = `cols`, each with blocks = ceil(cols
 * / 16) entries. An entry is 8 bytes of codes, element k of the block in byte k/2, low nibble
 * first, and one scale: a byte (E4M3, NVFP4, E8M0) or an FP32 number. A scale of 32 elements (E8M0)
 * is stored in both of its entries. Positions from cols up to the end of the last block are padding
 * as in ufp4_operand_t. Values are element * scale * 2^-t * Sd. Operands with other blocks over 16,
 * or after a transform of 32 points (ufp4_operand_t's block and half), cannot be expressed. */
typedef struct {
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  int64_t rows, cols;  ///< 1 to UFP4_MAX_DIM
  uint8_t *codes;      ///< device memory, a multiple of 16
  void *scales;        ///< device memory, a multiple of 16
  /** 0: entry (r, b) is number r * blocks + b, so codes and scales are rows without gaps.
   * Otherwise they are panels of the core (docs/ip/architecture.md, operands in memory): groups of
   * 16 rows that are `panel_stride` blocks apart, at least blocks. Entry (r, b) is then number (r /
   * 16 * panel_stride + b) * 16 + r % 16, and rows that pad the last group are written as zeros. */
  int64_t panel_stride;
  /** The tensor exponent t of E4M3: *exponent in device memory, or if that is NULL,
   * exponent_value; other scales ignore both. If it is not NULL, the quantizer writes it: 0 if the
   * format has no exponent; with NVFP4 the result of AMAX, which is meaningful only for
   * UFP4_CUDA_EXPONENT_STORED. */
  int32_t *exponent;
  int32_t exponent_value;
  /** Sd of NVFP4, in device memory. If it is not NULL, the quantizer writes it; other scales write
   * 1. */
  float *tensor_scale;
} ufp4_cuda_operand_t;

// --- Quantizing ---------------------------------------------------------------------------------

/** A value of ufp4_quantize_t.exponent_given: the exponent is the one that ufp4_cuda_amax has left
 * in out->exponent. */
#define UFP4_CUDA_EXPONENT_STORED 2

/** Quantizes @p in to one or two copies, usually one along each axis. Copies along different
 * axes are made from one read of the tensor unless their elem, scale, layout or rounding differ.
 *  @param in its data are in device memory, [rows][ld] F32 or BF16, aligned to its elements
 *  @param how one for each copy. exponent_given 0: the exponent is derived from the data (AMAX),
 * and out->exponent must not be NULL; 1: how's exponent; or UFP4_CUDA_EXPONENT_STORED. threads and
 * kernel are ignored
 *  @param out one for each copy, whose elem, scale, rows and cols must match @p how and the tensor:
 * codes, scales, exponent and tensor_scale are written
 *  @param copies 1 or 2
 *  @param flags device memory, or NULL: receives UFP4_FLAG_NAN, and UFP4_FLAG_ROW_SATURATED and
 * UFP4_FLAG_COL_SATURATED for a copy along that axis
 *  @return UFP4_ERROR_ARGUMENT: the arguments are illegal for ufp4_quantize, a pointer is NULL or
 * misaligned, an output has another size, or the workspace is too small; UFP4_ERROR_UNSUPPORTED:
 * the backend cuda does not support this combination (ufp4_combination_quantize). Nothing may
 * overlap. */
ufp4_status_t ufp4_cuda_quantize(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in,
                                 const ufp4_quantize_t *how, const ufp4_cuda_operand_t *out,
                                 int copies, uint32_t *flags, const ufp4_cuda_call_t *call);

/** Runs only AMAX: writes out->exponent of each copy, which must not be NULL, and UFP4_FLAG_NAN to
 * @p flags; ufp4_cuda_quantize then uses it with UFP4_CUDA_EXPONENT_STORED. For scales E4M3 and
 * NVFP4; everything else is as above, and codes, scales and tensor_scale are ignored. */
ufp4_status_t ufp4_cuda_amax(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in,
                             const ufp4_quantize_t *how, const ufp4_cuda_operand_t *out, int copies,
                             uint32_t *flags, const ufp4_cuda_call_t *call);

/** Returns the bytes of workspace that either of these two calls needs. */
size_t ufp4_cuda_quantize_workspace(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in);

// --- Multiplying --------------------------------------------------------------------------------

/** Computes D [m][d_ld] = A [m][k] B [n][k]^T as ufp4_gemm defines it, by contract exact or fp32,
 * and on compute capability 12.x also by nv, with E2M1 and scales E4M3 or NVFP4.
 *  @param how c [m][c_ld] and accumulate [m][accumulate_ld], if given, are in device memory;
 * threads and kernel are ignored
 *  @param d device memory, F32, BF16 or I64 by how->d_dtype, aligned to its elements; it may be c
 * or accumulate with the same leading dimension and element size
 *  @return UFP4_ERROR_ARGUMENT: the arguments are illegal for ufp4_gemm, a pointer is NULL or
 * misaligned, or the workspace is too small; UFP4_ERROR_UNSUPPORTED: the backend cuda does not
 * support this combination (ufp4_combination_gemm), or nv on other GPUs. Not checked: negative
 * and infinite FP32 scales, and, if nv starts from C, that tensor exponents add up to 0 and tensor
 * scales are 1. */
ufp4_status_t ufp4_cuda_gemm(const ufp4_cuda_t *cuda, const ufp4_cuda_operand_t *a,
                             const ufp4_cuda_operand_t *b, const ufp4_gemm_t *how, void *d,
                             int64_t d_ld, const ufp4_cuda_call_t *call);

/** Returns the bytes of workspace that ufp4_cuda_gemm needs, from the sizes and formats of @p a
 * and @p b and the contract of @p how. 0: the call would refuse them. */
size_t ufp4_cuda_gemm_workspace(const ufp4_cuda_t *cuda, const ufp4_cuda_operand_t *a,
                                const ufp4_cuda_operand_t *b, const ufp4_gemm_t *how);

#ifdef __cplusplus
}
#endif

#endif
