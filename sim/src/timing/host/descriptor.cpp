// SPDX-License-Identifier: Apache-2.0
#include "timing/host/descriptor.h"

namespace ufp4::timing {
namespace {

constexpr uint32_t kRegions = 7;
constexpr uint32_t kRegionCycles = 9;  // of a region that is used
constexpr uint32_t kUnusedCycles = 2;
constexpr uint64_t kMemoryEnd = uint64_t{1} << UFP4_ADDR_BITS;

bool bad_size(uint32_t size) {
  return size == 0 || size > UFP4_MAX_DIM;
}

uint32_t log2_bytes(uint8_t dtype) {
  return dtype == UFP4_DTYPE_BF16 ? 1 : dtype == UFP4_DTYPE_I64 ? 3 : 2;
}

bool misaligned(uint64_t address) {
  return address % UFP4_ALIGN_BYTES != 0;
}

bool bad_stride(uint32_t stride, uint32_t length, uint8_t dtype) {
  return stride % UFP4_ALIGN_BYTES != 0 || stride < uint64_t{length} << log2_bytes(dtype);
}

bool bad_blocks(uint32_t stride, uint32_t length) {
  return stride % UFP4_ALIGN_BLOCKS != 0 || uint64_t{stride} << 4 < length;
}

bool multiplies(const Shape &shape, uint8_t elem) {
  if (elem == UFP4_ELEM_E2M1) {
    return shape.formats == UFP4_FORMATS_ALL || shape.formats == UFP4_FORMATS_E2M1;
  }
  if (elem == UFP4_ELEM_E1M2) return shape.formats != UFP4_FORMATS_E2M1;
  if (elem == UFP4_ELEM_MIXED) return shape.formats == UFP4_FORMATS_ALL;
  return elem == UFP4_ELEM_INT4 &&
         (shape.formats == UFP4_FORMATS_ALL || shape.formats == UFP4_FORMATS_UNIFORM);
}

/** Returns whether reserved bytes are not zero. */
template <typename Bytes>
bool any(const Bytes &bytes) {
  for (uint8_t byte : bytes) {
    if (byte != 0) return true;
  }
  return false;
}

// --- QUANT and AMAX -----------------------------------------------------------------------------

bool has_row(const ufp4_quant_descriptor_t &quant) {
  return quant.row_mode & UFP4_MODE_ENABLE;
}

bool has_col(const ufp4_quant_descriptor_t &quant) {
  return quant.col_mode & UFP4_MODE_ENABLE;
}

bool copies_misaligned(const ufp4_quant_descriptor_t &quant) {
  return (has_row(quant) &&
          (misaligned(quant.row_codes_addr) || misaligned(quant.row_scales_addr) ||
           bad_blocks(quant.row_stride_blocks, quant.cols))) ||
         (has_col(quant) &&
          (misaligned(quant.col_codes_addr) || misaligned(quant.col_scales_addr) ||
           bad_blocks(quant.col_stride_blocks, quant.rows)));
}

bool quant_misaligned(const ufp4_quant_descriptor_t &quant) {
  return misaligned(quant.src_addr) ||
         bad_stride(quant.src_stride_bytes, quant.cols, quant.src_dtype) ||
         (quant.opcode == UFP4_OPCODE_QUANT && copies_misaligned(quant));
}

// E8M0 has neither transform nor tensor exponent, and its own rounding directions.
bool e8m0_supported(const ufp4_quant_descriptor_t &quant) {
  return (quant.scale_round == UFP4_SCALE_ROUND_UP || quant.scale_round == UFP4_SCALE_ROUND_DOWN) &&
         ((quant.row_mode | quant.col_mode) & ~UFP4_MODE_ENABLE) == 0 &&
         !(has_row(quant) && quant.row_exponent != 0) &&
         !(has_col(quant) && quant.col_exponent != 0);
}

bool copies_supported(const ufp4_quant_descriptor_t &quant) {
  const bool e4m3 = quant.scale == UFP4_SCALE_E4M3 && (quant.scale_round == UFP4_SCALE_ROUND_RNE ||
                                                       quant.scale_round == UFP4_SCALE_ROUND_UP);
  const bool e8m0 =
      quant.scale == UFP4_SCALE_E8M0 && quant.elem != UFP4_ELEM_MIXED && e8m0_supported(quant);
  return quant.round <= UFP4_ROUND_SR && (e4m3 || e8m0) && !any(quant.reserved0);
}

bool quant_supported(const ufp4_quant_descriptor_t &quant, const Shape &shape) {
  const uint32_t modes = UFP4_MODE_ENABLE | UFP4_MODE_RHT | UFP4_MODE_SLOT;
  const bool elem = quant.elem <= UFP4_ELEM_INT4 || (shape.mixed && quant.elem == UFP4_ELEM_MIXED);
  return shape.quant != 0 && quant.src_dtype <= UFP4_DTYPE_BF16 && elem &&
         ((quant.row_mode | quant.col_mode) & ~modes) == 0 && (has_row(quant) || has_col(quant)) &&
         (quant.opcode == UFP4_OPCODE_AMAX || copies_supported(quant));
}

// --- GEMM ---------------------------------------------------------------------------------------

bool added_misaligned(const ufp4_gemm_descriptor_t &gemm) {
  return ((gemm.d_mode & UFP4_D_MODE_SUMS) &&
          (misaligned(gemm.sums_addr) ||
           bad_stride(gemm.sums_stride_bytes, gemm.n, UFP4_DTYPE_I64))) ||
         ((gemm.d_mode & UFP4_D_MODE_C) &&
          (misaligned(gemm.c_addr) || bad_stride(gemm.c_stride_bytes, gemm.n, UFP4_DTYPE_F32)));
}

bool gemm_misaligned(const ufp4_gemm_descriptor_t &gemm) {
  return misaligned(gemm.a_codes_addr) || misaligned(gemm.a_scales_addr) ||
         misaligned(gemm.b_codes_addr) || misaligned(gemm.b_scales_addr) ||
         misaligned(gemm.d_addr) || bad_blocks(gemm.a_stride_blocks, gemm.k) ||
         bad_blocks(gemm.b_stride_blocks, gemm.k) ||
         bad_stride(gemm.d_stride_bytes, gemm.n, gemm.d_dtype) || added_misaligned(gemm);
}

bool scale_supported(const ufp4_gemm_descriptor_t &gemm, const Shape &shape) {
  const bool a_mixed = gemm.a_elem == UFP4_ELEM_MIXED, b_mixed = gemm.b_elem == UFP4_ELEM_MIXED;
  if (gemm.scale == UFP4_SCALE_NVFP4) {
    return (gemm.a_elem == UFP4_ELEM_E2M1 || a_mixed) &&
           (gemm.b_elem == UFP4_ELEM_E2M1 || b_mixed) && gemm.tensor_scale <= 0x7F800000u;
  }
  return gemm.scale == UFP4_SCALE_E4M3 ||
         (gemm.scale == UFP4_SCALE_E8M0 && !shape.exact() && !a_mixed && !b_mixed);
}

bool modes_supported(const ufp4_gemm_descriptor_t &gemm, const Shape &shape) {
  const bool wide = gemm.d_dtype == UFP4_DTYPE_I64, sums = gemm.d_mode & UFP4_D_MODE_SUMS;
  const bool alpha = gemm.d_mode & UFP4_D_MODE_ALPHA, c = gemm.d_mode & UFP4_D_MODE_C;
  const bool int4 = gemm.a_elem == UFP4_ELEM_INT4 || gemm.b_elem == UFP4_ELEM_INT4;
  const uint32_t d_modes = UFP4_D_MODE_SUMS | UFP4_D_MODE_ALPHA | UFP4_D_MODE_C;
  return gemm.d_dtype <= UFP4_DTYPE_I64 && (shape.exact() || !(wide || sums)) &&
         !(shape.nv() && (c || int4)) && !(wide && (alpha || c)) && (gemm.d_mode & ~d_modes) == 0 &&
         ((gemm.a_mode | gemm.b_mode) & ~UFP4_MODE_SLOT) == 0;
}

bool gemm_supported(const ufp4_gemm_descriptor_t &gemm, const Shape &shape) {
  return multiplies(shape, gemm.a_elem) && multiplies(shape, gemm.b_elem) &&
         gemm.contract == shape.contract && scale_supported(gemm, shape) &&
         modes_supported(gemm, shape) && !any(gemm.reserved0);
}

// --- Regions ------------------------------------------------------------------------------------

struct Region {
  bool used;
  uint64_t addr, groups, stride;
  uint32_t shift;
  uint64_t tail;

  bool bad() const {
    return used && (addr >= kMemoryEnd || addr + (groups * stride << shift) + tail > kMemoryEnd);
  }
};

Region plain(bool used, uint64_t addr, uint32_t rows, uint32_t stride, uint32_t length,
             uint8_t dtype) {
  return {used, addr, rows - 1, stride, 0, uint64_t{length} << log2_bytes(dtype)};
}

Region panels(bool used, uint64_t addr, uint32_t rows, uint32_t stride, uint32_t shift) {
  return {used, addr, (rows + 15) >> 4, stride, shift, 0};
}

constexpr uint32_t kCodes = 7, kScales = 4;  // log2 of a unit's bytes

void quant_regions(const ufp4_quant_descriptor_t &q, Region *regions) {
  const bool quant = q.opcode == UFP4_OPCODE_QUANT, row = quant && has_row(q),
             col = quant && has_col(q);
  regions[0] = plain(true, q.src_addr, q.rows, q.src_stride_bytes, q.cols, q.src_dtype);
  regions[1] = panels(row, q.row_codes_addr, q.rows, q.row_stride_blocks, kCodes);
  regions[2] = panels(row, q.row_scales_addr, q.rows, q.row_stride_blocks, kScales);
  regions[3] = panels(col, q.col_codes_addr, q.cols, q.col_stride_blocks, kCodes);
  regions[4] = panels(col, q.col_scales_addr, q.cols, q.col_stride_blocks, kScales);
}

void gemm_regions(const ufp4_gemm_descriptor_t &g, Region *regions) {
  regions[0] = plain(true, g.d_addr, g.m, g.d_stride_bytes, g.n, g.d_dtype);
  regions[1] = panels(true, g.a_codes_addr, g.m, g.a_stride_blocks, kCodes);
  regions[2] = panels(true, g.a_scales_addr, g.m, g.a_stride_blocks, kScales);
  regions[3] = panels(true, g.b_codes_addr, g.n, g.b_stride_blocks, kCodes);
  regions[4] = panels(true, g.b_scales_addr, g.n, g.b_stride_blocks, kScales);
  regions[5] = plain(g.d_mode & UFP4_D_MODE_SUMS, g.sums_addr, g.m, g.sums_stride_bytes, g.n,
                     UFP4_DTYPE_I64);
  regions[6] =
      plain(g.d_mode & UFP4_D_MODE_C, g.c_addr, g.m, g.c_stride_bytes, g.n, UFP4_DTYPE_F32);
}

void find_regions(const Descriptor &d, Region (&regions)[kRegions]) {
  for (Region &region : regions) region = {};
  if (d.is_quant()) quant_regions(d.quant, regions);
  if (d.is_gemm()) gemm_regions(d.gemm, regions);
}

bool regions_bad(const Descriptor &d) {
  Region regions[kRegions];
  find_regions(d, regions);
  for (const Region &region : regions) {
    if (region.bad()) return true;
  }
  return false;
}

// --- Verdicts -----------------------------------------------------------------------------------

bool size_bad(const Descriptor &d) {
  if (d.is_quant()) return bad_size(d.quant.rows) || bad_size(d.quant.cols);
  return d.is_gemm() && (bad_size(d.gemm.m) || bad_size(d.gemm.n) || bad_size(d.gemm.k));
}

bool supported(const Descriptor &d, const Shape &shape) {
  const bool header =
      (d.header.flags & ~3u) == 0 && d.header.after <= 15 && (d.header.panels == 0 || d.is_gemm());
  if (d.is_quant()) return header && quant_supported(d.quant, shape);
  return header && (!d.is_gemm() || gemm_supported(d.gemm, shape));
}

}  // namespace

uint16_t check_descriptor(const Descriptor &d, const Shape &shape) {
  const bool known = d.is_quant() || d.is_gemm() || d.header.opcode == UFP4_OPCODE_FENCE;
  if (!known) return UFP4_CORE_STATUS_BAD_OPCODE;
  if (size_bad(d)) return UFP4_CORE_STATUS_BAD_SIZE;
  if (d.is_quant() ? quant_misaligned(d.quant) : d.is_gemm() && gemm_misaligned(d.gemm)) {
    return UFP4_CORE_STATUS_MISALIGNED;
  }
  if (regions_bad(d)) return UFP4_CORE_STATUS_BAD_ADDRESS;
  return supported(d, shape) ? UFP4_CORE_STATUS_OK : UFP4_CORE_STATUS_UNSUPPORTED;
}

std::vector<Extent> extents(const Descriptor &d) {
  constexpr uint64_t kLine = UFP4_ALIGN_BYTES;
  Region regions[kRegions];
  std::vector<Extent> all;
  find_regions(d, regions);
  for (const Region &r : regions) {
    if (!r.used) continue;
    const uint64_t bytes = (r.groups * r.stride << r.shift) + r.tail;
    // A GEMM writes only D, its first region; other jobs write all regions except their source, the
    // first.
    all.push_back(
        {r.addr, (bytes + kLine - 1) / kLine * kLine, d.is_gemm() == (&r == &regions[0])});
  }
  return all;
}

uint32_t region_cycles(const Descriptor &d) {
  Region regions[kRegions];
  find_regions(d, regions);
  uint32_t cycles = 1;
  for (const Region &region : regions) cycles += region.used ? kRegionCycles : kUnusedCycles;
  return cycles;
}

}  // namespace ufp4::timing
