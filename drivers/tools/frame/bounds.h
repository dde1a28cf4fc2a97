// SPDX-License-Identifier: Apache-2.0
// The cycles that each part of a core, and its memory, needs alone for a GEMM: none can do with
// fewer. Sources: ufp4_load_request, ufp4_sequencer, ufp4_drain, ufp4_addend, ufp4_epilogue.
#ifndef UFP4_BOUNDS_H
#define UFP4_BOUNDS_H

#include "ufp4/spec.h"

/** A GEMM D [m][n] = A [m][k] B [n][k]^T, as its cycles depend on it. */
typedef struct {
  int64_t m, n, k;
  unsigned d_bytes;  ///< of an element of D: 2 BF16, 4 FP32, 8 unrounded sums
  int operations;    ///< behind the sums, to FP32: tensor scale of NVFP4, alpha, C
  int has_sums;      ///< earlier sums are added
  int has_c;         ///< C is, which is one of the operations too
} bounds_gemm_t;

/** Cycles, but for operand_bytes. */
typedef struct {
  double compute;  ///< sub-tiles of each macro-tile times ceil(k / 16), with nv's padding to 4
  double load;     ///< operands enter the array load_rows() rows a cycle; earlier sums and C come
                   ///< through the same port, a read of the drain's a cycle
  double output;  ///< sums leave it drain_reads() reads a row, each with its slots of the epilogue,
                  ///< and no row of them before what is added to it has come
  double array;   ///< these three, where one macro-tile waits for the other: its load is two chunks
                  ///< ahead at most; where k is several chunks, its last one begins when the tile
                  ///< before has left
  double read, write;    ///< whole beats of the bus, by the memory's bytes a cycle each way
  double burst;          ///< of the memory: what one burst takes, at most
  double ahead;          ///< likewise what a core has asked for at once
  double operand_bytes;  ///< that are read: 144 a panel unit, of every macro-tile
} bounds_t;

/** The memory, at its best. */
typedef struct {
  unsigned bytes;    ///< that it carries a cycle, each way
  unsigned latency;  ///< cycles
} bounds_memory_t;

bounds_t bounds_of(const ufp4_configuration_t *core, bounds_memory_t memory,
                   const bounds_gemm_t *gemm);
/** The largest of them. */
double bounds_most(const bounds_t *bounds);
/** Which of them it is: "compute"; "load", operands and what is added; "output"; or "memory". Where
 * macro-tiles wait for each other, the one of the array's that has most to do. */
const char *bounds_by(const bounds_t *bounds);
/** 100 m n k / (MACs a cycle * bounds_most()). */
double bounds_percent(const ufp4_configuration_t *core, const bounds_t *bounds,
                      const bounds_gemm_t *gemm);

#endif
