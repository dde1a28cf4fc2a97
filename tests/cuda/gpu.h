// SPDX-License-Identifier: Apache-2.0
// The emulated GPU as its tests use it: in any weather, through the driver and through its table,
// against the golden model.
#ifndef UFP4_TESTS_CUDA_GPU_H
#define UFP4_TESTS_CUDA_GPU_H

#include "emulated_weather.h"
#include "pair.h"
#include "table.h"
#include "ufp4.h"

/** The weathers, which must not show in the bits. */
#define WEATHERS 7
extern const emulated_weather_t weathers[WEATHERS];

void set_weather(const emulated_weather_t *weather);
/** Tensor core instructions since the last call. */
uint64_t products_taken(void);
/** Counts of what the runtime was asked for since the last call. */
emulated_counts_t counts_taken(void);
/** Transforms in place, by hadamard_bf16 of the kernels. */
void transform_bf16(uint32_t bits[16], uint16_t mask);
/** Parts of the kernels' quick quantizer. */
const emulated_quick_t *quick_parts(void);
ufp4_device_t *open_device(const emulated_weather_t *weather);
const ufp4_cuda_table_t *table(void);
/** An operand where it lies: the emulated GPU's memory is the host's. Not for E8M0, of whose scales
 * the GPU has two for 32. */
ufp4_cuda_operand_t operand_of(const ufp4_operand_t *in);

/** Both into rows with a gap; @return how many outputs, gaps included, differ. */
int64_t differences(ufp4_device_t *device, const pair_t *p, const ufp4_gemm_t *how);
void check_pair(int64_t index, ufp4_device_t *device, const pair_t *p, const ufp4_gemm_t *how);

#endif
