// SPDX-License-Identifier: Apache-2.0
// Accesses memory by transport_dbg if a target grants no DMI that covers a job.
#ifndef UFP4_SYSTEMC_COPY_H
#define UFP4_SYSTEMC_COPY_H

#include <memory>
#include <vector>

#include "carrier.h"
#include "timing/host/descriptor.h"

namespace ufp4 {

/** Moves @p bytes, in pieces that do not cross a boundary of 4 KiB, as bursts do not either.
 * @return how many the target has moved, which is fewer if it has no memory there. */
uint64_t move_debug(MemorySocket &mem, tlm::tlm_command command, uint64_t address, uint8_t *data,
                    uint64_t bytes);

/** A packed copy of the memory that a job reads and writes; the addresses in its descriptor become
 * offsets in the copy. */
class Copy {
 public:
  explicit Copy(const timing::Descriptor &job);
  /** Reads all of it. @return an error message, or an empty text */
  std::string fetch(MemorySocket &mem);
  /** Writes back the job's results. @return an error message, or an empty text */
  std::string store(MemorySocket &mem) const;
  /** Returns the job with addresses in the copy. */
  timing::Descriptor moved(const timing::Descriptor &job) const;
  uint8_t *data() {
    return data_.get();
  }
  uint64_t bytes() const {
    return bytes_;
  }

 private:
  /** Regions that overlap or touch, at offset @p place of the copy. */
  struct Part {
    uint64_t address, bytes, place;
  };
  uint64_t place_of(uint64_t address) const;

  const std::vector<timing::Extent> extents_;
  std::vector<Part> parts_;
  uint64_t bytes_ = 0;
  std::unique_ptr<uint8_t[]> data_;
};

}  // namespace ufp4

#endif
