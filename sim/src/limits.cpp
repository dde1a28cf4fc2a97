// SPDX-License-Identifier: Apache-2.0
#include "limits.h"

#include <algorithm>

namespace ufp4 {
namespace {

constexpr unsigned kCounted = 255;  // writes that ufp4_axi_write can count
constexpr unsigned kLoadNotes = 32;
constexpr unsigned kAddendNotes = 16;
// A request that crosses 4 KiB becomes two bursts.
constexpr unsigned kCut = 2;

}  // namespace

Limits limits_of(const ufp4_configuration_t &c) {
  const unsigned row_groups = (c.rows * c.tile_rows + c.cols * c.tile_cols) / UFP4_PANEL_ROWS;
  const unsigned row_of_sums = 8 * c.cols * c.tile_cols;
  const bool long_strip = c.bus_bytes == 128;
  Limits limits;
  limits.reads[0] = {1, UFP4_DESCRIPTOR_BYTES};
  limits.reads[1] = {kCut * std::min(4 * row_groups, kLoadNotes), UFP4_PANEL_CODE_BYTES * c.chunk};
  limits.reads[2] = {kCut * kAddendNotes, row_of_sums};
  limits.writes[0] = {1, UFP4_COMPLETION_BYTES, UFP4_COMPLETION_BYTES};
  // The number of FP32 results that leave the array at once; a narrower bus takes them in parts,
  // the last of which may be empty.
  const unsigned drain_cols = c.cols & -c.cols;
  limits.writes[1] = {kCounted, row_of_sums, 2, 4 * drain_cols > c.bus_bytes};
  if (c.quant) {
    limits.reads[3] = {(long_strip ? kCut : 1) * (c.bus_bytes >= 16 ? 128u : 64u),
                       long_strip ? 256u : 128u};
    const unsigned units = std::max(c.quant / 16, 1u);  // at once
    limits.writes[2] = {kCounted, units * UFP4_PANEL_CODE_BYTES, UFP4_PANEL_SCALE_BYTES};
  }
  return limits;
}

}  // namespace ufp4
