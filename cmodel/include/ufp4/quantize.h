// SPDX-License-Identifier: Apache-2.0
// Block quantizer with RHT and stochastic rounding (docs/reference/numerics.md, 3 and 4). RTL:
// rtl/quant.
#ifndef UFP4_QUANTIZE_H
#define UFP4_QUANTIZE_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/kernel.h"
#include "ufp4/matrix.h"
#include "ufp4/spec.h"
#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A quantized operand. Rows consist of groups of 16 along k, whatever the block size of the
 * scales. Codes are packed two to a byte, even k in the low nibble; row r starts at codes + r *
 * blocks * 8, and its group b at + b * 8. Positions at and beyond cols are padding: zero codes
 * without RHT, transformed data with RHT. A decoded value is element * scale * 2^-t * Sd. */
typedef struct {
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  int64_t rows;
  int64_t cols;          ///< logical k
  int64_t blocks;        ///< groups of 16: ceil(cols / 16)
  int block;             ///< elements per scale: 16, with E8M0 32; E4M3 also 32, 64, 128
  int64_t scale_blocks;  ///< ceil(cols / block)
  uint8_t *codes;        ///< [rows][blocks][8]
  uint8_t *scales;    ///< [rows][scale_blocks], E4M3 (NaN 0x7F) or E8M0 (NaN 0xFF) bytes; NULL with
                      ///< FP32 scales. Bit 7 of E4M3 is the grid if the elements are mixed, and
                      ///< ignored otherwise
  float *scales_f32;  ///< [rows][scale_blocks], FP32 scales (NaN 0x7FC00000); else NULL
  int exponent;       ///< tensor exponent t; 0 unless the scales are E4M3
  float tensor_scale;  ///< Sd of NVFP4; with all other scales 1 and ignored
  unsigned flags;      ///< UFP4_FLAG_NAN, UFP4_FLAG_ROW_SATURATED (for either axis)
  int half;            ///< 1 after a transform of 32 points: products are halved (numerics.md 3)
} ufp4_operand_t;

typedef enum { UFP4_AXIS_ROW = 0, UFP4_AXIS_COL = 1 } ufp4_axis_t;

/** Parameters of the quantizer. */
typedef struct {
  ufp4_elem_t elem;
  ufp4_scale_t scale;
  ufp4_axis_t axis;  ///< COL: quantize the transposed tensor
  /** 2D: tiles of 16 rows by one block share a scale, which is stored for each row. */
  ufp4_layout_t layout;
  ufp4_rht_t rht;
  uint64_t rht_mask;  ///< one bit per point
  ufp4_round_t round;
  ufp4_scale_round_t scale_round;
  uint64_t seed;  ///< used by stochastic rounding only
  uint64_t tensor_id;
  int exponent_given;    ///< E4M3 only. 1: use exponent below; 0: derive it from the data
  int exponent;          ///< -32768..32767
  ufp4_kernel_t kernel;  ///< 0: the fastest; the result does not depend on it
  int threads;           ///< 0: one; the result does not depend on it. NVFP4, and E4M3 with layout
                         ///< 2D, use one thread
  int block;             ///< elements per scale; 0: the default of the scale format
                         ///< (ufp4_scale_block)
  int rht_size;          ///< points of the transform, 16, 32 or 64; 0: 16
} ufp4_quantize_t;

/** Return the elements per scale and the points of the transform (16 if there is no transform). */
int ufp4_how_block(const ufp4_quantize_t *how);
int ufp4_how_points(const ufp4_quantize_t *how);

/** Allocates an operand of @p rows x @p cols with zero codes and scales and @p block elements per
 * scale; free it with ufp4_operand_free. */
ufp4_status_t ufp4_operand_create_blocks(ufp4_elem_t elem, ufp4_scale_t scale, int block,
                                         int64_t rows, int64_t cols, ufp4_operand_t *out);
/** Allocates an operand with the default block of the scale format (ufp4_scale_block). */
ufp4_status_t ufp4_operand_create_scaled(ufp4_elem_t elem, ufp4_scale_t scale, int64_t rows,
                                         int64_t cols, ufp4_operand_t *out);
/** Allocates an operand with E4M3 scales. */
ufp4_status_t ufp4_operand_create(ufp4_elem_t elem, int64_t rows, int64_t cols,
                                  ufp4_operand_t *out);
void ufp4_operand_free(ufp4_operand_t *operand);
/** Returns whether scales cover larger blocks than by default, or half is set. Only the golden
 * model multiplies such an operand, and only by contract exact. */
int ufp4_operand_is_wide(const ufp4_operand_t *operand);
/** Returns the scales as bytes in memory, whatever their format, and their number. */
const uint8_t *ufp4_operand_scale_bytes(const ufp4_operand_t *operand, int64_t *bytes);

/** Derives the tensor exponent of E4M3 scales: the largest t with amax * 2^t / qmax <= 448
 * exactly, where amax is taken over the clean blocks (2D: tiles) after RHT; 0 if no clean block is
 * non-zero. Uses elem, axis, layout, rht, rht_mask and kernel of @p how. UFP4_ERROR_UNSUPPORTED:
 * this processor does not have the kernel. RTL: AMAX command. */
ufp4_status_t ufp4_tensor_exponent(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                                   int *exponent);

/** Checks the arguments of ufp4_quantize. UFP4_ERROR_ARGUMENT: they are invalid.
 * UFP4_ERROR_UNSUPPORTED: this processor does not have the kernel. @p message (may be NULL) says
 * what is wrong. */
ufp4_status_t ufp4_quantize_check(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                                  ufp4_message_t *message);

/** Quantizes @p in (F32 or BF16; 1x1 up to UFP4_MAX_DIM each way) into a new operand; free it with
 * ufp4_operand_free. UFP4_ERROR_ARGUMENT: invalid arguments, or a combination that
 * ufp4_combination_quantize (combination.h) calls illegal. UFP4_ERROR_UNSUPPORTED: this processor
 * does not have the kernel. */
ufp4_status_t ufp4_quantize(const ufp4_matrix_t *in, const ufp4_quantize_t *how,
                            ufp4_operand_t *out);

/** Quantizes one block of 16 FP32 values to 16 codes and an E4M3 scale byte with tensor exponent
 * @p exponent; @p random: 16 bytes, read only with UFP4_ROUND_SR. Axis, layout and scale of @p how
 * are not read.
 * @return flags. */
unsigned ufp4_quantize_block(const uint32_t bits[16], const ufp4_quantize_t *how, int exponent,
                             const uint8_t random[16], uint8_t codes[16], uint8_t *scale);

/** Decodes an operand: element * scale * 2^-t * Sd rounded once to FP32, [rows][ld], @p cols_out =
 * cols or blocks * 16. The result is NaN where the scale is NaN, and a zero has the sign of its
 * code. UFP4_ERROR_ARGUMENT: a negative or infinite FP32 scale. */
ufp4_status_t ufp4_dequantize(const ufp4_operand_t *in, int64_t cols_out, float *out, int64_t ld);

#ifdef __cplusplus
}
#endif

#endif
