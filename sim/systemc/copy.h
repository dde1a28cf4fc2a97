// SPDX-License-Identifier: Apache-2.0
// Memory by transport_dbg, where a target gives no DMI that a job could work in.
#ifndef UFP4_SYSTEMC_COPY_H
#define UFP4_SYSTEMC_COPY_H

#include <memory>
#include <vector>

#include "carrier.h"
#include "timing/host/descriptor.h"

namespace ufp4 {

/** Moves @p bytes, in pieces that cross no boundary of 4 KiB, as no burst does. @return how many
 * the target has moved; fewer than asked for where it has no memory. */
uint64_t move_debug(MemorySocket &mem, tlm::tlm_command command, uint64_t address, uint8_t *data,
                    uint64_t bytes);

/** The memory that a job reads and writes, packed: the addresses in its descriptor become places in
 * here. */
class Copy {
 public:
  explicit Copy(const timing::Descriptor &job);
  /** Gets all of it. @return what could not be done, or an empty text */
  std::string fetch(MemorySocket &mem);
  /** Brings back what the job writes. @return what could not be done, or an empty text */
  std::string store(MemorySocket &mem) const;
  /** The job with addresses in here. */
  timing::Descriptor moved(const timing::Descriptor &job) const;
  uint8_t *data() {
    return data_.get();
  }
  uint64_t bytes() const {
    return bytes_;
  }

 private:
  /** Regions that overlap or touch, at @p place in here. */
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
