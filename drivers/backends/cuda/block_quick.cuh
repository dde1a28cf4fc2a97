// SPDX-License-Identifier: Apache-2.0
// The block quantizer with E4M3 scales in few instructions, with the same bits as block.cuh.
// docs/ip/gpu-kernels.md, "Quick quantizer", has the proof; tests/cuda/test_quick.c checks the
// finite part. It requires |t| <= QUICK_EXPONENT, a largest magnitude in the range of
// quick_range(), and a scale that does not saturate.
#ifndef UFP4_CUDA_BLOCK_QUICK_CUH
#define UFP4_CUDA_BLOCK_QUICK_CUH

#include "block_scales.cuh"

#define QUICK_EXPONENT 80
#define QUICK_RHT_EXPONENT 26    // the smallest biased exponent whose unit 2^(E - 152) is normal
#define QUICK_MAGIC 12582912.0f  // 1.5 * 2^23: adding it rounds to an integer
#define QUICK_SMALLEST_CODE 0x00400000  // 2^-127

/** 1 and -1, hidden from the compiler, so that additions multiplied by them run on the multiplier,
 * which is less busy than the adder. */
typedef struct {
  uint32_t one, minus_one;
} quick_units_t;

/** The patterns of a block's largest magnitude that this quantizer handles: `count` patterns from
 * `first` on. */
typedef struct {
  uint32_t first, count;
} quick_range_t;

GPU quick_range_t quick_range(bool rht, int t) {
  quick_range_t range;
  range.first = rht ? (uint32_t)QUICK_RHT_EXPONENT << 23 : 1u;
  range.count = t >= -QUICK_EXPONENT && t <= QUICK_EXPONENT ? GPU_F32_INF - range.first : 0u;
  return range;
}

GPU bool quick_has(const quick_range_t &range, float amax) {
  return (uint32_t)__float_as_int(amax) - range.first < range.count;
}

/** Returns |x| of a block's largest number; NaN if it contains one. */
GPU float quick_amax(const float (&x)[16]) {
  float amax = 0.0f;
#pragma unroll
  for (int i = 0; i < 16; i++) amax = gpu_max_nan(amax, fabsf(x[i]));
  return amax;
}

// --- Division -----------------------------------------------------------------------------------

/** A reciprocal: high + low, to 48 bits. */
typedef struct {
  float high, low;
} quick_reciprocal_t;

/** Returns x / s. At each threshold and next to it the result is on the same side as the exact
 * quotient, if high is 1 / s to within one place. */
GPU float quick_quotient(float x, const quick_reciprocal_t &one_over) {
  return __fmaf_rn(x, one_over.high, x * one_over.low);
}

/** Computes 1 - s high exactly, and its effect on the quotient. */
GPU quick_reciprocal_t quick_completed(float s, float high) {
  const quick_reciprocal_t out = {high, __fmaf_rn(-s, high, 1.0f) * high};
  return out;
}

/** Returns the reciprocal of a number whose significand has four bits. */
GPU quick_reciprocal_t quick_one_over(float s) {
  const float near = gpu_reciprocal(s);
  return quick_completed(s, __fmaf_rn(__fmaf_rn(-s, near, 1.0f), near, near));
}

/** Returns the reciprocal rounded down. */
GPU float quick_below(const quick_reciprocal_t &one_over) {
  return __fadd_rd(one_over.high, one_over.low);
}

// --- Scales -------------------------------------------------------------------------------------

/** A scale in the encoder's format, in units of the numbers to be encoded. */
typedef struct {
  uint32_t byte;
  bool saturated;
  float quantum;
  quick_reciprocal_t one_over;
} quick_scale_t;

/** Returns the smallest E4M3 number, up to 448, that is not below a positive number. */
GPU uint32_t quick_e4m3_up(float y) {
  // A carry out of the significand correctly increments the exponent field; adding 1.5 * 2^14
  // leaves multiples of 2^-9.
  const uint32_t normal = (((uint32_t)__float_as_int(y) + 0xFFFFFu) >> 20) - (120u << 3);
  const uint32_t tiny = (uint32_t)__float_as_int(__fadd_ru(y, 24576.0f)) - 0x46C00000u;
  return min(y < 0x1p-6f ? tiny : normal, 0x7Eu);
}

GPU uint32_t quick_e4m3_nearest(float y) {
  return gpu_has_e4m3() ? gpu_e4m3(y) : min(e4m3_nearest(y), 0x7Eu);
}

/** Returns amax / qmax, where qmax = odd * 2^exponent, for a number already divided by
 * 2^exponent. */
template <int ELEM>
GPU float quick_share(float scaled) {
  constexpr double share = ELEM == UFP4_ELEM_E2M1 ? 1.0 / 3 : 1.0 / 7;
  constexpr quick_reciprocal_t one_over = {(float)share, (float)(share - (double)(float)share)};
  return quick_quotient(scaled, one_over);
}

/** Returns the scale of a block with the largest magnitude @p amax, which with RHT is in units of
 * @p unit, a power of two. */
template <int ELEM, bool RHT>
GPU quick_scale_t quick_scale(float amax, float unit, bool up, int t) {
  const int frac = elem_frac(ELEM);
  const float size = RHT ? amax * unit : amax;
  const float y =
      quick_share<ELEM>(fminf(size * f32_power(t - elem_qmax_exponent(ELEM)), 65536.0f));
  quick_scale_t out;
  out.saturated = y > E4M3_MAX;
  out.byte = max(up ? quick_e4m3_up(y) : quick_e4m3_nearest(y), 1u);
  // The bits of a byte, as an FP32 pattern, have its value times 2^-120.
  const float value = __int_as_float((int32_t)(out.byte << 20)) * 0x1p120f;
  out.one_over = quick_one_over(value);
  // Multiplications by powers of two are exact, or their results are far from all thresholds.
  const float quanta = f32_power(t + frac);
  out.quantum = value * f32_power(-t - frac);
  out.one_over.high *= quanta;
  out.one_over.low *= quanta;
  if (!RHT) return out;
  out.quantum *= __int_as_float(0x7F000000 - __float_as_int(unit));
  out.one_over.high *= unit;
  out.one_over.low *= unit;
  return out;
}

// --- Codes --------------------------------------------------------------------------------------

/** Returns, for E2M1, the width of two cells at z, at least that of the smallest. */
GPU float quick_binade(float z) {
  return fmaxf(__int_as_float(__float_as_int(z) & (int32_t)GPU_F32_INF), 2.0f);
}

/** The position of the code in each word: the lowest byte, with the next byte 0; the third byte;
 * or bits 24 to 22, with all others 0. */
enum { QUICK_IN_BYTE_0, QUICK_IN_BYTE_2, QUICK_IN_TOP };

/** Packs eight codes, and signs (bit 31 of each word), to a word. CLIPS: codes over 7 become 7. */
template <int ELEM, int PLACE, bool CLIPS>
GPU uint32_t quick_pack(const uint32_t *code, const uint32_t *sign, uint32_t one) {
  constexpr bool top = PLACE == QUICK_IN_TOP, apart = ELEM == UFP4_ELEM_INT4;
  constexpr uint32_t places = top ? 0x7632 : PLACE == QUICK_IN_BYTE_2 ? 0xA6A2 : 0x1410;
  // Each word has two codes, four elements apart, and 255 in the bytes of negative ones.
  uint32_t p[4], s[4];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    p[j] = gpu_permute(code[j], code[j + 4], places);
    if (CLIPS && !top) p[j] = __vminu2(p[j], 0x00070007u);
    const uint32_t negative = gpu_permute(sign[j], sign[j + 4], 0xFFBB);
    s[j] = negative & (apart ? 0x00010001u : top ? 0x02000200u : 0x00080008u);
    if (!apart) p[j] |= s[j];
  }
  if (top) return (p[0] >> 6) + (p[1] >> 2) + p[2] * 4u + p[3] * 64u;
  const uint32_t by = 16 * one;
  uint32_t codes = p[3], ones = s[3];
#pragma unroll
  for (int j = 2; j >= 0; j--) {
    codes = gpu_multiply_add(codes, by, p[j]);
    if (apart) ones = gpu_multiply_add(ones, by, s[j]);
  }
  if (!apart) return codes;
  // Maps each digit c to c + 8, or to 8 - c if it is negative, so that no digit borrows.
  const uint32_t all = ones * 15u;
  return ((codes ^ all) - all + 0x88888888u) ^ 0x88888888u;
}

/** Packs INT4 codes plus 8, which include their signs. */
GPU uint32_t quick_pack_shifted(const uint32_t *code, uint32_t one) {
  const uint32_t by = 16 * one;
  uint32_t codes = gpu_permute(code[3], code[7], 0x1410);
#pragma unroll
  for (int j = 2; j >= 0; j--)
    codes = gpu_multiply_add(codes, by, gpu_permute(code[j], code[j + 4], 0x1410));
  return codes ^ 0x88888888u;
}

/** Nearest, ties to even. */
template <int ELEM>
GPU uint32_t quick_nearest(float z) {
  if (ELEM == UFP4_ELEM_INT4) return (uint32_t)__float_as_int(z + (QUICK_MAGIC + 8.0f));
  if (ELEM == UFP4_ELEM_E1M2) return (uint32_t)__float_as_int(fabsf(z) + QUICK_MAGIC);
  const float binade = quick_binade(z);
  const float rounded = __fmaf_rn(binade, 0.5f * QUICK_MAGIC, fabsf(z));
  const float quanta = __fmaf_rn(binade, -0.5f * QUICK_MAGIC, rounded);
  return (uint32_t)__float_as_int(quanta * __int_as_float(QUICK_SMALLEST_CODE));
}

template <int ELEM>
GPU void quick_codes_nearest(const float (&in)[16], float largest, const quick_scale_t &scale,
                             uint32_t one, uint32_t (&out)[2]) {
  constexpr bool thirds = ELEM == UFP4_ELEM_E2M1, signs = ELEM != UFP4_ELEM_INT4;
  constexpr float limit = thirds ? 12.0f : 7.0f;
  float z[16];
#pragma unroll
  for (int i = 0; i < 16; i++) z[i] = quick_quotient(in[i], scale.one_over);
  // With scales of four bits the case does not occur; with smaller ones it may.
  if (largest > scale.quantum * (thirds ? 12.75f : 7.4375f)) {
#pragma unroll
    for (int i = 0; i < 16; i++)
      z[i] = signs ? fminf(fabsf(z[i]), limit) : fminf(fmaxf(z[i], -limit), limit);
  }
#pragma unroll
  for (int w = 0; w < 2; w++) {
    uint32_t code[8], sign[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
      code[i] = quick_nearest<ELEM>(z[8 * w + i]);
      sign[i] = (uint32_t)__float_as_int(in[8 * w + i]);
    }
    constexpr int place = thirds ? QUICK_IN_TOP : QUICK_IN_BYTE_0;
    out[w] =
        signs ? quick_pack<ELEM, place, false>(code, sign, one) : quick_pack_shifted(code, one);
  }
}

/** Stochastic rounding on uniform grids. With the draw d = (byte + 1/2) / 256 the code is the
 * number of integers c with x / s > c + d. The product with the reciprocal rounded down is exact in
 * the fma, and exceeds c + d exactly if the quotient does. 129 - d - 2^-16 is added and the sum, in
 * units of 2^-16, rounded up: it is at least 129 + c exactly if the exact sum exceeds 129 + c -
 * 2^-16. The code is therefore its integer part minus 128, in byte 2. @p word has the complement of
 * the byte. */
GPU uint32_t quick_drawn_uniform(float magnitude, float below, uint32_t word, int byte) {
  const uint32_t added = gpu_permute(word, 0x4300007Fu, 0x7604u | (uint32_t)byte << 4);
  return (uint32_t)__float_as_int(__fmaf_ru(magnitude, below, __int_as_float((int32_t)added)));
}

/** Stochastic rounding on E2M1, as on uniform grids but with cells that are half a binade wide. */
GPU uint32_t quick_drawn_e2m1(float z, uint32_t word, int byte) {
  const uint32_t added = gpu_permute(word, 0x4280007Fu, 0x7604u | (uint32_t)byte << 4);
  const float binade = quick_binade(z);
  const float sum = __fmaf_ru(binade, __int_as_float((int32_t)added), z);
  const float whole = __fmaf_rd(binade, 0.5f * (QUICK_MAGIC - 128.0f), sum);
  const float quanta = __fmaf_rn(binade, -0.5f * QUICK_MAGIC, whole);
  return (uint32_t)__float_as_int(quanta * __int_as_float(QUICK_SMALLEST_CODE));
}

/** Encodes a block. @p bits: FP32 patterns, or integers of the transform, which are rounded up,
 * because for a larger number only the side of a threshold matters. CLIPS: they may exceed the
 * largest code. */
template <int ELEM, bool RHT, bool CLIPS>
GPU void quick_codes_drawn(const uint32_t (&bits)[16], const quick_scale_t &scale,
                           const uint32_t (&words)[4], uint32_t one, uint32_t (&out)[2]) {
  const float below = quick_below(scale.one_over);
#pragma unroll
  for (int w = 0; w < 2; w++) {
    uint32_t code[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const int32_t x = (int32_t)bits[8 * w + i];
      const uint32_t word = words[2 * w + i / 4];
      const float magnitude = RHT ? __int2float_ru(abs(x)) : fabsf(__int_as_float(x));
      if (ELEM == UFP4_ELEM_E2M1) {
        const float z = quick_quotient(magnitude, scale.one_over);
        code[i] = quick_drawn_e2m1(CLIPS ? fminf(z, 12.0f) : z, word, i % 4);
      } else {
        code[i] = quick_drawn_uniform(magnitude, below, word, i % 4);
      }
    }
    out[w] = quick_pack < ELEM, ELEM == UFP4_ELEM_E2M1 ? QUICK_IN_TOP : QUICK_IN_BYTE_2,
    CLIPS > (code, bits + 8 * w, one);
  }
}

// --- Transform ----------------------------------------------------------------------------------

/** Computes two stages of butterflies by six additions of two or three numbers instead of eight of
 * two. */
GPU void quick_radix_4(uint32_t *y, int step, const quick_units_t &units) {
  const uint32_t c = y[2 * step], d = y[3 * step];
  const uint32_t sum = gpu_multiply_add(y[0], units.one, y[step]);
  const uint32_t difference = gpu_multiply_add(y[step], units.minus_one, y[0]);
  y[0] = gpu_add_3<0, 0>(sum, c, d);
  y[step] = gpu_add_3<0, 1>(difference, c, d);
  y[2 * step] = gpu_add_3<1, 1>(sum, c, d);
  y[3 * step] = gpu_add_3<1, 0>(difference, c, d);
}

/** Does what hadamard() does, for x with the largest magnitude amax. */
GPU void quick_hadamard(const float (&x)[16], float amax, uint32_t mask, const quick_units_t &units,
                        uint32_t (&y)[16]) {
  // 2^(150 - E) turns an element into its aligned significand, truncated, with its sign.
  const uint32_t align = (277u << 23) - ((uint32_t)__float_as_int(amax) & GPU_F32_INF);
  if (mask == UFP4_RHT_DEFAULT_MASK) {
    const float by = __int_as_float((int32_t)align);
#pragma unroll
    for (int i = 0; i < 16; i++)
      y[i] = (uint32_t)__float2int_rz(x[i] * (UFP4_RHT_DEFAULT_MASK >> i & 1 ? -by : by));
  } else {
#pragma unroll
    for (int i = 0; i < 16; i++) {
      const uint32_t by = align ^ (mask << (31 - i) & 0x80000000u);
      y[i] = (uint32_t)__float2int_rz(x[i] * __int_as_float((int32_t)by));
    }
  }
#pragma unroll
  for (int i = 0; i < 16; i += 4) quick_radix_4(y + i, 1, units);
#pragma unroll
  for (int i = 0; i < 4; i++) quick_radix_4(y + i, 4, units);
}

/** Returns the unit of the transform's results, 2^(E - 152). */
GPU float quick_unit(float amax) {
  return __int_as_float((__float_as_int(amax) & (int32_t)GPU_F32_INF) - (25 << 23));
}

/** Converts an integer under 2^28 to a float on the same side of all multiples of 32: cut-off bits
 * leave an odd multiple of 16. */
GPU float quick_odd(uint32_t y, uint32_t one) {
  return __int2float_rd((int32_t)(y | (gpu_multiply_add(y, one, 15u) & 16u)));
}

/** SIGNED: the magnitudes are not needed separately. */
template <bool SIGNED>
GPU uint32_t quick_largest(const uint32_t (&y)[16]) {
  int32_t most = 0, least = 0;
#pragma unroll
  for (int i = 0; i < 16; i += 2) {
    const int32_t a = (int32_t)y[i], b = (int32_t)y[i + 1];
    most = SIGNED ? max(most, max(a, b)) : max(most, max(abs(a), abs(b)));
    if (SIGNED) least = min(least, min(a, b));
  }
  return (uint32_t)max(most, -least);
}

// --- Random bytes -------------------------------------------------------------------------------

/** Computes the complements of random_words(), with the additions and half of the rotations on the
 * multiplier. */
GPU void quick_random(uint64_t seed, uint64_t tensor_id, uint64_t group, const quick_units_t &units,
                      uint32_t (&x)[4]) {
  const uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32), one = units.one;
  const uint32_t keys[5] = {k0, k1, 0, 0, 0x1BD11BDAu ^ k0 ^ k1};
  constexpr int rotations[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
                                   {6, 20},  {17, 11}, {25, 10}, {18, 20}};
  x[0] = (uint32_t)group + k0;
  x[1] = (uint32_t)(group >> 32) + k1;
  x[2] = (uint32_t)tensor_id;
  x[3] = (uint32_t)(tensor_id >> 32) + keys[3];
#pragma unroll
  for (int r = 0; r < 12; r++) {
    uint32_t &b = x[r & 1 ? 3 : 1], &d = x[r & 1 ? 1 : 3];
    x[0] = gpu_multiply_add(b, one, x[0]);
    b = gpu_turned(b, rotations[r & 7][0]) ^ x[0];
    x[2] = gpu_multiply_add(d, one, x[2]);
    d = __funnelshift_l(d, d, (unsigned)rotations[r & 7][1]) ^ x[2];
    if ((r & 3) != 3) continue;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const uint32_t key = keys[(r / 4 + 1 + i) % 5] + (i == 3 ? (uint32_t)(r / 4 + 1) : 0u);
      // ~(x + key) = -x + ~key.
      x[i] = r == 11 ? gpu_multiply_add(x[i], units.minus_one, ~key) : x[i] + key;
    }
  }
}

#endif
