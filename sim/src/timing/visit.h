// SPDX-License-Identifier: Apache-2.0
// The interface by which the skip (skip.h) reads state: each unit passes its registers to a
// visitor, by their kinds.
//
//   exact(x)         a value on which the next cycles depend as it is
//   count(x)         a sum on which nothing depends
//   due(x)           a cycle, of which only the distance from now matters
//   wheel(x, base)   a count modulo 8, of which only the distance from another unit's count matters
//   place(x, most, outer = 0)
//                    the remaining part of a loop, of which matters only whether it is at most
//                    `most`; the last `outer` places before it belong to loops around this one
//   address(x, mask) an address, a part of one, or a counter of cycles, of which only the bits of
//                    `mask` matter
//   ahead(loader)    the future requests of the loader, whose own state comes next
//   queue(q, f)      calls f for each element of a std::deque
//
// All values but those of exact() advance evenly: a stretch of cycles adds the same amount to them
// wherever they start, as long as no loop is near its end.
#ifndef UFP4_TIMING_VISIT_H
#define UFP4_TIMING_VISIT_H

#include <cstdint>

namespace ufp4::timing {

constexpr uint32_t kPage = 4096;  // which no burst crosses

/** Returns the bits of an address that matter to bursts of @p bytes which begin at @p first and at
 * multiples of @p stride from there: none if they are aligned to a power of two, because they then
 * cross neither a page nor a beat. */
inline uint32_t page_mask(uint64_t first, uint64_t stride, uint64_t bytes) {
  const bool power = (bytes & (bytes - 1)) == 0 && bytes <= kPage;
  return power && first % bytes == 0 && stride % bytes == 0 ? 0 : kPage - 1;
}

}  // namespace ufp4::timing

#endif
