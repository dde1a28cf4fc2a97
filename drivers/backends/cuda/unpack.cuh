// SPDX-License-Identifier: Apache-2.0
// Unpacks operands to the formats of the tensor cores, with rows and k padded by zeros to whole
// tiles. There are three formats: BF16 with the scale multiplied in, signed bytes with separate
// scales, and digits of numbers with one unit per row (docs/ip/gpu-kernels.md).
#ifndef UFP4_CUDA_UNPACK_CUH
#define UFP4_CUDA_UNPACK_CUH

#include "jobs.cuh"
#include "number.cuh"

#define GEMM_CHUNK 4     // blocks of 16 in a stage of gemm.cuh
#define GEMM_ROWS 128    // unpacked rows are padded to this
#define DIGITS_CHUNK 8   // blocks of 16 in a chunk of digits: 128 bytes
#define DIGITS_SLICES 3  // two for all values, and one that few need
#define E8M0_LOWEST 7    // between these scales, products with quanta are normal BF16 numbers
#define E8M0_HIGHEST 247
#define UNPACK_THREADS 256
#define UNPACK_SIDE 16  // rows, and blocks, that a thread block unpacks

/** An unpacked operand. */
typedef struct {
  unsigned char *elements;  ///< [padded rows][padded blocks][16 or 32 bytes]; digits:
                            ///< [DIGITS_SLICES][padded rows][padded blocks][16]
  void *weights;            ///< [padded blocks][padded rows], int32 or float; or NULL
  uint8_t *poisoned;        ///< [padded rows]: some scale of the row is NaN
  int32_t *units;           ///< digits: [padded rows], see unpack_units
  uint32_t *wide;    ///< digits: [padded rows / 128 + 1]: some row needs the third digit; last: any
                     ///< panel
  uint32_t *span;    ///< BF16 with E8M0 scales, else NULL: [2], see spans_fold
  uint32_t *thirds;  ///< digits: [padded rows / 128][words]: bit c: a third digit in chunk c is not
                     ///< 0
  int64_t padded_rows, padded_blocks;
  int words;
} gpu_unpacked_t;

/** Returns whether some panel has rows that need third digits. */
GPU bool unpacked_is_wide(const gpu_unpacked_t &x) {
  return x.wide[x.padded_rows / GEMM_ROWS] != 0;
}

/** Returns whether scales fold into BF16: each element is a normal number, and all products of two
 * blocks are exact in FP32. A span is 255 minus the smallest, and the largest, byte of an operand's
 * scales in blocks that are not all zero; 0 and 0 if there is no such block. */
GPU bool spans_fold(const gpu_unpacked_t &a, const gpu_unpacked_t &b) {
  const int low_a = 255 - (int)a.span[0], low_b = 255 - (int)b.span[0];
  const int high_a = (int)a.span[1], high_b = (int)b.span[1];
  return low_a >= E8M0_LOWEST && low_b >= E8M0_LOWEST && high_a <= E8M0_HIGHEST &&
         high_b <= E8M0_HIGHEST && low_a + low_b >= 2 * 127 - 100 &&
         high_a + high_b <= 2 * 127 + 100;
}

// --- Entries ------------------------------------------------------------------------------------

/** A block of a row in memory: 16 codes and a scale; zeros if a scale is NaN. */
typedef struct {
  uint64_t codes;
  uint32_t scale;
} entry_t;

GPU int64_t entry_place(const gpu_operand_t &in, int64_t row, int64_t block) {
  return row / 16 * in.place.group + block * in.place.block + row % 16 * in.place.row;
}

GPU bool scale_is_nan(int scale, uint32_t stored) {
  if (scale == UFP4_SCALE_FP32) return (stored & 0x7FFFFFFFu) > GPU_F32_INF;
  return scale == UFP4_SCALE_E8M0 ? stored == 0xFF : e4m3_is_nan(stored);
}

GPU entry_t entry_read(const gpu_operand_t &in, int scale, int64_t blocks, int64_t row,
                       int64_t block, uint8_t *poisoned) {
  entry_t entry = {0, 0};
  if (row >= in.rows || block >= blocks) return entry;
  const int64_t at = entry_place(in, row, block);
  const bool wide = scale == UFP4_SCALE_FP32;
  entry.scale = wide ? ((const uint32_t *)in.scales)[at] : ((const uint8_t *)in.scales)[at];
  if (scale_is_nan(scale, entry.scale)) {
    poisoned[row] = 1;
    entry.scale = 0;
    return entry;
  }
  entry.codes = in.codes[at];
  return entry;
}

/** Loads a thread block's 16 x 16 entries with byte scales in the order of panels, 16 rows of one
 * block after another, and returns them along k: thread t gets row t / 16, block t % 16. */
template <int SCALE>
GPU entry_t entry_turned(const gpu_operand_t &in, int64_t blocks, int64_t first_row,
                         int64_t first_block, uint8_t *poisoned) {
  __shared__ uint64_t codes[UNPACK_THREADS];
  __shared__ uint8_t scales[UNPACK_THREADS];
  const int t = (int)threadIdx.x, to = t % UNPACK_SIDE * UNPACK_SIDE + t / UNPACK_SIDE;
  const entry_t own = entry_read(in, SCALE, blocks, first_row + t % UNPACK_SIDE,
                                 first_block + t / UNPACK_SIDE, poisoned);
  codes[to] = own.codes;
  scales[to] = (uint8_t)own.scale;
  __syncthreads();
  const entry_t turned = {codes[t], scales[t]};
  return turned;
}

/** Returns the part of the operand that this thread block unpacks. */
GPU void unpack_place(const gpu_unpacked_t &out, int64_t *row, int64_t *block) {
  const unsigned across = (unsigned)((out.padded_blocks + UNPACK_SIDE - 1) / UNPACK_SIDE);
  *row = (int64_t)(blockIdx.x / across) * UNPACK_SIDE;
  *block = (int64_t)(blockIdx.x % across) * UNPACK_SIDE;
}

// --- BF16, and bytes with scales ----------------------------------------------------------------

/** Returns the value of a scale. */
GPU float scale_value(int scale, uint32_t stored) {
  if (scale == UFP4_SCALE_FP32) return __int_as_float((int)stored);
  // 2^-127 is a subnormal number.
  if (scale == UFP4_SCALE_E8M0)
    return __int_as_float(stored == 0 ? 0x400000 : (int32_t)(stored << 23));
  return (float)e4m3_significand(stored) * f32_power(e4m3_exponent(stored) - 9);
}

/** Packs two BF16 numbers of 16 bits: quanta * scale has at most 7 bits (15 x 8), so both are
 * exact. */
GPU uint32_t bf16_pair(int32_t low, int32_t high, float scale) {
  const uint32_t a = (uint32_t)__float_as_int((float)low * scale),
                 b = (uint32_t)__float_as_int((float)high * scale);
  return a >> 16 | (b & 0xFFFF0000u);
}

/** Converts the four codes in the lower 16 bits, of a grid, to BF16. */
GPU void bf16_four(int grid, uint32_t codes, float scale, uint32_t *target) {
  const uint32_t quanta = elem_decode_any(grid, 0, codes);
  target[0] = bf16_pair((int8_t)(quanta & 255), (int8_t)(quanta >> 8 & 255), scale);
  target[1] = bf16_pair((int8_t)(quanta >> 16 & 255), (int8_t)(quanta >> 24), scale);
}

/** Adds the scales of a warp's blocks to the operand's span. For all threads of a warp. */
GPU void span_note(uint32_t *span, const entry_t &entry, int grid) {
  uint32_t any = 0;
#pragma unroll
  for (int i = 0; i < 4; i++)
    any |= elem_decode_any(grid, 0, (uint32_t)(entry.codes >> (16 * i)) & 0xFFFFu);
  const uint32_t lowest = gpu_warp_max(any == 0 ? 0 : 255 - entry.scale),
                 highest = gpu_warp_max(any == 0 ? 0 : entry.scale);
  if (threadIdx.x % 32 != 0) return;
  if (lowest > span[0]) atomicMax(&span[0], lowest);
  if (highest > span[1]) atomicMax(&span[1], highest);
}

/** Returns the value of a quantum. For an E8M0 scale outside the folding range it is another power
 * of two, which is never used. */
template <int SCALE>
GPU float bf16_quantum(uint32_t scale, int elem) {
  if (SCALE == UFP4_SCALE_E4M3)
    return (float)e4m3_significand(scale) * f32_power(e4m3_exponent(scale) - 9 - elem_frac(elem));
  return f32_power(min(max((int)scale, E8M0_LOWEST), E8M0_HIGHEST) - 127 - elem_frac(elem));
}

template <int SCALE>
GPU_KERNEL void GPU_LAUNCH_BOUNDS(UNPACK_THREADS)
    unpack_bf16_kernel(gpu_operand_t in, int64_t blocks, gpu_unpacked_t out) {
  int64_t row, block;
  unpack_place(out, &row, &block);
  const entry_t entry = entry_turned<SCALE>(in, blocks, row, block, out.poisoned);
  const int grid = SCALE == UFP4_SCALE_E4M3 ? elem_grid(in.elem, entry.scale) : in.elem;
  if (SCALE == UFP4_SCALE_E8M0) span_note(out.span, entry, grid);
  row += threadIdx.x / UNPACK_SIDE;
  block += threadIdx.x % UNPACK_SIDE;
  if (block >= out.padded_blocks) return;
  const float value = bf16_quantum<SCALE>(entry.scale, in.elem);
  unsigned char *to = out.elements + (row * out.padded_blocks + block) * 32;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    uint32_t words[4];
    bf16_four(grid, (uint32_t)(entry.codes >> (32 * half)) & 0xFFFFu, value, words);
    bf16_four(grid, (uint32_t)(entry.codes >> (32 * half + 16)) & 0xFFFFu, value, words + 2);
    gpu_store_16(to + 16 * half, words);
  }
}

/** Unpacks to bytes, with scales as integers in units of 2^-9, or as FP32. Each thread unpacks one
 * block of one row. If both operands also have digits, the bytes are only for tiles with too many
 * digit products, and nothing is done if no panel of this operand and of @p other has third digits;
 * nor if both have folded into BF16. */
template <bool INTEGER>
GPU_KERNEL void GPU_LAUNCH_BOUNDS(UNPACK_THREADS)
    unpack_bytes_kernel(gpu_operand_t in, int scale, int64_t blocks, gpu_unpacked_t out,
                        gpu_unpacked_t other) {
  if (out.wide != nullptr && !unpacked_is_wide(out) && !unpacked_is_wide(other)) return;
  if (out.span != nullptr && spans_fold(out, other)) return;
  const int64_t index = (int64_t)blockIdx.x * UNPACK_THREADS + threadIdx.x;
  const int64_t row = index / out.padded_blocks, block = index % out.padded_blocks;
  if (row >= out.padded_rows) return;
  const entry_t entry = entry_read(in, scale, blocks, row, block, out.poisoned);
  uint32_t quanta[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    quanta[i] =
        elem_decode_any(in.elem, entry.scale, (uint32_t)(entry.codes >> (16 * i)) & 0xFFFFu);
  gpu_store_16(out.elements + index * 16, quanta);
  const int64_t at = block * out.padded_rows + row;
  if (INTEGER) {
    ((int32_t *)out.weights)[at] = e4m3_significand(entry.scale) << e4m3_exponent(entry.scale);
  } else {
    ((float *)out.weights)[at] = scale_value(scale, entry.scale);
  }
}

#endif
