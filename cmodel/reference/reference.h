// SPDX-License-Identifier: Apache-2.0
// The reference model: a second implementation of docs/reference/numerics.md, written from that
// text alone and sharing no code with cmodel/src, so that a mistake goes unnoticed only if it is
// made twice. Used by tests only. It compares exact numbers where the golden model computes with
// bits; it is slow and does not check arguments. FP32 numbers are bit patterns, so that no host
// arithmetic takes part.
#ifndef UFP4_REFERENCE_H
#define UFP4_REFERENCE_H

#include <stdint.h>

// --- Exact numbers ------------------------------------------------------------------------------

/** A finite number, (-1)^negative * magnitude * 2^exponent; zero keeps its sign. */
typedef struct {
  int negative;
  uint64_t magnitude;
  int exponent;
} reference_real_t;

/** Returns -1, 0 or 1 if a * 2^p is less than, equal to or greater than b * 2^q. */
int reference_compare(uint64_t a, int p, uint64_t b, int q);
/** Returns -1, 0 or 1 if |x| is less than, equal to or greater than |y|. */
int reference_real_compare(reference_real_t x, reference_real_t y);
/** Returns 1 if the pattern is a number, 0 for NaN and Inf. */
int reference_f32_is_finite(uint32_t bits);
int reference_f32_is_nan(uint32_t bits);
/** Returns the value of a finite FP32 pattern. */
reference_real_t reference_f32_real(uint32_t bits);
/** Returns RNE32 of (-1)^negative * magnitude * 2^exponent; magnitude 0 gives a zero with that
 * sign. */
uint32_t reference_f32_round(int negative, uint64_t magnitude, int exponent);
/** Returns RNE32 of (-1)^negative * numerator / denominator * 2^exponent; the denominator < 2^39,
 * so that its product with a significand and its half fits into 64 bits. */
uint32_t reference_f32_quotient(int negative, uint64_t numerator, int exponent,
                                uint64_t denominator);
/** Return the IEEE product, quotient and sum, nearest even; every NaN is 0x7FC00000. */
uint32_t reference_f32_multiply(uint32_t a, uint32_t b);
uint32_t reference_f32_divide(uint32_t a, uint32_t b);
uint32_t reference_f32_add(uint32_t a, uint32_t b);
/** Returns RNE32(a + x), with one rounding, for an FP32 pattern and any number that a sum can
 * hold; Inf and NaN are kept. */
uint32_t reference_f32_add_real(uint32_t a, reference_real_t x);

#define REFERENCE_SUM_UNIT (-300)
#define REFERENCE_BIG_WORDS 24
typedef struct {
  uint32_t word[REFERENCE_BIG_WORDS];
} reference_big_t;

/** An exact sum of numbers that are multiples of 2^-300 and under 2^400; {0} is the empty sum. */
typedef struct {
  /** the sums of the positive and of the negative magnitudes */
  reference_big_t part[2];
} reference_sum_t;

void reference_sum_add(reference_sum_t *sum, reference_real_t x);
/** Rounds the sum once, nearest even, to FP32 (@p drop 0) or BF16 (@p drop 16, also an FP32
 * pattern); an exact zero is +0. */
uint32_t reference_sum_round(const reference_sum_t *sum, int drop);

// --- Formats (numerics.md 1, 2) -----------------------------------------------------------------

typedef enum {
  REFERENCE_E2M1 = 0,
  REFERENCE_E1M2 = 1,
  REFERENCE_INT4 = 2,
  REFERENCE_MIXED = 3,  ///< each block is E2M1 or HALVES
  REFERENCE_HALVES = 4  ///< 0 to 3.5 in halves, sign and magnitude: a grid of MIXED, never an
                        ///< operand's element
} reference_elem_t;
#define REFERENCE_ELEM_COUNT 3

/** Returns the grid of a block, which for MIXED bit 7 of its scale byte selects; otherwise it is
 * the element itself. */
reference_elem_t reference_elem_grid(reference_elem_t elem, uint32_t scale);
int reference_elem_quanta(reference_elem_t elem, unsigned code);
int reference_elem_frac(reference_elem_t elem);
/** Returns the quanta of the k-th magnitude that the quantizer can emit, k 0..7. */
int reference_elem_magnitude(reference_elem_t elem, int k);
/** Returns the code of that magnitude with a sign. */
uint8_t reference_elem_encode(reference_elem_t elem, int negative, int k);
uint32_t reference_elem_value(reference_elem_t elem, unsigned code);
uint8_t reference_elem_cast(reference_elem_t elem, uint32_t bits);

/** Returns the E4M3 magnitude of a byte in units of 2^-9, ignoring the sign bit; -1 for NaN. */
int reference_e4m3_units(uint8_t byte);
uint32_t reference_e4m3_value(uint8_t byte);
uint8_t reference_e4m3_cast(uint32_t bits);
uint8_t reference_e8m0_cast(uint32_t bits, int up);
uint32_t reference_e8m0_value(uint8_t byte);
uint16_t reference_bf16_cast(uint32_t bits);

// --- Random words (numerics.md 4) ---------------------------------------------------------------

void reference_threefry4x32(int rounds, const uint32_t key[4], const uint32_t counter[4],
                            uint32_t out[4]);
void reference_random_block(uint64_t seed, uint64_t tensor_id, uint64_t group, uint8_t bytes[16]);
/** Returns the mask of a training step if signs are drawn for each step (numerics.md 3). */
uint16_t reference_signs(uint64_t seed, uint64_t step);

// --- RHT and quantizer (numerics.md 2, 3, 4) ----------------------------------------------------

typedef enum {
  REFERENCE_SCALE_E4M3 = 0,
  REFERENCE_SCALE_NVFP4 = 1,
  REFERENCE_SCALE_E8M0 = 2,
  REFERENCE_SCALE_FP32 = 3
} reference_scale_t;
typedef enum {
  REFERENCE_SCALE_NEAREST = 0,
  REFERENCE_SCALE_UP = 1,
  REFERENCE_SCALE_DOWN = 2,
  REFERENCE_SCALE_46 = 3  ///< NVFP4: largest code 6 or 4, by the smaller error
} reference_scale_round_t;
typedef enum {
  REFERENCE_RHT_NONE = 0,
  REFERENCE_RHT_INTEGER = 1,
  REFERENCE_RHT_BF16 = 2
} reference_rht_t;

typedef struct {
  reference_elem_t elem;
  reference_scale_t scale;
  int tall;  ///< 0: a scale covers part of a row; 1: that part of 16 rows (2-D tiles)
  reference_rht_t rht;
  uint64_t mask;
  int block;       ///< columns that share a scale; 0: reference_scale_block
  int points;      ///< of the transform; 0: 16
  int stochastic;  ///< 0 nearest even, 1 SR
  reference_scale_round_t scale_round;
  uint64_t seed;
  uint64_t tensor_id;
} reference_quantize_t;

/** A block of 16 numbers, and whether NaN or Inf poisons it. */
typedef struct {
  int poisoned;
  reference_real_t x[16];
} reference_block_t;

/** Computes the transform; out[i] * 2^(E - 152). @return E, or 0 if the block holds NaN or Inf. */
int reference_rht_block(const uint32_t bits[16], uint16_t mask, int32_t out[16]);
/** Undoes the transform of decoded values, which are FP32 patterns (numerics.md 2, Decoding). */
void reference_rht_undo(const uint32_t *bits, int points, uint64_t mask, uint32_t *out);
/** Loads a block as an input of the quantizer. */
reference_block_t reference_block_load(const uint32_t bits[16], const reference_quantize_t *how);
/** Loads part @p part of a transform of how->points, 32 or 64, as an input of the quantizer. */
reference_block_t reference_points_load(const uint32_t *bits, int part,
                                        const reference_quantize_t *how);
/** Returns the largest t with amax * 2^t / qmax <= 448; 0 for amax 0. */
int reference_exponent_of(reference_elem_t elem, reference_real_t amax);

/** Sets *out to the value of a scale without 2^-t and the tensor scale, ignoring a sign. @return 0
 * for NaN. */
int reference_scale_real(reference_scale_t scale, uint32_t bits, reference_real_t *out);
/** Returns the default number of columns per scale: 32 for E8M0, otherwise 16. */
int reference_scale_block(reference_scale_t scale);

#define REFERENCE_FLAG_NAN 1u
#define REFERENCE_FLAG_SATURATED 2u
/** Quantizes one block of 16 with its own scale, E4M3 or FP32; only E4M3 uses @p t. @return
 * flags. */
unsigned reference_quantize_block(const uint32_t bits[16], const reference_quantize_t *how, int t,
                                  const uint8_t random[16], uint8_t codes[16], uint32_t *scale);

/** A quantized operand, one code per byte: codes [rows][16 groups], scales [rows][scale_blocks]. */
typedef struct {
  reference_elem_t elem;
  reference_scale_t scale;
  int64_t rows;
  int64_t groups;         ///< ceil(cols / 16)
  int block;              ///< columns that share a scale
  int64_t scale_blocks;   ///< ceil(cols / block)
  int half;               ///< 1 after a transform of 32 points: products are halved
  int t;                  ///< 0 without
  uint32_t tensor_scale;  ///< FP32, 1 without
  unsigned flags;
  uint8_t *codes;
  uint32_t *scales;  ///< bytes, or FP32 patterns
} reference_operand_t;

/** Returns the tensor exponent of bits [rows][cols], blocked along its columns. */
int reference_tensor_exponent(const uint32_t *bits, int64_t rows, int64_t cols,
                              const reference_quantize_t *how);
/** Quantizes bits [rows][cols] along its columns; E4M3 with exponent @p t, which the other formats
 * ignore; free with reference_operand_free. */
reference_operand_t reference_quantize(const uint32_t *bits, int64_t rows, int64_t cols,
                                       const reference_quantize_t *how, int t);
/** Creates an operand with its arrays, all zero, t 0 and tensor scale 1. */
reference_operand_t reference_operand_create(reference_elem_t elem, reference_scale_t scale,
                                             int64_t rows, int64_t cols);
/** Creates an operand with @p block columns to a scale. */
reference_operand_t reference_operand_create_blocks(reference_elem_t elem, reference_scale_t scale,
                                                    int block, int64_t rows, int64_t cols);
void reference_operand_free(reference_operand_t *operand);
/** Returns element * scale * 2^-t * tensor scale of position k of a row, rounded once. */
uint32_t reference_dequantize(const reference_operand_t *operand, int64_t row, int64_t k);

// --- GEMM (numerics.md 5) and panels (docs/ip/architecture.md) ----------------------------------

#define REFERENCE_I64_NAN INT64_MIN
#define REFERENCE_NV_NAN 0x7FFFFFFFu

typedef enum { REFERENCE_EXACT = 0, REFERENCE_FP32 = 1, REFERENCE_NV = 2 } reference_contract_t;

/** Returns S of one output of contract exact, with @p start added; NaN is REFERENCE_I64_NAN. */
int64_t reference_gemm_sum(const reference_operand_t *a, int64_t i, const reference_operand_t *b,
                           int64_t j, int64_t start);
/** Returns the final accumulator of the other contracts; nv starts from @p start. */
uint32_t reference_gemm_fp32(const reference_operand_t *a, int64_t i, const reference_operand_t *b,
                             int64_t j);
uint32_t reference_gemm_nv(const reference_operand_t *a, int64_t i, const reference_operand_t *b,
                           int64_t j, uint32_t start);
/** Converts S to FP32: one rounding, then times the tensor scales and alpha, plus C, if present
 * (otherwise the pointers are NULL). */
uint32_t reference_gemm_round(const reference_operand_t *a, const reference_operand_t *b,
                              int64_t sum, const uint32_t *alpha, const uint32_t *c);
/** Multiplies an FP32 accumulator by the tensor scales and alpha and adds C, like
 * reference_gemm_round. Every NaN becomes the contract's. */
uint32_t reference_gemm_scale(const reference_operand_t *a, const reference_operand_t *b,
                              reference_contract_t contract, uint32_t accumulator,
                              const uint32_t *alpha, const uint32_t *c);
/** Rounds an output to BF16. */
uint16_t reference_gemm_bf16(uint32_t d);
/** Packs panel-major codes and scales (E4M3); blocks beyond the operand's own are not written. */
void reference_panel_pack(const reference_operand_t *in, int64_t stride_blocks, uint8_t *codes,
                          uint8_t *scales);

#endif
