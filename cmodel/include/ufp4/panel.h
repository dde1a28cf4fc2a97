// SPDX-License-Identifier: Apache-2.0
// Panel-major layout of operands in device memory (docs/ip/architecture.md, "Operands in memory").
#ifndef UFP4_PANEL_H
#define UFP4_PANEL_H

#include <stdint.h>

#include "ufp4/quantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the distance between row groups, in blocks along k, of an operand with @p cols columns:
 * ceil(cols/16) rounded up to UFP4_ALIGN_BLOCKS. */
int64_t ufp4_panel_stride_blocks(int64_t cols);
/** Return the bytes of codes and of scales of a panel-major operand with that stride. */
int64_t ufp4_panel_codes_bytes(int64_t rows, int64_t stride_blocks);
int64_t ufp4_panel_scales_bytes(int64_t rows, int64_t stride_blocks);
/** Packs a row-major operand, whose scales are bytes (not FP32), into panel-major memory. Rows
 * that pad the last group get zero codes and scales; padding blocks beyond ceil(cols/16) are left
 * unwritten. */
void ufp4_panel_pack(const ufp4_operand_t *in, int64_t stride_blocks, uint8_t *codes,
                     uint8_t *scales);
/** Unpacks panel-major memory into a row-major operand that the caller has created, whose scale,
 * rows and cols determine how much is read. */
void ufp4_panel_unpack(const uint8_t *codes, const uint8_t *scales, int64_t stride_blocks,
                       ufp4_operand_t *out);

#ifdef __cplusplus
}
#endif

#endif
