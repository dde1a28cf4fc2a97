// SPDX-License-Identifier: Apache-2.0
// The emulated GPU for its tests, which run it in any weather, through the driver and through its
// table, and compare with the golden model.
#ifndef UFP4_TESTS_CUDA_GPU_H
#define UFP4_TESTS_CUDA_GPU_H

#include "emulated_weather.h"
#include "pair.h"
#include "table.h"
#include "ufp4.h"

/** The weathers, which must not change the bits. */
#define WEATHERS 7
extern const emulated_weather_t weathers[WEATHERS];

void set_weather(const emulated_weather_t *weather);
/** Returns the tensor core instructions since the last call. */
uint64_t products_taken(void);
/** Returns the counts of the runtime's calls since the last call. */
emulated_counts_t counts_taken(void);
/** Transforms in place, by hadamard_bf16 of the kernels. */
void transform_bf16(uint32_t bits[16], uint16_t mask);
/** Returns the parts of the kernels' quick quantizer. */
const emulated_quick_t *quick_parts(void);
ufp4_device_t *open_device(const emulated_weather_t *weather);
const ufp4_cuda_table_t *table(void);
/** Describes an operand in place, because the emulated GPU's memory is the host's. Not for E8M0,
 * for which the GPU has two scales per 32 elements. */
ufp4_cuda_operand_t operand_of(const ufp4_operand_t *in);

/** Computes both into rows with a gap. @return how many outputs, gaps included, differ. */
int64_t differences(ufp4_device_t *device, const pair_t *p, const ufp4_gemm_t *how);
void check_pair(int64_t index, ufp4_device_t *device, const pair_t *p, const ufp4_gemm_t *how);

#endif
