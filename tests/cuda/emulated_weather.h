// SPDX-License-Identifier: Apache-2.0
// How the emulated GPU behaves where CUDA leaves it open. C, so that tests can set it.
#ifndef UFP4_TESTS_CUDA_EMULATED_WEATHER_H
#define UFP4_TESTS_CUDA_EMULATED_WEATHER_H

#include <stdint.h>

typedef struct {
  int early_copies;  ///< asynchronous copies land when they are issued, not when they are waited
                     ///< for
  int backwards;     ///< threads, and blocks of the grid, run from the last to the first
  int apart;         ///< each warp runs as far as it gets without the others, not in step with them
  int fraction_bits;    ///< BF16 products are truncated to so many bits below the largest; 0: exact
  int group;            ///< BF16 products that are added at once: 16, or 8 and then 8; 0 is 16
  int multiprocessors;  ///< of the GPU, which decides the size of tiles; 0 is 1
  int capability;  ///< compute capability of the GPU, 10 major + minor; 0: as the environment's
                   ///< UFP4_EMULATED_CAPABILITY says, or 90
  int reciprocal_places;  ///< that approximate reciprocals are off: -1, 0 or 1
  int restless;           ///< each work waits a moment, so that those of several host threads mix
  int stuck;              ///< the thread's device cannot be changed
  int failing_work;       ///< counted down by works: that which brings it to 0 is not queued
  int no_copy_engine;     ///< the driver does not describe matrices to it
  int fault;  ///< something that is wrong, to test the tests: EMULATED_FAULT_*; 0: nothing
} emulated_weather_t;

enum {
  EMULATED_FAULT_S8 = 1,    ///< rows of A's fragment of mma.sync in bytes
  EMULATED_FAULT_S8_WIDE,   ///< the same of products of 32 bytes
  EMULATED_FAULT_BF16,      ///< columns of A's fragment in BF16
  EMULATED_FAULT_D,         ///< columns of D's
  EMULATED_FAULT_LDMATRIX,  ///< order of the matrices
  // Compute capability 9.0.
  EMULATED_FAULT_COPY_SWIZZLE,  ///< boxes are copied without the swizzle
  EMULATED_FAULT_READ_SWIZZLE,  ///< products read without it
  EMULATED_FAULT_STRIDE,        ///< of a descriptor's groups of rows
  EMULATED_FAULT_FRAGMENT,      ///< columns of the products' D
  EMULATED_FAULT_WAIT,          ///< a wait for products leaves one group more under way
  EMULATED_FAULT_BYTES,         ///< barriers do not wait for bytes
  EMULATED_FAULT_FREED,         ///< nor until a stage is free again
  EMULATED_FAULT_OUTSIDE,       ///< what is outside a matrix is not zero
  EMULATED_FAULTS,              ///< one more than the last of products
  // The quantizer.
  EMULATED_FAULT_DIRECTED = EMULATED_FAULTS,  ///< directed roundings are to nearest
  EMULATED_FAULT_SIGNS,                       ///< permutations do not spread signs
  EMULATED_FAULT_E4M3,                        ///< conversions to E4M3 cut off
  EMULATED_FAULT_NAN,                         ///< a maximum leaves out NaN
  EMULATED_QUANTIZER_FAULTS,                  ///< one more than the last
  // Compute capability 12.0.
  EMULATED_FAULT_NV_A = EMULATED_QUANTIZER_FAULTS,  ///< registers of A's fragment in FP4
  EMULATED_FAULT_NV_B,                              ///< of B's
  EMULATED_FAULT_NV_D,                              ///< columns of D's
  EMULATED_FAULT_NV_SCALES,                         ///< which lane has the scales of which row of A
  EMULATED_FAULT_NV_BYTES,                          ///< order of k of the scales
  EMULATED_NV_FAULTS                                ///< one more than the last
};
#define EMULATED_WEATHER_SYMBOL "emulated_set_weather"
typedef void (*emulated_set_weather_t)(const emulated_weather_t *weather);
/** Counts of what the runtime was asked for since the last time: calls on a stream make none of the
 * first two. */
typedef struct {
  uint64_t allocations;  ///< and releases
  /** Also what CUDA waits in: copies and sets that are not asynchronous. */
  uint64_t synchronizations;
  uint64_t bytes_to_device, bytes_to_host;
  uint64_t works;             ///< kernels and asynchronous sets
  uint64_t works_on_default;  ///< of these, on the default stream
  uint64_t works_on_gpu_1;    ///< of these, on the second GPU
  uint64_t contexts;          ///< a bit for each GPU on which one was made, or was there and used
  /** Calls that CUDA takes from no thread while another captures, and that end that capture. */
  uint64_t broken_captures;
} emulated_counts_t;
#define EMULATED_COUNTS_SYMBOL "emulated_counts_taken"
typedef void (*emulated_counts_taken_t)(emulated_counts_t *out);
/** From here on work on the stream is kept, and not done. */
#define EMULATED_CAPTURE_SYMBOL "emulated_capture"
typedef void (*emulated_capture_t)(void *stream);
/** Does what was kept, any number of times; the stream is no longer captured. */
#define EMULATED_REPLAY_SYMBOL "emulated_replay"
typedef void (*emulated_replay_t)(void *stream);
/** Tensor core instructions since the last call: of warps and of warpgroups. */
#define EMULATED_PRODUCTS_SYMBOL "emulated_products"
typedef uint64_t (*emulated_products_t)(void);
/** The transform in BF16 of a block, as a thread computes it. */
#define EMULATED_TRANSFORM_SYMBOL "emulated_transform_bf16"
typedef void (*emulated_transform_t)(uint32_t bits[16], uint16_t mask);

/** Parts of the quick quantizer, block_quick.cuh, as a thread computes them. A reciprocal is the
 * nearest of 1 / s, or so many places beside it. */
typedef struct {
  float (*quotient)(float x, float s, int places);
  /** The code of x / s, a magnitude. */
  unsigned (*nearest)(int elem, float x, float s, int places);
  unsigned (*drawn)(int elem, float x, float s, int places, unsigned byte);
  /** The E4M3 byte of scaled / 3 (E2M1) or / 7; -1 where it is over 448. */
  int (*scale)(int elem, float scaled, int up);
  float (*odd)(int32_t y);
} emulated_quick_t;
#define EMULATED_QUICK_SYMBOL "emulated_quick"

#endif
