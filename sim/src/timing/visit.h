// SPDX-License-Identifier: Apache-2.0
// How the skip (skip.h) sees state: each unit names its registers to a visitor, by what they are.
//
//   exact(x)               what the next cycles depend on as it is
//   count(x)               a sum that nothing depends on
//   due(x)                 a cycle: what matters is how far off it is
//   address(x, matters)    what matters, if anything, is its place in a page of 4 KiB
//   place(level, x, most)  how much of a loop is left; it matters once that is no more than `most`
//   queue(q, f)            f of each element of a std::deque
#ifndef UFP4_TIMING_VISIT_H
#define UFP4_TIMING_VISIT_H

namespace ufp4::timing {

/** The loops of a GEMM: chunks of k, macro-tiles of a row, rows of macro-tiles. */
enum class Level { kChunk, kTile, kBand };

}  // namespace ufp4::timing

#endif
