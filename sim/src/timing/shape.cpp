// SPDX-License-Identifier: Apache-2.0
#include "timing/shape.h"

#include <algorithm>
#include <cstring>

#include "timing/pipeline.h"
#include "timing/targets.h"

namespace ufp4::timing {
namespace {

// ufp4_pe_pkg.
uint32_t dot_stages(uint32_t target) {
  return target == UFP4_TARGET_FPGA ? kDotStagesFpga : 0;
}

uint32_t pe_stages(uint32_t target, uint32_t contract) {
  if (contract == UFP4_CONTRACT_NV) return dot_stages(target) + kPeStagesNv;
  if (contract == UFP4_CONTRACT_FP32) return dot_stages(target) + kPeStagesFp32;
  if (target == UFP4_TARGET_FPGA) return kDotStagesFpga + kPeStagesFpga;
  return target == UFP4_TARGET_ASIC ? kPeStagesAsic : kPeStagesSimulator;
}

uint32_t stage_load(uint32_t target) {
  return target == UFP4_TARGET_FPGA ? kDotStagesFpga + kPeLoadStageFpga : kPeLoadStage;
}

uint32_t alu_extra(uint32_t target) {
  return target == UFP4_TARGET_FPGA ? kAluExtraFpga : 0;
}

uint32_t pe_share(uint32_t target) {
  return target == UFP4_TARGET_ASIC ? kPeShareAsic : 1;
}

uint32_t power_of_two_in(uint32_t x) {
  return x & (~x + 1);
}

// ufp4_gemm.
void derive_gemm(Shape &s) {
  const uint32_t load_most = s.bus_bytes < 128 ? s.bus_bytes / 8 : 16;
  s.load_bytes = 8 * std::min(power_of_two_in(s.rows | s.cols), load_most);
  s.drain_cols = power_of_two_in(s.cols);
  s.drain_bytes = 4 * s.drain_cols;
  while (s.drain_cols >> s.drain_log2 > 1) s.drain_log2++;
  s.addend_beats = s.tile_n / s.drain_cols > 64 ? 256 : 128;
  const uint32_t stages = pe_stages(s.target, s.contract), share = pe_share(s.target);
  s.pe_return = s.exact() ? stages - stage_load(s.target) + 1 : 2;
  s.lane_delay = std::max(s.rows, s.cols);
  s.sum_delay = (s.rows - 1) / share + (s.cols - 1) / share + 2 + stages;
  s.operation = kAluStages + alu_extra(s.target);
  s.steps = 16 / s.lanes;
}

// ufp4_quant.
void derive_quant(Shape &s) {
  s.segment_bytes = s.bus_bytes > 64 ? 256 : 128;
  s.segments = s.bus_bytes >= 16 ? 8 : 4;
}

}  // namespace

bool find_shape(const char *configuration, Shape *shape, uint32_t *tile_rows, uint32_t *tile_cols) {
  static const ufp4_configuration_t configurations[] = UFP4_CONFIGURATIONS;
  for (const ufp4_configuration_t &c : configurations) {
    if (std::strcmp(c.name, configuration) != 0) continue;
    Shape s;
    s.rows = c.rows, s.cols = c.cols, s.chunk = c.chunk, s.bus_bytes = c.bus_bytes;
    s.contract = c.contract, s.formats = c.formats, s.lanes = c.lanes, s.quant = c.quant;
    s.target = target_of(configuration);
    s.tile_m = c.rows * c.tile_rows, s.tile_n = c.cols * c.tile_cols;
    derive_gemm(s);
    derive_quant(s);
    *shape = s, *tile_rows = c.tile_rows, *tile_cols = c.tile_cols;
    // What is wider than the bus would go in parts (ufp4_width_read, ufp4_width_write); none is.
    return s.load_bytes == s.bus_bytes && s.drain_bytes <= s.bus_bytes;
  }
  return false;
}

}  // namespace ufp4::timing
