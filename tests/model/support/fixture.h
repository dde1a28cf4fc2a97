// SPDX-License-Identifier: Apache-2.0
// Inputs for both models, and the comparison of the resulting operands.
#ifndef UFP4_FIXTURE_H
#define UFP4_FIXTURE_H

#include "check.h"
#include "element.h"
#include "reference.h"
#include "ufp4/gemm.h"
#include "ufp4/quantize.h"

/** Distributions of FP32 numbers. */
typedef enum {
  FIXTURE_GAUSSIAN,
  FIXTURE_OUTLIERS,   ///< Gaussian, 2 % of it sixteen times larger
  FIXTURE_INTEGERS,   ///< -16..16
  FIXTURE_BF16,       ///< Gaussian rounded to BF16 by truncation
  FIXTURE_WILD,       ///< any finite pattern
  FIXTURE_SUBNORMAL,  ///< subnormals and the smallest normals
  FIXTURE_SPARSE,     ///< mostly zeros of both signs
  FIXTURE_TIES,  ///< odd multiples of 1/8 and their neighbours: cell boundaries if the scale is a
                 ///< power of two
  FIXTURE_NEAR,  ///< exponents within a few binades of each other
  FIXTURE_SPECIAL,  ///< now and then a NaN or an Inf
  FIXTURE_DISTRIBUTIONS
} fixture_distribution_t;

uint32_t fixture_number(check_random_t *random, fixture_distribution_t distribution);
void fixture_numbers(check_random_t *random, fixture_distribution_t distribution, uint32_t *bits,
                     int64_t count);

/** Returns the same options for the reference model. */
reference_quantize_t fixture_slow_options(const ufp4_quantize_t *how);
/** Returns the same operand for the reference model; free it with reference_operand_free. */
reference_operand_t fixture_slow_operand(const ufp4_operand_t *operand);

typedef enum {
  FIXTURE_SCALES_ANY,   ///< every scale but NaN, sign bit included
  FIXTURE_SCALES_MAX,   ///< the largest, with codes of the largest magnitude
  FIXTURE_SCALES_NAN,   ///< any, a few of them NaN
  FIXTURE_SCALES_NEAR,  ///< within 14 binades (E4M3: 6)
  FIXTURE_SCALES_COUNT
} fixture_scales_t;
/** Creates an operand with random codes (INT4 -8 and -0 included) and scales; aborts the program
 * without memory. */
ufp4_operand_t fixture_operand_scaled(check_random_t *random, ufp4_elem_t elem, ufp4_scale_t scale,
                                      int64_t rows, int64_t cols, fixture_scales_t scales);
/** Does the same with E4M3 scales. */
ufp4_operand_t fixture_operand(check_random_t *random, ufp4_elem_t elem, int64_t rows, int64_t cols,
                               fixture_scales_t scales);

/** Compares every code, padding included, every scale, the tensor's exponent and scale, and the
 * flags. */
void fixture_check_operand(const ufp4_operand_t *got, const reference_operand_t *want,
                           const char *what);

/** A matrix with a gap of NaN after each row, and the same numbers dense, transposed for the column
 * axis. */
typedef struct {
  ufp4_matrix_t view;
  uint32_t *storage;
  uint32_t *blocked;
  int64_t rows, cols;  ///< of blocked
} fixture_tensor_t;

fixture_tensor_t fixture_tensor(check_random_t *random, int rows, int cols,
                                fixture_distribution_t distribution, ufp4_dtype_t dtype,
                                ufp4_axis_t axis);
/** Makes a tensor of the caller's numbers, @p blocked dense, along the row axis. */
fixture_tensor_t fixture_tensor_of(const uint32_t *blocked, int64_t rows, int64_t cols);
void fixture_tensor_free(fixture_tensor_t *tensor);

/** Compares both models on the same tensor; the kernel is fixture_kernel(), whatever the options
 * say. */
void fixture_check_tensor(int64_t index, const fixture_tensor_t *in,
                          const ufp4_quantize_t *options);

/** Returns the kernel under test: the environment's UFP4_KERNEL, or the fastest. */
ufp4_kernel_t fixture_kernel(void);

#endif
