// SPDX-License-Identifier: Apache-2.0
// Checks which element, scale, block, layout, RHT, scale rounding and contract are legal together,
// and on which backend (docs/ip/formats.md, from the table in cmodel/spec/ufp4.toml).
#ifndef UFP4_COMBINATION_H
#define UFP4_COMBINATION_H

#include "ufp4/quantize.h"
#include "ufp4/spec.h"
#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Checks whether @p how is legal, with @p block elements per scale (0: the default block of the
 * scale format), on @p backend (a name that ufp4_device_open accepts, or a class: model, core,
 * cuda; NULL: any backend). UFP4_ERROR_ARGUMENT: illegal on every backend, or no such backend;
 * UFP4_ERROR_UNSUPPORTED: legal, but not on this backend. @p message (may be NULL) says which
 * values are allowed instead. */
ufp4_status_t ufp4_combination_quantize(const ufp4_quantize_t *how, int block, const char *backend,
                                        ufp4_message_t *message);
/** Checks whether contract @p contract may multiply elements @p a by elements @p b, both with @p
 * scale, on @p backend; the errors are those of ufp4_combination_quantize. */
ufp4_status_t ufp4_combination_gemm(ufp4_elem_t a, ufp4_elem_t b, ufp4_scale_t scale,
                                    ufp4_contract_t contract, const char *backend,
                                    ufp4_message_t *message);

#ifdef __cplusplus
}
#endif

#endif
