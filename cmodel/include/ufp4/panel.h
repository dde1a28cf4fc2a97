// SPDX-License-Identifier: Apache-2.0
// Panel-major layout of operands in device memory (docs/ip/architecture.md, "Operands in memory").
#ifndef UFP4_PANEL_H
#define UFP4_PANEL_H

#include <stdint.h>

#include "ufp4/quantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/** k blocks from one row group to the next for an operand of @p cols: ceil(cols/16) rounded up to
 * UFP4_ALIGN_BLOCKS. */
int64_t ufp4_panel_stride_blocks(int64_t cols);
/** Bytes of codes and of scales of an operand in panel-major layout with that stride. */
int64_t ufp4_panel_codes_bytes(int64_t rows, int64_t stride_blocks);
int64_t ufp4_panel_scales_bytes(int64_t rows, int64_t stride_blocks);
/** Row-major operand to panel-major memory, its scales bytes (not fp32). Rows that pad the last
 * group get zero codes and scales; padding blocks beyond ceil(cols/16) are not written. */
void ufp4_panel_pack(const ufp4_operand_t *in, int64_t stride_blocks, uint8_t *codes,
                     uint8_t *scales);
/** Panel-major memory to a row-major operand created by the caller (its scale, rows, cols say how
 * much). */
void ufp4_panel_unpack(const uint8_t *codes, const uint8_t *scales, int64_t stride_blocks,
                       ufp4_operand_t *out);

#ifdef __cplusplus
}
#endif

#endif
