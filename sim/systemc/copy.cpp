// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <algorithm>
#include <cstdio>
#include <new>

namespace ufp4 {
namespace {

constexpr uint64_t kPageBytes = 4096;

std::string refused(const char *verb, uint64_t address) {
  char place[32];
  std::snprintf(place, sizeof place, "0x%llx", static_cast<unsigned long long>(address));
  return std::string("`mem` allows nothing to be ") + verb + " at " + place +
         ", neither by DMI nor by transport_dbg";
}

}  // namespace

uint64_t move_debug(MemorySocket &mem, tlm::tlm_command command, uint64_t address, uint8_t *data,
                    uint64_t bytes) {
  uint64_t done = 0;
  while (done < bytes) {
    const uint64_t at = address + done;
    const auto piece = static_cast<unsigned>(std::min(bytes - done, kPageBytes - at % kPageBytes));
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(at);
    payload.set_data_ptr(data + done);
    payload.set_data_length(piece);
    payload.set_streaming_width(piece);
    const unsigned moved = mem->transport_dbg(payload);
    done += std::min(moved, piece);
    if (moved < piece) break;
  }
  return done;
}

Copy::Copy(const timing::Descriptor &job) : extents_(timing::extents(job)) {
  std::vector<timing::Extent> sorted = extents_;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto &a, const auto &b) { return a.address < b.address; });
  for (const timing::Extent &each : sorted) {
    if (parts_.empty() || each.address > parts_.back().address + parts_.back().bytes) {
      parts_.push_back({each.address, 0, 0});
    }
    Part &part = parts_.back();
    part.bytes = std::max(part.bytes, each.address + each.bytes - part.address);
  }
  for (Part &part : parts_) {
    part.place = bytes_;
    bytes_ += part.bytes;
  }
  data_.reset(new (std::nothrow) uint8_t[bytes_]);
}

std::string Copy::fetch(MemorySocket &mem) {
  if (!data_) return "the host cannot allocate " + std::to_string(bytes_) + " bytes of its data";
  for (const Part &part : parts_) {
    const uint64_t got =
        move_debug(mem, tlm::TLM_READ_COMMAND, part.address, data_.get() + part.place, part.bytes);
    if (got != part.bytes) return refused("read", part.address + got);
  }
  return {};
}

std::string Copy::store(MemorySocket &mem) const {
  for (const timing::Extent &each : extents_) {
    if (!each.written) continue;
    const uint64_t put = move_debug(mem, tlm::TLM_WRITE_COMMAND, each.address,
                                    data_.get() + place_of(each.address), each.bytes);
    if (put != each.bytes) return refused("written", each.address + put);
  }
  return {};
}

// An address outside all parts is unchanged, because the job does not use it.
uint64_t Copy::place_of(uint64_t address) const {
  for (const Part &part : parts_) {
    if (address >= part.address && address - part.address < part.bytes) {
      return address - part.address + part.place;
    }
  }
  return address;
}

timing::Descriptor Copy::moved(const timing::Descriptor &job) const {
  timing::Descriptor out = job;
  const auto move = [this](uint64_t &address) { address = place_of(address); };
  if (job.is_gemm()) {
    for (uint64_t *each :
         {&out.gemm.a_codes_addr, &out.gemm.a_scales_addr, &out.gemm.b_codes_addr,
          &out.gemm.b_scales_addr, &out.gemm.d_addr, &out.gemm.c_addr, &out.gemm.sums_addr}) {
      move(*each);
    }
  } else {
    for (uint64_t *each :
         {&out.quant.src_addr, &out.quant.row_codes_addr, &out.quant.row_scales_addr,
          &out.quant.col_codes_addr, &out.quant.col_scales_addr}) {
      move(*each);
    }
  }
  return out;
}

}  // namespace ufp4
