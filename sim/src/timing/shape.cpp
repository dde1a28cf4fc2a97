// SPDX-License-Identifier: Apache-2.0
#include "timing/shape.h"

#include <algorithm>

#include "base/configuration.h"
#include "base/shape.h"
#include "timing/pipeline.h"

namespace ufp4::timing {
namespace {

constexpr uint32_t kStillCycles = 256;  // more than the stages of any pipeline

// Mirrors ufp4_pe_pkg.
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

uint32_t pe_share(uint32_t target) {
  return target == UFP4_TARGET_ASIC ? kPeShareAsic : 1;
}

// Derives the constants of ufp4_gemm.
void derive_gemm(Shape &s) {
  s.chunk_step = std::max(s.bus_bytes / 16, s.nv() ? 4u : 2u);
  s.load_bytes = 8 * shape_load_rows(s.rows, s.cols, s.bus_bytes);
  s.drain_cols = shape_power_of_two_in(s.cols);
  s.drain_bytes = 4 * s.drain_cols;
  while (s.drain_cols >> s.drain_log2 > 1) s.drain_log2++;
  s.addend_beats = s.tile_n / s.drain_cols > 64 ? 256 : 128;
  const uint32_t stages = pe_stages(s.target, s.contract), share = pe_share(s.target);
  s.pe_return = s.exact() ? stages - stage_load(s.target) + 1 : 2;
  s.lane_delay = std::max(s.rows, s.cols);
  s.sum_delay = (s.rows - 1) / share + (s.cols - 1) / share + 2 + stages;
  s.steps = 16 / s.lanes;
  s.turn = s.fp32() ? kTurnCycles / s.steps : s.nv() ? kTurnCyclesNv / 4 : 1;
}

// Derives the constants of ufp4_quant.
void derive_quant(Shape &s) {
  s.segment_bytes = s.bus_bytes > 64 ? 256 : 128;
  s.segments = s.bus_bytes >= 16 ? 8 : 4;
  // The buffer holds 16 rows of that many segments of BF16; an element takes four steps at most.
  const uint32_t elements = 16 * s.segments * s.segment_bytes / 2;
  s.still_cycles = kStillCycles + (s.quant != 0 ? 4 * elements / std::min(s.quant, 16u) : 0);
}

}  // namespace

bool find_shape(const char *name, Shape *shape, std::string *message) {
  ufp4_message_t why{};
  ufp4_target_t target;
  Shape s;
  if (configuration_find(name, &s.configuration, &target, &why) != UFP4_OK) {
    *message = why.text;
    return false;
  }
  const ufp4_configuration_t &c = s.configuration;
#ifdef UFP4_RTL_TARGET
  target = static_cast<ufp4_target_t>(UFP4_RTL_TARGET);
#endif
  s.rows = c.rows, s.cols = c.cols, s.chunk = c.chunk, s.bus_bytes = c.bus_bytes;
  s.contract = c.contract, s.formats = c.formats, s.lanes = c.lanes, s.quant = c.quant,
  s.mixed = c.mixed;
  s.target = target;
  s.tile_m = c.rows * c.tile_rows, s.tile_n = c.cols * c.tile_cols;
  derive_gemm(s);
  derive_quant(s);
  *shape = s;
  return true;
}

}  // namespace ufp4::timing
