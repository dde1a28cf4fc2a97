// SPDX-License-Identifier: Apache-2.0
// The interface by which the skip (skip.h) reads state: each unit passes its registers to a
// visitor, by their kinds.
//
//   exact(x)         what the next cycles depend on as it is
//   count(x)         a sum; nothing depends on it
//   due(x)           a cycle; what matters is how far off it is
//   wheel(x, base)   a count modulo 8; what matters is how far it is from that of another unit
//   place(x, most, outer = 0)
//                    how much of a loop is left; what matters is whether that is at most `most`;
//                    `outer`: so many places named before it are of loops around this one
//   address(x, mask) an address, a part of one, or what counts cycles; what matters are the bits of
//                    `mask`
//   ahead(loader)    what the loader will ask for, whose own state comes next
//   queue(q, f)      f of each element of a std::deque
//
// Everything but exact() goes on evenly: what a stretch of cycles adds to it does not depend on
// where it was, as long as no loop is near its end.
#ifndef UFP4_TIMING_VISIT_H
#define UFP4_TIMING_VISIT_H

#include <cstdint>

namespace ufp4::timing {

constexpr uint32_t kPage = 4096;  // which no burst crosses

/** The bits of an address that matter to bursts of @p bytes, all of which begin at @p first and
 * multiples of @p stride from there: none if they never cross a page, and they cannot if they are
 * aligned; nor a beat, then. */
inline uint32_t page_mask(uint64_t first, uint64_t stride, uint64_t bytes) {
  const bool power = (bytes & (bytes - 1)) == 0 && bytes <= kPage;
  return power && first % bytes == 0 && stride % bytes == 0 ? 0 : kPage - 1;
}

}  // namespace ufp4::timing

#endif
