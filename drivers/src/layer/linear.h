// SPDX-License-Identifier: Apache-2.0
// A linear layer on a device, as seen by the files that create, load and run it.
#ifndef UFP4_LINEAR_H
#define UFP4_LINEAR_H

#include "device/device.h"

/** A quantized copy on the device. */
typedef struct {
  int wanted, loaded;
  uint64_t step;  // the step for which it was made
  int64_t rows, cols, stride_blocks;
  uint64_t codes, scales;
  int exponent;
  unsigned flags;         // flags of ufp4_operand_t
  ufp4_operand_t golden;  // used instead of all of the above if the layer is golden
  ufp4_kept_t *kept;      // used instead if the backend keeps operands
} copy_t;

struct ufp4_linear {
  ufp4_device_t *device;
  ufp4_linear_shape_t shape;
  ufp4_recipe_t recipe;
  unsigned host_passes;               // passes that are not quantized, a bit each
  int golden;                         // the other passes use whole operands instead of descriptors
  copy_t copies[UFP4_ROLE_COUNT][2];  // by role and axis
  uint64_t source;                    // buffer for a tensor that is to be quantized
  uint64_t output;
  float *host[UFP4_ROLE_COUNT];  // rounded operands of passes that are not quantized
  int host_loaded[UFP4_ROLE_COUNT];
  uint64_t quantize_cycles;  // since the last run
};

// --- linear_shape.c -----------------------------------------------------------------------------

void linear_role_shape(const ufp4_linear_shape_t *shape, ufp4_role_t role, int64_t *rows,
                       int64_t *cols);
void linear_pass_shape(const ufp4_linear_shape_t *shape, ufp4_pass_t pass, int64_t *m, int64_t *n,
                       int64_t *k);
/** Returns the distance between rows of a plain tensor in device memory, in bytes. */
uint64_t linear_stride_bytes(int64_t cols, uint64_t element_bytes);

/** E8M0 has no tensor exponent, and therefore no AMAX and no slot. */
int linear_has_exponents(const ufp4_linear_t *linear);
/** Returns whether backward passes use the decoded values of FPROP's copy of @p role. */
int linear_requantizes(const ufp4_linear_t *linear, ufp4_role_t role);
/** Returns whether any of @p passes reads @p role. */
int linear_role_is_in(ufp4_role_t role, unsigned passes);

// --- linear_load.c ------------------------------------------------------------------------------

/** Rounds each number by ufp4_bf16_cast and ufp4_bf16_value. */
void linear_round_bf16(const float *from, int64_t count, float *target);

#endif
