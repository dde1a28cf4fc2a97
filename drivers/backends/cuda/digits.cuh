// SPDX-License-Identifier: Apache-2.0
// Contract exact by digits. Each row has one unit for all of k, so that whole matrices of digits
// are multiplied without any work per block. With quanta q of a block whose scale is sig * 2^(e -
// 9):
//   q * sig * 2^e = (d0 + 256 d1 + 2^third d2) * 2^unit,  digits -128..127
// Two digits reach over SPAN binades of scales. If the scales of a row differ by more, its unit
// follows the smaller or the larger, whichever leaves fewer blocks that need the third: above
// (third = 16) or below (third = -8). docs/ip/gpu-kernels.md proves that every input is exact.
#ifndef UFP4_CUDA_DIGITS_CUH
#define UFP4_CUDA_DIGITS_CUH

#include "unpack.cuh"

#define DIGITS_ABOVE 16
#define DIGITS_BELOW (-8)
#define DIGITS_FOLD (32768 / (16 * DIGITS_CHUNK))  // chunks whose sums fit 32 bits
#define E4M3_LARGEST_SIGNIFICAND 15
#define E4M3_LARGEST_EXPONENT 14

// Two products of at most 2^14 for each k.
static_assert((int64_t)DIGITS_FOLD * 16 * DIGITS_CHUNK * 2 * (1 << 14) <= (int64_t)1 << 30,
              "sums of digits fit");

/** The largest magnitude of a quantum. */
GPU constexpr int elem_largest(int elem) {
  constexpr int8_t quanta[UFP4_ELEM_COUNT][16] = UFP4_ELEM_QUANTA;
  int largest = 0;
  for (int i = 0; i < 16; i++) {
    const int magnitude = quanta[elem][i] < 0 ? -quanta[elem][i] : quanta[elem][i];
    if (magnitude > largest) largest = magnitude;
  }
  return largest;
}

/** The largest value of two digits is 127 * 257. */
GPU constexpr int digits_span(int elem) {
  int span = 0;
  while (elem_largest(elem) * E4M3_LARGEST_SIGNIFICAND << (span + 1) <= 127 * 257) span++;
  return span;
}

/** The largest value of three digits is 127 * 65793, for units that follow the smallest scale or
 * the largest. */
GPU constexpr bool digits_suffice(int elem) {
  const int largest = elem_largest(elem) * E4M3_LARGEST_SIGNIFICAND;
  return largest << E4M3_LARGEST_EXPONENT <= 127 * 65793 &&
         largest << (digits_span(elem) - DIGITS_BELOW) <= 127 * 65793 &&
         digits_span(elem) - DIGITS_BELOW >= E4M3_LARGEST_EXPONENT;
}

GPU int digits_span_any(int elem) {
  static_assert(UFP4_ELEM_COUNT == 3 && digits_suffice(0) && digits_suffice(1) && digits_suffice(2),
                "three digits hold every value");
  static_assert(elem_largest(UFP4_ELEM_E2M1) == UFP4_MIXED_LARGEST, "mixed has the span of E2M1");
  constexpr int spans[UFP4_ELEM_COUNT] = {digits_span(0), digits_span(1), digits_span(2)};
  return elem == UFP4_ELEM_E1M2 ? spans[1] : elem == UFP4_ELEM_INT4 ? spans[2] : spans[0];
}

/** Packs a row's unit and the position of its third digit into one word. */
GPU int32_t unit_pack(int unit, int third) {
  return unit | third * 256;
}
GPU int unit_exponent(int32_t packed) {
  return packed & 255;
}
GPU int unit_third(int32_t packed) {
  return packed >> 8;
}

// --- Units --------------------------------------------------------------------------------------

GPU int warp_smallest(int value) {
#pragma unroll
  for (int by = 16; by > 0; by /= 2) value = min(value, __shfl_xor_sync(0xFFFFFFFFu, value, by));
  return value;
}
GPU int warp_sum(int value) {
#pragma unroll
  for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, by);
  return value;
}

/** Collects the exponents of non-zero scales in a lane's blocks of a row: the smallest, the
 * negative of the largest, and the numbers of those under @p low and over @p high. */
typedef struct {
  int smallest, minus_largest, under, over;
} exponents_t;

GPU exponents_t row_exponents(const gpu_operand_t &in, int64_t blocks, int64_t row, int low,
                              int high) {
  exponents_t found = {E4M3_LARGEST_EXPONENT + 1, 1, 0, 0};
  if (row >= in.rows) blocks = 0;
  for (int64_t block = threadIdx.x % 32; block < blocks; block += 32) {
    const uint32_t scale = ((const uint8_t *)in.scales)[entry_place(in, row, block)];
    const int exponent = e4m3_exponent(scale);
    if (e4m3_significand(scale) == 0 || e4m3_is_nan(scale)) continue;
    found.smallest = min(found.smallest, exponent);
    found.minus_largest = min(found.minus_largest, -exponent);
    found.under += exponent < low;
    found.over += exponent > high;
  }
  return found;
}

/** Computes, one row per warp, its unit, and whether its panel of 128 rows needs third digits at
 * all. */
GPU_KERNEL void GPU_LAUNCH_BOUNDS(UNPACK_THREADS)
    digits_units_kernel(gpu_operand_t in, int64_t blocks, gpu_unpacked_t out) {
  const int64_t row = (int64_t)blockIdx.x * (UNPACK_THREADS / 32) + threadIdx.x / 32;
  const int span = digits_span_any(in.elem);
  exponents_t found = row_exponents(in, blocks, row, 0, 255);
  const int smallest = warp_smallest(found.smallest), largest = -warp_smallest(found.minus_largest);
  int unit = largest < 0 ? 0 : smallest, third = DIGITS_ABOVE;
  if (largest - smallest > span) {
    found = row_exponents(in, blocks, row, largest - span, smallest + span);
    if (warp_sum(found.under) < warp_sum(found.over)) {
      unit = largest - span;
      third = DIGITS_BELOW;
    }
  }
  if (threadIdx.x % 32 != 0) return;
  out.units[row] = unit_pack(unit, third);
  if (largest - smallest > span) {
    atomicOr(&out.wide[row / GEMM_ROWS], 1u);
    atomicOr(&out.wide[out.padded_rows / GEMM_ROWS], 1u);
  }
}

// --- Digits -------------------------------------------------------------------------------------

/** Computes digits 0, 1 and 2 of four numbers, -128..127 each: adding 128 to every digit leaves
 * bytes that do not borrow. */
GPU void digits_of_four(uint32_t quanta, int weight, uint32_t (&digits)[3]) {
  uint32_t u[4];
#pragma unroll
  for (int j = 0; j < 4; j++)
    u[j] = (uint32_t)((int8_t)(quanta >> (8 * j) & 255) * weight + 0x00808080);
  const uint32_t low = __byte_perm(u[0], u[1], 0x5140), high = __byte_perm(u[2], u[3], 0x5140);
  digits[0] = __byte_perm(low, high, 0x5410) ^ 0x80808080u;
  digits[1] = __byte_perm(low, high, 0x7632) ^ 0x80808080u;
  digits[2] =
      __byte_perm(__byte_perm(u[0], u[1], 0x0062), __byte_perm(u[2], u[3], 0x0062), 0x5410) ^
      0x80808080u;
}

/** Slices 0 and 1 are the two digits of every value. Slice 2, the third digit, is written for
 * panels that need it, and its chunks that are not all zero are recorded. */
GPU_KERNEL void GPU_LAUNCH_BOUNDS(UNPACK_THREADS)
    unpack_digits_kernel(gpu_operand_t in, int64_t blocks, gpu_unpacked_t out) {
  int64_t row, block;
  unpack_place(out, &row, &block);
  const entry_t entry = entry_turned<UFP4_SCALE_E4M3>(in, blocks, row, block, out.poisoned);
  row += threadIdx.x / UNPACK_SIDE;
  block += threadIdx.x % UNPACK_SIDE;
  if (block >= out.padded_blocks) return;
  const int32_t unit = out.units[row];
  const bool below = unit_third(unit) < 0;
  const int significand = e4m3_significand(entry.scale);
  const int by = e4m3_exponent(entry.scale) - unit_exponent(unit) - (below ? DIGITS_BELOW : 0);
  const int weight = significand == 0 ? 0 : significand << by;
  uint32_t first[4], second[4], third[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    uint32_t digits[3];
    const uint32_t four = (uint32_t)(entry.codes >> (16 * i)) & 0xFFFFu;
    digits_of_four(elem_decode_any(in.elem, entry.scale, four), weight, digits);
    first[i] = below ? digits[1] : digits[0];
    second[i] = below ? digits[2] : digits[1];
    third[i] = below ? digits[0] : digits[2];
  }
  const int64_t slice = out.padded_rows * out.padded_blocks * 16;
  unsigned char *to = out.elements + (row * out.padded_blocks + block) * 16;
  gpu_store_16(to, first);
  gpu_store_16(to + slice, second);
  if (out.wide[row / GEMM_ROWS] == 0) return;
  gpu_store_16(to + 2 * slice, third);
  const int64_t chunk = block / DIGITS_CHUNK;
  uint32_t *noted = &out.thirds[row / GEMM_ROWS * out.words + chunk / 32];
  const uint32_t bit = (uint32_t)1 << (chunk % 32);
  if ((third[0] | third[1] | third[2] | third[3]) != 0 && (*noted & bit) == 0) atomicOr(noted, bit);
}

// --- Passes over k ------------------------------------------------------------------------------

/** A tile is multiplied in up to four passes over its chunks: pass 0 uses the two digits of both
 * operands; bit 0 of the pass selects A's third digit instead, bit 1 B's. Chunks in which a third
 * digit is zero throughout are skipped. */
typedef struct {
  const uint32_t *thirds_a, *thirds_b;  ///< NULL: the panel has no third digits
  int first, chunks;                    ///< chunks from first up to, but not including, chunks
} digits_walk_t;

/** Return the first slice of A (@p side 0) or B that a pass uses, and how many it uses. */
GPU constexpr int digits_first(int pass, int side) {
  return pass >> side & 1 ? 2 : 0;
}
GPU constexpr int digits_count(int pass, int side) {
  return pass >> side & 1 ? 1 : 2;
}

GPU digits_walk_t digits_walk(const gpu_unpacked_t &a, const gpu_unpacked_t &b, int64_t panel_a,
                              int64_t panel_b, int64_t k) {
  const int64_t chunk = 16 * DIGITS_CHUNK;
  const digits_walk_t walk = {a.wide[panel_a] != 0 ? a.thirds + panel_a * a.words : nullptr,
                              b.wide[panel_b] != 0 ? b.thirds + panel_b * b.words : nullptr, 0,
                              (int)((k + chunk - 1) / chunk)};
  return walk;
}

/** Returns the first chunk of a pass from @p from on, or the end of the walk. */
template <int PASS>
GPU int digits_next(const digits_walk_t &walk, int from) {
  if (PASS == 0) return from;
  if ((PASS & 1 && walk.thirds_a == nullptr) || (PASS & 2 && walk.thirds_b == nullptr))
    return walk.chunks;
  while (from < walk.chunks) {
    uint32_t word = 0xFFFFFFFFu << (from % 32);
    if (PASS & 1) word &= walk.thirds_a[from / 32];
    if (PASS & 2) word &= walk.thirds_b[from / 32];
    if (word != 0) return from / 32 * 32 + __ffs((int)word) - 1;
    from = from / 32 * 32 + 32;
  }
  return walk.chunks;
}

/** Returns whether digits are at least as fast as gemm_kernel, by the average number of digit
 * products of a chunk, 4 to 9. By NVIDIA's figures an A100 computes as many INT8 products as that
 * kernel's multiply-adds at 6. */
GPU bool digits_pay(const digits_walk_t &walk) {
  int products = 4 * walk.chunks;
  for (int word = 0; word < (walk.chunks + 31) / 32; word++) {
    const uint32_t a = walk.thirds_a != nullptr ? walk.thirds_a[word] : 0,
                   b = walk.thirds_b != nullptr ? walk.thirds_b[word] : 0;
    products += 2 * __popc(a) + 2 * __popc(b) + __popc(a & b);
  }
  return products <= 5 * walk.chunks;
}

/** Combines the sums of a pass, in units of 2^-18 of both tensors' quanta, modulo 2^64: sums[i]
 * has the weight 256^i. A third digit below may need a shift to the right, which is exact because
 * every value is a multiple of it. */
template <int PASS>
GPU int64_t digits_value(int32_t sum_0, int32_t sum_1, int32_t sum_2, int32_t unit_a,
                         int32_t unit_b) {
  int64_t value = sum_0;
  if (PASS != 3) value += (int64_t)sum_1 * 256;
  if (PASS == 0) value += (int64_t)sum_2 * 65536;
  int by = unit_exponent(unit_a) + unit_exponent(unit_b);
  if (PASS & 1) by += unit_third(unit_a);
  if (PASS & 2) by += unit_third(unit_b);
  return by >= 0 ? (int64_t)((uint64_t)value << by) : value >> -by;
}

#endif
