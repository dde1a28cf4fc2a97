// SPDX-License-Identifier: Apache-2.0
// Lower bounds of the cycles of a GEMM by each part of a core and by its memory. Sources:
// ufp4_load_request, ufp4_sequencer, ufp4_drain, ufp4_addend, ufp4_epilogue.
#ifndef UFP4_BOUNDS_H
#define UFP4_BOUNDS_H

#include "ufp4/spec.h"

/** The properties of a GEMM D [m][n] = A [m][k] B [n][k]^T on which its cycles depend. */
typedef struct {
  int64_t m, n, k;
  unsigned d_bytes;  ///< bytes of an element of D: 2 BF16, 4 FP32, 8 unrounded sums
  int operations;    ///< operations after the conversion to FP32: tensor scale of NVFP4, alpha, C
  int has_sums;      ///< earlier sums are added
  int has_c;         ///< C is added, which is also one of the operations
} bounds_gemm_t;

/** Cycles, except operand_bytes. */
typedef struct {
  double compute;  ///< cycles of the array: sub-tiles of each macro-tile x blocks x 16 / lanes, the
                   ///< sub-tiles rounded up to a turn in fp32 and nv, the blocks to 4 in nv
  double load;     ///< operands enter the array load_rows() rows per cycle; earlier sums and C use
                   ///< the same port, one drain read per cycle
  double output;   ///< sums leave the array in drain_reads() reads per row, each with its slots of
                   ///< the epilogue, and no row leaves before its addends have arrived
  double array;    ///< compute, load and output together where macro-tiles wait for each other:
      ///< loads run at most two chunks ahead, and if k has several chunks, the last one
      ///< begins when the previous tile has left
  double read, write;    ///< whole bus beats at the memory's bytes per cycle in each direction
  double burst;          ///< memory: maximum cycles of one burst
  double ahead;          ///< memory: maximum cycles of all outstanding requests
  double operand_bytes;  ///< bytes read: 144 per panel unit, for every macro-tile
} bounds_t;

/** The memory under ideal conditions. */
typedef struct {
  unsigned bytes;    ///< bytes per cycle in each direction
  unsigned latency;  ///< in cycles
} bounds_memory_t;

bounds_t bounds_of(const ufp4_configuration_t *core, bounds_memory_t memory,
                   const bounds_gemm_t *gemm);
/** Returns the largest of the bounds. */
double bounds_most(const bounds_t *bounds);
/** Returns the name of the largest bound: "compute"; "load", for operands and addends; "output";
 * or "memory". If macro-tiles wait for each other, it is the busiest of the array's three. */
const char *bounds_by(const bounds_t *bounds);
/** Returns 100 m n k / (MACs per cycle * bounds_most()). */
double bounds_percent(const ufp4_configuration_t *core, const bounds_t *bounds,
                      const bounds_gemm_t *gemm);

#endif
