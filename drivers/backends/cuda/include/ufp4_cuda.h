// SPDX-License-Identifier: Apache-2.0
// libufp4_cuda.so: the quantizer and the GEMMs on tensors that are, and stay, in the memory of an
// NVIDIA GPU, with the bits of the golden model (docs/howto/gpu-library.md).
//
// Each call that computes queues kernels on the caller's stream and returns. It does not allocate,
// wait, or read device memory, so that it can be captured in a CUDA graph; what depends on the data
// (tensor exponents, tensor scales, flags) is written to device memory and read from there. Sizes,
// pointers and options are taken when a call is made: a graph repeats the call with what the
// pointers lead to then. A call that does not return UFP4_OK has queued nothing, but for
// UFP4_ERROR_DEVICE, after which the CUDA context is as CUDA says.
//
// Any number of threads may call at once, also with one ufp4_cuda_t: it does not change. Calls that
// may run at the same time need workspaces of their own.
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

/** The version of the library and the sizes of its structures, as ufp4_version and
 * ufp4_struct_bytes give those of the golden model's: a program that was compiled against another
 * header is found out before it does harm. Structures: "ufp4_cuda_operand_t", "ufp4_cuda_call_t",
 * "ufp4_cuda_random_t", "ufp4_matrix_t", "ufp4_quantize_t", "ufp4_gemm_t". */
uint32_t ufp4_cuda_version(void);
size_t ufp4_cuda_struct_bytes(const char *name);

// --- A GPU --------------------------------------------------------------------------------------

/** A GPU, and what the library knows of it. */
typedef struct ufp4_cuda ufp4_cuda_t;

/** GPU number @p device as CUDA counts, or with -1 the calling thread's. This call alone allocates
 * and waits, so it must not be made while a stream is captured; once for each GPU is enough.
 * @p message (may be NULL) says what is wrong. UFP4_ERROR_DEVICE: there is no such GPU, or none
 * that this library has code for (compute capability 8.0 and up); UFP4_ERROR_ARGUMENT: another
 * negative number. */
ufp4_status_t ufp4_cuda_open(int device, ufp4_cuda_t **out, ufp4_message_t *message);
/** Closes it. No call with it may be under way on the host; work that is queued goes on. */
void ufp4_cuda_close(ufp4_cuda_t *cuda);

// --- What all calls take ------------------------------------------------------------------------

struct CUstream_st;

/** The numbers that random bytes and signs are drawn from, in device memory
 * (ufp4_cuda_call_t.random). */
typedef struct {
  uint64_t seed;       ///< in place of ufp4_quantize_t's
  uint64_t step;       ///< for drawn signs
  uint64_t tensor_id;  ///< is added to ufp4_quantize_t's
} ufp4_cuda_random_t;

/** The stream and the memory that a call works with. */
typedef struct {
  struct CUstream_st *stream;  ///< a cudaStream_t of the GPU; NULL: the default stream
  void *workspace;             ///< device memory at any address, and
  size_t workspace_bytes;      ///< as much of it as the call's query says, or more. Its contents do
                               ///< not matter; they may be overwritten once the work has ended
  ufp4_message_t *message;     ///< where a refusal says what would be right, or NULL
  /** For the quantizer alone: device memory, at a multiple of 8, that is read when the work runs,
   * so that a graph draws anew each time; NULL: all is as ufp4_quantize_t says. */
  const ufp4_cuda_random_t *random;
  /** UFP4_SIGNS_STEP: the transform's signs are ufp4_recipe_mask's of random's seed and step, not
   * rht_mask. It goes with random. */
  ufp4_signs_t signs;
} ufp4_cuda_call_t;

/** A quantized tensor in device memory: `rows` rows along k = `cols`, which have blocks =
 * ceil(cols / 16) entries each. An entry is 8 bytes of codes, element k of the block in byte k/2,
 * low nibble first, and one scale: a byte (E4M3, NVFP4, E8M0) or an FP32 number. A scale for 32
 * elements (E8M0) is in both of its entries. Positions from cols on, up to the end of the last
 * block, are padding as in ufp4_operand_t. Values are element * scale * 2^-t * Sd. Operands with
 * other blocks over 16, or after a transform of 32 points (ufp4_operand_t's block and half), cannot
 * be expressed here. */
typedef struct {
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  int64_t rows, cols;  ///< 1 to UFP4_MAX_DIM
  uint8_t *codes;      ///< device memory, a multiple of 16
  void *scales;        ///< the same
  /** 0: entry (r, b) is number r * blocks + b, so codes and scales are rows without gaps. Else they
   * are panels of the core (docs/ip/architecture.md, operands in memory), groups of 16 rows that
   * are `panel_stride` blocks apart, at least blocks: entry (r / 16 * panel_stride + b) * 16 +
   * r % 16; the rows that pad the last group are written as zeros. */
  int64_t panel_stride;
  /** The tensor exponent t of E4M3 is *exponent, in device memory, or if that is NULL
   * exponent_value; with other scales neither is read. Where it is not NULL the quantizer writes
   * it: 0 without an exponent; with NVFP4 what AMAX found, which has no meaning but for
   * UFP4_CUDA_EXPONENT_STORED. */
  int32_t *exponent;
  int32_t exponent_value;
  /** Sd of NVFP4, in device memory. Where it is not NULL the quantizer writes it, 1 with others. */
  float *tensor_scale;
} ufp4_cuda_operand_t;

// --- Quantizing ---------------------------------------------------------------------------------

/** For ufp4_quantize_t.exponent_given: the exponent is what ufp4_cuda_amax has left at
 * out->exponent. */
#define UFP4_CUDA_EXPONENT_STORED 2

/** Quantizes @p in into one or two copies, as a rule one along each axis, which are then made from
 * one read of the tensor unless elem, scale, layout or rounding of the two differ.
 *
 * @param in its data is in device memory, [rows][ld] F32 or BF16, aligned to its elements
 * @param how one for each copy. exponent_given: 0: derived from the data (AMAX), and out->exponent
 * may not be NULL; 1: it is how's exponent; UFP4_CUDA_EXPONENT_STORED. threads and kernel are not
 * used
 * @param out one for each copy, whose elem, scale, rows and cols must be what @p how makes of the
 * tensor: codes, scales, exponent and tensor_scale are written
 * @param copies 1 or 2
 * @param flags device memory, or NULL: UFP4_FLAG_NAN, UFP4_FLAG_ROW_SATURATED and
 * UFP4_FLAG_COL_SATURATED (of a copy with that axis) are written
 * @return UFP4_ERROR_ARGUMENT: what ufp4_quantize refuses, a pointer that is NULL or misaligned, an
 * output of another size, too small a workspace; UFP4_ERROR_UNSUPPORTED: what
 * ufp4_combination_quantize does not give the backend cuda. Nothing may overlap. */
ufp4_status_t ufp4_cuda_quantize(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in,
                                 const ufp4_quantize_t *how, const ufp4_cuda_operand_t *out,
                                 int copies, uint32_t *flags, const ufp4_cuda_call_t *call);

/** AMAX alone: writes out->exponent of each copy, which may not be NULL, and to @p flags
 * UFP4_FLAG_NAN; ufp4_cuda_quantize takes it with UFP4_CUDA_EXPONENT_STORED. Scales E4M3 and NVFP4;
 * the rest as above, codes, scales and tensor_scale are not used. */
ufp4_status_t ufp4_cuda_amax(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in,
                             const ufp4_quantize_t *how, const ufp4_cuda_operand_t *out, int copies,
                             uint32_t *flags, const ufp4_cuda_call_t *call);

/** Bytes of workspace that either of these two calls needs. */
size_t ufp4_cuda_quantize_workspace(const ufp4_cuda_t *cuda, const ufp4_matrix_t *in);

// --- Multiplying --------------------------------------------------------------------------------

/** D [m][d_ld] = A [m][k] B [n][k]^T as ufp4_gemm defines it, contracts exact and fp32, and nv on
 * compute capability 12.x, with E2M1 and scales E4M3 or NVFP4.
 *
 * @param how c [m][c_ld] and accumulate [m][accumulate_ld], where given, are in device memory;
 * threads and kernel are not used
 * @param d device memory, F32, BF16 or I64 as how->d_dtype says, aligned to its elements; it may be
 * c or accumulate with the same leading dimension and element size
 * @return UFP4_ERROR_ARGUMENT: what ufp4_gemm refuses, a pointer that is NULL or misaligned, too
 * small a workspace; UFP4_ERROR_UNSUPPORTED: what ufp4_combination_gemm does not give the backend
 * cuda, and the contract nv on other GPUs. Not looked for are negative and infinite FP32 scales,
 * and, where nv begins with C, whether tensor exponents add up to 0 and tensor scales are 1. */
ufp4_status_t ufp4_cuda_gemm(const ufp4_cuda_t *cuda, const ufp4_cuda_operand_t *a,
                             const ufp4_cuda_operand_t *b, const ufp4_gemm_t *how, void *d,
                             int64_t d_ld, const ufp4_cuda_call_t *call);

/** Bytes of workspace that ufp4_cuda_gemm needs. Only the sizes and formats of @p a and @p b are
 * read, and the contract of @p how. 0: the call would refuse them. */
size_t ufp4_cuda_gemm_workspace(const ufp4_cuda_t *cuda, const ufp4_cuda_operand_t *a,
                                const ufp4_cuda_operand_t *b, const ufp4_gemm_t *how);

#ifdef __cplusplus
}
#endif

#endif
