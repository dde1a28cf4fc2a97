// SPDX-License-Identifier: Apache-2.0
// The behaviour of the emulated GPU that CUDA leaves open. This is C, so that tests can set it.
#ifndef UFP4_TESTS_CUDA_EMULATED_WEATHER_H
#define UFP4_TESTS_CUDA_EMULATED_WEATHER_H

#include <stdint.h>

typedef struct {
  int early_copies;     ///< asynchronous copies land when they are issued, not when they are waited
                        ///< for
  int backwards;        ///< threads, and blocks of the grid, run from the last to the first
  int apart;            ///< each warp runs until it needs the others, instead of in step with them
  int fraction_bits;    ///< BF16 products are truncated to so many bits below the largest; 0: exact
  int group;            ///< BF16 products that are added at once: 16, or 8 and then 8; 0 is 16
  int multiprocessors;  ///< of the GPU, which decide the size of tiles; 0 is 1
  int capability;       ///< compute capability of the GPU, 10 major + minor; 0: the environment's
                        ///< UFP4_EMULATED_CAPABILITY, or 90
  int reciprocal_places;  ///< error of approximate reciprocals in last places: -1, 0 or 1
  int restless;           ///< each piece of work waits a moment, so that those of several host
                          ///< threads interleave
  int stuck;              ///< the thread's device cannot be changed
  int failing_work;       ///< each piece of work counts it down; the one that brings it to 0 fails
  int no_copy_engine;     ///< the driver cannot describe matrices to it
  int fault;              ///< a defect, to test the tests: EMULATED_FAULT_*; 0: none
} emulated_weather_t;

enum {
  EMULATED_FAULT_S8 = 1,    ///< wrong rows of A's fragment of mma.sync in bytes
  EMULATED_FAULT_S8_WIDE,   ///< the same for products of 32 bytes
  EMULATED_FAULT_BF16,      ///< wrong columns of A's fragment in BF16
  EMULATED_FAULT_D,         ///< wrong columns of D's fragment
  EMULATED_FAULT_LDMATRIX,  ///< wrong order of the matrices
  // Compute capability 9.0.
  EMULATED_FAULT_COPY_SWIZZLE,  ///< boxes are copied without the swizzle
  EMULATED_FAULT_READ_SWIZZLE,  ///< products read without the swizzle
  EMULATED_FAULT_STRIDE,        ///< wrong stride of a descriptor's groups of rows
  EMULATED_FAULT_FRAGMENT,      ///< wrong columns of the products' D
  EMULATED_FAULT_WAIT,          ///< a wait for products leaves one group more under way
  EMULATED_FAULT_BYTES,         ///< barriers do not wait for bytes
  EMULATED_FAULT_FREED,         ///< they do not wait until a stage is free again either
  EMULATED_FAULT_OUTSIDE,       ///< elements outside a matrix are not zero
  EMULATED_FAULTS,              ///< one more than the last fault of products
  // The quantizer.
  EMULATED_FAULT_DIRECTED = EMULATED_FAULTS,  ///< directed roundings are to nearest
  EMULATED_FAULT_SIGNS,                       ///< permutations do not spread signs
  EMULATED_FAULT_E4M3,                        ///< conversions to E4M3 truncate
  EMULATED_FAULT_NAN,                         ///< a maximum ignores NaN
  EMULATED_QUANTIZER_FAULTS,                  ///< one more than the last
  // Compute capability 12.0.
  EMULATED_FAULT_NV_A = EMULATED_QUANTIZER_FAULTS,  ///< wrong registers of A's fragment in FP4
  EMULATED_FAULT_NV_B,                              ///< wrong registers of B's fragment
  EMULATED_FAULT_NV_D,                              ///< wrong columns of D's fragment
  EMULATED_FAULT_NV_SCALES,                         ///< wrong lanes for the scales of the rows of A
  EMULATED_FAULT_NV_BYTES,                          ///< wrong order of the scales along k
  EMULATED_NV_FAULTS                                ///< one more than the last
};
#define EMULATED_WEATHER_SYMBOL "emulated_set_weather"
typedef void (*emulated_set_weather_t)(const emulated_weather_t *weather);
/** Counts of the runtime's calls since the last time; the first two are zero for calls on a
 * stream. */
typedef struct {
  uint64_t allocations;  ///< releases included
  /** Includes the calls in which CUDA waits: copies and sets that are not asynchronous. */
  uint64_t synchronizations;
  uint64_t bytes_to_device, bytes_to_host;
  uint64_t works;             ///< kernels and asynchronous sets
  uint64_t works_on_default;  ///< of these, on the default stream
  uint64_t works_on_gpu_1;    ///< of these, on the second GPU
  uint64_t contexts;          ///< a bit for each GPU on which a context was made or used
  /** Calls that CUDA refuses to every thread while another one captures, and that end the
   * capture. */
  uint64_t broken_captures;
} emulated_counts_t;
#define EMULATED_COUNTS_SYMBOL "emulated_counts_taken"
typedef void (*emulated_counts_taken_t)(emulated_counts_t *out);
/** From here on the stream keeps its work instead of doing it. */
#define EMULATED_CAPTURE_SYMBOL "emulated_capture"
typedef void (*emulated_capture_t)(void *stream);
/** Does the kept work, any number of times; the stream is no longer captured. */
#define EMULATED_REPLAY_SYMBOL "emulated_replay"
typedef void (*emulated_replay_t)(void *stream);
/** Returns the tensor core instructions of warps and warpgroups since the last call. */
#define EMULATED_PRODUCTS_SYMBOL "emulated_products"
typedef uint64_t (*emulated_products_t)(void);
/** Transforms a block in BF16, as a thread does. */
#define EMULATED_TRANSFORM_SYMBOL "emulated_transform_bf16"
typedef void (*emulated_transform_t)(uint32_t bits[16], uint16_t mask);

/** Parts of the quick quantizer, block_quick.cuh, as a thread computes them. The reciprocal is the
 * FP32 number nearest to 1 / s, or @p places last places beside it. */
typedef struct {
  float (*quotient)(float x, float s, int places);
  /** The code of the magnitude x / s. */
  unsigned (*nearest)(int elem, float x, float s, int places);
  unsigned (*drawn)(int elem, float x, float s, int places, unsigned byte);
  /** The E4M3 byte of scaled / 3 (E2M1) or scaled / 7; -1 if that is over 448. */
  int (*scale)(int elem, float scaled, int up);
  float (*odd)(int32_t y);
} emulated_quick_t;
#define EMULATED_QUICK_SYMBOL "emulated_quick"

#endif
