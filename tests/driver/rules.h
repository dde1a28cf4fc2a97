// SPDX-License-Identifier: Apache-2.0
// Changes of one field of a legal descriptor of each kind, and the status that each must give on
// the simulated core (rtl.command) and on every backend (driver.descriptor).
#ifndef UFP4_TEST_RULES_H
#define UFP4_TEST_RULES_H

#include <stddef.h>

#include "ufp4.h"

/** The address of the tensors of the legal descriptors, and the end of memory. */
#define RULES_DATA 0x40010000ull
#define RULES_END 0x41000000ull

#define OK UFP4_CORE_STATUS_OK
#define SIZE UFP4_CORE_STATUS_BAD_SIZE
#define MISALIGNED UFP4_CORE_STATUS_MISALIGNED
#define ADDRESS UFP4_CORE_STATUS_BAD_ADDRESS
#define UNSUPPORTED UFP4_CORE_STATUS_UNSUPPORTED
#define SLOT UFP4_CORE_STATUS_BAD_SLOT
#define READ UFP4_CORE_STATUS_READ_ERROR
#define WRITE UFP4_CORE_STATUS_WRITE_ERROR
#define TOP (1ull << 40)

ufp4_descriptor_t good_quant(uint8_t opcode);
ufp4_descriptor_t good_gemm(void);
/** Returns a GEMM with sums and C. */
ufp4_descriptor_t good_addends(void);
/** Returns a QUANT with E8M0 scales. */
ufp4_descriptor_t good_e8m0(void);

/** A field by its place in the descriptor, the value that it is set to, and the status that the
 * core must report. */
typedef struct {
  const char *what;
  size_t offset, bytes;
  uint64_t value;
  ufp4_core_status_t want;
} rule_t;

// Each list ends with a rule without `what`.
extern const rule_t header_rules[];     ///< of every job
extern const rule_t amax_rules[];       ///< of AMAX and QUANT
extern const rule_t amax_only_rules[];  ///< of AMAX
extern const rule_t quant_rules[];      ///< of QUANT
extern const rule_t e8m0_rules[];       ///< of a legal QUANT with E8M0 scales
extern const rule_t gemm_rules[];       ///< of GEMM
extern const rule_t addend_rules[];     ///< of a legal GEMM with sums and C
extern const rule_t nv_rules[];         ///< of a legal GEMM of the contract nv
extern const rule_t gemm_e8m0_rules[];  ///< of a legal GEMM with E8M0 scales

#endif
