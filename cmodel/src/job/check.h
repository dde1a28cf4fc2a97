// SPDX-License-Identifier: Apache-2.0
// The checks that the core makes before it starts a job. RTL: ufp4_command.
#ifndef UFP4_JOB_CHECK_H
#define UFP4_JOB_CHECK_H

#include "ufp4/format.h"
#include "ufp4/gemm.h"
#include "ufp4/panel.h"
#include "ufp4/quantize.h"
#include "ufp4/spec.h"
#include "ufp4/status.h"

/** The exponent slots. */
typedef struct {
  int16_t exponent[UFP4_SLOTS];
  uint8_t written[UFP4_SLOTS];
} slots_t;

/** A panel-major operand as a descriptor names it. */
typedef struct {
  uint64_t codes, scales;
  uint32_t stride_blocks;
  uint32_t rows, blocks;
  uint8_t mode;
  uint16_t exponent;
} panel_t;

/** A row-major tensor as a descriptor names it. */
typedef struct {
  uint64_t address;
  uint32_t rows, cols, stride_bytes;
  uint8_t dtype;
} plain_t;

/** Returns the bytes of a plain element. An invalid dtype counts as 4, so that each malformed
 * descriptor has one defined status. */
uint32_t dtype_bytes(uint8_t dtype);
/** Returns the bytes from the start of a row-major region to the end of its last used byte. */
uint64_t plain_bytes(uint32_t rows, uint32_t stride_bytes, uint64_t row_bytes);
/** Returns the bytes from the start of a tensor to the end of its last used byte. */
uint64_t plain_region_bytes(const plain_t *plain);
/** Lists D, then the sums and the C that the job reads. @return their number */
int gemm_plains(const ufp4_gemm_descriptor_t *gemm, plain_t plains[3]);
/** Returns the panel units from the first to the last used one. */
uint64_t panel_units(const panel_t *panel);

panel_t quant_row_panel(const ufp4_quant_descriptor_t *quant);
panel_t quant_col_panel(const ufp4_quant_descriptor_t *quant);
panel_t gemm_a_panel(const ufp4_gemm_descriptor_t *gemm);
panel_t gemm_b_panel(const ufp4_gemm_descriptor_t *gemm);

/** Returns whether the PEs of a core multiply an element format. */
int configuration_multiplies(const ufp4_configuration_t *configuration, unsigned elem);
/** Returns the lowest status code that applies on a core of this configuration, or
 * UFP4_CORE_STATUS_OK; bus errors are not checked. */
ufp4_core_status_t check_descriptor(const ufp4_descriptor_t *descriptor,
                                    const ufp4_configuration_t *configuration,
                                    const slots_t *slots);

/** The memory on the bus. */
typedef struct {
  uint64_t base, bytes;
} region_t;

/** Returns the status with which a legal job ends on a bus where there is only this memory: ok,
 * read_error or write_error. */
ufp4_core_status_t check_quant_bus(const ufp4_quant_descriptor_t *quant, region_t memory);
ufp4_core_status_t check_gemm_bus(const ufp4_gemm_descriptor_t *gemm, region_t memory);
/** Checks a job for a backend whose core is the timed model: returns UFP4_ERROR_UNSUPPORTED, with
 * a message, if the bus would answer a legal job with an error. */
ufp4_status_t check_inside(const char *backend, const ufp4_descriptor_t *descriptor,
                           const ufp4_configuration_t *configuration, region_t memory,
                           ufp4_message_t *message);

#endif
