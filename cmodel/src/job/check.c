// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <stddef.h>
#include <string.h>

#define KNOWN_HEADER_FLAGS 3u
#define MAX_DISTANCE 15u
#define KNOWN_D_MODES (UFP4_D_MODE_SUMS | UFP4_D_MODE_ALPHA | UFP4_D_MODE_C)
#define KNOWN_COPY_MODES (UFP4_MODE_ENABLE | UFP4_MODE_RHT | UFP4_MODE_SLOT)

static uint32_t ceil_div(uint32_t n, uint32_t by) {
  return n / by + (n % by != 0);
}

uint32_t dtype_bytes(uint8_t dtype) {
  return dtype == UFP4_DTYPE_BF16 ? 2 : dtype == UFP4_DTYPE_I64 ? 8 : 4;
}

uint64_t plain_bytes(uint32_t rows, uint32_t stride_bytes, uint64_t row_bytes) {
  return (uint64_t)(rows - 1) * stride_bytes + row_bytes;
}

uint64_t plain_region_bytes(const plain_t *plain) {
  return plain_bytes(plain->rows, plain->stride_bytes,
                     (uint64_t)plain->cols * dtype_bytes(plain->dtype));
}

int gemm_plains(const ufp4_gemm_descriptor_t *gemm, plain_t plains[3]) {
  int count = 0;
  plains[count++] = (plain_t){gemm->d_addr, gemm->m, gemm->n, gemm->d_stride_bytes, gemm->d_dtype};
  if (gemm->d_mode & UFP4_D_MODE_SUMS) {
    plains[count++] =
        (plain_t){gemm->sums_addr, gemm->m, gemm->n, gemm->sums_stride_bytes, UFP4_DTYPE_I64};
  }
  if (gemm->d_mode & UFP4_D_MODE_C) {
    plains[count++] =
        (plain_t){gemm->c_addr, gemm->m, gemm->n, gemm->c_stride_bytes, UFP4_DTYPE_F32};
  }
  return count;
}

static uint64_t panel_groups(const panel_t *panel) {
  return ceil_div(panel->rows, UFP4_PANEL_ROWS);
}

uint64_t panel_units(const panel_t *panel) {
  return (panel_groups(panel) - 1) * panel->stride_blocks + panel->blocks;
}

panel_t quant_row_panel(const ufp4_quant_descriptor_t *quant) {
  return (panel_t){quant->row_codes_addr, quant->row_scales_addr,    quant->row_stride_blocks,
                   quant->rows,           ceil_div(quant->cols, 16), quant->row_mode,
                   quant->row_exponent};
}

panel_t quant_col_panel(const ufp4_quant_descriptor_t *quant) {
  return (panel_t){quant->col_codes_addr, quant->col_scales_addr,    quant->col_stride_blocks,
                   quant->cols,           ceil_div(quant->rows, 16), quant->col_mode,
                   quant->col_exponent};
}

panel_t gemm_a_panel(const ufp4_gemm_descriptor_t *gemm) {
  return (panel_t){gemm->a_codes_addr,    gemm->a_scales_addr, gemm->a_stride_blocks, gemm->m,
                   ceil_div(gemm->k, 16), gemm->a_mode,        gemm->a_exponent};
}

panel_t gemm_b_panel(const ufp4_gemm_descriptor_t *gemm) {
  return (panel_t){gemm->b_codes_addr,    gemm->b_scales_addr, gemm->b_stride_blocks, gemm->n,
                   ceil_div(gemm->k, 16), gemm->b_mode,        gemm->b_exponent};
}

// Blocks of mixed are E2M1 or uniform, so only PEs of all formats multiply them.
int configuration_multiplies(const ufp4_configuration_t *configuration, unsigned elem) {
  if (elem >= UFP4_ELEM_KINDS) return 0;
  switch (configuration->formats) {
    case UFP4_FORMATS_E2M1:
      return elem == UFP4_ELEM_E2M1;
    case UFP4_FORMATS_UNIFORM:
      return elem == UFP4_ELEM_E1M2 || elem == UFP4_ELEM_INT4;
    case UFP4_FORMATS_E1M2:
      return elem == UFP4_ELEM_E1M2;
    default:
      return 1;
  }
}

static int size_is_bad(uint32_t size) {
  return size == 0 || size > UFP4_MAX_DIM;
}

static int plain_is_misaligned(uint64_t address, uint32_t stride_bytes, uint64_t row_bytes) {
  return address % UFP4_ALIGN_BYTES != 0 || stride_bytes % UFP4_ALIGN_BYTES != 0 ||
         stride_bytes < row_bytes;
}

static int panel_is_misaligned(const panel_t *panel) {
  return panel->codes % UFP4_ALIGN_BYTES != 0 || panel->scales % UFP4_ALIGN_BYTES != 0 ||
         panel->stride_blocks % UFP4_ALIGN_BLOCKS != 0 || panel->stride_blocks < panel->blocks;
}

static int region_is_beyond(uint64_t address, uint64_t bytes) {
  uint64_t limit = 1ull << UFP4_ADDR_BITS;
  return address >= limit || bytes > limit - address;
}

// The whole region is checked, including padding blocks.
static int panel_is_beyond(const panel_t *panel) {
  uint64_t units = panel_groups(panel) * panel->stride_blocks;
  return region_is_beyond(panel->codes, units * UFP4_PANEL_CODE_BYTES) ||
         region_is_beyond(panel->scales, units * UFP4_PANEL_SCALE_BYTES);
}

static int any_set(const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (bytes[i] != 0) return 1;
  }
  return 0;
}

static int header_is_unsupported(const ufp4_header_descriptor_t *header) {
  return (header->flags & ~KNOWN_HEADER_FLAGS) != 0 || header->after > MAX_DISTANCE ||
         (header->panels != 0 && header->opcode != UFP4_OPCODE_GEMM);
}

static int slot_is_bad(const panel_t *panel, const slots_t *slots) {
  return panel->exponent >= UFP4_SLOTS || !slots->written[panel->exponent];
}

// Lists the copies that a QUANT or AMAX requests. Returns their number.
static int enabled_panels(const ufp4_quant_descriptor_t *quant, panel_t panels[2]) {
  int count = 0;
  if (quant->row_mode & UFP4_MODE_ENABLE) panels[count++] = quant_row_panel(quant);
  if (quant->col_mode & UFP4_MODE_ENABLE) panels[count++] = quant_col_panel(quant);
  return count;
}

// E8M0 has no transform, no tensor exponent, its own rounding directions, and no bit for the grid
// of elements mixed.
static int e8m0_is_unsupported(const ufp4_quant_descriptor_t *quant) {
  panel_t panels[2];
  const int count = enabled_panels(quant, panels);
  if (quant->elem == UFP4_ELEM_MIXED) return 1;
  if (((quant->row_mode | quant->col_mode) & ~UFP4_MODE_ENABLE) != 0) return 1;
  for (int i = 0; i < count; i++) {
    if (panels[i].exponent != 0) return 1;
  }
  return quant->scale_round != UFP4_SCALE_ROUND_UP && quant->scale_round != UFP4_SCALE_ROUND_DOWN;
}

// AMAX ignores round, scale_round, and everything from row_codes_addr on.
static int quant_is_unsupported(const ufp4_quant_descriptor_t *quant,
                                const ufp4_configuration_t *core) {
  const ufp4_descriptor_t *any = (const ufp4_descriptor_t *)quant;
  if (header_is_unsupported(&any->header)) return 1;
  if (quant->src_dtype != UFP4_DTYPE_F32 && quant->src_dtype != UFP4_DTYPE_BF16) return 1;
  if (quant->elem == UFP4_ELEM_MIXED ? !core->mixed : quant->elem >= UFP4_ELEM_COUNT) return 1;
  if (((quant->row_mode | quant->col_mode) & ~KNOWN_COPY_MODES) != 0) return 1;
  if (((quant->row_mode | quant->col_mode) & UFP4_MODE_ENABLE) == 0) return 1;
  if (quant->opcode == UFP4_OPCODE_AMAX) return 0;
  if (quant->round >= UFP4_ROUND_COUNT || any_set(quant->reserved0, sizeof quant->reserved0))
    return 1;
  if (quant->scale == UFP4_SCALE_E8M0) return e8m0_is_unsupported(quant);
  return quant->scale != UFP4_SCALE_E4M3 || quant->scale_round > UFP4_SCALE_ROUND_UP;
}

static ufp4_core_status_t check_quant(const ufp4_quant_descriptor_t *quant,
                                      const ufp4_configuration_t *core, const slots_t *slots) {
  panel_t panels[2];
  int count = enabled_panels(quant, panels);
  int amax = quant->opcode == UFP4_OPCODE_AMAX;
  uint64_t row_bytes = (uint64_t)quant->cols * dtype_bytes(quant->src_dtype);
  if (size_is_bad(quant->rows) || size_is_bad(quant->cols)) return UFP4_CORE_STATUS_BAD_SIZE;
  if (plain_is_misaligned(quant->src_addr, quant->src_stride_bytes, row_bytes))
    return UFP4_CORE_STATUS_MISALIGNED;
  for (int i = 0; i < count && !amax; i++) {
    if (panel_is_misaligned(&panels[i])) return UFP4_CORE_STATUS_MISALIGNED;
  }
  uint64_t bytes = plain_bytes(quant->rows, quant->src_stride_bytes, row_bytes);
  if (region_is_beyond(quant->src_addr, bytes)) return UFP4_CORE_STATUS_BAD_ADDRESS;
  for (int i = 0; i < count && !amax; i++) {
    if (panel_is_beyond(&panels[i])) return UFP4_CORE_STATUS_BAD_ADDRESS;
  }
  if (!core->quant || quant_is_unsupported(quant, core)) return UFP4_CORE_STATUS_UNSUPPORTED;
  for (int i = 0; i < count; i++) {
    if (amax && panels[i].exponent >= UFP4_SLOTS) return UFP4_CORE_STATUS_BAD_SLOT;
    if (!amax && (panels[i].mode & UFP4_MODE_SLOT) && slot_is_bad(&panels[i], slots))
      return UFP4_CORE_STATUS_BAD_SLOT;
  }
  return UFP4_CORE_STATUS_OK;
}

// The rounded product of two tensor scales is not negative and not NaN.
static int tensor_scale_is_bad(uint32_t bits) {
  return bits > 0x7F800000u;
}

// Returns whether blocks of the element can be E2M1.
static int elem_has_e2m1(unsigned elem) {
  return elem == UFP4_ELEM_E2M1 || elem == UFP4_ELEM_MIXED;
}

// Unrounded sums require contract exact, without alpha and C. E8M0 requires fp32 or nv, and has no
// bit for the grid of elements mixed. NVFP4 requires E2M1 or mixed. nv has no INT4, and no C, with
// which its accumulation would have to start.
static int gemm_is_unsupported(const ufp4_gemm_descriptor_t *gemm,
                               const ufp4_configuration_t *core) {
  const int exact = core->contract == UFP4_CONTRACT_EXACT;
  const ufp4_descriptor_t *any = (const ufp4_descriptor_t *)gemm;
  if (header_is_unsupported(&any->header)) return 1;
  if (!configuration_multiplies(core, gemm->a_elem) ||
      !configuration_multiplies(core, gemm->b_elem))
    return 1;
  if (gemm->d_dtype >= UFP4_DTYPE_COUNT) return 1;
  if (gemm->contract != core->contract || ((gemm->a_mode | gemm->b_mode) & ~UFP4_MODE_SLOT) != 0)
    return 1;
  if (gemm->scale == UFP4_SCALE_NVFP4) {
    if (!elem_has_e2m1(gemm->a_elem) || !elem_has_e2m1(gemm->b_elem)) return 1;
    if (tensor_scale_is_bad(gemm->tensor_scale)) return 1;
  } else if (gemm->scale == UFP4_SCALE_E8M0) {
    if (exact || gemm->a_elem == UFP4_ELEM_MIXED || gemm->b_elem == UFP4_ELEM_MIXED) return 1;
  } else if (gemm->scale != UFP4_SCALE_E4M3) {
    return 1;
  }
  if (!exact && (gemm->d_dtype == UFP4_DTYPE_I64 || (gemm->d_mode & UFP4_D_MODE_SUMS))) return 1;
  if (core->contract == UFP4_CONTRACT_NV) {
    if (gemm->a_elem == UFP4_ELEM_INT4 || gemm->b_elem == UFP4_ELEM_INT4 ||
        (gemm->d_mode & UFP4_D_MODE_C))
      return 1;
  }
  if ((gemm->d_mode & ~KNOWN_D_MODES) != 0) return 1;
  if (gemm->d_dtype == UFP4_DTYPE_I64 && (gemm->d_mode & (UFP4_D_MODE_ALPHA | UFP4_D_MODE_C)))
    return 1;
  return any_set(gemm->reserved0, sizeof gemm->reserved0);
}

static ufp4_core_status_t check_gemm(const ufp4_gemm_descriptor_t *gemm,
                                     const ufp4_configuration_t *core, const slots_t *slots) {
  panel_t panels[2] = {gemm_a_panel(gemm), gemm_b_panel(gemm)};
  plain_t plains[3];
  int count = gemm_plains(gemm, plains);
  if (size_is_bad(gemm->m) || size_is_bad(gemm->n) || size_is_bad(gemm->k))
    return UFP4_CORE_STATUS_BAD_SIZE;
  for (int i = 0; i < count; i++) {
    uint64_t row_bytes = (uint64_t)gemm->n * dtype_bytes(plains[i].dtype);
    if (plain_is_misaligned(plains[i].address, plains[i].stride_bytes, row_bytes))
      return UFP4_CORE_STATUS_MISALIGNED;
  }
  for (int i = 0; i < 2; i++) {
    if (panel_is_misaligned(&panels[i])) return UFP4_CORE_STATUS_MISALIGNED;
  }
  for (int i = 0; i < count; i++) {
    if (region_is_beyond(plains[i].address, plain_region_bytes(&plains[i])))
      return UFP4_CORE_STATUS_BAD_ADDRESS;
  }
  for (int i = 0; i < 2; i++) {
    if (panel_is_beyond(&panels[i])) return UFP4_CORE_STATUS_BAD_ADDRESS;
  }
  if (gemm_is_unsupported(gemm, core)) return UFP4_CORE_STATUS_UNSUPPORTED;
  for (int i = 0; i < 2; i++) {
    if ((panels[i].mode & UFP4_MODE_SLOT) && slot_is_bad(&panels[i], slots))
      return UFP4_CORE_STATUS_BAD_SLOT;
  }
  return UFP4_CORE_STATUS_OK;
}

ufp4_core_status_t check_descriptor(const ufp4_descriptor_t *descriptor,
                                    const ufp4_configuration_t *configuration,
                                    const slots_t *slots) {
  switch (descriptor->header.opcode) {
    case UFP4_OPCODE_QUANT:
    case UFP4_OPCODE_AMAX:
      return check_quant(&descriptor->quant, configuration, slots);
    case UFP4_OPCODE_GEMM:
      return check_gemm(&descriptor->gemm, configuration, slots);
    case UFP4_OPCODE_FENCE:
      return header_is_unsupported(&descriptor->header) ? UFP4_CORE_STATUS_UNSUPPORTED
                                                        : UFP4_CORE_STATUS_OK;
    default:
      return UFP4_CORE_STATUS_BAD_OPCODE;
  }
}

// --- The bus ------------------------------------------------------------------------------------

static int is_outside(uint64_t address, uint64_t bytes, region_t memory) {
  if (address < memory.base) return 1;
  uint64_t offset = address - memory.base;
  return offset > memory.bytes || bytes > memory.bytes - offset;
}

static int panel_is_outside(const panel_t *panel, region_t memory) {
  uint64_t units = panel_units(panel);
  return is_outside(panel->codes, units * UFP4_PANEL_CODE_BYTES, memory) ||
         is_outside(panel->scales, units * UFP4_PANEL_SCALE_BYTES, memory);
}

ufp4_core_status_t check_quant_bus(const ufp4_quant_descriptor_t *quant, region_t memory) {
  panel_t panels[2];
  const int count = quant->opcode == UFP4_OPCODE_AMAX ? 0 : enabled_panels(quant, panels);
  uint64_t row_bytes = (uint64_t)quant->cols * dtype_bytes(quant->src_dtype);
  uint64_t bytes = plain_bytes(quant->rows, quant->src_stride_bytes, row_bytes);
  if (is_outside(quant->src_addr, bytes, memory)) return UFP4_CORE_STATUS_READ_ERROR;
  for (int i = 0; i < count; i++) {
    if (panel_is_outside(&panels[i], memory)) return UFP4_CORE_STATUS_WRITE_ERROR;
  }
  return UFP4_CORE_STATUS_OK;
}

ufp4_core_status_t check_gemm_bus(const ufp4_gemm_descriptor_t *gemm, region_t memory) {
  const panel_t a = gemm_a_panel(gemm), b = gemm_b_panel(gemm);
  plain_t plains[3];
  const int count = gemm_plains(gemm, plains);
  int bad_read = panel_is_outside(&a, memory) || panel_is_outside(&b, memory);
  for (int i = 1; i < count; i++) {
    bad_read |= is_outside(plains[i].address, plain_region_bytes(&plains[i]), memory);
  }
  if (bad_read) return UFP4_CORE_STATUS_READ_ERROR;
  const int bad_write = is_outside(plains[0].address, plain_region_bytes(&plains[0]), memory);
  return bad_write ? UFP4_CORE_STATUS_WRITE_ERROR : UFP4_CORE_STATUS_OK;
}

static ufp4_core_status_t check_bus(const ufp4_descriptor_t *descriptor, region_t memory) {
  switch (descriptor->header.opcode) {
    case UFP4_OPCODE_GEMM:
      return check_gemm_bus(&descriptor->gemm, memory);
    case UFP4_OPCODE_FENCE:
      return UFP4_CORE_STATUS_OK;
    default:
      return check_quant_bus(&descriptor->quant, memory);
  }
}

// A descriptor that the core refuses needs no check here, because the timed model refuses it, too.
ufp4_status_t check_inside(const char *backend, const ufp4_descriptor_t *descriptor,
                           const ufp4_configuration_t *configuration, region_t memory,
                           ufp4_message_t *message) {
  slots_t slots = {0};
  memset(slots.written, 1, sizeof slots.written);
  if (check_descriptor(descriptor, configuration, &slots) != UFP4_CORE_STATUS_OK ||
      check_bus(descriptor, memory) == UFP4_CORE_STATUS_OK)
    return UFP4_OK;
  ufp4_message_set(message,
                   "%s: job %u reads or writes outside of device memory; the timed model does not "
                   "simulate bus errors, backend rtl does",
                   backend, descriptor->header.job);
  return UFP4_ERROR_UNSUPPORTED;
}
